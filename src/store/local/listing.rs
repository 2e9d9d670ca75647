//! Lists all runs, from the caches those that have not changed since they were read.
//!
//! Listing a large directory takes a third of the time. So other threads read the cache and look up the runs that are
//! listed so far.

use std::collections::HashMap;
use std::mem::replace;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use crate::disk::{Dir, DiskError, FileType, Processors};
use crate::model::{RunId, RunSummary};
use crate::store::error::Result;
use crate::store::local::cache::finished::FinishedRuns;
use crate::store::local::cache::open_runs::{KnownRun, OpenRuns};
use crate::store::local::layout::{CACHE, RUNS};
use crate::store::local::project::Project;
use crate::store::local::stamps::{RunEntry, log_in, number, run_entry, stamp, text_at};
use crate::store::run_store::RunStamp;

/// How many runs a thread looks up at a time.
const BATCH: usize = 64;

impl Project {
    /// Implements [`RunStore::listing`](crate::store::RunStore::listing).
    pub(super) fn all_runs(&self, known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(Vec::new()) };
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        let cached = LazyLock::new(|| CachedRuns {
            finished: cache.as_ref().map(FinishedRuns::read).unwrap_or_default(),
            open: cache.as_ref().and_then(OpenRuns::read).map(OpenRuns::by_id).unwrap_or_default(),
        });
        let (send, batches) = mpsc::channel();
        let batches = Mutex::new(batches);
        let look_up = || look_up(&runs, &batches, &cached, known);
        let is_long = cache.as_ref().is_some_and(FinishedRuns::is_long);
        let helpers = if is_long { thread::available_parallelism().map_or(1, usize::from) - 1 } else { 0 };
        let mut processors = Processors::default();
        thread::scope(|scope| {
            let mut started = Vec::new();
            for _ in 0..helpers {
                started.push(scope.spawn(look_up));
                processors.leave();
            }
            let listed = send_entries(&runs, send);
            // The last batch was sent, and this thread helps with the rest.
            let mut others = look_up();
            for helper in started {
                others.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            Ok(listed.map(|()| others)?)
        })
    }

    /// Implements [`RunStore::stamps`](crate::store::RunStore::stamps).
    pub(super) fn stamps_of_runs(
        &self,
        ids: Option<&[RunId]>,
        due: &dyn Fn(&RunId) -> bool,
    ) -> Result<Vec<(RunId, RunStamp)>> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        match ids {
            // The type of a named entry has to be looked up.
            Some(ids) => entries.extend(ids.iter().map(|id| (id.clone(), FileType::Unknown))),
            None => runs.entries(|name, kind| entries.extend(run_entry(name, kind)))?,
        }
        let mut stamps = Vec::with_capacity(entries.len());
        for entry in entries {
            let stamp = if due(&entry.0) { stamp_of_entry(&runs, &entry) } else { RunStamp::NotDue };
            stamps.push((entry.0, stamp));
        }
        Ok(stamps)
    }
}

fn stamp_of_entry(runs: &Dir, entry: &RunEntry) -> RunStamp {
    let Some(text) = text_at(runs, entry) else { return RunStamp::Unknown };
    log_in(runs, &entry.0).map_or(RunStamp::Unknown, |log| RunStamp::Known(number(&[text, log])))
}

/// Sends the entries of the directory of runs in batches.
fn send_entries(runs: &Dir, batches: Sender<Vec<RunEntry>>) -> Result<(), DiskError> {
    let mut batch = Vec::with_capacity(BATCH);
    runs.entries(|name, kind| {
        batch.extend(run_entry(name, kind));
        if batch.len() == BATCH {
            // The receiver lives until every batch was looked up.
            let _ = batches.send(replace(&mut batch, Vec::with_capacity(BATCH)));
        }
    })?;
    let _ = batches.send(batch);
    Ok(())
}

/// Calls `known` with the cached summaries of the runs in these batches, and returns the other runs.
fn look_up(
    runs: &Dir,
    batches: &Mutex<Receiver<Vec<RunEntry>>>,
    cached: &CachedRuns,
    known: &(dyn Fn(Vec<RunSummary>) + Sync),
) -> Vec<RunId> {
    let mut others = Vec::new();
    while let Some(batch) = next_batch(batches) {
        let mut summaries = Vec::with_capacity(batch.len());
        for entry in batch {
            match cached.summary(runs, &entry) {
                Some(summary) => summaries.push(summary),
                None => others.push(entry.0),
            }
        }
        known(summaries);
    }
    others
}

/// The next batch. The threads take turns in waiting for it, and none holds the lock while it looks runs up.
fn next_batch(batches: &Mutex<Receiver<Vec<RunEntry>>>) -> Option<Vec<RunEntry>> {
    batches.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// What the caches know of the runs.
struct CachedRuns {
    finished: FinishedRuns,
    open: HashMap<RunId, KnownRun>,
}

impl CachedRuns {
    /// The summary of a run, if the files that it follows from have not changed.
    fn summary(&self, runs: &Dir, entry: &RunEntry) -> Option<RunSummary> {
        let text = text_at(runs, entry)?;
        if let Some(summary) = self.finished.summary(&entry.0, &stamp(&text)) {
            return Some(summary);
        }
        let KnownRun(known, summary) = self.open.get(&entry.0)?;
        let log = log_in(runs, &entry.0)?;
        if number(&[text, log]) == *known { Some(summary.clone()) } else { None }
    }
}
