//! What a host's hook hands over at the end of a session: taken where it is understood, ignored where it is not.

use flowrun::model::SessionId;
use flowrun::runs::HookInput;
use serde_json::{Value, json};

/// The input is the payload.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let hook = HookInput::read(&text);
    if let Some(session) = &hook.session {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        assert!((1..=64).contains(&session.as_str().len()) && session.as_str().bytes().all(fine), "{session}");
    }
    let payload: Value = serde_json::from_str(&text).unwrap_or_default();
    if !payload.is_object() {
        assert_eq!(hook, HookInput::default(), "something was read from nothing");
        return;
    }
    let said = |key: &str| payload[key].as_str();
    assert_eq!(
        hook.session.as_ref().map(SessionId::as_str),
        said("session_id").filter(|id| SessionId::new(*id).is_ok())
    );
    assert_eq!(hook.reason.as_deref(), said("reason"));
    assert_eq!(hook.cwd.as_deref(), said("cwd").map(std::path::Path::new));
    let again = json!({ "session_id": hook.session, "reason": hook.reason, "cwd": hook.cwd, "more": payload });
    assert_eq!(HookInput::read(&again.to_string()), hook);
}
