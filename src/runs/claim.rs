//! Claims of runs: `resume --claim` and `--take-over`, and who counts as the holder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Caller, Claim, Command, Decision, NoTrail, Presence, decide};
use crate::host::Holder;
use crate::model::{EventKind, SessionId};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::hosts::is_dead;
use crate::runs::transaction::{Transaction, transact};
use crate::store::{Project, StoredRun};

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

/// Claims `run` for the calling session.
pub(crate) fn claim(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    session: Option<SessionId>,
    how: ClaimRequest,
) -> Result<ClaimReport> {
    let caller = cx.caller(session, None)?;
    if caller.session.is_none() && how == ClaimRequest::Claim {
        return Err(Error::Usage("--claim needs a session: name it with --session or FLOW_SESSION".to_owned()));
    }
    let holder = cx.holder_for(project, caller.session.as_ref())?;
    transact(cx, project, run, caller, cx.now(), |tx| {
        let claim = Claim { holder: holder.clone(), take_over: how == ClaimRequest::TakeOver };
        let changed = match tx.decide(Command::Claim(claim))? {
            Decision::Commit(kind) => {
                tx.append(kind, None)?;
                tx.commit()?;
                true
            }
            Decision::Already => false,
        };
        let state = &tx.state.document().state;
        Ok(ClaimReport { session: state.session.clone(), epoch: state.epoch, changed })
    })
}

/// The caller, with what is known about the run's holder. Cheap unless another session holds the run.
pub(super) fn judge_holder(tx: &Transaction<'_>) -> Result<Caller> {
    let (held, caller) = (&tx.state.document().state.session, tx.caller.clone());
    if held.is_none() || caller.session.is_none() || *held == caller.session {
        return Ok(caller);
    }
    let holder = holder_evidence(tx)?;
    let holder_dead = held.as_ref().is_some_and(|held| is_dead(tx.project, held, holder.as_ref()));
    Ok(Caller { holder_dead, ..caller })
}

/// The process that holds the run, if it is known.
pub(super) fn holder_evidence(tx: &Transaction<'_>) -> Result<Option<Holder>> {
    let history = tx.history()?;
    let evidence = history.as_ref().and_then(|history| history.hold()?.holder.as_ref());
    Ok(evidence.and_then(|text| text.parse().ok()))
}

/// The event that gives the run to the caller, if its holder is known to be dead.
pub(super) fn claim_of_dead(tx: &Transaction<'_>) -> Result<Option<EventKind>> {
    if tx.caller.holder_dead { claim_of(tx) } else { Ok(None) }
}

/// The event that gives the run to the caller, if no session holds it.
pub(super) fn claim_of_free(tx: &Transaction<'_>) -> Result<Option<EventKind>> {
    if tx.state.document().state.session.is_none() { claim_of(tx) } else { Ok(None) }
}

fn claim_of(tx: &Transaction<'_>) -> Result<Option<EventKind>> {
    if tx.caller.session.is_none() {
        return Ok(None);
    }
    let holder = tx.cx.holder_for(tx.project, tx.caller.session.as_ref())?;
    let claim = Command::Claim(Claim { holder, take_over: false });
    match decide(&tx.state, None, &tx.caller, claim, &NoTrail) {
        Ok(Decision::Commit(kind)) => Ok(Some(kind)),
        _ => Ok(None),
    }
}

/// Whether the holder of a run prevents the caller from writing it. A caller without a session counts as the holder if
/// it belongs to the same process, and as another session otherwise.
pub(crate) fn presence(
    cx: &Context,
    project: &Project,
    held: Option<&crate::engine::Hold>,
    caller: &Caller,
) -> Result<Presence> {
    let Some(hold) = held else { return Ok(Presence::Free) };
    if caller.session.as_ref() == Some(&hold.session) {
        return Ok(Presence::Free);
    }
    let evidence = hold.holder.as_deref().and_then(|text| text.parse::<Holder>().ok());
    if caller.session.is_none() && evidence.is_some() && cx.holder()? == evidence {
        return Ok(Presence::Free);
    }
    Ok(match is_dead(project, &hold.session, evidence.as_ref()) {
        true => Presence::HolderDead,
        false => Presence::HeldByOther,
    })
}
