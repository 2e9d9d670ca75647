//! The token of a run, with which sub-agents that have sessions of their own report on their units.

use crate::engine::{Caller, Refusal, Report, refuse_other_session};
use crate::host::Holder;
use crate::model::{EventKind, StateName, Timestamp, sha256_hex};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::write::transaction::Transaction;

/// A token, and its digest for the log.
#[derive(Debug, Clone)]
pub(in crate::runs) struct RunToken {
    pub(in crate::runs) text: String,
    pub(in crate::runs) digest: String,
}

impl RunToken {
    fn new(text: String) -> Self {
        let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
        Self { text, digest }
    }
}

/// The token of a new run: `FLOW_RUN_TOKEN`, or a new one. None if no session holds the run, because then everyone may
/// report.
pub(in crate::runs) fn token_of_new_run(cx: &Context, caller: &Caller, now: Timestamp) -> Result<Option<RunToken>> {
    if caller.session.is_none() {
        return Ok(None);
    }
    let text = match cx.env.token()? {
        Some(given) => given,
        // Each id has random bits; two have enough to be a secret.
        None => format!("{}{}", cx.ids.next(now), cx.ids.next(now)),
    };
    Ok(Some(RunToken::new(text)))
}

/// Refuses reports of a session that does not hold the run. Reports on units are accepted from processes that the
/// holder started, and from processes with the run's token, because sub-agents often have sessions of their own.
pub(in crate::runs) fn refuse_reports(tx: &Transaction<'_>, reports: &[Report], is_driver: bool) -> Result<()> {
    let refusal = match refuse_other_session(&tx.state, &tx.caller) {
        Ok(()) => return Ok(()),
        // A driver is not a sub-agent.
        Err(Refusal::Held { session, .. }) if !is_driver => {
            // A step of the run itself is only the holder's to report.
            let agent = |report: &Report| report.step.as_ref().and_then(StateName::agent).is_some();
            if reports.iter().all(|report| report.unit.is_some() || agent(report)) && is_of_holder(tx)? {
                return Ok(());
            }
            Refusal::HeldFromReports { session }
        }
        Err(refusal) => refusal,
    };
    Err(Error::refused(tx.run.id(), refusal))
}

/// Whether the holder of the run gave this process the run's token, or started it.
fn is_of_holder(tx: &Transaction<'_>) -> Result<bool> {
    let known = match tx.run.first_event()?.map(|event| event.kind) {
        Some(EventKind::RunStarted(started)) => started.token,
        Some(EventKind::RunForked(forked)) => forked.token,
        _ => None,
    };
    // The log has the digest alone: the files of a run may be read by others.
    if let Some(given) = tx.project.cx.env.token()?
        && Some(RunToken::new(given).digest) == known
    {
        return Ok(true);
    }
    Ok(tx.holder_evidence()?.is_some_and(|holder| Holder::ancestors().contains(&holder)))
}
