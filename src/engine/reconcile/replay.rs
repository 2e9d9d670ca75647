//! Replays a log, and gives the `run.yaml` of every event.

use crate::codec::{RunText, RunTextError, RunVersions};
use crate::engine::RunState;
use crate::engine::reconcile::text::text_of;
use crate::model::{Event, EventKind};

/// The `run.yaml` after the events so far.
#[derive(Default)]
pub(crate) struct Replay {
    state: Option<RunState>,
    versions: Option<RunVersions>,
}

impl Replay {
    /// Applies the next event.
    pub(crate) fn take(&mut self, event: &Event) -> Result<(), RunTextError> {
        let mut before = 0;
        let state = match (RunState::begin(event), self.state.take()) {
            (Some(begun), _) => begun,
            (None, Some(mut state)) => {
                before = state.document().state.completed_activities.len();
                state.apply(event);
                state
            }
            (None, None) => return Ok(()),
        };
        let owned = &state.document().state;
        let versions = match (text_of(event), &event.kind, self.versions.take()) {
            (Some(text), ..) => RunVersions::new(RunText::parse(text)?.with_state(owned)?)?,
            (None, EventKind::RunStarted(_) | EventKind::RunForked(_), _) | (None, _, None) => {
                let text = RunText::create_as_begun(state.document(), event.run.as_ref());
                RunVersions::new(text.with_state(owned)?)?
            }
            (None, _, Some(mut versions)) => {
                // An event that removes entries from the list carries a text of its own, so here the list only grows.
                versions.advance(owned, owned.completed_activities.len().saturating_sub(before))?;
                versions
            }
        };
        (self.state, self.versions) = (Some(state), Some(versions));
        Ok(())
    }

    /// The digest of the current `run.yaml`; `None` before the run begins.
    pub(crate) fn digest(&self) -> Option<String> {
        Some(self.versions.as_ref()?.digest())
    }

    /// The current `run.yaml`; `None` before the run begins.
    pub(crate) fn text(&self) -> Option<String> {
        Some(self.versions.as_ref()?.text())
    }
}
