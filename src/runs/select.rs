//! Which run is meant when none is named.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::DiskError;
use crate::model::{Explain as _, RunId, RunStatus, RunSummary, SessionId, Timestamp};
use crate::runs::context::Flow;
use crate::runs::error::{Error, Result};
use crate::runs::view::for_listing;
use crate::store::{Project, RunDir, StoreError};

/// A thread more costs as much as reading some runs.
const RUNS_A_THREAD: usize = 128;

/// What `pick` takes from those of these runs that can be read, in no order, and the runs that cannot be read. Many runs
/// are shared out among threads.
pub(crate) fn read_runs<T: Send>(
    flow: &Flow,
    project: &Project,
    names: &[String],
    pick: impl Fn(RunSummary) -> Option<T> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let read = |names: &[String]| -> Result<_> {
        let (mut picked, mut unreadable) = (Vec::new(), Vec::new());
        project.each_of(names, |name, run| {
            match run.map_err(Error::from).and_then(|run| for_listing(flow, project, &run)) {
                Ok(summary) => picked.extend(pick(summary)),
                // Not here: it is another branch's.
                Err(Error::Elsewhere { .. }) => {}
                Err(error) => unreadable.push(Unreadable { run_id: name.to_owned(), reason: error.one_line() }),
            }
        })?;
        Ok((picked, unreadable))
    };
    let useful = names.len() / RUNS_A_THREAD;
    let threads = if useful < 2 { 1 } else { thread::available_parallelism().map_or(1, usize::from).min(useful) };
    let (own, others) = names.split_at(names.len().div_ceil(threads));
    let (picked, mut unreadable) = thread::scope(|scope| {
        let others: Vec<_> = others.chunks(own.len().max(1)).map(|names| scope.spawn(|| read(names))).collect();
        let mut all = read(own)?;
        for other in others {
            let (picked, unreadable) = other.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            all.0.extend(picked);
            all.1.extend(unreadable);
        }
        Ok::<_, Error>(all)
    })?;
    unreadable.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    Ok((picked, unreadable))
}

/// Runs that can be read, newest first, and the others.
pub(crate) struct Runs {
    pub(crate) summaries: Vec<RunSummary>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Runs {
    /// Those that are not over, and maybe some others.
    pub(crate) fn read_open(flow: &Flow, project: &Project) -> Result<Self> {
        let found = project.maybe_open(flow.outside(project).as_deref())?;
        Self::read_of(flow, project, &found.names)
    }

    /// As [`Self::read_open`], for commands that write: what was found out is remembered.
    pub(crate) fn read_open_and_remember(flow: &Flow, project: &Project, now: Timestamp) -> Result<Self> {
        let outside = flow.outside(project);
        let found = project.maybe_open(outside.as_deref())?;
        let runs = Self::read_of(flow, project, &found.names)?;
        let over = runs.summaries.iter().filter(|run| run.status.is_terminal()).map(|run| run.id.as_str());
        let over: HashSet<_> = over.collect();
        let request = || flow.lock_request(now, Duration::ZERO);
        project.remember_over(request, found, outside.as_deref(), |name| over.contains(name));
        Ok(runs)
    }

    fn read_of(flow: &Flow, project: &Project, names: &[String]) -> Result<Self> {
        let (mut summaries, unreadable) = read_runs(flow, project, names, Some)?;
        summaries.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        Ok(Self { summaries, unreadable })
    }

    /// Those that are not over.
    pub(crate) fn open(&self) -> impl Iterator<Item = &RunSummary> {
        self.summaries.iter().filter(|run| !run.status.is_terminal())
    }

    /// The run that is meant when none is named: the session's, else the only active one, else the only open one.
    fn meant(&self, session: Option<&SessionId>) -> Result<&RunSummary> {
        let open: Vec<_> = self.open().collect();
        let only = |wanted: &dyn Fn(&RunSummary) -> bool| -> Vec<&RunSummary> {
            open.iter().copied().filter(|run| wanted(run)).collect()
        };
        let groups = [only(&|run| is_own(run, session)), only(&|run| run.status == RunStatus::Active), only(&|_| true)];
        let candidates = groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default();
        match candidates.as_slice() {
            [only] => Ok(only),
            [] => Err(Error::NoActiveRun { unreadable: in_words(&self.unreadable) }),
            several => Err(Error::SeveralRuns { candidates: several.iter().map(|run| run.id.clone()).collect() }),
        }
    }
}

/// The run that was started last, whatever became of it.
pub(crate) const LATEST: &str = "@latest";

/// The run that is meant by a command that only looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeantRun {
    /// The run.
    pub run_id: RunId,
    /// Whether it was taken as the open one.
    pub open: bool,
    /// Why this one, when none was named.
    pub why: Option<String>,
}

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unreadable {
    /// The name of its directory.
    pub run_id: String,
    /// Why.
    pub reason: String,
}

impl Flow {
    /// Opens the run that `given` means: its id, the beginning of the id of one run alone, or [`LATEST`].
    pub(crate) fn run(&self, project: &Project, given: &str) -> Result<RunDir> {
        if given == LATEST {
            return Ok(project.run(&self.latest(project)?)?);
        }
        match self.run_exactly(project, given) {
            Err(Error::NoSuchRun { suggestion, .. }) => {
                let names = project.run_names()?;
                let mut begun: Vec<_> = names.into_iter().filter(|name| name.starts_with(given)).collect();
                begun.sort_unstable();
                match begun.as_slice() {
                    [] => {
                        let worktree = self.worktree_with(given);
                        Err(Error::NoSuchRun { id: given.to_owned(), suggestion, worktree })
                    }
                    [only] => Ok(project.run(&RunId::new(only.as_str())?)?),
                    _ => Err(Error::AmbiguousRun { given: given.to_owned(), candidates: begun }),
                }
            }
            found => found,
        }
    }

    /// Opens the run of this id.
    pub(crate) fn run_exactly(&self, project: &Project, id: &str) -> Result<RunDir> {
        match project.run(&RunId::new(id)?) {
            Err(StoreError::Disk(DiskError::NotFound { .. })) => {
                let names = project.run_names().unwrap_or_default();
                let suggestion = crate::codec::similar(id, names.iter().map(String::as_str)).map(str::to_owned);
                Err(Error::NoSuchRun { id: id.to_owned(), suggestion, worktree: None })
            }
            found => Ok(found?),
        }
    }

    pub(crate) fn latest(&self, project: &Project) -> Result<RunId> {
        let (runs, unreadable) = read_runs(self, project, &project.run_names()?, |run| Some((run.created_at, run.id)))?;
        let latest = runs.into_iter().max().map(|(_, id)| id);
        latest.ok_or_else(|| Error::NoActiveRun { unreadable: in_words(&unreadable) })
    }

    /// The run that a command means which only looks at one: the one that is named; otherwise the session's, the only
    /// one that is active, the only one that is open, or the latest when all are over.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`] and [`Error::AmbiguousRun`] for a name; [`Error::SeveralRuns`] when several are open,
    /// [`Error::NoActiveRun`] when there is none at all.
    pub fn meant_run(&self, named: Option<&str>, session: Option<SessionId>) -> Result<MeantRun> {
        let project = self.project()?;
        if let Some(given) = named {
            return Ok(MeantRun { run_id: self.run(&project, given)?.id().clone(), open: false, why: None });
        }
        let caller = self.caller(session, None)?;
        let runs = Runs::read_open(self, &project)?;
        match runs.meant(caller.session.as_ref()) {
            Ok(run) => Ok(MeantRun { run_id: run.id.clone(), open: true, why: Some("the open run".to_owned()) }),
            Err(Error::NoActiveRun { unreadable }) if unreadable.is_empty() => {
                let run_id = self.latest(&project)?;
                Ok(MeantRun { run_id, open: false, why: Some("no run is open; this one is the latest".to_owned()) })
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Self::select`], for writing: a guess is refused when a run that cannot be read may be the one that is meant.
    pub(crate) fn select_to_write(
        &self,
        project: &Project,
        named: Option<&str>,
        session: Option<&SessionId>,
        now: Timestamp,
    ) -> Result<RunDir> {
        if let Some(id) = named {
            return self.run(project, id);
        }
        let runs = Runs::read_open_and_remember(self, project, now)?;
        let run = runs.meant(session)?;
        match runs.unreadable.first() {
            Some(unreadable) if !is_own(run, session) => {
                let unreadable = unreadable.run_id.clone();
                Err(Error::UnsureRun { candidate: run.id.clone(), unreadable })
            }
            _ => Ok(project.run(&run.id)?),
        }
    }

    /// The run that is named, or the session's, or the only one that is active.
    pub(crate) fn select(&self, project: &Project, named: Option<&str>, session: Option<&SessionId>) -> Result<RunDir> {
        match named {
            Some(id) => self.run(project, id),
            None => Ok(project.run(&Runs::read_open(self, project)?.meant(session)?.id)?),
        }
    }
}

fn in_words(unreadable: &[Unreadable]) -> Vec<String> {
    unreadable.iter().map(|run| format!("{}: {}", run.run_id, run.reason)).collect()
}

fn is_own(run: &RunSummary, session: Option<&SessionId>) -> bool {
    session.is_some() && run.session.as_ref() == session
}
