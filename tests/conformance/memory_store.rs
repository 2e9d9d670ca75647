//! Runs in memory: for tests of code that uses a store, and as a second implementation of the trait.
//!
//! Writers do not wait for each other here. A writer whose run another one changed in the meantime gets a
//! [`StoreError::Conflict`], as from a store that has only compare-and-swap.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowrun::codec::{LogEnd, LogScan, seal};
use flowrun::disk::FilePart;
use flowrun::model::{Event, Number, RunId, Seq, Timestamp};
use flowrun::store::StoreError;
use flowrun::store::WriteRequest;
use flowrun::store::{ActivityFile, Batch, CommitReceipt, Merge, NewRun};
use flowrun::store::{Address, Document};
use flowrun::store::{LogSinceCommit, Noted, ReadPosition, RunParts, RunStamp, RunStore, RunWriter, StoredRun};

/// A store that all its clones share. The runs are lost when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    runs: Arc<Mutex<BTreeMap<RunId, Kept>>>,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    text: Option<String>,
    log: String,
    activities: BTreeMap<String, String>,
    evidence: BTreeMap<String, Vec<u8>>,
    noted: Noted,
    /// The length of the log after the last commit, in bytes.
    left: usize,
    /// How often the log was replaced.
    replaced: u64,
}

impl Kept {
    fn scan(&self) -> LogScan {
        LogScan::parse(self.log.as_bytes())
    }

    fn append(&mut self, lines: &str, events: &[Event]) {
        self.log.push_str(lines);
        self.left = self.log.len();
        for file in ActivityFile::of_records(events) {
            self.activities.insert(file.name, file.text);
        }
        let last = events.last().map(|event| event.seq).unwrap_or_default();
        let number = events.iter().flat_map(|event| event.kind.records()).map(|record| record.number).max();
        let (seq, number) = (self.noted.seq.max(last), self.noted.number.max(number.unwrap_or_default()));
        self.noted = Noted { seq, number };
    }

    /// Replaces `old` by `new`. If a person saved another text, `merge` decides what becomes of it.
    fn publish(&mut self, old: Option<&str>, new: &str, merge: Merge<'_>) {
        match &self.text {
            Some(text) if Some(text.as_str()) != old => self.text = merge(text).or_else(|| self.text.take()),
            _ => self.text = Some(new.to_owned()),
        }
    }
}

impl MemoryStore {
    fn all(&self) -> MutexGuard<'_, BTreeMap<RunId, Kept>> {
        // A change under the lock either happens or does not, even if a thread panics.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves `run.yaml` as a person would; `None` removes it.
    pub fn save(&self, id: &RunId, text: Option<String>) {
        if let Some(run) = self.all().get_mut(id) {
            run.text = text;
        }
    }

    /// Replaces the log as another program would.
    pub fn put_log(&self, id: &RunId, change: impl FnOnce(&str) -> String) {
        if let Some(run) = self.all().get_mut(id) {
            run.log = change(&run.log);
            run.replaced += 1;
        }
    }
}

impl RunStore for MemoryStore {
    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        Ok(self.all().keys().cloned().collect())
    }

    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>, StoreError> {
        let run = MemoryRun { store: self.clone(), id: id.clone() };
        if self.all().contains_key(id) { Ok(Box::new(run)) } else { Err(run.gone()) }
    }

    fn stamps(
        &self,
        ids: Option<&[RunId]>,
        due: &dyn Fn(&RunId) -> bool,
    ) -> Result<Vec<(RunId, RunStamp)>, StoreError> {
        let stamp = |id: &RunId, run: &Kept| {
            let mut hasher = DefaultHasher::new();
            (&run.text, run.replaced, run.log.len()).hash(&mut hasher);
            if due(id) { RunStamp::Known(hasher.finish()) } else { RunStamp::NotDue }
        };
        let all = self.all();
        let wanted = all.iter().filter(|(id, _)| ids.is_none_or(|ids| ids.contains(id)));
        Ok(wanted.map(|(id, run)| (id.clone(), stamp(id, run))).collect())
    }

    fn create(
        &self,
        _: &WriteRequest,
        _: Option<&str>,
        propose: &mut dyn FnMut(usize) -> Option<NewRun>,
    ) -> Result<Box<dyn StoredRun>, StoreError> {
        let mut taken = Address::new("the run");
        for attempt in 1.. {
            let Some(NewRun { id, text, events, .. }) = propose(attempt) else { break };
            let run = MemoryRun { store: self.clone(), id: id.clone() };
            let mut all = self.all();
            if all.contains_key(&id) {
                taken = run.address(Document::Run);
                continue;
            }
            let mut kept = Kept { text: Some(text), ..Kept::default() };
            kept.append(&events.iter().map(seal).collect::<String>(), &events);
            all.insert(id, kept);
            return Ok(Box::new(run));
        }
        Err(StoreError::Taken { at: taken })
    }
}

#[derive(Debug, Clone)]
struct MemoryRun {
    store: MemoryStore,
    id: RunId,
}

impl MemoryRun {
    fn gone(&self) -> StoreError {
        StoreError::NoRun { at: self.address(Document::Run) }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> Result<T, StoreError> {
        self.store.all().get_mut(&self.id).map(look).ok_or_else(|| self.gone())
    }
}

impl StoredRun for MemoryRun {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn address(&self, document: Document<'_>) -> Address {
        let run = format!("memory:{}", self.id);
        Address::new(match document {
            Document::Run => run,
            Document::Text => format!("{run}/run.yaml"),
            Document::Log => format!("{run}/events.jsonl"),
            Document::Activity(name) => format!("{run}/activities/{name}"),
        })
    }

    fn parts(&self) -> RunParts {
        match self.with(|run| run.log.is_empty() && run.text.is_some()) {
            Ok(true) => RunParts::WithoutLog,
            _ => RunParts::Whole,
        }
    }

    fn noted(&self) -> Seq {
        self.with(|run| run.noted.seq).unwrap_or_default()
    }

    fn log_since_commit(&self) -> LogSinceCommit {
        let since = self.with(|run| match run.left {
            0 => LogSinceCommit::Unknown,
            left if left == run.log.len() => LogSinceCommit::Same,
            _ => LogSinceCommit::Changed,
        });
        since.unwrap_or(LogSinceCommit::Unknown)
    }

    fn text(&self) -> Result<Option<String>, StoreError> {
        self.with(|run| run.text.clone())
    }

    fn log(&self) -> Result<LogScan, StoreError> {
        self.with(|run| run.scan())
    }

    fn end(&self, since: Seq) -> Result<Option<LogEnd>, StoreError> {
        self.with(|run| (!run.log.is_empty()).then(|| LogEnd::of(&run.scan(), since)))
    }

    fn log_from(&self, position: &mut ReadPosition, _: Seq) -> Result<LogScan, StoreError> {
        self.with(|run| {
            if position.log != run.replaced {
                *position = ReadPosition { log: run.replaced, offset: 0 };
            }
            let from = usize::try_from(position.offset).unwrap_or(usize::MAX).min(run.log.len());
            let whole = run.log[from..].rfind('\n').map_or(from, |at| from + at + 1);
            position.offset = whole as u64;
            LogScan::parse(&run.log.as_bytes()[from..whole])
        })
    }

    fn first_event(&self) -> Result<Option<Event>, StoreError> {
        Ok(self.log()?.events().next().filter(|first| first.seq == Seq(1)).cloned())
    }

    fn activity_names(&self) -> Result<Vec<(Number, String)>, StoreError> {
        let number = |name: &str| name.split_once('-')?.0.parse().ok();
        self.with(|run| run.activities.keys().filter_map(|name| Some((number(name)?, name.clone()))).collect())
    }

    fn activity(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.with(|run| run.activities.get(name).cloned())
    }

    fn evidence(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.with(|run| run.evidence.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn read_evidence(&self, name: &str, offset: u64, limit: usize) -> Result<Option<FilePart>, StoreError> {
        self.with(|run| {
            let whole = run.evidence.get(name)?;
            let bytes = whole.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX)).take(limit).copied().collect();
            Some(FilePart { bytes, len: whole.len() as u64 })
        })
    }

    fn begin(&self, _: &WriteRequest) -> Result<Box<dyn RunWriter + '_>, StoreError> {
        let seen = self.with(|run| run.clone())?;
        let end = LogEnd::of(&seen.scan(), Seq(u64::MAX));
        Ok(Box::new(MemoryWriter { run: self, seen, end }))
    }
}

/// A writer, with a snapshot of the run from when it began.
#[derive(Debug)]
struct MemoryWriter<'a> {
    run: &'a MemoryRun,
    seen: Kept,
    end: LogEnd,
}

impl MemoryWriter<'_> {
    /// Changes the run, unless its log differs from the snapshot.
    fn change<T>(&mut self, change: impl FnOnce(&mut Kept) -> T) -> Result<T, StoreError> {
        let seen = &self.seen;
        let changed = self.run.with(|run| {
            if run.log != seen.log {
                return None;
            }
            let done = change(run);
            Some((done, run.clone()))
        })?;
        let (done, now) = changed.ok_or_else(|| StoreError::Conflict { run: self.run.id.clone(), races: 1 })?;
        self.seen = now;
        Ok(done)
    }
}

impl RunWriter for MemoryWriter<'_> {
    fn text(&self) -> Result<Option<String>, StoreError> {
        self.run.text()
    }

    fn end(&self) -> &LogEnd {
        &self.end
    }

    fn read_end(&mut self, since: Seq) -> Result<(), StoreError> {
        self.end = LogEnd::of(&self.seen.scan(), since);
        Ok(())
    }

    fn log(&self) -> Result<LogScan, StoreError> {
        Ok(self.seen.scan())
    }

    fn with_text(&self, text: &str, enough: &dyn Fn(&Event) -> bool) -> Result<Vec<Event>, StoreError> {
        let mut found = Vec::new();
        for event in self.seen.scan().events().rev() {
            if !seal(event).contains(text) {
                continue;
            }
            found.push(event.clone());
            if enough(event) {
                break;
            }
        }
        Ok(found)
    }

    fn noted(&self) -> Noted {
        self.seen.noted
    }

    fn is_as_left(&self) -> bool {
        !self.seen.log.is_empty() && self.seen.left == self.seen.log.len()
    }

    fn is_free(&self, name: &str) -> Result<bool, StoreError> {
        Ok(!self.seen.activities.contains_key(name))
    }

    fn put_evidence(&mut self, name: &str, bytes: &[u8], _: Timestamp) -> Result<(), StoreError> {
        self.change(|run| drop(run.evidence.insert(name.to_owned(), bytes.to_vec())))
    }

    fn commit(&mut self, batch: &Batch<'_>, merge: Merge<'_>) -> Result<CommitReceipt, StoreError> {
        let lines = batch.sealed(self.end.last)?;
        let last = batch.events.last().expect("BUG: nothing is committed");
        batch.refuse_full(self.run.id())?;
        self.change(|run| {
            run.append(&lines, batch.events);
            run.publish(Some(batch.old_text), batch.new_text, merge);
        })?;
        self.end.advance(last);
        Ok(CommitReceipt { seq: last.seq, lagging: None })
    }

    fn roll_forward(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[ActivityFile],
        _: Timestamp,
        merge: Merge<'_>,
    ) -> Result<(), StoreError> {
        self.change(|run| {
            for file in files {
                run.activities.entry(file.name.clone()).or_insert_with(|| file.text.clone());
            }
            run.publish(old, new, merge);
        })
    }
}
