//! The one place where errors become sentences: code, message, help, causes. All faces show the same.

mod interview;
mod mode;
mod moves;
mod which;

use std::error::Error as StdError;
use std::fmt::Write as _;

use std::path::Path;

use crate::catalog::CatalogError;
use crate::codec::{Place, Violation};
use crate::engine::{EditFault, Refusal, StepFault};
use crate::model::{RunId, StateName};
use crate::ops::error::Error;
use crate::ops::quoted_path;
use crate::report::{Kind, Problem};
use crate::store::{StoreError, WriterNote};

/// An error as callers see it.
#[must_use]
pub fn problem(error: &Error) -> Problem {
    match error {
        Error::Store(error) => store(error),
        Error::Catalog(error) => catalog(error),
        Error::DefinitionGone { workflow, .. } => definition_gone(error.to_string(), workflow.as_str()),
        Error::Name(error) => new(Kind::Usage, "invalid_name", error.to_string(), None),
        Error::Setting(error) => new(Kind::Usage, "invalid_setting", error.to_string(), None),
        Error::Usage(message) => new(Kind::Usage, "usage", message.clone(), Some("see `flow help`".into())),
        Error::Refused { run, refusal } => refused(run, refusal),
        Error::RefusedByOlder { run, refusal } => {
            let problem = refused(run, refusal);
            let help = problem.help.map(|help| format!("{help}. ")).unwrap_or_default();
            let older = format!(
                "The run follows the definition that it started with, and today's is another one: `flow workflow adopt \
                 {run}` moves it over"
            );
            Problem { help: Some(format!("{help}{older}")), ..problem }
        }
        Error::NoProject { around, worktree, .. } => {
            let there =
                |what: &str, root: &Path| format!("{what} has a .flow: name it with -C {}; or ", quoted_path(root));
            let around = around.as_ref().map(|root| there("the repository around this one", root));
            let around = around.or_else(|| worktree.as_ref().map(|root| there("another worktree", root)));
            let help = "start a run with `flow start WORKFLOW`, or make an empty one with `flow init`";
            let help = format!("{}{help}", around.unwrap_or_default());
            new(Kind::NotFound, "no_project", error.to_string(), Some(help))
        }
        Error::NoSuchRun { .. }
        | Error::AmbiguousRun { .. }
        | Error::SecondRun { .. }
        | Error::TwinRun { .. }
        | Error::NoActiveRun { .. }
        | Error::SeveralRuns { .. }
        | Error::UnsureRun { .. } => which::which_run(error),
        Error::RunFile { .. } | Error::RunSchema { .. } | Error::Edit { .. } | Error::EmptyRun { .. } => on_disk(error),
        Error::Rewound { .. } | Error::Joined { .. } | Error::Elsewhere { .. } => moves::moved(error),
        Error::InputYaml { .. } | Error::InputSchema { .. } | Error::Input { .. } => given(error),
        Error::StillRuns { pid, .. } => {
            let help = format!("wait until it is done, or end it: kill {pid}");
            new(Kind::Held, "still_running", error.to_string(), Some(help))
        }
        Error::UnknownMode { known, suggestion, .. } => {
            let meant = suggestion.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!("{meant}The modes are {}", known.join(", "));
            new(Kind::Usage, "unknown_mode", error.to_string(), Some(help))
        }
        Error::Mode { refusal, path, message } => mode::refused(refusal, path.as_deref(), message.as_deref()),
        Error::Document(fault) => interview::document(fault),
        Error::Interview { document, fault } => interview::interview(document, fault),
        Error::Unwritten { source, given } => interview::unwritten(problem(source), Some(given)),
        Error::InputJson { .. } => {
            new(Kind::Refused, "invalid_document", error.to_string(), Some("nothing was written".into()))
        }
        Error::Agent(message) => {
            let help = "correct the graph or what the state answers; what is done stays done";
            new(Kind::Refused, "no_way_on", message.clone(), Some(help.into()))
        }
        Error::NoSuchEvent { run, .. } => new(
            Kind::NotFound,
            "event_not_found",
            error.to_string(),
            Some(format!("`flow log {run}` shows all events")),
        ),
    }
}

/// What is wrong with a run's own files.
fn on_disk(error: &Error) -> Problem {
    match error {
        Error::RunFile { path, error: fault } => {
            let help = "correct the file by hand, or bring an earlier one back with git; nothing was written";
            let message = format!("{}{} {fault}", path.display(), suffix(fault.place()));
            new(Kind::Damaged, "run_file_invalid", message, Some(help.into()))
        }
        Error::RunSchema { path, violations } => {
            let message = format!("{} is not a valid run: {}", located(path.display(), violations), first(violations));
            let help =
                "correct the file by hand; `flow validate RUN` shows everything that is wrong; nothing was written";
            with_causes(new(Kind::Damaged, "run_file_invalid", message, Some(help.into())), violations)
        }
        Error::Edit { path, place, fault } => {
            let message = format!("{}{}: {fault}", path.display(), suffix(*place));
            new(Kind::Damaged, "edit_refused", message, Some(edit_help(fault)))
        }
        Error::EmptyRun { .. } => {
            let help = "bring run.yaml or events.jsonl back with git, or remove the directory";
            new(Kind::Damaged, "run_empty", error.to_string(), Some(help.into()))
        }
        other => new(Kind::Damaged, "run_file_invalid", other.to_string(), None),
    }
}

/// What is wrong with a document that the caller gave.
fn given(error: &Error) -> Problem {
    match error {
        Error::InputYaml { origin, error: fault } => {
            let message = format!("{origin}{} is not valid YAML: {fault}", suffix(fault.place));
            new(Kind::Refused, "invalid_document", message, Some("nothing was recorded".into()))
        }
        Error::InputSchema { origin, what, violations } => {
            let message = format!("{} is not a valid {what}: {}", located(origin, violations), first(violations));
            let help = "`flow schema activity` prints the schema; nothing was recorded";
            with_causes(new(Kind::Refused, "invalid_document", message, Some(help.into())), violations)
        }
        Error::Input { source, .. } => {
            let kind = match source.kind() {
                std::io::ErrorKind::NotFound => Kind::NotFound,
                std::io::ErrorKind::InvalidData
                | std::io::ErrorKind::InvalidInput
                | std::io::ErrorKind::FileTooLarge => Kind::Refused,
                _ => Kind::Io,
            };
            let way = match source.kind() {
                std::io::ErrorKind::FileTooLarge => {
                    "a document may have 1 MiB; put long output into a file and name it as evidence"
                }
                std::io::ErrorKind::InvalidData => "give UTF-8 text; nothing of it was written",
                _ => "name a regular file; nothing was written",
            };
            let help = match kind {
                Kind::NotFound => Some("check the path; nothing was written".into()),
                Kind::Refused => Some(way.into()),
                _ => None,
            };
            caused(new(kind, "input_unreadable", error.to_string(), help), source)
        }
        other => new(Kind::Refused, "invalid_document", other.to_string(), None),
    }
}

/// An error in one line, for lists of runs that cannot be read.
#[must_use]
pub fn one_line(error: &Error) -> String {
    let problem = problem(error);
    let mut line = problem.message;
    if let [cause, ..] = problem.causes.as_slice() {
        let _ = write!(line, ": {cause}");
    }
    line.replace(['\n', '\r'], " ")
}

fn new(kind: Kind, code: &'static str, message: String, help: Option<String>) -> Problem {
    Problem { code, message, help, causes: Vec::new(), kind }
}

fn caused(mut problem: Problem, source: &dyn StdError) -> Problem {
    let mut cause = Some(source);
    while let Some(error) = cause {
        problem.causes.push(error.to_string());
        cause = error.source();
    }
    problem
}

fn suffix(place: Option<Place>) -> String {
    place.map(|place| format!(":{place}")).unwrap_or_default()
}

fn located(path: impl std::fmt::Display, violations: &[Violation]) -> String {
    format!("{path}{}", suffix(violations.first().and_then(|violation| violation.place)))
}

fn first(violations: &[Violation]) -> String {
    match violations {
        [] => "it must be a mapping".to_owned(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
    }
}

/// Every violation as a cause, when there is more than the message says.
fn with_causes(mut problem: Problem, violations: &[Violation]) -> Problem {
    if violations.len() > 1 {
        problem.causes = violations
            .iter()
            .map(|violation| match violation.place {
                Some(place) => format!("{place} {}", violation.message),
                None => violation.message.clone(),
            })
            .collect();
    }
    problem
}

fn runs(n: usize) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{n} runs") }
}

fn edit_help(fault: &EditFault) -> String {
    match fault {
        EditFault::Id { .. } => "put the id back; a run is renamed by nobody".to_owned(),
        EditFault::Workflow { .. } => "put the workflow back; start another run for another workflow".to_owned(),
        EditFault::Phase { known, suggestion, .. } => match suggestion {
            Some(near) => format!("did you mean `{near}`? The phases are {}", names(known)),
            None => format!("the phases are {}", names(known)),
        },
    }
}

fn names(names: &[StateName]) -> String {
    names.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ")
}

fn refused(run: &RunId, refusal: &Refusal) -> Problem {
    let (kind, code, help) = match refusal {
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
        Refusal::NotDone(undone) => (Kind::Refused, "phase_not_done", which::not_done(run, undone)),
        Refusal::Unanswered(open) => (Kind::Refused, "phase_not_done", which::unanswered(run, open)),
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
    };
    new(kind, code, refusal_message(run, refusal), Some(help))
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

fn refusal_message(run: &RunId, refusal: &Refusal) -> String {
    match refusal {
        // The seed's sentences, to the letter.
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

fn store(error: &StoreError) -> Problem {
    let message = error.to_string();
    match error {
        StoreError::NotFound { .. } => new(Kind::NotFound, "not_found", message, None),
        StoreError::Exists { .. } => {
            new(Kind::Refused, "run_exists", message, Some("use another id, or go on with that run".into()))
        }
        StoreError::Unsafe { why, .. } => {
            let help = match *why {
                why if why.starts_with("is a hard link") => {
                    "put a copy of its own in its place: cp FILE COPY && mv COPY FILE"
                }
                "belongs to another user" => {
                    "run flow as the owner, or set FLOW_TRUST_OWNER=1 when that user is trusted"
                }
                _ => "flow follows no links below .flow; put a plain file or directory in its place",
            };
            new(Kind::Unsafe, "unsafe_path", message, Some(help.into()))
        }
        StoreError::Foreign { .. } => {
            let help = "make another directory with `FLOW_DIR=DIR flow init` and keep FLOW_DIR set, or move that one away; nothing was written into it";
            new(Kind::Unsafe, "foreign_flow_directory", message, Some(help.into()))
        }
        StoreError::TooLarge { .. } => {
            let help = "shorten it, or bring an earlier one back with git; nothing was written";
            new(Kind::Damaged, "too_large", message, Some(help.into()))
        }
        StoreError::TooLong { .. } => {
            let help = "put long texts into a file and refer to it as evidence; nothing was written";
            new(Kind::Refused, "record_too_large", message, Some(help.into()))
        }
        StoreError::Replaced { .. } => {
            new(Kind::Held, "log_replaced", message, Some("try again; nothing was written".into()))
        }
        StoreError::NotUtf8 { .. } => {
            new(Kind::Damaged, "not_utf8", message, Some("bring an earlier version back with git".into()))
        }
        StoreError::Held { holder, waited, .. } => {
            let who = holder.as_deref().map_or_else(|| "another process".to_owned(), describe);
            let message = format!("{message} ({who}); waited {:.1} s", waited.as_secs_f64());
            let help = "try again, or wait longer with --lock-timeout SECONDS; nothing was written";
            new(Kind::Held, "lock_timeout", message, Some(help.into()))
        }
        StoreError::Io { source, action, .. } => {
            let help = match *action {
                "read" => "make it readable, then try again",
                _ => "nothing was recorded; try again when the cause is gone",
            };
            caused(new(Kind::Io, "io_error", message, Some(help.into())), source)
        }
        StoreError::Unconfirmed { source, .. } => {
            let help = "try again; a record with the same --id is recorded once, whatever happened";
            caused(new(Kind::Io, "unconfirmed", message, Some(help.into())), source)
        }
    }
}

fn describe(holder: &WriterNote) -> String {
    format!("process {}, `{}`, since {}", holder.pid, holder.command, holder.since)
}

fn definition_gone(message: String, workflow: &str) -> Problem {
    let help = format!(
        "put it back as .flow/workflows/{workflow}.workflow.yaml or where it was, and repeat the command; without it the run \
         goes on under the definition that it started with, as `flow resume` says"
    );
    new(Kind::NotFound, "unknown_workflow", message, Some(help))
}

fn catalog(error: &CatalogError) -> Problem {
    let message = error.to_string();
    match error {
        CatalogError::Unknown { known, suggestion, .. } => {
            let meant = suggestion.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            new(Kind::NotFound, "unknown_workflow", message, Some(format!("{meant}Known are {}", known.join(", "))))
        }
        CatalogError::Invalid { path, diagnostics, .. } => {
            let help = format!("`flow workflow check {}` shows where", path.display());
            let mut problem = new(Kind::Refused, "invalid_workflow", message, Some(help));
            let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
            problem.causes = errors.map(|error| format!("{} {}", error.place, error.message)).collect();
            problem
        }
        CatalogError::NoMachine { .. } => {
            let help = "give it the section with a state diagram, or name another workflow; see docs/workflows.md";
            new(Kind::Refused, "no_state_machine", message, Some(help.into()))
        }
        CatalogError::UnknownScript { known, suggestion, .. } => {
            let meant = suggestion.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            new(Kind::NotFound, "unknown_interview", message, Some(format!("{meant}Known are {}", known.join(", "))))
        }
        CatalogError::Script { path, violations } => {
            let help = format!("`flow validate {}` shows everything that is wrong", path.display());
            with_causes(new(Kind::Refused, "invalid_interview", message, Some(help)), violations)
        }
        CatalogError::Policy { path, violations } => {
            let help = format!("`flow validate {}` shows everything that is wrong", path.display());
            with_causes(new(Kind::Refused, "invalid_policy", message, Some(help)), violations)
        }
        CatalogError::Config { .. } => {
            let help = "it can have `definitions`, a list of directories, and `state_types`, a list of names";
            new(Kind::Refused, "invalid_config", message, Some(help.into()))
        }
        CatalogError::Refused { .. } => {
            let help = "flow follows no links below .flow; put a plain file in its place";
            new(Kind::Unsafe, "unsafe_path", message, Some(help.into()))
        }
        CatalogError::Io { source, .. } => caused(new(Kind::Io, "io_error", message, None), source),
    }
}
