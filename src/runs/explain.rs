//! Codes, kinds, help and causes of errors.

use std::io::ErrorKind;
use std::path::Path;

use crate::codec::YamlFault;
use crate::codec::violations::all;
use crate::engine::{EditFault, Refusal};

use crate::model::{Explain, Help, Kind, Problem, RunId, StateName, Suggestion};
use crate::runs::advice::reopen;
use crate::runs::error::{Error, first_few};
use crate::runs::path::quoted_path;
use crate::runs::refused;

fn flow(verb: &str) -> Suggestion {
    Suggestion::flow(verb)
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Store(error) => error.problem(),
            Self::Catalog(error) => error.problem(),
            Self::DefinitionGone { workflow, .. } => {
                let help = format!(
                    "put it back as .flow/workflows/{workflow}.workflow.yaml or where it was, and repeat the command; \
                     without it the run goes on under the definition that it started with, as "
                );
                new(Kind::NotFound, "unknown_workflow").help(Help::from(help) + flow("resume") + " says")
            }
            Self::Name(_) => new(Kind::Usage, "invalid_name"),
            Self::Setting(_) => new(Kind::Usage, "invalid_setting"),
            Self::Usage(_) => new(Kind::Usage, "usage").help(Help::from("see ") + flow("help")),
            Self::NotJson { help, .. } => new(Kind::Usage, "usage").help(help.as_str()),
            Self::Refused { run, refusal } => refusal_of(self, run, refusal, None),
            Self::NotAPerson { .. } | Self::NoTerminal { .. } => new(Kind::NeedsHuman, "needs_approval").help(
                "the person decides in a terminal of their own, or on the page of a `flow serve --allow-actions` that \
                 they began",
            ),
            Self::RefusedByOlder { run, refusal } => {
                let older =
                    Help::from("the run follows the definition that it started with, and today's is another one: ");
                refusal_of(self, run, refusal, Some(older + flow("workflow adopt").value(run) + " moves it over"))
            }
            Self::NoProject { around, worktree, .. } => {
                let help = Help::from(other_project(around.as_deref(), worktree.as_deref()))
                    + "start a run with "
                    + flow("start").value("WORKFLOW");
                new(Kind::NotFound, "no_project").help(help + ", or make an empty one with " + flow("init"))
            }
            Self::SecondRun { .. } | Self::TwinRun { .. } => which_run(self),
            Self::NoSuchRun { .. } | Self::NoSuchRunInEnvironment { .. } | Self::AmbiguousRun { .. } => which_run(self),
            Self::NoRunToReopen { .. } | Self::NoActiveRun { .. } => which_run(self),
            Self::SeveralRuns { .. } | Self::UnsureRun { .. } => which_run(self),
            Self::RunFile { .. } => new(Kind::Damaged, "run_file_invalid")
                .help("correct the file by hand, or bring an earlier one back with git; nothing was written"),
            Self::RunSchema { violations, .. } => new(Kind::Damaged, "run_file_invalid")
                .help(
                    Help::from("correct the file by hand; ")
                        + flow("validate").value("RUN")
                        + " shows everything that is wrong; nothing was written",
                )
                .because(all(violations)),
            Self::Edit { fault, .. } => new(Kind::Damaged, "edit_refused").help(edit_help(fault)),
            Self::EmptyRun { .. } => new(Kind::Damaged, "run_empty")
                .help("bring run.yaml or events.jsonl back with git, or remove the directory"),
            Self::Rewound { .. } | Self::Joined { .. } | Self::Elsewhere { .. } | Self::LeftOut { .. } => moved(self),
            Self::TimeOver { run, .. } => new(Kind::Held, "time_over")
                .help(Help::from("wait longer with --timeout, or see ") + flow("resume").value(run)),
            Self::Document(fault) => fault.problem(),
            Self::NoDiagram { run } => new(Kind::Refused, "no_diagram")
                .help(flow("export --format gantt").value(run) + " shows its steps over time"),
            Self::InputYaml { .. } | Self::InputSchema { .. } | Self::InputJson { .. } | Self::Input { .. } => {
                input(self)
            }
            Self::NoWorkingDirectory { instead, source } => new(Kind::Io, "io_error")
                .help(format!("try again, or {instead}; nothing was written"))
                .caused_by(source),
            Self::NoSuchEvent { run, .. } => {
                new(Kind::NotFound, "event_not_found").help(flow("log").value(run) + " shows all events")
            }
            Self::NoSuchFile { run } => {
                new(Kind::NotFound, "file_not_found").help(flow("evidence").value(run) + " lists what it refers to")
            }
        }
    }
}

/// A refusal with its help, followed by `more`.
fn refusal_of(error: &Error, run: &RunId, refusal: &Refusal, more: Option<Help>) -> Problem {
    let (kind, code, help) = refused::explained(run, refusal);
    let between = if help.is_empty() || more.is_none() { "" } else { "; " };
    Problem::new(kind, code, error).help(help + between + more.unwrap_or_default())
}

/// How to name the project that is probably meant, as the beginning of a help.
fn other_project(around: Option<&Path>, worktree: Option<&Path>) -> String {
    let (what, root) = match (around, worktree) {
        (Some(root), _) => ("the repository around this one", root),
        (None, Some(root)) => ("another worktree", root),
        (None, None) => return String::new(),
    };
    format!("{what} has a .flow: name it with -C {}; or ", quoted_path(root))
}

/// The problem of what a caller gives.
fn input(error: &Error) -> Problem {
    let invalid = Problem::new(Kind::Refused, "invalid_document", error);
    match error {
        // An option needs no quotation marks of YAML.
        Error::InputYaml { error, .. } if error.fault == YamlFault::Apostrophe => {
            invalid.help("or give the text with --summary; nothing was recorded")
        }
        Error::InputYaml { .. } => invalid.help("nothing was recorded"),
        Error::InputSchema { violations, .. } => {
            invalid.help(flow("schema activity") + " prints the schema; nothing was recorded").because(all(violations))
        }
        Error::Input { source, .. } => unreadable_input(error, source),
        _ => invalid.help("nothing was written"),
    }
}

/// The problem of a file that cannot be read.
fn unreadable_input(error: &Error, source: &std::io::Error) -> Problem {
    let (kind, help) = match source.kind() {
        // The system's words for a missing file depend on where they come from.
        ErrorKind::NotFound => {
            let problem = Problem::new(Kind::NotFound, "input_unreadable", error).help("check the path");
            return problem.because(["No such file or directory".to_owned()]);
        }
        ErrorKind::FileTooLarge => {
            (Kind::Refused, Some("a document may have 1 MiB; put long output into a file and name it as evidence"))
        }
        ErrorKind::InvalidData => (Kind::Refused, Some("give UTF-8 text; nothing of it was written")),
        ErrorKind::InvalidInput => (Kind::Refused, Some("name a regular file; nothing was written")),
        _ => (Kind::Io, None),
    };
    let problem = Problem::new(kind, "input_unreadable", error).caused_by(source);
    Problem { help: help.map(Help::from), ..problem }
}

/// The problem of a run that cannot be determined.
fn which_run(error: &Error) -> Problem {
    let new = |kind, code| Problem::new(kind, code, error);
    match error {
        Error::NoSuchRun { suggestion, worktree, .. } => {
            new(Kind::NotFound, "run_not_found").help(match (worktree, suggestion) {
                (Some(root), _) => format!("it is in another worktree: name that with -C {}", quoted_path(root)).into(),
                (None, near) => {
                    let meant = near.as_ref().map(|near| format!("did you mean {near}? ")).unwrap_or_default();
                    Help::from(meant) + flow("list") + " shows all runs"
                }
            })
        }
        Error::NoSuchRunInEnvironment { .. } => new(Kind::NotFound, "run_not_found")
            .help(Help::from("correct or unset FLOW_RUN; ") + flow("list") + " shows all runs"),
        Error::AmbiguousRun { .. } => new(Kind::Usage, "ambiguous_run").help("name one of them by its whole id"),
        Error::SecondRun { run, .. } => new(Kind::Refused, "run_open")
            .help(Help::from("go on with it: ") + flow("resume").value(run) + "; or have two with --another"),
        Error::TwinRun { twin, .. } => {
            new(Kind::Refused, "run_exists").help(format!("use another id, or go on with {twin}"))
        }
        Error::NoActiveRun { unreadable } if unreadable.is_empty() => new(Kind::NotFound, "no_active_run")
            .help(Help::from("name a run with --run-id, or start one with ") + flow("start").value("WORKFLOW")),
        Error::NoActiveRun { unreadable } => new(Kind::Damaged, "no_active_run")
            .help(flow("doctor") + " says what can be done about them; or name another run with --run-id")
            .because(unreadable.iter().cloned()),
        Error::NoRunToReopen { ended: None, .. } => new(Kind::NotFound, "no_run_to_reopen").help("no run has ended"),
        Error::NoRunToReopen { ended: Some(run), another } => {
            let command = reopen(run, *another).example("reason", "TEXT");
            new(Kind::Usage, "no_run_to_reopen").help(Help::from("the one that ended last: ") + command)
        }
        Error::UnsureRun { unreadable, .. } => new(Kind::Usage, "several_runs").help(
            Help::from("name the run with --run-id; ")
                + flow("resume").value(unreadable)
                + " says what is wrong with the other",
        ),
        _ => new(Kind::Usage, "several_runs")
            .help(Help::from("name one of them with --run-id or in FLOW_RUN; ") + flow("list") + " shows all runs"),
    }
}

/// The problem of a run that git changed, with the ways to continue.
fn moved(error: &Error) -> Problem {
    let new = |kind, code| Problem::new(kind, code, error);
    match error {
        Error::Rewound { run, places, .. } => {
            let rest = match places.as_slice() {
                // What was reset or deleted is in no branch, and git still knows it for some weeks.
                [] => Help::from("no branch here has the rest; `git reflog` may show it"),
                places => {
                    Help::from(format!("the rest is on {} (", first_few(places, 3)))
                        + flow("resume").value(run)
                        + " says how to get it)"
                }
            };
            new(Kind::NeedsHuman, "log_rewound").help(
                rest + "; go on with it, or go on from here without it: "
                    + flow("doctor").value(run).flag("repair")
                    + " notes the gap. Nothing was written",
            )
        }
        Error::Elsewhere { places, .. } => {
            let there = match places.as_slice() {
                [] => "they were removed, or another checkout has them".to_owned(),
                places => format!("they are on {}", first_few(places, 3)),
            };
            new(Kind::NotFound, "run_elsewhere")
                .help(Help::from(there) + "; " + flow("list") + " shows the runs that are here")
        }
        Error::LeftOut { add, .. } => {
            new(Kind::NotFound, "left_out").help(format!("bring it with `{add}`; nothing was written"))
        }
        Error::Joined { run, .. } => new(Kind::Damaged, "run_conflict")
            .help(flow("doctor").value(run).flag("repair") + " makes one history of both and keeps every record"),
        _ => new(Kind::Damaged, "run_conflict"),
    }
}

fn edit_help(fault: &EditFault) -> String {
    match fault {
        EditFault::Id { .. } => "put the id back; a run cannot be renamed".to_owned(),
        EditFault::Workflow { .. } => "put the workflow back; start another run for another workflow".to_owned(),
        EditFault::Phase { known, suggestion, .. } => {
            let known = known.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ");
            match suggestion {
                Some(near) => format!("did you mean `{near}`? The phases are {known}"),
                None => format!("the phases are {known}"),
            }
        }
    }
}
