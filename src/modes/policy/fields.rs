//! The fields of a mode's file that several rules read.

use serde_json::{Map, Value};

/// The text of a field; none if the field is missing or is not a text.
pub(crate) fn text_of<'a>(state: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    state.get(field)?.as_str()
}

/// Whether the file makes its mode active. Only `true` does: other programs write other things, too.
pub(crate) fn says_active(state: &Map<String, Value>) -> bool {
    state.get("active") == Some(&Value::Bool(true))
}

/// Whether the file says that its mode is not active. A file without the field says neither.
pub(crate) fn says_inactive(state: &Map<String, Value>) -> bool {
    state.get("active") == Some(&Value::Bool(false))
}
