//! What callers can ask of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::model::{Activity, EventKind, Number, SessionId, StateName, TextDigest};

/// Something to do with a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Record a piece of work.
    Record(Box<Record>),
    /// Wait for a person.
    Block {
        /// Why; needed.
        reason: Option<String>,
    },
    /// Go on after a block.
    Unblock {
        /// What was resolved.
        reason: Option<String>,
    },
    /// End well.
    Complete {
        /// A closing remark.
        reason: Option<String>,
        /// Why phases whose work is not done may be completed with the run.
        skip: Option<String>,
    },
    /// Go on with a run that is over.
    Reopen {
        /// Why; needed.
        reason: Option<String>,
    },
    /// End badly.
    Fail {
        /// Why; needed.
        reason: Option<String>,
    },
    /// Give up.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// The caller's session ends, the run does not.
    EndSession {
        /// What the host said about why.
        reason: Option<String>,
    },
    /// Hold the run.
    Claim(Claim),
    /// Follow another definition of its workflow.
    AdoptWorkflow(Box<Machine>),
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Caller {
    /// The session, when the caller names one.
    pub session: Option<SessionId>,
    /// The epoch that the caller was given with its claim.
    pub epoch: Option<u64>,
    /// Whether the process that holds the run is known to be gone.
    pub holder_dead: bool,
}

/// A piece of work to record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What was done. Without `metadata.phase` it belongs to the current phase.
    pub activity: Activity,
    /// Whether the run moves on afterwards.
    pub advance: Option<Advance>,
    /// Why the run may leave a phase whose work is not done.
    pub skip: Option<String>,
    /// Digest of what the caller gave, when it gave an operation id.
    pub request: Option<TextDigest>,
    /// The number it gets.
    pub number: Number,
}

/// Moving on after a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advance {
    /// To the only next phase.
    Next,
    /// To this one.
    To(StateName),
}

/// Taking a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Evidence by which the new holder can be known dead later.
    pub holder: Option<String>,
    /// Even when a live session holds it.
    pub take_over: bool,
}

/// What a command comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It happens: this event is to be committed.
    Commit(EventKind),
    /// It is so already; nothing is written.
    Already,
}
