//! Who begins work without a session: what others can later see of it.

use crate::engine::Caller;
use crate::model::{ActivityStatus, EventKind, StepStatus};
use crate::runs::context::Context;
use crate::runs::error::Result;

/// Notes the processes whose life shows that work goes on, if it begins with this event and no session holds it. A session
/// holds its runs, and its own process is evidence enough.
///
/// # Errors
/// [`crate::runs::Error::Setting`] when the environment names an impossible process.
pub(in crate::runs) fn note_workers(cx: &Context, caller: &Caller, kind: &mut EventKind) -> Result<()> {
    if caller.session.is_some() {
        return Ok(());
    }
    match kind {
        EventKind::ActivityRecorded(record)
            if record.activity.status() == ActivityStatus::Running && record.by.is_empty() =>
        {
            record.by = workers(cx)?;
        }
        EventKind::Emitted(emitted)
            if emitted.reports.iter().any(|report| report.status() == Some(StepStatus::Running)) =>
        {
            emitted.by = workers(cx)?;
        }
        // Only work that goes on can be in doubt later.
        _ => {}
    }
    Ok(())
}

fn workers(cx: &Context) -> Result<Vec<String>> {
    Ok(cx.workers()?.iter().map(ToString::to_string).collect())
}
