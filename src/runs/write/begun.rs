//! Who begins work without a session: what others can later see of it.

use crate::engine::{Caller, History, InDoubt, Refusal, Undone, in_doubt};
use crate::host::{Holder, Liveness};
use crate::model::{
    ActivityRecorded, ActivityStatus, EventKind, Execution, Help, Kind, Number, Problem, RunDocument, RunId,
    StepReport, StepStatus,
};
use crate::runs::commands::wait_for_commands;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::driver::DRIVER;
use crate::runs::error::Result;
use crate::runs::processes::{dir_of, driver_left, exec_left, left_at, left_in, left_of_exec};

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

/// A command that flow began, and that goes on.
pub(super) enum AtWork {
    /// flow runs it and sees its end: the number and the id of its record.
    Seen(Number, String),
    /// The flow that began it is gone, and this process of it is not; what it works on.
    Left { process: u32, work: String, is_exec: bool },
}

impl AtWork {
    /// The refusal of what has to wait for its end. `help` says what to do about one of which flow sees the end.
    pub(super) fn refusal(self, help: impl Into<Help>) -> Problem {
        match self {
            Self::Seen(number, id) => {
                Problem::new(Kind::Held, "exec_runs", format!("{number} {id} still runs")).help(help)
            }
            Self::Left { process, work, is_exec: true } => exec_left(process, &work),
            Self::Left { process, work, is_exec: false } => driver_left(process, &work),
        }
    }
}

/// The command that the record of `run` begins, if it goes on.
pub(super) fn command_at_work(project: &OpenedProject, run: &RunId, record: &ActivityRecorded) -> Option<AtWork> {
    let (number, id) = (record.number, record.id());
    if record.activity.status() != ActivityStatus::Running {
        return None;
    }
    let exec = record.exec.as_deref().filter(|exec| exec.end.is_none())?;
    if is_seen(exec, &record.by) {
        return Some(AtWork::Seen(number, id.to_string()));
    }
    let process = left_of_exec(project, run, number)?;
    Some(AtWork::Left { process, work: format!("{number} {id}"), is_exec: true })
}

/// Whether flow sees the end of this command: one of the processes that began it lives.
fn is_seen(exec: &Execution, by: &[String]) -> bool {
    let mut by = by.iter();
    exec.end.is_none() && by.any(|by| by.parse::<Holder>().is_ok_and(|holder| holder.liveness() == Liveness::Alive))
}

/// The command that this work is, if flow began it and it goes on.
fn at_work(project: &OpenedProject, history: &History, doubt: &InDoubt) -> Option<AtWork> {
    if let (Some(exec), Some(number)) = (&doubt.exec, doubt.number)
        && is_seen(exec, &doubt.by)
    {
        return Some(AtWork::Seen(number, doubt.id.clone()));
    }
    let process = left_at(project, history.state().document(), doubt)?;
    let work = match doubt.number {
        Some(number) => format!("{number} {}", doubt.id),
        None => format!("`{}`", doubt.id),
    };
    Some(AtWork::Left { process, work, is_exec: doubt.number.is_some() })
}

/// Whether a command that flow began for the run goes on, as far as its process can be seen from here.
pub(in crate::runs) fn has_command_at_work(project: &OpenedProject, history: &History) -> bool {
    in_doubt(history).iter().any(|doubt| at_work(project, history, doubt).is_some())
}

/// The command that `exec` began for the run and that goes on: the first of several.
pub(super) fn exec_at_work(project: &OpenedProject, history: &History) -> Option<AtWork> {
    let doubts = in_doubt(history).into_iter().filter(|doubt| doubt.exec.is_some());
    doubts.filter_map(|doubt| at_work(project, history, &doubt)).next()
}

/// Whether the command of the record `number` goes on.
pub(super) fn goes_on(project: &OpenedProject, history: &History, number: Number) -> bool {
    let mut doubts = in_doubt(history).into_iter();
    doubts.find(|doubt| doubt.number == Some(number)).is_some_and(|doubt| at_work(project, history, &doubt).is_some())
}

/// What keeps a run from going on, if it is a command that flow began and that goes on: it is to be waited for.
pub(super) fn waits_for_command(
    project: &OpenedProject,
    refusal: &Refusal,
    history: Option<&History>,
) -> Option<Problem> {
    let history = history?;
    for doubt in in_doubt(history) {
        let is_meant = match refusal {
            Refusal::InDoubt { ids } => ids.contains(&doubt.id),
            Refusal::NotDone(undone) => undone.iter().any(|one| is_of(one, &doubt)),
            _ => return None,
        };
        if is_meant && let Some(at_work) = at_work(project, history, &doubt) {
            let help = Help::from("wait for its end with ") + wait_for_commands(history.state().id());
            return Some(at_work.refusal(help));
        }
    }
    None
}

/// Whether this work is what is not done.
fn is_of(undone: &Undone, doubt: &InDoubt) -> bool {
    match doubt.number {
        Some(number) => undone.latest_number() == Some(number),
        None => Some(&undone.phase) == doubt.phase.as_ref(),
    }
}

/// Refuses to say that a step is over on which a process of a driver that is gone still works.
///
/// # Errors
/// `still_running`.
pub(super) fn refuse_left_at_work(project: &OpenedProject, run: &RunDocument, reports: &[StepReport]) -> Result<()> {
    if !run.context.contains_key(DRIVER) {
        return Ok(());
    }
    for report in reports {
        let Some((step, status)) = report.own_step() else { continue };
        let ends = status != StepStatus::Running && run.state.steps.get(step).is_some_and(StepStatus::is_open);
        if ends && let Some(process) = left_in(dir_of(project, &run.id), step) {
            return Err(driver_left(process, &format!("`{step}`")).into());
        }
    }
    Ok(())
}

fn workers(cx: &Context) -> Result<Vec<String>> {
    Ok(cx.workers()?.iter().map(ToString::to_string).collect())
}
