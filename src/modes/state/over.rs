//! Sessions that are known to be over: their modes keep nobody else from a mode for everybody.

use serde_json::{Map, Value};

use crate::model::{Scope, Timestamp};
use crate::modes::policy::Policy;
use crate::modes::state::board::Board;

/// When the end of the session was told.
const ENDED: &str = "session_ended_at";
/// The process whose life is the session's.
const HOLDER: &str = "session_holder";

/// Whether a process is known dead, by its evidence.
pub type IsDead<'a> = &'a dyn Fn(&str) -> bool;

/// How it is known that the session of a mode's file is over; none when nobody knows.
#[must_use]
pub fn why_over(state: &Map<String, Value>, is_dead: IsDead<'_>) -> Option<String> {
    let text = |field: &str| state.get(field).and_then(Value::as_str);
    match (text(ENDED), text(HOLDER)) {
        (Some(at), _) => Some(format!("ended at {at}")),
        (None, Some(holder)) if is_dead(holder) => Some("lost its process".to_owned()),
        _ => None,
    }
}

/// How it is known that the session of `scope` is over: every mode that it has active says so. One that began later shows
/// that the session came back.
pub(super) fn session_over(board: &Board, policy: &Policy, scope: &Scope, is_dead: IsDead<'_>) -> Option<String> {
    let own = board.own_active(policy, scope);
    let told: Option<Vec<String>> = own.iter().map(|(_, state)| why_over(state, is_dead)).collect();
    told?.pop().filter(|_| *scope != Scope::Root)
}

/// Notes that the session of this file is over; whether that is new.
pub(super) fn note_end(state: &mut Map<String, Value>, now: Timestamp) -> bool {
    let is_new = !state.contains_key(ENDED);
    state.entry(ENDED).or_insert_with(|| now.to_string().into());
    is_new
}

/// Notes that the session of this file is there, in the process `holder`; whether that is new.
pub(super) fn note_life(state: &mut Map<String, Value>, holder: Option<&str>) -> bool {
    let before = state.clone();
    state.shift_remove(ENDED);
    match holder {
        Some(holder) => drop(state.insert(HOLDER.into(), holder.into())),
        None => drop(state.shift_remove(HOLDER)),
    }
    *state != before
}
