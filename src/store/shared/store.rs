//! The store: the runs of `.flow/runs`, and the copies of shared ones.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::codec::seal;
use crate::model::{RunId, RunSummary, Seq, Timestamp};
use crate::store::batch::NewRun;
use crate::store::error::StoreError;
use crate::store::local::Project;
use crate::store::request::WriteRequest;
use crate::store::run_store::{AsOf, Copied, MaybeOpen, Reopening, RunCache, RunStamp, RunStore, StoredRun, Visit};
use crate::store::shared::carrier::{Carrier, NotReached, Put, Tip};
use crate::store::shared::copy::{Copies, ShowEvents, shows_end};
use crate::store::shared::run::SharedRun;
use crate::store::shared::settle::{Settled, left_until, settle};
use crate::store::work::WorkChange;

/// How many ids are tried before creation fails with [`StoreError::Taken`].
const ID_TRIES: usize = 1000;

/// The runs of a project, of which a carrier keeps some for several machines.
#[derive(Debug)]
pub struct Shared {
    /// The runs of this checkout alone.
    here: Project,
    copies: Arc<Copies>,
    /// What was seen at the carrier last.
    seen: Mutex<Seen>,
}

/// What was seen at the carrier last. Other processes may have seen more, so that some runs are only asked for again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Seen {
    at: Option<Timestamp>,
    reached: bool,
    /// The marks of the runs whose copies were current then.
    marks: BTreeMap<RunId, String>,
}

impl Shared {
    /// The runs of `here`, and those that `carrier` keeps. `show` makes the `run.yaml` of a copy.
    ///
    /// # Errors
    /// [`StoreError`] when the directory of the copies cannot be used.
    pub fn new(here: Project, carrier: Box<dyn Carrier>, show: ShowEvents) -> Result<Self, StoreError> {
        let project = here.copies()?;
        let seen = project.seen_at_carrier().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(Self { here, copies: Arc::new(Copies { carrier, project, show }), seen: Mutex::new(seen) })
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_seen(&self, seen: Seen) {
        // A cache: without it all runs are asked for.
        if let Ok(text) = serde_json::to_string(&seen) {
            let _ = self.copies.project.keep_seen_at_carrier(&text);
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    fn as_of(&self) -> AsOf {
        let Seen { at, reached, .. } = self.seen();
        AsOf { at, reached }
    }

    /// Whether a run is of this checkout alone.
    fn is_here(&self, id: &RunId) -> bool {
        self.here.run(id).is_ok()
    }

    /// The project that has the files of a run.
    fn project_of(&self, id: &RunId) -> &Project {
        if self.is_here(id) { &self.here } else { &self.copies.project }
    }

    /// Brings the copy of each of these runs up to date whose mark has changed.
    fn catch_up_changed(&self, tips: Vec<Tip>, request: &WriteRequest) -> Result<Vec<String>, StoreError> {
        let before = self.seen().marks;
        let (mut marks, mut told) = (BTreeMap::new(), Vec::new());
        for Tip { run, mark } in tips {
            if before.get(&run) == Some(&mark) && self.copies.existing(&run)?.is_some() {
                marks.insert(run, mark);
                continue;
            }
            match self.copies.catch_up(&run, Some(&mark), request) {
                Ok(more) => {
                    told.extend(more);
                    marks.insert(run, mark);
                }
                // Who holds it brings it up to date, or the next one who asks.
                Err(StoreError::Held { .. } | StoreError::NoRun { .. }) => {}
                // One damaged run must not hide the others.
                Err(error @ StoreError::NotALog { .. }) => told.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        self.remember_seen(Seen { at: Some(request.writer.since), reached: true, marks });
        Ok(told)
    }
}

impl RunStore for Shared {
    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let mut ids = self.here.run_ids()?;
        ids.extend(self.copies.project.run_ids()?);
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>, StoreError> {
        match self.here.run(id) {
            Err(error) if error.is_not_found() => {}
            found => return Ok(Box::new(found?)),
        }
        let copy = self.copies.project.run(id)?;
        Ok(Box::new(SharedRun::new(Arc::clone(&self.copies), copy, self.as_of())))
    }

    fn each(&self, ids: &[RunId], visit: Visit<'_>) -> Result<(), StoreError> {
        for id in ids {
            match self.open(id) {
                Err(error) if error.is_not_found() => {}
                opened => visit(id, opened),
            }
        }
        Ok(())
    }

    fn stamps(
        &self,
        ids: Option<&[RunId]>,
        due: &dyn Fn(&RunId) -> bool,
    ) -> Result<Vec<(RunId, RunStamp)>, StoreError> {
        let copies = &self.copies.project;
        let Some(ids) = ids else {
            return Ok([self.here.stamps(None, due)?, copies.stamps(None, due)?].concat());
        };
        let (here, there): (Vec<_>, Vec<_>) = ids.iter().cloned().partition(|id| self.is_here(id));
        Ok([self.here.stamps(Some(&here), due)?, copies.stamps(Some(&there), due)?].concat())
    }

    fn place(&self, id: Option<&RunId>) -> Option<PathBuf> {
        match id {
            Some(id) => self.project_of(id).place(Some(id)),
            None => self.here.place(None),
        }
    }

    fn create(
        &self,
        request: &WriteRequest,
        _: Option<&str>,
        propose: &mut dyn FnMut(usize) -> Option<NewRun>,
    ) -> Result<Box<dyn StoredRun>, StoreError> {
        let deadline = Instant::now() + request.wait;
        // A copy that is behind must not be the reason why a run is refused.
        self.refresh(request)?;
        let mut taken = self.copies.carrier.address();
        for attempt in 1..=ID_TRIES {
            let Some(NewRun { id, text, events, work }) = propose(attempt) else { break };
            taken = self.copies.address(&id);
            if self.is_here(&id) || self.copies.existing(&id)?.is_some() {
                continue;
            }
            let lines: String = events.iter().map(seal).collect();
            let first = events.first().expect("BUG: a run without an event");
            let work = WorkChange { taken: work, freed: Vec::new() };
            let put = Put { run: &id, before: Seq(0), lines: &lines, is_over: shows_end(&text), work: &work };
            if settle(&*self.copies.carrier, &put, &first.id, deadline)? == Settled::Ours {
                self.copies.make_new(&id, &lines, &text, request)?;
                return self.open(&id);
            }
        }
        Err(StoreError::Taken { at: taken })
    }

    fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen, StoreError> {
        let mut both = self.here.maybe_open(outside)?;
        let copies = self.copies.project.maybe_open(outside)?;
        both.copies = Copied { known: copies.known.len(), ids: copies.ids.len(), seen: copies.seen };
        both.known.extend(copies.known);
        both.ids.extend(copies.ids);
        Ok(both)
    }

    fn listing(&self, known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>, StoreError> {
        let mut others = self.here.listing(known)?;
        others.extend(self.copies.project.listing(known)?);
        Ok(others)
    }

    fn refresh(&self, request: &WriteRequest) -> Result<Vec<String>, StoreError> {
        let deadline = Instant::now() + request.wait;
        match self.copies.carrier.tips(left_until(deadline)) {
            Ok(tips) => self.catch_up_changed(tips, request),
            Err(NotReached(why)) => {
                self.remember_seen(Seen { reached: false, ..self.seen() });
                Err(StoreError::Unreached { at: self.copies.carrier.address(), why })
            }
        }
    }

    fn run_cache(&self) -> Option<&dyn RunCache> {
        Some(self)
    }
}

impl RunCache for Shared {
    fn remember(&self, mut read: MaybeOpen, summary_of: &dyn Fn(&RunId) -> Option<RunSummary>) {
        let Copied { known, ids, seen } = std::mem::take(&mut read.copies);
        let known = read.known.split_off(read.known.len() - known);
        let ids = read.ids.split_off(read.ids.len() - ids);
        self.copies.project.remember(MaybeOpen { known, ids, seen, copies: Copied::default() }, summary_of);
        self.here.remember(read, summary_of);
    }

    fn remember_end(&self, id: &RunId, outside: Option<&str>, read: &dyn Fn() -> Option<RunSummary>) -> bool {
        self.project_of(id).remember_end(id, outside, read)
    }

    fn remember_reopening(&self, request: &WriteRequest, id: &RunId, reopening: Reopening) {
        self.project_of(id).remember_reopening(request, id, reopening);
    }
}
