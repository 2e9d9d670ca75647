//! The directory in which flow keeps what only this user's machine knows: `flow` in the user's state directory. Never in a
//! project: a cloned repository could bring it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::digest;
use crate::disk::{Dir, DiskError, FileLock, Links, LockOutcome, Trust, USER, append_bounded, replace_unflushed};
use crate::model::Explain as _;
use crate::runs::context::Context;

const NAME: &str = "flow";
/// The log of trouble that hooks had where the project's own log cannot be written.
const LOG: &str = "hooks.log";
const LOG_LOCK: &str = "hooks.lock";
/// Largest log, in bytes.
const LOG_BYTES: usize = 64 * 1024;
/// Largest note, in bytes.
const NOTE_BYTES: usize = 64 << 10;
/// How long to wait for another hook that writes: the host waits too.
const WAIT: Duration = Duration::from_millis(200);

/// The directory, if it is there.
pub(super) fn user_state(cx: &Context) -> Option<Dir> {
    let home = cx.env.state_home.as_ref()?;
    Dir::open_path(&*cx.disk, &home.join(NAME), trust()).ok()
}

/// The directory; what is missing is created.
///
/// # Errors
/// The reason why it cannot be used, as the end of a sentence.
pub(crate) fn make_user_state(cx: &Context) -> Result<Dir, String> {
    let home = cx.env.state_home.as_ref().ok_or("neither XDG_STATE_HOME nor HOME names a directory")?;
    make_in(cx, home).map_err(|error| error.one_line())
}

/// root may have the HOME of a user, as in a container: it uses that user's files, and what it makes belongs to that user.
fn trust() -> Trust {
    if *USER == 0 { Trust::AnyOwner } else { Trust::OwnFiles }
}

/// The path of the directory for a command that writes nothing below `project`; `None` if it would be there, or cannot be
/// used.
pub(super) fn user_state_outside(cx: &Context, project: &Path) -> Option<PathBuf> {
    let home = cx.env.state_home.as_ref()?;
    // The directory itself may be missing; the nearest one above it that exists shows where it would be.
    let there = home.ancestors().find_map(|dir| cx.disk.canonical(dir).ok())?;
    if there.starts_with(cx.disk.canonical(project).ok()?) {
        return None;
    }
    Some(make_user_state(cx).ok()?.path().to_owned())
}

/// As [`user_state_outside`], of the checkout that contains `dir`: where answers of git are kept.
pub(crate) fn git_state(cx: &Context, dir: &Path) -> Option<PathBuf> {
    let state = user_state_outside(cx, cx.git.top(dir).as_deref().unwrap_or(dir))?;
    // Only answers count that no other user could have put there, and root may have the HOME of another one.
    if cx.disk.look(&state, Links::Follow).ok()?.owner == *USER { Some(state) } else { None }
}

fn make_in(cx: &Context, home: &Path) -> Result<Dir, DiskError> {
    let exists = home.ancestors().find(|dir| cx.disk.look(dir, Links::Follow).is_ok()).unwrap_or(home);
    let mut dir = Dir::open_path(&*cx.disk, exists, trust())?;
    for name in home.strip_prefix(exists).unwrap_or(Path::new("")).components() {
        dir = dir.ensure_dir(&name.as_os_str().to_string_lossy())?.0;
    }
    Ok(dir.ensure_dir(NAME)?.0)
}

/// Adds a line to the user's log of trouble, unless the log has it already, at whatever time. If the log cannot be written,
/// nothing happens.
pub(super) fn log_once(cx: &Context, what: &str) {
    if let Ok(dir) = make_user_state(cx) {
        let _ = add_once(cx, &dir, what);
    }
}

fn add_once(cx: &Context, dir: &Dir, what: &str) -> Result<(), DiskError> {
    // Several hooks of a session may begin at the same moment.
    let LockOutcome::Ours(_lock) = FileLock::take(dir, LOG_LOCK, WAIT)? else { return Ok(()) };
    let text = dir.read_text(LOG, LOG_BYTES).ok().flatten().unwrap_or_default();
    // Each line begins with its time.
    if text.lines().any(|line| matches!(line.split_once(' '), Some((_, known)) if known == what)) {
        return Ok(());
    }
    append_bounded(dir, LOG, &format!("{} {what}\n", cx.now()), LOG_BYTES)
}

/// A note in the directory about a place of this machine, or about a session: `<kind>-<digest of the subject>.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserNote(String);

impl UserNote {
    /// The note of this kind about `subject`.
    pub(crate) fn about(kind: &str, subject: impl AsRef<OsStr>) -> Self {
        Self(format!("{kind}-{}.json", digest(subject.as_ref().as_encoded_bytes())))
    }

    /// Whether a file with this name is a note of this kind.
    pub(super) fn is_name(kind: &str, name: &str) -> bool {
        name.ends_with(".json") && name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-'))
    }

    /// What it says; none if it is missing or cannot be read.
    pub(crate) fn read<T: DeserializeOwned>(&self, cx: &Context) -> Option<T> {
        let text = user_state(cx)?.read_text(&self.0, NOTE_BYTES).ok()??;
        serde_json::from_str(&text).ok()
    }

    /// Writes it. If that fails nothing happens: a note only helps.
    pub(crate) fn write(&self, cx: &Context, note: &impl Serialize) {
        if let Ok(dir) = make_user_state(cx) {
            let _ = self.write_in(&dir, note);
        }
    }

    /// Writes it into the directory. Returns whether that worked.
    pub(super) fn write_in(&self, dir: &Dir, note: &impl Serialize) -> bool {
        let Ok(text) = serde_json::to_string(note) else { return false };
        // Not flushed: what a power cut loses is asked for or found out again.
        replace_unflushed(dir, &self.0, &text).is_ok()
    }

    /// Removes it.
    pub(crate) fn forget(&self, cx: &Context) {
        if let Some(dir) = user_state(cx) {
            let _ = dir.remove(&self.0);
        }
    }
}
