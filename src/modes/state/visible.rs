//! The visible set: a file that lists the active modes for hooks and displays. It follows from the modes' files, and no
//! decision depends on it.

use serde_json::{Map, Value, json};

use crate::model::{Scope, SessionId, Timestamp, limits};
use crate::modes::policy::{Policy, text_of};
use crate::modes::state::board::Board;

/// The content of a visible set that the next one needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visible {
    /// The mode that is shown first.
    pub primary: Option<String>,
    /// The sessions with an active mode, as far as the set has room for them.
    pub sessions: Vec<SessionId>,
}

impl Visible {
    /// Reads a visible set; ignores what is not valid.
    #[must_use]
    pub fn read(value: &Map<String, Value>) -> Self {
        let primary = text_of(value, "skill").map(str::to_owned);
        let entries = value.get("active_skills").and_then(Value::as_array).into_iter().flatten();
        let ids = entries.filter_map(|entry| entry.get("session_id")?.as_str());
        // Other programs write the file, too, so an id may be invalid.
        let mut sessions: Vec<SessionId> = ids.filter_map(|id| SessionId::new(id).ok()).collect();
        sessions.dedup();
        sessions.truncate(limits::SHOWN_SESSIONS);
        Self { primary, sessions }
    }
}

/// The visible set of `scope`. That of the root scope has the modes of everyone on the board. The mode that was first
/// stays first while it is active.
pub(super) fn visible_set(
    board: &Board,
    policy: &Policy,
    scope: &Scope,
    before: &Visible,
    now: Timestamp,
    message: Option<&String>,
) -> Map<String, Value> {
    let entries = match scope {
        Scope::Session(_) => entries(board, policy, scope),
        Scope::Root => entries_of_all(board, policy),
    };
    let primary = entries.iter().find(|entry| text_of(entry, "skill") == before.primary.as_deref());
    let none = Map::new();
    let first = primary.or(entries.first()).unwrap_or(&none);
    let document = json!({
        "version": 1,
        "active": !entries.is_empty(),
        "skill": first.get("skill"),
        "phase": first.get("phase"),
        "session_id": scope.session(),
        "activated_at": first.get("activated_at"),
        "updated_at": now.to_string(),
        "active_skills": entries,
        "transition_message": message,
    });
    let Value::Object(mut document) = document else { unreachable!("BUG: an object is no object") };
    document.retain(|field, value| !value.is_null() || matches!(field.as_str(), "skill" | "phase"));
    document
}

/// The modes of all scopes: those of the sessions, then those of the root scope.
fn entries_of_all(board: &Board, policy: &Policy) -> Vec<Map<String, Value>> {
    let mut scopes = board.scopes();
    scopes.retain(|scope| *scope != Scope::Root);
    let mut sessions: Vec<_> = scopes.iter().map(|scope| entries(board, policy, scope)).collect();
    sessions.retain(|entries| !entries.is_empty());
    shorten(&mut sessions);
    sessions.push(entries(board, policy, &Scope::Root));
    sessions.concat()
}

/// The modes that files in `scope` itself make active.
fn entries(board: &Board, policy: &Policy, scope: &Scope) -> Vec<Map<String, Value>> {
    let mut entries = Vec::new();
    for (mode, state) in board.own_active(policy, scope) {
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
        entries.push(entry);
    }
    entries
}

/// Drops the sessions that have not changed for the longest time if there are too many to show.
fn shorten(sessions: &mut Vec<Vec<Map<String, Value>>>) {
    let mut times: Vec<String> = sessions.iter().map(|entries| last_update(entries).to_owned()).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(oldest_shown) = times.get(limits::SHOWN_SESSIONS - 1) {
        sessions.retain(|entries| last_update(entries) >= oldest_shown.as_str());
        // Several may have changed at the same time as the last one that has room.
        sessions.truncate(limits::SHOWN_SESSIONS);
    }
}

fn last_update(entries: &[Map<String, Value>]) -> &str {
    entries.iter().filter_map(|entry| text_of(entry, "updated_at")).max().unwrap_or_default()
}
