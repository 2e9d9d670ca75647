//! What a host says on standard input.

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::Value;

use crate::model::SessionId;

/// An agent's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    ClaudeCode,
    Codex,
}

impl Host {
    /// The host `name`. With `auto` it is Claude Code if its variable names the session of the payload, and Codex
    /// otherwise: Codex gives hooks no variable, but may itself run inside Claude Code.
    pub(super) fn named(name: &str, claude: Option<&SessionId>, session: Option<&SessionId>) -> Result<Self, String> {
        match name {
            "claude-code" => Ok(Self::ClaudeCode),
            "codex" => Ok(Self::Codex),
            "auto" if claude.is_some() && claude == session => Ok(Self::ClaudeCode),
            "auto" => Ok(Self::Codex),
            _ => Err("the host is claude-code, codex or auto".to_owned()),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }
}

/// An event of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    SessionStart,
    UserPromptSubmit,
    PreCompact,
    Stop,
    SubagentStart,
    SubagentStop,
    SessionEnd,
}

impl FromStr for Event {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "session-start" => Self::SessionStart,
            "user-prompt-submit" => Self::UserPromptSubmit,
            "pre-compact" => Self::PreCompact,
            "stop" => Self::Stop,
            "subagent-start" => Self::SubagentStart,
            "subagent-stop" => Self::SubagentStop,
            "session-end" => Self::SessionEnd,
            _ => return Err("flow does not know this event".to_owned()),
        })
    }
}

/// A payload, reduced to what flow uses. Fields of other types and unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) session: Option<SessionId>,
    pub(super) cwd: Option<PathBuf>,
    /// Why the session ends.
    pub(super) reason: Option<String>,
    /// What the user asked for.
    pub(super) prompt: Option<String>,
    /// Whether a sub-agent called the hook.
    pub(super) is_subagent: bool,
}

impl Payload {
    /// Reads a payload.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let payload: Value = serde_json::from_str(text).map_err(|_| "the payload is not JSON".to_owned())?;
        if !payload.is_object() {
            return Err("the payload is not a JSON object".to_owned());
        }
        let field = |key: &str| payload.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            session: field("session_id").and_then(|id| SessionId::new(id).ok()),
            cwd: field("cwd").map(PathBuf::from),
            reason: field("reason"),
            prompt: field("prompt"),
            is_subagent: field("agent_id").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_wrongly_is_ignored() {
        let payload = Payload::read(r#"{"session_id": "a/b", "cwd": 3, "prompt": null, "new": {}}"#).unwrap();
        assert_eq!(payload, Payload::default());
        for bad in ["", "[]", "3", "{", "\u{1}"] {
            assert!(Payload::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_host_is_claude_code_only_when_it_names_the_session() {
        let [session, other] = ["s1", "s2"].map(|id| SessionId::new(id).unwrap());
        let named = |name, claude| Host::named(name, claude, Some(&session));
        assert_eq!(named("auto", Some(&session)), Ok(Host::ClaudeCode));
        assert_eq!(named("auto", Some(&other)), Ok(Host::Codex));
        assert_eq!(named("auto", None), Ok(Host::Codex));
        assert_eq!(Host::named("auto", None, None), Ok(Host::Codex));
        assert!(named("emacs", None).is_err());
    }
}
