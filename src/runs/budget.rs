//! How much may be read before an answer is due: a host waits for its hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a reader of many runs may spend. It asks between runs.
#[derive(Debug, Clone, Default)]
pub enum Budget {
    /// Everything is read.
    #[default]
    Whole,
    /// Reading ends at this time.
    Until(Instant),
    /// Reading ends when this was asked so often; for tests, which measure no times.
    Times(Arc<AtomicUsize>),
}

impl Budget {
    /// What can be read in this time from now on.
    #[must_use]
    pub fn lasting(time: Duration) -> Self {
        Self::Until(Instant::now() + time)
    }

    /// What can be read until it was asked so often.
    #[must_use]
    pub fn of_times(times: usize) -> Self {
        Self::Times(Arc::new(AtomicUsize::new(times)))
    }

    /// Whether everything is read.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// Whether nothing more may be begun.
    pub(crate) fn is_spent(&self) -> bool {
        match self {
            Self::Whole => false,
            Self::Until(end) => Instant::now() >= *end,
            // At zero it stays there, so it is spent from then on.
            Self::Times(left) => {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
            }
        }
    }
}
