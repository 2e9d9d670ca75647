//! What hosts read on standard output.

use serde_json::json;

/// Text for the context of the model. Both hosts read the same shape.
pub(super) fn context(event: &str, text: &str) -> String {
    format!("{}\n", json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
}

/// A line of plain text, for the events of Claude Code that take it.
pub(super) fn plain(text: &str) -> String {
    format!("{text}\n")
}
