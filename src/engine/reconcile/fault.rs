//! What can be wrong between a `run.yaml` and its log.

use crate::codec::{Place, RunTextError, Skipped, Violation};
use crate::engine::EditFault;
use crate::model::{LostRange, Seq};

/// Something wrong with a run's files, or something that keeps them from being used.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `run.yaml` is there and could not be read at all.
    Unread,
    /// `run.yaml`, or the one that the log demands, is not a run document.
    Unreadable(RunTextError),
    /// `run.yaml` has the conflict markers of a merge.
    ConflictMarkers {
        /// The line of the first.
        line: usize,
    },
    /// There is neither a `run.yaml` nor a log that could rebuild it.
    Empty,
    /// The log ends before an event that a writer of this checkout wrote: an older version of the run was put back.
    Rewound {
        /// Where the log ends.
        last: Seq,
        /// How far the writer got.
        noted: Seq,
    },
    /// A merge joined two histories in the log. What shows it, in words.
    Joined(String),
    /// What is new in `run.yaml` breaks the schema.
    Schema(Vec<Violation>),
    /// Another program made the run, and its `run.yaml` breaks the schema, so that it cannot be taken over.
    ForeignSchema(Vec<Violation>),
    /// A person's change that cannot be adopted.
    Edit {
        /// Why.
        fault: EditFault,
        /// Where it is in the text.
        place: Option<Place>,
    },
    /// `run.yaml` is written in a way that nothing can be put into it safely.
    Fixed(RunTextError),
    /// A line of the log that is not an event.
    Line(Skipped),
    /// Events that are missing before later ones.
    Gap(LostRange),
    /// Events that `run.yaml` shows and that are missing behind the log's last one.
    EndLost(LostRange),
    /// Two different events have this position.
    Double(Seq),
}

impl Fault {
    /// The event that `run.yaml` shows when it is behind the log's last one.
    #[must_use]
    pub fn beyond_the_log(&self) -> Option<Seq> {
        match self {
            Self::EndLost(lost) => Some(lost.to),
            _ => None,
        }
    }

    /// Faults of which more depends come first.
    pub(super) fn precedence(&self) -> u8 {
        match self {
            Self::Unread | Self::Unreadable(_) | Self::ConflictMarkers { .. } | Self::Empty => 0,
            Self::Edit { fault: EditFault::Id { .. }, .. } => 0,
            Self::Rewound { .. } => 1,
            Self::Joined(_) => 2,
            Self::Schema(_) | Self::ForeignSchema(_) | Self::Edit { .. } | Self::Fixed(_) => 3,
            Self::Line(_) => 4,
            Self::Gap(_) => 5,
            Self::Double(_) => 6,
            Self::EndLost(_) => 7,
        }
    }

    /// Whether readers have nothing to show because of it.
    #[must_use]
    pub fn forbids_reading(&self) -> bool {
        match self {
            Self::Unread
            | Self::Unreadable(_)
            | Self::ConflictMarkers { .. }
            | Self::Empty
            | Self::Schema(_)
            | Self::Edit { .. } => true,
            Self::Rewound { .. }
            | Self::Joined(_)
            | Self::ForeignSchema(_)
            | Self::Fixed(_)
            | Self::Line(_)
            | Self::Gap(_)
            | Self::EndLost(_)
            | Self::Double(_) => false,
        }
    }

    /// Whether nothing may be written because of it. Events that are lost do not come back by waiting, so writers go on.
    #[must_use]
    pub fn forbids_writing(&self) -> bool {
        match self {
            Self::Rewound { .. } | Self::Joined(_) | Self::ForeignSchema(_) | Self::Fixed(_) => true,
            Self::Line(_) | Self::Gap(_) | Self::EndLost(_) | Self::Double(_) => false,
            _ => self.forbids_reading(),
        }
    }
}
