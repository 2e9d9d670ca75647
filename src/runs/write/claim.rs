//! Claims of runs: `resume --claim` and `--take-over`, and whom a holder keeps out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Caller, Claim, Command, Decision, Hold, HoldState};
use crate::model::{LastSeen, SessionId};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::holder::process_of;
use crate::runs::host_note::is_dead;
use crate::runs::write::transaction::lost::transact_though_lost;
use crate::store::StoredRun;

/// How to claim a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRequest {
    /// Claim it unless another session that may be alive holds it.
    Claim,
    /// Claim it even then.
    TakeOver,
}

/// A claimed run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// The session that holds the run now.
    pub session: Option<SessionId>,
    /// The epoch of the claim: records with an older epoch are refused.
    pub epoch: u64,
    /// Whether anything changed.
    pub changed: bool,
}

/// Claims `run` for the calling session, who had seen the run up to `seen`.
pub(crate) fn claim(
    project: &OpenedProject,
    run: &dyn StoredRun,
    session: Option<SessionId>,
    how: ClaimRequest,
    seen: Option<&LastSeen>,
) -> Result<ClaimReport> {
    let caller = project.cx.caller(session, None)?;
    if caller.session.is_none() && how == ClaimRequest::Claim {
        return Err(Error::Usage("--claim needs a session: name it with --session or FLOW_SESSION".to_owned()));
    }
    let holder = project.holder_for(caller.session.as_ref())?;
    let takes_over = how == ClaimRequest::TakeOver;
    transact_though_lost(project, run, caller, project.cx.now(), takes_over, |tx| {
        tx.refuse_moved_on(seen)?;
        let claim = Claim { holder: holder.clone(), take_over: takes_over };
        // Without a session it can only be taken from one.
        let is_free = tx.caller.session.is_none() && tx.state.document().state.session.is_none();
        let changed = match tx.decide(Command::Claim(claim))? {
            Decision::Commit(kind) if !is_free => {
                tx.append(kind, None)?;
                tx.commit()?;
                true
            }
            Decision::Commit(_) | Decision::Already => false,
        };
        let state = &tx.state.document().state;
        Ok(ClaimReport { session: state.session.clone(), epoch: state.epoch, changed })
    })
}

/// Whether the holder of a run prevents the caller from writing it. A caller without a session counts as the holder if
/// it belongs to the same process, and as another session otherwise.
pub(crate) fn hold_state(project: &OpenedProject, held: Option<&Hold>, caller: &Caller) -> Result<HoldState> {
    let Some(hold) = held else { return Ok(HoldState::Free) };
    if caller.session.as_ref() == Some(&hold.session) {
        return Ok(HoldState::Free);
    }
    let evidence = process_of(hold);
    // Looked up last: it reads the processes above this one.
    if caller.session.is_none() && evidence.is_some() && project.cx.holder()? == evidence {
        return Ok(HoldState::Free);
    }
    if is_dead(project, &hold.session, evidence.as_ref()) {
        return Ok(HoldState::HolderDead);
    }
    // In doubt it counts as alive: two sessions in one run are worse than one question to a person.
    Ok(HoldState::HeldByOther)
}
