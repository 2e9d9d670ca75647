//! Why a rule forbids a command.

use thiserror::Error;

use crate::engine::{BegunInterview, PhaseWork};
use crate::machine::Machine;
use crate::model::{
    ActivityStatus, LastSeen, MissingProof, Number, Obstacle, Question, RunStatus, Seq, SessionId, StateName,
    StepStatus, WayAround, WorkflowId,
};

/// When a person can decide at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateTurn {
    /// At once.
    Now,
    /// When the record that was to lead through the gate is made without that: they decide on recorded work.
    AfterRecord,
    /// When the work of the gate's phase is done: nothing in it passed yet, or something in it runs or failed.
    AfterWork,
    /// When the run has come to the gate.
    Later,
    /// At once: it was passed without a decision.
    Passed,
    /// At once: the definition that the run follows now has dropped it.
    Dropped,
}

/// The rule that forbids a command. Nothing was written.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// The run has ended.
    #[error("the run is {status}; it accepts no more records")]
    Terminal {
        /// How it ended.
        status: RunStatus,
    },
    /// The phase is not in the workflow.
    #[error("the workflow has no phase `{phase}`")]
    UnknownPhase {
        /// The phase that the caller named.
        phase: StateName,
        /// The phases of the workflow.
        known: Vec<StateName>,
        /// The most similar phase, if one is similar enough.
        suggestion: Option<StateName>,
    },
    /// The run has come to no phase yet, and does not begin in this one.
    #[error("the run is in no phase yet, and it does not begin in `{phase}`")]
    NotBegun {
        /// The requested phase.
        phase: StateName,
        /// The phases in which it can begin.
        first: Vec<StateName>,
    },
    /// The run is in a phase that the other definition does not have.
    #[error("the run is in `{phase}`, which today's workflow does not have")]
    PositionGone {
        /// The current phase of the run.
        phase: StateName,
        /// The phases of the other definition.
        known: Vec<StateName>,
        /// The most similar phase, if one is similar enough.
        suggestion: Option<StateName>,
    },
    /// No transition leads to the phase.
    #[error("the run cannot go from `{from}` to `{to}`")]
    InvalidTransition {
        /// The current phase.
        from: StateName,
        /// The requested phase.
        to: StateName,
        /// The phases that can follow.
        choices: Vec<StateName>,
    },
    /// The last phase has no next one.
    #[error("`{phase}` is the last phase; there is no next one")]
    NoNextPhase {
        /// The last phase.
        phase: StateName,
    },
    /// No definition says which phase is next.
    #[error("no definition says what follows `{phase}`")]
    NextUnknown {
        /// The current phase.
        phase: StateName,
    },
    /// Several phases can follow.
    #[error("`{phase}` has several next phases")]
    AmbiguousNext {
        /// The current phase.
        phase: StateName,
        /// The phases that can follow.
        choices: Vec<StateName>,
    },
    /// A blocked run cannot change its phase.
    #[error("the run is blocked and stays in `{phase}`")]
    BlockedRun {
        /// The current phase.
        phase: StateName,
        /// Why it is blocked.
        reason: Option<String>,
    },
    /// A blocked run cannot be completed.
    #[error("the run is blocked, so it cannot be completed")]
    Blocked {
        /// Why it is blocked.
        reason: Option<String>,
    },
    /// The run has no completed activity (a rule of FlowRun).
    #[error("no activity is completed, so there is nothing to complete")]
    NothingRecorded,
    /// Only units and sub-agents report, and some of them are not done.
    #[error("these are not done: {}", units.join(", "))]
    UnitsOpen {
        /// The units and sub-agents with their states.
        units: Vec<String>,
    },
    /// The work of phases that the run would leave or complete is not done.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotDone(Vec<Undone>),
    /// Phases that the run would leave or complete require commands that were not seen to pass.
    #[error("{}", .missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotProved {
        /// The commands, each with its phase.
        missing: Vec<MissingProof>,
        /// Whether the files were compared with those on which the commands had passed.
        looked: bool,
    },
    /// An interview goes on, and only its document ends it well.
    #[error("`{id}` is the interview about {document}, which is not finished")]
    InterviewOpen {
        /// The id of its activity.
        id: String,
        /// The document, as a path in the project, or as the caller can name it.
        document: String,
    },
    /// A phase has an open question, so its work is not done.
    #[error("`{}` is not done: it waits for an answer to: {}", .0.question.step, .0.question.prompt)]
    Unanswered(Box<UnansweredQuestion>),
    /// Only a person lets the run go on from these gates.
    #[error("{}", needs_approval(.phases, *.turn))]
    NeedsApproval {
        /// The gates.
        phases: Vec<StateName>,
        /// When the person can decide.
        turn: GateTurn,
    },
    /// No gate of the run waits for a person.
    #[error("nothing waits for a person's decision{}", in_phase(.phase.as_ref()))]
    NothingToApprove {
        /// The gate in which the run is, if it is in one.
        phase: Option<StateName>,
    },
    /// The run is not where its workflow ends.
    #[error("the run {}, and its workflow ends in {}", .phase.as_ref().map_or("has not entered a phase".to_owned(), |phase| format!("is in `{phase}`")), names(.last))]
    NotAtEnd {
        /// Where the run is; none if it has not entered a phase.
        phase: Option<StateName>,
        /// Where it can end.
        last: Vec<StateName>,
    },
    /// A record cannot settle this id.
    #[error("no activity `{id}` of `{phase}` is failed or blocked, so there is nothing to settle")]
    NothingToSettle {
        /// The id that was to be settled.
        id: String,
        /// The phase of the record.
        phase: StateName,
    },
    /// Only work that is done settles other work.
    #[error("a record with the status {status} settles nothing")]
    SettlesUndone {
        /// The status that the record was to have.
        status: ActivityStatus,
    },
    /// The outcome of running work is unknown.
    #[error("the outcome of {} is not recorded", ids.join(", "))]
    InDoubt {
        /// The activities that began.
        ids: Vec<String>,
    },
    /// The run is not blocked, so it cannot be unblocked.
    #[error("the run is {status}, not blocked")]
    NotBlocked {
        /// How the run stands instead.
        status: RunStatus,
    },
    /// The command requires a reason.
    #[error("a reason is needed")]
    ReasonMissing,
    /// The reason for leaving work undone is blank.
    #[error("the reason to go on without it is empty")]
    SkipReasonEmpty,
    /// Another session holds the run.
    #[error("session {session} holds the run{}", .shown_by.as_ref().map_or_else(String::new, |sign| format!(", and {sign} shows another agent")))]
    Held {
        /// The session that holds it.
        session: SessionId,
        /// What shows that the caller is an agent.
        shown_by: Option<String>,
    },
    /// Another session holds the run, so other callers may report only on its units.
    #[error("session {session} holds the run")]
    HeldFromReports {
        /// The session that holds it.
        session: SessionId,
    },
    /// The caller held the run under an earlier epoch.
    #[error("epoch {given} is over; the run is in epoch {current}")]
    StaleEpoch {
        /// The caller's epoch.
        given: u64,
        /// The run's epoch.
        current: u64,
    },
    /// The caller names an epoch that the run has not come to.
    #[error("the run was never in epoch {given}; it is in epoch {current}")]
    NoSuchEpoch {
        /// The caller's epoch.
        given: u64,
        /// The run's epoch.
        current: u64,
    },
    /// The activity belongs to another run or workflow.
    #[error("the activity says that it belongs to {what} {found}, not {expected}")]
    Mismatch {
        /// `run` or `workflow`.
        what: &'static str,
        /// This run's.
        expected: String,
        /// The activity's.
        found: String,
    },
    /// The operation id was used for another record.
    #[error("the id `{id}` is taken: {number} is recorded as {status} with other content")]
    IdReused {
        /// The id that the caller gave.
        id: String,
        /// The number of that record.
        number: Number,
        /// The status of that record.
        status: ActivityStatus,
    },
    /// The exit code says the opposite of the status, and nothing says why.
    #[error("the status is {status}, and the exit code {exit_code} says the opposite")]
    ExitCode {
        /// The status that the caller gave.
        status: ActivityStatus,
        /// The exit code that the caller gave.
        exit_code: i64,
    },
    /// A report does not fit.
    #[error(transparent)]
    Report(#[from] ReportRefusal),
    /// Something happened since the caller looked at the run.
    #[error("{}", moved_on(.seen, *.last))]
    MovedOn {
        /// How far the caller saw it; with an edit only if the run does not have that.
        seen: LastSeen,
        /// The last event.
        last: Seq,
    },
    /// The operation id was used for something else.
    #[error("the id `{id}` is taken: event {seq} carries it with other content")]
    KeyReused {
        /// The id that the caller gave.
        id: String,
        /// The position of the event that has the id.
        seq: Seq,
    },
}

/// Why a report does not fit a run.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ReportRefusal {
    /// The step is not in the workflow.
    #[error("{}", .0.unknown())]
    UnknownStep(Box<StepFault>),
    /// The step is not one in which a run can begin.
    #[error("{}", .0.no_beginning())]
    CannotStart(Box<StepFault>),
    /// No transition leads to the step.
    #[error("{}", .0.no_way())]
    InvalidStep(Box<StepFault>),
    /// There is no open question to answer.
    #[error("no question is open{}, so there is nothing to answer", in_phase(.step.as_ref()))]
    NoQuestion {
        /// The step of the answer; `None` if it names none.
        step: Option<StateName>,
    },
    /// Several questions are open, and the answer fits more than one.
    #[error("{} questions are open: {}", .0.len(), .0.join(", "))]
    WhichQuestion(Vec<String>),
    /// The answer belongs into the document of an interview.
    #[error("`{}` asks for an interview; the answer belongs into {}", .0.question.step, .0.document)]
    AnsweredElsewhere(Box<Elsewhere>),
    /// The run is in no step, so a question has to name one.
    #[error("a question needs --step, since the run is in no step yet")]
    Nowhere,
    /// The reports are for another workflow.
    #[error("the run follows the workflow {follows}, not {named}")]
    OtherWorkflow {
        /// The run's workflow.
        follows: WorkflowId,
        /// The workflow in the reports.
        named: String,
    },
}

impl Refusal {
    /// The path of the document of an interview that it names.
    pub(crate) fn document_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::InterviewOpen { document, .. } => Some(document),
            Self::Report(ReportRefusal::AnsweredElsewhere(elsewhere)) => Some(&mut elsewhere.document),
            _ => None,
        }
    }

    /// The same of a run that this would have begun: no other command can go around it.
    #[must_use]
    pub(crate) fn of_new_run(mut self) -> Self {
        if let Self::NotDone(undone) = &mut self {
            undone.iter_mut().for_each(|one| one.way_around = WayAround::Begin);
        }
        for one in self.unproved_mut() {
            one.way_around = WayAround::Begin;
            let how = format!(
                "report only up to `{}` first, which begins the run; then `{}` can be run",
                one.phase, one.exec
            );
            one.obstacle = Some(Obstacle::NoRun(how));
        }
        self
    }

    /// What it names as not seen to pass.
    pub(crate) fn unproved_mut(&mut self) -> &mut [MissingProof] {
        match self {
            Self::NotProved { missing, .. } => missing,
            _ => &mut [],
        }
    }

    pub(super) fn of_interview(begun: &BegunInterview<'_>) -> Self {
        Self::InterviewOpen { id: begun.attempt.id.clone(), document: begun.document.to_owned() }
    }

    /// Of a phase that the workflow does not have.
    pub(super) fn unknown_phase(machine: &Machine, phase: &StateName) -> Self {
        let (known, suggestion) = instead_of(phase, machine);
        Self::UnknownPhase { phase: phase.clone(), known, suggestion }
    }

    /// Of a document that says it belongs elsewhere.
    pub(super) fn mismatch(what: &'static str, expected: &str, found: &str) -> Self {
        Self::Mismatch { what, expected: expected.to_owned(), found: found.to_owned() }
    }

    /// Whether another definition of the workflow could allow the command.
    #[must_use]
    pub fn rests_on_workflow(&self) -> bool {
        matches!(
            self,
            Self::UnknownPhase { .. }
                | Self::NotBegun { .. }
                | Self::InvalidTransition { .. }
                | Self::NoNextPhase { .. }
                | Self::AmbiguousNext { .. }
                | Self::Report(
                    ReportRefusal::UnknownStep(_) | ReportRefusal::CannotStart(_) | ReportRefusal::InvalidStep(_)
                )
        )
    }
}

/// Refuses a blank reason for leaving work undone.
///
/// # Errors
/// [`Refusal::SkipReasonEmpty`].
pub(super) fn refuse_empty(reason: Option<&str>) -> Result<(), Refusal> {
    match reason {
        Some(reason) if reason.trim().is_empty() => Err(Refusal::SkipReasonEmpty),
        _ => Ok(()),
    }
}

/// The reason that a command requires.
///
/// # Errors
/// [`Refusal::ReasonMissing`].
pub(super) fn needed(reason: Option<String>) -> Result<String, Refusal> {
    match reason {
        Some(reason) if !reason.trim().is_empty() => Ok(reason),
        _ => Err(Refusal::ReasonMissing),
    }
}

/// The phases that a refusal names as those of the workflow.
pub(super) fn phases_of(machine: &Machine) -> Vec<StateName> {
    machine.states().iter().map(|state| state.name.clone()).collect()
}

/// What a refusal names instead of an unknown phase: those of the workflow, and the most similar one.
pub(super) fn instead_of(phase: &StateName, machine: &Machine) -> (Vec<StateName>, Option<StateName>) {
    (phases_of(machine), machine.suggest(phase.as_str()).cloned())
}

pub(super) fn needs_approval(phases: &[StateName], turn: GateTurn) -> String {
    match (turn, phases) {
        (GateTurn::Later, _) => format!("a person has to decide in {} before the run can end", names(phases)),
        (GateTurn::AfterWork, _) => {
            format!("a person has to decide in {}, and the work there is not done yet", names(phases))
        }
        (GateTurn::Passed, [phase]) => format!("`{phase}` was passed without a person's decision"),
        (GateTurn::Passed, _) => format!("{} were passed without a person's decision", names(phases)),
        (GateTurn::Dropped, [phase]) => {
            format!("the definition that the run follows now dropped the gate `{phase}`")
        }
        (_, [phase]) => format!("`{phase}` waits for a person's decision"),
        _ => format!("{} wait for a person's decision", names(phases)),
    }
}

fn names(phases: &[StateName]) -> String {
    phases.iter().map(|phase| format!("`{phase}`")).collect::<Vec<_>>().join(", ")
}

fn moved_on(seen: &LastSeen, last: Seq) -> String {
    if seen.event > last {
        return format!("it has no event {}: its last one is {last}", seen.event);
    }
    format!("it moved on: it was seen up to event {}{}, and is at event {last} now", seen.event, without_edit(seen))
}

fn without_edit(seen: &LastSeen) -> &'static str {
    if seen.has_edit() { " with an edit of run.yaml that was changed or taken back since" } else { "" }
}

fn in_phase(phase: Option<&StateName>) -> String {
    match phase {
        Some(phase) => format!(" in `{phase}`"),
        None => String::new(),
    }
}

/// A phase whose work is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The phase that the run would leave or complete.
    pub phase: StateName,
    /// The status of its work.
    pub status: StepStatus,
    /// The latest record in it: its number, `None` if the record is refused, and its id.
    pub latest: Option<(Option<Number>, String)>,
    /// Whether that record is of a command that flow ran and saw fail.
    pub failed_command: bool,
    /// The status of that record, if the phase is reported as something else.
    pub recorded: Option<ActivityStatus>,
    /// The other attempts that did not pass and were not skipped: number and id.
    pub others: Vec<String>,
    /// Whether a person removed that record from `completed_activities`.
    pub withdrawn: bool,
    /// The phases to which the run can go back from it for another round.
    pub back: Vec<StateName>,
    /// How the run goes on without it.
    pub way_around: WayAround,
}

impl Undone {
    /// Describes the phase with this work; how the run goes on without it is added by [`Self::before`] and [`Self::at_end`].
    #[must_use]
    pub fn new(machine: Option<&Machine>, phase: &StateName, work: &PhaseWork<'_>) -> Self {
        // The last open attempt is the latest one, which is named apart.
        let recorded = work.latest.map(|latest| latest.status);
        let others = &work.open[..work.open.len().saturating_sub(1)];
        Self {
            phase: phase.clone(),
            status: work.status,
            latest: work.latest.map(|latest| (Some(latest.number), latest.id.clone())),
            failed_command: work.latest.is_some_and(|latest| {
                latest.status == ActivityStatus::Failed && (latest.exec.is_some() || latest.replay.is_some())
            }),
            recorded: recorded.filter(|recorded| work.reported && StepStatus::from(*recorded) != work.status),
            others: others.iter().map(|open| format!("{} {}", open.number, open.id)).collect(),
            withdrawn: work.withdrawn,
            back: machine.map(|machine| machine.back_from(phase)).unwrap_or_default(),
            way_around: WayAround::None,
        }
    }

    /// The same where the run is to go on to `to`: a gate it leaves only as a person decides.
    pub(super) fn before(self, to: &StateName, machine: Option<&Machine>) -> Self {
        if machine.is_some_and(|machine| machine.gates().contains(&self.phase)) {
            return self;
        }
        Self { way_around: WayAround::Enter(to.clone()), ..self }
    }

    /// The same where the run is to be completed.
    pub(super) fn at_end(self) -> Self {
        Self { way_around: WayAround::Complete, ..self }
    }

    /// The number of the latest record in it.
    #[must_use]
    pub fn latest_number(&self) -> Option<Number> {
        self.latest.as_ref()?.0
    }

    /// The state of the work that its latest record is about.
    #[must_use]
    pub fn status_of_work(&self) -> StepStatus {
        self.recorded.map_or(self.status, StepStatus::from)
    }

    /// Describes the phase of a record that is refused and so has no number.
    pub(super) fn of_record(machine: Option<&Machine>, phase: &StateName, id: &str, status: ActivityStatus) -> Self {
        let back = machine.map(|machine| machine.back_from(phase)).unwrap_or_default();
        let latest = Some((None, id.to_owned()));
        let way_around = WayAround::None;
        let (phase, status) = (phase.clone(), status.into());
        Self {
            phase,
            status,
            latest,
            failed_command: false,
            recorded: None,
            others: Vec::new(),
            withdrawn: false,
            back,
            way_around,
        }
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
        let record = match number {
            Some(number) => format!("{number} {id}"),
            None => id.clone(),
        };
        match self.status {
            // Its own status would say that it ended well.
            _ if self.withdrawn => write!(f, "{record} is not in completed_activities"),
            status if let Some(recorded) = self.recorded => {
                write!(f, "it is reported as {status}, and {record} is recorded as {recorded}")
            }
            StepStatus::Running => write!(f, "the outcome of {record} is not recorded"),
            StepStatus::Failed => write!(f, "{record} failed"),
            StepStatus::Waiting => write!(f, "{record} is blocked"),
            StepStatus::NotStarted => write!(f, "{record} is pending"),
            status => write!(f, "{record} is {status}"),
        }?;
        match self.others.as_slice() {
            [] => Ok(()),
            others => write!(f, " (also not settled: {})", others.join(", ")),
        }
    }
}

/// A question that has to be answered before the run can leave its phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredQuestion {
    /// The question that waits.
    pub question: Question,
    /// The workflow of the run, which commands about the answer need.
    pub workflow: WorkflowId,
    /// Whether the answer belongs into a document, from which the run learns it.
    pub in_document: bool,
}

/// A question whose answer belongs into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The question that was to be answered.
    pub question: Question,
    /// The document, as a path in the project, or as the caller can name it.
    pub document: String,
    /// The number of the question in the document; `None` if nothing more is asked, or an earlier version asked.
    pub number: Option<u32>,
}

/// Why a step cannot be reported. The messages are rp1's.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFault {
    /// The step that was to be reported.
    pub step: StateName,
    /// The workflow of the run.
    pub workflow: WorkflowId,
    /// The possible states: all of them, or those in which a run can begin.
    pub known: Vec<StateName>,
    /// The current state, and the states that can follow it.
    pub current: Option<(StateName, Vec<StateName>)>,
    /// The most similar state, if one is similar enough.
    pub suggestion: Option<StateName>,
    /// Whether the run has ended.
    pub over: bool,
}

impl StepFault {
    fn unknown(&self) -> String {
        let Self { step, workflow, known, .. } = self;
        let (known, position) = (state_names(known), self.position());
        format!(
            "step \"{step}\" is not a valid state in the \"{workflow}\" state machine. Valid states: [{known}].{position}"
        )
    }

    fn no_beginning(&self) -> String {
        let Self { step, workflow, known, .. } = self;
        format!(
            "step \"{step}\" cannot start the \"{workflow}\" state machine. Initial states: [{}].",
            state_names(known)
        )
    }

    fn no_way(&self) -> String {
        let Self { step, workflow, .. } = self;
        format!("step \"{step}\" is not a valid transition in the \"{workflow}\" state machine.{}", self.position())
    }

    fn position(&self) -> String {
        let Some((current, choices)) = &self.current else { return String::new() };
        format!(" Current state: \"{current}\". Valid transitions from \"{current}\": [{}].", state_names(choices))
    }
}

/// The names of states, for a sentence.
pub(crate) fn state_names(names: &[StateName]) -> String {
    names.iter().map(StateName::as_str).collect::<Vec<_>>().join(", ")
}
