//! What hosts read on standard output.

use serde_json::json;

use crate::host::Wire;
use crate::runs::AgentHost;

/// Text for the context of the model.
pub(super) fn context(host: AgentHost, event: &str, text: &str) -> String {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let answer = match host.hooks().wire {
        Wire::Specific(_) => json!({ "hookSpecificOutput": specific }),
        // It ignores what the others read, and they refuse or ignore what it reads.
        Wire::Top => json!({ "additionalContext": text }),
        // It runs hooks of Claude Code as well, and then reads what Claude Code reads.
        Wire::Cursor => json!({ "additional_context": text, "hookSpecificOutput": specific }),
        Wire::Plain => return plain(text),
    };
    format!("{answer}\n")
}

/// A line of plain text, for hosts and events that take it.
pub(super) fn plain(text: &str) -> String {
    format!("{text}\n")
}

/// Tells the host to go on with `text`.
pub(super) fn continuation(host: AgentHost, text: &str) -> String {
    let answer = match host.hooks().wire {
        Wire::Specific(None) => return context(host, "Stop", text),
        Wire::Specific(Some(decision)) => json!({ "decision": decision, "reason": text }),
        Wire::Top => json!({ "decision": "block", "reason": text }),
        Wire::Cursor => json!({ "followup_message": text }),
        Wire::Plain => return String::new(),
    };
    format!("{answer}\n")
}
