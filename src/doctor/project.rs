//! Checks `.flow` itself, and the names beside and between the runs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::catalog::{CONFIG_FILE, Catalog, CatalogError, OwnDefinition};
use crate::codec::SCHEMAS;
use crate::disk::inspect::{Entry, FileKind, doubtful_file_system, entries};
use crate::disk::{Disk, Trust, lock_holder, read_plain};
use crate::doctor::facts::{may_take, unwritable_in_words};
use crate::doctor::finding::{Findings, RepairStep};
use crate::doctor::lines::is_same_text;
use crate::doctor::modes;
use crate::doctor::tree::{foreign_owner, inside, name_of, odd_kind, quarantine};
use crate::interviews::{self, SCRIPT_SUFFIX, own_scripts};
use crate::model::{Explain as _, Help, RunId, WorkflowId, limits};
use crate::runs::{Error, OpenedProject};
use crate::store::PrunedRun;
use crate::store::local::DirLevel;
use crate::store::local::layout::{
    CACHE, GITATTRIBUTES, GITATTRIBUTES_FILE, GITIGNORE, GITIGNORE_FILE, INIT_TMP, INTERVIEWS, LOCK, NEW_RUN,
    OWN_NAMES, PRUNED, PRUNING, QUARANTINE, RUNS, SCHEMAS as SCHEMA_DIR, STATE, WORKFLOWS,
};

/// The number of levels to which other directories are searched.
const DEPTH: usize = 16;

/// Checks everything except the runs.
pub(super) fn check(project: &OpenedProject, found: &mut Findings) {
    let (shared, trust) = (&project.cx.disk, project.trust());
    let (root, disk) = (project.path(), &**shared);
    let all = match entries(disk, root) {
        Ok(all) => all,
        Err(error) => {
            found.add_unread(root, format!("the directory cannot be read: {error}"));
            return;
        }
    };
    if project.is_leftover() {
        let message =
            "the files of .flow are not in this checkout: another branch or a stash has them, or they were removed";
        found.add("flow_elsewhere", root, message);
        return;
    }
    if let Some(name) = doubtful_file_system(disk, root) {
        let message = format!("the project is on {name}, where locks and flushes may not mean what they say");
        found.add("doubtful_file_system", root, message);
    }
    for dir in [root.to_owned(), root.join(RUNS)] {
        if disk.is_dir(&dir) && !disk.may_write(&dir) {
            found.add("not_writable", &dir, unwritable_in_words(disk, &dir, "the directory"));
        }
    }
    if let Some(lock) = entry_called(&all, LOCK)
        && lock.kind == FileKind::File
        && !may_take(disk, lock)
    {
        found.add("not_writable", &lock.path, "the lock cannot be taken, so no run can be started");
    }
    let has_gitignore = entry_called(&all, GITIGNORE_FILE).is_some();
    let is_written = has_gitignore || entry_called(&all, LOCK).is_some();
    for name in [RUNS, WORKFLOWS, SCHEMA_DIR] {
        match entry_called(&all, name) {
            // Only a project that wants them has the schemas for editors.
            None if name == SCHEMA_DIR => {}
            // git keeps no empty directory, so a clone has it as soon as a command writes there.
            None if !is_written => {}
            None => {
                let message = format!("{name}/ is missing");
                found.add("flow_incomplete", &root.join(name), message).mend(RepairStep::Complete);
            }
            Some(entry) if entry.kind != FileKind::Directory => {
                let finding = odd_kind(entry, name, FileKind::Directory, found);
                let to_do = "; move it away, and bring the directory back with git if it was committed";
                finding.message = finding.message.clone() + to_do;
            }
            Some(_) => {}
        }
    }
    for entry in &all {
        name_in_flow(disk, root, entry, trust, found);
    }
    // A clone has neither a lock nor a `.gitignore` until a command writes in it.
    if is_written {
        rules(disk, root, GITIGNORE_FILE, GITIGNORE, "gitignore_incomplete", found);
    }
    if has_gitignore && project.cx.git.tracks(project.root(), ".flow/.gitignore") {
        let command = project.cx.git_command(project.root(), "rm --cached .flow/.gitignore");
        let message = format!(
            "git has this file, so a checkout of a branch without it deletes it; `{command}` leaves it to this checkout"
        );
        found.add("gitignore_tracked", &root.join(GITIGNORE_FILE), message);
    }
    if project.cx.left_out_rules(project.root()).is_ok_and(|rules| rules.is_empty()) {
        rules(disk, root, GITATTRIBUTES_FILE, GITATTRIBUTES, "gitattributes_incomplete", found);
        in_lfs(project, found);
    }
    if entry_called(&all, SCHEMA_DIR).is_some()
        && let Ok(left_out) = project.cx.left_out_files(project.root(), ".flow/schemas/*")
    {
        schemas(disk, root, &left_out, found);
    }
    let catalog = Catalog::new(Arc::clone(shared), Some(root.to_owned()));
    workflows(&catalog, root, found);
    scripts(&catalog, root, found);
    runs(disk, root, trust, found);
    left_out_runs(project, found);
    modes::check(disk, &catalog, root, found);
    for name in [STATE, "goals", "triggers", WORKFLOWS, INTERVIEWS] {
        inside(disk, &root.join(name), DEPTH, found);
    }
}

fn entry_called<'e>(all: &'e [Entry], name: &str) -> Option<&'e Entry> {
    all.iter().find(|entry| entry.text() == Some(name))
}

fn name_in_flow(disk: &dyn Disk, root: &Path, entry: &Entry, trust: Trust, found: &mut Findings) {
    let Some(name) = name_of(entry, "unknown_file", found) else { return };
    // A command that makes runs or files in `.flow` is at work while it holds the lock. That of a repair is the doctor's own.
    let lock = Entry::of(disk, &root.join(LOCK));
    let creating =
        matches!(lock, Ok(Some(lock)) if lock_holder(lock.id.1).is_some_and(|pid| pid != std::process::id()));
    let aside = RepairStep::ShelveInFlow(DirLevel::Top, name.to_owned());
    if name.starts_with(NEW_RUN) {
        if !creating {
            let message = "a run that was being created when its creator died";
            found.add("half_made_run", &entry.path, message).mend(aside);
        }
    } else if !OWN_NAMES.contains(&name) {
        found.add("unknown_file", &entry.path, "flow does not put this file here");
    } else if name == INIT_TMP && !creating {
        found.add("leftover_file", &entry.path, "a writer that died left this temporary file").mend(aside);
    } else if name == PRUNING && !creating {
        let message = "runs that were pruned, and are not deleted yet; the next `flow prune` goes on";
        found.add("leftover_file", &entry.path, message);
    } else if name == CACHE && entry.kind != FileKind::Directory {
        odd_kind(entry, name, FileKind::Directory, found).mend(aside);
    } else if name == PRUNED && entry.kind != FileKind::File {
        odd_kind(entry, name, FileKind::File, found).mend(aside);
    } else if name == PRUNED {
        pruned_runs(disk, entry, found);
    } else if name == QUARANTINE {
        quarantine(disk, entry, found);
    } else if name == LOCK {
        if entry.kind != FileKind::File {
            odd_kind(entry, name, FileKind::File, found);
        } else if entry.links > 1 {
            let message = "the lock has another name elsewhere: writing to it would change another file too";
            found.add("hard_link", &entry.path, message);
        } else {
            foreign_owner(entry, "the lock", trust, found);
        }
    }
}

/// Finds lines among the notes of pruned runs that are none: an id that stood there could be given again.
fn pruned_runs(disk: &dyn Disk, entry: &Entry, found: &mut Findings) {
    let bytes = match read_plain(disk, &entry.path, limits::PRUNED_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            found.add_unread(&entry.path, format!("the file cannot be read: {error}"));
            return;
        }
    };
    let mut damaged = Vec::new();
    for (nth, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() && serde_json::from_slice::<PrunedRun>(line).is_err() {
            damaged.push(nth + 1);
        }
    }
    let Some(first) = damaged.first() else { return };
    let more = if damaged.len() > 1 { format!(" (and {} more)", damaged.len() - 1) } else { String::new() };
    let message = format!(
        "line {first} is damaged{more}: if it named a pruned run, that id can be given again; an older version of the file, \
         as git may have one, says which"
    );
    found.add("prune_note_damaged", &entry.path, message);
}

/// Checks that a file that git reads has all rules of `wanted`.
fn rules(disk: &dyn Disk, root: &Path, name: &'static str, wanted: &str, code: &'static str, found: &mut Findings) {
    let path = root.join(name);
    match Entry::of(disk, &path) {
        Ok(Some(entry)) if entry.kind != FileKind::File => {
            let mend = RepairStep::ShelveInFlow(DirLevel::Top, name.to_owned());
            return odd_kind(&entry, name, FileKind::File, found).mend(mend);
        }
        Ok(Some(entry)) if entry.len > limits::JOURNAL_BYTES as u64 => {
            found.add("unreadable", &path, "the file is too large");
            return;
        }
        _ => {}
    }
    let bytes = match read_plain(disk, &path, limits::JOURNAL_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            found.add_unread(&path, format!("the file cannot be read: {error}"));
            return;
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        found.add_unread(&path, "the file cannot be read: stream did not contain valid UTF-8");
        return;
    };
    let has: Vec<&str> = text.lines().map(str::trim).collect();
    let lacks = wanted.lines().filter(|rule| !rule.starts_with('#') && !has.contains(rule));
    let lacks: Vec<String> = lacks.map(str::to_owned).collect();
    if lacks.is_empty() {
        return;
    }
    let (mut message, mut lines) = (format!("{name} lacks {}", lacks.join(", ")), lacks);
    if text.is_empty() {
        message = format!("{name} is missing or empty");
        // With the comments that explain the rules.
        lines = wanted.lines().map(str::to_owned).collect();
    }
    found.add(code, &path, message).mend(RepairStep::AddLines(name, lines));
}

/// Finds that git gives runs to Git LFS.
fn in_lfs(project: &OpenedProject, found: &mut Findings) {
    let lines = project.cx.rules_against_lfs(project.root());
    if lines.is_empty() {
        return;
    }
    let renormalize = project.cx.git_command(project.root(), "add --renormalize .flow");
    let message = format!(
        "git gives runs to Git LFS, so that a merge would join pointers, and a clone without LFS has none of the runs; after \
         the repair, `{renormalize}` takes out of it what was committed"
    );
    let finding = found.add("gitattributes_incomplete", &project.path().join(GITATTRIBUTES_FILE), message);
    finding.mend(RepairStep::AddLines(GITATTRIBUTES_FILE, lines));
}

fn schemas(disk: &dyn Disk, root: &Path, left_out: &[String], found: &mut Findings) {
    for (name, text) in SCHEMAS {
        let path = root.join(SCHEMA_DIR).join(name);
        if left_out.iter().any(|left_out| left_out.ends_with(name)) {
            continue;
        }
        match Entry::of(disk, &path) {
            Ok(Some(entry)) if entry.kind != FileKind::File => {
                odd_kind(&entry, name, FileKind::File, found);
            }
            Ok(Some(_)) => {
                // With other line ends, the file is larger by one byte a line.
                let bytes = read_plain(disk, &path, 2 * text.len());
                if !bytes.is_ok_and(|bytes| is_same_text(&String::from_utf8_lossy(&bytes), text)) {
                    let message = format!("{name} is not the one of this version of flow");
                    found.add("schema_outdated", &path, message).mend(RepairStep::Complete);
                }
            }
            Ok(None) => found.add("schema_outdated", &path, format!("{name} is missing")).mend(RepairStep::Complete),
            Err(error) => found.add_unread(&path, format!("the file cannot be read: {error}")),
        }
    }
}

fn workflows(catalog: &Catalog, root: &Path, found: &mut Findings) {
    // Whatever else is wrong with the configuration shows here as well.
    match catalog.named_commands() {
        Err(CatalogError::Config { path, message }) => drop(found.add("config_invalid", &path, message)),
        Err(error) => drop(found.add("unreadable", &root.join(CONFIG_FILE), error.one_line())),
        Ok(_) => {}
    }
    // What is wrong with the file as a whole was said above.
    let config = catalog.config().unwrap_or_default();
    for warning in config.unknown_keys() {
        found.add("config_unknown_key", &root.join(CONFIG_FILE), warning);
    }
    for warning in catalog.absent_dirs(&config) {
        found.add("definitions_missing", &root.join(CONFIG_FILE), warning);
    }
    for file in catalog.unread_files() {
        found.add("workflow_unread", &file.path, file.message);
    }
    // The check of the names in `.flow` has reported a name that is not a directory.
    for OwnDefinition { path, error, unread_gates } in catalog.own_definitions().unwrap_or_default() {
        for gate in unread_gates {
            found.add("gate_unread", &path, gate.message).at_place(Some(gate.place));
        }
        match error {
            Some(CatalogError::Invalid { diagnostics, .. }) => {
                for error in diagnostics.iter().filter(|one| one.is_error()).take(limits::VIOLATIONS) {
                    let finding = found.add("workflow_invalid", &path, error.message.clone());
                    finding.at_place(Some(error.place));
                }
            }
            Some(error) => drop(found.add("workflow_invalid", &path, error.one_line())),
            None => {}
        }
    }
}

/// Reports scripts of interviews that cannot be used.
fn scripts(catalog: &Catalog, root: &Path, found: &mut Findings) {
    // Names that are not plain files or directories are reported where all names are checked.
    for name in own_scripts(catalog).unwrap_or_default() {
        if let Err(error) = WorkflowId::new(name.as_str()) {
            let path = root.join(INTERVIEWS).join(format!("{name}{SCRIPT_SUFFIX}"));
            found.add("script_invalid", &path, format!("a script cannot have this name: {error}"));
        }
        if let Err(interviews::Error::Script { path, violations }) = interviews::script(catalog, &name) {
            for violation in violations {
                found.add("script_invalid", &path, violation.message.as_str()).at_place(violation.place);
            }
        }
    }
}

/// Reports the runs of which a sparse checkout leaves out the whole directory.
fn left_out_runs(project: &OpenedProject, found: &mut Findings) {
    let (cx, root) = (&project.cx, project.root());
    let files = match cx.left_out_files(root, ".flow/runs/*/run.yaml") {
        Ok(files) => files,
        Err(unknown) => {
            found.add("left_out", project.path(), in_words(&unknown));
            return;
        }
    };
    for file in files {
        let Some(run) = file.strip_suffix("/run.yaml") else { continue };
        // What is there of another one is looked at with the runs.
        if !cx.disk.is_dir(&root.join(run)) {
            found.add("left_out", &root.join(run), in_words(&cx.left_out(root, run)));
        }
    }
}

/// That a sparse checkout leaves something out, and what brings it.
pub(super) fn in_words(left_out: &Error) -> Help {
    let help = left_out.problem().help.unwrap_or_default();
    Help::from(format!("{left_out}; ")) + help
}

/// Reports names in `runs/` that cannot be runs, and names that differ only in case.
fn runs(disk: &dyn Disk, root: &Path, trust: Trust, found: &mut Findings) {
    let dir = root.join(RUNS);
    let all = match entries(disk, &dir) {
        Ok(all) => all,
        Err(error) => {
            found.add_unread(&dir, format!("the directory cannot be read: {error}"));
            return;
        }
    };
    let mut twins: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in &all {
        let Some(name) = name_of(entry, "stray_file", found) else { continue };
        let aside = RepairStep::ShelveInFlow(DirLevel::Inner, name.to_owned());
        match (entry.kind, RunId::new(name)) {
            (FileKind::Directory, Ok(_)) => {
                twins.entry(name.to_ascii_lowercase()).or_default().push(name);
                foreign_owner(entry, "the run", trust, found);
            }
            (FileKind::Directory, Err(why)) => {
                found.add("bad_run_name", &entry.path, format!("no command can name it: {why}")).mend(aside);
            }
            // No repair for a link: someone keeps the run elsewhere and has to move it back, and the link says where it
            // is.
            (FileKind::Link, _) => {
                odd_kind(entry, name, FileKind::Directory, found);
            }
            (FileKind::Special, _) => odd_kind(entry, name, FileKind::Directory, found).mend(aside),
            (FileKind::File, _) => found.add("stray_file", &entry.path, "only runs belong here").mend(aside),
        }
    }
    for names in twins.values().filter(|names| names.len() > 1) {
        let message = format!("{} differ only in case; some file systems take them for one", names.join(" and "));
        found.add("twin_runs", &dir.join(names[0]), message);
    }
}
