//! Commands that a caller can give to a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::model::{
    Activity, ActivityId, Approval, EventKind, Execution, KeptEvidence, Number, SessionId, StateName, TextDigest,
    Timestamp,
};

/// A command to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Record a piece of work.
    Record(Box<Record>),
    /// Record a person's decision at a gate.
    Decide(Box<Decide>),
    /// Block the run until a person acts.
    Block {
        /// Why; required.
        reason: Option<String>,
    },
    /// Let a blocked run go on.
    Unblock {
        /// What was resolved.
        reason: Option<String>,
    },
    /// End the run, since its work is done.
    Complete {
        /// A closing remark.
        reason: Option<String>,
        /// Why phases whose work is not done may be completed with it.
        skip: Option<String>,
    },
    /// Reopen a run that has ended.
    Reopen {
        /// Why; required.
        reason: Option<String>,
    },
    /// End the run, since it cannot reach its goal.
    Fail {
        /// Why; required.
        reason: Option<String>,
    },
    /// End the run, since its goal is not wanted any longer.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// End the caller's session, but not the run.
    EndSession {
        /// The reason that the host gave.
        reason: Option<String>,
    },
    /// Hold the run, so that other sessions cannot write.
    Claim(Claim),
    /// Follow another definition of the run's workflow.
    AdoptWorkflow(Box<Machine>),
}

/// Who gives a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Caller {
    /// The session, if the caller has one.
    pub session: Option<SessionId>,
    /// The epoch that the caller got with its claim.
    pub epoch: Option<u64>,
    /// Whether the process that holds the run is known to be dead.
    pub holder_dead: bool,
    /// The variable or process that shows that the caller is an agent, if nothing else names its session.
    pub shown_by: Option<String>,
}

/// A piece of work to record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What was done. If `metadata.phase` is missing, it belongs to the current phase.
    pub activity: Activity,
    /// Whether and where the run moves after the record.
    pub advance: Option<Advance>,
    /// Why the run may leave a phase whose work is not done.
    pub skip: Option<String>,
    /// Ids of failed or blocked activities that the work settles.
    pub settles: Vec<ActivityId>,
    /// The files of the run's evidence that it refers to.
    pub evidence: Vec<KeptEvidence>,
    /// The command that the work was, if flow ran it.
    pub exec: Option<Box<Execution>>,
    /// The number of the record whose command flow ran once more, if the work was to compare that.
    pub replay: Option<Number>,
    /// Whether it is the word of an interview on itself.
    pub of_interview: bool,
    /// The digest of the caller's request, if it has an operation id.
    pub request: Option<TextDigest>,
    /// The record's number.
    pub number: Number,
}

impl Record {
    /// A record of `activity` and nothing else.
    #[must_use]
    pub fn new(activity: Activity, number: Number) -> Self {
        Self {
            activity,
            advance: None,
            skip: None,
            settles: Vec::new(),
            evidence: Vec::new(),
            exec: None,
            replay: None,
            of_interview: false,
            request: None,
            number,
        }
    }
}

/// A person's decision at the gate that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Decide {
    /// Whether the person approves.
    pub approves: bool,
    /// Why; required to reject.
    pub reason: Option<String>,
    /// Who decided, where, and what they had seen.
    pub approval: Approval,
    /// The digest of the caller's request, if it has an operation id.
    pub request: Option<TextDigest>,
    /// The number of its record.
    pub number: Number,
    /// The time of the decision.
    pub now: Timestamp,
}

/// Where to move after a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advance {
    /// To the only next phase.
    Next,
    /// To this one.
    To(StateName),
}

/// A claim of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Evidence from which others can later conclude that the new holder is dead.
    pub holder: Option<String>,
    /// Whether to take the run even from a live session.
    pub take_over: bool,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Append this event to the log: it is what the command does.
    Commit(EventKind),
    /// Nothing to do: the state is already as requested.
    Already,
}
