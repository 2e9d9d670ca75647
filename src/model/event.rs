//! The events of a run: one for each line of `events.jsonl`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::model::{
    ActivityRecorded, Emitted, EventId, ForkPoint, IdList, LogRepaired, ModesChanged, RunDocument, RunId, RunStatus,
    Seq, SessionId, Skip, StateName, StepReport, TextDigest, Timestamp, WorkflowId, limits,
};

/// The version of the line format that this program writes.
pub const LINE_VERSION: u64 = 1;

/// One event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its position in the log.
    pub seq: Seq,
    /// A ULID, or the caller's idempotency key.
    pub id: EventId,
    /// When it happened, according to the writer's clock.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
    /// The digest of the `run.yaml` that was written with this event. A `run.yaml` with another digest was edited by
    /// hand.
    pub run: Option<TextDigest>,
    /// The digest of the recap of the run after this event with the version of its form, if one was made then; see
    /// [`crate::engine::Recap`].
    pub recap: Option<TextDigest>,
}

/// The type of an event, with its data.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The run was created by `flow start`.
    RunStarted(Box<RunStarted>),
    /// The run goes on from an event of another run.
    RunForked(Box<RunForked>),
    /// A run of another program was taken over.
    RunAdopted(Box<RunAdopted>),
    /// A piece of work was recorded.
    ActivityRecorded(Box<ActivityRecorded>),
    /// Agents reported on steps.
    Emitted(Box<Emitted>),
    /// `blocked`: a person is needed.
    RunBlocked(StatusChange),
    /// Back from `blocked` to `active`.
    RunUnblocked(StatusChange),
    /// The run was completed.
    RunCompleted(StatusChange),
    /// The run failed.
    RunFailed(StatusChange),
    /// The run was cancelled.
    RunCancelled(StatusChange),
    /// An ended run was reopened.
    RunReopened(StatusChange),
    /// The session that held the run ended; the run did not.
    SessionEnded(SessionEnded),
    /// A session claimed the run.
    RunClaimed(RunClaimed),
    /// A person edited `run.yaml`.
    RunEdited(Box<RunEdited>),
    /// The run follows another definition of its workflow from here on.
    WorkflowAdopted(Box<WorkflowAdopted>),
    /// A damaged log was replaced by what could be recovered.
    LogRepaired(Box<LogRepaired>),
    /// Modes began or ended; only in the log of `.flow/state`.
    ModesChanged(Box<ModesChanged>),
    /// An event of a newer flow. It is kept unchanged and has no effect.
    Unknown(UnknownEvent),
}

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id.
    pub run_id: RunId,
    /// The workflow that it follows.
    pub workflow: WorkflowId,
    /// The workflow's version.
    pub workflow_version: u64,
    /// The phase in which it starts; absent if the first report decides that.
    pub phase: Option<StateName>,
    /// The goal of the run.
    pub goal: Option<String>,
    /// Repository, branch, issue, …
    pub context: Map<String, Value>,
    /// Limits of the run.
    pub limits: Map<String, Value>,
    /// The session that starts the run and holds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// Evidence from which others can later conclude that the holder is dead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holder: Option<String>,
    /// The digest of the run's token. A caller with the token may report on units, even if another session holds the
    /// run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// The compiled workflow, which the run pins; null if it has no state machine.
    pub machine: Value,
}

/// The start of a run that goes on from an event of another run. It has all of that run that the fork needs, so that the
/// other one may change or be gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunForked {
    /// The event after which it goes on.
    pub parent: ForkPoint,
    /// The SHA-256 of the lines of the parent's log up to that event, each with its line break.
    pub parent_digest: String,
    /// Why.
    pub reason: Option<String>,
    /// Evidence from which others can later conclude that the holder is dead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holder: Option<String>,
    /// The digest of the run's token, as in [`RunStarted::token`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// The compiled workflow that the run goes on with; null if it has no state machine.
    pub machine: Value,
    /// The run as it begins.
    pub document: RunDocument,
    /// What the run takes over of the parent's past; see [`crate::engine::History::inheritance`].
    pub past: Value,
}

/// The takeover of a run that another program wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAdopted {
    /// The workflow as compiled at this time; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<Value>,
    /// The document in its `run.yaml`; `last_number` is the highest number of its activity files.
    pub document: RunDocument,
    /// The text of its `run.yaml`.
    pub text: String,
}

/// A change of a run's status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusChange {
    /// The status before.
    pub from: RunStatus,
    /// Why.
    pub reason: Option<String>,
    /// The phases whose work was not done when the run was completed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<Skip>,
    /// The session that requested it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
}

/// The end of a session; its run stays open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session; absent if no session held the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The reason that the host gave.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// A change of holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunClaimed {
    /// The new holder; absent if a person took the run without a session.
    pub session: Option<SessionId>,
    /// The new epoch. Records with an older one are refused.
    pub epoch: u64,
    /// The previous holder.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<SessionId>,
    /// Evidence from which others can later conclude that the holder is dead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holder: Option<String>,
    /// Whether the run was taken over from a live holder.
    #[serde(default)]
    pub took_over: bool,
}

/// A run's change to another definition of its workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowAdopted {
    /// A short message for each difference that matters to a run.
    pub differences: Vec<String>,
    /// Gates of the run that the definition leads around, while the one before did not.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub bypassed: Vec<StateName>,
    /// The session that requested it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The compiled workflow, which the run pins from here on.
    pub machine: Value,
}

/// A person's edit of `run.yaml`, by hand or with `flow set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEdited {
    /// The changed fields with their new values.
    pub changes: RunChanges,
    /// Whether `flow set` made the edit. A hand edit is in `run.yaml` before it is logged, this one only afterwards.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub by_command: bool,
    /// The session that used `flow set`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The whole text after the edit, so that its comments can be restored from the log.
    pub text: String,
}

/// New values of fields that a person may edit. A field that did not change is `None` or [`FieldChange::Unchanged`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunChanges {
    /// `state.status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// `state.current_phase`.
    #[serde(skip_serializing_if = "FieldChange::is_unchanged")]
    pub current_phase: FieldChange<StateName>,
    /// `state.current_activity`.
    #[serde(skip_serializing_if = "FieldChange::is_unchanged")]
    pub current_activity: FieldChange<String>,
    /// `state.completed_activities`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_activities: Option<IdList>,
    /// `state.blocked_reason`.
    #[serde(skip_serializing_if = "FieldChange::is_unchanged")]
    pub blocked_reason: FieldChange<String>,
    /// `metadata.goal`.
    #[serde(skip_serializing_if = "FieldChange::is_unchanged")]
    pub goal: FieldChange<String>,
    /// `metadata.created_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// `metadata.workflow_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_version: Option<u64>,
    /// `context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// `limits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Map<String, Value>>,
}

/// What a person did with a field that may be empty. In JSON an unchanged field has no key, and a cleared one is null.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FieldChange<T> {
    /// It did not change.
    #[default]
    Unchanged,
    /// It is empty now.
    Cleared,
    /// It has this value now.
    Set(T),
}

impl<T> FieldChange<T> {
    /// Whether the field did not change.
    #[must_use]
    pub const fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// The new value; `None` if the field did not change or is empty now.
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Unchanged | Self::Cleared => None,
        }
    }
}

impl<T: Clone + PartialEq> FieldChange<T> {
    /// The change that makes a field that was `before` what it is `now`.
    #[must_use]
    pub fn between(before: Option<&T>, now: Option<&T>) -> Self {
        if before == now { Self::Unchanged } else { now.cloned().map_or(Self::Cleared, Self::Set) }
    }

    /// Makes the change.
    pub fn apply(&self, field: &mut Option<T>) {
        if !self.is_unchanged() {
            *field = self.value().cloned();
        }
    }
}

// An unchanged field is skipped, so only the value or null is written.
impl<T: Serialize> Serialize for FieldChange<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldChange<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(from)?.map_or(Self::Cleared, Self::Set))
    }
}

/// An event with a type or version that this program does not know.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownEvent {
    /// The version of its line format.
    pub version: u64,
    /// Its `type`.
    pub kind: String,
    /// Its other fields.
    pub body: Map<String, Value>,
}

impl EventKind {
    /// Whether a run begins with it. A repair begins it again.
    #[must_use]
    pub fn begins_a_run(&self) -> bool {
        matches!(self, Self::RunStarted(_) | Self::RunForked(_) | Self::RunAdopted(_) | Self::LogRepaired(_))
    }

    /// Whether it changes what earlier events made of the run: it begins the run again, or a person or a repair says what it
    /// is; or it may, since a newer flow wrote it.
    #[must_use]
    pub fn changes_the_past(&self) -> bool {
        self.begins_a_run() || matches!(self, Self::RunEdited(_) | Self::Unknown(_))
    }

    /// The activities that the event records, in the order of their numbers.
    #[must_use]
    pub fn records(&self) -> &[ActivityRecorded] {
        match self {
            Self::ActivityRecorded(record) => std::slice::from_ref(&**record),
            Self::Emitted(emitted) => &emitted.records,
            _ => &[],
        }
    }

    /// The reports on steps that the event holds.
    #[must_use]
    pub fn reports(&self) -> &[StepReport] {
        match self {
            Self::Emitted(emitted) => &emitted.reports,
            _ => &[],
        }
    }
}

/// Gives each type of event its name in the log: one table, so that what is written is also read.
macro_rules! event_types {
    ($($name:literal => $kind:ident,)+) => {
        impl EventKind {
            /// The `type` of the line.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$kind(_) => $name,)+
                    Self::Unknown(event) => &event.kind,
                }
            }

            /// Writes the fields that events of this type have, as one object.
            fn body<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$kind(body) => body.serialize(to),)+
                    Self::Unknown(event) => event.body.serialize(to),
                }
            }

            /// Reads the event of the type `head.kind` from its line. Fields that all events have are skipped.
            fn of_line(head: &LineHead, line: &[u8]) -> Result<Self, serde_json::Error> {
                // A newer version may give a known name to something else.
                if head.v > LINE_VERSION {
                    return UnknownEvent::of_line(head, line).map(Self::Unknown);
                }
                match &*head.kind {
                    $($name => Ok(Self::$kind(serde_json::from_slice(line)?)),)+
                    _ => UnknownEvent::of_line(head, line).map(Self::Unknown),
                }
            }
        }
    };
}

event_types! {
    "run_started" => RunStarted,
    "run_forked" => RunForked,
    "run_adopted" => RunAdopted,
    "activity_recorded" => ActivityRecorded,
    "emitted" => Emitted,
    "run_blocked" => RunBlocked,
    "run_unblocked" => RunUnblocked,
    "run_completed" => RunCompleted,
    "run_failed" => RunFailed,
    "run_cancelled" => RunCancelled,
    "run_reopened" => RunReopened,
    "session_end" => SessionEnded,
    "run_claimed" => RunClaimed,
    "run_edited" => RunEdited,
    "workflow_adopted" => WorkflowAdopted,
    "log_repaired" => LogRepaired,
    "modes_changed" => ModesChanged,
}

/// What every line has.
#[derive(Deserialize)]
struct LineHead {
    v: u64,
    seq: Seq,
    id: EventId,
    at: Timestamp,
    #[serde(rename = "type")]
    // Short enough for a `SmolStr`, so that no line of a long log costs an allocation.
    kind: SmolStr,
    run: Option<TextDigest>,
    recap: Option<TextDigest>,
}

/// The names of these fields, and of the seal.
const HEAD: [&str; 8] = ["v", "seq", "id", "at", "type", "run", "recap", "crc"];

impl UnknownEvent {
    fn of_line(head: &LineHead, line: &[u8]) -> Result<Self, serde_json::Error> {
        let mut body: Map<String, Value> = serde_json::from_slice(line)?;
        // The rest is written again as it was.
        body.retain(|key, _| !HEAD.contains(&key.as_str()));
        Ok(Self { version: head.v, kind: head.kind.to_string(), body })
    }
}

/// The object that is sealed into a line.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct EventLine<'e> {
            v: u64,
            seq: Seq,
            id: &'e EventId,
            at: Timestamp,
            #[serde(rename = "type")]
            kind: &'e str,
            #[serde(flatten, serialize_with = "EventKind::body")]
            body: &'e EventKind,
            #[serde(skip_serializing_if = "Option::is_none")]
            run: Option<&'e TextDigest>,
            #[serde(skip_serializing_if = "Option::is_none")]
            recap: Option<&'e TextDigest>,
        }
        let v = match &self.kind {
            // So that the flow that wrote it reads it as its own.
            EventKind::Unknown(event) => event.version,
            _ => LINE_VERSION,
        };
        let line = EventLine {
            v,
            seq: self.seq,
            id: &self.id,
            at: self.at,
            kind: self.kind.name(),
            body: &self.kind,
            run: self.run.as_ref(),
            recap: self.recap.as_ref(),
        };
        line.serialize(to)
    }
}

impl Event {
    /// Reads a line, without its line break, whose seal was checked. An unknown type or a newer version gives
    /// [`EventKind::Unknown`].
    ///
    /// # Errors
    /// If it is not a JSON object, a field is there twice, or a required field is missing or has the wrong type.
    pub fn of_line(line: &[u8]) -> Result<Self, serde_json::Error> {
        // Twice over the bytes is faster than once into a map from which the fields are then taken.
        let head: LineHead = serde_json::from_slice(line)?;
        // Every JSON reader represents smaller numbers exactly, and counting on from them does not overflow.
        if head.seq.0 > limits::COUNTER {
            return Err(serde::de::Error::custom("a position that no run can reach"));
        }
        let kind = EventKind::of_line(&head, line)?;
        let is_claim_too_high = matches!(&kind, EventKind::RunClaimed(claim) if claim.epoch > limits::COUNTER);
        if is_claim_too_high || kind.records().iter().any(|record| record.number.0 > limits::COUNTER) {
            return Err(serde::de::Error::custom("a number that no run can reach"));
        }
        let LineHead { seq, id, at, run, recap, .. } = head;
        Ok(Self { seq, id, at, kind, run, recap })
    }

    /// Converts from the object of a line.
    ///
    /// # Errors
    /// As [`Self::of_line`].
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        Self::of_line(&serde_json::to_vec(object)?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_key_null_and_a_value_come_back_the_same() {
        for (changes, goal) in [
            (json!({}), FieldChange::Unchanged),
            (json!({ "goal": null }), FieldChange::Cleared),
            (json!({ "goal": "x" }), FieldChange::Set("x".to_owned())),
        ] {
            let read: RunChanges = serde_json::from_value(changes.clone()).unwrap();
            assert_eq!(read, RunChanges { goal, ..RunChanges::default() });
            assert_eq!(serde_json::to_value(&read).unwrap(), changes);
        }
    }
}
