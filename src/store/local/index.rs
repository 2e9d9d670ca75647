//! A cache of the runs that may be open, so that finding them does not read all finished runs.
//!
//! `.flow/.cache/open-runs.json` names the runs that were open when it was written, with stamps of the directory of
//! runs and of git's index. While both stamps match, only these runs are read, and the few that finished last if they
//! changed. Otherwise every run is looked at, and read unless `.flow/.cache/finished-runs` has its current summary
//! ([`crate::store::local::finished`]). Both files are only caches: they are never flushed, may be deleted, and are
//! ignored when in doubt.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::{
    Dir, Disk, DiskError, Errno, FileType, Links, NEW_FILE, Open, Operation, replace_unflushed, write_all,
};
use crate::model::{RunId, RunSummary, limits};
use crate::store::error::StoreError;
use crate::store::local::finished::{FinishedRuns, line, stamp, stamp_of};
use crate::store::local::layout::{CACHE, FINISHED_RUNS, OPEN_RUNS, RUNS};
use crate::store::local::listing::{entry, stamp_at};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::request::WriteRequest;
use crate::store::run_store::{Found, MaybeOpen};

/// The version of the cache. Increase it together with that of `finished-runs`, so that both are rewritten.
const VERSION: u32 = 4;
/// How many of the runs that finished last are checked every time: a person may reopen one by hand.
const RECENT: usize = 16;
/// The cache's own `.gitignore`: keeps the cache out of git even where `.flow/.gitignore` does not name it.
const IGNORE_ALL: &str = "# Written by flow: a cache.\n*\n";

#[derive(Debug, Serialize, Deserialize)]
struct OpenRuns {
    v: u32,
    world: String,
    open: Vec<RunId>,
    recent: Vec<(RunId, String)>,
}

impl Project {
    /// Implements [`RunStore::maybe_open`](crate::store::RunStore::maybe_open).
    pub(super) fn not_known_over(&self, outside: Option<&str>) -> Result<MaybeOpen, StoreError> {
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Ok(MaybeOpen { ids: Vec::new(), found: None });
        };
        let world = world(&runs, outside)?;
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        if let Some(known) = cache.as_ref().and_then(read_open).filter(|known| Some(&known.world) == world.as_ref()) {
            let again = known.recent.into_iter().filter(|(id, stamp)| stamp_of(&runs, id).as_ref() != Some(stamp));
            let ids = known.open.into_iter().chain(again.map(|(id, _)| id)).collect();
            return Ok(MaybeOpen { ids, found: None });
        }
        let finished = cache.as_ref().map(FinishedRuns::read).unwrap_or_default();
        let (mut ids, mut over, mut looked_at) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = Vec::new();
        runs.entries(|name, kind| entries.extend(entry(name, kind)))?;
        for entry in entries {
            // Take the stamp before the run is read: a later change then gives it another stamp.
            let (stamp, id) = (stamp_at(&runs, &entry), entry.0);
            match stamp.as_ref().and_then(|stamp| finished.summary(&id, stamp)) {
                Some(summary) => over.extend(stamp.map(|stamp| (stamp, summary))),
                None => {
                    looked_at.extend(stamp.map(|stamp| (id.clone(), stamp)));
                    ids.push(id);
                }
            }
        }
        Ok(MaybeOpen { ids, found: world.map(|world| Found { world, over, looked_at }) })
    }

    /// Implements [`RunStore::remember_over`](crate::store::RunStore::remember_over).
    pub(super) fn note_over(
        &self,
        request: &WriteRequest,
        read: MaybeOpen,
        outside: Option<&str>,
        over_now: &dyn Fn(&RunId) -> Option<RunSummary>,
    ) {
        let Some(Found { world: before, mut over, looked_at }) = read.found else { return };
        let _: Result<(), StoreError> = self.with_cache(request, |cache, runs| {
            let now = world(runs, outside)?.filter(|now| *now == before);
            let Some(world) = now else { return Ok(()) };
            over.extend(looked_at.into_iter().filter_map(|(id, stamp)| Some((stamp, over_now(&id)?))));
            let known: HashSet<_> = over.iter().map(|(_, run)| &run.head.run_id).collect();
            let open = read.ids.iter().filter(|id| !known.contains(id)).cloned().collect();
            let last = &over[over.len().saturating_sub(RECENT)..];
            let recent = last.iter().map(|(stamp, run)| (run.head.run_id.clone(), stamp.clone())).collect();
            let lines: String = over.iter().map(|(stamp, run)| line(stamp, run)).collect();
            replace_unflushed(cache, FINISHED_RUNS, &lines)?;
            write_open(cache, &OpenRuns { v: VERSION, world, open, recent })
        });
    }

    /// Implements [`RunStore::remember_end`](crate::store::RunStore::remember_end).
    pub(super) fn note_end(
        &self,
        request: &WriteRequest,
        id: &RunId,
        outside: Option<&str>,
        read: &dyn Fn() -> Option<RunSummary>,
    ) -> bool {
        let mut remembered = false;
        let _: Result<(), StoreError> = self.with_cache(request, |cache, runs| {
            let Some(mut known) = fresh(cache, runs, outside)? else { return Ok(()) };
            let Some(stamp) = stamp_of(runs, id) else { return Ok(()) };
            let Some(summary) = read() else { return Ok(()) };
            let ended = line(&stamp, &summary);
            known.open.retain(|open| open != id);
            known.recent.push((id.clone(), stamp));
            known.recent.drain(..known.recent.len().saturating_sub(RECENT));
            let finished = cache.open_own(FINISHED_RUNS, Open::Append { mode: NEW_FILE })?;
            let fault = |source| DiskError::Io { action: Operation::Write, path: cache.join(FINISHED_RUNS), source };
            write_all(&*finished, ended.as_bytes()).map_err(fault)?;
            remembered = true;
            write_open(cache, &known)
        });
        remembered
    }

    /// Deletes the cache of open runs, because a finished run was reopened.
    pub(super) fn forget_open(&self, request: &WriteRequest) {
        let _: Result<(), StoreError> = self.with_cache(request, |cache, _| cache.remove(OPEN_RUNS));
    }

    /// The cached open runs, if the cache is up to date; for [`Self::remember_start`].
    pub(super) fn known_open(&self, outside: Option<&str>) -> Option<KnownOpen> {
        let runs = self.flow.find_dir(RUNS).ok()??;
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        let links = runs.stat().ok()?.links;
        let runs = match cache {
            Some(cache) => fresh(&cache, &runs, outside).ok()??,
            None if runs.names().ok()?.is_empty() => {
                OpenRuns { v: VERSION, world: String::new(), open: Vec::new(), recent: Vec::new() }
            }
            None => return None,
        };
        Some(KnownOpen { runs, links })
    }

    /// Adds a run that was just created. Called under the project's lock; `before` is from before the creation.
    pub(super) fn remember_start(&self, before: KnownOpen, id: &RunId, outside: Option<&str>) {
        let KnownOpen { runs: mut known, links } = before;
        let _: Result<(), StoreError> = self.in_cache(|cache, runs| {
            // Some file systems count subdirectories as links: another count means that another program made a
            // directory.
            if links > 1 && runs.stat()?.links != links + 1 {
                return Ok(());
            }
            let Some(world) = world(runs, outside)? else { return Ok(()) };
            known.open.push(id.clone());
            known.world = world;
            write_open(cache, &known)
        });
    }

    /// Calls `write` with the directories of the cache and of the runs, under the project's lock.
    fn with_cache(
        &self,
        request: &WriteRequest,
        write: impl FnOnce(&Dir, &Dir) -> Result<(), DiskError>,
    ) -> Result<(), StoreError> {
        let _lock = Lock::take(&self.flow, request)?;
        self.in_cache(write)
    }

    fn in_cache(&self, write: impl FnOnce(&Dir, &Dir) -> Result<(), DiskError>) -> Result<(), StoreError> {
        let cache = self.cache()?;
        Ok(write(&cache, &self.flow.open_dir(RUNS)?)?)
    }

    /// The directory of the cache, which is created if it is missing.
    pub(super) fn cache(&self) -> Result<Dir, DiskError> {
        let (cache, fresh) = self.flow.ensure_dir(CACHE)?;
        if fresh {
            replace_unflushed(&cache, ".gitignore", IGNORE_ALL)?;
        }
        Ok(cache)
    }
}

/// The cached open runs from before a run is created.
#[derive(Debug)]
pub(super) struct KnownOpen {
    runs: OpenRuns,
    /// How many links the directory of runs has.
    links: u64,
}

/// The stamp of git's index, which git rewrites whenever it changes files. `None` when it cannot be determined.
#[must_use]
pub fn git_stamp(disk: &dyn Disk, top: &Path) -> Option<String> {
    match disk.look(&top.join(".git"), Links::Refuse) {
        Ok(stat) if stat.kind == FileType::Directory => {}
        // A worktree or a submodule keeps its index elsewhere.
        _ => return None,
    }
    match disk.look(&top.join(".git/index"), Links::Refuse) {
        Ok(stat) => Some(stamp(&stat)),
        Err(Errno::NOENT) => Some("none".to_owned()),
        Err(_) => None,
    }
}

fn fresh(cache: &Dir, runs: &Dir, outside: Option<&str>) -> Result<Option<OpenRuns>, DiskError> {
    let world = world(runs, outside)?;
    Ok(read_open(cache).filter(|known| Some(&known.world) == world.as_ref()))
}

/// The stamps of the directory of runs and of everything `outside`.
fn world(runs: &Dir, outside: Option<&str>) -> Result<Option<String>, DiskError> {
    let stamp = stamp(&runs.stat()?);
    Ok(outside.map(|outside| format!("{stamp}|{outside}")))
}

fn read_open(cache: &Dir) -> Option<OpenRuns> {
    let bytes = cache.read(OPEN_RUNS, limits::CACHE_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok().filter(|known: &OpenRuns| known.v == VERSION)
}

fn write_open(cache: &Dir, known: &OpenRuns) -> Result<(), DiskError> {
    replace_unflushed(cache, OPEN_RUNS, &serde_json::to_string(known).unwrap_or_default())
}
