//! The second of the two commits of `exec`: how the command ended.

use serde_json::json;

use crate::engine::{Command, Record};
use crate::model::{
    ActivityId, ActivityRecorded, ActivityStatus, EventKind, Execution, KeptEvidence, Number, Seq, StateName,
    TextDigest, TimeUsed, Usage,
};
use crate::runs::error::Result;
use crate::runs::open::reference::DIRECTORY;
use crate::runs::write::exec::begin::activity_of;
use crate::runs::write::questions::append_and_warn;
use crate::runs::write::transaction::Transaction;

/// What the second commit records.
pub(super) struct FinishedCommand<'f> {
    pub(super) id: &'f ActivityId,
    /// Where the command began: the run may have moved on.
    pub(super) phase: &'f StateName,
    /// What its exit status alone does not say.
    pub(super) trouble: Option<String>,
    /// The command, with its end.
    pub(super) execution: Execution,
    /// The end of its output; none if it is not kept.
    pub(super) output: Option<Vec<u8>>,
    /// The request that a retry repeats.
    pub(super) request: Option<TextDigest>,
    pub(super) is_keyed: bool,
    /// What the caller knows that it used.
    pub(super) usage: &'f Usage,
}

impl FinishedCommand<'_> {
    /// Records the end.
    ///
    /// # Errors
    /// Those of a record.
    pub(super) fn record(&self, tx: &mut Transaction<'_>) -> Result<(Seq, ActivityRecorded)> {
        let Some(end) = &self.execution.end else { unreachable!("BUG: a command without an end") };
        let number = tx.next_number(None, self.id)?;
        // Never without an end that was seen.
        let status = if end.is_good() { ActivityStatus::Passed } else { ActivityStatus::Failed };
        let kept = self.kept(number);
        let mut activity = activity_of(self.id, Some(self.phase), &self.execution, status);
        activity.fill("activity", "completed_at", end.at.to_string());
        activity.fill("outputs", "command_exit_code", end.exit_code());
        let usage = self.usage();
        if !usage.is_unknown() {
            activity.fill("outputs", "usage", json!(usage));
        }
        if let Some((kept, _)) = &kept {
            activity.fill("outputs", "evidence_refs", json!([format!("{DIRECTORY}{}", kept.name)]));
        }
        if let Some(summary) = &self.trouble {
            activity.fill("result", "summary", summary.as_str());
        }
        let record = Record {
            evidence: kept.iter().map(|(kept, _)| kept.clone()).collect(),
            exec: Some(Box::new(self.execution.clone())),
            request: self.request.clone(),
            ..Record::new(activity, number)
        };
        let recorded = tx.decide_record(Command::Record(Box::new(record)))?;
        tx.claim_for_work()?;
        if let Some((kept, bytes)) = kept {
            tx.writer.put_evidence(&kept.name, bytes, tx.now)?;
        }
        let key = self.is_keyed.then_some(self.id.as_str());
        append_and_warn(tx, EventKind::ActivityRecorded(recorded.clone()), key)?;
        Ok((tx.commit()?, *recorded))
    }

    /// What the caller says, and how long the command took.
    fn usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        if let Some(end) = &self.execution.end
            && end.not_started.is_none()
            && usage.duration.is_none()
        {
            usage.duration = Some(TimeUsed::of_ms(self.execution.started_at.milliseconds_until(end.at)));
        }
        usage
    }

    fn kept(&self, number: Number) -> Option<(KeptEvidence, &[u8])> {
        let output = self.output.as_deref()?;
        let name = format!("{number}-{}.log", self.id);
        Some((KeptEvidence::of(&name, output), output))
    }
}
