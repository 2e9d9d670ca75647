//! Errors of the verbs over runs. A reason on which some caller acts is a variant of [`Error`]; any other one is a
//! [`Problem`], made where it arises.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::catalog::CatalogError;
use crate::codec::RunTextError;
use crate::codec::violations::suffix;
use crate::disk::DocumentFault;
use crate::engine::Refusal;
use crate::host::{BadSetting, GitRef};
use crate::model::{BadName, Explain, Help, Kind, Problem, RunId, Seq, Suggestion, counted, first_few, quoted};
use crate::runs::path::quoted_path;
use crate::runs::refused;
use crate::store::{Address, StoreError};

/// Why a verb failed.
#[derive(Debug, Error)]
pub enum Error {
    /// An error of the store.
    #[error(transparent)]
    Store(StoreError),
    /// An error of a definition.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// An invalid environment variable.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// A document cannot be read or written.
    #[error(transparent)]
    Document(#[from] DocumentFault),
    /// Any other reason; its code says which one.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// The arguments are not valid, or do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A rule forbids the command.
    #[error("{}", refused::sentence(run, refusal))]
    Refused {
        /// The run that the command is about.
        run: RunId,
        /// The rule.
        refusal: Refusal,
        /// Whether the rule follows from an older definition of the workflow than the current one.
        by_older: bool,
    },
    /// No `.flow` was found.
    #[error("no runs here: there is no .flow in {} or above", start.display())]
    NoProject {
        /// The directory in which the search began.
        start: PathBuf,
        /// A project in the repository around this one, of which this one is a submodule.
        around: Option<PathBuf>,
        /// Another worktree of the repository that has a `.flow`.
        worktree: Option<PathBuf>,
    },
    /// The run does not exist.
    #[error("there is no run {}", quoted(id))]
    NoSuchRun {
        /// The name as given.
        id: String,
        /// A similar run that was probably meant.
        suggestion: Option<String>,
        /// Another worktree of the repository that has the run.
        worktree: Option<PathBuf>,
    },
    /// Another open run is about the same issue or pull request.
    #[error("{run} is open and is about {about} as well")]
    SecondRun {
        /// The open run.
        run: RunId,
        /// What both are about, such as `issue 42`.
        about: String,
    },
    /// A merge joined two histories of a run, or left conflict markers.
    #[error("a merge joined two histories of run {run}: {what}")]
    Joined {
        /// The run whose log it is.
        run: RunId,
        /// The first place that shows it.
        what: String,
    },
    /// The files of a run are not in this checkout; git removed them, and only flow's own files are left.
    #[error("the files of run {run} are not in this checkout")]
    Elsewhere {
        /// The run that git knows.
        run: RunId,
        /// The places where git has them.
        places: Vec<GitRef>,
    },
}

/// The result of a verb.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // The same refusal, by whichever way the other run was found.
            StoreError::WorkTaken { run, about } => Self::SecondRun { run, about: about.to_string() },
            other => Self::Store(other),
        }
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Store(error) => error.problem(),
            Self::Catalog(error) => error.problem(),
            Self::Document(fault) => fault.problem(),
            Self::Problem(problem) => problem.problem(),
            Self::Name(_) => new(Kind::Usage, "invalid_name"),
            Self::Setting(_) => new(Kind::Usage, "invalid_setting"),
            Self::Usage(_) => new(Kind::Usage, "usage").help(Help::from("see ") + Suggestion::flow("help")),
            Self::Refused { run, refusal, by_older: false } => refused::problem(run, refusal),
            Self::Refused { run, refusal, by_older: true } => {
                let mut problem = refused::problem(run, refusal);
                let help = problem.help.take().unwrap_or_default();
                let between = if help.is_empty() { "" } else { "; " };
                problem.help(
                    help + between
                        + "the run follows the definition that it started with, and today's is another one: "
                        + Suggestion::flow("workflow adopt").value(run)
                        + " moves it over",
                )
            }
            Self::NoProject { around, worktree, .. } => new(Kind::NotFound, "no_project").help(
                Help::from(other_project(around.as_deref(), worktree.as_deref()))
                    + "start a run with "
                    + Suggestion::flow("start").value("WORKFLOW")
                    + ", or make an empty one with "
                    + Suggestion::flow("init"),
            ),
            Self::NoSuchRun { worktree: Some(root), .. } => new(Kind::NotFound, "run_not_found")
                .help(format!("it is in another worktree: name that with -C {}", quoted_path(root))),
            Self::NoSuchRun { suggestion, .. } => {
                let meant = match suggestion {
                    Some(near) => format!("did you mean {near}? "),
                    None => String::new(),
                };
                new(Kind::NotFound, "run_not_found")
                    .help(Help::from(meant) + Suggestion::flow("list") + " shows all runs")
            }
            Self::SecondRun { run, .. } => new(Kind::Refused, "run_open").help(
                Help::from("go on with it: ") + Suggestion::flow("resume").value(run) + "; or have two with --another",
            ),
            Self::Joined { run, .. } => new(Kind::Damaged, "run_conflict").help(
                Suggestion::flow("doctor").value(run).flag("repair")
                    + " makes one history of both and keeps every record",
            ),
            Self::Elsewhere { places, .. } => {
                let there = match places.as_slice() {
                    [] => "they were removed, or another checkout has them".to_owned(),
                    places => {
                        format!("they are {}", first_few(&places.iter().map(GitRef::place).collect::<Vec<_>>(), 3))
                    }
                };
                new(Kind::NotFound, "run_elsewhere")
                    .help(Help::from(there) + "; " + Suggestion::flow("list") + " shows the runs that are here")
            }
        }
    }
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

/// The errors that several verbs make.
impl Error {
    /// A rule forbids a command on `run`.
    pub(crate) fn refused(run: &RunId, refusal: impl Into<Refusal>) -> Self {
        Self::Refused { run: run.clone(), refusal: refusal.into(), by_older: false }
    }

    /// A person has to decide, and cannot be asked here. The message is a sentence that says so.
    pub(crate) fn needs_approval(message: impl ToString) -> Self {
        let help = "the person decides in a terminal of their own, or on the page of a `flow serve --allow-actions` that \
                    they began";
        Problem::new(Kind::NeedsHuman, "needs_approval", message).help(help).into()
    }

    /// No run was named, and no run is active. One of the `unreadable` ones may be.
    pub(crate) fn no_active_run(unreadable: Vec<String>) -> Self {
        if unreadable.is_empty() {
            return Problem::new(Kind::NotFound, "no_active_run", "no run is open")
                .help(
                    Help::from("name a run with --run-id, or start one with ")
                        + Suggestion::flow("start").value("WORKFLOW"),
                )
                .into();
        }
        let message = format!("no readable run is open, and {} cannot be read", counted(unreadable.len(), "run"));
        Problem::new(Kind::Damaged, "no_active_run", message)
            .help(Suggestion::flow("doctor") + " says what can be done about them; or name another run with --run-id")
            .because(unreadable)
            .into()
    }

    /// No run was named, and several may be meant; newest first.
    pub(crate) fn several_runs(candidates: &[impl ToString]) -> Self {
        let message = format!("several runs are open: {}", first_few(candidates, 5));
        let help = Help::from("name one of them with --run-id or in FLOW_RUN; ");
        Problem::new(Kind::Usage, "several_runs", message)
            .help(help + Suggestion::flow("list") + " shows all runs")
            .into()
    }

    /// The `run.yaml` at `at` cannot be used. `has_log`: there are events to make it of.
    pub(crate) fn run_file(at: &Address, error: &RunTextError, has_log: bool) -> Self {
        let message = format!("{at}{} {error}", suffix(error.place()));
        let help = Help::from("correct the file by hand");
        let help = if has_log {
            let again = " puts it aside and makes it again from the log; nothing was written";
            help + "; or " + Suggestion::flow("doctor").flag("repair") + again
        } else {
            help + ": there is no log of which it could be made again; nothing was written"
        };
        Problem::new(Kind::Damaged, "run_file_invalid", message).help(help).into()
    }

    /// A file that the caller named, or another input, cannot be read. `origin` is a path or `standard input`.
    pub(crate) fn input(origin: impl Display, source: &io::Error) -> Self {
        let message = format!("cannot read {origin}");
        let problem = match source.kind() {
            // The system's words for a missing file depend on where they come from.
            ErrorKind::NotFound => {
                return Problem::new(Kind::NotFound, "input_unreadable", message)
                    .help("check the path")
                    .because(["No such file or directory".to_owned()])
                    .into();
            }
            ErrorKind::FileTooLarge => Problem::new(Kind::Refused, "input_unreadable", message)
                .help("a document may have 1 MiB; put long output into a file and name it as evidence"),
            ErrorKind::InvalidData => Problem::new(Kind::Refused, "input_unreadable", message)
                .help("give UTF-8 text; nothing of it was written"),
            ErrorKind::InvalidInput => Problem::new(Kind::Refused, "input_unreadable", message)
                .help("name a regular file; nothing was written"),
            _ => Problem::new(Kind::Io, "input_unreadable", message),
        };
        problem.caused_by(source).into()
    }

    /// A system call failed without which the program cannot go on, as `what` says.
    #[cfg(any(feature = "mcp", feature = "serve", feature = "watch"))]
    pub(crate) fn io(what: &str, source: &io::Error) -> Self {
        Problem::new(Kind::Io, "io_error", what).caused_by(source).into()
    }

    /// A document of the caller's is not a valid JSON object. `origin` is a path or `standard input`.
    pub(crate) fn input_json(origin: impl Display, why: impl Display) -> Self {
        Problem::new(Kind::Refused, "invalid_document", format!("{origin} cannot be used: {why}"))
            .help("nothing was written")
            .into()
    }

    /// The run has no event at `seq`.
    pub(crate) fn no_such_event(run: &RunId, seq: u64, last: u64) -> Self {
        if last == 0 {
            let message = format!("{run} has no event yet: another program wrote it");
            return Problem::new(Kind::NotFound, "event_not_found", message)
                .help(Suggestion::flow("show").value(run) + " shows how it is now")
                .into();
        }
        Problem::new(Kind::NotFound, "event_not_found", format!("{run} has no event {seq}; its last is {last}"))
            .help(Suggestion::flow("log").value(run) + " shows all events")
            .into()
    }
}

/// Where a log ends, as the end of a sentence.
pub(crate) fn ends_at(last: Seq) -> String {
    if last == Seq(0) { "is not in this checkout".to_owned() } else { format!("ends at event {last}") }
}
