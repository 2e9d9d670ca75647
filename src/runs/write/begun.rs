//! Who begins work without a session: what others can later see of it.

use crate::engine::Caller;
use crate::host::{Holder, Liveness};
use crate::model::{ActivityRecorded, ActivityStatus, EventKind, Kind, Problem, StepStatus};
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

/// Whether the record begins a command that flow runs, and the process that runs it lives.
pub(super) fn is_command_at_work(record: &ActivityRecorded) -> bool {
    let is_begun = record.exec.as_ref().is_some_and(|exec| exec.end.is_none());
    let mut by = record.by.iter();
    is_begun
        && record.activity.status() == ActivityStatus::Running
        && by.any(|by| by.parse::<Holder>().is_ok_and(|holder| holder.liveness() == Liveness::Alive))
}

/// The refusal of what has to wait for the end of a command, with what to do then.
pub(super) fn still_runs(record: &ActivityRecorded, help: &str) -> Problem {
    let message = format!("{} {} still runs", record.number, record.id());
    Problem::new(Kind::Held, "exec_runs", message).help(help)
}

fn workers(cx: &Context) -> Result<Vec<String>> {
    Ok(cx.workers()?.iter().map(ToString::to_string).collect())
}
