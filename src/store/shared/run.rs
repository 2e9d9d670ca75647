//! A run that several machines share, as readers here see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::codec::{LogEnd, LogScan, RunText};
use crate::disk::FilePart;
use crate::model::{Event, KeptEvidence, Number, RunId, Seq, limits};
use crate::store::address::{Address, Document};
use crate::store::displaced::DisplacedEvents;
use crate::store::error::{HiddenRun, Result, StoreError};
use crate::store::local::RunDir;
use crate::store::request::WriteRequest;
use crate::store::run_store::{BroughtEvidence, LogSinceCommit, ReadPosition, RunParts, RunWriter, StoredRun};
use crate::store::shared::copy::{Copies, text_of, undamaged};
use crate::store::shared::delegate::answered_by;
use crate::store::shared::settle::left_until;
use crate::store::shared::writer::SharedWriter;
use crate::store::shared_runs::AsOf;

/// The copy of a shared run.
#[derive(Debug)]
pub(super) struct SharedRun {
    pub(super) copies: Arc<Copies>,
    pub(super) copy: RunDir,
    /// Whether the carrier said that the copy has everything, after it was opened here.
    is_current: AtomicBool,
    as_of: AsOf,
    is_lost: bool,
}

impl SharedRun {
    pub(super) fn new(copies: Arc<Copies>, copy: RunDir, as_of: AsOf, is_lost: bool) -> Self {
        Self { copies, copy, is_current: AtomicBool::new(false), as_of, is_lost }
    }
}

impl StoredRun for SharedRun {
    answered_by! { copy:
        fn id(&self) -> &RunId;
        fn address(&self, document: Document<'_>) -> Address;
        fn noted(&self) -> Seq;
        fn log_since_commit(&self) -> LogSinceCommit;
        fn log(&self) -> Result<LogScan>;
        fn end(&self, since: Seq) -> Result<Option<LogEnd>>;
        fn orderly_end(&self, since: Seq) -> Result<Option<LogEnd>>;
        fn log_from(&self, position: &mut ReadPosition, after: Seq) -> Result<LogScan>;
        fn first_event(&self) -> Result<Option<Event>>;
        fn activity_names(&self) -> Result<Vec<(Number, String)>>;
        fn activity(&self, name: &str) -> Result<Option<String>>;
        fn evidence(&self) -> Result<Vec<(String, u64)>>;
        fn read_evidence(&self, name: &str, offset: u64, limit: usize) -> Result<Option<FilePart>>;
    }

    // git does not touch copies, and what they lack is at the carrier.
    fn parts(&self) -> RunParts {
        RunParts::Whole
    }

    fn text(&self) -> Result<Option<String>> {
        Ok(undamaged(self.copy.text()?))
    }

    fn evidence_limit(&self) -> usize {
        self.copies.carrier.evidence_limit()
    }

    fn bring_evidence(&self, kept: &[KeptEvidence], request: &WriteRequest) -> Result<BroughtEvidence> {
        let deadline = Instant::now() + request.wait;
        let mut brought = BroughtEvidence::default();
        for kept in kept {
            // Another record may have left another file of this name, and a power cut an empty one.
            if let Some(here) = self.copy.read_evidence(&kept.name, 0, limits::EVIDENCE_BYTES)?
                && kept.is_of(&here.bytes)
            {
                continue;
            }
            match self.copies.carrier.evidence(self.id(), kept, left_until(deadline)) {
                Ok(Some(bytes)) if kept.is_of(&bytes) => {
                    self.copy.lock(request)?.put_evidence(&kept.name, &bytes, request.writer.since)?;
                    brought.came.push(kept.name.clone());
                }
                Ok(_) => brought.lacking.push(kept.name.clone()),
                Err(error) => return Err(self.copies.no_answer(error)),
            }
        }
        Ok(brought)
    }

    fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    fn catch_up(&self, request: &WriteRequest) -> Result<Vec<String>> {
        self.copies.finish_push(self.id(), request)?;
        let notes = self.copies.catch_up(self.id(), None, request)?;
        self.is_current.store(true, Ordering::Relaxed);
        Ok(notes)
    }

    fn as_of(&self) -> Option<AsOf> {
        Some(self.as_of)
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn hides(&self) -> Option<HiddenRun> {
        self.copies.hidden_by(&self.copy)
    }

    fn displaced(&self) -> Option<DisplacedEvents> {
        self.copies.displaced_from(&self.copy)
    }

    fn begin(&self, request: &WriteRequest) -> Result<Box<dyn RunWriter + '_>> {
        let deadline = Instant::now() + request.wait;
        self.copies.finish_push(self.id(), request)?;
        if let Some(hidden) = self.copies.hidden_now(&self.copy, request)? {
            return Err(StoreError::Hidden(hidden));
        }
        let shown = self.text()?.as_deref().and_then(RunText::shown_in);
        let mut locked = self.copy.lock(request)?;
        if shown.is_none() {
            text_of(&locked)?;
        }
        let (noted, last) = (locked.noted().seq, locked.end().last);
        if self.is_lost
            || last < noted.max(shown.unwrap_or(Seq(1)))
            || last > noted
            || !self.copies.is_whole(&locked, request)?
        {
            // A power cut, or another program, took the end of the copy, left a part of a commit, or damaged what is further up; or
            // the carrier had less than the copy when it was asked last. What comes next must not take the place of what is
            // missing, nor be decided on without it.
            drop(locked);
            let notes = self.catch_up(request)?;
            locked = self.copy.lock(request)?;
            locked.tell(notes);
        } else if shown.is_some() {
            // The process that appended the last lines may have died before it showed them.
            self.copies.show(&mut locked, request.writer.since)?;
        }
        Ok(Box::new(SharedWriter::new(&self.copies, locked, request.boot.clone(), deadline)))
    }
}
