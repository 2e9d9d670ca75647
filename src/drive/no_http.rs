//! Replaces `http.rs` in a build without the feature `network`.

use std::time::Duration;

use serde_json::Value;

const WHY: &str = "this build of flow has no network";

/// Rejects every URL.
///
/// # Errors
/// Always.
pub(super) fn server(_address: &str) -> Result<String, String> {
    Err(WHY.to_owned())
}

/// Rejects every request.
///
/// # Errors
/// Always.
pub(super) fn ask_endpoint(_: &str, _: Option<&str>, _: &Value, _: Duration) -> Result<Value, String> {
    Err(WHY.to_owned())
}
