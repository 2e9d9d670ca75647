//! Whether work that was begun without a session still goes on, as far as the processes tell that were noted with it.

use std::collections::BTreeSet;

use crate::engine::{Beginning, History, Lives, in_doubt};
use crate::host::{Holder, Liveness};
use crate::model::{StepStatus, Timestamp};
use crate::runs::context::OpenedProject;
use crate::runs::driver::DRIVER;
use crate::runs::processes::left_at;

/// Which of the processes live that began the work of which no outcome is known, or that a flow left which is gone.
/// `is_driven`: a living driver sees to the work of its commands.
pub(in crate::runs) fn lives(project: &OpenedProject, history: &History, is_driven: bool) -> Lives {
    let mut lives = noted_lives(history);
    let run = history.state().document();
    let may_have_left = history.has_workers() || run.context.contains_key(DRIVER) && !is_driven;
    // What follows looks at the whole history, and at all processes.
    if !may_have_left {
        return lives;
    }
    for doubt in in_doubt(history) {
        if lives.of(&doubt.by) == Some(true) || is_driven && doubt.number.is_none() {
            continue;
        }
        if let Some(process) = left_at(project, run, &doubt) {
            lives.note_left(doubt.number, &doubt.id, process);
        }
    }
    lives
}

/// Which of the processes live that were noted when the work began of which no outcome is known.
pub(in crate::runs) fn noted_lives(history: &History) -> Lives {
    let mut known = Vec::new();
    for process in noted_processes(history) {
        match process.parse::<Holder>().map(|holder| holder.liveness()) {
            Ok(Liveness::Alive) => known.push((process, true)),
            Ok(Liveness::Dead) => known.push((process, false)),
            // An edited log may have a text that no process has.
            Ok(Liveness::Unknown) | Err(_) => {}
        }
    }
    Lives::from_iter(known)
}

/// The same at an earlier time, when `history` was all that had happened. Whether they lived is no longer known, and the
/// log does not say that they ended.
pub(in crate::runs) fn lives_then(history: &History) -> Lives {
    noted_processes(history).into_iter().map(|process| (process, true)).collect()
}

fn noted_processes(history: &History) -> BTreeSet<String> {
    let mut processes = BTreeSet::new();
    // Most runs are those of sessions, and what follows looks at the whole history.
    if !history.has_workers() {
        return processes;
    }
    for doubt in in_doubt(history) {
        processes.extend(doubt.by);
    }
    for unit in history.units() {
        if unit.status == StepStatus::Running {
            processes.extend(history.began_step(unit.step, unit.unit).by);
        }
    }
    processes
}

/// A unit of work that was begun.
pub(in crate::runs) enum BegunUnit {
    /// Its outcome is unknown.
    InDoubt(String),
    /// The process that began it still runs.
    GoesOn { unit: String, at: Option<Timestamp> },
}

/// A unit of which no outcome is known; one of which nothing shows that it goes on comes first.
pub(in crate::runs) fn begun_unit(history: &History, lives: &Lives) -> Option<BegunUnit> {
    let mut goes_on = None;
    for unit in history.units() {
        if unit.status != StepStatus::Running {
            continue;
        }
        let Beginning { by, at } = history.began_step(unit.step, unit.unit);
        // Processes of which nothing is known show no more than those that are gone.
        if lives.of(&by) != Some(true) {
            return Some(BegunUnit::InDoubt(unit.name()));
        }
        if goes_on.is_none() {
            goes_on = Some(BegunUnit::GoesOn { unit: unit.name(), at });
        }
    }
    goes_on
}
