//! Why a command is refused by a rule.

use thiserror::Error;

use crate::engine::PhaseWork;
use crate::machine::Machine;
use crate::model::{ActivityStatus, Number, Question, RunStatus, Seq, SessionId, StateName, StepStatus, WorkflowId};

/// A command that a rule forbids. Nothing was written.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// The run is over.
    #[error("the run is {status}; it accepts no more records")]
    Terminal {
        /// How it ended.
        status: RunStatus,
    },
    /// The phase is not in the workflow.
    #[error("the workflow has no phase `{phase}`")]
    UnknownPhase {
        /// The phase.
        phase: StateName,
        /// The phases it has.
        known: Vec<StateName>,
        /// The one that was probably meant.
        suggestion: Option<StateName>,
    },
    /// The run stands in a phase that the other definition does not have.
    #[error("the run is in `{phase}`, which today's workflow does not have")]
    PositionGone {
        /// Where it stands.
        phase: StateName,
        /// The phases of the other definition.
        known: Vec<StateName>,
        /// The one that probably took its place.
        suggestion: Option<StateName>,
    },
    /// No transition leads there.
    #[error("the run cannot go from `{from}` to `{to}`")]
    InvalidTransition {
        /// Where it is.
        from: StateName,
        /// Where it was to go.
        to: StateName,
        /// Where it can go.
        choices: Vec<StateName>,
    },
    /// There is nothing behind the last phase.
    #[error("`{phase}` is the last phase; there is no next one")]
    NoNextPhase {
        /// The last phase.
        phase: StateName,
    },
    /// More than one phase could be next.
    #[error("`{phase}` has several next phases")]
    AmbiguousNext {
        /// Where the run is.
        phase: StateName,
        /// Where it can go.
        choices: Vec<StateName>,
    },
    /// A blocked run does not change its phase.
    #[error("the run is blocked and stays in `{phase}`")]
    BlockedRun {
        /// Where it stays.
        phase: StateName,
        /// Why it is blocked.
        reason: Option<String>,
    },
    /// A blocked run is not completed.
    #[error("the run is blocked, so it cannot be completed")]
    Blocked {
        /// Why it is blocked.
        reason: Option<String>,
    },
    /// A run without a completed activity did nothing (FlowRun).
    #[error("no activity is completed, so there is nothing to complete")]
    NothingRecorded,
    /// Phases whose work is not done would be left, or completed with the run.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotDone(Vec<Undone>),
    /// What a phase asked is not answered, so its work is not done.
    #[error("`{}` is not done: it waits for an answer to: {}", .0.question.step, .0.question.prompt)]
    Unanswered(Box<Unanswered>),
    /// The outcome of begun work is unknown.
    #[error("the outcome of {} is not recorded", ids.join(", "))]
    InDoubt {
        /// The begun activities.
        ids: Vec<String>,
    },
    /// A run that is not blocked cannot be unblocked.
    #[error("the run is {status}, not blocked")]
    NotBlocked {
        /// What it is.
        status: RunStatus,
    },
    /// A reason is needed.
    #[error("a reason is needed")]
    ReasonMissing,
    /// Another session holds the run.
    #[error("session {session} holds the run")]
    Held {
        /// Who holds it.
        session: SessionId,
    },
    /// Another session holds the run, so only its units are reported by others.
    #[error("session {session} holds the run")]
    HeldFromReports {
        /// Who holds it.
        session: SessionId,
    },
    /// The caller held the run once, but no more.
    #[error("epoch {given} is over; the run is in epoch {current}")]
    StaleEpoch {
        /// The caller's.
        given: u64,
        /// The run's.
        current: u64,
    },
    /// The activity belongs to another run.
    #[error("the activity says that it belongs to {what} {found}, not {expected}")]
    Mismatch {
        /// `run` or `workflow`.
        what: &'static str,
        /// This run's.
        expected: String,
        /// The activity's.
        found: String,
    },
    /// The reports are of another workflow.
    #[error("the run follows the workflow {follows}, not {named}")]
    OtherWorkflow {
        /// This run's.
        follows: WorkflowId,
        /// The reports'.
        named: String,
    },
    /// The operation id was used for something else.
    #[error("the id `{id}` is taken: {number} is recorded as {status} with other content")]
    IdReused {
        /// The id.
        id: String,
        /// What it was used for.
        number: Number,
        /// The status of that record.
        status: ActivityStatus,
    },
    /// The step is not in the workflow.
    #[error("{}", .0.unknown())]
    UnknownStep(Box<StepFault>),
    /// A run begins in an initial state.
    #[error("{}", .0.no_beginning())]
    CannotStart(Box<StepFault>),
    /// No transition leads to the step from where the run stands.
    #[error("{}", .0.no_way())]
    InvalidStep(Box<StepFault>),
    /// Nobody asked anything.
    #[error("no question is open{}, so there is nothing to answer", .step.as_ref().map(|step| format!(" in `{step}`")).unwrap_or_default())]
    NoQuestion {
        /// Where it would have been; none for anywhere.
        step: Option<StateName>,
    },
    /// Several questions are open, and the answer does not say which one it answers.
    #[error("{} questions are open: {}", .0.len(), .0.join(", "))]
    WhichQuestion(Vec<String>),
    /// A question needs a step that asks it.
    #[error("a question needs --step, since the run is in no step yet")]
    Nowhere,
    /// The operation id was used for other reports.
    #[error("the id `{id}` is taken: event {seq} carries it with other content")]
    KeyReused {
        /// The id.
        id: String,
        /// The event.
        seq: Seq,
    },
}

impl Refusal {
    /// Whether another definition of the workflow could allow what is refused.
    #[must_use]
    pub fn rests_on_workflow(&self) -> bool {
        matches!(
            self,
            Self::UnknownPhase { .. }
                | Self::InvalidTransition { .. }
                | Self::NoNextPhase { .. }
                | Self::AmbiguousNext { .. }
                | Self::UnknownStep(_)
                | Self::CannotStart(_)
                | Self::InvalidStep(_)
        )
    }
}

/// A phase whose work is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The phase.
    pub phase: StateName,
    /// How its work stands.
    pub status: StepStatus,
    /// The latest record in it: its number, which a refused one does not get, and its id.
    pub latest: Option<(Option<Number>, String)>,
    /// The other attempts in it that did not settle well: their numbers and ids.
    pub others: Vec<String>,
    /// Whether a person took that record off `completed_activities`.
    pub withdrawn: bool,
    /// The phases to which the run can go back from it for another round.
    pub back: Vec<StateName>,
}

impl Undone {
    /// The phase of `work`.
    #[must_use]
    pub fn new(machine: Option<&Machine>, phase: &StateName, work: &PhaseWork<'_>) -> Self {
        Self {
            phase: phase.clone(),
            status: work.status,
            latest: work.latest.map(|latest| (Some(latest.number), latest.id.clone())),
            others: work.open.iter().rev().skip(1).rev().map(|open| format!("{} {}", open.number, open.id)).collect(),
            withdrawn: work.withdrawn,
            back: machine.map(|machine| machine.back_from(phase)).unwrap_or_default(),
        }
    }

    /// The phase of a record that is refused, so it has no number.
    pub(super) fn of_record(machine: Option<&Machine>, phase: &StateName, id: &str, status: ActivityStatus) -> Self {
        let back = machine.map(|machine| machine.back_from(phase)).unwrap_or_default();
        let latest = Some((None, id.to_owned()));
        Self { phase: phase.clone(), status: status.into(), latest, others: Vec::new(), withdrawn: false, back }
    }
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not done: ", self.phase)?;
        let Some((number, id)) = &self.latest else {
            return match self.status {
                StepStatus::NotStarted => write!(f, "nothing is recorded in it"),
                status => write!(f, "it is reported as {status}"),
            };
        };
        let number = number.map(|number| format!("{number} ")).unwrap_or_default();
        match self.status {
            _ if self.withdrawn => write!(f, "{number}{id} was taken off completed_activities"),
            StepStatus::Running => write!(f, "the outcome of {number}{id} is not recorded"),
            StepStatus::Failed => write!(f, "{number}{id} failed"),
            StepStatus::Waiting => write!(f, "{number}{id} is blocked"),
            status => write!(f, "{number}{id} is {status}"),
        }?;
        match self.others.as_slice() {
            [] => Ok(()),
            others => write!(f, " (nor are settled: {})", others.join(", ")),
        }
    }
}

/// A question that keeps a run in its phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The question.
    pub question: Question,
    /// The workflow, under which it is answered.
    pub workflow: WorkflowId,
    /// Whether its answer belongs into a document, from which the run learns it.
    pub in_document: bool,
}

/// What is wrong with a reported step. The sentences are rp1's.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFault {
    /// The step.
    pub step: StateName,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The states that it could have been: all, or where a run can begin.
    pub known: Vec<StateName>,
    /// Where the run stands, and where it can go from there.
    pub current: Option<(StateName, Vec<StateName>)>,
    /// The state that was probably meant.
    pub suggestion: Option<StateName>,
    /// Whether the run is over.
    pub over: bool,
}

impl StepFault {
    fn unknown(&self) -> String {
        let Self { step, workflow, known, .. } = self;
        let (known, position) = (list(known), self.position());
        format!(
            "step \"{step}\" is not a valid state in the \"{workflow}\" state machine. Valid states: [{known}].{position}"
        )
    }

    fn no_beginning(&self) -> String {
        let Self { step, workflow, known, .. } = self;
        format!("step \"{step}\" cannot start the \"{workflow}\" state machine. Initial states: [{}].", list(known))
    }

    fn no_way(&self) -> String {
        let Self { step, workflow, .. } = self;
        format!("step \"{step}\" is not a valid transition in the \"{workflow}\" state machine.{}", self.position())
    }

    fn position(&self) -> String {
        let Some((current, choices)) = &self.current else { return String::new() };
        format!(" Current state: \"{current}\". Valid transitions from \"{current}\": [{}].", list(choices))
    }
}

fn list(names: &[StateName]) -> String {
    names.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ")
}
