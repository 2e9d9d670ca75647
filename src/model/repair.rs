//! The event of a repaired log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{ActivityRecorded, EventId, Number, RunDocument, Seq};

/// The repair of a damaged log, which was replaced by one of the lines that could be recovered. From here on, the state
/// of the run is `document`. The whole old log is in quarantine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogRepaired {
    /// Positions of events that were lost. They no longer count as damage.
    pub lost: Vec<LostRange>,
    /// Lines that got another position or number, including those of another branch that were appended to the first
    /// history.
    pub renumbered: Vec<RenumberedEvent>,
    /// Lost records that were recovered from their activity files.
    pub salvaged: Vec<ActivityRecorded>,
    /// What was wrong.
    pub reason: String,
    /// After a merge of several histories: a message for each value that more than one of them changed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settled: Vec<String>,
    /// The name of the old log in `.quarantine/`; absent if there was none.
    pub quarantined: Option<String>,
    /// The workflow, if the event that pinned it was lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<Value>,
    /// The document at the time of the repair.
    pub document: RunDocument,
    /// The text of `run.yaml` at the time of the repair.
    pub text: String,
}

/// A range of positions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRange {
    /// The first.
    pub from: Seq,
    /// The last.
    pub to: Seq,
}

impl LostRange {
    /// The range as text: `event 3`, `events 3 to 5`.
    #[must_use]
    pub fn in_words(self) -> String {
        if self.from == self.to {
            format!("event {}", self.from)
        } else {
            format!("events {} to {}", self.from, self.to)
        }
    }
}

/// A line that got another position or number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenumberedEvent {
    /// The id of the event.
    pub id: EventId,
    /// Its old position.
    pub seq_before: Seq,
    /// Its new position.
    pub seq: Seq,
    /// Its old activity number, if it is a record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number_before: Option<Number>,
    /// Its new activity number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<Number>,
}
