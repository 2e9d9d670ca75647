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
        let before = self.state.as_ref().map_or(0, |state| state.document().state.completed_activities.len());
        let state = match (RunState::begin(event), self.state.take()) {
            (Some(begun), _) => begun,
            (None, Some(mut state)) => {
                state.apply(event);
                state
            }
            (None, None) => return Ok(()),
        };
        let owned = &state.document().state;
        let begins = |text: RunText| RunVersions::new(text.with_state(owned)?).map(Some);
        self.versions = match (text_of(event), &event.kind, self.versions.take()) {
            (Some(text), ..) => begins(RunText::parse(text)?)?,
            (None, EventKind::RunStarted(_), _) | (None, _, None) => begins(RunText::create(state.document()))?,
            (None, _, Some(mut versions)) => {
                // An event that removes entries from the list carries a text of its own, so here the list only grows.
                versions.advance(owned, owned.completed_activities.len().saturating_sub(before))?;
                Some(versions)
            }
        };
        self.state = Some(state);
        Ok(())
    }

    /// The digest of the current `run.yaml`; `None` before the run begins.
    pub(crate) fn digest(&self) -> Option<String> {
        self.versions.as_ref().map(RunVersions::digest)
    }

    /// The current `run.yaml`; `None` before the run begins.
    pub(crate) fn text(&self) -> Option<String> {
        self.versions.as_ref().map(RunVersions::text)
    }
}
