//! Who begins work without a session: what others can later see of it.

use crate::engine::{Caller, History, Refusal, Undone, in_doubt};
use crate::host::{Holder, Liveness};
use crate::model::{
    ActivityRecorded, ActivityStatus, EventKind, Execution, Help, Kind, Number, Problem, RunId, StepStatus,
};
use crate::runs::commands::wait_for_commands;
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
    record.activity.status() == ActivityStatus::Running && is_at_work(record.exec.as_deref(), &record.by)
}

/// Whether flow runs this command, the end of which is not recorded: one of the processes that began it lives.
fn is_at_work(exec: Option<&Execution>, by: &[String]) -> bool {
    let mut by = by.iter();
    exec.is_some_and(|exec| exec.end.is_none())
        && by.any(|by| by.parse::<Holder>().is_ok_and(|holder| holder.liveness() == Liveness::Alive))
}

/// Whether flow runs a command of the run, as far as its process can be seen from here.
pub(in crate::runs) fn has_command_at_work(history: &History) -> bool {
    in_doubt(history).iter().any(|doubt| is_at_work(doubt.exec.as_deref(), &doubt.by))
}

/// The refusal of what has to wait for the end of a command, with what to do then.
pub(super) fn still_runs(record: &ActivityRecorded, help: &str) -> Problem {
    at_work(record.number, record.id().as_str(), help.into())
}

fn at_work(number: Number, id: &str, help: Help) -> Problem {
    Problem::new(Kind::Held, "exec_runs", format!("{number} {id} still runs")).help(help)
}

/// What keeps a run from going on, if it is a command of which flow sees the end: then no record says how it ended, and it
/// is to be waited for.
pub(super) fn waits_for_command(run: &RunId, refusal: &Refusal, history: Option<&History>) -> Option<Problem> {
    let undone: &[Undone] = match refusal {
        Refusal::InDoubt { .. } => &[],
        Refusal::NotDone(undone) => undone,
        _ => return None,
    };
    for doubt in in_doubt(history?) {
        let Some(number) = doubt.number else { continue };
        let is_meant = undone.is_empty() || undone.iter().any(|one| one.latest_number() == Some(number));
        if is_meant && is_at_work(doubt.exec.as_deref(), &doubt.by) {
            let help = Help::from("wait for its end with ") + wait_for_commands(run);
            return Some(at_work(number, &doubt.id, help));
        }
    }
    None
}

fn workers(cx: &Context) -> Result<Vec<String>> {
    Ok(cx.workers()?.iter().map(ToString::to_string).collect())
}
