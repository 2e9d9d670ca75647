//! Everything that can keep a verb over runs from doing its work.

use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::CatalogError;
use crate::codec::violations::{first, located, suffix};
use crate::codec::{Place, RunTextError, Violation, YamlError};
use crate::engine::{EditFault, Refusal};
use crate::host::{BadSetting, GitRef};
use crate::model::{BadName, RunId, Seq, WorkflowId};
use crate::runs::checkout::ends_at;
use crate::runs::refused;
use crate::store::{Address, StoreError};

/// Why a verb failed.
#[derive(Debug, Error)]
pub enum Error {
    /// Files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Definitions.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The definition that a run follows is not there any more.
    #[error("the definition of `{workflow}`, which the run {run} follows, is not here any more")]
    DefinitionGone {
        /// The run.
        run: RunId,
        /// The workflow.
        workflow: WorkflowId,
    },
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] BadName),
    /// An environment variable that cannot be used.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The arguments do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A rule forbids it.
    #[error("{}", refused::sentence(run, refusal))]
    Refused {
        /// The run.
        run: RunId,
        /// The rule.
        refusal: Refusal,
    },
    /// There is no `.flow` here.
    #[error("no .flow was found in {} or above", start.display())]
    NoProject {
        /// Where the search began.
        start: PathBuf,
        /// A project around the repository in which the search ended: the one of which that is a submodule.
        around: Option<PathBuf>,
        /// Another worktree of the repository that has one.
        worktree: Option<PathBuf>,
    },
    /// There is no such run.
    #[error("there is no run {id}")]
    NoSuchRun {
        /// The name as given.
        id: String,
        /// A run that was probably meant.
        suggestion: Option<String>,
        /// Another worktree of the repository that has it.
        worktree: Option<PathBuf>,
    },
    /// A rule forbids it, and the run follows an older definition of its workflow than today's.
    #[error("{}", refused::sentence(run, refusal))]
    RefusedByOlder {
        /// The run.
        run: RunId,
        /// The rule.
        refusal: Refusal,
    },
    /// A beginning of several runs' ids.
    #[error("{given} is the beginning of several runs: {}", some_of(.candidates))]
    AmbiguousRun {
        /// The name as given.
        given: String,
        /// The runs.
        candidates: Vec<String>,
    },
    /// An open run is about the same.
    #[error("{run} is open and is about {about} as well")]
    SecondRun {
        /// The open run.
        run: RunId,
        /// What both are about: `issue 42`.
        about: String,
    },
    /// A run exists whose id differs only in case.
    #[error("run {twin} exists, and {id} differs from it only in case")]
    TwinRun {
        /// The id as given.
        id: RunId,
        /// The run that exists.
        twin: String,
    },
    /// No run was named, and none is active.
    #[error("{}", no_active_run(.unreadable))]
    NoActiveRun {
        /// Runs that could not be read: one of them may be active.
        unreadable: Vec<String>,
    },
    /// No run was named, and several are active.
    #[error("several runs are active: {}", .candidates.iter().map(RunId::as_str).collect::<Vec<_>>().join(", "))]
    SeveralRuns {
        /// The active runs, newest first.
        candidates: Vec<RunId>,
    },
    /// No run was named, one is active, and another one that cannot be read may be meant.
    #[error("{candidate} is active, but {unreadable} cannot be read and may be the one that is meant")]
    UnsureRun {
        /// The active run.
        candidate: RunId,
        /// The run that cannot be read.
        unreadable: String,
    },
    /// A run's `run.yaml` cannot be used as it is.
    #[error("{at}{} {error}", suffix(error.place()))]
    RunFile {
        /// The file.
        at: Address,
        /// Why.
        error: RunTextError,
    },
    /// A run's `run.yaml` breaks its schema.
    #[error("{} is not a valid run: {}", located(at, violations), first(violations))]
    RunSchema {
        /// The file.
        at: Address,
        /// All violations.
        violations: Vec<Violation>,
    },
    /// A person changed in `run.yaml` what cannot be changed there.
    #[error("{at}{}: {fault}", suffix(*place))]
    Edit {
        /// The file.
        at: Address,
        /// Where.
        place: Option<Place>,
        /// What.
        fault: EditFault,
    },
    /// A run without a usable document and without a usable log.
    #[error("{at} has neither a run.yaml nor a log that could rebuild it")]
    EmptyRun {
        /// The run's directory.
        at: Address,
    },
    /// Version control put an older log back, and the rest of the run is elsewhere.
    #[error("the log of run {run} was put back: it {}, and event {noted} was written", ends_at(*last))]
    Rewound {
        /// The run.
        run: RunId,
        /// Where the log ends.
        last: Seq,
        /// How far the run got here.
        noted: Seq,
        /// Where the rest is.
        places: Vec<GitRef>,
    },
    /// A merge left two histories of a run, or conflict markers.
    #[error("a merge joined two histories of run {run}: {what}")]
    Joined {
        /// The run.
        run: RunId,
        /// Where that shows.
        what: String,
    },
    /// Version control put the files of a run away; what is left are flow's own.
    #[error("the files of run {run} are not in this checkout")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Branches on which they are.
        places: Vec<GitRef>,
    },
    /// A document that the caller gave is not YAML.
    #[error("{origin}{} is not valid YAML: {error}", suffix(error.place))]
    InputYaml {
        /// A path or `standard input`.
        origin: String,
        /// Why.
        error: YamlError,
    },
    /// A document that the caller gave breaks its schema.
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
        /// Why.
        source: std::io::Error,
    },
    /// A file that the caller gave is no JSON object.
    #[error("{origin} cannot be used: {why}")]
    InputJson {
        /// A path or `standard input`.
        origin: String,
        /// Why not.
        why: String,
    },
    /// Something that the caller asked for is not in the run.
    #[error("{run} has no event {seq}; its last is {last}")]
    NoSuchEvent {
        /// The run.
        run: RunId,
        /// The position asked for.
        seq: u64,
        /// The last position.
        last: u64,
    },
}

/// The result of a verb.
pub type Result<T> = std::result::Result<T, Error>;

/// The first of some names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// That no run is active, as far as runs can be read.
fn no_active_run(unreadable: &[String]) -> String {
    match unreadable.len() {
        0 => "no run is active or blocked".to_owned(),
        1 => "no readable run is active, and 1 run cannot be read".to_owned(),
        n => format!("no readable run is active, and {n} runs cannot be read"),
    }
}
