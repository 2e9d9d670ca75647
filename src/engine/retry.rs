//! Whether a record repeats an earlier one of the same operation id.

use crate::engine::{Record, Refusal};
use crate::model::{ActivityRecorded, ActivityStatus};

/// How to treat an operation id that may have been used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// A retry of the record this many records back: give its answer again and record nothing.
    Same(usize),
    /// A new record: the id is new, or its work goes on or is tried again.
    Another,
}

/// Whether `record` is the same request as `earlier`.
#[must_use]
pub fn is_retry_of(earlier: &ActivityRecorded, record: &Record) -> bool {
    matches!((&earlier.request, &record.request), (Some(earlier), Some(request)) if earlier.begins(request))
}

/// Compares a request with the earlier records of the same operation id, latest first. A request that equals any of them is
/// a retry of it. After a failed or blocked outcome, other content is a new attempt; begun work gets its outcome. `counts`
/// is whether the id is in `completed_activities`: an entry that a person took off is to be done again.
///
/// # Errors
/// [`Refusal::IdReused`] for other content under the id of work that passed or was skipped, or that is begun once more
/// while it runs.
pub fn retry<'a>(
    before: impl IntoIterator<Item = &'a ActivityRecorded>,
    record: &Record,
    counts: bool,
) -> Result<Retry, Refusal> {
    let mut latest = None;
    for (at, earlier) in before.into_iter().enumerate() {
        if is_retry_of(earlier, record) {
            return Ok(Retry::Same(at));
        }
        latest.get_or_insert(earlier);
    }
    // A record without an operation id was not meant as a key.
    let Some(latest) = latest.filter(|latest| latest.request.is_some()) else { return Ok(Retry::Another) };
    let status = latest.activity.status();
    let is_tried_again = matches!(status, ActivityStatus::Failed | ActivityStatus::Blocked);
    let is_withdrawn = status.is_completed() && !counts;
    if is_tried_again || is_withdrawn || status != record.activity.status() {
        return Ok(Retry::Another);
    }
    Err(Refusal::IdReused { id: latest.id().to_string(), number: latest.number, status })
}
