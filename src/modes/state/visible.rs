//! The visible set: a file that lists the active modes for hooks and displays. It follows from the modes' files, and no
//! decision depends on it.

use serde_json::{Map, Value, json};

use crate::model::{Scope, SessionId, Timestamp, limits};
use crate::modes::policy::Policy;
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
        let entries = value.get("active_skills").and_then(Value::as_array).into_iter().flatten();
        let sessions = entries.filter_map(|entry| SessionId::new(entry.get("session_id")?.as_str()?).ok());
        let mut sessions: Vec<_> = sessions.collect();
        sessions.dedup();
        sessions.truncate(limits::SHOWN_SESSIONS);
        Self { primary: value.get("skill").and_then(Value::as_str).map(str::to_owned), sessions }
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
    let entries: Vec<_> = match scope {
        Scope::Session(_) => entries(board, policy, scope),
        Scope::Root => {
            let sessions = board.scopes().into_iter().filter(|scope| scope.session().is_some());
            let mut sessions: Vec<_> = sessions.map(|scope| entries(board, policy, &scope)).collect();
            sessions.retain(|entries| !entries.is_empty());
            shorten(&mut sessions);
            sessions.into_iter().flatten().chain(entries(board, policy, scope)).collect()
        }
    };
    let named = |entry: &&Map<String, Value>| entry.get("skill").and_then(Value::as_str) == before.primary.as_deref();
    let first = entries.iter().find(named).or(entries.first());
    let of = |field: &str| first.and_then(|entry| entry.get(field)).cloned().unwrap_or(Value::Null);
    let document = json!({
        "version": 1,
        "active": !entries.is_empty(),
        "skill": of("skill"),
        "phase": of("phase"),
        "session_id": scope.session(),
        "activated_at": of("activated_at"),
        "updated_at": now.to_string(),
        "active_skills": entries,
        "transition_message": message,
    });
    let Value::Object(mut document) = document else { unreachable!("BUG: an object is no object") };
    document.retain(|field, value| !value.is_null() || matches!(field.as_str(), "skill" | "phase"));
    document
}

/// The modes that files in `scope` itself make active.
fn entries(board: &Board, policy: &Policy, scope: &Scope) -> Vec<Map<String, Value>> {
    let own = board.own_active(policy, scope).into_iter();
    own.map(|(mode, state)| {
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
        entry
    })
    .collect()
}

/// Drops the sessions that have not changed for the longest time if there are too many to show.
fn shorten(sessions: &mut Vec<Vec<Map<String, Value>>>) {
    let latest = |entries: &Vec<Map<String, Value>>| {
        let updated = entries.iter().filter_map(|entry| entry.get("updated_at")?.as_str());
        updated.max().unwrap_or_default().to_owned()
    };
    let mut times: Vec<_> = sessions.iter().map(latest).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(oldest_shown) = times.get(limits::SHOWN_SESSIONS - 1) {
        sessions.retain(|entries| latest(entries) >= *oldest_shown);
        sessions.truncate(limits::SHOWN_SESSIONS);
    }
}
