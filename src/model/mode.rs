//! Modes: long-lived skills that are active in a session (RCS).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{ModeName, SessionId, TextDigest};

/// Whose modes: everybody's, or one session's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.flow/state/`: seen by every session that has no file of its own for a mode.
    Root,
    /// `.flow/state/sessions/<id>/`.
    Session(SessionId),
}

impl Scope {
    /// The scope of a session, or of none.
    #[must_use]
    pub fn of(session: Option<SessionId>) -> Self {
        session.map_or(Self::Root, Self::Session)
    }

    /// The session; none for the root scope.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Root => None,
            Self::Session(session) => Some(session),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.pad("root"),
            Self::Session(session) => write!(f, "session {session}"),
        }
    }
}

/// What one commit did to the modes: every file that it changed, with its whole new text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModesChanged {
    /// What happened, a sentence for people.
    pub summary: String,
    /// The files, in the order in which they are put into place; the visible set of the root scope is the last one.
    pub files: Vec<ModeFile>,
}

/// A changed file below `.flow/state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeFile {
    /// The session whose file it is; none for the root scope.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// Its name.
    pub name: String,
    /// What it was before; none when it was missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub was: Option<TextDigest>,
    /// Its new text; none when it is removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Whether its old bytes go to quarantine, because nobody could read them.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub aside: bool,
}

impl ModeFile {
    /// Whose file it is.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::of(self.session.clone())
    }
}

/// The name of a mode's file.
#[must_use]
pub fn mode_file(mode: &ModeName) -> String {
    format!("{mode}{MODE_FILE}")
}

/// The name of the visible set of a scope: what is active, for hooks and displays.
pub const VISIBLE: &str = "skill-active-state.json";

/// How the name of a mode's file ends.
pub const MODE_FILE: &str = "-state.json";
