//! What a repair of a damaged log says about itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{ActivityRecorded, EventId, Number, RunDocument, Seq};

/// A damaged log was replaced by one of its surviving lines. From here on the run is what `document` says; the old log
/// is in quarantine, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogRepaired {
    /// Positions of events that are gone. Nobody looks for them any more.
    pub lost: Vec<LostRange>,
    /// Lines that got another position or number, and those of another branch that were put behind the first history.
    pub renumbered: Vec<Renumbered>,
    /// Lost records that were found again in their activity files.
    pub salvaged: Vec<ActivityRecorded>,
    /// What was wrong, in words.
    pub reason: String,
    /// What several histories had changed that a merge joined, and which of the values counts: a line for each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settled: Vec<String>,
    /// Name of the old log in `.quarantine/`; none when there was no log.
    pub quarantined: Option<String>,
    /// The workflow, when the event that pinned it is among the lost ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<Value>,
    /// The run as of the repair.
    pub document: RunDocument,
    /// `run.yaml` as of the repair.
    pub text: String,
}

/// Positions from `from` to `to`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRange {
    /// The first.
    pub from: Seq,
    /// The last.
    pub to: Seq,
}

impl LostRange {
    /// As people say it: `event 3`, `events 3 to 5`.
    #[must_use]
    pub fn in_words(self) -> String {
        match self.from == self.to {
            true => format!("event {}", self.from),
            false => format!("events {} to {}", self.from, self.to),
        }
    }
}

/// A line that got another position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Renumbered {
    /// The event.
    pub id: EventId,
    /// Its position before.
    pub seq_before: Seq,
    /// Its position now.
    pub seq: Seq,
    /// Its activity number before, when it is a record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number_before: Option<Number>,
    /// Its activity number now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<Number>,
}
