//! What a host's hook hands over at the end of a session: taken where it is understood, ignored where it is not.

use flowrun::model::SessionId;
use flowrun::runs::HookInput;
use serde_json::{Value, json};

/// The input is the payload.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let payload: Value = serde_json::from_str(&text).unwrap_or_default();
    let Ok(hook) = HookInput::read(&text) else {
        let id = &payload["session_id"];
        let is_session = id.as_str().is_some_and(|id| SessionId::new(id).is_ok());
        assert!(!payload.is_object() || !is_session, "a payload was refused");
        return;
    };
    let session = hook.session.as_ref().expect("a payload without a session was taken");
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    assert!((1..=64).contains(&session.as_str().len()) && session.as_str().bytes().all(fine), "{session}");
    // Half a character is read as one that is not known, and this reader of JSON refuses it.
    if payload.is_null() && text.contains("\\ud") | text.contains("\\uD") {
        return;
    }
    assert!(payload.is_object(), "something was read from nothing");
    let said = |key: &str| payload[key].as_str();
    assert_eq!(hook.session.as_ref().map(SessionId::as_str), said("session_id"));
    assert_eq!(hook.reason.as_deref(), said("reason"));
    assert_eq!(hook.cwd.as_deref(), said("cwd").map(std::path::Path::new));
    let again = json!({ "session_id": hook.session, "reason": hook.reason, "cwd": hook.cwd, "more": payload });
    assert_eq!(HookInput::read(&again.to_string()), Ok(hook));
}
