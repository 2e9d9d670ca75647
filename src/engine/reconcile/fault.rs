//! Problems with a run's `run.yaml` or log.

use crate::codec::{FaultyLine, Place, RunTextError, Violation};
use crate::engine::EditFault;
use crate::model::{LostRange, RunId, Seq};

/// A problem with a run's files.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `run.yaml` exists but could not be read.
    Unread,
    /// `run.yaml`, or the one that follows from the log, is not a run document.
    Unreadable(RunTextError),
    /// `run.yaml` has the conflict markers of a merge.
    ConflictMarkers {
        /// The line of the first marker.
        line: usize,
    },
    /// `run.yaml` is missing, and no log can rebuild it.
    Empty,
    /// The log is that of this other run: a person copied or renamed the directory.
    OtherRun(RunId),
    /// The log ends before an event that this checkout wrote: an older version of the run was put back.
    Rewound {
        /// The log's last position.
        last: Seq,
        /// The highest position that a writer noted.
        noted: Seq,
    },
    /// A merge joined two histories in the log. A description of how that shows.
    Joined(String),
    /// `run.yaml` violates the schema, so an edit of it, or a run that another program made, cannot be adopted.
    Schema(Vec<Violation>),
    /// A person's edit cannot be adopted.
    Edit {
        /// Why.
        fault: EditFault,
        /// The place in the text.
        place: Option<Place>,
    },
    /// `run.yaml` is written in a way that flow cannot change safely.
    Fixed(RunTextError),
    /// A line of the log is damaged.
    Line(FaultyLine),
    /// Events are missing before later ones.
    Gap(LostRange),
    /// Events that `run.yaml` shows are missing after the log's last one.
    EndLost(LostRange),
    /// Two different events have this position.
    Double(Seq),
}

impl Fault {
    /// The position that `run.yaml` shows, if it is after the log's last one.
    #[must_use]
    pub fn beyond_the_log(&self) -> Option<Seq> {
        match self {
            Self::EndLost(lost) => Some(lost.to),
            _ => None,
        }
    }

    /// Sorts faults: those that affect more come first.
    pub(super) fn precedence(&self) -> u8 {
        match self {
            Self::Unread | Self::Unreadable(_) | Self::ConflictMarkers { .. } | Self::Empty | Self::OtherRun(_) => 0,
            Self::Edit { fault: EditFault::Id { .. }, .. } => 0,
            Self::Rewound { .. } => 1,
            Self::Joined(_) => 2,
            Self::Schema(_) | Self::Edit { .. } | Self::Fixed(_) => 3,
            Self::Line(_) => 4,
            Self::Gap(_) => 5,
            Self::Double(_) => 6,
            Self::EndLost(_) => 7,
        }
    }

    /// Whether the fault prevents readers from showing the run.
    #[must_use]
    pub fn forbids_reading(&self) -> bool {
        match self {
            Self::Unread
            | Self::Unreadable(_)
            | Self::ConflictMarkers { .. }
            | Self::Empty
            | Self::OtherRun(_)
            | Self::Schema(_)
            | Self::Edit { .. } => true,
            Self::Rewound { .. }
            | Self::Joined(_)
            | Self::Fixed(_)
            | Self::Line(_)
            | Self::Gap(_)
            | Self::EndLost(_)
            | Self::Double(_) => false,
        }
    }

    /// Whether the fault prevents writing. Lost events do not: they would not come back by waiting.
    #[must_use]
    pub fn forbids_writing(&self) -> bool {
        match self {
            Self::Rewound { .. } | Self::Joined(_) | Self::Fixed(_) => true,
            Self::Line(_) | Self::Gap(_) | Self::EndLost(_) | Self::Double(_) => false,
            _ => self.forbids_reading(),
        }
    }
}
