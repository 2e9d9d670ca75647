//! `sessions`: who works in the project, with which runs and in which modes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Explain as _, RunHead, SessionId, Timestamp};
use crate::modes::error::Result;
use crate::modes::view::{ListedMode, ModeListReport, ModeListRequest, list};
use crate::runs::open::reading::Unreadable;
use crate::runs::{AttentionRequest, Card, CardGroup, Context, HolderLife, Need, ShortNames, attention, session_life};

/// The report of `sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionsReport {
    /// The sessions that hold runs or have modes, and the root scope if it has modes: the root first, then the one whose
    /// run changed last.
    pub sessions: Vec<ShownSession>,
    /// Runs that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// A session, or the root scope.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownSession {
    /// The session; null for the root scope.
    pub session: Option<SessionId>,
    /// Whether its process lives; null for the root scope.
    pub life: Option<HolderLife>,
    /// The runs that it holds, the one that changed last first.
    pub runs: Vec<HeldRun>,
    /// The modes that have a file in its scope.
    pub modes: Vec<ListedMode>,
    /// When one of its runs last changed.
    pub updated_at: Option<Timestamp>,
}

/// A run that a session holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldRun {
    /// Which run it is, and where it is.
    #[serde(flatten)]
    pub head: RunHead,
    /// What it is about, in a few words.
    pub title: String,
    /// A short name of it that commands take.
    pub name: String,
    /// What a person has to do about it.
    pub group: CardGroup,
    /// Why, in one word; null if nothing is needed.
    pub need: Option<Need>,
}

/// Finds the sessions that hold runs or have modes. Writes nothing. Without a `.flow` there are none.
///
/// # Errors
/// When the runs cannot be read.
pub fn sessions(cx: &Context) -> Result<SessionsReport> {
    let open = attention(cx, &AttentionRequest { all: true })?;
    let found = match cx.project_if_any()? {
        Some(_) => sessions_of(cx, &open.runs)?,
        None => SessionsReport { sessions: Vec::new(), unreadable: Vec::new(), warnings: Vec::new() },
    };
    let mut report = SessionsReport { unreadable: open.unreadable, ..found };
    report.warnings.extend(open.notes);
    Ok(report)
}

/// As [`sessions`], for open runs that were read already.
///
/// # Errors
/// When there is no project. Modes that cannot be read are left out, with a warning.
pub fn sessions_of(cx: &Context, open: &[Card]) -> Result<SessionsReport> {
    let project = cx.project()?;
    let (modes, warnings) = match list(cx, &ModeListRequest { all: true, ..ModeListRequest::default() }) {
        Ok(ModeListReport { modes, warnings, .. }) => (modes, warnings),
        Err(error) => (Vec::new(), vec![format!("modes are not shown: {}", error.one_line())]),
    };
    let held = open.iter().filter(|card| card.run.session.is_some());
    let names = ShortNames::of(&project, held.map(|card| &card.run.head.run_id));
    let mut found: BTreeMap<Option<SessionId>, ShownSession> = BTreeMap::new();
    for card in open {
        // A run that no session holds is shown elsewhere.
        if card.run.session.is_none() {
            continue;
        }
        let session = found.entry(card.run.session.clone()).or_insert_with_key(empty);
        let head = card.run.head.clone();
        session.updated_at = session.updated_at.max(Some(head.updated_at));
        // Each run has evidence of its own about the process.
        session.life = surer(session.life, card.holder);
        let (title, name) = (card.run.title(), names.of_run(&head.run_id).to_owned());
        session.runs.push(HeldRun { head, title, name, group: card.group, need: card.need });
    }
    for mode in modes {
        let session = found.entry(mode.scope.0.clone()).or_insert_with_key(empty);
        session.modes.push(mode);
    }
    let mut sessions: Vec<_> = found.into_values().collect();
    for session in &mut sessions {
        session.runs.sort_by(|a, b| (b.head.updated_at, &b.head.run_id).cmp(&(a.head.updated_at, &a.head.run_id)));
        if let Some(id) = &session.session {
            let by_modes = if session.modes.iter().any(|mode| mode.session_ended) {
                HolderLife::Ended
            } else if session.modes.iter().any(|mode| mode.session_over) {
                HolderLife::Dead
            } else {
                session_life(&project, id)
            };
            session.life = surer(session.life, Some(by_modes));
        }
    }
    sessions.sort_by_cached_key(|one| (one.session.is_some(), Reverse(one.updated_at), one.session.clone()));
    Ok(SessionsReport { sessions, unreadable: Vec::new(), warnings })
}

fn empty(session: &Option<SessionId>) -> ShownSession {
    ShownSession { session: session.clone(), life: None, runs: Vec::new(), modes: Vec::new(), updated_at: None }
}

/// What is known of a process, from one more piece of evidence.
fn surer(known: Option<HolderLife>, more: Option<HolderLife>) -> Option<HolderLife> {
    match known {
        None | Some(HolderLife::Unknown) => more.or(known),
        known => known,
    }
}
