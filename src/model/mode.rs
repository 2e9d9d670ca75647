//! Modes: long-lived skills that are active in a session (RCS).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{ModeName, SessionId, TextDigest};

/// The scope of modes: the project, or one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.flow/state/`. Its modes count for every session that has no file of its own for a mode.
    Root,
    /// `.flow/state/sessions/<id>/`.
    Session(SessionId),
}

impl Scope {
    /// The scope of a session; the root scope without one.
    #[must_use]
    pub fn of(session: Option<SessionId>) -> Self {
        session.map_or(Self::Root, Self::Session)
    }

    /// The session; `None` for the root scope.
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

/// The changes that one commit made to modes: every changed file, with its whole new text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModesChanged {
    /// A summary of the changes, for people.
    pub summary: String,
    /// The files, in the order in which they are replaced. The visible set of the root scope comes last.
    pub files: Vec<ModeFile>,
}

/// A changed file below `.flow/state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeFile {
    /// The session of the file; absent for the root scope.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// Its name.
    pub name: String,
    /// The digest of the old text; absent if the file was missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub was: Option<TextDigest>,
    /// The new text; absent if the file is removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Whether to move the old file to quarantine, because it could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub aside: bool,
}

impl ModeFile {
    /// The scope of the file.
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

/// The name of a scope's visible set: the active modes, for hooks and displays.
pub const VISIBLE: &str = "skill-active-state.json";

/// The suffix of a mode's file.
pub const MODE_FILE: &str = "-state.json";
