//! What is wrong with the modes and their policy.

use std::path::Path;

use crate::catalog::{Catalog, CatalogError};
use crate::codec::LineFault;
use crate::engine::ModeState;
use crate::model::{MODE_FILE, VISIBLE, limits, mode_file};
use crate::ops::doctor::finding::Findings;
use crate::ops::doctor::log::counted;
use crate::ops::mode::read_state;
use crate::store::LogScan;
use crate::store::inspect::{Entry, FileKind, entries};
use crate::store::layout::{LOG, QUARANTINE, SESSIONS, STATE};

/// Checks `.flow/state` and `.flow/modes.yaml`. What is no plain file is told of where all names are looked at.
pub(super) fn check(root: &Path, found: &mut Findings) {
    let policy = Catalog::new(Some(root.to_owned())).policy();
    if let Err(CatalogError::Policy { path, violations }) = &policy {
        for violation in violations {
            found.add("policy_invalid", path, violation.message.as_str()).at(violation.place);
        }
    }
    let files: Option<Vec<String>> =
        policy.ok().map(|(policy, _)| policy.modes().iter().map(|mode| mode_file(&mode.name)).collect());
    // Without a policy, nobody knows which files are modes.
    let is_mode = |name: &str| files.as_ref().is_none_or(|files| files.iter().any(|file| file == name));
    let state = root.join(STATE);
    scope(&state, &is_mode, found);
    log(&state.join(LOG), found);
    for session in entries(&state.join(SESSIONS)).unwrap_or_default() {
        if session.kind == FileKind::Directory {
            scope(&session.path, &is_mode, found);
        }
    }
}

fn scope(dir: &Path, is_mode: &dyn Fn(&str) -> bool, found: &mut Findings) {
    for entry in entries(dir).unwrap_or_default() {
        let Some(name) = entry.text() else { continue };
        match entry.kind {
            FileKind::File if name.ends_with(MODE_FILE) && name != VISIBLE && is_mode(name) => {
                file(&entry, found);
            }
            FileKind::Directory if name == QUARANTINE => {
                let kept = entries(&entry.path).unwrap_or_default().len();
                if kept > 0 {
                    let message = format!("{} put aside for a person to look at", counted(kept, "name"));
                    found.add("quarantine", &entry.path, message);
                }
            }
            _ => {}
        }
    }
}

fn file(entry: &Entry, found: &mut Findings) {
    if entry.len > limits::MODE_BYTES as u64 {
        found.add("mode_unreadable", &entry.path, "the file is too large");
        return;
    }
    match std::fs::read(&entry.path) {
        Err(error) => drop(found.add("unreadable", &entry.path, format!("the file cannot be read: {error}"))),
        Ok(bytes) => {
            if let ModeState::Broken(why) = read_state(&bytes) {
                let message =
                    format!("nobody knows whether this mode is active: {why}; docs/modes.md says how to clear it");
                found.add("mode_unreadable", &entry.path, message);
            }
        }
    }
}

fn log(path: &Path, found: &mut Findings) {
    let is_file = Entry::of(path).ok().flatten().is_some_and(|entry| entry.kind == FileKind::File);
    let Some(bytes) = std::fs::read(path).ok().filter(|_| is_file) else { return };
    let scan = LogScan::parse(&bytes);
    let damaged: Vec<_> = scan.skipped.iter().filter(|line| line.fault != LineFault::Unsealed).collect();
    if let Some(first) = damaged.first() {
        let message = format!(
            "{} of the log of the modes cannot be read; the files are what counts, and the log goes on",
            counted(damaged.len(), "line")
        );
        found.add("mode_log_damaged", path, message).on_line(first.line);
    }
}
