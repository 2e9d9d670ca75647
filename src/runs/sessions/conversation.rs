//! The project in which a session of an agent works. The agent's commands may change to other directories: a submodule, a
//! nested repository, another worktree. Its runs stay where it began.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::{SessionId, Timestamp};
use crate::runs::context::Context;
use crate::runs::user_state::{UserNote, make_user_state};

/// The kind of these notes.
const KIND: &str = "session";
/// After how long a note is forgotten, in milliseconds: 30 days.
const KEPT: u64 = 30 * 24 * 60 * 60 * 1000;

/// A note in the user's state directory: `session-<digest of the session>.json`.
#[derive(Debug, Serialize, Deserialize)]
struct SessionNote {
    session: String,
    /// The project; none where the session called a hook without one.
    #[serde(default)]
    project: Option<PathBuf>,
}

impl Context {
    /// This context in the project of a conversation: the one that the caller or `FLOW_DIR` names, the host names (`named`, or
    /// its variable), that was `noted` for the session, or that is found from the directory in which it works now.
    pub(crate) fn at_work(self, noted: Option<&Path>, named: Option<&Path>, cwd: Option<&Path>) -> Self {
        if self.options.project.is_some() || self.env.flow_dir.is_some() {
            return self;
        }
        for place in [named.or(self.env.host_project.as_deref()), noted, cwd].into_iter().flatten() {
            let there = self.in_project(place);
            if there.project().is_ok() {
                return there;
            }
        }
        self
    }

    /// This context in the project of the session that the environment names, where none is found from the working directory.
    /// Gives that project as well.
    #[must_use]
    pub fn in_project_of_session(self) -> (Self, Option<PathBuf>) {
        let is_named = self.options.project.is_some() || self.env.flow_dir.is_some();
        if !is_named
            && let Some(session) = self.named_session()
            && self.finds_no_project()
            && let Some(project) = noted_project(&self, &session)
            && self.in_project(&project).project().is_ok()
        {
            return (self.in_project(&project), Some(project));
        }
        (self, None)
    }
}

/// Notes in which project the session works, unless that is what was `noted`. If it cannot be written, nothing happens: then
/// the project is found from the working directory.
pub(crate) fn note_project(cx: &Context, session: &SessionId, noted: Option<&Path>) {
    let Ok(project) = cx.project() else { return };
    if noted != Some(project.root()) {
        keep(cx, session, Some(project.root()));
    }
}

/// Notes that the session, which works in no project, is told of `flow init`. Returns whether it was not told before; false
/// also when it cannot be noted, or every prompt would tell it.
pub(crate) fn note_told_of_init(cx: &Context, session: &SessionId) -> bool {
    note_of(cx, session).is_none() && keep(cx, session, None)
}

/// Writes the note about a session, and forgets old ones. Returns whether it was written.
fn keep(cx: &Context, session: &SessionId, project: Option<&Path>) -> bool {
    let Ok(dir) = make_user_state(cx) else { return false };
    let now = cx.now();
    for name in dir.names().unwrap_or_default() {
        if UserNote::is_name(KIND, &name)
            && let Ok(stat) = dir.look(&name)
            && let Some(changed) = Timestamp::of_unix(stat.changed.0)
            && changed.milliseconds_until(now) > KEPT
        {
            // Nothing else removes these notes: a host does not say that a session will never be resumed.
            let _ = dir.remove(&name);
        }
    }
    let note = SessionNote { session: session.to_string(), project: project.map(Path::to_owned) };
    UserNote::about(KIND, session.as_str()).write_in(&dir, &note)
}

/// The project that was noted for the session.
pub(crate) fn noted_project(cx: &Context, session: &SessionId) -> Option<PathBuf> {
    note_of(cx, session)?.project.filter(|project| project.is_absolute())
}

fn note_of(cx: &Context, session: &SessionId) -> Option<SessionNote> {
    let note: SessionNote = UserNote::about(KIND, session.as_str()).read(cx)?;
    if note.session == session.as_str() { Some(note) } else { None }
}
