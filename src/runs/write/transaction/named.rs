//! Events that have an id, or name one.

use serde_json::Value;

use super::Transaction;
use crate::engine::Refusal;
use crate::model::{Event, EventId};
use crate::runs::error::Result;

impl Transaction<'_> {
    /// What `same` makes of the event that an earlier try of the same request recorded under this id. An activity of the same
    /// id may have been recorded since.
    ///
    /// # Errors
    /// [`Refusal::KeyReused`] if only other requests have the id.
    pub(crate) fn earlier<T>(&self, id: &EventId, same: impl Fn(&Event) -> Option<T>) -> Result<Option<T>> {
        let mut named = self.events_naming(id.as_str(), &|event| event.id == *id && same(event).is_some())?;
        named.retain(|event| event.id == *id);
        let Some(latest) = named.first() else { return Ok(None) };
        match named.iter().find_map(same) {
            Some(found) => Ok(Some(found)),
            None => Err(self.refused(Refusal::KeyReused { id: id.to_string(), seq: latest.seq })),
        }
    }

    /// The events in which `id` stands, latest first: as their own id, that of an activity, or in some text. The search stops
    /// behind an event that is `enough`.
    pub(crate) fn events_naming(&self, id: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>> {
        Ok(self.writer.with_text(&Value::from(id).to_string(), enough)?)
    }
}
