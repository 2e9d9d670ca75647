//! A cache of the runs that may be open, so that finding them does not read all finished runs, nor the open ones that have
//! not changed.
//!
//! `.flow/.cache/open-runs.json` names the runs that were open when it was written, with the summaries of those whose
//! summary follows from their files alone, and the stamps of these files. It also has stamps of the directory of runs and
//! of git's index. While these are the same, no other run is looked at but the few that finished last and those that are
//! being reopened, which `.flow/.cache/reopening` names. Otherwise every run is looked at, and read unless this file or
//! `.flow/.cache/finished-runs` has its current summary ([`crate::store::local::cache::finished`]).
//!
//! All of them are only caches: they may be deleted, and are ignored when in doubt. Readers and writers replace the first
//! and the last one without a lock. A list of open runs has the stamps from before its writer looked at the runs. A run that
//! begins changes these stamps, and so does git when it changes runs. A run that ends may stay in the list.
//! Before and after a run is reopened, `reopening` is written, whose stamp is one of them, and the stamp of the directory of
//! runs is changed, because an older cache may be put back with its own `reopening`. So a list that is written late is
//! ignored, or it names every open run. A power cut may take `reopening` and spare a list, so a list counts only until
//! the next start of the machine, which is a part of what is `outside`.

use std::collections::HashMap;
use std::path::Path;

use crate::disk::{Dir, Disk, DiskError, Errno, Links, both, replace_unflushed};
use crate::model::{RunId, RunSummary, limits};
use crate::store::error::Result;
use crate::store::local::cache::finished::{self, FinishedRuns};
use crate::store::local::cache::open_runs::{KnownRun, OpenRuns};
use crate::store::local::layout::{CACHE, GITIGNORE_FILE, OPEN_RUNS, REOPENING_RUNS, RUNS};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::local::stamps::{log_in, number, run_entry, stamp, stamp_of, text_at};
use crate::store::request::WriteRequest;
use crate::store::run_store::{FileStats, MaybeOpen, Reopening, RunCache, SeenFinished, SeenRuns};

/// How many of the runs that finished last are checked every time: a person may reopen one by hand.
const RECENT: usize = 16;
/// From this many open runs on, two threads look at their files.
const TWO_THREADS: usize = 256;
/// How many runs may be named as being reopened. Only a process that was killed leaves one there.
const REOPENING: usize = 64;
/// The cache's own `.gitignore`: keeps the cache out of git even where `.flow/.gitignore` does not name it.
const IGNORE_ALL: &str = "# Written by flow: a cache.\n*\n";

impl Project {
    /// Implements [`RunStore::maybe_open`](crate::store::RunStore::maybe_open).
    pub(super) fn maybe_open_runs(&self, outside: Option<&str>) -> Result<MaybeOpen> {
        let Some(runs) = self.flow.find_dir(RUNS)? else { return Ok(MaybeOpen::default()) };
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        let world = world(&runs, cache.as_ref(), outside)?;
        let listed = cache.as_ref().and_then(OpenRuns::read);
        if let Some(listed) = &listed
            && Some(&listed.world) == world.as_ref()
            && let Some(looked) = look_at_all(&runs, &listed.known.lines().collect::<Vec<_>>())
        {
            let reopening = cache.as_ref().map(reopening_now).unwrap_or_default();
            return Ok(still_open(&runs, listed, looked, reopening));
        }
        let known = listed.map(OpenRuns::by_id).unwrap_or_default();
        let finished = cache.as_ref().map(FinishedRuns::read).unwrap_or_default();
        Ok(all_but_finished(&runs, world, known, &finished)?)
    }
}

impl RunCache for Project {
    fn remember(&self, read: MaybeOpen, summary_of: &dyn Fn(&RunId) -> Option<RunSummary>) {
        let MaybeOpen { known, ids, seen: Some(SeenRuns { world, stamps, looked_at, finished }), .. } = read else {
            return;
        };
        let mut listed = OpenRuns::new(world);
        for (summary, stamp) in known.into_iter().zip(stamps) {
            listed.add(&KnownRun(stamp, summary));
        }
        let mut ended = Vec::new();
        for (id, looked_at) in ids.into_iter().zip(looked_at) {
            match (summary_of(&id), looked_at) {
                (Some(summary), FileStats { text: Some(text), .. }) if summary.head.is_over() => {
                    ended.push((stamp(&text), summary));
                }
                (Some(summary), FileStats { text: Some(text), log: Some(log) }) if !summary.head.is_over() => {
                    listed.add(&KnownRun(number(&[text, log]), summary));
                }
                // Its summary does not follow from its files alone, or they could not be looked at.
                _ => listed.unknown.push(id),
            }
        }
        let _: Result<(), DiskError> = self.in_cache(|cache, _| {
            listed.recent = match finished {
                SeenFinished::All { mut known, is_outdated } if is_outdated => {
                    known.append(&mut ended);
                    finished::write(cache, &known)?;
                    last_of(known)
                }
                SeenFinished::All { mut known, .. } => {
                    finished::append(cache, &ended)?;
                    known.append(&mut ended);
                    last_of(known)
                }
                SeenFinished::Recent(mut recent) => {
                    finished::append(cache, &ended)?;
                    recent.extend(ended.into_iter().map(|(stamp, run)| (run.head.run_id, stamp)));
                    recent.drain(..recent.len().saturating_sub(RECENT));
                    recent
                }
            };
            listed.write(cache)
        });
    }

    fn remember_end(&self, id: &RunId, outside: Option<&str>, read: &dyn Fn() -> Option<RunSummary>) -> bool {
        let mut remembered = false;
        let _: Result<(), DiskError> = self.in_cache(|cache, runs| {
            let Some(mut listed) = fresh(cache, runs, outside)? else { return Ok(()) };
            // Taken before the run is read: a later change then gives it another one.
            let Some(stamp) = stamp_of(runs, id) else { return Ok(()) };
            let Some(summary) = read() else { return Ok(()) };
            finished::append(cache, &[(stamp.clone(), summary)])?;
            listed.remove(id);
            listed.recent.push((id.clone(), stamp));
            listed.recent.drain(..listed.recent.len().saturating_sub(RECENT));
            remembered = true;
            listed.write(cache)
        });
        remembered
    }

    fn remember_reopening(&self, request: &WriteRequest, id: &RunId, reopening: Reopening) {
        if self.write_reopening(request, id, reopening).is_err() {
            // Without a list of open runs every run is looked at.
            let _: Result<(), DiskError> = self.in_cache(|cache, _| cache.remove(OPEN_RUNS));
        }
    }
}

impl Project {
    fn write_reopening(&self, request: &WriteRequest, id: &RunId, reopening: Reopening) -> Result<()> {
        let _lock = Lock::take(&self.flow, request)?;
        // Who does not own the directory cannot change it so; then the file alone says it.
        let _ = self.flow.touch(RUNS);
        Ok(self.in_cache(|cache, _| {
            let mut ids = reopening_now(cache);
            ids.retain(|other| other != id);
            if reopening == Reopening::Begins {
                ids.push(id.clone());
            }
            ids.drain(..ids.len().saturating_sub(REOPENING));
            // Written afterwards as well: the new stamp makes a list stale that was made in between.
            replace_unflushed(cache, REOPENING_RUNS, serde_json::to_string(&ids).unwrap_or_default())
        })?)
    }

    /// The cached open runs, if the cache is up to date; for [`Self::remember_start`].
    pub(super) fn known_open(&self, outside: Option<&str>) -> Option<KnownOpen> {
        let runs = self.flow.find_dir(RUNS).ok()??;
        let cache = self.flow.find_dir(CACHE).ok().flatten();
        let links = runs.stat().ok()?.links;
        let runs = match cache {
            Some(cache) => fresh(&cache, &runs, outside).ok()??,
            None if runs.names().ok()?.is_empty() => OpenRuns::new(String::new()),
            None => return None,
        };
        Some(KnownOpen { runs, links })
    }

    /// Adds a run that was just created. Called under the project's lock; `before` is from before the creation.
    pub(super) fn remember_start(&self, before: KnownOpen, id: &RunId, outside: Option<&str>) {
        let KnownOpen { runs: mut listed, links } = before;
        let _: Result<(), DiskError> = self.in_cache(|cache, runs| {
            // Some file systems count subdirectories as links: another count means that another program made a
            // directory.
            if links > 1 && runs.stat()?.links != links + 1 {
                return Ok(());
            }
            let Some(world) = world(runs, Some(cache), outside)? else { return Ok(()) };
            listed.unknown.push(id.clone());
            listed.world = world;
            listed.write(cache)
        });
    }

    /// Calls `write` with the directories of the cache and of the runs.
    fn in_cache(&self, write: impl FnOnce(&Dir, &Dir) -> Result<(), DiskError>) -> Result<(), DiskError> {
        let cache = self.cache()?;
        write(&cache, &self.flow.open_dir(RUNS)?)
    }

    /// The directory of the cache, which is created if it is missing.
    pub(super) fn cache(&self) -> Result<Dir, DiskError> {
        let (cache, fresh) = self.flow.ensure_dir(CACHE)?;
        if fresh {
            replace_unflushed(&cache, GITIGNORE_FILE, IGNORE_ALL)?;
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

/// The runs of a list that is up to date, which were looked at, and those that may have been opened since.
fn still_open(runs: &Dir, listed: &OpenRuns, looked: LookedAtKnown, reopening: Vec<RunId>) -> MaybeOpen {
    let LookedAtKnown { known, stamps, changed } = looked;
    let mut others = Vec::new();
    for (id, stamp) in &listed.recent {
        // A person may have opened it again by hand.
        if stamp_of(runs, id).as_ref() != Some(stamp) {
            others.push(id.clone());
        }
    }
    others.extend(reopening);
    let mut ids = listed.unknown.clone();
    ids.extend(changed);
    for id in others {
        if !ids.contains(&id) && !known.iter().any(|run| run.head.run_id == id) {
            ids.push(id);
        }
    }
    // Take the stamps before the runs are read: a later change then gives them others.
    let looked_at = ids.iter().map(|id| FileStats::of_run(runs, id)).collect();
    let finished = SeenFinished::Recent(listed.recent.clone());
    let seen = Some(SeenRuns { world: listed.world.clone(), stamps, looked_at, finished });
    MaybeOpen { known, ids, seen, ..MaybeOpen::default() }
}

/// The known runs of a list, after a look at their files.
struct LookedAtKnown {
    /// Those that have not changed.
    known: Vec<RunSummary>,
    /// The stamps of these.
    stamps: Vec<u64>,
    /// The others.
    changed: Vec<RunId>,
}

/// Looks at the files of all these runs. Of many, another thread looks at half. `None` if one cannot be read.
fn look_at_all(runs: &Dir, listed: &[&str]) -> Option<LookedAtKnown> {
    if listed.len() < TWO_THREADS {
        return look_at_part(runs, listed);
    }
    let (first, rest) = listed.split_at(listed.len() / 2);
    let (looked, rest) = both(|| look_at_part(runs, first), || look_at_part(runs, rest));
    let (mut looked, rest) = (looked?, rest?);
    looked.known.extend(rest.known);
    looked.stamps.extend(rest.stamps);
    looked.changed.extend(rest.changed);
    Some(looked)
}

fn look_at_part(runs: &Dir, part: &[&str]) -> Option<LookedAtKnown> {
    let (known, stamps) = (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
    let mut looked = LookedAtKnown { known, stamps, changed: Vec::new() };
    for line in part {
        let KnownRun(stamp, summary) = KnownRun::read(line)?;
        if FileStats::of_run(runs, &summary.head.run_id).number() == Some(stamp) {
            looked.known.push(summary);
            looked.stamps.push(stamp);
        } else {
            looked.changed.push(summary.head.run_id);
        }
    }
    Some(looked)
}

/// All runs but those that are over, as far as it is known. A known summary needs no reading.
fn all_but_finished(
    runs: &Dir,
    world: Option<String>,
    mut summaries: HashMap<RunId, KnownRun>,
    finished: &FinishedRuns,
) -> Result<MaybeOpen, DiskError> {
    let mut entries = Vec::new();
    runs.entries(|name, kind| entries.extend(run_entry(name, kind)))?;
    let (mut known, mut ids, mut over) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stamps, mut looked_at) = (Vec::new(), Vec::new());
    for entry in entries {
        // Take the stamps before the run is read: a later change then gives it others.
        let Some(text) = text_at(runs, &entry) else {
            ids.push(entry.0);
            looked_at.push(FileStats::default());
            continue;
        };
        let text_stamp = stamp(&text);
        if let Some(summary) = finished.summary(&entry.0, &text_stamp) {
            over.push((text_stamp, summary));
            continue;
        }
        let seen = FileStats { text: Some(text), log: log_in(runs, &entry.0) };
        match summaries.remove(&entry.0) {
            Some(KnownRun(stamp, summary)) if seen.number() == Some(stamp) => {
                known.push(summary);
                stamps.push(stamp);
            }
            _ => {
                ids.push(entry.0);
                looked_at.push(seen);
            }
        }
    }
    let is_outdated = finished.is_outdated(over.len());
    let finished = SeenFinished::All { known: over, is_outdated };
    let seen = world.map(|world| SeenRuns { world, stamps, looked_at, finished });
    Ok(MaybeOpen { known, ids, seen, ..MaybeOpen::default() })
}

/// Those of these runs that finished last.
fn last_of(mut over: Vec<(String, RunSummary)>) -> Vec<(RunId, String)> {
    over.sort_by_key(|(_, run)| run.head.updated_at);
    over.drain(..over.len().saturating_sub(RECENT));
    over.into_iter().map(|(stamp, run)| (run.head.run_id, stamp)).collect()
}

/// The stamp of git's index, the file `index`, which git rewrites whenever it changes files. `None` when it cannot be
/// determined.
#[must_use]
pub fn git_stamp(disk: &dyn Disk, index: &Path) -> Option<String> {
    match disk.look(index, Links::Refuse) {
        Ok(stat) => Some(stamp(&stat)),
        Err(Errno::NOENT) => Some("none".to_owned()),
        Err(_) => None,
    }
}

fn fresh(cache: &Dir, runs: &Dir, outside: Option<&str>) -> Result<Option<OpenRuns>, DiskError> {
    let world = world(runs, Some(cache), outside)?;
    Ok(OpenRuns::read(cache).filter(|listed| Some(&listed.world) == world.as_ref()))
}

/// The stamps of everything whose change means that other runs may be open: the directory of runs, what is `outside`, and
/// the names of the runs that are being reopened.
fn world(runs: &Dir, cache: Option<&Dir>, outside: Option<&str>) -> Result<Option<String>, DiskError> {
    let Some(outside) = outside else { return Ok(None) };
    let reopening = cache.and_then(|cache| cache.look(REOPENING_RUNS).ok()).map(|file| stamp(&file));
    Ok(Some(format!("{}|{}|{outside}", stamp(&runs.stat()?), reopening.unwrap_or_default())))
}

/// The runs that are being reopened, or were when their process was killed.
fn reopening_now(cache: &Dir) -> Vec<RunId> {
    let text = cache.read(REOPENING_RUNS, limits::CACHE_BYTES).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
