//! Checks the names in a run's directory: kinds of files, owners, leftovers, and files that flow did not put there.

use std::path::Path;

use crate::disk::inspect::{Entry, FileKind, entries};
use crate::disk::{Disk, Trust};
use crate::doctor::facts::{RunFacts, unwritable_in_words};
use crate::doctor::finding::{Finding, Findings, RepairStep};
use crate::model::{EventKind, counted};
use crate::store::local::layout::{
    ACTIVITIES, ACTIVITY_TMP, EVIDENCE, LOCK, LOG, LOG_TMP, QUARANTINE, RUN_FILE, RUN_MERGE_TMP, RUN_TMP,
    is_run_tmp_of_one,
};

const DIRECTORIES: [&str; 3] = [ACTIVITIES, EVIDENCE, QUARANTINE];
const FILES: [&str; 6] = [RUN_FILE, LOG, LOCK, RUN_TMP, RUN_MERGE_TMP, LOG_TMP];
const TEMPORARY: [&str; 4] = [RUN_TMP, RUN_MERGE_TMP, LOG_TMP, ACTIVITY_TMP];
/// The number of levels to which other directories are searched.
const DEPTH: usize = 16;

/// Checks the directory of a run. `trust` says whose files may be used. `is_from_git`: the log may be here because git brought it,
/// which brings no lock.
pub(super) fn check(facts: &RunFacts, trust: Trust, is_from_git: impl Fn() -> bool, found: &mut Findings) {
    for (path, why) in &facts.unreadable {
        found.add("unreadable", path, format!("the directory cannot be read: {why}"));
    }
    for path in &facts.unwritable {
        found.add("not_writable", path, unwritable_in_words(&*facts.disk, path, "the run"));
    }
    for entry in &facts.entries {
        let Some(name) = name_of(entry, "unknown_file", found) else { continue };
        let wanted = match name {
            _ if DIRECTORIES.contains(&name) => FileKind::Directory,
            _ if FILES.contains(&name) || is_run_tmp_of_one(name) => FileKind::File,
            _ if matches!(entry.kind, FileKind::Link | FileKind::Special) => {
                found.add("odd_file", &entry.path, odd(entry, FileKind::File).1);
                continue;
            }
            _ => {
                found.add("unknown_file", &entry.path, "flow does not put this file here");
                continue;
            }
        };
        if entry.kind != wanted {
            // A lock must not move while others wait for it, and nothing can be moved to a quarantine that is not a
            // directory.
            let can_move = name != LOCK && name != QUARANTINE;
            let mend = if can_move { Some(RepairStep::Shelve(name.to_owned())) } else { None };
            odd_kind(entry, name, wanted, found).mend(mend);
            continue;
        }
        of_plain(entry, name, trust, facts, found);
    }
    for entry in &facts.activities {
        let Some(name) = name_of(entry, "unknown_file", found) else { continue };
        if entry.kind != FileKind::File {
            odd_kind(entry, name, FileKind::File, found).mend(RepairStep::ShelveActivity(name.to_owned()));
        } else if name == ACTIVITY_TMP {
            leftover(facts, entry, found);
        }
    }
    for entry in &facts.evidence {
        deep(&*facts.disk, entry, DEPTH, found);
    }
    if !facts.quarantined.is_empty() {
        let message = format!("{} put aside for a person to look at", counted(facts.quarantined.len(), "file"));
        found.add("quarantine", &facts.path(QUARANTINE), message);
    }
    match (facts.writer, facts.entry(LOCK)) {
        (Some(pid), _) => {
            let command = match &facts.note {
                // The note may still be that of an earlier writer.
                Some(note) if note.writer.pid == pid => format!(", `{}`", note.writer.command),
                _ => String::new(),
            };
            let message = format!("process {pid}{command} is writing the run");
            found.add("lock_held", &facts.path(LOCK), message);
        }
        // The first command that writes after the start creates the lock.
        (None, None) if facts.scan.lines.len() > made_with(facts) && facts.unreadable.is_empty() && !is_from_git() => {
            let message = "the lock file is gone, and with it the highest numbers given; the next writer makes another";
            found.add("lock_missing", &facts.path(LOCK), message);
        }
        (None, _) => {}
    }
}

/// Checks a file or directory of the right kind.
fn of_plain(entry: &Entry, name: &str, trust: Trust, facts: &RunFacts, found: &mut Findings) {
    if TEMPORARY.contains(&name) || is_run_tmp_of_one(name) {
        leftover(facts, entry, found);
    }
    let own = [LOG, LOCK].contains(&name);
    if own && entry.links > 1 {
        let message = format!("{name} has another name elsewhere: writing to it would change another file too");
        // A lock is never replaced: with two lock files, two writers could run at once.
        found.add("hard_link", &entry.path, message).mend(if name == LOG { Some(RepairStep::OwnLog) } else { None });
    }
    if own || name == ACTIVITIES {
        foreign_owner(entry, name, trust, found);
    }
}

fn leftover(facts: &RunFacts, entry: &Entry, found: &mut Findings) {
    // A temporary file of a living writer is not a leftover.
    if facts.writer.is_none() {
        let message = "a writer that died left this temporary file";
        found.add("leftover_file", &entry.path, message).mend(RepairStep::Recover);
    }
}

/// The name of an entry; reports one that is not UTF-8.
pub(super) fn name_of<'e>(entry: &'e Entry, code: &'static str, found: &mut Findings) -> Option<&'e str> {
    let name = entry.text();
    if name.is_none() {
        found.add(code, &entry.path, "flow does not use this name");
    }
    name
}

/// Reports something that belongs to a user whose files flow does not use.
pub(super) fn foreign_owner(entry: &Entry, what: &str, trust: Trust, found: &mut Findings) {
    if !trust.takes(entry.owner) {
        let message = format!("{what} belongs to user {}; flow refuses it unless FLOW_TRUST_OWNER=1", entry.owner);
        found.add("foreign_owner", &entry.path, message);
    }
}

/// Reports the entry `name`, which is not of the wanted kind.
pub(super) fn odd_kind<'f>(entry: &Entry, name: &str, wanted: FileKind, found: &'f mut Findings) -> &'f mut Finding {
    let (code, what) = odd(entry, wanted);
    found.add(code, &entry.path, format!("{name} {what}"))
}

/// The code and message for a name that is not of the wanted kind.
fn odd(entry: &Entry, wanted: FileKind) -> (&'static str, String) {
    let wanted = if wanted == FileKind::Directory { "a directory" } else { "a file" };
    match entry.kind {
        FileKind::Link => ("symbolic_link", "is a symbolic link; flow follows none below .flow".to_owned()),
        FileKind::Special => ("special_file", format!("is a FIFO, a socket or a device, not {wanted}")),
        FileKind::Directory => ("wrong_kind", format!("is a directory, not {wanted}")),
        FileKind::File => ("wrong_kind", format!("is a file, not {wanted}")),
    }
}

/// Reports links and special files at any depth, in directories where flow itself writes nothing.
pub(super) fn deep(disk: &dyn Disk, entry: &Entry, depth: usize, found: &mut Findings) {
    match entry.kind {
        FileKind::File => {}
        FileKind::Link | FileKind::Special => {
            found.add("odd_file", &entry.path, odd(entry, FileKind::File).1);
        }
        FileKind::Directory => inside(disk, &entry.path, depth, found),
    }
}

/// As [`deep`], for the entries of a directory.
pub(super) fn inside(disk: &dyn Disk, dir: &Path, depth: usize, found: &mut Findings) {
    if depth == 0 {
        return;
    }
    match entries(disk, dir) {
        Ok(below) => {
            for entry in &below {
                deep(disk, entry, depth - 1, found);
            }
        }
        Err(error) => found.add_unread(dir, format!("the directory cannot be read: {error}")),
    }
}

/// Reports that a quarantine has something in it.
pub(super) fn quarantine(disk: &dyn Disk, dir: &Entry, found: &mut Findings) {
    let kept = entries(disk, &dir.path).unwrap_or_default().len();
    if kept > 0 {
        let message = format!("{} put aside for a person to look at", counted(kept, "name"));
        found.add("quarantine", &dir.path, message);
    }
}

/// How many events the run was created with: two if a report created it, because that is logged with the start.
fn made_with(facts: &RunFacts) -> usize {
    let mut events = facts.scan.events();
    let (Some(first), Some(second)) = (events.next(), events.next()) else { return 1 };
    match (&first.kind, &second.kind) {
        (EventKind::RunStarted(started), EventKind::Emitted(_)) if started.phase.is_none() => 2,
        _ => 1,
    }
}
