//! What hosts read on standard output.

use serde_json::json;

use crate::runs::AgentHost;

/// Text for the context of the model.
pub(super) fn context(host: AgentHost, event: &str, text: &str) -> String {
    let answer = match host {
        // It ignores what the others read, and they refuse or ignore what it reads.
        AgentHost::Copilot => json!({ "additionalContext": text }),
        _ => json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
    };
    format!("{answer}\n")
}

/// A line of plain text, for the events of Claude Code that take it.
pub(super) fn plain(text: &str) -> String {
    format!("{text}\n")
}

/// Tells the host to go on with `text`. Claude Code would show a "block" as a problem, and Codex reads nothing else.
pub(super) fn go_on(host: AgentHost, text: &str) -> String {
    let decision = match host {
        AgentHost::ClaudeCode | AgentHost::Qwen => return context(host, "Stop", text),
        AgentHost::GeminiCli => "deny",
        AgentHost::Codex | AgentHost::Copilot | AgentHost::Opencode => "block",
    };
    format!("{}\n", json!({ "decision": decision, "reason": text }))
}
