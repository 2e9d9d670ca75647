//! The document of an activity.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::activity::outline::ActivityOutline;
use crate::model::{
    ActivityId, ActivityStatus, ActivityType, BadName, Confidence, RunId, StateName, Timestamp, Usage, WorkflowId,
};

/// A FlowActivity document: the whole mapping as it was given, including keys that flow does not know.
///
/// It always has a valid `metadata.id` and a valid `activity.status`.
#[derive(Debug, Clone)]
pub struct Activity {
    outline: ActivityOutline,
    /// The document in the line of a log that it was read from.
    text: Option<Box<RawValue>>,
    /// The same, read when it is first asked for. Without a text it is there from the start.
    document: OnceLock<Map<String, Value>>,
}

impl Activity {
    /// Wraps a document that was checked against its schema.
    ///
    /// # Errors
    /// [`BadName`] if the id, the phase or the status is not valid.
    pub fn new(document: Map<String, Value>) -> Result<Self, BadName> {
        Ok(Self { outline: ActivityOutline::of(&document)?, text: None, document: OnceLock::from(document) })
    }

    /// An activity of flow's own. The rest of its document is [filled](Self::fill) in.
    ///
    /// # Panics
    /// Never: it has a valid id and a valid status.
    #[must_use]
    pub fn of_work(id: &ActivityId, kind: ActivityType, name: Option<&str>, status: ActivityStatus) -> Self {
        let mut document = begun_document();
        fill(&mut document, "metadata", "id", id.as_str());
        fill(&mut document, "activity", "type", kind.as_str());
        if let Some(name) = name {
            fill(&mut document, "activity", "name", name);
        }
        fill(&mut document, "activity", "status", status.as_str());
        Self::new(document).expect("a valid id and a valid status")
    }

    fn text(&self, section: &str, key: &str) -> Option<&str> {
        self.document().get(section)?.get(key)?.as_str()
    }

    /// `metadata.id`.
    #[must_use]
    pub fn id(&self) -> ActivityId {
        self.outline.metadata.id.clone()
    }

    /// `metadata.run_id`.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.text("metadata", "run_id")
    }

    /// `metadata.workflow`.
    #[must_use]
    pub fn workflow(&self) -> Option<&str> {
        self.text("metadata", "workflow")
    }

    /// `metadata.phase`.
    #[must_use]
    pub fn phase(&self) -> Option<StateName> {
        self.outline.metadata.phase.clone()
    }

    /// `activity.status`.
    #[must_use]
    pub fn status(&self) -> ActivityStatus {
        self.outline.activity.status
    }

    /// `activity.type`.
    #[must_use]
    pub fn kind(&self) -> Option<ActivityType> {
        self.text("activity", "type")?.parse().ok()
    }

    /// `activity.name`, the title for people.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.outline.activity.name.as_deref()
    }

    /// `activity.started_at`, if it is a time.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        self.text("activity", "started_at")?.parse().ok()
    }

    /// `activity.completed_at`, if it is a time.
    #[must_use]
    pub fn completed_at(&self) -> Option<Timestamp> {
        self.text("activity", "completed_at")?.parse().ok()
    }

    /// `result.confidence`.
    #[must_use]
    pub fn confidence(&self) -> Option<Confidence> {
        self.text("result", "confidence")?.parse().ok()
    }

    /// The end of the output: `outputs.stderr_tail`, otherwise `outputs.stdout_tail`.
    #[must_use]
    pub fn output(&self) -> Option<&str> {
        let [errors, output] = ["stderr_tail", "stdout_tail"].map(|key| self.text("outputs", key).unwrap_or_default());
        let tail = if errors.is_empty() { output } else { errors };
        if tail.is_empty() { None } else { Some(tail) }
    }

    /// `result.summary`.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.outline.result.as_ref()?.summary.as_deref()
    }

    /// `outputs.evidence_refs`: files in the run's `evidence/`, addresses, or other text.
    pub fn evidence(&self) -> impl Iterator<Item = &str> {
        let outputs = self.outline.outputs.iter();
        outputs.filter_map(|outputs| outputs.evidence_refs.as_ref()).flatten().map(String::as_str)
    }

    /// `outputs.files_changed`.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.document().get("outputs").and_then(|outputs| outputs.get("files_changed"));
        files.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// `outputs.command_exit_code`.
    #[must_use]
    pub fn exit_code(&self) -> Option<i64> {
        self.outline.outputs.as_ref()?.command_exit_code
    }

    /// `outputs.usage`, as far as it is valid; none if nothing is known.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.outline.usage()
    }

    /// `activity.started_at` and `activity.completed_at`, if both are there and the work ends before it began.
    #[must_use]
    pub fn ends_before_it_began(&self) -> Option<(&str, &str)> {
        let (started, completed) = (self.text("activity", "started_at")?, self.text("activity", "completed_at")?);
        // As times, because their texts may have different offsets.
        let is_before = completed.parse::<Timestamp>().ok()? < started.parse().ok()?;
        is_before.then_some((started, completed))
    }

    /// What the document has in the place of a time and is none, with its key.
    #[must_use]
    pub fn mistyped_times(&self) -> Vec<(&'static str, &str)> {
        let mut mistyped = Vec::new();
        for key in ["started_at", "completed_at"] {
            if let Some(text) = self.text("activity", key)
                && text.parse::<Timestamp>().is_err()
            {
                mistyped.push((key, text));
            }
        }
        mistyped
    }

    /// The whole document.
    #[must_use]
    pub fn document(&self) -> &Map<String, Value> {
        self.document.get_or_init(|| self.read())
    }

    fn read(&self) -> Map<String, Value> {
        let text = self.text.as_ref().expect("BUG: neither a document nor its text");
        serde_json::from_str(text.get()).expect("BUG: it was not read before it was kept")
    }

    /// Sets `section.key` if it is absent or null. Values that the caller wrote stay.
    pub fn fill(&mut self, section: &str, key: &str, value: impl Into<Value>) {
        let mut document = self.document.take().unwrap_or_else(|| self.read());
        fill(&mut document, section, key, value);
        // A phase that is not valid is none, as if it had been left out.
        if let Ok(outline) = ActivityOutline::of(&document) {
            self.outline = outline;
        }
        (self.text, self.document) = (None, OnceLock::from(document));
    }

    /// Sets where the work belongs, as far as the caller left it out.
    pub(crate) fn fill_place(&mut self, run: &RunId, workflow: &WorkflowId, phase: &StateName) {
        self.fill("metadata", "run_id", run.as_str());
        self.fill("metadata", "workflow", workflow.as_str());
        self.fill("metadata", "phase", phase.as_str());
    }
}

/// The document of an activity of which nothing is known yet.
#[must_use]
pub fn begun_document() -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("apiVersion".to_owned(), "flow.synapti.ai/v1".into());
    document.insert("kind".to_owned(), "FlowActivity".into());
    for section in ["metadata", "activity"] {
        document.insert(section.to_owned(), Value::Object(Map::new()));
    }
    document
}

/// Sets `section.key` of a document if it is absent or null.
pub fn fill(document: &mut Map<String, Value>, section: &str, key: &str, value: impl Into<Value>) {
    let section = document.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if let Some(section) = section.as_object_mut() {
        let slot = section.entry(key).or_insert(Value::Null);
        if slot.is_null() {
            *slot = value.into();
        }
    }
}

impl PartialEq for Activity {
    fn eq(&self, other: &Self) -> bool {
        self.document() == other.document()
    }
}

impl Serialize for Activity {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            // Most of a long log is only passed on.
            Some(text) if self.document.get().is_none() => {
                serde_transcode::transcode(&mut serde_json::Deserializer::from_str(text.get()), to)
            }
            _ => self.document().serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Activity {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(from)?;
        if let Some(outline) = ActivityOutline::of_text(text.get()) {
            return Ok(Self { outline, text: Some(text), document: OnceLock::new() });
        }
        // Anyone can seal a line, so what is read is checked as well.
        Self::new(serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The activity of a text that is read as a whole.
    fn read_whole(text: &str) -> Option<Activity> {
        Activity::new(serde_json::from_str(text).ok()?).ok()
    }

    #[test]
    fn an_activity_read_in_outline_is_the_one_read_as_a_whole() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let more = [
            "",
            r#","outputs":{"command_exit_code":3,"evidence_refs":["a","b"],"usage":{"input_tokens":5},"more":[{}]}"#,
            r#","outputs":{"command_exit_code":1.5}"#,
            r#","outputs":{"command_exit_code":18446744073709551615}"#,
            r#","outputs":{"evidence_refs":["a",5,null]}"#,
            r#","outputs":{"evidence_refs":"a"}"#,
            r#","outputs":null,"result":null"#,
            r#","outputs":[],"result":"good""#,
            r#","result":{"summary":"\u001b[1m\ud83d\ude00"}"#,
            r#","result":{"summary":5}"#,
            r#","result":{"summary":"a","summary":"b"}"#,
            r#","activity":{"status":"failed"}"#,
            r#","metadata":{"id":"b","phase":"not a phase"}"#,
            r#","more":1e999"#,
            r#","more":"\ud800""#,
            r#","more":{"\udc00":1}"#,
            &format!(r#","more":{deep}"#),
        ];
        for more in more {
            let text = format!(
                r#"{{"metadata":{{"id":"a","phase":null}},"activity":{{"name":"n","status":"passed"}}{more}}}"#
            );
            let (read, whole) = (serde_json::from_str::<Activity>(&text).ok(), read_whole(&text));
            assert_eq!(read, whole, "{text}");
            let (Some(read), Some(whole)) = (read, whole) else { continue };
            assert_eq!((read.id(), read.phase(), read.status()), (whole.id(), whole.phase(), whole.status()), "{text}");
            assert_eq!((read.name(), read.summary()), (whole.name(), whole.summary()), "{text}");
            assert_eq!((read.exit_code(), read.usage()), (whole.exit_code(), whole.usage()), "{text}");
            assert!(read.evidence().eq(whole.evidence()), "{text}");
            let again: Activity = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&whole).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_filled_activity_says_what_was_filled_in() {
        let mut activity: Activity =
            serde_json::from_str(r#"{"metadata":{"id":"a"},"activity":{"status":"passed"},"more":1}"#).unwrap();
        activity.fill("metadata", "phase", "review");
        activity.fill("result", "summary", "good");
        assert_eq!(activity.phase(), Some(StateName::new("review").unwrap()));
        assert_eq!(activity.summary(), Some("good"));
        assert_eq!(activity.document()["more"], 1);
    }
}
