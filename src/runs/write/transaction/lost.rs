//! Commands that always work, also on a run that the store has lost.

use super::Transaction;
use super::attempts::transact;
use crate::engine::Caller;
use crate::model::Timestamp;
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::open::same_work::work_of;
use crate::store::{StoreError, StoredRun};

/// As [`transact`]. For a command that always works, a run that the store has lost is put there again from the copy here, and `act`
/// is called again.
pub(crate) fn transact_though_lost<T>(
    project: &OpenedProject,
    run: &dyn StoredRun,
    caller: Caller,
    now: Timestamp,
    always_works: bool,
    mut act: impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Result<T> {
    match transact(project, run, caller.clone(), now, &mut act) {
        Err(Error::Store(StoreError::Lost { .. })) if always_works => {}
        done => return done,
    }
    let request = project.cx.write_request(now, project.commit_wait()?);
    if let Some(shared) = project.runs().shared().accepted() {
        shared.put_again(run.id(), work_of(project, run)?, &request)?;
    }
    transact(project, run, caller, now, act)
}
