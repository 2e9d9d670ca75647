//! Which run is meant when none is named.

use crate::engine::RunState;
use crate::model::{RunId, RunStatus, SessionId};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::view::for_listing;
use crate::report::Unreadable;
use crate::store::{Project, RunDir};

/// All runs that can be read, newest first, and the others.
pub(crate) struct Runs {
    pub(crate) states: Vec<RunState>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Runs {
    pub(crate) fn read(flow: &Flow, project: &Project) -> Result<Self> {
        let mut runs = Self { states: Vec::new(), unreadable: Vec::new() };
        project.each_run(|name, run| {
            match run.map_err(Error::from).and_then(|run| for_listing(flow, project, &run)) {
                Ok(state) => runs.states.push(state),
                Err(error) => runs
                    .unreadable
                    .push(Unreadable { run_id: name.to_owned(), reason: crate::ops::problem::one_line(&error) }),
            }
        })?;
        runs.states.sort_by(|a, b| {
            let key = |state: &RunState| (state.document().created_at, state.id().clone());
            key(b).cmp(&key(a))
        });
        runs.unreadable.sort_by(|a, b| a.run_id.cmp(&b.run_id));
        Ok(runs)
    }
}

impl Flow {
    /// As [`Self::select`], for writing: a guess is refused when a run that cannot be read may be the one that is meant.
    pub(crate) fn select_to_write(
        &self,
        project: &Project,
        named: Option<&str>,
        session: Option<&SessionId>,
    ) -> Result<RunDir> {
        let run = self.select(project, named, session)?;
        if named.is_none() {
            let runs = Runs::read(self, project)?;
            let mine = |state: &RunState| session.is_some() && state.document().state.session.as_ref() == session;
            let sure = runs.states.iter().any(|state| state.id() == run.id() && mine(state));
            if let (false, Some(unreadable)) = (sure, runs.unreadable.into_iter().next()) {
                return Err(Error::UnsureRun { candidate: run.id().clone(), unreadable: unreadable.run_id });
            }
        }
        Ok(run)
    }

    /// The run that is named, or the session's, or the only one that is active.
    pub(crate) fn select(&self, project: &Project, named: Option<&str>, session: Option<&SessionId>) -> Result<RunDir> {
        if let Some(id) = named {
            return self.run(project, id);
        }
        let runs = Runs::read(self, project)?;
        let open: Vec<_> = runs.states.iter().filter(|state| !state.status().is_terminal()).collect();
        let own = |state: &&&RunState| session.is_some() && state.document().state.session.as_ref() == session;
        let active = |state: &&&RunState| state.status() == RunStatus::Active;
        let mine: Vec<_> = open.iter().filter(own).collect();
        let candidates: Vec<RunId> = match (mine.is_empty(), open.iter().filter(active).count()) {
            (false, _) => mine.iter().map(|state| state.id().clone()).collect(),
            (true, 0) => open.iter().map(|state| state.id().clone()).collect(),
            (true, _) => open.iter().filter(active).map(|state| state.id().clone()).collect(),
        };
        match candidates.as_slice() {
            [only] => Ok(project.run(only)?),
            [] => Err(Error::NoActiveRun {
                unreadable: runs.unreadable.into_iter().map(|run| format!("{}: {}", run.run_id, run.reason)).collect(),
            }),
            _ => Err(Error::SeveralRuns { candidates }),
        }
    }
}
