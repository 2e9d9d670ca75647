//! The fields of a mode's file that say whether its session is over.

use serde_json::{Map, Value};

use crate::model::Timestamp;
use crate::modes::policy::text_of;

/// The field with the time at which the session's end was recorded.
const ENDED: &str = "session_ended_at";
/// The field with the process that lives as long as the session.
const HOLDER: &str = "session_holder";

/// Tells from the evidence about a process whether the process is known to be dead.
pub type IsDead<'a> = &'a dyn Fn(&str) -> bool;

/// How it is known that the session of a mode's file is over; none if it is not known.
#[must_use]
pub fn why_over(state: &Map<String, Value>, is_dead: IsDead<'_>) -> Option<String> {
    if let Some(at) = text_of(state, ENDED) {
        return Some(format!("ended at {at}"));
    }
    let holder = text_of(state, HOLDER)?;
    if is_dead(holder) { Some("lost its process".to_owned()) } else { None }
}

/// Whether the file says that its session ended.
#[must_use]
pub fn says_ended(state: &Map<String, Value>) -> bool {
    text_of(state, ENDED).is_some()
}

/// Marks the session of this file as over. False if the file already had the mark.
pub(super) fn note_end(state: &mut Map<String, Value>, now: Timestamp) -> bool {
    // The first end counts: a host may report it twice.
    if state.contains_key(ENDED) {
        return false;
    }
    state.insert(ENDED.into(), now.to_string().into());
    true
}

/// Marks the session of this file as alive, in the process `holder`. False if nothing changed.
pub(super) fn note_life(state: &mut Map<String, Value>, holder: Option<&str>) -> bool {
    let before = state.clone();
    state.shift_remove(ENDED);
    match holder {
        Some(holder) => drop(state.insert(HOLDER.into(), holder.into())),
        // The process of an earlier time says nothing about the session that is at work now.
        None => drop(state.shift_remove(HOLDER)),
    }
    *state != before
}
