//! Checks what the store has that several machines share.

use std::path::Path;

use crate::catalog::CONFIG_FILE;
use crate::doctor::finding::{Findings, RepairStep};
use crate::model::{Explain as _, Help, RunId, Suggestion};
use crate::runs::open::shared::request_to_read;
use crate::runs::{Error, OpenedProject, work_of};
use crate::store::local::layout::SHARED;
use crate::store::{Project, SharedRuns, SharedStore, StoreError, StoreFlaw, WorkKey};

/// Asks the store, as long as a reader may wait, unless the caller must not wait for a network.
pub(super) fn check(project: &OpenedProject, found: &mut Findings) {
    let shared = match project.runs().shared() {
        SharedStore::None => return,
        SharedStore::NotAccepted(store) => {
            let message = Help::from(format!("{store}, so shared runs are not seen; "));
            found.add("store_not_accepted", &project.path().join(CONFIG_FILE), message + store.help());
            return;
        }
        SharedStore::Accepted(shared) => shared,
    };
    check_hidden(shared, project, None, found);
    for run in project.runs().ids().unwrap_or_default() {
        check_displaced(project, &run, found);
    }
    ask(shared, project, None, found);
}

/// The same for one run, if it is shared.
pub(super) fn check_run(project: &OpenedProject, run: &RunId, found: &mut Findings) {
    if let Some(shared) = project.runs().shared().with(run) {
        check_hidden(shared, project, Some(run), found);
        check_displaced(project, run, found);
        ask(shared, project, Some(run), found);
    }
}

/// Asks what is wrong with everything, or with one run.
fn ask(shared: &dyn SharedRuns, project: &OpenedProject, of: Option<&RunId>, found: &mut Findings) {
    if project.cx.options.is_offline {
        return;
    }
    let copies = project.path().join(SHARED);
    let flaws =
        request_to_read(project).and_then(|request| Ok(shared.flaws(of, &|run| work(project, run), &request)?));
    match flaws {
        Ok(flaws) => flaws.into_iter().for_each(|flaw| add(flaw, &shared.address().to_string(), &copies, found)),
        Err(error @ Error::Store(StoreError::Unreached { .. } | StoreError::Refused { .. })) => {
            let ask = Suggestion::flow("remote status");
            let message = Help::from(error.one_line() + "; put that right, and ") + ask + " says whether it answers";
            found.add("store_not_reached", &copies, message);
        }
        Err(error) => found.add_unread(&copies, error.one_line()),
    }
}

/// Finds runs of this checkout that are not shown, since the store has other ones of the same ids.
fn check_hidden(shared: &dyn SharedRuns, project: &OpenedProject, of: Option<&RunId>, found: &mut Findings) {
    for hidden in shared.hidden().unwrap_or_default() {
        if of.is_some_and(|run| *run != hidden.run) {
            continue;
        }
        let message = Help::from(format!("{hidden}; ")) + hidden.help();
        found.add("run_hidden", &Project::path_of_run(project.path(), &hidden.run), message);
    }
}

/// Finds events that the store has lost, while it has others in their places.
fn check_displaced(project: &OpenedProject, run: &RunId, found: &mut Findings) {
    if let Ok(run) = project.runs().open(run)
        && let Some(displaced) = run.displaced()
    {
        found.add("store_lost_events", &displaced.file, format!("{displaced}; {}", displaced.help()));
    }
}

/// What an open run is about, as far as that can be read.
pub(super) fn work(project: &OpenedProject, run: &RunId) -> Vec<WorkKey> {
    match project.runs().open(run) {
        Ok(run) => work_of(project, &*run).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn add(flaw: StoreFlaw, store: &str, copies: &Path, found: &mut Findings) {
    match flaw {
        StoreFlaw::Lost { run } => {
            let help = Suggestion::flow("remote push").value(&run) + " puts it there again";
            let message = Help::from(format!("{store} has lost the run, or the end of it; "));
            let finding = found.add("store_lost_run", &Project::path_of_run(copies, &run), message + help);
            finding.mend(RepairStep::PutAgain(run));
        }
        StoreFlaw::Unlisted { run } => {
            let help = Suggestion::flow("remote push").value(&run) + " lists it again";
            let what = "has the log of the run and does not list it, so that machines without a copy do not see it; ";
            let message = Help::from(format!("{store} {what}")) + help;
            let finding = found.add("store_unlisted", &Project::path_of_run(copies, &run), message);
            finding.mend(RepairStep::PutAgain(run));
        }
        StoreFlaw::Emptied { copies: count } => {
            let message = format!(
                "{store} has no run, and copies of {count} are here: it was emptied, or it is not the store that it was"
            );
            found.add("store_emptied", copies, message);
        }
        StoreFlaw::Unfinished { run } => {
            let help =
                Suggestion::flow("remote push").value(&run) + " goes on, as does the next command that writes it";
            let message = Help::from(format!("the run is being moved into {store}, and may not be there yet; "));
            found.add("store_push_unfinished", &Project::path_of_run(copies, &run), message + help);
        }
        // The next command about the run brings what it lacks.
        StoreFlaw::Behind { .. } => {}
        StoreFlaw::Damaged { run, why, is_gap } => {
            let message = format!("the log that {store} has is damaged: {why}");
            let finding = found.add("store_log_damaged", &Project::path_of_run(copies, &run), message);
            if is_gap {
                finding.mend(RepairStep::PutAgain(run));
            }
        }
        StoreFlaw::Unread { run, why } => {
            let help = Suggestion::flow("doctor").value(&run) + " asks once more";
            let message = Help::from(format!("its log cannot be checked: {why}; "));
            found.add("store_log_unread", &Project::path_of_run(copies, &run), message + help);
        }
        StoreFlaw::Unmarked { run, about, instead } => {
            let path = Project::path_of_run(copies, &run);
            let Some(other) = instead else {
                let message =
                    format!("{store} does not know that the run is about {about}, so that a second one can begin");
                found.add("store_unmarked", &path, message).mend(RepairStep::PutAgain(run));
                return;
            };
            found.add("store_unmarked", &path, format!("{store} has run {other} as the one about {about}"));
        }
        StoreFlaw::LeftMark { run, about } => {
            let message = format!(
                "{store} has the mark that run {run} is about {about}, and not the run; the next run about it takes its place"
            );
            found.add("store_mark_left", &Project::path_of_run(copies, &run), message);
        }
        StoreFlaw::Deletes { why } => {
            found.add("store_deletes", copies, format!("{store} loses runs: {why}"));
        }
    }
}
