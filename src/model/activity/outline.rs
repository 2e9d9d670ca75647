//! What a document says of the work in short, read without the rest of it.
//!
//! The past of a run is made of outlines. Building every whole document would take most of the time of reading a long log.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::model::{ActivityId, ActivityStatus, BadName, StateName, Usage};

/// The fields of a document that the past of a run is made of.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ActivityOutline {
    pub(super) metadata: Metadata,
    pub(super) activity: Work,
    pub(super) outputs: Option<Outputs>,
    pub(super) result: Option<Judgement>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Metadata {
    pub(super) id: ActivityId,
    pub(super) phase: Option<StateName>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Work {
    pub(super) name: Option<String>,
    pub(super) status: ActivityStatus,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Outputs {
    pub(super) command_exit_code: Option<i64>,
    pub(super) evidence_refs: Option<Vec<String>>,
    pub(super) usage: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Judgement {
    pub(super) summary: Option<String>,
}

impl ActivityOutline {
    /// The outline of the text of a document, if nothing in it is unusual: [`Self::of`] decides on what is.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        // What the outline leaves out has to be readable as well.
        serde_json::from_str::<Readable>(text).ok()?;
        serde_json::from_str(text).ok()
    }

    /// The outline of a document. What has another type than the schema wants is left out.
    ///
    /// # Errors
    /// [`BadName`] if the id, the phase or the status is not valid.
    pub(super) fn of(document: &Map<String, Value>) -> Result<Self, BadName> {
        let field = |section: &str, key: &str| document.get(section).and_then(|section| section.get(key));
        let text = |section: &str, key: &str| field(section, key).and_then(Value::as_str);
        let id = ActivityId::new(text("metadata", "id").unwrap_or_default())?;
        // Without one the record belongs to the current phase.
        let phase = text("metadata", "phase").map(StateName::new).transpose()?;
        let status = text("activity", "status").unwrap_or_default();
        let Ok(status) = status.parse() else {
            return Err(BadName { what: "activity status", name: status.to_owned(), reason: "is unknown".into() });
        };
        let mut evidence_refs = Vec::new();
        for reference in field("outputs", "evidence_refs").and_then(Value::as_array).into_iter().flatten() {
            evidence_refs.extend(reference.as_str().map(str::to_owned));
        }
        let outputs = Outputs {
            command_exit_code: field("outputs", "command_exit_code").and_then(Value::as_i64),
            evidence_refs: Some(evidence_refs),
            usage: field("outputs", "usage").cloned(),
        };
        Ok(Self {
            metadata: Metadata { id, phase },
            activity: Work { name: text("activity", "name").map(str::to_owned), status },
            outputs: Some(outputs),
            result: Some(Judgement { summary: text("result", "summary").map(str::to_owned) }),
        })
    }

    /// The parts of usage that are valid; none if nothing is known.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = Usage::of_document(self.outputs.as_ref()?.usage.as_ref()?);
        if usage.is_unknown() { None } else { Some(usage) }
    }
}

/// A value that is read as [`Value`] reads it, and not kept. [`serde::de::IgnoredAny`] would also take what `Value` refuses:
/// a number without a place in a float, half of a character.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}
