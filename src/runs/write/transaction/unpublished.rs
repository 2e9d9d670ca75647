//! What other writers of the run are about to publish.

use crate::codec::RunText;
use crate::engine::Repair;
use crate::model::{Event, Seq};
use crate::runs::error::Result;
use crate::store::RunWriter;

/// Events in the log that `run.yaml` does not show yet, because their writers are still flushing. The next commit publishes
/// them too.
pub(super) struct UnpublishedEvents {
    /// The event that `run.yaml` shows.
    pub(super) since: Seq,
    pub(super) old: RunText,
    pub(super) newer: Vec<Event>,
}

impl UnpublishedEvents {
    pub(super) fn of(repair: Repair, writer: &dyn RunWriter) -> Option<Self> {
        let Repair::RollForward { since, old, .. } = repair else { return None };
        Some(Self { since, old, newer: writer.end().newer.clone() })
    }
}

/// Whether `run.yaml` lacks events that other writers than `writer` are about to publish.
pub(super) fn others_publish(writer: &mut dyn RunWriter, repairs: &[Repair]) -> Result<bool> {
    if !repairs.iter().any(|repair| matches!(repair, Repair::RollForward { .. })) {
        return Ok(false);
    }
    match writer.chores() {
        Some(chores) => Ok(chores.is_flushed_elsewhere()?),
        None => Ok(false),
    }
}
