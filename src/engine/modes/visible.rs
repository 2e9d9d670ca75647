//! The visible set: which modes are active, for hooks and displays. It follows the modes' files and decides nothing.

use serde_json::{Map, Value, json};

use crate::model::{ModeName, Scope, Timestamp};

/// A visible set in the making.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visible {
    primary: Option<String>,
    entries: Vec<Map<String, Value>>,
}

impl Visible {
    /// What `value` shows; whatever cannot be understood is left out.
    #[must_use]
    pub fn read(value: &Map<String, Value>) -> Self {
        let entries = value.get("active_skills").and_then(Value::as_array).into_iter().flatten();
        let entries =
            entries.filter_map(|entry| entry.as_object().filter(|entry| entry.contains_key("skill")).cloned());
        let primary = value.get("skill").and_then(Value::as_str).map(str::to_owned);
        Self { primary, entries: entries.collect() }
    }

    /// The sessions that have an entry.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.get("session_id")?.as_str())
    }

    /// Keeps the entries of sessions for which `keeps` answers true; entries of no session ask with none.
    pub(super) fn keep(&mut self, keeps: impl Fn(Option<&str>) -> bool) {
        self.entries.retain(|entry| keeps(entry.get("session_id").and_then(Value::as_str)));
    }

    /// Adds the active modes of a scope.
    pub(super) fn extend(&mut self, scope: &Scope, active: Vec<(ModeName, Map<String, Value>)>) {
        for (mode, state) in active {
            let mut entry = Map::new();
            entry.insert("skill".into(), mode.as_str().into());
            let phase = state.get("current_phase").cloned().unwrap_or(Value::Null);
            entry.insert("phase".into(), phase);
            entry.insert("active".into(), true.into());
            for (field, from) in [("activated_at", "started_at"), ("updated_at", "updated_at")] {
                entry.insert(field.into(), state.get(from).cloned().unwrap_or(Value::Null));
            }
            if let Some(session) = scope.session() {
                entry.insert("session_id".into(), session.as_str().into());
            }
            self.entries.push(entry);
        }
    }

    /// The document. The mode that was shown first stays first while it is active.
    pub(super) fn finish(self, scope: &Scope, now: Timestamp, messages: &[String]) -> Map<String, Value> {
        let named = |entry: &&Map<String, Value>| entry.get("skill").and_then(Value::as_str) == self.primary.as_deref();
        let first = self.entries.iter().find(named).or(self.entries.first());
        let of = |field: &str| first.and_then(|entry| entry.get(field)).cloned().unwrap_or(Value::Null);
        let document = json!({
            "version": 1,
            "active": !self.entries.is_empty(),
            "skill": of("skill"),
            "phase": of("phase"),
            "session_id": scope.session(),
            "activated_at": of("activated_at"),
            "updated_at": now.to_string(),
            "active_skills": self.entries,
            "transition_message": messages.last(),
        });
        let Value::Object(mut document) = document else { unreachable!("BUG: an object is no object") };
        document.retain(|field, value| !value.is_null() || matches!(field.as_str(), "skill" | "phase"));
        document
    }
}
