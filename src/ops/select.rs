//! Which run is meant when none is named.

use crate::engine::RunState;
use crate::model::{RunStatus, SessionId};
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

    /// The run that is meant when none is named: the session's, else the only active one, else the only open one.
    fn meant(&self, session: Option<&SessionId>) -> Result<&RunState> {
        let open: Vec<_> = self.states.iter().filter(|state| !state.status().is_terminal()).collect();
        let only = |wanted: &dyn Fn(&RunState) -> bool| -> Vec<&RunState> {
            open.iter().copied().filter(|state| wanted(state)).collect()
        };
        let groups = [
            only(&|state| is_own(state, session)),
            only(&|state| state.status() == RunStatus::Active),
            only(&|_| true),
        ];
        let candidates = groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default();
        match candidates.as_slice() {
            [only] => Ok(only),
            [] => Err(Error::NoActiveRun {
                unreadable: self.unreadable.iter().map(|run| format!("{}: {}", run.run_id, run.reason)).collect(),
            }),
            several => Err(Error::SeveralRuns { candidates: several.iter().map(|state| state.id().clone()).collect() }),
        }
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
        if let Some(id) = named {
            return self.run(project, id);
        }
        let runs = Runs::read(self, project)?;
        let run = runs.meant(session)?;
        match runs.unreadable.first() {
            Some(unreadable) if !is_own(run, session) => {
                let unreadable = unreadable.run_id.clone();
                Err(Error::UnsureRun { candidate: run.id().clone(), unreadable })
            }
            _ => Ok(project.run(run.id())?),
        }
    }

    /// The run that is named, or the session's, or the only one that is active.
    pub(crate) fn select(&self, project: &Project, named: Option<&str>, session: Option<&SessionId>) -> Result<RunDir> {
        match named {
            Some(id) => self.run(project, id),
            None => Ok(project.run(Runs::read(self, project)?.meant(session)?.id())?),
        }
    }
}

fn is_own(state: &RunState, session: Option<&SessionId>) -> bool {
    session.is_some() && state.document().state.session.as_ref() == session
}
