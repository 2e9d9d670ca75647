//! Makes the change that a setup planned.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::disk::Links;
use crate::hooks::settings::doctor::{HooksDoctorRequest, HooksFinding, doctor};
use crate::hooks::settings::file::remove_empty;
use crate::hooks::settings::host::HostChoice;
use crate::hooks::settings::rules;
use crate::hooks::settings::setup::plan::{Change, SetupPlan, SetupReport};
use crate::model::{Kind, Problem};
use crate::runs::{self, Context, InitRequest, Result};

/// What to say to an agent that has flow.
const SAY: &str = "start issue 42 with flow";

/// Makes the change that `plan` shows.
///
/// # Errors
/// If a file changed since the plan was made, or cannot be written. Then the files before it in the plan are changed, and a
/// new plan has the rest.
pub fn carry_out(cx: &Context, plan: SetupPlan) -> Result<SetupReport> {
    let SetupPlan { mut report, scope, changes, unchanged, mut note } = plan;
    for file in &unchanged {
        file.settle();
    }
    if report.undo {
        for change in &changes {
            write(change)?;
        }
        remove_directories(cx, &changes, &note.directories);
        // A `.flow` with runs in it stays, and is not reported as removed.
        if report.flow.is_some() && !runs::remove_unused(cx)? {
            report.flow = None;
        }
        note.forget(cx);
    } else {
        for change in &changes {
            note.directories.extend(missing_directories(cx, &change.file.path));
        }
        // Noted before anything is written: what a kill leaves behind can be taken out as well.
        note.write(cx);
        // Also where an earlier setup was killed while it made `.flow`.
        if note.made_flow {
            runs::init(cx, &InitRequest::default())?;
        }
        for change in &changes {
            write(change)?;
        }
        report.trust = report.hosts.iter().map(|host| rules::trust(*host, scope)).collect();
        report.findings = findings(cx, &report)?;
        report.say = Some(SAY.to_owned());
    }
    report.written = true;
    Ok(report)
}

/// Writes the new text of a file, if it still has the old one.
fn write(change: &Change) -> Result<()> {
    change.file.edit(&mut |text| {
        if text != change.old.as_deref() && text != change.new.as_deref() {
            let message = format!("{} changed since its change was shown", change.file.path.display());
            return Err(Problem::new(Kind::Held, "changed_meanwhile", message)
                .help("give the command again to see the change of now")
                .into());
        }
        Ok(change.new.clone())
    })
}

/// The directories on the way to `file` that do not exist.
fn missing_directories(cx: &Context, file: &Path) -> Vec<PathBuf> {
    let missing = file.ancestors().skip(1).take_while(|directory| cx.disk.look(directory, Links::Follow).is_err());
    missing.map(Path::to_owned).collect()
}

/// Removes the directories that setups made, and those of flow's skills, if nothing is in them.
fn remove_directories(cx: &Context, changes: &[Change], made: &BTreeSet<PathBuf>) {
    let mut directories = made.clone();
    for change in changes {
        if change.new.is_some() {
            continue;
        }
        // Without the note, as in a clone, git has brought the directories with the files.
        if made.is_empty() {
            directories.extend(change.file.directories_in_project());
        }
        // The directories of skills show by their names.
        if let Some(directory) = change.file.path.parent()
            && let Some(name) = directory.file_name()
            && name.to_string_lossy().starts_with("flow-")
        {
            directories.insert(directory.to_owned());
        }
    }
    remove_empty(cx, &directories);
}

/// What the doctor finds about the hosts.
fn findings(cx: &Context, report: &SetupReport) -> Result<Vec<HooksFinding>> {
    let mut findings: Vec<HooksFinding> = Vec::new();
    for host in &report.hosts {
        // What concerns all hosts is found with each of them.
        for finding in doctor(cx, &HooksDoctorRequest { host: HostChoice::One(*host) })?.findings {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}
