//! How far a `run.yaml` and its log go.

use crate::model::Seq;

/// Which event a `run.yaml` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// This one, up to which the log goes at least.
    Event(Seq),
    /// This one, which is lost: the log ends before it.
    Beyond(Seq),
    /// A person took away, or typed, what the file says of it.
    ByHand,
    /// None: another program made the run, and flow has not written it.
    Foreign,
}

impl Position {
    /// `noted` is how far the writers of this checkout got.
    pub(super) fn of(shown: Option<Seq>, last: Seq, noted: Seq) -> Self {
        match shown {
            None if last == Seq(0) => Self::Foreign,
            None => Self::ByHand,
            Some(shown) if shown <= last => Self::Event(shown),
            // No writer ever got that far.
            Some(_) if last > Seq(0) && noted == last => Self::ByHand,
            Some(shown) => Self::Beyond(shown),
        }
    }
}
