//! Gates: phases that only a person lets a run leave.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::model::digest::sha256_hex;
use crate::model::named::named;
use crate::model::{ActivityStatus, Seq, StateName};

/// A gate of a run's workflow, and its status in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The phase that only a person lets the run leave.
    pub phase: StateName,
    /// Whether it was approved or rejected, or is still to be decided.
    pub status: GateStatus,
}

named! {
    /// The status of a gate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    pub enum GateStatus {
        /// Nothing is decided, and the run is not past it.
        Closed = "closed",
        /// A person approved; the run may leave the phase.
        Approved = "approved",
        /// A person rejected what was done.
        Rejected = "rejected",
        /// Nothing is decided, and the run was moved without its transitions, by an edit or a repair: it may be past the
        /// gate.
        Unproved = "unproved",
        /// The run left the phase without a decision.
        PassedOver = "passed_over",
        /// The run follows a definition without this gate, and no person agreed to that.
        Dropped = "dropped",
    }
}

impl GateStatus {
    /// Whether the run may be past the gate without a decision.
    #[must_use]
    pub fn is_doubtful(self) -> bool {
        matches!(self, Self::Unproved | Self::PassedOver | Self::Dropped)
    }
}

/// How far a caller has seen a run: its last event, and what was written into its `run.yaml` and has no event yet. Written
/// as `4`, and with such an edit as `4-` and the beginning of a digest of the edited text.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(with = "Written")]
pub struct LastSeen {
    /// The last event.
    pub event: Seq,
    /// The digest of the `run.yaml` that has no event.
    edit: Option<String>,
}

/// How it is written in JSON.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Written {
    /// The last event.
    Event(Seq),
    /// The last event and the digest of an edit.
    Edited(String),
}

impl LastSeen {
    /// How much of a SHA-256 is enough: no one finds another text with it.
    const DIGITS: usize = 16;

    /// Of a run whose `run.yaml` reads `text`, which the event after `event` will tell of.
    #[must_use]
    pub fn with_edit(event: Seq, text: &str) -> Self {
        Self { event, edit: Some(Self::digest_of(text)) }
    }

    /// Whether there was an edit that has no event.
    #[must_use]
    pub fn has_edit(&self) -> bool {
        self.edit.is_some()
    }

    /// Whether the edit that was seen gave this text.
    #[must_use]
    pub fn is_of(&self, text: &str) -> bool {
        self.edit.as_ref().is_some_and(|edit| *edit == Self::digest_of(text))
    }

    fn digest_of(text: &str) -> String {
        sha256_hex(text.as_bytes()).chars().take(Self::DIGITS).collect()
    }
}

impl From<Seq> for LastSeen {
    fn from(event: Seq) -> Self {
        Self { event, edit: None }
    }
}

impl fmt::Display for LastSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.edit {
            Some(edit) => write!(f, "{}-{edit}", self.event),
            None => self.event.fmt(f),
        }
    }
}

impl FromStr for LastSeen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "give the number of an event, or what `flow resume` names there";
        let (event, edit) = match text.split_once('-') {
            Some((event, edit)) => (event, Some(edit.to_owned())),
            None => (text, None),
        };
        if let Some(edit) = &edit
            && (edit.len() != Self::DIGITS || !edit.bytes().all(|c| c.is_ascii_hexdigit()))
        {
            return Err(WRONG);
        }
        Ok(Self { event: Seq(event.parse().map_err(|_| WRONG)?), edit })
    }
}

impl Serialize for LastSeen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_edit() { serializer.collect_str(self) } else { self.event.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for LastSeen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse().map_err(D::Error::custom),
            number => Ok(serde_json::from_value::<Seq>(number).map_err(D::Error::custom)?.into()),
        }
    }
}

/// A person's decision at a gate. The status of its activity says which: passed or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The user who decided, as the system calls them.
    pub by: String,
    /// Where.
    pub how: DecidedAt,
    /// The last event that the person had seen.
    pub seen: Seq,
}

/// Where a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedAt {
    /// At a terminal, with `flow approve` or `flow reject`.
    Terminal,
    /// On a page of `flow serve --allow-actions`.
    Page,
}

impl fmt::Display for DecidedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminal => "at a terminal",
            Self::Page => "on a page",
        })
    }
}

/// The id of the activity that records a decision at a gate.
pub const APPROVAL: &str = "approval";

/// An activity that did not end well: its latest record failed or is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsettledActivity {
    /// The id of its records.
    pub id: String,
    /// The phase of that record.
    pub phase: StateName,
    /// Whether it is blocked; otherwise it failed.
    pub blocked: bool,
}

impl UnsettledActivity {
    /// Whether work failed. A person who rejects what was done at a gate sends the run back to work: nothing failed.
    pub(in crate::model) fn is_failure(&self) -> bool {
        !self.blocked && self.id != APPROVAL
    }

    /// An activity whose latest record has this status; `None` if it did not end badly.
    pub(crate) fn of(id: &str, phase: &StateName, status: ActivityStatus) -> Option<Self> {
        let blocked = match status {
            ActivityStatus::Blocked => true,
            ActivityStatus::Failed => false,
            _ => return None,
        };
        Some(Self { id: id.to_owned(), phase: phase.clone(), blocked })
    }

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(id: &str, text: &str) -> Option<Self> {
        // No name of a phase has a blank.
        let (status, phase) = text.split_once(" in ")?;
        Self::of(id, &StateName::new(phase).ok()?, status.parse().ok()?)
    }
}

impl fmt::Display for UnsettledActivity {
    /// As in `run.yaml`: `failed in verify`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = if self.blocked { "blocked" } else { "failed" };
        write!(f, "{status} in {}", self.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_run_was_seen_is_read_as_it_is_written() {
        let edited = LastSeen::with_edit(Seq(4), "status: active\n");
        assert!(edited.is_of("status: active\n") && !edited.is_of("status: failed\n"));
        for (seen, text) in [(LastSeen::from(Seq(4)), "4"), (edited, "\"4-f69f69e0f93e1e53\"")] {
            assert_eq!(serde_json::to_string(&seen).unwrap().len(), text.len());
            assert_eq!(serde_json::from_str::<LastSeen>(&serde_json::to_string(&seen).unwrap()).unwrap(), seen);
            assert_eq!(seen.to_string().parse(), Ok(seen));
        }
        for wrong in ["", "x", "-1", "4-", "4-x", "4-12", "4-zzzzzzzzzzzzzzzz", "4.5"] {
            assert!(wrong.parse::<LastSeen>().is_err(), "{wrong}");
        }
    }
}
