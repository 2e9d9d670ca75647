//! Everything that can keep a verb from doing its work, as data. Sentences are made in [`crate::ops::problem`].

use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::CatalogError;
use crate::codec::{Place, RunTextError, Violation, YamlError};
use crate::engine::{EditFault, ModeRefusal, Refusal};
use crate::host::{BadSetting, GitRef};
use crate::interview::{Answer, EditError, Fault};
use crate::model::{BadName, RunId, Seq, WorkflowId};
use crate::ops::checkout::ends_at;
use crate::store::{DocumentFault, StoreError};

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
    #[error("{refusal}")]
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
    #[error("run {run}: {refusal}")]
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
    #[error("no run is active")]
    NoActiveRun {
        /// Runs that could not be read: one of them may be active.
        unreadable: Vec<String>,
    },
    /// No run was named, and several are active.
    #[error("several runs are active")]
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
    #[error("{} {error}", path.display())]
    RunFile {
        /// The file.
        path: PathBuf,
        /// Why.
        error: RunTextError,
    },
    /// A run's `run.yaml` breaks its schema.
    #[error("{} is not a valid FlowRun document", path.display())]
    RunSchema {
        /// The file.
        path: PathBuf,
        /// All violations.
        violations: Vec<Violation>,
    },
    /// A person changed in `run.yaml` what cannot be changed there.
    #[error("{}: {fault}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Option<Place>,
        /// What.
        fault: EditFault,
    },
    /// A run without a usable document and without a usable log.
    #[error("{} has neither a run.yaml nor a log that could rebuild it", path.display())]
    EmptyRun {
        /// The run's directory.
        path: PathBuf,
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
    #[error("{origin} is not valid YAML")]
    InputYaml {
        /// A path or `standard input`.
        origin: String,
        /// Why.
        error: YamlError,
    },
    /// A document that the caller gave breaks its schema.
    #[error("{origin} is not a valid {what}")]
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
    /// What a driver began is still at work, though the driver is gone.
    #[error("process {pid} still works on run {run}: its driver is gone, what it began is not")]
    StillRuns {
        /// The run.
        run: RunId,
        /// The process.
        pid: u32,
    },
    /// There is no such mode.
    #[error("there is no mode `{word}`")]
    UnknownMode {
        /// The word as given.
        word: String,
        /// All modes.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// A rule about modes forbids it.
    #[error("a rule about modes forbids it")]
    Mode {
        /// The rule.
        refusal: Box<ModeRefusal>,
        /// The file that is in the way.
        path: Option<PathBuf>,
        /// The sentence about a denial.
        message: Option<String>,
    },
    /// A file that the caller gave is no JSON object.
    #[error("{origin} cannot be used: {why}")]
    InputJson {
        /// A path or `standard input`.
        origin: String,
        /// Why not.
        why: String,
    },
    /// The document of an interview cannot be read or written.
    #[error(transparent)]
    Document(DocumentFault),
    /// An interview does not go on.
    #[error("the interview in {} does not go on", document.display())]
    Interview {
        /// The document, as it was named.
        document: PathBuf,
        /// Why.
        fault: InterviewFault,
    },
    /// What a person said could not be written.
    #[error("{source}")]
    Unwritten {
        /// Why it was not.
        source: Box<Error>,
        /// What was to be written.
        given: String,
    },
    /// A graph leads nowhere, or a state leads out of it.
    #[error("{0}")]
    Agent(String),
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

/// Why an interview does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the interview does not go on")]
pub enum InterviewFault {
    /// Its scratch pad does not allow it.
    Edit(EditError),
    /// There is no document.
    Missing,
    /// Nothing in the pad can be read.
    Unreadable {
        /// What is there.
        fault: Fault,
    },
    /// Another answer stands there.
    AnsweredMeanwhile {
        /// The question.
        number: u32,
        /// What stands there.
        there: Answer,
        /// What was to be written.
        given: Option<String>,
    },
    /// Another question has the number.
    OtherQuestion {
        /// The number.
        number: u32,
        /// What is asked under it.
        asked: String,
        /// What was to be written.
        given: Option<String>,
    },
    /// What is left of its scratch pad does not say by which script it goes.
    ScriptLost {
        /// Where the questions begin.
        line: usize,
        /// The scripts that there are.
        known: Vec<String>,
    },
    /// It goes by another script.
    OtherScript {
        /// Which.
        script: String,
    },
    /// It belongs to another run, or to none.
    OtherRun {
        /// Which.
        run: Option<String>,
    },
    /// No question waits.
    NothingToAsk,
    /// The question before has this very answer.
    SameAnswer {
        /// The question before.
        last: u32,
        /// The next one.
        next: u32,
    },
    /// The answer is longer than answers may be.
    AnswerTooLong,
    /// Questions are left.
    StillOpen {
        /// The next one.
        number: u32,
        /// How many there are.
        total: u32,
        /// What it is about.
        topic: String,
    },
    /// Somebody else saved the document.
    ChangedMeanwhile,
    /// Nobody agreed.
    NoConsent,
    /// The agent gave no answer.
    Agent {
        /// Why.
        why: String,
    },
    /// The agent's answer breaks its schema.
    Reply {
        /// All violations.
        violations: Vec<Violation>,
    },
    /// The agent asks too much.
    TooManyQuestions {
        /// The most there may be.
        most: u32,
    },
    /// The agent asks what was asked already.
    AskedAgain {
        /// The question that it repeats.
        number: u32,
        /// What that was about.
        topic: String,
    },
    /// What the agent would answer was not recorded.
    NotRecorded,
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
