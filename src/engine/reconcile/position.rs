//! How the position in a `run.yaml` compares with its log.

use crate::model::Seq;

/// The position that a `run.yaml` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownPosition {
    /// The position of an event in the log.
    Event(Seq),
    /// A position after the log's end: events were lost.
    Beyond(Seq),
    /// A person removed or changed it.
    ByHand,
    /// None, and the log is empty: another program made the run, and flow has not written it yet.
    Foreign,
}

impl ShownPosition {
    /// `last` is the log's last position, and `noted` the highest one that writers of this checkout noted.
    pub(super) fn of(shown: Option<Seq>, last: Seq, noted: Seq) -> Self {
        match shown {
            None if last == Seq(0) => Self::Foreign,
            None => Self::ByHand,
            Some(shown) if shown <= last => Self::Event(shown),
            // No writer has reached this position, so a person typed it.
            Some(_) if last > Seq(0) && noted == last => Self::ByHand,
            Some(shown) => Self::Beyond(shown),
        }
    }
}
