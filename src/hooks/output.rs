//! What hosts read on standard output.

use serde_json::json;

use crate::runs::AgentHost;

/// Text for the context of the model. Both hosts read the same shape.
pub(super) fn context(event: &str, text: &str) -> String {
    format!("{}\n", json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
}

/// A line of plain text, for the events of Claude Code that take it.
pub(super) fn plain(text: &str) -> String {
    format!("{text}\n")
}

/// Tells the host to go on with `text`. Claude Code would show a "block" as a problem, and Codex reads nothing else.
pub(super) fn go_on(host: AgentHost, text: &str) -> String {
    match host {
        AgentHost::ClaudeCode => context("Stop", text),
        AgentHost::Codex => format!("{}\n", json!({ "decision": "block", "reason": text })),
    }
}
