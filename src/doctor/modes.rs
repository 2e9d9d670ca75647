//! Checks the modes and their policy.

use std::io::ErrorKind;
use std::path::Path;

use crate::catalog::Catalog;
use crate::disk::inspect::{Entry, FileKind, entries};
use crate::disk::{Disk, FileType, Links, read_plain};
use crate::doctor::facts::{POINTER, unwritable, unwritable_in_words};
use crate::doctor::finding::Findings;
use crate::doctor::tree::quarantine;
use crate::model::{MODE_FILE, ModeName, Scope, SessionId, VISIBLE, counted, limits};
use crate::modes::policy::{Policy, says_active};
use crate::modes::state::ModeState;
use crate::modes::{Error, MERGE, clear_command, policy_of, read_state, stranger};
use crate::store::LogScan;
use crate::store::local::layout::{LOG, QUARANTINE, SESSIONS, STATE};
use crate::store::local::lines::LogFault;
use crate::store::local::log::bytes_at;

/// Checks `.flow/state` and `.flow/modes.yaml`. Names that are not plain files are reported where all names are
/// checked.
pub(super) fn check(disk: &dyn Disk, catalog: &Catalog, root: &Path, found: &mut Findings) {
    let policy = policy_of(catalog);
    if let Err(Error::Policy { path, violations }) = &policy {
        for violation in violations {
            found.add("policy_invalid", path, violation.message.as_str()).at_place(violation.place);
        }
    }
    let policy = policy.ok().map(|(policy, _)| policy);
    let state = root.join(STATE);
    mode_files(disk, &state, &Scope::Root, policy.as_ref(), found);
    log(disk, &state, found);
    for session in entries(disk, &state.join(SESSIONS)).unwrap_or_default() {
        // Other names are not session ids; no command reads them.
        let Some(Ok(id)) = session.text().map(SessionId::new) else { continue };
        if session.kind == FileKind::Directory {
            mode_files(disk, &session.path, &Scope::Session(id), policy.as_ref(), found);
        }
    }
}

fn mode_files(disk: &dyn Disk, dir: &Path, scope: &Scope, policy: Option<&Policy>, found: &mut Findings) {
    for entry in entries(disk, dir).unwrap_or_default() {
        let Some(name) = entry.text() else { continue };
        if entry.kind == FileKind::Directory && name == QUARANTINE {
            quarantine(disk, &entry, found);
        }
        if entry.kind != FileKind::File || name == VISIBLE {
            continue;
        }
        if let Some(name) = name.strip_suffix(MODE_FILE)
            && let Ok(mode) = ModeName::new(name)
        {
            file(disk, &entry, &mode, scope, policy, found);
        }
    }
}

fn file(disk: &dyn Disk, entry: &Entry, mode: &ModeName, scope: &Scope, policy: Option<&Policy>, found: &mut Findings) {
    // Without a policy the names of the modes are unknown.
    let is_known = policy.is_none_or(|policy| policy.mode(mode).is_some());
    let state = match read_plain(disk, &entry.path, limits::MODE_BYTES) {
        _ if entry.len > limits::MODE_BYTES as u64 => ModeState::Broken("the file is too large".to_owned()),
        Ok(bytes) => read_state(&bytes),
        Err(error) => {
            found.add_unread(&entry.path, format!("the file cannot be read: {error}"));
            return;
        }
    };
    match state {
        ModeState::Broken(why) if is_known => {
            let clear = clear_command(mode, scope);
            let message = match why.as_str() {
                MERGE => format!("cannot tell whether this mode is active: {why}"),
                _ => format!("cannot tell whether this mode is active: {why}; `{clear}` removes the file"),
            };
            found.add("mode_unreadable", &entry.path, message);
        }
        ModeState::Known(state) if !is_known && says_active(&state) => {
            found.add("mode_unknown", &entry.path, stranger(mode, scope));
        }
        _ => {}
    }
}

/// Checks the log as that of a run is checked: commands about modes read its end, and write behind it.
fn log(disk: &dyn Disk, state: &Path, found: &mut Findings) {
    let path = state.join(LOG);
    let is_there = disk.look(state, Links::Refuse).is_ok_and(|stat| stat.kind == FileType::Directory);
    if is_there {
        for path in unwritable(disk, state, &entries(disk, state).unwrap_or_default()) {
            found.add("not_writable", &path, unwritable_in_words(disk, &path, "the log of the modes"));
        }
    }
    let bytes = match bytes_at(disk, &path) {
        Ok(bytes) => bytes,
        Err(LogFault::WithoutEvent { much, is_end: true }) => {
            let message = format!(
                "the log of the modes ends in {much} without an event, so no command reads or changes a mode; bring an \
                 earlier version of it back, with git for instance, or cut off what flow did not write"
            );
            found.add("unreadable", &path, message);
            return;
        }
        Err(LogFault::WithoutEvent { much, is_end: false }) => {
            let message = format!("the log of the modes has {much} without an event; the files are what counts");
            found.add("mode_log_damaged", &path, message);
            return;
        }
        Err(LogFault::LfsPointer) => {
            found.add("unreadable", &path, POINTER);
            return;
        }
        // What is not a plain file is reported where the names are checked.
        Err(LogFault::Io(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => return,
        Err(LogFault::Io(error)) => {
            found.add_unread(&path, format!("the log of the modes cannot be read: {error}"));
            return;
        }
    };
    let scan = LogScan::parse(&bytes);
    let damaged: Vec<_> = scan.damaged().collect();
    if let Some(first) = damaged.first() {
        let message = format!(
            "{} of the log of the modes cannot be read; the files are what counts, and the log goes on",
            counted(damaged.len(), "line")
        );
        found.add("mode_log_damaged", &path, message).on_line(first.line);
    }
}
