//! Which runs may be open: a cache, so that finding them does not read all that are over.
//!
//! `.flow/.cache/open-runs.json` names the runs that were not over when it was written, and what the directory of runs
//! and git's index looked like then. While both look the same, only those runs are read, and the few that ended last.
//! Otherwise every run is looked at, and those are read whose `run.yaml` is not the one that `.flow/.cache/finished-runs`
//! knows. Nothing rests on these files: they are never flushed, may be deleted, and are not believed when in doubt.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::{Dir, Disk, DiskError, Errno, FileType, Links, NEW_FILE, Open, Rename, Stat, write_all};
use crate::model::{RunId, limits};
use crate::store::error::StoreError;
use crate::store::layout::{CACHE, CACHE_TMP, FINISHED_RUNS, OPEN_RUNS, RUN_FILE, RUNS};
use crate::store::lock::Lock;
use crate::store::note::LockRequest;
use crate::store::project::Project;

/// The version of the cache.
const VERSION: u32 = 1;
/// So many of the runs that ended last are looked at every time: a person may open one again by hand.
const RECENT: usize = 16;
/// Keeps the cache out of version control, whatever else says.
const IGNORE_ALL: &str = "# Written by flow: a cache.\n*\n";

/// What a file looks like from outside; another one when it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(String);

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let Stat { device, inode, len, links, changed: (seconds, nanos), .. } = stat;
        Self(format!("{device:x}.{inode:x}.{len:x}.{links:x}.{seconds:x}.{nanos:x}"))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct OpenRuns {
    v: u32,
    world: String,
    open: Vec<String>,
    recent: Vec<(String, Stamp)>,
}

/// Runs that are to be read to know which are open.
#[derive(Debug)]
pub struct MaybeOpen {
    /// Their names.
    pub names: Vec<String>,
    /// What was known about the others; none when the cache needs no mending.
    mend: Option<Mend>,
}

#[derive(Debug)]
struct Mend {
    world: String,
    over: Vec<(String, Stamp)>,
    looked_at: Vec<(String, Stamp)>,
}

impl Project {
    /// The runs that may be open. `outside` is what else, changed, may have changed runs; `None` when that cannot be
    /// told. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of runs cannot be read.
    pub fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen, StoreError> {
        let Some(runs) = self.flow.find_dir(RUNS)? else {
            return Ok(MaybeOpen { names: Vec::new(), mend: None });
        };
        let world = world(&runs, outside)?;
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        if let Some(known) = cache.as_ref().and_then(read_open).filter(|known| Some(&known.world) == world.as_ref()) {
            let again = known.recent.into_iter().filter(|(name, stamp)| stamp_of(&runs, name).as_ref() != Some(stamp));
            let names = known.open.into_iter().chain(again.map(|(name, _)| name)).collect();
            return Ok(MaybeOpen { names, mend: None });
        }
        let finished = cache.as_ref().map(read_finished).unwrap_or_default();
        let (mut names, mut over, mut looked_at) = (Vec::new(), Vec::new(), Vec::new());
        for name in runs.names()?.into_iter().filter(|name| RunId::new(name.as_str()).is_ok()) {
            match stamp_of(&runs, &name) {
                Some(stamp) if finished.get(&name) == Some(&stamp) => over.push((name, stamp)),
                stamp => {
                    // Before it is read: what changes it afterwards gives it another stamp.
                    looked_at.extend(stamp.map(|stamp| (name.clone(), stamp)));
                    names.push(name);
                }
            }
        }
        Ok(MaybeOpen { names, mend: world.map(|world| Mend { world, over, looked_at }) })
    }

    /// Remembers which of the runs that were read are over. Only a cache, so nothing that goes wrong matters.
    pub fn remember_over(
        &self,
        request: impl FnOnce() -> LockRequest,
        read: MaybeOpen,
        outside: Option<&str>,
        is_over: impl Fn(&str) -> bool,
    ) {
        let Some(Mend { world: before, mut over, looked_at }) = read.mend else { return };
        let _: Result<(), StoreError> = self.with_cache(&request(), |cache, runs| {
            let now = world(runs, outside)?.filter(|now| *now == before);
            let Some(world) = now else { return Ok(()) };
            over.extend(looked_at.into_iter().filter(|(name, _)| is_over(name)));
            let known: HashSet<_> = over.iter().map(|(name, _)| name.as_str()).collect();
            let open = read.names.iter().filter(|name| !known.contains(name.as_str())).cloned().collect();
            let recent = over[over.len().saturating_sub(RECENT)..].to_vec();
            let lines: String = over.iter().map(line).collect();
            replace(cache, FINISHED_RUNS, &lines)?;
            write_open(cache, &OpenRuns { v: VERSION, world, open, recent })
        });
    }

    /// Remembers that a run is over. `false` when too little is known about the others.
    pub fn remember_end(&self, request: &LockRequest, id: &RunId, outside: Option<&str>) -> bool {
        let mut remembered = false;
        let _: Result<(), StoreError> = self.with_cache(request, |cache, runs| {
            let Some(mut known) = fresh(cache, runs, outside)? else { return Ok(()) };
            let Some(stamp) = stamp_of(runs, id.as_str()) else { return Ok(()) };
            known.open.retain(|name| name != id.as_str());
            known.recent.push((id.to_string(), stamp));
            known.recent.drain(..known.recent.len().saturating_sub(RECENT));
            let ended = known.recent.last().map(line).unwrap_or_default();
            let finished = cache.open_own(FINISHED_RUNS, Open::Append { mode: NEW_FILE })?;
            let fault = |source| DiskError::Io { action: "write", path: cache.join(FINISHED_RUNS), source };
            write_all(&*finished, ended.as_bytes()).map_err(fault)?;
            remembered = true;
            write_open(cache, &known)
        });
        remembered
    }

    /// Forgets which runs are open: one that was over goes on.
    pub fn forget_open(&self, request: &LockRequest) {
        let _: Result<(), StoreError> = self.with_cache(request, |cache, _| cache.remove(OPEN_RUNS));
    }

    /// What is known about open runs, when that is up to date; for [`Self::remember_start`].
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

    /// Remembers a run that was just created, under the project's lock; `before` is what was known before.
    pub(super) fn remember_start(&self, before: KnownOpen, id: &RunId, outside: Option<&str>) {
        let KnownOpen { runs: mut known, links } = before;
        let _: Result<(), StoreError> = self.in_cache(|cache, runs| {
            // Where directories count their subdirectories, one that another program made shows.
            if links > 1 && runs.stat()?.links != links + 1 {
                return Ok(());
            }
            let Some(world) = world(runs, outside)? else { return Ok(()) };
            known.open.push(id.to_string());
            known.world = world;
            write_open(cache, &known)
        });
    }

    /// Writes the cache under the project's lock.
    fn with_cache(
        &self,
        request: &LockRequest,
        write: impl FnOnce(&Dir, &Dir) -> Result<(), DiskError>,
    ) -> Result<(), StoreError> {
        let _lock = Lock::take(&self.flow, request)?;
        self.in_cache(write)
    }

    fn in_cache(&self, write: impl FnOnce(&Dir, &Dir) -> Result<(), DiskError>) -> Result<(), StoreError> {
        let (cache, fresh) = self.flow.ensure_dir(CACHE)?;
        if fresh {
            replace(&cache, ".gitignore", IGNORE_ALL)?;
        }
        Ok(write(&cache, &self.flow.open_dir(RUNS)?)?)
    }
}

/// Open runs as they are known before a run is created.
#[derive(Debug)]
pub(super) struct KnownOpen {
    runs: OpenRuns,
    /// How many names the directory of runs has.
    links: u64,
}

/// What git's index looks like, which git writes whenever it puts other files in place; `None` when that cannot be told.
#[must_use]
pub fn git_stamp(disk: &dyn Disk, top: &Path) -> Option<String> {
    match disk.look(&top.join(".git"), Links::Refuse) {
        Ok(stat) if stat.kind == FileType::Directory => {}
        // A worktree or a submodule keeps its index elsewhere.
        _ => return None,
    }
    match disk.look(&top.join(".git/index"), Links::Refuse) {
        Ok(stat) => Some(Stamp::of(&stat).0),
        Err(Errno::NOENT) => Some("none".to_owned()),
        Err(_) => None,
    }
}

fn fresh(cache: &Dir, runs: &Dir, outside: Option<&str>) -> Result<Option<OpenRuns>, DiskError> {
    let world = world(runs, outside)?;
    Ok(read_open(cache).filter(|known| Some(&known.world) == world.as_ref()))
}

/// What the directory of runs and everything `outside` looks like.
fn world(runs: &Dir, outside: Option<&str>) -> Result<Option<String>, DiskError> {
    let stamp = Stamp::of(&runs.stat()?);
    Ok(outside.map(|outside| format!("{}|{outside}", stamp.0)))
}

fn stamp_of(runs: &Dir, name: &str) -> Option<Stamp> {
    runs.open_dir(name).ok()?.look(RUN_FILE).ok().map(|stat| Stamp::of(&stat))
}

fn read_open(cache: &Dir) -> Option<OpenRuns> {
    let bytes = cache.read(OPEN_RUNS, limits::CACHE_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok().filter(|known: &OpenRuns| known.v == VERSION)
}

fn read_finished(cache: &Dir) -> HashMap<String, Stamp> {
    let text = cache.read_text(FINISHED_RUNS, limits::CACHE_BYTES).ok().flatten().unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, stamp)| (name.to_owned(), Stamp(stamp.to_owned()))).collect()
}

fn line((name, stamp): &(String, Stamp)) -> String {
    format!("{name} {}\n", stamp.0)
}

fn write_open(cache: &Dir, known: &OpenRuns) -> Result<(), DiskError> {
    replace(cache, OPEN_RUNS, &serde_json::to_string(known).unwrap_or_default())
}

fn replace(cache: &Dir, name: &str, text: &str) -> Result<(), DiskError> {
    cache.remove(CACHE_TMP)?;
    cache.create(CACHE_TMP, text.as_bytes(), NEW_FILE)?;
    cache.rename(CACHE_TMP, name, Rename::Replace)
}
