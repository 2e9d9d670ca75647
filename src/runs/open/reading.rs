//! Reads many runs: all of them, or those that are not over.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::Processors;
use crate::model::{Explain as _, RunId, RunSummary, SessionId};
use crate::runs::budget::Budget;
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::host_note::noted_runs;
use crate::runs::open::listing::{ListedSummary, for_listing};
use crate::store::{MaybeOpen, Project, StoredRun, WORTH_CACHING};

/// Starting another thread costs as much as reading some runs.
const RUNS_A_THREAD: usize = 128;

/// What the summary of a run that the store has cached is good for.
pub(in crate::runs) enum FromSummary<T> {
    /// It is what the caller takes of the run, if it takes anything.
    Taken(Option<T>),
    /// The run has to be read.
    ToRead(RunId),
}

/// What `pick` takes from all readable runs, in any order, and the unreadable runs. Their summaries are taken from the
/// store's cache where it has them. If many have to be read, the cache is updated.
pub(crate) fn read_all<T: Send>(
    project: &OpenedProject,
    pick: impl Fn(RunSummary) -> Option<T> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let (mut all, others) = cached_of(project, |summary| FromSummary::Taken(pick(summary)))?;
    // The stamps are taken before the runs are read: a list that is older than its stamps would hide a change.
    let mut found = None;
    if others.len() >= WORTH_CACHING {
        found = Some(project.runs().maybe_open(project.outside().as_deref())?).filter(MaybeOpen::is_much);
    }
    let to_cache = Mutex::new(HashMap::new());
    let (read, unreadable) = read_runs(project, &others, |run| {
        let listed = for_listing(project, run)?;
        if found.is_some() && listed.follows_from_files() {
            let mut to_cache = to_cache.lock().unwrap_or_else(PoisonError::into_inner);
            to_cache.insert(listed.summary.head.run_id.clone(), listed.summary.clone());
        }
        Ok(pick(listed.summary))
    })?;
    all.extend(read);
    if let Some(found) = found {
        remember(project, found, &to_cache.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    Ok((all, unreadable))
}

/// Updates the store's cache with these summaries of what was found.
fn remember(project: &Project, found: MaybeOpen, summaries: &HashMap<RunId, RunSummary>) {
    if let Some(cache) = project.runs().run_cache() {
        cache.remember(found, &|id| summaries.get(id).cloned());
    }
}

/// As [`read_all`]: `cached` gets the summaries that the store has, and `read` reads the other runs.
pub(in crate::runs) fn read_all_with<T: Send>(
    project: &Project,
    cached: impl Fn(RunSummary) -> FromSummary<T> + Sync,
    read: impl Fn(&dyn StoredRun) -> Result<Option<T>> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let (mut all, others) = cached_of(project, cached)?;
    let (read, unreadable) = read_runs(project, &others, read)?;
    all.extend(read);
    Ok((all, unreadable))
}

/// What `cached` takes from the summaries that the store's cache has, and the runs that have to be read.
fn cached_of<T: Send>(
    project: &Project,
    cached: impl Fn(RunSummary) -> FromSummary<T> + Sync,
) -> Result<(Vec<T>, Vec<RunId>)> {
    let sorted = Mutex::new((Vec::new(), Vec::new()));
    let mut others = project.runs().listing(&|summaries| {
        let (mut picked, mut to_read) = (Vec::new(), Vec::new());
        for summary in summaries {
            match cached(summary) {
                FromSummary::Taken(one) => picked.extend(one),
                FromSummary::ToRead(id) => to_read.push(id),
            }
        }
        let mut sorted = sorted.lock().unwrap_or_else(PoisonError::into_inner);
        sorted.0.append(&mut picked);
        sorted.1.append(&mut to_read);
    })?;
    let (all, to_read) = sorted.into_inner().unwrap_or_else(PoisonError::into_inner);
    others.extend(to_read);
    Ok((all, others))
}

/// What `read` takes from those of these runs that are readable, in any order, and the unreadable runs. Many runs are
/// divided among threads.
pub(crate) fn read_runs<T: Send>(
    project: &Project,
    ids: &[RunId],
    read: impl Fn(&dyn StoredRun) -> Result<Option<T>> + Sync,
) -> Result<(Vec<T>, Vec<Unreadable>)> {
    let read = read_within(&Budget::Whole, project, ids, read)?;
    Ok((read.picked, read.unreadable))
}

/// What was read, in any order, and what was not.
struct Read<T> {
    picked: Vec<T>,
    unreadable: Vec<Unreadable>,
    passed_over: usize,
}

/// As [`read_runs`], from the first run on until the budget is spent.
fn read_within<T: Send>(
    budget: &Budget,
    project: &Project,
    ids: &[RunId],
    read: impl Fn(&dyn StoredRun) -> Result<Option<T>> + Sync,
) -> Result<Read<T>> {
    let useful = ids.len() / RUNS_A_THREAD;
    let threads = if useful < 2 { 1 } else { thread::available_parallelism().map_or(1, usize::from).min(useful) };
    let mut processors = Processors::default();
    let read = &read;
    let mut all = thread::scope(|scope| {
        let mut others = Vec::new();
        for nth in 1..threads {
            others.push(scope.spawn(move || read_in_turn(budget, project, &every_nth(ids, nth, threads), read)));
            processors.leave();
        }
        let own = if threads == 1 { Cow::Borrowed(ids) } else { Cow::Owned(every_nth(ids, 0, threads)) };
        let mut all = read_in_turn(budget, project, &own, read)?;
        for other in others {
            let more = other.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            all.picked.extend(more.picked);
            all.unreadable.extend(more.unreadable);
            all.passed_over += more.passed_over;
        }
        Ok::<_, Error>(all)
    })?;
    // The threads end in any order.
    all.unreadable.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    Ok(all)
}

/// The ids for one of several threads. They are dealt one by one, so that each thread begins with the first ones.
fn every_nth(ids: &[RunId], first: usize, threads: usize) -> Vec<RunId> {
    ids.iter().skip(first).step_by(threads).cloned().collect()
}

/// As [`read_within`], in one thread.
fn read_in_turn<T>(
    budget: &Budget,
    project: &Project,
    ids: &[RunId],
    read: &impl Fn(&dyn StoredRun) -> Result<Option<T>>,
) -> Result<Read<T>> {
    let mut all = Read { picked: Vec::new(), unreadable: Vec::new(), passed_over: 0 };
    for (nth, some) in ids.chunks(RUNS_AT_ONCE).enumerate() {
        // The first ones are read in any case: among them are those that the caller's session holds.
        if nth > 0 && budget.is_spent() {
            all.passed_over = ids.len() - nth * RUNS_AT_ONCE;
            break;
        }
        project.runs().each(some, &mut |id, run| {
            match run.map_err(Error::from).and_then(|run| read(&*run)) {
                Ok(taken) => all.picked.extend(taken),
                // The files are on another branch, so the run is not listed here.
                Err(Error::Elsewhere { .. }) => {}
                // It was pruned while it was read.
                Err(_) if matches!(project.runs().open(id), Err(gone) if gone.is_not_found()) => {}
                Err(error) => all.unreadable.push(Unreadable { run_id: id.to_string(), reason: error.one_line() }),
            }
        })?;
    }
    Ok(all)
}

/// How many runs are read before the budget is looked at again.
const RUNS_AT_ONCE: usize = 64;

/// Readable runs, newest first, and unreadable ones.
pub(crate) struct Runs {
    pub(crate) summaries: Vec<RunSummary>,
    pub(crate) unreadable: Vec<Unreadable>,
    /// How many runs were not looked at, because the caller's budget was spent.
    pub(crate) passed_over: usize,
}

impl Runs {
    /// All runs that are not over, and possibly some others.
    pub(crate) fn read_open(project: &OpenedProject) -> Result<Self> {
        Self::read(project, false)
    }

    /// As [`Self::read_open`], for commands that write: updates the store's cache even for few runs.
    pub(crate) fn read_open_and_remember(project: &OpenedProject) -> Result<Self> {
        Self::read(project, true)
    }

    fn read(project: &OpenedProject, remembers_few: bool) -> Result<Self> {
        // The stamps are taken before the runs are read: a list that is older than its stamps would hide a change.
        let found = project.runs().maybe_open(project.outside().as_deref())?;
        // To read few runs costs less than to write a file, and a command that only reads should leave no file behind then.
        let remembers = found.is_much() || remembers_few && found.is_news();
        Self::read_found(project, found, remembers)
    }

    fn read_found(project: &OpenedProject, mut found: MaybeOpen, remembers: bool) -> Result<Self> {
        let Read { picked, unreadable, passed_over } = read_listed(project, found.ids.clone())?;
        let mut summaries = if remembers { found.known.clone() } else { std::mem::take(&mut found.known) };
        let mut to_cache = HashMap::new();
        for listed in picked {
            if remembers && listed.follows_from_files() {
                to_cache.insert(listed.summary.head.run_id.clone(), listed.summary.clone());
            }
            summaries.push(listed.summary);
        }
        newest_first(&mut summaries);
        if remembers {
            remember(project, found, &to_cache);
        }
        Ok(Self { summaries, unreadable, passed_over })
    }

    /// Reads a run again that has changed since these were read.
    pub(super) fn read_again(&mut self, project: &OpenedProject, id: &RunId) -> Result<()> {
        let again = read_listed(project, vec![id.clone()])?;
        self.summaries.retain(|run| run.head.run_id != *id);
        self.summaries.extend(again.picked.into_iter().map(|listed| listed.summary));
        newest_first(&mut self.summaries);
        self.unreadable.extend(again.unreadable);
        Ok(())
    }

    /// The runs that are open, or may be.
    pub(crate) fn open(&self) -> impl Iterator<Item = &RunSummary> {
        self.summaries.iter().filter(|run| run.head.may_be_open())
    }
}

/// The ids of all runs that are not over, and possibly of some others. If many have to be looked at, the store's cache is
/// updated.
pub(crate) fn maybe_open(project: &OpenedProject) -> Result<Vec<RunId>> {
    let found = project.runs().maybe_open(project.outside().as_deref())?;
    if !found.is_much() {
        // The caller reads them.
        return Ok(found.all_ids());
    }
    let Runs { summaries, unreadable, .. } = Runs::read_found(project, found, true)?;
    let mut ids: Vec<RunId> = summaries.into_iter().map(|run| run.head.run_id).collect();
    ids.extend(unreadable.into_iter().filter_map(|run| RunId::new(run.run_id).ok()));
    Ok(ids)
}

fn read_listed(project: &OpenedProject, ids: Vec<RunId>) -> Result<Read<ListedSummary>> {
    let budget = &project.cx.options.budget;
    let ids = if budget.is_whole() { ids } else { most_wanted_first(project, ids) };
    read_within(budget, project, &ids, |run| Ok(Some(for_listing(project, run)?)))
}

fn newest_first(runs: &mut [RunSummary]) {
    runs.sort_by(|a, b| (b.head.created_at, &b.head.run_id).cmp(&(a.head.created_at, &a.head.run_id)));
}

/// The runs that the caller's session held when a hook looked last, and then the others, those with the latest names first:
/// names begin with the time of the start unless the caller gave another one.
fn most_wanted_first(project: &OpenedProject, mut ids: Vec<RunId>) -> Vec<RunId> {
    let own = match project.cx.options.wanted_by.as_ref() {
        Some(session) if ids.len() > RUNS_AT_ONCE => noted_runs(project, session),
        _ => Vec::new(),
    };
    ids.sort_by(|a, b| (own.contains(b), b).cmp(&(own.contains(a), a)));
    ids
}

/// How many runs were not looked at, in words; `None` if all were.
pub(crate) fn passed_over_in_words(passed_over: usize) -> Option<String> {
    let runs = match passed_over {
        0 => return None,
        1 => "run was",
        _ => "runs were",
    };
    Some(format!("{passed_over} {runs} not looked at within 0.5 s; `flow list` shows them"))
}

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unreadable {
    /// The name of its directory.
    pub run_id: String,
    /// The reason.
    pub reason: String,
}

impl Unreadable {
    /// That it cannot be read, and why; once, where the reason says it as well.
    pub(crate) fn in_words(&self) -> String {
        let Self { run_id, reason } = self;
        let is_said = reason.contains("cannot be read") && reason.contains(run_id.as_str());
        if is_said { reason.clone() } else { format!("{run_id} cannot be read: {reason}") }
    }
}

/// Which runs cannot be read, and why, for an error.
pub(crate) fn reasons(unreadable: &[Unreadable]) -> Vec<String> {
    unreadable.iter().map(|run| format!("{}: {}", run.run_id, run.reason)).collect()
}

pub(super) fn is_own(run: &RunSummary, session: Option<&SessionId>) -> bool {
    session.is_some() && run.session.as_ref() == session
}
