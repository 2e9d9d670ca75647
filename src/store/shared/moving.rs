//! Moves a run of this checkout to where several machines share it.

use std::io;
use std::time::Instant;

use crate::codec::{LogScan, RunText};
use crate::model::{RunId, Seq, limits};
use crate::store::address::Document;
use crate::store::error::StoreError;
use crate::store::local::RunDir;
use crate::store::request::WriteRequest;
use crate::store::run_store::StoredRun as _;
use crate::store::shared::carrier::{Put, faults_in, window_of};
use crate::store::shared::copy::shows_end;
use crate::store::shared::settle::{Settled, left_until, settle};
use crate::store::shared::store::Shared;
use crate::store::work::{WorkChange, WorkKey};

/// About how many bytes go to the carrier at a time.
const PART: usize = 256 << 10;

impl Shared {
    /// Moves the run `id` of this checkout into the store; `work` is what it is about while it is open. A run of which only a
    /// copy is here, because the store lost it, is put there again. Repeating it goes on where it stopped. Returns the last
    /// position.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::DamagedLog`] for a log that has to be repaired first, [`StoreError::Taken`] when
    /// the store has another run of this id, [`StoreError::WorkTaken`]; nothing has changed then. Others as of a commit.
    pub fn take_in(&self, id: &RunId, work: Vec<WorkKey>, request: &WriteRequest) -> Result<Seq, StoreError> {
        let local = match self.here.run(id) {
            Err(error) if error.is_not_found() => None,
            found => Some(found?),
        };
        // Held until the end: other writers here wait, and find the log gone.
        let locked = local.as_ref().map(|local| local.lock(request)).transpose()?;
        let copy = self.copies.existing(id)?;
        let is_new = copy.is_none();
        let no_run = || StoreError::NoRun { at: self.copies.address(id) };
        let run = copy.as_ref().or(local.as_ref()).ok_or_else(no_run)?;
        let lines = self.whole_log(run)?;
        let is_over = run.text()?.is_some_and(|text| shows_end(&text));
        if is_new {
            Self::refuse_lost_end(run, &lines)?;
            // From here on the run counts as shared here, so that nothing is recorded that the store would lack.
            self.copies.make(id, &lines, request)?;
        }
        let work = WorkChange { taken: if is_over { Vec::new() } else { work }, freed: Vec::new() };
        match self.send(run, &lines, is_over, &work, request) {
            Err(error @ (StoreError::WorkTaken { .. } | StoreError::Taken { .. } | StoreError::Unreached { .. }))
                if is_new =>
            {
                self.copies.project.remove_copy(id)?;
                return Err(error);
            }
            sent => sent?,
        }
        // A log that has something else, as a branch may bring it, stays where it is.
        if let (Some(locked), Some(local), Some(copy)) = (locked, &local, self.copies.existing(id)?)
            && local.log_bytes()?.is_some_and(|bytes| lines.as_bytes().starts_with(&bytes))
        {
            let now = request.writer.since;
            locked.set_contents_aside(now)?;
            self.here.set_run_aside(id, &copy, now)?;
        }
        Ok(LogScan::parse(lines.as_bytes()).last_seq())
    }

    /// The lines of a run. Where some are damaged or missing, nothing is sent: it would stay so for all machines.
    fn whole_log(&self, run: &RunDir) -> Result<String, StoreError> {
        let bytes = run.log_bytes()?.unwrap_or_default();
        let lines = String::from_utf8(bytes).map_err(|_| damaged(run, "it is not UTF-8 text".to_owned()))?;
        if let Some(why) = faults_in(&lines).into_iter().next() {
            return Err(damaged(run, why));
        }
        if !lines.ends_with('\n') {
            return Err(damaged(run, "its last line is not whole".to_owned()));
        }
        Ok(lines)
    }

    /// Refuses a run of this checkout whose `run.yaml` shows events that its log has lost.
    fn refuse_lost_end(run: &RunDir, lines: &str) -> Result<(), StoreError> {
        let last = LogScan::parse(lines.as_bytes()).last_seq();
        let shown = run.text()?.and_then(|text| RunText::parse(&text).ok()?.document().state.last_seq);
        match shown {
            Some(shown) if shown > last => {
                let why = format!("it ends at event {last}, and run.yaml shows event {shown}");
                Err(damaged(run, why))
            }
            _ => Ok(()),
        }
    }

    /// Puts the lines that the store lacks.
    fn send(
        &self,
        run: &RunDir,
        lines: &str,
        is_over: bool,
        work: &WorkChange,
        request: &WriteRequest,
    ) -> Result<(), StoreError> {
        let id = run.id();
        let deadline = Instant::now() + request.wait;
        let carrier = &*self.copies.carrier;
        let there = match carrier.lines(id, Seq(1), None, left_until(deadline)) {
            Ok(there) => there.unwrap_or_default(),
            Err(error) => return Err(self.copies.not_reached(error)),
        };
        let other = || StoreError::Taken { at: self.copies.address(id) };
        let mut rest = lines.strip_prefix(&*there).ok_or_else(other)?;
        let mut before = LogScan::parse(there.as_bytes()).last_seq();
        if rest.is_empty() {
            let listed = carrier.list_again(id, lines, is_over, left_until(deadline));
            return listed.map_err(|error| self.copies.not_reached(error));
        }
        let nothing = WorkChange::default();
        while !rest.is_empty() {
            let (part, later) = rest.split_at(end_of_part(rest));
            let last = LogScan::parse(part.as_bytes()).last_seq();
            let work = if before == Seq(0) { work } else { &nothing };
            let earlier = lines_after(lines, window_of(before), before);
            let (is_over, evidence) = (is_over && later.is_empty(), &evidence_in(run, part)?);
            let put = Put { run: id, before, earlier, lines: part, is_over, evidence, work };
            let settled = settle(carrier, &put, deadline).map_err(|error| match before {
                Seq(0) => error,
                _ => StoreError::Unconfirmed { at: self.copies.address(id), source: io::Error::other(error) },
            })?;
            if settled != Settled::Ours {
                return Err(other());
            }
            (rest, before) = (later, last);
        }
        Ok(())
    }
}

/// The files that these lines name as evidence, those that are as they were recorded.
fn evidence_in(run: &RunDir, lines: &str) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut files = Vec::new();
    for event in LogScan::parse(lines.as_bytes()).events() {
        for kept in event.kind.records().iter().flat_map(|record| &record.evidence) {
            if let Some(part) = run.read_evidence(&kept.name, 0, limits::EVIDENCE_BYTES)?
                && kept.is_of(&part.bytes)
            {
                files.push(part.bytes);
            }
        }
    }
    Ok(files)
}

/// The lines of the events after one position and up to another.
fn lines_after(lines: &str, after: Seq, last: Seq) -> &str {
    let end_of = |seq: Seq| {
        let scan = LogScan::parse(lines.as_bytes());
        let count = scan.events().take_while(|event| event.seq <= seq).count();
        lines.split_inclusive('\n').take(count).map(str::len).sum::<usize>()
    };
    &lines[end_of(after)..end_of(last)]
}

/// Where the lines end that go together.
fn end_of_part(lines: &str) -> usize {
    let mut end = 0;
    for line in lines.split_inclusive('\n') {
        if end > 0 && end + line.len() > PART {
            break;
        }
        end += line.len();
    }
    end
}

/// That the log of a run of this checkout is damaged.
fn damaged(run: &RunDir, why: String) -> StoreError {
    StoreError::DamagedLog { run: run.id().clone(), at: run.address(Document::Log), why }
}
