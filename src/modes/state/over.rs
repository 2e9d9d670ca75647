//! Detects sessions that are over: their modes do not prevent modes in the root scope.

use serde_json::{Map, Value};

use crate::model::{Scope, Timestamp};
use crate::modes::policy::Policy;
use crate::modes::state::board::Board;

/// The field with the time at which the session's end was recorded.
const ENDED: &str = "session_ended_at";
/// The field with the process that lives as long as the session.
const HOLDER: &str = "session_holder";

/// Tells from the evidence about a process whether the process is known to be dead.
pub type IsDead<'a> = &'a dyn Fn(&str) -> bool;

/// How it is known that the session of a mode's file is over; none if it is not known.
#[must_use]
pub fn why_over(state: &Map<String, Value>, is_dead: IsDead<'_>) -> Option<String> {
    let text = |field: &str| state.get(field).and_then(Value::as_str);
    match (text(ENDED), text(HOLDER)) {
        (Some(at), _) => Some(format!("ended at {at}")),
        (None, Some(holder)) if is_dead(holder) => Some("lost its process".to_owned()),
        _ => None,
    }
}

/// How it is known that the session of `scope` is over: all of its active modes must say so. A mode that began later
/// shows that the session came back.
pub(super) fn session_over(board: &Board, policy: &Policy, scope: &Scope, is_dead: IsDead<'_>) -> Option<String> {
    let own = board.own_active(policy, scope);
    let told: Option<Vec<String>> = own.iter().map(|(_, state)| why_over(state, is_dead)).collect();
    told?.pop().filter(|_| *scope != Scope::Root)
}

/// Marks the session of this file as over. False if the file already had the mark.
pub(super) fn note_end(state: &mut Map<String, Value>, now: Timestamp) -> bool {
    let is_new = !state.contains_key(ENDED);
    state.entry(ENDED).or_insert_with(|| now.to_string().into());
    is_new
}

/// Marks the session of this file as alive, in the process `holder`. False if nothing changed.
pub(super) fn note_life(state: &mut Map<String, Value>, holder: Option<&str>) -> bool {
    let before = state.clone();
    state.shift_remove(ENDED);
    match holder {
        Some(holder) => drop(state.insert(HOLDER.into(), holder.into())),
        None => drop(state.shift_remove(HOLDER)),
    }
    *state != before
}
