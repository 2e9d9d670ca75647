//! What a reader should know beside the verdict.

use crate::engine::resume::outlook::{Drift, HoldState, Outlook};
use crate::engine::{History, Undone};
use crate::machine::in_words;
use crate::model::{RunStatus, SESSION_ENDED};

pub(super) fn notes(history: &History, outlook: &Outlook<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let state = &history.state().document().state;
    if state.status == RunStatus::Active && state.blocked_reason.as_deref() == Some(SESSION_ENDED) {
        notes.push("the session that worked on it ended".to_owned());
    }
    for skip in history.skips() {
        let left = match &skip.exec {
            Some(exec) if skip.is_taken_back() => {
                format!("passed over when the run was completed, although `{exec}` was not seen to pass")
            }
            None if skip.is_taken_back() => "passed over when the run was completed".to_owned(),
            Some(exec) => format!("left although `{exec}` was not seen to pass"),
            None => "left undone".to_owned(),
        };
        notes.push(format!("`{}` was {left} (event {}): {}", skip.phase, skip.seq, skip.reason));
    }
    if state.status == RunStatus::Completed
        && let (Some(machine), Some(here)) = (outlook.machine, &state.current_phase)
        && machine.contains(here)
        && !machine.is_terminal(here)
        && !machine.terminal().is_empty()
    {
        let last: Vec<_> = machine.terminal().iter().map(|name| format!("`{name}`")).collect();
        notes.push(format!("it was completed in `{here}`; its workflow ends in {}", last.join(", ")));
    }
    if state.status == RunStatus::Active {
        for step in state.running_steps() {
            if !state.is_in(step) {
                notes.push(format!("`{step}` was left without a report that it is done"));
            }
        }
    }
    if state.status == RunStatus::Completed {
        for (phase, work) in history.unsettled() {
            notes.push(Undone::new(None, phase, &work).to_string());
        }
    }
    if outlook.hold_state == HoldState::HolderDead {
        notes.push("the process that held it is gone".to_owned());
    }
    if let Drift::Elsewhere(differences) = &outlook.drift {
        notes.push(format!("the workflow changed elsewhere: {}", in_words(differences)));
    }
    let workers = history.open_workers();
    if !workers.is_empty() {
        let open = if state.status.is_terminal() { "not finished when the run ended" } else { "not finished" };
        notes.push(format!("{open}: {}", workers.join(", ")));
    }
    notes.extend(history.dropped_requirements());
    notes.extend(history.losses());
    notes
}
