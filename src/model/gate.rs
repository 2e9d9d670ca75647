//! Gates: phases that only a person lets a run leave.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::named::named;
use crate::model::{Seq, StateName};

/// A gate of a run's workflow, and how it stands in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The phase.
    pub phase: StateName,
    /// How it stands.
    pub status: GateStatus,
}

named! {
    /// How a gate stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum GateStatus {
        /// Nothing is decided, and the run is not past it.
        Closed = "closed",
        /// A person approved; the run may leave the phase.
        Approved = "approved",
        /// A person rejected what was done.
        Rejected = "rejected",
        /// Nothing is decided, and the run was moved without its transitions, by an edit or a repair: it may be past the
        /// gate.
        Unproved = "unproved",
        /// The run left the phase without a decision.
        PassedOver = "passed_over",
        /// The run follows a definition without this gate, and no person agreed to that.
        Dropped = "dropped",
    }
}

impl GateStatus {
    /// Whether the run may be past the gate without a decision.
    #[must_use]
    pub fn is_doubtful(self) -> bool {
        matches!(self, Self::Unproved | Self::PassedOver | Self::Dropped)
    }
}

/// A person's decision at a gate. The status of its activity says which: passed or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The user who decided, as the system calls them.
    pub by: String,
    /// Where.
    pub how: DecidedAt,
    /// The last event that the person had seen.
    pub seen: Seq,
}

/// Where a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedAt {
    /// At a terminal, with `flow approve` or `flow reject`.
    Terminal,
    /// On a page of `flow serve --allow-actions`.
    Page,
}

impl fmt::Display for DecidedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminal => "at a terminal",
            Self::Page => "on a page",
        })
    }
}

/// The id of the activity that records a decision at a gate.
pub const APPROVAL: &str = "approval";

/// An activity that did not end well: its latest record failed or is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsettled {
    /// Its id.
    pub id: String,
    /// The phase of that record.
    pub phase: StateName,
    /// Whether it is blocked; otherwise it failed.
    pub blocked: bool,
}

impl fmt::Display for Unsettled {
    /// As in `run.yaml`: `failed in verify`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = if self.blocked { "blocked" } else { "failed" };
        write!(f, "{status} in {}", self.phase)
    }
}

impl Unsettled {
    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(id: &str, text: &str) -> Option<Self> {
        // No name of a phase has a blank.
        let (status, phase) = text.split_once(" in ")?;
        let blocked = match status {
            "blocked" => true,
            "failed" => false,
            _ => return None,
        };
        Some(Self { id: id.to_owned(), phase: StateName::new(phase).ok()?, blocked })
    }
}
