//! Moves a run of this checkout to where several machines share it.

use std::io;
use std::time::Instant;

use crate::codec::{LogScan, RunText, is_of_another_program};
use crate::model::{RunId, Seq};
use crate::store::address::Document;
use crate::store::error::{Result, StoreError};
use crate::store::local::RunDir;
use crate::store::request::WriteRequest;
use crate::store::run_store::StoredRun as _;
use crate::store::shared::carrier::{NoAnswer, Put, faults_in, window_of};
use crate::store::shared::copy::{Copies, found, shows_end};
use crate::store::shared::settle::{PositionOwner, left_until, settle};
use crate::store::shared::store::Shared;
use crate::store::work::{WorkChange, WorkKey};

/// About how many bytes go to the carrier at a time.
const PART: usize = 256 << 10;

impl Shared {
    /// Moves the run `id` of this checkout into the store; `work` is what it is about while it is open. A run of which only a
    /// copy is here, because the store lost it, is put there again: it had its place before, so of its work it takes what is
    /// free. Repeating it goes on where it stopped, as does the next command that writes the run. Returns the last position.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::Hidden`] when the run of this checkout is another one than the copy,
    /// [`StoreError::DamagedLog`] for a log that has to be repaired first, [`StoreError::Taken`] when
    /// the store has another run of this id, [`StoreError::WorkTaken`]; nothing has changed then. Others as of a commit.
    pub fn take_in(&self, id: &RunId, work: Vec<WorkKey>, request: &WriteRequest) -> Result<Seq> {
        let last = self.copies.take_in(id, work, request)?;
        self.remember_found(id);
        Ok(last)
    }
}

/// The run that goes into the store.
#[derive(Debug)]
struct MovedRun<'a> {
    run: &'a RunDir,
    lines: String,
    /// Whether its files are those of this checkout, so that the copy can be made again, and taken back.
    is_local: bool,
    /// Whether the store may have it, or its beginning.
    is_in_doubt: bool,
}

impl Copies {
    /// Goes on with a push that stopped: its process may have died before or after the store had the run. Does nothing for any
    /// other run.
    ///
    /// # Errors
    /// [`StoreError::NotMoved`] when the store refuses the run; others as for [`Shared::take_in`].
    pub(super) fn finish_push(&self, id: &RunId, request: &WriteRequest) -> Result<()> {
        let Some(work) = self.project.pushing(id) else { return Ok(()) };
        match self.take_in(id, work, request) {
            Ok(_) => Ok(()),
            Err(why) if self.existing(id)?.is_none() => {
                Err(StoreError::NotMoved { run: id.clone(), at: self.carrier.address(), why: Box::new(why) })
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Shared::take_in`].
    fn take_in(&self, id: &RunId, work: Vec<WorkKey>, request: &WriteRequest) -> Result<Seq> {
        let goes_on = self.goes_on(id, request)?;
        let local = found(self.here.run(id))?;
        // Held until the end: other writers here wait, and find the log gone.
        let locked = match local.as_ref().map(|local| local.lock(request)) {
            // Another process has moved it meanwhile.
            None | Some(Err(StoreError::Replaced { .. })) => None,
            Some(Err(error)) if error.is_not_found() => None,
            Some(locked) => Some(locked?),
        };
        let local = local.as_ref().filter(|_| locked.is_some());
        let copy = self.existing(id)?;
        let source = self.source(id, local, copy.as_ref(), goes_on)?;
        if source.is_local {
            // From here on the run counts as shared here, so that nothing is recorded that the store would lack.
            self.project.note_pushing(id, &work)?;
            self.make(id, &source.lines, request)?;
        }
        match self.send(&source, work, request) {
            Err(error) if source.is_local && source.stays_after(&error) => {
                self.project.remove_copy(id)?;
                self.project.forget_pushing(id)?;
                return Err(error);
            }
            sent => sent?,
        }
        let lines = &source.lines;
        if let (Some(locked), Some(local), Some(copy)) = (&locked, local, self.existing(id)?) {
            let has_moved = match local.log_bytes()? {
                Some(bytes) => lines.as_bytes().starts_with(&own_lines(&bytes)),
                // A process that died after the log was put aside.
                None => self.project.pushing(id).is_some(),
            };
            // A log that has something else, as a branch may bring it, stays where it is.
            if has_moved {
                let now = request.writer.since;
                locked.set_contents_aside(now)?;
                self.here.set_run_aside(id, &copy, now)?;
            }
        }
        self.project.forget_pushing(id)?;
        Ok(LogScan::parse(lines.as_bytes()).last_seq())
    }

    /// Where the lines come from: a copy, unless a push that stopped has made it of the run that is here, or that one `goes_on`
    /// after it.
    fn source<'a>(
        &self,
        id: &RunId,
        local: Option<&'a RunDir>,
        copy: Option<&'a RunDir>,
        goes_on: bool,
    ) -> Result<MovedRun<'a>> {
        let is_in_doubt = copy.is_some() && (goes_on || self.project.pushing(id).is_some());
        let is_local = match (local, copy) {
            (Some(local), Some(copy)) => is_in_doubt && is_beginning_of(copy, local)?,
            (local, _) => local.is_some(),
        };
        let run = if is_local { local } else { copy };
        let Some(run) = run else { return Err(StoreError::NoRun { at: self.address(id) }) };
        let lines = whole_log(run)?;
        if is_local {
            refuse_lost_end(run, &lines)?;
        }
        Ok(MovedRun { run, lines, is_local, is_in_doubt })
    }

    /// Puts the lines that the store lacks.
    fn send(&self, source: &MovedRun<'_>, work: Vec<WorkKey>, request: &WriteRequest) -> Result<()> {
        let MovedRun { run, lines, .. } = source;
        let id = run.id();
        let deadline = Instant::now() + request.wait;
        let carrier = &*self.carrier;
        let read = || carrier.lines(id, Seq(1), None, left_until(deadline));
        let there = match read() {
            Err(NoAnswer::Damaged { .. }) => {
                carrier.fill_gaps(id, lines, left_until(deadline)).map_err(|error| self.no_answer(error))?;
                read()
            }
            there => there,
        };
        let there = there.map_err(|error| self.no_answer(error))?.unwrap_or_default();
        if there.len() > lines.len() && there.starts_with(&**lines) {
            // Another machine has gone on since.
            return Ok(());
        }
        let other = || StoreError::Taken { at: self.address(id) };
        let mut rest = lines.strip_prefix(&*there).ok_or_else(other)?;
        let mut before = LogScan::parse(there.as_bytes()).last_seq();
        let is_over = run.text()?.is_some_and(|text| shows_end(&text));
        let (nothing, was_begun) = (WorkChange::default(), before > Seq(0));
        let mut begun = WorkChange { taken: if is_over { Vec::new() } else { work }, freed: Vec::new() };
        if rest.is_empty() {
            let listed = carrier.list_again(id, lines, is_over, left_until(deadline));
            listed.map_err(|error| self.no_answer(error))?;
        }
        while !rest.is_empty() {
            let (part, later) = rest.split_at(end_of_part(rest));
            let last = LogScan::parse(part.as_bytes()).last_seq();
            let work = if before == Seq(0) { &begun } else { &nothing };
            let earlier = lines_after(lines, window_of(before), before);
            let (is_over, evidence) = (is_over && later.is_empty(), &self.evidence_in(run, part)?);
            let put = Put { run: id, before, earlier, lines: part, is_over, evidence, work, again: true };
            match settle(carrier, &put, deadline) {
                Ok(PositionOwner::Ours) => {}
                Ok(PositionOwner::Theirs(_)) => return Err(other()),
                // It was there before, and another run has begun since, or shares the work with it on purpose.
                Err(StoreError::WorkTaken { about, .. }) if !source.is_local => {
                    begun.taken.retain(|key| *key != about);
                    continue;
                }
                Err(error) if before == Seq(0) => return Err(error),
                Err(error) => {
                    return Err(StoreError::Unconfirmed { at: self.address(id), source: io::Error::other(error) });
                }
            }
            (rest, before) = (later, last);
        }
        if was_begun && !begun.taken.is_empty() {
            // What it is about went with its beginning, and may have been deleted since.
            let marked = carrier.mark_again(id, before, &begun.taken, left_until(deadline));
            marked.map_err(|error| self.no_answer(error))?;
        }
        Ok(())
    }

    /// The files that these lines name as evidence, those that are as they were recorded and that the carrier keeps.
    fn evidence_in(&self, run: &RunDir, lines: &str) -> Result<Vec<Vec<u8>>> {
        let mut files = Vec::new();
        for event in LogScan::parse(lines.as_bytes()).events() {
            for kept in event.kind.records().iter().flat_map(|record| &record.evidence) {
                if let Some(part) = run.read_evidence(&kept.name, 0, self.carrier.evidence_limit())?
                    && kept.is_of(&part.bytes)
                {
                    files.push(part.bytes);
                }
            }
        }
        Ok(files)
    }
}

impl MovedRun<'_> {
    /// Whether the run stays here after such a failure, since the store does not have it.
    fn stays_after(&self, error: &StoreError) -> bool {
        match error {
            StoreError::WorkTaken { .. } | StoreError::Taken { .. } => true,
            StoreError::Unreached { .. } | StoreError::Refused { .. } | StoreError::Damaged { .. } => !self.is_in_doubt,
            _ => false,
        }
    }
}

/// Whether the log of a copy is the beginning of the log of a run that is here.
fn is_beginning_of(copy: &RunDir, run: &RunDir) -> Result<bool> {
    let Some(whole) = run.log_bytes()? else { return Ok(false) };
    Ok(own_lines(&whole).starts_with(&copy.log_bytes()?.unwrap_or_default()))
}

/// A log without the lines of other programs: a store has events alone.
pub(super) fn own_lines(log: &[u8]) -> Vec<u8> {
    let mut own = Vec::with_capacity(log.len());
    for line in log.split_inclusive(|&byte| byte == b'\n') {
        if !is_of_another_program(line.strip_suffix(b"\n").unwrap_or(line)) {
            own.extend_from_slice(line);
        }
    }
    own
}

/// The lines of a run. Where some are damaged or missing, nothing is sent: it would stay so for all machines.
fn whole_log(run: &RunDir) -> Result<String> {
    let bytes = run.log_bytes()?.unwrap_or_default();
    // Before other lines are left out, so that the number is that of the file.
    if let Some(line) = LogScan::parse(&bytes).damaged().next() {
        return Err(damaged(run, format!("line {} is not a sealed event", line.line)));
    }
    let lines = String::from_utf8(own_lines(&bytes)).map_err(|_| damaged(run, "it is not UTF-8 text".to_owned()))?;
    if let Some(why) = faults_in(&lines).into_iter().next() {
        return Err(damaged(run, why));
    }
    if !lines.ends_with('\n') {
        return Err(damaged(run, "its last line is not whole".to_owned()));
    }
    Ok(lines)
}

/// Refuses a run of this checkout whose `run.yaml` shows events that its log has lost.
fn refuse_lost_end(run: &RunDir, lines: &str) -> Result<()> {
    let last = LogScan::parse(lines.as_bytes()).last_seq();
    let shown = run.text()?.as_deref().and_then(RunText::shown_in);
    match shown {
        Some(shown) if shown > last => {
            let why = format!("it ends at event {last}, and run.yaml shows event {shown}");
            Err(damaged(run, why))
        }
        _ => Ok(()),
    }
}

/// The lines of the events after one position and up to another.
fn lines_after(lines: &str, after: Seq, last: Seq) -> &str {
    &lines[end_of_event(lines, after)..end_of_event(lines, last)]
}

/// Where the lines up to an event end.
fn end_of_event(lines: &str, seq: Seq) -> usize {
    let scan = LogScan::parse(lines.as_bytes());
    let count = scan.events().take_while(|event| event.seq <= seq).count();
    lines.split_inclusive('\n').take(count).map(str::len).sum()
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
