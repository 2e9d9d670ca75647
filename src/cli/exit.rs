//! Exit statuses, fixed by the design (section 7) and documented in `docs/errors.md`.

use std::process::ExitCode;

use crate::engine::Verdict;
use crate::model::Kind;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Refused by a rule, or a document is invalid.
    Refused = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Something was not found.
    NotFound = 3,
    /// A person is needed.
    NeedsHuman = 4,
    /// Another session or process holds the run, or there was a conflict: retry.
    Held = 5,
    /// Data is damaged.
    Damaged = 65,
    /// Input or output failed, or could not be confirmed.
    Io = 74,
    /// An unsafe path was refused.
    Unsafe = 77,
}

impl Exit {
    /// `status` behind an answer that was written. One that could not be written counts more than what is in it.
    pub(super) fn then(self, status: Self) -> Self {
        if self == Self::Done { status } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
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
