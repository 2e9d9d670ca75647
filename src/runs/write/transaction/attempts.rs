//! Tries to change a run until it is done: other writers may be faster, and what a decision rests on may be out of date.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use super::Transaction;
use crate::engine::{Caller, Refusal};
use crate::model::Timestamp;
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::open::checkout::has_moved;
use crate::runs::open::name::refuse_pruned;
use crate::runs::open::proof::Proofs;
use crate::runs::open::same_work::pass_on;
use crate::store::{StoreError, StoredRun, WorkKey, WriteRequest, pause_after};

/// How often to look at the files for one command: at each look another command may have ended.
const LOOKS: u32 = 3;

/// Runs `act`, which changes `run` for `caller`, as one transaction. After a conflict with another writer, `act` is
/// called again with the new state of the run, so it must do nothing except read and write the run.
///
/// # Errors
/// The errors of `act`, of reading a run, and of its repairs.
pub(crate) fn transact<T>(
    project: &OpenedProject,
    run: &dyn StoredRun,
    caller: Caller,
    now: Timestamp,
    act: impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Result<T> {
    transact_as(project, run, caller, &project.cx.write_request(now, project.commit_wait()?), act)
}

/// As [`transact`], for the writer in `request`, with the wait that it sets.
pub(crate) fn transact_as<T>(
    project: &OpenedProject,
    run: &dyn StoredRun,
    caller: Caller,
    request: &WriteRequest,
    mut act: impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let started = Instant::now();
    let mut carried = Carried::default();
    let (mut looks, mut lost_races) = (0, 0);
    let mut moved: Option<Box<dyn StoredRun>> = None;
    let outcome = loop {
        let run = moved.as_deref().unwrap_or(run);
        let left = request.wait.saturating_sub(started.elapsed());
        let request_now = WriteRequest { wait: left, ..request.clone() };
        let Attempted::Ended { done, is_certain } =
            attempt(project, run, &caller, &request_now, &mut carried, &mut act)
        else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        match step_after(project, run, &done, is_certain, looks) {
            Step::End => break done,
            Step::FollowRun => moved = Some(project.runs().open(run.id())?),
            Step::DecideAgain => {
                lost_races += 1;
                if left.is_zero() {
                    return Err(StoreError::Conflict { run: run.id().clone(), races: lost_races }.into());
                }
                thread::sleep(pause_after(lost_races).min(left));
            }
            Step::LookAtFiles => {
                looks += 1;
                carried.proofs = Some(Rc::new(Proofs::look(project, run)?));
            }
            Step::CatchUp => carried.notes.extend(run.catch_up(&request_now)?),
        }
    };
    // Only now that the run is not locked: the run that gets what this one gave up is read for it.
    pass_on(project, run.id(), &carried.freed);
    outcome
}

/// What one attempt leaves to the next one.
#[derive(Default)]
struct Carried {
    /// What was moved to quarantine.
    notes: Vec<String>,
    /// The issue and the pull request that the run has given up.
    freed: Vec<WorkKey>,
    proofs: Option<Rc<Proofs>>,
}

/// How an attempt to change a run ended.
enum Attempted<T> {
    /// Other writers have to publish first what they have appended, and there is time to wait for them.
    OthersPublish,
    /// `is_certain`: the answer is about events that the store has, and not about what this reader saw of it.
    Ended { done: Result<T>, is_certain: bool },
}

/// Calls `act` once. The run is not locked any longer when this returns.
fn attempt<T>(
    project: &OpenedProject,
    run: &dyn StoredRun,
    caller: &Caller,
    request: &WriteRequest,
    carried: &mut Carried,
    act: &mut impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Attempted<T> {
    let mut tx = match Transaction::begin(project, run, caller, request, &mut carried.notes) {
        Ok(Some(tx)) => tx,
        Ok(None) => return Attempted::OthersPublish,
        Err(error) => return Attempted::Ended { done: Err(or_pruned(project, run, error)), is_certain: false },
    };
    tx.warnings.extend(carried.notes.iter().cloned());
    tx.proofs.clone_from(&carried.proofs);
    let done = tx.run_to_its_end(act);
    carried.freed.append(&mut tx.freed);
    if let Some(chores) = tx.writer.chores() {
        carried.notes.extend(chores.take_notes());
    }
    Attempted::Ended { done, is_certain: tx.is_certain }
}

/// What comes after an attempt to change a run.
enum Step {
    /// Its answer is that of the transaction.
    End,
    /// The run went into a store that machines share: it is changed there.
    FollowRun,
    /// Another writer was faster, and the run has another state now.
    DecideAgain,
    /// It is not known whether what was seen of commands still holds.
    LookAtFiles,
    /// What was decided may rest on a copy that is behind.
    CatchUp,
}

fn step_after<T>(project: &OpenedProject, run: &dyn StoredRun, done: &Result<T>, is_certain: bool, looks: u32) -> Step {
    match done {
        Err(_) if has_moved(project, run) => Step::FollowRun,
        Err(Error::Store(StoreError::Conflict { .. })) => Step::DecideAgain,
        // Only now, while the run is not locked: to look at all files takes long. Another command may have ended since.
        Err(Error::Refused { refusal: Refusal::NotProved { looked: false, .. }, .. }) if looks < LOOKS => {
            Step::LookAtFiles
        }
        Err(Error::Store(StoreError::CopyDiffers { .. })) => Step::CatchUp,
        Err(Error::Store(_)) => Step::End,
        // A copy that is behind must not be the reason of a refusal.
        Err(_) if !run.is_current() => Step::CatchUp,
        // Nor of an answer that nothing is to be done: another machine may have changed what it rests on.
        Ok(_) if !is_certain && !run.is_current() => Step::CatchUp,
        Ok(_) | Err(_) => Step::End,
    }
}

/// Why the files of a run are not there any longer, if they are not.
fn or_pruned(project: &OpenedProject, run: &dyn StoredRun, error: Error) -> Error {
    match &error {
        Error::Store(gone) if gone.is_not_found() || matches!(gone, StoreError::Replaced { .. }) => {
            refuse_pruned(project, run.id()).err().unwrap_or(error)
        }
        _ => error,
    }
}

/// Records what a person typed into `run.yaml`, and finishes what a dead writer left.
pub(crate) fn adopt_edits(project: &OpenedProject, run: &dyn StoredRun) -> Result<()> {
    transact(project, run, project.cx.caller(None, None)?, project.cx.now(), |_| Ok(()))
}
