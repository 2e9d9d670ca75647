//! What the user ran or accepted on this machine, project by project.
//!
//! Files of a checkout can name commands, and anyone who may push to the repository can write them. What the user ran here is
//! noted in a file in the user's state directory, so that flow can tell the user's own commands from those of others. If
//! the file is lost or cannot be written, nothing fails: then everything counts as never accepted.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::{Dir, DiskError, FileLock, LockOutcome, Rename};
use crate::model::{Explain as _, Timestamp, hex, named};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::user_state::{make_user_state, user_state};

/// The version of the file's format.
const VERSION: u64 = 1;
/// How many entries of a project are kept, the latest ones.
const ENTRIES: usize = 500;
/// How many projects have a file; the one that changed longest ago goes first.
const PROJECTS: usize = 200;
/// The longest file that is read, in bytes.
const LONGEST: usize = 1 << 20;
/// How much of a text is kept for people, in characters. The digest is that of the whole text.
const SHOWN: usize = 200;
/// The mode of the file: for its owner alone, since commands may hold secrets.
const PRIVATE: u32 = 0o600;
/// How long to wait for another process that writes.
const WAIT: Duration = Duration::from_secs(1);
/// The lock that writers take.
const LOCK: &str = "accepted.lock";
const BEGINS: &str = "accepted-";
const ENDS: &str = ".json";

named! {
    /// What kind of thing was accepted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum AcceptedKind {
        /// A command line for a shell.
        Command = "command",
        /// A server that chooses among states.
        Endpoint = "endpoint",
        /// A store that machines share.
        Store = "store",
        /// A command that the configuration names.
        Named = "named_command",
    }
}

/// A thing that can be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) kind: AcceptedKind,
    /// Its whole text.
    pub(crate) what: String,
    /// Where it applies: the same command does something else in another directory.
    pub(crate) place: String,
}

impl Thing {
    /// A command that a driver runs in the directory `place`, which is named as the run stores it.
    pub(crate) fn command(what: &str, place: &str) -> Self {
        Self { kind: AcceptedKind::Command, what: what.to_owned(), place: place.to_owned() }
    }

    /// A server that a driver asks.
    pub(crate) fn endpoint(url: &str) -> Self {
        Self { kind: AcceptedKind::Endpoint, what: url.to_owned(), place: String::new() }
    }

    /// The store that the project calls `name`, at `address`. It is accepted for all worktrees of a repository.
    pub(crate) fn store(name: &str, address: &str) -> Self {
        Self { kind: AcceptedKind::Store, what: address.to_owned(), place: name.to_owned() }
    }

    /// A command that the project calls `name`. Another command under the name is another thing.
    pub(crate) fn named_command(name: &str, argv: &[String]) -> Self {
        let what = serde_json::to_string(argv).unwrap_or_default();
        Self { kind: AcceptedKind::Named, what, place: name.to_owned() }
    }

    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for part in [self.kind.as_str(), &self.place, &self.what] {
            // The lengths keep the parts apart.
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        hex(&digest.finalize())
    }

    fn entry(&self, at: Timestamp) -> AcceptedEntry {
        let what = match self.kind {
            // An address may hold a password.
            AcceptedKind::Store => self.place.clone(),
            _ => self.what.chars().take(SHOWN).collect(),
        };
        AcceptedEntry { kind: self.kind.as_str().to_owned(), what, digest: self.digest(), at }
    }
}

/// What was accepted in a project.
#[derive(Debug, Serialize, Deserialize)]
struct AcceptanceFile {
    v: u64,
    /// The project's directory.
    project: String,
    /// Oldest first.
    entries: Vec<AcceptedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AcceptedEntry {
    kind: String,
    what: String,
    digest: String,
    at: Timestamp,
}

impl AcceptanceFile {
    /// What was accepted in `root`, the directory of a project or repository; nothing if that cannot be read.
    fn read(cx: &Context, root: &Path) -> Self {
        // The directory is the same by whatever links it is named.
        let root = cx.disk.canonical(root).unwrap_or_else(|_| root.to_owned());
        let root = root.to_string_lossy().into_owned();
        let bytes = user_state(cx).and_then(|dir| dir.read(&file_of(&root), LONGEST).ok()?);
        let found = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        found.unwrap_or(Self { v: VERSION, project: root, entries: Vec::new() })
    }

    /// Whether `thing` was accepted.
    fn holds(&self, thing: &Thing) -> bool {
        let digest = thing.digest();
        self.entries.iter().any(|entry| entry.kind == thing.kind.as_str() && entry.digest == digest)
    }
}

/// Whether all `things` were accepted in `project`.
pub(crate) fn is_accepted(project: &OpenedProject, things: &[Thing]) -> bool {
    is_accepted_in(&project.cx, project.root(), things)
}

/// Notes that `things` were accepted in `project`.
///
/// # Errors
/// Why they are not accepted now, as the end of a sentence.
pub(crate) fn accept(project: &OpenedProject, things: &[Thing]) -> std::result::Result<(), String> {
    accept_in(&project.cx, project.root(), things)
}

/// As [`is_accepted`], of the project or repository in the directory `root`.
pub(crate) fn is_accepted_in(cx: &Context, root: &Path, things: &[Thing]) -> bool {
    if things.is_empty() {
        return true;
    }
    let known = AcceptanceFile::read(cx, root);
    things.iter().all(|thing| known.holds(thing))
}

/// Whether a store was accepted that the repository in `root` calls `name`, wherever it is.
pub(crate) fn is_store_accepted_elsewhere(cx: &Context, root: &Path, name: &str) -> bool {
    let known = AcceptanceFile::read(cx, root);
    known.entries.iter().any(|entry| entry.kind == AcceptedKind::Store.as_str() && entry.what == name)
}

/// As [`accept`], of the project or repository in the directory `root`.
pub(crate) fn accept_in(cx: &Context, root: &Path, things: &[Thing]) -> std::result::Result<(), String> {
    if is_accepted_in(cx, root, things) {
        return Ok(());
    }
    let noted = make_user_state(cx).and_then(|dir| add(cx, root, &dir, things).map_err(|error| error.one_line()));
    // What was noted counts, and not what a failure says.
    if is_accepted_in(cx, root, things) {
        return Ok(());
    }
    Err(noted.err().unwrap_or_else(|| "what was written is not there".to_owned()))
}

fn add(cx: &Context, root: &Path, dir: &Dir, things: &[Thing]) -> Result<(), DiskError> {
    let LockOutcome::Ours(_lock) = FileLock::take(dir, LOCK, WAIT)? else { return Ok(()) };
    // Read again: another process may have written since.
    let mut known = AcceptanceFile::read(cx, root);
    // Another version of flow wrote the file, in a form that this one does not know: leave it alone.
    if known.v != VERSION {
        return Ok(());
    }
    for thing in things {
        if !known.holds(thing) {
            known.entries.push(thing.entry(cx.now()));
        }
    }
    // The oldest entries stand first.
    let surplus = known.entries.len().saturating_sub(ENTRIES);
    known.entries.drain(..surplus);
    let name = file_of(&known.project);
    let new = format!("{name}.new");
    // A dead writer may have left it.
    dir.remove(&new)?;
    let text = serde_json::to_string(&known).unwrap_or_default();
    dir.create(&new, text.as_bytes(), PRIVATE)?;
    dir.rename(&new, &name, Rename::Replace)?;
    sweep(dir)
}

/// Removes the files of the projects that changed longest ago.
fn sweep(dir: &Dir) -> Result<(), DiskError> {
    let mut files = Vec::new();
    for name in dir.names()? {
        if name.starts_with(BEGINS) && name.ends_with(ENDS) {
            files.push((dir.look(&name)?.changed, name));
        }
    }
    files.sort();
    let surplus = files.len().saturating_sub(PROJECTS);
    for (_, name) in &files[..surplus] {
        dir.remove(name)?;
    }
    Ok(())
}

fn file_of(root: &str) -> String {
    let digest = Sha256::digest(Path::new(root).as_os_str().as_encoded_bytes());
    format!("{BEGINS}{}{ENDS}", hex(&digest[..8]))
}
