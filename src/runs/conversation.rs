//! The project in which a session of an agent works. The agent's commands may change to other directories: a submodule, a
//! nested repository, another worktree. Its runs stay where it began.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::codec::digest;
use crate::disk::replace_unflushed;
use crate::model::{SessionId, Timestamp};
use crate::runs::context::Context;
use crate::runs::user_state::{make_user_state, user_state};

const BEGINS: &str = "session-";
const ENDS: &str = ".json";
/// Largest note, in bytes.
const NOTE_BYTES: usize = 8 << 10;
/// After how long a note is forgotten, in milliseconds: 30 days.
const KEPT: u64 = 30 * 24 * 60 * 60 * 1000;

/// A note in the user's state directory: `session-<digest of the session>.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    session: String,
    project: PathBuf,
}

impl Context {
    /// This context in the project of a conversation: the one that the caller or `FLOW_DIR` names, the host names (`named`, or
    /// its variable), that was noted for the session, or that is found from the directory in which it works now.
    pub(crate) fn at_work(self, session: Option<&SessionId>, named: Option<&Path>, cwd: Option<&Path>) -> Self {
        if self.options.project.is_some() || self.env.flow_dir.is_some() {
            return self;
        }
        let of_host = named.map(Path::to_owned).or_else(|| self.env.host_project.clone());
        let noted = || session.and_then(|session| project_of(&self, session));
        let places: [&dyn Fn() -> Option<PathBuf>; 3] = [&|| of_host.clone(), &noted, &|| cwd.map(Path::to_owned)];
        for place in places {
            let Some(place) = place() else { continue };
            let there = self.in_project(&place);
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
        let Some(session) = self.named_session().filter(|_| !is_named && self.finds_no_project()) else {
            return (self, None);
        };
        match project_of(&self, &session) {
            Some(project) if self.in_project(&project).project().is_ok() => (self.in_project(&project), Some(project)),
            _ => (self, None),
        }
    }
}

/// Notes in which project the session works, unless that is noted, and forgets old notes. If it cannot be written, nothing
/// happens: then the project is found from the working directory.
pub(crate) fn note_project(cx: &Context, session: &SessionId) {
    let Ok(project) = cx.project() else { return };
    if project_of(cx, session).as_deref() == Some(project.root()) {
        return;
    }
    let Ok(dir) = make_user_state(cx) else { return };
    let now = cx.now();
    for name in dir.names().unwrap_or_default() {
        let is_note = name.starts_with(BEGINS) && name.ends_with(ENDS);
        let changed = || dir.look(&name).ok().and_then(|stat| Timestamp::of_unix(stat.changed.0));
        if is_note && changed().is_some_and(|changed| changed.milliseconds_until(now) > KEPT) {
            let _ = dir.remove(&name);
        }
    }
    let note = Note { session: session.to_string(), project: project.root().to_owned() };
    if let Ok(text) = serde_json::to_string(&note) {
        let _ = replace_unflushed(&dir, &name_of(session), &text);
    }
}

/// The project that was noted for the session.
fn project_of(cx: &Context, session: &SessionId) -> Option<PathBuf> {
    let text = user_state(cx)?.read_text(&name_of(session), NOTE_BYTES).ok()??;
    let note: Note = serde_json::from_str(&text).ok()?;
    (note.session == session.as_str() && note.project.is_absolute()).then_some(note.project)
}

fn name_of(session: &SessionId) -> String {
    format!("{BEGINS}{}{ENDS}", digest(session.as_str().as_bytes()))
}
