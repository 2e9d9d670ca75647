//! The ends of modes in a draft: completed by a hand-over, cleared, cancelled, put aside.

use serde_json::{Map, Value, json};

use crate::model::{Help, ModeName, Scope, Suggestion, limits};
use crate::modes::policy::{CANCELLED, CLEARED, COMPLETED, clear_audit, says_active, says_inactive, text_of};
use crate::modes::state::board::ModeState;
use crate::modes::state::change::ModeEnd;
use crate::modes::state::draft::ModeDraft;

impl ModeDraft<'_> {
    /// Completes an active mode that hands over, with the audit fields of RCS.
    pub(super) fn complete(&mut self, scope: &Scope, mode: &ModeName, target: &ModeName) {
        let Some(mut state) = self.board.fields(scope, mode).cloned() else { return };
        if !says_active(&state) {
            return;
        }
        let now = self.now.to_string();
        clear_audit(&mut state);
        for field in ["terminal_outcome", "lifecycle_outcome", "run_outcome", "error"] {
            state.shift_remove(field);
        }
        state.insert("active".into(), false.into());
        state.insert("current_phase".into(), COMPLETED.into());
        if !state.get("completed_at").is_some_and(Value::is_string) {
            state.insert("completed_at".into(), now.clone().into());
        }
        state.insert("updated_at".into(), now.clone().into());
        state.insert("auto_completed_reason".into(), format!("mode transiting: {mode} -> {target}").into());
        let note = format!("{mode} was completed because it handed over to {target}");
        state.insert("completion_note".into(), note.into());
        state.insert("transition_source".into(), self.source.into());
        state.insert("transition_target_mode".into(), target.as_str().into());
        close_question(&mut state, "handoff", &now);
        state.insert("lifecycle_outcome".into(), "finished".into());
        state.insert("run_outcome".into(), "finish".into());
        self.note_end(scope, mode, &state, None);
        self.put(scope, mode, Some(state));
    }

    /// Removes the file of `mode`. If the root scope has a file too, the session's file stays and only hides that one.
    /// Works even if the file cannot be read.
    pub fn clear(&mut self, scope: &Scope, mode: &ModeName) -> bool {
        let Some(file) = self.board.file(scope, mode).cloned() else { return false };
        let hides = scope.session().is_some() && self.board.file(&Scope::Root, mode).is_some();
        if hides
            && let ModeState::Known(state) = &file
            && says_inactive(state)
            && text_of(state, "current_phase") == Some(CLEARED)
        {
            return false;
        }
        self.end(scope, mode, file);
        let now = self.now.to_string();
        let tombstone = json!({
            "mode": mode, "active": false, "current_phase": CLEARED, "updated_at": now,
            "completed_at": now, "session_id": scope.session(),
            "lifecycle_outcome": "userinterlude", "run_outcome": "cancelled",
        });
        let Value::Object(tombstone) = tombstone else { unreachable!("BUG: an object is no object") };
        self.put(scope, mode, if hides { Some(tombstone) } else { None });
        true
    }

    /// Cancels `mode` and keeps its file. Works even if the file cannot be read; the file of an inactive mode stays as
    /// it is. A very large file goes to quarantine, so that all modes of a session can be cancelled in one line of the
    /// log.
    pub fn cancel(&mut self, scope: &Scope, mode: &ModeName) -> bool {
        let Some(file) = self.board.file(scope, mode).cloned() else { return false };
        if matches!(&file, ModeState::Known(state) if !says_active(state)) {
            return false;
        }
        let mut state = self.end(scope, mode, file);
        if Value::from(state.clone()).to_string().len() > CARRIED {
            self.aside.insert((scope.clone(), mode.clone()));
            // What identifies it stays, unless that is what makes the file large.
            state.retain(|field, value| {
                matches!(field.as_str(), "run_id" | "session_id" | "started_at")
                    && matches!(value, Value::String(text) if text.len() < 300)
            });
        }
        let now = self.now.to_string();
        for field in ["terminal_outcome", "completed_at"] {
            state.shift_remove(field);
        }
        state.insert("mode".into(), mode.as_str().into());
        state.insert("active".into(), false.into());
        state.insert("current_phase".into(), CANCELLED.into());
        state.insert("completed_at".into(), now.clone().into());
        state.insert("updated_at".into(), now.clone().into());
        close_question(&mut state, "abort", &now);
        state.insert("lifecycle_outcome".into(), "userinterlude".into());
        state.insert("run_outcome".into(), "cancelled".into());
        self.put(scope, mode, Some(state));
        true
    }

    /// Records the end of a mode, whether its file can be read or not. Gives the fields that are known.
    fn end(&mut self, scope: &Scope, mode: &ModeName, file: ModeState) -> Map<String, Value> {
        match file {
            ModeState::Known(state) => {
                if says_active(&state) {
                    self.note_end(scope, mode, &state, None);
                }
                state
            }
            ModeState::Broken(why) => {
                self.note_end(scope, mode, &Map::new(), Some(why));
                self.aside.insert((scope.clone(), mode.clone()));
                Map::new()
            }
        }
    }

    pub(super) fn note_end(&mut self, scope: &Scope, mode: &ModeName, state: &Map<String, Value>, why: Option<String>) {
        let run = text_of(state, "run_id").map(str::to_owned);
        self.ended.push(ModeEnd { mode: mode.clone(), scope: scope.clone(), run, broken: why });
    }

    /// Cancels a mode of a session that is over.
    pub(super) fn put_aside(&mut self, scope: &Scope, mode: &ModeName, target: &ModeName, why: &str) {
        let Some(session) = scope.session() else { return };
        if !self.cancel(scope, mode) {
            return;
        }
        let note = format!("{mode} was put aside for {target}, since session {session} {why}");
        if let Some(mut state) = self.board.fields(scope, mode).cloned() {
            state.insert("completion_note".into(), note.clone().into());
            self.put(scope, mode, Some(state));
        }
        let request = Suggestion::flow("mode request").value(mode).option("session", session);
        self.warnings.push(Help::from(format!("{note}; ")) + request + " starts it again there");
    }
}

/// The largest file that is kept when its mode is cancelled, in bytes.
const CARRIED: usize = limits::MODE_BYTES / 4;

/// Closes a pending question: a mode that has ended gets no answer.
fn close_question(state: &mut Map<String, Value>, why: &str, now: &str) {
    let Some(Value::Object(question)) = state.get_mut("question_enforcement") else { return };
    if text_of(question, "status") == Some("pending") {
        question.insert("status".into(), "cleared".into());
        question.insert("clear_reason".into(), why.into());
        question.insert("cleared_at".into(), now.into());
    }
}
