//! The state of a run.

use crate::engine::gates;
use crate::model::{Event, EventKind, OwnedState, RunDocument, RunId, RunStatus, StateName};

/// The result of a run's events. Not serialisable on purpose: on disk it is a [`RunDocument`], for callers a report.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    pub(super) run: RunDocument,
}

impl RunState {
    /// The state that a `run.yaml` shows, as of its `last_seq`.
    #[must_use]
    pub fn from_document(document: RunDocument) -> Self {
        Self { run: document }
    }

    /// The state after an event that begins a run; `None` for other events.
    #[must_use]
    pub fn begin(first: &Event) -> Option<Self> {
        let mut run = match &first.kind {
            EventKind::RunStarted(started) => RunDocument {
                id: started.run_id.clone(),
                workflow: started.workflow.clone(),
                workflow_version: started.workflow_version,
                goal: started.goal.clone(),
                created_at: first.at,
                context: started.context.clone(),
                limits: started.limits.clone(),
                state: OwnedState {
                    current_phase: started.phase.clone(),
                    session: started.session.clone(),
                    epoch: u64::from(started.session.is_some()),
                    gates: gates::of_start(&started.machine, started.phase.as_ref()),
                    ..OwnedState::default()
                },
            },
            EventKind::RunForked(forked) => {
                let mut run = forked.document.clone();
                run.state.forked_from = Some(forked.parent.clone());
                run
            }
            EventKind::RunAdopted(adopted) => {
                let mut run = adopted.document.clone();
                // What the file says of its gates is another program's, so only the workflow's count.
                run.state.gates.clear();
                gates::unprove(&mut run.state, adopted.machine.as_ref(), &[]);
                run
            }
            EventKind::LogRepaired(repair) => {
                let mut run = repair.document.clone();
                gates::unprove(&mut run.state, repair.machine.as_ref(), &[]);
                run
            }
            _ => return None,
        };
        run.state.last_seq = Some(first.seq);
        run.state.updated_at = Some(first.at);
        Some(Self { run })
    }

    /// The fold of a whole log; `None` if no event begins a run. Events before the beginning are ignored: damage cut
    /// them off, and the repair that begins the run again includes what they did.
    #[must_use]
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let mut state = events.find_map(Self::begin)?;
        for event in events {
            state.apply(event);
        }
        Some(state)
    }

    /// The document that shows this state.
    #[must_use]
    pub fn document(&self) -> &RunDocument {
        &self.run
    }

    /// As [`Self::document`], consuming the state.
    #[must_use]
    pub fn into_document(self) -> RunDocument {
        self.run
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.run.id
    }

    /// The run's status.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.run.state.status
    }

    /// The run's current phase.
    #[must_use]
    pub fn phase(&self) -> Option<&StateName> {
        self.run.state.current_phase.as_ref()
    }
}
