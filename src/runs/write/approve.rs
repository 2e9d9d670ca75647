//! `approve` and `reject`: a person's decision at a gate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::digest;
use crate::disk::USER;
use crate::engine::{Caller, Command, Decide, Refusal};
use crate::model::{
    APPROVAL, ActivityId, ActivityRecorded, Approval, DecidedAt, EventId, EventKind, LastSeen, Number, RunId, Seq,
    StateName, TextDigest,
};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::open::select::select_run_to_write;
use crate::runs::person::refuse_agents;
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::attempts::transact;

/// A decision at the gate of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// The run; otherwise the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Whether the person approves; otherwise they reject.
    pub approves: bool,
    /// Why; required to reject.
    #[serde(default)]
    pub reason: Option<String>,
    /// An idempotency key: repeating a request with the same id has no further effect.
    #[serde(default)]
    pub id: Option<EventId>,
    /// How far the person had seen the run; if there is more by now, nothing is decided.
    pub seen: LastSeen,
    /// Where the person decides.
    pub how: DecidedAt,
}

/// The report of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ApproveReport {
    /// The run.
    pub run_id: RunId,
    /// The position of the event.
    pub seq: Seq,
    /// The number of its record in the run.
    pub number: Number,
    /// The id of the record.
    pub activity: String,
    /// Its file, relative to the project.
    pub path: String,
    /// The gate.
    pub phase: StateName,
    /// Whether the run may leave the gate.
    pub approved: bool,
    /// Who decided, where, and what they had seen.
    #[serde(flatten)]
    pub approval: Approval,
    /// Whether the request is a retry, so that nothing was written.
    pub repeated: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Records a person's decision at the gate that waits. The run does not move.
///
/// # Errors
/// `needs_approval` when an agent began this process; [`crate::runs::Error::Refused`] when no gate waits, when something was
/// recorded since the person looked, or when a reason is missing; [`crate::runs::Error::Store`] when it cannot be written.
pub fn approve(cx: &Context, request: &ApproveRequest) -> Result<ApproveReport> {
    refuse_agents(cx)?;
    let project = cx.project()?;
    let now = cx.now();
    // A person acts for themselves, whatever session the environment names.
    let caller = Caller::default();
    let run = select_run_to_write(&project, request.run.as_deref(), None)?;
    // Only a request with an id can be a retry, so only that is compared with a later one.
    let content = serde_json::json!([request.approves, request.reason]).to_string();
    let asked = request.id.as_ref().map(|_| TextDigest(digest(content.as_bytes())));
    let by = cx.env.user.clone().unwrap_or_else(|| format!("user {}", *USER));
    transact(&project, &*run, caller, now, |tx| {
        // First of all: a retry has seen an older event than its own first try has written.
        if let Some((seq, record)) = decided_already(tx, request, asked.as_ref())? {
            tx.answer_stands();
            return Ok(ApproveReport { repeated: true, ..report_of(tx, seq, &record) });
        }
        let seen = tx.event_seen(&request.seen)?;
        refuse_unseen(tx, seen)?;
        let id = ActivityId::new(APPROVAL)?;
        let decision = Decide {
            approves: request.approves,
            reason: request.reason.clone(),
            approval: Approval { by: by.clone(), how: request.how, seen },
            request: asked.clone(),
            number: tx.next_number(None, &id)?,
            now,
        };
        let record = tx.decide_record(Command::Decide(Box::new(decision)))?;
        tx.append(EventKind::ActivityRecorded(record.clone()), request.id.as_ref().map(EventId::as_str))?;
        let seq = tx.commit()?;
        Ok(report_of(tx, seq, &record))
    })
}

/// Refuses a decision of a person who had seen the run up to `seen`, if something was recorded or changed since then. Who
/// holds the run is nothing to decide on.
fn refuse_unseen(tx: &Transaction<'_>, seen: Seq) -> Result<()> {
    let last = tx.writer.end().last;
    if seen > last {
        return tx.refuse_moved_on(Some(&seen.into()));
    }
    let Some(end) = tx.run.end(seen)? else { return Ok(()) };
    for event in end.newer {
        if !matches!(event.kind, EventKind::RunClaimed(_) | EventKind::SessionEnded(_)) {
            return Err(tx.refused(Refusal::MovedOn { seen: seen.into(), last }));
        }
    }
    Ok(())
}

/// The record of an earlier try of the same request; an error if its id stands for something else.
fn decided_already(
    tx: &Transaction<'_>,
    request: &ApproveRequest,
    asked: Option<&TextDigest>,
) -> Result<Option<(Seq, ActivityRecorded)>> {
    let Some(id) = &request.id else { return Ok(None) };
    tx.earlier(id, |event| match &event.kind {
        EventKind::ActivityRecorded(record) if record.approval.is_some() && record.request.as_ref() == asked => {
            Some((event.seq, (**record).clone()))
        }
        _ => None,
    })
}

fn report_of(tx: &Transaction<'_>, seq: Seq, record: &ActivityRecorded) -> ApproveReport {
    let approval = record.approval.clone().expect("BUG: a decision has no approval");
    ApproveReport {
        run_id: tx.state.document().id.clone(),
        seq,
        number: record.number,
        activity: record.id().to_string(),
        path: tx.path_of(record),
        phase: record.phase.clone(),
        approved: record.activity.status().is_completed(),
        approval,
        repeated: false,
        warnings: tx.warnings.clone(),
    }
}
