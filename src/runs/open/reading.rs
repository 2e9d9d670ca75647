//! Reads many runs: all of them, or those that are not over.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::Processors;
use crate::model::{Explain as _, RunId, RunSummary, SessionId, Timestamp};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::view::{Listed, for_listing};
use crate::store::{Project, StoredRun};

/// Starting another thread costs as much as reading some runs.
const RUNS_A_THREAD: usize = 128;

/// What `pick` takes from all readable runs, in any order, and the unreadable runs. Runs that are over are taken from
/// the store's cache where it has them.
pub(crate) fn read_all<T: Send>(
    cx: &Context,
    project: &Project,
    pick: impl Fn(RunSummary) -> Option<T> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    read_all_with(project, &pick, |run| Ok(pick(for_listing(cx, project, run)?.summary)))
}

/// As [`read_all`]: `pick` takes the runs that the store knows to be over, `read` reads the others.
pub(in crate::runs) fn read_all_with<T: Send>(
    project: &Project,
    pick: impl Fn(RunSummary) -> Option<T> + Sync,
    read: impl Fn(&dyn StoredRun) -> Result<Option<T>> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let picked = Mutex::new(Vec::new());
    let others = project.runs().listing(&|finished| {
        let mut finished: Vec<_> = finished.into_iter().filter_map(&pick).collect();
        picked.lock().unwrap_or_else(PoisonError::into_inner).append(&mut finished);
    })?;
    let (read, unreadable) = read_runs(project, &others, read)?;
    let mut all = picked.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.extend(read);
    Ok((all, unreadable))
}

/// What `read` takes from those of these runs that are readable, in any order, and the unreadable runs. Many runs are
/// divided among threads.
pub(crate) fn read_runs<T: Send>(
    project: &Project,
    ids: &[RunId],
    read: impl Fn(&dyn StoredRun) -> Result<Option<T>> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let read = |ids: &[RunId]| -> Result<_> {
        let (mut picked, mut unreadable) = (Vec::new(), Vec::new());
        project.runs().each(ids, &mut |id, run| {
            match run.map_err(Error::from).and_then(|run| read(&*run)) {
                Ok(taken) => picked.extend(taken),
                // The files are on another branch, so the run is not listed here.
                Err(Error::Elsewhere { .. }) => {}
                Err(error) => unreadable.push(Unreadable { run_id: id.to_string(), reason: error.one_line() }),
            }
        })?;
        Ok((picked, unreadable))
    };
    let useful = ids.len() / RUNS_A_THREAD;
    let threads = if useful < 2 { 1 } else { thread::available_parallelism().map_or(1, usize::from).min(useful) };
    let (own, others) = ids.split_at(ids.len().div_ceil(threads));
    let mut processors = Processors::default();
    let (picked, mut unreadable) = thread::scope(|scope| {
        let others = others.chunks(own.len().max(1)).map(|ids| scope.spawn(|| read(ids)));
        let others: Vec<_> = others.inspect(|_| processors.leave()).collect();
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

/// Readable runs, newest first, and unreadable ones.
pub(crate) struct Runs {
    pub(crate) summaries: Vec<RunSummary>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Runs {
    /// All runs that are not over, and possibly some others.
    pub(crate) fn read_open(cx: &Context, project: &Project) -> Result<Self> {
        let found = project.runs().maybe_open(cx.outside(project).as_deref())?;
        Self::read_of(cx, project, found.ids, |_| {})
    }

    /// As [`Self::read_open`], for commands that write: updates the store's cache.
    pub(crate) fn read_open_and_remember(cx: &Context, project: &Project, now: Timestamp) -> Result<Self> {
        let outside = cx.outside(project);
        let found = project.runs().maybe_open(outside.as_deref())?;
        let mut over = HashMap::new();
        let runs = Self::read_of(cx, project, found.ids.clone(), |listed| {
            if listed.is_over_by_text() {
                over.insert(listed.summary.head.run_id.clone(), listed.summary.clone());
            }
        })?;
        if found.is_news() {
            let request = cx.write_request(now, Duration::ZERO);
            project.runs().remember_over(&request, found, outside.as_deref(), &|id| over.get(id).cloned());
        }
        Ok(runs)
    }

    fn read_of(cx: &Context, project: &Project, ids: Vec<RunId>, look: impl FnMut(&Listed)) -> Result<Self> {
        let (listed, unreadable) = read_runs(project, &ids, |run| for_listing(cx, project, run).map(Some))?;
        listed.iter().for_each(look);
        let mut summaries: Vec<_> = listed.into_iter().map(|listed| listed.summary).collect();
        summaries.sort_by(|a, b| (b.head.created_at, &b.head.run_id).cmp(&(a.head.created_at, &a.head.run_id)));
        Ok(Self { summaries, unreadable })
    }

    /// The runs that are not over.
    pub(crate) fn open(&self) -> impl Iterator<Item = &RunSummary> {
        self.summaries.iter().filter(|run| !run.head.status.is_terminal())
    }
}

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unreadable {
    /// The name of its directory.
    pub run_id: String,
    /// The reason.
    pub reason: String,
}

pub(super) fn in_words(unreadable: &[Unreadable]) -> Vec<String> {
    unreadable.iter().map(|run| format!("{}: {}", run.run_id, run.reason)).collect()
}

pub(super) fn is_own(run: &RunSummary, session: Option<&SessionId>) -> bool {
    session.is_some() && run.session.as_ref() == session
}
