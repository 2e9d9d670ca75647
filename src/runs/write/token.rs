//! The token of a run, with which sub-agents that have sessions of their own report on their units.

use sha2::{Digest, Sha256};

use crate::engine::{Caller, Refusal, Report, refuse_other_session};
use crate::host::Holder;
use crate::model::{EventKind, StateName, Timestamp, hex};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::write::transaction::Transaction;

/// A token, and its digest for the log.
#[derive(Debug, Clone)]
pub(in crate::runs) struct Token {
    pub(in crate::runs) text: String,
    pub(in crate::runs) digest: String,
}

impl Token {
    fn new(text: String) -> Self {
        let digest = format!("sha256:{}", hex(&Sha256::digest(text.as_bytes())));
        Self { text, digest }
    }
}

/// The token of a new run: `FLOW_RUN_TOKEN`, or a new one. None if no session holds the run, because then everyone may
/// report.
pub(in crate::runs) fn token_of_new_run(cx: &Context, caller: &Caller, now: Timestamp) -> Result<Option<Token>> {
    if caller.session.is_none() {
        return Ok(None);
    }
    let given = cx.env.token()?;
    Ok(Some(Token::new(given.unwrap_or_else(|| format!("{}{}", cx.ids.next(now), cx.ids.next(now))))))
}

/// Refuses reports of a session that does not hold the run. Reports on units are accepted from processes that the
/// holder started, and from processes with the run's token, because sub-agents often have sessions of their own.
pub(in crate::runs) fn refuse_reports(
    tx: &Transaction<'_>,
    reports: &[Report],
) -> Result<std::result::Result<(), Refusal>> {
    let refused = match refuse_other_session(&tx.state, &tx.caller) {
        Err(Refusal::Held { session, .. }) => Refusal::HeldFromReports { session },
        other => return Ok(other),
    };
    let of_unit = |report: &Report| {
        report.unit.is_some() || report.step.as_ref().is_some_and(|step| StateName::agent(step).is_some())
    };
    if !reports.iter().all(of_unit) {
        return Ok(Err(refused));
    }
    let first = tx.first_event()?;
    let digest = match first.as_ref().map(|event| &event.kind) {
        Some(EventKind::RunStarted(started)) => started.token.clone(),
        _ => None,
    };
    let token = tx.cx.env.token()?.map(|text| Token::new(text).digest);
    let has_token = token.is_some() && token == digest;
    if has_token || tx.holder_evidence()?.is_some_and(|holder| Holder::ancestors().contains(&holder)) {
        return Ok(Ok(()));
    }
    Ok(Err(refused))
}
