//! Sentences about what a rule refuses, and the way on.

use crate::engine::{Refusal, StepFault, Unanswered, Undone};
use crate::model::{Kind, RunId, StateName, StepStatus};
use crate::runs::advice::answer;

fn names(names: &[StateName]) -> String {
    names.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ")
}

/// The kind of a refusal, its stable code, and what to do about it.
pub(super) fn explained(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, String) {
    match refusal {
        Refusal::Terminal { .. } => {
            let help = format!(
                "go on with it: `flow reopen {run} --reason TEXT`; or start another run with `flow start WORKFLOW`"
            );
            (Kind::Refused, "run_terminal", help)
        }
        Refusal::UnknownPhase { .. }
        | Refusal::PositionGone { .. }
        | Refusal::InvalidTransition { .. }
        | Refusal::NoNextPhase { .. }
        | Refusal::AmbiguousNext { .. } => phase_refused(run, refusal),
        Refusal::BlockedRun { reason, .. } | Refusal::Blocked { reason } => {
            let why = reason.as_deref().unwrap_or("no reason was given");
            (Kind::NeedsHuman, "run_blocked", format!("it waits for this: {why}. Then: `flow unblock {run}`"))
        }
        Refusal::NothingRecorded => {
            (Kind::Refused, "nothing_recorded", format!("record what was done, or give up with `flow cancel {run}`"))
        }
        Refusal::NotDone(undone) => (Kind::Refused, "phase_not_done", not_done(run, undone)),
        Refusal::Unanswered(open) => (Kind::Refused, "phase_not_done", unanswered(run, open)),
        Refusal::InDoubt { .. } => {
            let help = "record how it ended with the same --id and --status passed or failed; a step with flow emit"
                .to_owned();
            (Kind::Refused, "outcome_unknown", help)
        }
        Refusal::NotBlocked { .. } => (Kind::Refused, "not_blocked", format!("`flow resume {run}` says what is next")),
        Refusal::ReasonMissing => (Kind::Usage, "reason_missing", "say why with --reason TEXT".to_owned()),
        Refusal::Held { .. } => (
            Kind::Held,
            "run_held",
            format!("let that session go on, or work in another run; `flow resume {run}` says what a person can do"),
        ),
        Refusal::HeldFromReports { .. } => {
            let help = "a sub-agent reports its own work, with --unit or --step AGENT:STATE, from a process of that \
                        session or with its FLOW_RUN_TOKEN; the steps of the run are reported by the session itself";
            (Kind::Held, "run_held", help.to_owned())
        }
        Refusal::StaleEpoch { .. } => {
            (Kind::Held, "stale_epoch", format!("another session took the run; see `flow resume {run}`"))
        }
        Refusal::Mismatch { what, .. } => {
            (Kind::Refused, "wrong_run", format!("correct the {what}, or name the other run"))
        }
        Refusal::UnknownStep(_)
        | Refusal::CannotStart(_)
        | Refusal::InvalidStep(_)
        | Refusal::NoQuestion { .. }
        | Refusal::WhichQuestion(_)
        | Refusal::OtherWorkflow { .. }
        | Refusal::Nowhere
        | Refusal::KeyReused { .. } => report_refused(run, refusal),
        Refusal::IdReused { .. } => (
            Kind::Refused,
            "id_reused",
            "use another --id for other work; a retry must give the same content".to_owned(),
        ),
    }
}

/// The same of where a run goes.
fn phase_refused(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, String) {
    match refusal {
        Refusal::UnknownPhase { known, suggestion, .. } => {
            let meant = suggestion.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            (Kind::Refused, "unknown_phase", format!("{meant}The phases are {}", names(known)))
        }
        Refusal::PositionGone { phase, known, suggestion } => {
            let to = suggestion.as_ref().map(|near| format!(", perhaps `{near}`")).unwrap_or_default();
            let help = format!(
                "go on under the definition it started with until it has left `{phase}`, or set current_phase in run.yaml \
                 to a phase that both have{to}; today's are {}",
                names(known)
            );
            (Kind::Refused, "position_gone", help)
        }
        Refusal::InvalidTransition { from, choices, .. } => {
            let next = match choices.as_slice() {
                [] => format!("`{from}` is the last phase; `flow resume {run}` says how the run ends"),
                choices => format!("from `{from}` it can go to {}; record work in `{from}` as well", names(choices)),
            };
            (Kind::Refused, "invalid_transition", next)
        }
        Refusal::NoNextPhase { .. } => {
            (Kind::Refused, "no_next_phase", format!("`flow resume {run}` says how the run ends"))
        }
        Refusal::AmbiguousNext { choices, .. } => {
            (Kind::Refused, "ambiguous_next_phase", format!("name one of {}", names(choices)))
        }
        _ => (Kind::Refused, "invalid_transition", format!("`flow resume {run}` says what is next")),
    }
}

/// What is refused, as a sentence.
pub(super) fn sentence(run: &RunId, refusal: &Refusal) -> String {
    match refusal {
        // rp1's sentences, to the letter.
        Refusal::UnknownStep(_) | Refusal::CannotStart(_) | Refusal::InvalidStep(_) => refusal.to_string(),
        refusal => format!("run {run}: {refusal}"),
    }
}

/// The same of reports on steps.
fn report_refused(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, String) {
    match refusal {
        Refusal::UnknownStep(fault) => (Kind::Refused, "unknown_step", unknown_step(fault)),
        Refusal::CannotStart(fault) => {
            (Kind::Refused, "invalid_initial_step", format!("report one of these first: {}", names(&fault.known)))
        }
        Refusal::InvalidStep(fault) if fault.over => (
            Kind::Refused,
            "run_terminal",
            format!(
                "run {run} is over; `flow reopen {run} --reason TEXT` lets it go on, and another --run-id begins another run"
            ),
        ),
        Refusal::InvalidStep(fault) => (Kind::Refused, "invalid_transition", next_steps(fault)),
        Refusal::KeyReused { .. } => {
            let help = "use another --id for other reports; a retry must give the same ones";
            (Kind::Refused, "id_reused", help.to_owned())
        }
        Refusal::OtherWorkflow { follows, .. } => {
            let help = format!("report it with --workflow {follows}, or to another run with --run-id");
            (Kind::Refused, "wrong_run", help)
        }
        Refusal::WhichQuestion(_) => {
            (Kind::Refused, "several_questions", "say which one is answered with --step and --unit".to_owned())
        }
        Refusal::Nowhere => (Kind::Usage, "usage", "name the step that asks with --step".to_owned()),
        _ => (Kind::Refused, "no_question", format!("`flow resume {run}` says what is next")),
    }
}

fn unknown_step(fault: &StepFault) -> String {
    let meant = fault.suggestion.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    match &fault.current {
        Some((_, choices)) if !choices.is_empty() => format!("{meant}from here: {}", names(choices)),
        _ => format!("{meant}`flow workflow show {}` shows the states", fault.workflow),
    }
}

fn next_steps(fault: &StepFault) -> String {
    match &fault.current {
        Some((current, choices)) if choices.is_empty() => {
            format!("nothing follows `{current}`; report it completed to end the run")
        }
        Some((current, choices)) => format!("report one of these next: {}, or `{current}` again", names(choices)),
        None => String::new(),
    }
}

/// What can be done about phases whose work is not done.
fn not_done(run: &RunId, undone: &[Undone]) -> String {
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
fn unanswered(run: &RunId, open: &Unanswered) -> String {
    let Unanswered { question, workflow, in_document } = open;
    let way = match in_document {
        true => format!("answer it as `flow resume {run}` says"),
        false => format!("answer with `{}`", answer(run, workflow, question)),
    };
    format!("{way}, or say what came out of `{}` with --summary TEXT", question.step)
}
