//! Messages and help for refusals.

use crate::engine::{GateTurn, Refusal, ReportRefusal, StepFault, UnansweredQuestion, Undone, state_names};
use crate::model::{
    ActivityStatus, Help, Kind, LastSeen, MissingProof, Problem, RunId, Seq, StateName, StepStatus, Suggestion,
    WayAround, did_you_mean, slug,
};
use crate::runs::commands::{self, answer, record, required_command};

fn flow(verb: &str, run: &RunId) -> Suggestion {
    Suggestion::flow(verb).value(run)
}

fn cancel(run: &RunId) -> Suggestion {
    flow("cancel", run).example("reason", "why")
}

fn resume(run: &RunId) -> Suggestion {
    flow("resume", run)
}

fn what_is_next(run: &RunId) -> Help {
    resume(run) + " says what is next"
}

fn reopen(run: &RunId) -> Suggestion {
    commands::reopen(run, false).example("reason", "TEXT")
}

/// The message of a refusal.
pub(super) fn sentence(run: &RunId, refusal: &Refusal) -> String {
    match refusal {
        // rp1's messages, word for word.
        Refusal::Report(
            ReportRefusal::UnknownStep(_) | ReportRefusal::CannotStart(_) | ReportRefusal::InvalidStep(_),
        ) => refusal.to_string(),
        refusal => format!("run {run}: {refusal}"),
    }
}

/// A refusal as callers see it.
pub(super) fn problem(run: &RunId, refusal: &Refusal) -> Problem {
    let new = |kind, code| Problem::new(kind, code, sentence(run, refusal));
    match refusal {
        Refusal::Report(report) => of_report(run, sentence(run, refusal), report),
        Refusal::Terminal { .. } => new(Kind::Refused, "run_terminal").help(over(run)),
        Refusal::UnknownPhase { known, suggestion, .. } => new(Kind::Refused, "unknown_phase")
            .help(format!("{}The phases are {}", did_you_mean(suggestion.as_ref()), state_names(known))),
        Refusal::PositionGone { phase, known, suggestion } => {
            new(Kind::Refused, "position_gone").help(position_gone(phase, known, suggestion.as_ref()))
        }
        Refusal::NotBegun { phase, first } => new(Kind::Refused, "invalid_transition").help(not_begun(phase, first)),
        Refusal::InvalidTransition { from, choices, .. } => {
            new(Kind::Refused, "invalid_transition").help(onward(run, from, choices))
        }
        Refusal::NoNextPhase { .. } | Refusal::NextUnknown { .. } => {
            new(Kind::Refused, "no_next_phase").help(no_next_phase(run, refusal))
        }
        Refusal::AmbiguousNext { choices, .. } => {
            new(Kind::Refused, "ambiguous_next_phase").help(which_next(choices))
        }
        Refusal::BlockedRun { reason, .. } | Refusal::Blocked { reason } => {
            new(Kind::NeedsHuman, "run_blocked").help(blocked(run, reason.as_deref()))
        }
        Refusal::NotBlocked { .. } => new(Kind::Refused, "not_blocked").help(what_is_next(run)),
        Refusal::ReasonMissing | Refusal::SkipReasonEmpty => new(Kind::Usage, "reason_missing").help(say_why(refusal)),
        Refusal::Held { .. } => new(Kind::Held, "run_held").help(
            Help::from("let that session go on, or work in another run; ") + resume(run) + " says what a person can do",
        ),
        Refusal::HeldFromReports { .. } => new(Kind::Held, "run_held").help(
            "a sub-agent reports its own work, with --unit or --step AGENT:STATE, from a process of that session or with \
             its FLOW_RUN_TOKEN; the steps of the run are reported by the session itself",
        ),
        Refusal::MovedOn { seen, last } => new(Kind::Held, "run_moved_on").help(look_again(run, seen, *last)),
        Refusal::StaleEpoch { .. } => {
            new(Kind::Held, "stale_epoch").help(Help::from("another session took the run; see ") + resume(run))
        }
        Refusal::NoSuchEpoch { .. } => new(Kind::Held, "no_such_epoch").help(Help::from("see ") + resume(run)),
        Refusal::Mismatch { what, .. } => {
            new(Kind::Refused, "wrong_run").help(format!("correct the {what}, or name the other run"))
        }
        Refusal::NothingRecorded => new(Kind::Refused, "nothing_recorded")
            .help(Help::from("record what was done, or give up with ") + cancel(run)),
        Refusal::UnitsOpen { .. } => new(Kind::Refused, "units_not_done")
            .help("report how they ended, and what is not needed with \"status\": \"skipped\""),
        Refusal::InterviewOpen { id, document } => new(Kind::Refused, "interview_open").help(finish(id, document)),
        Refusal::NotDone(undone) => new(Kind::Refused, "phase_not_done").help(not_done(run, undone)),
        Refusal::NotProved { missing, .. } => new(Kind::Refused, "not_proved").help(not_proved(run, missing)),
        Refusal::Unanswered(open) => new(Kind::Refused, "phase_not_done").help(unanswered(run, open)),
        Refusal::NeedsApproval { turn, .. } => new(Kind::NeedsHuman, "needs_approval").help(needs_approval(run, *turn)),
        Refusal::NothingToApprove { .. } => {
            new(Kind::Refused, "nothing_to_approve").help(what_is_next(run))
        }
        Refusal::NotAtEnd { .. } => new(Kind::Refused, "not_at_end").help(not_at_end(run)),
        Refusal::NothingToSettle { .. } => new(Kind::Refused, "nothing_to_settle").help(
            flow("show", run) + " has the activities; --settles names failed or blocked ones of the same phase and round",
        ),
        Refusal::SettlesUndone { .. } => new(Kind::Refused, "nothing_to_settle")
            .help("record it as passed or skipped, or leave --settles away"),
        Refusal::InDoubt { .. } => new(Kind::Refused, "outcome_unknown")
            .help("record how it ended with the same --id and --status passed or failed; report how a step ended"),
        Refusal::ExitCode { exit_code, .. } => new(Kind::Refused, "exit_code_contradicts").help(format!(
            "leave out the status, and it is recorded as {}; or say with --summary TEXT why the status is right all the same",
            ActivityStatus::by_exit_code(Some(*exit_code))
        )),
        Refusal::IdReused { .. } => new(Kind::Refused, "id_reused").help(
            "a retry gives the same content; record other work under another --id, and work that makes up for a failed one \
             with --settles ID",
        ),
        Refusal::KeyReused { .. } => new(Kind::Refused, "id_reused")
            .help("use another --id for something else; a retry must give the same content"),
    }
}

/// The same for refusals about reports on steps.
fn of_report(run: &RunId, message: String, report: &ReportRefusal) -> Problem {
    let new = |kind, code| Problem::new(kind, code, message);
    match report {
        ReportRefusal::UnknownStep(fault) => new(Kind::Refused, "unknown_step").help(unknown_step(fault)),
        ReportRefusal::CannotStart(fault) => new(Kind::Refused, "invalid_initial_step")
            .help(format!("report one of these first: {}", state_names(&fault.known))),
        ReportRefusal::InvalidStep(fault) if fault.over => new(Kind::Refused, "run_terminal").help(
            Help::from(format!("run {run} is over; "))
                + reopen(run)
                + " lets it go on, and another --run-id begins another run",
        ),
        ReportRefusal::InvalidStep(fault) => new(Kind::Refused, "invalid_transition").help(next_steps(fault)),
        ReportRefusal::OtherWorkflow { follows, .. } => new(Kind::Refused, "wrong_run")
            .help(format!("report it with --workflow {follows}, or to another run with --run-id")),
        ReportRefusal::NoQuestion { .. } => new(Kind::Refused, "no_question").help(what_is_next(run)),
        ReportRefusal::WhichQuestion(_) => {
            new(Kind::Refused, "several_questions").help("say which one is answered with --step and --unit")
        }
        ReportRefusal::AnsweredElsewhere(elsewhere) => {
            let document = &elsewhere.document;
            let help = match elsewhere.number {
                Some(number) => {
                    let answer = Suggestion::flow("interview answer").value(document).option("question", number);
                    Help::from("answer with ") + answer.example_value("TEXT")
                }
                None => Suggestion::flow("interview next").value(document) + " says what is asked, or how it ends",
            };
            new(Kind::Refused, "answer_in_document").help(help)
        }
        ReportRefusal::Nowhere => new(Kind::Usage, "usage").help("name the step that asks with --step"),
    }
}

fn unknown_step(fault: &StepFault) -> Help {
    let meant = did_you_mean(fault.suggestion.as_ref());
    match &fault.current {
        Some((_, choices)) if !choices.is_empty() => format!("{meant}from here: {}", state_names(choices)).into(),
        _ => Help::from(meant) + Suggestion::flow("workflow show").value(&fault.workflow) + " shows the states",
    }
}

fn next_steps(fault: &StepFault) -> String {
    match &fault.current {
        Some((current, choices)) if choices.is_empty() => {
            format!("nothing follows `{current}`; report it completed to end the run")
        }
        Some((current, choices)) => format!("report one of these next: {}, or `{current}` again", state_names(choices)),
        None => String::new(),
    }
}

/// The help for an interview that is not finished.
fn finish(interview: &str, document: &str) -> Help {
    let finish = Suggestion::flow("interview finish").value(document);
    let abandon = Suggestion::flow("interview abandon").value(document);
    Help::from("it ends with ")
        + finish
        + "; to give it up: "
        + abandon
        + format!(", or record `{interview}` as skipped or failed")
}

/// The help for a run that has ended.
fn over(run: &RunId) -> Help {
    let start = Suggestion::flow("start").value("WORKFLOW");
    Help::from("go on with it: ") + reopen(run) + "; or start another run with " + start
}

/// The help for a run in a phase that the other definition does not have.
fn position_gone(phase: &StateName, known: &[StateName], near: Option<&StateName>) -> String {
    let to = match near {
        Some(near) => format!(", perhaps `{near}`"),
        None => String::new(),
    };
    format!(
        "go on under the definition it started with until it has left `{phase}`, or set current_phase in run.yaml to a \
         phase that both have{to}; today's are {}",
        state_names(known)
    )
}

/// How to decide once more about a run that is not as it was seen.
fn look_again(run: &RunId, seen: &LastSeen, last: Seq) -> Help {
    if seen.event > last {
        return Help::from("look at it, and decide again: ") + resume(run);
    }
    Help::from("look at what happened, and decide again: ") + flow("log", run).option("after", seen.event)
}

/// The help where no phase is next, or none is known.
fn no_next_phase(run: &RunId, refusal: &Refusal) -> Help {
    match refusal {
        Refusal::NextUnknown { .. } => {
            Help::from("name the phase that follows, or end the run: ") + Suggestion::flow("complete").value(run)
        }
        _ => resume(run) + " says how the run ends",
    }
}

/// How a reason is given that is missing.
fn say_why(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::SkipReasonEmpty => "say why with --skip-reason TEXT",
        _ => "say why with --reason TEXT",
    }
}

/// How one of several next phases is named.
fn which_next(choices: &[StateName]) -> String {
    format!("name one of {}, with --to of `flow advance` or with --advance of a record", state_names(choices))
}

/// Where a run can go from a phase.
fn onward(run: &RunId, from: &StateName, choices: &[StateName]) -> Help {
    if choices.is_empty() {
        return Help::from(format!("`{from}` is the last phase; ")) + resume(run) + " says how the run ends";
    }
    format!("from `{from}` it can go to {}; you can also record more in `{from}`", state_names(choices)).into()
}

/// The help for a run that is blocked.
fn blocked(run: &RunId, reason: Option<&str>) -> Help {
    let why = reason.unwrap_or("no reason was given");
    Help::from(format!("it waits for this: {why}. Then: ")) + flow("unblock", run)
}

/// Who decides at a gate, and how.
fn needs_approval(run: &RunId, turn: GateTurn) -> Help {
    let first = match turn {
        GateTurn::Now | GateTurn::Passed | GateTurn::Dropped => "",
        GateTurn::AfterRecord => "record it without --advance; then ",
        GateTurn::AfterWork => {
            return flow("resume", run)
                + " says what is to be done there; then a person decides, in a terminal of their own, with "
                + flow("approve", run);
        }
        GateTurn::Later => {
            return flow("resume", run) + " says how to come to it, and " + cancel(run) + " gives the run up";
        }
    };
    Help::from(format!("{first}a person decides, in a terminal of their own: "))
        + flow("approve", run)
        + " or "
        + flow("reject", run).example("reason", "what is missing")
        + "; or on the page of a `flow serve --allow-actions` that they began"
}

/// The help for a phase in which a run cannot begin.
fn not_begun(phase: &StateName, first: &[StateName]) -> String {
    format!("It begins in {}; record what is done there first, and then come to `{phase}`", state_names(first))
}

/// The help for phases whose work is not done.
fn not_done(run: &RunId, undone: &[Undone]) -> Help {
    if let Some(first) = undone.iter().find(|one| one.way_around == WayAround::Begin) {
        return format!("report how `{}` ended, or only what comes up to it, which begins the run", first.phase).into();
    }
    let mut back = Vec::new();
    for one in undone {
        back.extend(one.back.iter().map(|to| format!("`{to}`")));
    }
    let back = match back.as_slice() {
        [] => String::new(),
        back => format!(", or go back to {} with --phase", back.join(" or ")),
    };
    // What was begun must not be done again before its end is known.
    let settle = if undone.iter().any(|one| one.status_of_work().is_open()) {
        "record how it ended under the same --id".into()
    } else {
        undone.iter().find_map(|one| another_attempt(run, one)).unwrap_or_else(|| do_it(undone).into())
    };
    let mut help = settle + format!("{back}; ");
    if let Some(command) = without(run, undone.iter().map(|one| &one.way_around)) {
        help = help + command + "; ";
    }
    help + resume(run) + " shows the commands"
}

/// The help for a phase in which nothing is recorded.
fn do_it(undone: &[Undone]) -> &'static str {
    match undone {
        [Undone { way_around: WayAround::Enter(_), .. }] => {
            "do it and record it, or say what came out of it with --summary TEXT of `flow advance`"
        }
        _ => "do it and record it",
    }
}

/// The help for work that was attempted: only a record in its phase settles it. The command begins another attempt; how that
/// ends only the caller can say.
fn another_attempt(run: &RunId, undone: &Undone) -> Option<Help> {
    let (number, id) = undone.latest.as_ref()?;
    if undone.failed_command {
        return Some(format!("run the command of `{id}` again").into());
    }
    let Some(number) = number else {
        return Some("record another attempt under the same --id, or --status skipped".into());
    };
    let begin = record(run, Some(&undone.phase), id, ActivityStatus::Running, Some(*number));
    let what = if undone.status_of_work() == StepStatus::NotStarted { "begin it" } else { "begin another attempt" };
    Some(Help::from(format!("{what}: ")) + begin + ", with --status skipped if it is given up")
}

/// The help for a run that is not where its workflow ends.
fn not_at_end(run: &RunId) -> Help {
    let early = flow("complete", run).example("skip-reason", "why the rest is not needed");
    resume(run) + " says what is next; to complete it here: " + early
}

/// The help for commands that phases require.
fn not_proved(run: &RunId, missing: &[MissingProof]) -> Help {
    let mut help = Help::default();
    let (mut named, mut changes) = (Vec::new(), Vec::new());
    for one in missing {
        if let Some(obstacle) = &one.obstacle {
            changes.push(obstacle.what());
            continue;
        }
        let command = required_command(run, one);
        if named.contains(&command) {
            continue;
        }
        let and = if named.is_empty() { "" } else { ", " };
        help = help + and + command.clone();
        named.push(command);
    }
    help = match named.len() {
        0 => help,
        1 => help + " runs it",
        _ => help + " run them",
    };
    changes.dedup();
    let and = if named.is_empty() || changes.is_empty() { "" } else { "; " };
    help = help + and + changes.join("; ");
    match without(run, missing.iter().map(|one| &one.way_around)) {
        Some(command) => help + "; " + command + ", and notes why",
        None => help,
    }
}

/// The command that goes on without what is missing, for a reason, and what it does. It says of no work that it passed.
fn without<'w>(run: &RunId, ways: impl Iterator<Item = &'w WayAround>) -> Option<Help> {
    let mut found = None;
    for way in ways {
        match way {
            WayAround::None | WayAround::Begin => return None,
            WayAround::Complete => found = Some((flow("complete", run), " completes the run without it")),
            WayAround::Enter(to) => found = found.or_else(|| Some((begin(run, to), " goes on without it"))),
        }
    }
    let (command, does) = found?;
    Some(command.example("skip-reason", "TEXT") + does)
}

/// The command that begins work in `phase`.
fn begin(run: &RunId, phase: &StateName) -> Suggestion {
    let id = slug(phase.as_str(), 80).unwrap_or_else(|| "activity".to_owned());
    record(run, Some(phase), &id, ActivityStatus::Running, None)
}

/// The help for an open question that keeps the run in its phase.
fn unanswered(run: &RunId, open: &UnansweredQuestion) -> Help {
    let UnansweredQuestion { question, workflow, in_document } = open;
    // The document is authoritative: an answer in the log would leave its question open.
    let way = if *in_document {
        Help::from("answer it as ") + resume(run) + " says"
    } else {
        Help::from("answer with ") + answer(run, workflow, question)
    };
    way + format!(", or say what came out of `{}` with --summary TEXT", question.step)
}
