//! The current time.
#![expect(clippy::disallowed_methods, reason = "this is where the time comes from")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{TimeDelta, Utc};
use thiserror::Error;

use crate::model::Timestamp;

/// The variable that stops the clock in tests.
const NOW: &str = "__FLOW_NOW";

/// The source of the current time.
#[derive(Debug, Clone)]
pub struct Clock {
    fixed: Option<FixedClock>,
}

#[derive(Debug, Clone)]
struct FixedClock {
    start: Timestamp,
    calls: Arc<AtomicU64>,
}

/// `__FLOW_NOW` is set but is not a time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{NOW} is {text:?}, not a time as in RFC 3339")]
pub struct BadNow {
    /// The value of the variable.
    pub text: String,
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn real() -> Self {
        Self { fixed: None }
    }

    /// A clock that returns `start`, and one second more with each further call.
    #[must_use]
    pub fn fixed(start: Timestamp) -> Self {
        Self { fixed: Some(FixedClock { start, calls: Arc::new(AtomicU64::new(0)) }) }
    }

    /// The machine's clock, or a fixed one if `__FLOW_NOW` is set.
    ///
    /// # Errors
    /// [`BadNow`] if the variable is not a time.
    pub fn from_env() -> Result<Self, BadNow> {
        Self::from_text(std::env::var_os(NOW).map(|text| text.to_string_lossy().into_owned()))
    }

    fn from_text(text: Option<String>) -> Result<Self, BadNow> {
        match text {
            None => Ok(Self::real()),
            Some(text) => match text.parse() {
                Ok(start) => Ok(Self::fixed(start)),
                Err(_) => Err(BadNow { text }),
            },
        }
    }

    /// Whether the time is that of a test.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let Some(FixedClock { start, calls }) = &self.fixed else { return Timestamp::new(Utc::now()) };
        let calls = i64::try_from(calls.fetch_add(1, Ordering::Relaxed)).unwrap_or(0);
        let passed = TimeDelta::try_seconds(calls).unwrap_or_default();
        start.as_datetime().checked_add_signed(passed).map_or(*start, Timestamp::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_advances_one_second_a_call() {
        let clock = Clock::from_text(Some("2026-05-20T16:30:59+02:00".to_owned())).unwrap();
        assert_eq!(clock.now().to_string(), "2026-05-20T14:30:59.000Z");
        assert_eq!(clock.now().to_string(), "2026-05-20T14:31:00.000Z");
    }

    #[test]
    fn a_test_hook_that_is_no_time_is_said() {
        let error = Clock::from_text(Some("noon".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "__FLOW_NOW is \"noon\", not a time as in RFC 3339");
    }

    #[test]
    fn the_real_clock_does_not_stand_still_in_the_past() {
        let clock = Clock::from_text(None).unwrap();
        assert!(clock.now() > "2026-01-01T00:00:00Z".parse().unwrap());
    }
}
