//! The store: the runs of `.flow/runs`, and the copies of shared ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::codec::seal;
use crate::model::{RunId, RunSummary, Seq, Timestamp, first_few};
use crate::store::address::Address;
use crate::store::batch::NewRun;
use crate::store::error::{HiddenRun, Result, StoreError};
use crate::store::flaw::StoreFlaw;
use crate::store::local::Project;
use crate::store::pruned::PrunedRun;
use crate::store::request::WriteRequest;
use crate::store::run_store::{CopyCounts, MaybeOpen, NewRuns, Reopening, RunCache, RunStamp, RunStore, StoredRun};
use crate::store::shared::carrier::{Carrier, Put, Tip};
use crate::store::shared::copy::{Copies, ShowEvents, shows_end};
use crate::store::shared::run::SharedRun;
use crate::store::shared::settle::{PositionOwner, left_until, settle};
use crate::store::shared_runs::{AsOf, RefreshScope, SharedRuns, SharedStore, WorkOf};
use crate::store::work::{WorkChange, WorkKey};

/// How many ids are tried before creation fails with [`StoreError::Taken`].
const ID_TRIES: usize = 1000;
/// How many runs are named whose copies were put aside.
const NAMED: usize = 10;

/// The runs of a project, of which a carrier keeps some for several machines.
#[derive(Debug)]
pub struct Shared {
    pub(super) copies: Arc<Copies>,
    /// What was seen at the carrier last.
    seen: Mutex<SeenStore>,
    /// The copies of another store that were here, and the quarantine that they are in now.
    put_aside: Mutex<Option<(PathBuf, Vec<RunId>)>>,
}

/// What was seen at the carrier last. Other processes may have seen more, so that some runs are only asked for again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SeenStore {
    at: Option<Timestamp>,
    reached: bool,
    /// The marks of the runs whose copies were current then: of those that were listed as open, and as over.
    open: BTreeMap<RunId, String>,
    over: BTreeMap<RunId, String>,
    /// The runs of copies that the carrier has lost, or whose end it has.
    #[serde(default)]
    lost: BTreeSet<RunId>,
}

/// What became of runs whose copies were to be brought up to date.
struct ToldRuns {
    notes: Vec<String>,
    /// Those that the carrier has lost.
    lost: BTreeSet<RunId>,
    /// Why it could not give one of them, the last one.
    unread: Option<StoreError>,
}

impl SeenStore {
    /// The marks of runs that are over, or of those that are not.
    fn marks(&mut self, is_over: bool) -> &mut BTreeMap<RunId, String> {
        if is_over { &mut self.over } else { &mut self.open }
    }
}

impl Shared {
    /// The runs of `here`, and those that `carrier` keeps. `show` makes the `run.yaml` of a copy. `of` is a digest of the
    /// carrier's whole address: at `now`, copies of another store are put into quarantine.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of the copies cannot be used.
    pub fn new(here: Project, carrier: Box<dyn Carrier>, show: ShowEvents, of: &str, now: Timestamp) -> Result<Self> {
        let mut project = here.copies()?;
        let (known, mut put_aside) = (project.store_of_copies(), None);
        if known.as_deref() != Some(of) {
            if known.is_some() {
                let runs = project.run_dirs()?;
                put_aside = Some((here.set_copies_aside(now)?, runs));
                project = here.copies()?;
            }
            project.keep_store_of_copies(of)?;
        }
        let seen = project.seen_at_carrier().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let copies = Arc::new(Copies { here, carrier, project, show });
        Ok(Self { copies, seen: Mutex::new(seen), put_aside: Mutex::new(put_aside) })
    }

    /// The ids of the shared runs of which copies are here.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn ids_of_copies(&self) -> Result<BTreeSet<RunId>> {
        Ok(self.copies.project.run_dirs()?.into_iter().collect())
    }

    /// Whether a copy of a shared run with this id is here.
    #[must_use]
    pub fn is_shared(&self, id: &RunId) -> bool {
        self.copies.project.run(id).is_ok()
    }

    fn seen(&self) -> SeenStore {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_seen(&self, seen: SeenStore) {
        // A cache: without it all runs are asked for.
        if let Ok(text) = serde_json::to_string(&seen) {
            let _ = self.copies.project.keep_seen_at_carrier(&text);
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// That copies of another store were moved; `None` if there were none, or if that was reported.
    fn put_aside_in_words(&self) -> Option<String> {
        let (place, runs) = self.put_aside.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if runs.is_empty() {
            return None;
        }
        let (place, runs) = (place.display(), first_few(&runs, NAMED));
        Some(format!(
            "the copies of another store are in {place} now ({runs}); where one is the only copy of its run, move it from \
             runs/RUN there to .flow/runs/RUN, and `flow remote push RUN` shares it"
        ))
    }

    /// Of these copies the ones that were copies of runs: not empty, and not about to become shared.
    fn with_events(&self, copies: &BTreeSet<RunId>) -> Result<BTreeSet<RunId>> {
        let mut runs = BTreeSet::new();
        for id in copies {
            if self.copies.project.pushing(id).is_none() && self.copies.last_of(id)? > Seq(0) {
                runs.insert(id.clone());
            }
        }
        Ok(runs)
    }

    /// How many runs were in the store when it was asked last.
    ///
    /// # Errors
    /// When the copies cannot be listed.
    pub fn ids_in_store(&self) -> Result<usize> {
        let copies = self.with_events(&self.ids_of_copies()?)?;
        Ok(copies.difference(&self.seen().lost).count())
    }

    /// Notes that the store has a run which it had lost.
    pub(super) fn remember_found(&self, run: &RunId) {
        let mut seen = self.seen();
        if seen.lost.remove(run) {
            self.remember_seen(seen);
        }
    }

    /// Whether a run is of this checkout alone. A run that was shared may come back with a branch: then the shared one counts.
    pub(super) fn is_here(&self, id: &RunId) -> bool {
        !self.is_shared(id) && self.copies.here.run(id).is_ok()
    }

    /// The project that has the files of a run.
    fn project_of(&self, id: &RunId) -> &Project {
        if self.is_here(id) { &self.copies.here } else { &self.copies.project }
    }

    /// Brings the copy of each run up to date whose mark has changed, or that is open here and not listed.
    fn catch_up_changed(&self, scope: RefreshScope, tips: Vec<Tip>, request: &WriteRequest) -> Result<Vec<String>> {
        let (mut before, copies) = (self.seen(), self.ids_of_copies()?);
        let (mut seen, mut notes) =
            (SeenStore { at: Some(request.writer.since), reached: true, ..SeenStore::default() }, vec![]);
        let mut unlisted = self.open_copies()?;
        let mut wanted = Vec::new();
        // Runs that are over are listed only among all.
        seen.lost = match scope {
            RefreshScope::All => self.with_events(&copies)?,
            RefreshScope::Open => before.lost.difference(&unlisted).cloned().collect(),
        };
        for tip in tips {
            unlisted.remove(&tip.run);
            seen.lost.remove(&tip.run);
            let is_known = before.marks(tip.is_over).remove(&tip.run).is_some_and(|known| known == tip.mark);
            if is_known && copies.contains(&tip.run) {
                seen.marks(tip.is_over).insert(tip.run, tip.mark);
                continue;
            }
            let first = self.copies.last_of(&tip.run).unwrap_or_default().max(Seq(1));
            wanted.push((tip, first));
        }
        self.copies.carrier.expect(&wanted, request.wait);
        let mut told = ToldRuns { notes, lost: seen.lost.clone(), unread: None };
        for (Tip { run, mark, is_over }, _) in wanted {
            if self.is_caught_up(&run, Some(&mark), request, &mut told)? {
                seen.marks(is_over).insert(run, mark);
            }
        }
        // They have ended, or are lost.
        for run in unlisted {
            told.lost.remove(&run);
            self.is_caught_up(&run, None, request, &mut told)?;
        }
        (seen.lost, notes) = (told.lost, told.notes);
        if let Some(error) = told.unread {
            self.copies.refuse_if_store_fails(error, request)?;
        }
        if scope == RefreshScope::Open {
            before.over.retain(|run, _| !seen.open.contains_key(run));
            seen.over = before.over;
        }
        self.remember_seen(seen);
        Ok(notes)
    }

    /// The runs that are open by their copies, but those that are being moved into the store.
    fn open_copies(&self) -> Result<BTreeSet<RunId>> {
        let MaybeOpen { known, ids, .. } = self.copies.project.maybe_open(None)?;
        let mut open: BTreeSet<_> = known.into_iter().map(|run| run.head.run_id).collect();
        for id in ids {
            // What cannot be read is reported by those who read it.
            if self.copies.is_open(&id).unwrap_or(false) {
                open.insert(id);
            }
        }
        open.retain(|id| self.copies.project.pushing(id).is_none());
        Ok(open)
    }

    /// Brings the copy of a run up to date. Returns whether it is.
    fn is_caught_up(
        &self,
        run: &RunId,
        mark: Option<&str>,
        request: &WriteRequest,
        told: &mut ToldRuns,
    ) -> Result<bool> {
        let ToldRuns { notes, lost, unread } = told;
        match self.copies.catch_up(run, mark, request) {
            Ok(more) => {
                notes.extend(more);
                return Ok(true);
            }
            // Who holds it brings it up to date, or the next one who asks.
            Err(StoreError::Held { .. }) => {}
            // One damaged run must not hide the others.
            Err(error @ (StoreError::NotALog { .. } | StoreError::Damaged { .. })) => notes.push(error.to_string()),
            Err(error @ StoreError::Lost { .. }) => {
                notes.push(error.to_string());
                lost.insert(run.clone());
            }
            // Nor must one that the store cannot give, such as from a bad disk, as long as it gives others.
            Err(error @ StoreError::Unreached { has_answered: true, .. }) => {
                notes.push(format!("what is new of run {run} is not here, since {error}"));
                *unread = Some(error);
            }
            // Nor must what another program put in the place of its copy.
            Err(error) if error.is_forbidden() => notes.push(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(false)
    }
}

impl RunStore for Shared {
    fn ids(&self) -> Result<Vec<RunId>> {
        let mut ids = self.copies.here.run_ids()?;
        ids.extend(self.copies.project.run_ids()?);
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>> {
        let copy = match self.copies.existing(id)? {
            Some(copy) => copy,
            None => match self.copies.here.open(id) {
                // It may have moved into the store meanwhile.
                Err(error) if error.is_not_found() => self.copies.existing(id)?.ok_or(error)?,
                opened => return opened,
            },
        };
        let is_lost = self.seen.lock().unwrap_or_else(PoisonError::into_inner).lost.contains(id);
        Ok(Box::new(SharedRun::new(Arc::clone(&self.copies), copy, self.as_of(), is_lost)))
    }

    fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool) -> Result<Vec<(RunId, RunStamp)>> {
        let copies = &self.copies.project;
        let Some(ids) = ids else {
            let shared = self.ids_of_copies()?;
            let mut here = self.copies.here.stamps(None, due)?;
            here.retain(|(id, _)| !shared.contains(id));
            return Ok([here, copies.stamps(None, due)?].concat());
        };
        let (here, there): (Vec<_>, Vec<_>) = ids.iter().cloned().partition(|id| self.is_here(id));
        Ok([self.copies.here.stamps(Some(&here), due)?, copies.stamps(Some(&there), due)?].concat())
    }

    fn place(&self, id: &RunId) -> Option<PathBuf> {
        self.project_of(id).place(id)
    }

    fn places(&self) -> Vec<PathBuf> {
        [self.copies.here.places(), self.copies.project.places()].concat()
    }

    fn create(&self, request: &WriteRequest, _: Option<&str>, propose: NewRuns<'_>) -> Result<Box<dyn StoredRun>> {
        let deadline = Instant::now() + request.wait;
        // A copy that is behind must not be the reason why a run is refused.
        self.refresh(RefreshScope::Open, request)?;
        let mut refusal = StoreError::Taken { at: self.copies.carrier.address() };
        for attempt in 1..=ID_TRIES {
            let Some(NewRun { id, text, events, work }) = propose(attempt) else { break };
            refusal = StoreError::Taken { at: self.copies.address(&id) };
            if self.is_here(&id) || self.copies.existing(&id)?.is_some() {
                continue;
            }
            if let Some(pruned) = self.pruned(&id)? {
                refusal = pruned.refusal();
                continue;
            }
            let lines: String = events.iter().map(seal).collect();
            let work = WorkChange { taken: work, freed: Vec::new() };
            let (is_over, work) = (shows_end(&text), &work);
            let (before, again) = (Seq(0), false);
            let put = Put { run: &id, before, earlier: "", lines: &lines, is_over, evidence: &[], work, again };
            if settle(&*self.copies.carrier, &put, deadline)? == PositionOwner::Ours {
                self.copies.make_new(&id, &lines, &text, request)?;
                return self.open(&id);
            }
        }
        Err(refusal)
    }

    fn pruned(&self, id: &RunId) -> Result<Option<PrunedRun>> {
        self.copies.here.pruned(id)
    }

    fn pruned_named(&self, name: &str) -> Result<Option<PrunedRun>> {
        self.copies.here.pruned_named(name)
    }

    fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen> {
        let mut both = self.copies.here.maybe_open(outside)?;
        let shared = self.ids_of_copies()?;
        let is_here_alone = |id: &RunId| !shared.contains(id);
        if !both.ids.iter().chain(both.known.iter().map(|run| &run.head.run_id)).all(is_here_alone) {
            // What was seen is about all of them, so it cannot be cached.
            both.seen = None;
            both.ids.retain(is_here_alone);
            both.known.retain(|run| is_here_alone(&run.head.run_id));
        }
        let copies = self.copies.project.maybe_open(outside)?;
        both.copies = CopyCounts { known: copies.known.len(), ids: copies.ids.len(), seen: copies.seen };
        both.known.extend(copies.known);
        both.ids.extend(copies.ids);
        Ok(both)
    }

    fn listing(&self, known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>> {
        let shared = self.ids_of_copies()?;
        let mut others = self.copies.here.listing(&|mut finished| {
            finished.retain(|run| !shared.contains(&run.head.run_id));
            known(finished);
        })?;
        others.retain(|id| !shared.contains(id));
        others.extend(self.copies.project.listing(known)?);
        Ok(others)
    }

    fn shared(&self) -> SharedStore<'_> {
        SharedStore::Accepted(self)
    }

    fn patience(&self) -> Duration {
        self.copies.carrier.patience()
    }

    fn run_cache(&self) -> Option<&dyn RunCache> {
        Some(self)
    }
}

impl SharedRuns for Shared {
    fn address(&self) -> Address {
        self.copies.carrier.address()
    }

    fn directory(&self) -> Option<PathBuf> {
        self.copies.carrier.directory()
    }

    fn copies_with(&self, id: &RunId) -> Option<PathBuf> {
        if self.is_shared(id) { Some(self.copies.project.path().to_owned()) } else { None }
    }

    fn as_of(&self) -> AsOf {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        AsOf { at: seen.at, reached: seen.reached }
    }

    fn hidden(&self) -> Result<Vec<HiddenRun>> {
        self.all_hidden()
    }

    fn refresh(&self, scope: RefreshScope, request: &WriteRequest) -> Result<Vec<String>> {
        let deadline = Instant::now() + request.wait;
        match self.copies.tips(scope, left_until(deadline)) {
            Ok(tips) => {
                let mut notes = self.catch_up_changed(scope, tips, request)?;
                notes.extend(self.put_aside_in_words());
                Ok(notes)
            }
            Err(error) => {
                self.remember_seen(SeenStore { reached: false, ..self.seen() });
                Err(error)
            }
        }
    }

    fn flaws(&self, of: Option<&RunId>, work_of: WorkOf<'_>, request: &WriteRequest) -> Result<Vec<StoreFlaw>> {
        match of {
            Some(run) => self.flaws_of_one(run, work_of, Instant::now() + request.wait),
            None => self.all_flaws(work_of, request),
        }
    }

    fn bring_unlisted(&self, run: &RunId, request: &WriteRequest) -> Result<bool> {
        let deadline = Instant::now() + request.wait;
        if self.copies.existing(run)?.is_some() || self.is_here(run) {
            return Ok(false);
        }
        let carrier = &self.copies.carrier;
        if !carrier.has_unlisted(run, left_until(deadline)).map_err(|error| self.copies.no_answer(error))? {
            return Ok(false);
        }
        self.copies.catch_up(run, None, request)?;
        Ok(true)
    }

    fn put_again(&self, run: &RunId, work: Vec<WorkKey>, request: &WriteRequest) -> Result<()> {
        self.take_in(run, work, request).map(drop)
    }
}

impl RunCache for Shared {
    fn remember(&self, mut read: MaybeOpen, summary_of: &dyn Fn(&RunId) -> Option<RunSummary>) {
        let CopyCounts { known, ids, seen } = std::mem::take(&mut read.copies);
        let known = read.known.split_off(read.known.len() - known);
        let ids = read.ids.split_off(read.ids.len() - ids);
        self.copies.project.remember(MaybeOpen { known, ids, seen, copies: CopyCounts::default() }, summary_of);
        self.copies.here.remember(read, summary_of);
    }

    fn remember_end(&self, id: &RunId, outside: Option<&str>, read: &dyn Fn() -> Option<RunSummary>) -> bool {
        self.project_of(id).remember_end(id, outside, read)
    }

    fn remember_reopening(&self, request: &WriteRequest, id: &RunId, reopening: Reopening) {
        self.project_of(id).remember_reopening(request, id, reopening);
    }
}
