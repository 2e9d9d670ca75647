//! What a host says on standard input.

use std::path::PathBuf;

use serde_json::Value;

use crate::codec::parse_foreign_json;
use crate::host::HostSigns;
use crate::model::{SessionId, named};
use crate::runs::{AgentHost, Beginning};

/// The host that calls. The settings of Claude Code are read by other hosts as well, so there and with `auto` it is the one
/// that shows; otherwise Claude Code, and with `auto` Codex, which shows by nothing.
pub(super) fn host(name: &str, signs: &HostSigns, session: Option<&SessionId>) -> Result<AgentHost, String> {
    let otherwise = match name {
        "auto" => AgentHost::Codex,
        "claude-code" => AgentHost::ClaudeCode,
        _ => {
            return AgentHost::named(name).ok_or_else(|| {
                let names = AgentHost::ALL.map(AgentHost::as_str).join(", ");
                format!("the host is auto or one of {names}")
            });
        }
    };
    Ok(signs.host(session).unwrap_or(otherwise))
}

/// What a host wrote on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostInput {
    /// Nothing can come: it is a terminal, or the null device.
    Absent,
    /// The payload, or all of something else.
    Text(String),
    /// No whole payload came in time.
    Late,
    /// It is longer than 1 MiB.
    TooLong,
}

named! {
    /// An event of a host.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Event {
        SessionStart = "session-start",
        UserPromptSubmit = "user-prompt-submit",
        PreCompact = "pre-compact",
        Stop = "stop",
        SubagentStart = "subagent-start",
        SubagentStop = "subagent-stop",
        SessionEnd = "session-end",
    }
}

/// The names of the events.
pub fn event_names() -> impl Iterator<Item = &'static str> {
    Event::ALL.into_iter().map(Event::as_str)
}

/// A payload, reduced to what flow uses. Fields of other types and unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) session: Option<SessionId>,
    pub(super) cwd: Option<PathBuf>,
    /// The directory of the project, where the host names one.
    pub(super) project: Option<PathBuf>,
    /// How the session begins.
    pub(super) beginning: Beginning,
    /// Why the session ends.
    pub(super) reason: Option<String>,
    /// What the user asked for.
    pub(super) prompt: Option<String>,
    /// Whether the session must not go on by itself: it does so already, will be woken up, or only plans.
    pub(super) must_stop: bool,
    /// Whether a sub-agent called the hook.
    pub(super) is_subagent: bool,
}

impl Payload {
    /// The payload that was given.
    pub(super) fn of(given: &HostInput) -> Result<Self, String> {
        match given {
            HostInput::Text(text) => Self::read(text),
            HostInput::Absent => Err("there is no payload".to_owned()),
            HostInput::Late => Err("no whole payload came in time".to_owned()),
            HostInput::TooLong => Err("the payload is longer than 1 MiB".to_owned()),
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        // No word of the parser is kept: the log never contains anything of a payload.
        let payload = parse_foreign_json(text).map_err(|_| "the payload is not JSON".to_owned())?;
        if !payload.is_object() {
            return Err("the payload is not a JSON object".to_owned());
        }
        // A missing key reads as null, which is no text. Cursor calls the session a conversation.
        let session = payload["session_id"].as_str().or(payload["conversation_id"].as_str());
        let mut project = payload["workspace"]["project_dir"].as_str();
        // Cursor lists the directories that are open in it; of several, none is the project.
        if project.is_none()
            && let Some([root]) = payload["workspace_roots"].as_array().map(Vec::as_slice)
        {
            project = root.as_str();
        }
        Ok(Self {
            // An id that is not valid names no session, which does nothing and is logged.
            session: session.and_then(|id| SessionId::new(id).ok()),
            cwd: payload["cwd"].as_str().map(PathBuf::from),
            project: project.map(PathBuf::from),
            beginning: match payload["source"].as_str() {
                Some("clear") => Beginning::Cleared,
                Some("resume") => Beginning::Resumed,
                _ => Beginning::New,
            },
            reason: payload["reason"].as_str().map(str::to_owned),
            prompt: payload["prompt"].as_str().map(str::to_owned),
            must_stop: must_stop(&payload),
            is_subagent: payload["agent_id"].is_string(),
        })
    }
}

fn must_stop(payload: &Value) -> bool {
    // Cursor counts how often it has gone on, and says how the turn ended.
    let is_first = match payload.get("loop_count") {
        Some(count) => *count == 0 && payload["status"] == "completed",
        // Without the field it may be a continuation already, and would never end.
        None => payload["stop_hook_active"] == false,
    };
    // The host will wake the session up by itself when these are done.
    let is_busy = ["background_tasks", "session_crons"].iter().any(|key| match payload.get(key) {
        None => false,
        Some(Value::Array(tasks)) => !tasks.is_empty(),
        Some(_) => true,
    });
    !is_first || is_busy || payload["permission_mode"] == "plan"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_wrongly_is_ignored() {
        let payload = Payload::read(r#"{"session_id": "a/b", "cwd": 3, "prompt": null, "new": {}}"#).unwrap();
        assert_eq!(payload, Payload { must_stop: true, ..Payload::default() });
        for bad in ["", "[]", "3", "{", "\u{1}"] {
            assert!(Payload::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_host_is_the_one_that_names_the_session_and_copilot_where_none_does() {
        let [session, other] = ["s1", "s2"].map(|id| SessionId::new(id).unwrap());
        let none = HostSigns::default();
        let named = |host, id: &SessionId| HostSigns { sessions: vec![(host, id.clone())], others: Vec::new() };
        let claude = |id| named(AgentHost::ClaudeCode, id);
        let mut gemini = named(AgentHost::GeminiCli, &session);
        gemini.sessions.extend(claude(&other).sessions);
        let inside = |host, signs: HostSigns| HostSigns { others: vec![host], ..signs };
        let in_copilot = |signs| inside(AgentHost::Copilot, signs);
        for (name, signs, wanted) in [
            ("auto", &claude(&session), AgentHost::ClaudeCode),
            ("auto", &claude(&other), AgentHost::Codex),
            ("auto", &none, AgentHost::Codex),
            ("auto", &gemini, AgentHost::GeminiCli),
            ("claude-code", &gemini, AgentHost::GeminiCli),
            ("claude-code", &none, AgentHost::ClaudeCode),
            ("claude-code", &in_copilot(claude(&other)), AgentHost::Copilot),
            ("claude-code", &in_copilot(claude(&session)), AgentHost::ClaudeCode),
            ("codex", &in_copilot(none.clone()), AgentHost::Codex),
            ("claude-code", &inside(AgentHost::Cursor, claude(&other)), AgentHost::Cursor),
            ("qwen", &none, AgentHost::Qwen),
        ] {
            assert_eq!(host(name, signs, Some(&session)), Ok(wanted), "{name} {signs:?}");
        }
        assert_eq!(host("auto", &none, None), Ok(AgentHost::Codex));
        assert!(host("emacs", &none, None).is_err());
    }

    #[test]
    fn a_session_goes_on_only_if_its_host_says_that_nothing_else_will() {
        let must_stop = |text: &str| Payload::read(text).unwrap().must_stop;
        assert!(!must_stop(r#"{"stop_hook_active": false}"#));
        assert!(!must_stop(r#"{"stop_hook_active": false, "background_tasks": [], "permission_mode": "default"}"#));
        assert!(!must_stop(r#"{"status": "completed", "loop_count": 0}"#));
        for why in [
            r#"{}"#,
            r#"{"status": "completed", "loop_count": 1}"#,
            r#"{"status": "aborted", "loop_count": 0}"#,
            r#"{"status": "completed"}"#,
            r#"{"stop_hook_active": true}"#,
            r#"{"stop_hook_active": "false"}"#,
            r#"{"stop_hook_active": false, "permission_mode": "plan"}"#,
            r#"{"stop_hook_active": false, "background_tasks": [{}]}"#,
            r#"{"stop_hook_active": false, "session_crons": 1}"#,
        ] {
            assert!(must_stop(why), "{why}");
        }
    }
}
