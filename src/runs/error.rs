//! Errors of the verbs over runs.

use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::CatalogError;
use crate::codec::violations::{first, located, suffix};
use crate::codec::{Place, RunTextError, Violation, YamlError};
use crate::disk::DocumentFault;
use crate::engine::{EditFault, Refusal};
use crate::host::{BadSetting, GitRef};
use crate::model::{BadName, RunId, Seq, WorkflowId};
use crate::runs::refused;
use crate::store::{Address, StoreError};

/// Why a verb failed.
#[derive(Debug, Error)]
pub enum Error {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of a definition.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The definition of a run's workflow no longer exists.
    #[error("the definition of `{workflow}`, which the run {run} follows, is not here any more")]
    DefinitionGone {
        /// The run.
        run: RunId,
        /// The workflow.
        workflow: WorkflowId,
    },
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// An invalid environment variable.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The arguments are not valid, or do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A text that the caller gives as JSON is none.
    #[error("{message}")]
    NotJson {
        /// What is wrong.
        message: String,
        /// How to write it.
        help: String,
    },
    /// A rule forbids the command.
    #[error("{}", refused::sentence(run, refusal))]
    Refused {
        /// The run.
        run: RunId,
        /// The rule.
        refusal: Refusal,
    },
    /// A decision of a person was asked for by an agent, or by a process that one may have begun.
    #[error("a person decides, and {sign} shows that an agent began this")]
    NotAPerson {
        /// The variable or process that shows it.
        sign: String,
    },
    /// A decision of a person was asked for where no one can be asked.
    #[error("a person decides at a terminal, and {what} is not one")]
    NoTerminal {
        /// The stream that is not a terminal.
        what: &'static str,
    },
    /// No `.flow` was found.
    #[error("no .flow was found in {} or above", start.display())]
    NoProject {
        /// The directory in which the search began.
        start: PathBuf,
        /// A project in the repository around this one, of which this one is a submodule.
        around: Option<PathBuf>,
        /// Another worktree of the repository that has a `.flow`.
        worktree: Option<PathBuf>,
    },
    /// The run does not exist.
    #[error("there is no run {id}")]
    NoSuchRun {
        /// The name as given.
        id: String,
        /// A similar run that was probably meant.
        suggestion: Option<String>,
        /// Another worktree of the repository that has the run.
        worktree: Option<PathBuf>,
    },
    /// `FLOW_RUN` names a run that does not exist.
    #[error("FLOW_RUN names the run: {why}")]
    NoSuchRunInEnvironment {
        /// Why there is no such run.
        why: String,
    },
    /// A rule forbids the command, and the run follows an older definition of its workflow than the current one.
    #[error("{}", refused::sentence(run, refusal))]
    RefusedByOlder {
        /// The run.
        run: RunId,
        /// The rule.
        refusal: Refusal,
    },
    /// The name fits several runs.
    #[error("{given} fits several runs: {}", first_few(.candidates, 5))]
    AmbiguousRun {
        /// The name as given.
        given: String,
        /// The runs.
        candidates: Vec<RunId>,
    },
    /// Another open run is about the same issue or pull request.
    #[error("{run} is open and is about {about} as well")]
    SecondRun {
        /// The open run.
        run: RunId,
        /// What both are about, such as `issue 42`.
        about: String,
    },
    /// Another run has an id that differs only in case.
    #[error("run {twin} exists, and {id} differs from it only in case")]
    TwinRun {
        /// The id as given.
        id: RunId,
        /// The run that exists.
        twin: String,
    },
    /// A run did not come to its end in time.
    #[error("run {run} is still open after {seconds} s: {reason}")]
    TimeOver {
        /// The run.
        run: RunId,
        /// How long it was waited for.
        seconds: u64,
        /// What it is doing.
        reason: String,
    },
    /// No run was named, and no run is active.
    #[error("{}", no_active_run(.unreadable))]
    NoActiveRun {
        /// Runs that could not be read: one of them may be active.
        unreadable: Vec<String>,
    },
    /// No run was named, and several may be meant.
    #[error("several runs are open: {}", first_few(.candidates, 5))]
    SeveralRuns {
        /// These runs, newest first.
        candidates: Vec<RunId>,
    },
    /// No run was named to reopen.
    #[error("name the run to reopen")]
    NoRunToReopen {
        /// The run that ended last.
        ended: Option<RunId>,
        /// Whether another open run is about the same work.
        another: bool,
    },
    /// No run was named. One is active, but another one cannot be read and may be the one that is meant.
    #[error("{candidate} is active, but {unreadable} cannot be read and may be the one that is meant")]
    UnsureRun {
        /// The active run.
        candidate: RunId,
        /// The run that cannot be read.
        unreadable: String,
    },
    /// The `run.yaml` of a run cannot be used.
    #[error("{at}{} {error}", suffix(error.place()))]
    RunFile {
        /// The file.
        at: Address,
        /// The reason.
        error: RunTextError,
    },
    /// The `run.yaml` of a run does not match its schema.
    #[error("{} is not a valid run: {}", located(at, violations), first(violations))]
    RunSchema {
        /// The file.
        at: Address,
        /// All violations.
        violations: Vec<Violation>,
    },
    /// A person changed something in `run.yaml` that cannot be changed.
    #[error("{at}{}: {fault}", suffix(*place))]
    Edit {
        /// The file.
        at: Address,
        /// The place in the file.
        place: Option<Place>,
        /// The change.
        fault: EditFault,
    },
    /// A run has neither a usable `run.yaml` nor a usable log.
    #[error("{at} has neither a run.yaml nor a log that could rebuild it")]
    EmptyRun {
        /// The run's directory.
        at: Address,
    },
    /// Git put an older log back; the newer events are elsewhere.
    #[error("the log of run {run} was put back: it {}, and event {noted} was written", ends_at(*last))]
    Rewound {
        /// The run.
        run: RunId,
        /// The last event of the log.
        last: Seq,
        /// The last event that was written in this checkout.
        noted: Seq,
        /// The places where git has the newer events.
        places: Vec<GitRef>,
    },
    /// A merge joined two histories of a run, or left conflict markers.
    #[error("a merge joined two histories of run {run}: {what}")]
    Joined {
        /// The run.
        run: RunId,
        /// The first place that shows it.
        what: String,
    },
    /// The files of a run are not in this checkout; git removed them, and only flow's own files are left.
    #[error("the files of run {run} are not in this checkout")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// The places where git has them.
        places: Vec<GitRef>,
    },
    /// Git has the files, and this sparse checkout leaves them out.
    #[error("{path} is not in this sparse checkout, and git has it")]
    LeftOut {
        /// The file or directory, relative to the project.
        path: String,
        /// The command that brings it.
        add: String,
    },
    /// A file of the caller's cannot be written.
    #[error(transparent)]
    Document(DocumentFault),
    /// A run without a state machine has no diagram.
    #[error("run {run} has no state machine, so it has no diagram")]
    NoDiagram {
        /// The run.
        run: RunId,
    },
    /// A document of the caller's is not YAML.
    #[error("{origin}{} is not valid YAML: {error}", suffix(error.place))]
    InputYaml {
        /// A path or `standard input`.
        origin: String,
        /// The reason.
        error: YamlError,
    },
    /// A document of the caller's does not match its schema.
    #[error("{} is not a valid {what}: {}", located(origin, violations), first(violations))]
    InputSchema {
        /// A path or `standard input`.
        origin: String,
        /// `FlowActivity`, …
        what: &'static str,
        /// All violations.
        violations: Vec<Violation>,
    },
    /// A file that the caller named cannot be read.
    #[error("cannot read {origin}")]
    Input {
        /// A path or `standard input`.
        origin: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The working directory exists and cannot be read.
    #[error("cannot read the path of the working directory")]
    NoWorkingDirectory {
        /// What to do instead.
        instead: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A document of the caller's is not a valid JSON object.
    #[error("{origin} cannot be used: {why}")]
    InputJson {
        /// A path or `standard input`.
        origin: String,
        /// The reason.
        why: String,
    },
    /// The run has no such event.
    #[error("{run} has no event {seq}; its last is {last}")]
    NoSuchEvent {
        /// The run.
        run: RunId,
        /// The requested position.
        seq: u64,
        /// The last position.
        last: u64,
    },
    /// The run refers to no such file, or the file is not there.
    #[error("run {run} has no such file")]
    NoSuchFile {
        /// The run.
        run: RunId,
    },
}

impl Error {
    /// The error that a rule forbids a command on `run`.
    pub(crate) fn refused(run: &RunId, refusal: Refusal) -> Self {
        Self::Refused { run: run.clone(), refusal }
    }
}

/// The result of a verb.
pub type Result<T> = std::result::Result<T, Error>;

/// The first few of several things, and the number of the others.
pub(super) fn first_few(all: &[impl ToString], few: usize) -> String {
    let more = all.len().saturating_sub(few);
    let shown: Vec<_> = all.iter().take(few).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// The sentence that no run is active, with the number of unreadable ones.
fn no_active_run(unreadable: &[String]) -> String {
    match unreadable.len() {
        0 => "no run is active or blocked".to_owned(),
        1 => "no readable run is active, and 1 run cannot be read".to_owned(),
        n => format!("no readable run is active, and {n} runs cannot be read"),
    }
}

/// Where a log ends, as the end of a sentence.
pub(crate) fn ends_at(last: Seq) -> String {
    if last == Seq(0) { "is not in this checkout".to_owned() } else { format!("ends at event {last}") }
}
