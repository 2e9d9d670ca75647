//! The copies of shared runs in `.flow/shared`.

use std::time::{Duration, Instant};

use crate::codec::{LogEnd, LogScan, RunText};
use crate::model::{RunHead, RunId, Seq, Timestamp};
use crate::store::address::Address;
use crate::store::batch::ActivityFile;
use crate::store::chores::LocalChores as _;
use crate::store::error::{Result, StoreError};
use crate::store::local::{LockedRun, Project, RunDir};
use crate::store::request::WriteRequest;
use crate::store::run_store::{RunWriter as _, StoredRun as _};
use crate::store::shared::carrier::{Carrier, NoAnswer, Tip};
use crate::store::shared::probe::is_of_a_trial;
use crate::store::shared::settle::left_until;
use crate::store::shared_runs::RefreshScope;

/// What a `run.yaml` has to be so that it shows all events of its log: it was `text`, the log ends in `end`, which has the
/// events that `text` does not show, and `log` reads all of it. `None` if a person has to look at it first.
pub type ShowEvents =
    fn(run: &RunId, text: Option<String>, end: &LogEnd, log: &dyn Fn() -> Result<LogScan>) -> Option<ShownText>;

/// The next `run.yaml` of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownText {
    /// All of it.
    pub text: String,
    /// Whether a person's change in the one before gives way to an event. Then a copy of that one is kept.
    pub drops_edit: bool,
}

/// The copies, and where they come from.
#[derive(Debug)]
pub(super) struct Copies {
    /// The runs of this checkout alone.
    pub(super) here: Project,
    pub(super) carrier: Box<dyn Carrier>,
    /// A project of their own, `.flow/shared`.
    pub(super) project: Project,
    pub(super) show: ShowEvents,
}

impl Copies {
    /// Brings the copy of a run up to date, or makes one; with a `mark`, to what the run had when its tip had that mark.
    /// Returns messages about what was moved to quarantine.
    pub(super) fn catch_up(&self, id: &RunId, mark: Option<&str>, request: &WriteRequest) -> Result<Vec<String>> {
        let deadline = Instant::now() + request.wait;
        let Some(run) = self.existing(id)? else {
            let lines = match self.lines(id, Seq(1), mark, deadline) {
                // It is listed before it begins, and its creator is about to begin it, or died.
                Err(StoreError::Lost { .. }) => return Ok(Vec::new()),
                lines => lines?,
            };
            // Before anything is made: the lines may not be those of a run.
            self.check(id, Seq(0), &lines)?;
            return self.make(id, &lines, request).map(|()| Vec::new());
        };
        let mut locked = run.lock(request)?;
        if self.is_whole(&locked, request)?
            && self.extend(&mut locked, mark, deadline, request.writer.since)? == CopyComparison::Same
        {
            self.project.note_copy(id, &request.boot);
            return Ok(locked.take_notes());
        }
        let lines = self.lines(id, Seq(1), mark, deadline)?;
        let aside = locked.set_copy_aside(request.writer.since)?;
        self.make(id, &lines, request)?;
        Ok(vec![format!("a copy of {id} that differed from the shared run was put into {}", aside.display())])
    }

    /// Whether nothing is damaged or missing in the log of a copy. It is read only if another program may have changed it.
    pub(super) fn is_whole(&self, run: &LockedRun<'_>, request: &WriteRequest) -> Result<bool> {
        if self.project.is_copy_as_noted(run.id(), &request.boot) {
            return Ok(true);
        }
        let log = run.log()?;
        let is_whole = log.skipped.is_empty() && log.gaps().is_empty() && log.doubles().is_empty();
        if is_whole {
            self.project.note_copy(run.id(), &request.boot);
        }
        Ok(is_whole)
    }

    /// The copy of a run, if there is one.
    pub(super) fn existing(&self, id: &RunId) -> Result<Option<RunDir>> {
        found(self.project.run(id))
    }

    /// The last position that the copy of a run has; 0 without a copy.
    pub(super) fn last_of(&self, id: &RunId) -> Result<Seq> {
        let Some(copy) = self.existing(id)? else { return Ok(Seq(0)) };
        copy.last()
    }

    /// Whether the copy of a run shows that it is open.
    pub(super) fn is_open(&self, id: &RunId) -> Result<bool> {
        let Some(copy) = self.existing(id)? else { return Ok(false) };
        Ok(copy.text()?.is_some_and(|text| !shows_end(&text)))
    }

    /// Appends what the shared log has more than the copy.
    fn extend(
        &self,
        run: &mut LockedRun<'_>,
        mark: Option<&str>,
        deadline: Instant,
        now: Timestamp,
    ) -> Result<CopyComparison> {
        let (last, at) = (run.end().last, run.end().at.clone());
        // From the last event of the copy on, to see that both logs have the same one.
        let id = run.id().clone();
        let lines = self.lines(&id, last.max(Seq(1)), mark, deadline)?;
        let Some(at) = at else {
            self.append(run, &lines, now)?;
            return Ok(CopyComparison::Same);
        };
        if lines.is_empty() && mark.is_some() {
            // The tip was read before another process went on with the run.
            return self.extend(run, None, deadline, now);
        }
        if lines.is_empty() {
            let whole = self.lines(&id, Seq(1), mark, deadline)?;
            // Only a carrier that lost what it acknowledged ends before its copy.
            if run.lines_after(Seq(0))?.starts_with(&whole) {
                return Err(StoreError::Lost { run: id, at: self.carrier.address() });
            }
            return Ok(CopyComparison::Different);
        }
        let (first, newer) = lines.split_at(lines.find('\n').map_or(lines.len(), |end| end + 1));
        if LogScan::parse(first.as_bytes()).events().next() != Some(&at) {
            return Ok(CopyComparison::Different);
        }
        self.append(run, newer, now)?;
        Ok(CopyComparison::Same)
    }

    /// Makes the copy of a run that has these lines.
    pub(super) fn make(&self, id: &RunId, lines: &str, request: &WriteRequest) -> Result<()> {
        let run = self.project.make_run_dir(id)?;
        let mut locked = run.lock(request)?;
        // Another process may have made it meanwhile, or have died before it had all lines.
        match lines.strip_prefix(&*locked.lines_after(Seq(0))?) {
            Some(rest) => self.append(&mut locked, rest, request.writer.since),
            None => Ok(()),
        }
    }

    /// Makes the copy of a run that was just begun with these lines, and has this `run.yaml`.
    pub(super) fn make_new(&self, id: &RunId, lines: &str, text: &str, request: &WriteRequest) -> Result<()> {
        let run = self.project.make_run_dir(id)?;
        let mut locked = run.lock(request)?;
        locked.append_unflushed(lines)?;
        let files = ActivityFile::of_all(&locked.end().newer);
        locked.show_unflushed(None, text, &files, request.writer.since)
    }

    /// Appends lines that the carrier has, and shows their events in the files of the copy.
    pub(super) fn append(&self, run: &mut LockedRun<'_>, lines: &str, now: Timestamp) -> Result<()> {
        self.check(run.id(), run.end().last, lines)?;
        if !lines.is_empty() {
            run.append_unflushed(lines)?;
        }
        self.show(run, now)
    }

    /// Shows in the files of a copy what its log has.
    pub(super) fn show(&self, run: &mut LockedRun<'_>, now: Timestamp) -> Result<()> {
        let old = text_of(run)?;
        let shown = old.as_deref().and_then(RunText::shown_in);
        if shown.is_some() && shown >= Some(run.end().last) {
            return Ok(());
        }
        run.read_end(shown.unwrap_or_default())?;
        let end = run.end().clone();
        if let Some(ShownText { text, drops_edit }) = (self.show)(run.id(), old.clone(), &end, &|| run.log()) {
            if drops_edit {
                run.keep_text(now)?;
            }
            run.show_unflushed(old.as_deref(), &text, &ActivityFile::of_all(&end.newer), now)?;
        }
        run.read_end(Seq(u64::MAX))
    }

    /// The runs of `scope` that the carrier has.
    pub(super) fn tips(&self, scope: RefreshScope, left: Duration) -> Result<Vec<Tip>> {
        let mut tips = self.carrier.tips(scope, left).map_err(|error| self.no_answer(error))?;
        tips.retain(|tip| !is_of_a_trial(&tip.run));
        Ok(tips)
    }

    /// Refuses with `error`, which is about one run that the carrier could not give, if the carrier as a whole fails by now.
    pub(super) fn refuse_if_store_fails(&self, error: StoreError, request: &WriteRequest) -> Result<(), StoreError> {
        self.tips(RefreshScope::Open, request.wait).map(drop).map_err(|_| error)
    }

    /// The lines of a run from `first` on.
    fn lines(&self, id: &RunId, first: Seq, mark: Option<&str>, deadline: Instant) -> Result<String> {
        match self.carrier.lines(id, first, mark, left_until(deadline)) {
            Ok(Some(lines)) => Ok(lines),
            Ok(None) => Err(StoreError::Lost { run: id.clone(), at: self.carrier.address() }),
            Err(error) => Err(self.no_answer(error)),
        }
    }

    /// Refuses lines of the carrier that are no events, or do not follow each other. flow did not write them.
    pub(super) fn check(&self, id: &RunId, after: Seq, lines: &str) -> Result<()> {
        let scan = LogScan::parse(lines.as_bytes());
        let mut last = after;
        let mut follows = scan.skipped.is_empty() && (lines.ends_with('\n') || lines.is_empty() && after > Seq(0));
        for line in &scan.lines {
            follows = follows && line.event.seq > last;
            last = line.event.seq;
        }
        if follows { Ok(()) } else { Err(StoreError::NotALog { at: self.address(id), after }) }
    }

    pub(super) fn no_answer(&self, why: NoAnswer) -> StoreError {
        why.at(self.carrier.address())
    }

    pub(super) fn address(&self, id: &RunId) -> Address {
        self.carrier.address().of_run(id)
    }
}

/// A run, if there is one.
pub(super) fn found(run: Result<RunDir>) -> Result<Option<RunDir>> {
    match run {
        Err(error) if error.is_not_found() => Ok(None),
        run => run.map(Some),
    }
}

/// How a copy compares with the beginning of the shared log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyComparison {
    Same,
    Different,
}

/// The `run.yaml` of a copy; `None` if it is empty or has zeros, as a power cut leaves a file that was not flushed. The log shows what
/// it had.
pub(super) fn undamaged(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty() && !text.contains('\0'))
}

/// The `run.yaml` of a copy, which is removed if it is damaged.
pub(super) fn text_of(run: &LockedRun<'_>) -> Result<Option<String>> {
    let Some(text) = run.text()? else { return Ok(None) };
    let text = undamaged(Some(text));
    if text.is_none() {
        run.remove_text()?;
    }
    Ok(text)
}

/// Whether a `run.yaml` shows that its run is over.
pub(super) fn shows_end(text: &str) -> bool {
    RunText::parse(text).is_ok_and(|text| RunHead::from(text.document()).is_over())
}
