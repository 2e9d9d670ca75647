//! The ends of sessions that their modes do not say yet: a hook cannot wait long for the lock of the modes, and may be
//! killed.
//!
//! An end is noted before the lock is asked for. The note goes when the modes say the end, or when the session is at work
//! again. Until then readers show the modes as if they said it, and the next change of modes writes it.

use serde::{Deserialize, Serialize};

use crate::codec::digest;
use crate::model::{Scope, SessionId, Timestamp};
use crate::modes::policy::Policy;
use crate::modes::state::Board;
use crate::store::{Project, StoreError};

/// What the name of a note begins and ends with.
const BEGINS: &str = "ended-";
const ENDS: &str = ".txt";

/// The end of a session, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LateEnd {
    pub(super) session: SessionId,
    pub(super) at: Timestamp,
}

/// Notes that the session ended.
///
/// # Errors
/// When it cannot be noted.
pub(super) fn note(project: &Project, session: &SessionId, at: Timestamp) -> Result<(), StoreError> {
    let late = LateEnd { session: session.clone(), at };
    project.keep_host_note(&name_of(session), &serde_json::to_string(&late).unwrap_or_default())
}

/// Forgets the end of the session.
pub(super) fn forget(project: &Project, session: &SessionId) {
    project.forget_host_note(&name_of(session));
}

/// All ends that are noted, in no order.
pub(super) fn all(project: &Project) -> Vec<LateEnd> {
    let mut ends = Vec::new();
    for name in project.host_note_names(ENDS) {
        if !name.starts_with(BEGINS) {
            continue;
        }
        let Some(text) = project.host_note(&name) else { continue };
        let Ok(late) = serde_json::from_str::<LateEnd>(&text) else { continue };
        // flow names a note by its session, so a note under another name is not one of its own.
        if name_of(&late.session) == name {
            ends.push(late);
        }
    }
    ends
}

/// Marks the active modes of sessions whose end is noted, as it will be written.
pub(super) fn show(board: &mut Board, policy: &Policy, ends: &[LateEnd]) {
    for late in ends {
        board.end_session(policy, &Scope::Session(late.session.clone()), late.at);
    }
}

fn name_of(session: &SessionId) -> String {
    format!("{BEGINS}{}{ENDS}", digest(session.as_str().as_bytes()))
}
