//! Which run is meant, and which of its phases are not done.

use crate::engine::{Unanswered, Undone};
use crate::model::{RunId, StepStatus};
use crate::ops::advice::answer_command;
use crate::ops::error::Error;
use crate::ops::interview::UNIT as INTERVIEW;
use crate::ops::problem::{new, runs};
use crate::ops::quoted_path;
use crate::report::{Kind, Problem};

/// Which run is meant cannot be told, or may not be meant.
pub(super) fn which_run(error: &Error) -> Problem {
    match error {
        Error::NoSuchRun { suggestion, worktree, .. } => {
            let help = match (worktree, suggestion) {
                (Some(root), _) => format!("it is in another worktree: name that with -C {}", quoted_path(root)),
                (None, Some(near)) => format!("did you mean {near}? `flow list` shows all runs"),
                (None, None) => "`flow list` shows all runs".into(),
            };
            new(Kind::NotFound, "run_not_found", error.to_string(), Some(help))
        }
        Error::AmbiguousRun { .. } => {
            new(Kind::Usage, "ambiguous_run", error.to_string(), Some("give more of the id".into()))
        }
        Error::SecondRun { run, .. } => {
            let help = format!("go on with it: `flow resume {run}`; or have two with --another");
            new(Kind::Refused, "run_open", error.to_string(), Some(help))
        }
        Error::TwinRun { twin, .. } => {
            let help = format!("use another id, or go on with {twin}");
            new(Kind::Refused, "run_exists", error.to_string(), Some(help))
        }
        Error::NoActiveRun { unreadable } => no_active_run(unreadable),
        Error::SeveralRuns { candidates } => {
            let names = candidates.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("several runs are active: {names}");
            new(Kind::Usage, "several_runs", message, Some("name one of them with --run-id".into()))
        }
        Error::UnsureRun { unreadable, .. } => {
            let help =
                format!("name the run with --run-id; `flow resume {unreadable}` says what is wrong with the other");
            new(Kind::Usage, "several_runs", error.to_string(), Some(help))
        }
        other => new(Kind::NotFound, "run_not_found", other.to_string(), None),
    }
}

fn no_active_run(unreadable: &[String]) -> Problem {
    let mut problem = new(
        Kind::NotFound,
        "no_active_run",
        "no run is active or blocked".to_owned(),
        Some("name a run with --run-id, or start one with `flow start WORKFLOW`".into()),
    );
    if !unreadable.is_empty() {
        problem.kind = Kind::Damaged;
        problem.message = format!("no readable run is active, and {} cannot be read", runs(unreadable.len()));
        problem.help = Some("`flow doctor` says what can be done about them; or name another run with --run-id".into());
        problem.causes = unreadable.to_vec();
    }
    problem
}

/// What can be done about phases whose work is not done.
pub(super) fn not_done(run: &RunId, undone: &[Undone]) -> String {
    let begun = undone.iter().any(|one| matches!(one.status, StepStatus::Running | StepStatus::Waiting));
    let tried = undone.iter().any(|one| one.latest.is_some());
    let record = match (begun, tried) {
        (true, _) => "record how it ended under the same --id",
        (_, true) => "do it again and record it under the same --id, or give it up there with --status skipped",
        (_, false) => "do it and record it",
    };
    let back: Vec<_> = undone.iter().flat_map(|one| one.back.iter().map(|to| format!("`{to}`"))).collect();
    let back = match back.as_slice() {
        [] => String::new(),
        back => format!(", go back to {} with --phase", back.join(" or ")),
    };
    let skip = "record-activity and complete pass over it with --skip-reason TEXT";
    format!("{record}{back}; {skip}; `flow resume {run}` shows the commands")
}

/// How a question is answered that keeps the run in its phase.
pub(super) fn unanswered(run: &RunId, open: &Unanswered) -> String {
    let Unanswered { question, workflow } = open;
    let is_interview = question.unit.as_ref().is_some_and(|unit| unit.as_str().starts_with(INTERVIEW));
    let way = match is_interview {
        // Its answer belongs into the document.
        true => format!("answer it as `flow resume {run}` says"),
        false => format!("answer with `{}`", answer_command(run, workflow, question)),
    };
    format!("{way}, or say what came out of `{}` with --summary TEXT", question.step)
}
