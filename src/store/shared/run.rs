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
use crate::store::run_store::{AsOf, BroughtEvidence, ReadPosition, RunParts, RunWriter, StoredRun};
use crate::store::shared::copy::{Copies, text_of, undamaged};
use crate::store::shared::settle::left_until;
use crate::store::shared::writer::SharedWriter;

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
    fn id(&self) -> &RunId {
        self.copy.id()
    }

    fn address(&self, document: Document<'_>) -> Address {
        self.copy.address(document)
    }

    // git does not touch copies, and what they lack is at the carrier.
    fn parts(&self) -> RunParts {
        RunParts::Whole
    }

    fn noted(&self) -> Seq {
        self.copy.noted()
    }

    fn is_log_changed(&self) -> bool {
        self.copy.is_log_changed()
    }

    fn text(&self) -> Result<Option<String>> {
        Ok(undamaged(self.copy.text()?))
    }

    fn log(&self) -> Result<LogScan> {
        self.copy.log()
    }

    fn end(&self, since: Seq) -> Result<Option<LogEnd>> {
        self.copy.end(since)
    }

    fn orderly_end(&self, since: Seq) -> Result<Option<LogEnd>> {
        self.copy.orderly_end(since)
    }

    fn log_from(&self, position: &mut ReadPosition, after: Seq) -> Result<LogScan> {
        self.copy.log_from(position, after)
    }

    fn first_event(&self) -> Result<Option<Event>> {
        self.copy.first_event()
    }

    fn activity_names(&self) -> Result<Vec<(Number, String)>> {
        self.copy.activity_names()
    }

    fn activity(&self, name: &str) -> Result<Option<String>> {
        self.copy.activity(name)
    }

    fn evidence(&self) -> Result<Vec<(String, u64)>> {
        self.copy.evidence()
    }

    fn read_evidence(&self, name: &str, offset: u64, limit: usize) -> Result<Option<FilePart>> {
        self.copy.read_evidence(name, offset, limit)
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
        let (noted, last) = (locked.noted().0, locked.end().last);
        if last < noted.max(shown.unwrap_or(Seq(1))) || last > noted || !self.copies.is_whole(&locked, request)? {
            // A power cut, or another program, took the end of the copy, left a part of a commit, or damaged what is further up. What
            // comes next must not take the place of what is missing, nor be decided on without it.
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
