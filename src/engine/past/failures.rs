//! The work that flow saw fail, and of which something else is said later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::Attempt;
use crate::model::{ActivityStatus, Number};

/// Of how many activities it is kept that flow saw them fail.
const KEPT: usize = 100;

/// By activity ids, the records in which flow saw work fail that it has not seen pass since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct SeenFailures(BTreeMap<String, Number>);

impl SeenFailures {
    /// Those of all these records, which are sorted by number. Each gets the failure before it.
    pub(super) fn of(attempts: &mut [Attempt]) -> Self {
        let mut failures = Self::default();
        attempts.iter_mut().for_each(|attempt| failures.note(attempt));
        failures
    }

    /// Notes whether flow saw this work fail, which is the latest, or gives it the failure before it.
    pub(super) fn note(&mut self, attempt: &mut Attempt) {
        if attempt.is_seen() {
            self.0.remove(&attempt.id);
            if attempt.status == ActivityStatus::Failed {
                self.0.insert(attempt.id.clone(), attempt.number);
            }
            if self.0.len() > KEPT {
                let first = self.0.values().min().copied();
                self.0.retain(|_, number| Some(*number) != first);
            }
        }
        if attempt.is_said_alone() {
            attempt.seen_to_fail = attempt.seen_to_fail.or(self.0.get(&attempt.id).copied());
        }
    }
}
