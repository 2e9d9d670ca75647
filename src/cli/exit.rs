//! Exit statuses, fixed by the design (section 7) and documented in `docs/errors.md`.

use std::process::ExitCode;

use crate::engine::Verdict;
use crate::model::Kind;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Refused by a rule, or a document is invalid.
    Refused,
    /// The command line is wrong.
    Usage,
    /// Something was not found.
    NotFound,
    /// A person is needed.
    NeedsHuman,
    /// Another session or process holds the run, or there was a conflict: retry.
    Held,
    /// Data is damaged.
    Damaged,
    /// Input or output failed, or could not be confirmed.
    Io,
    /// An unsafe path was refused.
    Unsafe,
    /// What the command ended with that was run.
    Command(i32),
}

impl Exit {
    /// The number that the system gets.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::NeedsHuman => 4,
            Self::Held => 5,
            Self::Damaged => 65,
            Self::Io => 74,
            Self::Unsafe => 77,
            // A status has eight bits.
            Self::Command(status) => u8::try_from(status & 0xff).unwrap_or(u8::MAX),
        }
    }

    /// `status` behind an answer that was written. One that could not be written counts more than what is in it.
    pub(super) fn then(self, status: Self) -> Self {
        if self == Self::Done { status } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Refused => Self::Refused,
            Kind::Usage => Self::Usage,
            Kind::NotFound => Self::NotFound,
            Kind::NeedsHuman => Self::NeedsHuman,
            Kind::Held => Self::Held,
            Kind::Damaged => Self::Damaged,
            Kind::Io => Self::Io,
            Kind::Unsafe => Self::Unsafe,
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Continue | Verdict::Reconcile | Verdict::Done => Self::Done,
            Verdict::NeedsHuman | Verdict::Drifted | Verdict::Rewound => Self::NeedsHuman,
            Verdict::Held => Self::Held,
            Verdict::Corrupt | Verdict::Conflict | Verdict::Unreadable => Self::Damaged,
            Verdict::None => Self::NotFound,
        }
    }
}
