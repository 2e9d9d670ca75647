//! Messages and help for refusals.

use std::fmt::Display;

use crate::engine::{Elsewhere, Refusal, StepFault, Unanswered, Undone};
use crate::model::{ActivityStatus, Help, Kind, RunId, StateName, Suggestion};
use crate::runs::advice::{self, answer};

fn names(names: &[StateName]) -> String {
    names.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ")
}

/// The question whether a similar name was meant; empty without one.
pub(super) fn did_you_mean(near: Option<impl Display>) -> String {
    near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

fn resume(run: &RunId) -> Suggestion {
    Suggestion::flow("resume").value(run)
}

fn reopen(run: &RunId) -> Suggestion {
    advice::reopen(run, false).example("reason", "TEXT")
}

/// The kind, the code and the help of a refusal.
pub(super) fn explained(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, Help) {
    match refusal {
        Refusal::Terminal { .. } => {
            let help = Help::from("go on with it: ") + reopen(run) + "; or start another run with ";
            (Kind::Refused, "run_terminal", help + Suggestion::flow("start").value("WORKFLOW"))
        }
        Refusal::UnknownPhase { .. }
        | Refusal::PositionGone { .. }
        | Refusal::InvalidTransition { .. }
        | Refusal::NoNextPhase { .. }
        | Refusal::AmbiguousNext { .. } => phase_refused(run, refusal),
        Refusal::BlockedRun { reason, .. } | Refusal::Blocked { reason } => {
            let why = reason.as_deref().unwrap_or("no reason was given");
            let help = Help::from(format!("it waits for this: {why}. Then: ")) + Suggestion::flow("unblock").value(run);
            (Kind::NeedsHuman, "run_blocked", help)
        }
        Refusal::NothingRecorded
        | Refusal::UnitsOpen { .. }
        | Refusal::NotDone(_)
        | Refusal::Unanswered(_)
        | Refusal::NeedsApproval { .. }
        | Refusal::NothingToApprove { .. }
        | Refusal::NotAtEnd { .. }
        | Refusal::NothingToSettle { .. }
        | Refusal::SettlesUndone { .. }
        | Refusal::InDoubt { .. }
        | Refusal::ExitCode { .. }
        | Refusal::IdReused { .. } => work_refused(run, refusal),
        Refusal::NotBlocked { .. } => (Kind::Refused, "not_blocked", resume(run) + " says what is next"),
        Refusal::ReasonMissing => (Kind::Usage, "reason_missing", "say why with --reason TEXT".into()),
        Refusal::Held { .. } => (
            Kind::Held,
            "run_held",
            Help::from("let that session go on, or work in another run; ") + resume(run) + " says what a person can do",
        ),
        Refusal::HeldFromReports { .. } => {
            let help = "a sub-agent reports its own work, with --unit or --step AGENT:STATE, from a process of that \
                        session or with its FLOW_RUN_TOKEN; the steps of the run are reported by the session itself";
            (Kind::Held, "run_held", help.into())
        }
        Refusal::MovedOn { seen, .. } => {
            let log = Suggestion::flow("log").value(run).option("after", seen);
            (Kind::Held, "run_moved_on", Help::from("look at what happened, and decide again: ") + log)
        }
        Refusal::StaleEpoch { .. } => {
            (Kind::Held, "stale_epoch", Help::from("another session took the run; see ") + resume(run))
        }
        Refusal::Mismatch { what, .. } => {
            (Kind::Refused, "wrong_run", format!("correct the {what}, or name the other run").into())
        }
        Refusal::UnknownStep(_)
        | Refusal::CannotStart(_)
        | Refusal::InvalidStep(_)
        | Refusal::NoQuestion { .. }
        | Refusal::WhichQuestion(_)
        | Refusal::AnsweredElsewhere(_)
        | Refusal::OtherWorkflow { .. }
        | Refusal::Nowhere
        | Refusal::KeyReused { .. } => report_refused(run, refusal),
    }
}

/// The same for refusals about work that is not done, not decided or already recorded.
fn work_refused(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, Help) {
    match refusal {
        Refusal::NothingRecorded => {
            let help = Help::from("record what was done, or give up with ") + Suggestion::flow("cancel").value(run);
            (Kind::Refused, "nothing_recorded", help)
        }
        Refusal::UnitsOpen { .. } => {
            let help = "report how they ended with flow emit, or with \"status\": \"skipped\" what is not needed";
            (Kind::Refused, "units_not_done", help.into())
        }
        Refusal::NotDone(undone) => (Kind::Refused, "phase_not_done", not_done(run, undone)),
        Refusal::Unanswered(open) => (Kind::Refused, "phase_not_done", unanswered(run, open)),
        Refusal::NeedsApproval { .. } => (Kind::NeedsHuman, "needs_approval", needs_approval(run)),
        Refusal::NothingToApprove { .. } => (Kind::Refused, "nothing_to_approve", resume(run) + " says what is next"),
        Refusal::NotAtEnd { .. } => {
            let early = Suggestion::flow("complete").value(run).example("skip-reason", "why the rest is not needed");
            (Kind::Refused, "not_at_end", resume(run) + " says what is next; to complete it here: " + early)
        }
        Refusal::NothingToSettle { .. } => {
            let help =
                "`flow show` has the activities; --settles names failed or blocked ones of the same phase and round";
            (Kind::Refused, "nothing_to_settle", help.into())
        }
        Refusal::SettlesUndone { .. } => {
            (Kind::Refused, "nothing_to_settle", "record it as passed or skipped, or leave --settles away".into())
        }
        Refusal::InDoubt { .. } => {
            let help = "record how it ended with the same --id and --status passed or failed; a step with flow emit";
            (Kind::Refused, "outcome_unknown", help.into())
        }
        Refusal::ExitCode { exit_code, .. } => {
            let by_exit_code = ActivityStatus::by_exit_code(Some(*exit_code));
            let help = format!(
                "leave out the status, and it is recorded as {by_exit_code}; or say with --summary TEXT why the status is \
                 right all the same"
            );
            (Kind::Refused, "exit_code_contradicts", help.into())
        }
        Refusal::IdReused { .. } => {
            let help = "a retry gives the same content; record other work under another --id, and work that makes up for \
                        a failed one with --settles ID";
            (Kind::Refused, "id_reused", help.into())
        }
        _ => (Kind::Refused, "phase_not_done", resume(run) + " says what is next"),
    }
}

/// Who decides at a gate, and how.
fn needs_approval(run: &RunId) -> Help {
    let approve = Suggestion::flow("approve").value(run);
    let reject = Suggestion::flow("reject").value(run).example("reason", "what is missing");
    Help::from("a person decides, in a terminal of their own: ")
        + approve
        + " or "
        + reject
        + "; or on the page of a `flow serve --allow-actions` that they began"
}

/// The same for refusals about phases.
fn phase_refused(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, Help) {
    match refusal {
        Refusal::UnknownPhase { known, suggestion, .. } => {
            let meant = did_you_mean(suggestion.as_ref());
            (Kind::Refused, "unknown_phase", format!("{meant}The phases are {}", names(known)).into())
        }
        Refusal::PositionGone { phase, known, suggestion } => {
            let to = suggestion.as_ref().map(|near| format!(", perhaps `{near}`")).unwrap_or_default();
            let help = format!(
                "go on under the definition it started with until it has left `{phase}`, or set current_phase in run.yaml \
                 to a phase that both have{to}; today's are {}",
                names(known)
            );
            (Kind::Refused, "position_gone", help.into())
        }
        Refusal::InvalidTransition { from, choices, .. } => {
            let next = match choices.as_slice() {
                [] => Help::from(format!("`{from}` is the last phase; ")) + resume(run) + " says how the run ends",
                choices => {
                    format!("from `{from}` it can go to {}; you can also record more in `{from}`", names(choices))
                        .into()
                }
            };
            (Kind::Refused, "invalid_transition", next)
        }
        Refusal::NoNextPhase { .. } => (Kind::Refused, "no_next_phase", resume(run) + " says how the run ends"),
        Refusal::AmbiguousNext { choices, .. } => {
            (Kind::Refused, "ambiguous_next_phase", format!("name one of {}", names(choices)).into())
        }
        _ => (Kind::Refused, "invalid_transition", resume(run) + " says what is next"),
    }
}

/// The message of a refusal.
pub(super) fn sentence(run: &RunId, refusal: &Refusal) -> String {
    match refusal {
        // rp1's messages, word for word.
        Refusal::UnknownStep(_) | Refusal::CannotStart(_) | Refusal::InvalidStep(_) => refusal.to_string(),
        refusal => format!("run {run}: {refusal}"),
    }
}

/// The same for refusals about reports on steps.
fn report_refused(run: &RunId, refusal: &Refusal) -> (Kind, &'static str, Help) {
    match refusal {
        Refusal::UnknownStep(fault) => (Kind::Refused, "unknown_step", unknown_step(fault)),
        Refusal::CannotStart(fault) => (
            Kind::Refused,
            "invalid_initial_step",
            format!("report one of these first: {}", names(&fault.known)).into(),
        ),
        Refusal::InvalidStep(fault) if fault.over => (
            Kind::Refused,
            "run_terminal",
            Help::from(format!("run {run} is over; "))
                + reopen(run)
                + " lets it go on, and another --run-id begins another run",
        ),
        Refusal::InvalidStep(fault) => (Kind::Refused, "invalid_transition", next_steps(fault).into()),
        Refusal::KeyReused { .. } => {
            let help = "use another --id for something else; a retry must give the same content";
            (Kind::Refused, "id_reused", help.into())
        }
        Refusal::OtherWorkflow { follows, .. } => {
            let help = format!("report it with --workflow {follows}, or to another run with --run-id");
            (Kind::Refused, "wrong_run", help.into())
        }
        Refusal::WhichQuestion(_) => {
            (Kind::Refused, "several_questions", "say which one is answered with --step and --unit".into())
        }
        Refusal::AnsweredElsewhere(elsewhere) => (Kind::Refused, "answer_in_document", in_document(elsewhere)),
        Refusal::Nowhere => (Kind::Usage, "usage", "name the step that asks with --step".into()),
        _ => (Kind::Refused, "no_question", resume(run) + " says what is next"),
    }
}

fn unknown_step(fault: &StepFault) -> Help {
    let meant = did_you_mean(fault.suggestion.as_ref());
    match &fault.current {
        Some((_, choices)) if !choices.is_empty() => format!("{meant}from here: {}", names(choices)).into(),
        _ => Help::from(meant) + Suggestion::flow("workflow show").value(&fault.workflow) + " shows the states",
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

/// The help for phases whose work is not done.
fn not_done(run: &RunId, undone: &[Undone]) -> Help {
    let back: Vec<_> = undone.iter().flat_map(|one| &one.back).map(|to| format!("`{to}`")).collect();
    let back = match back.as_slice() {
        [] => String::new(),
        back => format!(", go back to {} with --phase", back.join(" or ")),
    };
    // What was begun must not be done again before its end is known.
    let record = if undone.iter().any(|one| one.status.is_open()) {
        "record how it ended under the same --id"
    } else if undone.iter().any(|one| one.latest.is_some()) {
        "do it again and record it under the same --id, or give it up there with --status skipped"
    } else {
        "do it and record it"
    };
    let skip = "record-activity and complete pass over it with --skip-reason TEXT";
    Help::from(format!("{record}{back}; {skip}; ")) + resume(run) + " shows the commands"
}

/// The help for an open question that keeps the run in its phase.
fn unanswered(run: &RunId, open: &Unanswered) -> Help {
    let Unanswered { question, workflow, in_document } = open;
    // The document is authoritative: an answer in the log would leave its question open.
    let way = if *in_document {
        Help::from("answer it as ") + resume(run) + " says"
    } else {
        Help::from("answer with ") + answer(run, workflow, question)
    };
    way + format!(", or say what came out of `{}` with --summary TEXT", question.step)
}

/// The help for an answer that belongs into the document of an interview.
fn in_document(elsewhere: &Elsewhere) -> Help {
    let Elsewhere { document, number, .. } = elsewhere;
    match number {
        Some(number) => {
            let answer = Suggestion::flow("interview answer").value(document).option("question", number);
            Help::from("answer with ") + answer.example_value("TEXT")
        }
        None => Suggestion::flow("interview next").value(document) + " says what is asked, or how it ends",
    }
}
