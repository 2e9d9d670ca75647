//! How things stand around the run: its workflow, its log, and who holds it.

use crate::engine::Lives;
use crate::machine::{Difference, Machine};
use crate::model::{MissingProof, StateName, Timestamp};

/// How the pinned workflow differs from today's definition.
#[derive(Debug, Clone, PartialEq)]
pub enum Drift {
    /// Not at all, or there is no definition to compare with.
    None,
    /// It changed elsewhere.
    Elsewhere(Vec<Difference>),
    /// It changed where the run is.
    AtPosition(Vec<Difference>),
}

impl Drift {
    /// Compares the pinned machine with the current one at the run's positions.
    #[must_use]
    pub fn between<'a>(
        pinned: &Machine,
        current: &Machine,
        positions: impl IntoIterator<Item = &'a StateName>,
    ) -> Self {
        let differences = pinned.changes(current);
        if differences.is_empty() {
            return Self::None;
        }
        for phase in positions {
            if what_follows(pinned, phase) != what_follows(current, phase) {
                return Self::AtPosition(differences);
            }
        }
        Self::Elsewhere(differences)
    }
}

/// What a definition says of where a run can go from `phase`.
fn what_follows(machine: &Machine, phase: &StateName) -> (bool, bool, Vec<StateName>) {
    // Transitions back to an earlier phase do not affect where the run can go next.
    let mut names = machine.ahead_of(phase);
    names.sort();
    (machine.contains(phase), machine.is_terminal(phase), names)
}

/// Whether another session holds the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldState {
    /// No.
    Free,
    /// Yes, and it is not known to be dead.
    HeldByOther,
    /// One did, and it is dead.
    HolderDead,
}

/// What the answer depends on besides the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook<'a> {
    /// The pinned workflow.
    pub machine: Option<&'a Machine>,
    /// How that differs from today's definition.
    pub drift: Drift,
    /// Why the log cannot be trusted; `None` if it verifies.
    pub damage: Option<Damage>,
    /// Whether another session holds the run.
    pub hold_state: HoldState,
    /// The current time.
    pub now: Timestamp,
    /// Which of the processes live that began work without a session.
    pub lives: Lives,
    /// What is missing of what phases require, if it was looked at the files; otherwise the log says what it can.
    pub unproved: Option<Vec<MissingProof>>,
}

/// Damage of the log that prevents continuing, with a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Sealed events are missing.
    Lost(String),
    /// A merge joined two histories.
    Joined(String),
    /// An older version was put back.
    Rewound(String),
    /// The store that machines share does not have the run as it is here.
    Apart(String),
}

impl Damage {
    /// What is wrong, a sentence without a full stop.
    #[must_use]
    pub fn what(&self) -> &str {
        match self {
            Self::Lost(what) | Self::Joined(what) | Self::Rewound(what) | Self::Apart(what) => what,
        }
    }
}
