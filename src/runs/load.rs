//! From files to a state under the lock, and back: how writers load a run, bring it in order, and commit.
//!
//! What a run is, and what has to be put right before anything else, [`reconcile`] says; this is where it is done. Readers
//! ask the same in [`crate::runs::view`], and do nothing.

use std::rc::Rc;
use std::time::Duration;

use crate::codec::{RunText, digest};
use crate::engine::{
    Fault, LogEnd, Reconciled, Repair, RunState, is_free, machine_of, merge_save, pinned, read_run, reconcile,
    reconcile_end,
};
use crate::machine::Machine;
use crate::model::{
    ActivityRecorded, Event, EventKind, Explain as _, Number, RunAdopted, RunEdited, Seq, TextDigest, Timestamp,
};
use crate::runs::checkout::{elsewhere, places_of_log, rewound};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::fault::refusal;
use crate::runs::pinned::catalog_machine;
use crate::store::{ActivityFile, Batch, LockedRun, LogTail, Project, RunDir, layout};

/// A run ready for a decision: locked, recovered, hand edits adopted.
pub(crate) struct Loaded<'a> {
    pub(crate) locked: LockedRun<'a>,
    pub(crate) text: RunText,
    pub(crate) state: RunState,
    pub(crate) warnings: Vec<String>,
    pub(super) run: &'a RunDir,
    workflow: Workflow,
}

/// The workflow of a loaded run.
enum Workflow {
    /// Nothing asked for it yet.
    Unread,
    Known(Rc<Machine>),
    /// The run is of unknown origin.
    Unknown,
}

impl From<Option<Machine>> for Workflow {
    fn from(machine: Option<Machine>) -> Self {
        machine.map_or(Self::Unknown, |machine| Self::Known(Rc::new(machine)))
    }
}

/// Locks `run` and brings it in order: recovers what a dead writer left, adopts what a person changed.
pub(crate) fn for_writing<'a>(cx: &Context, project: &Project, run: &'a RunDir, now: Timestamp) -> Result<Loaded<'a>> {
    for_writing_within(cx, project, run, now, cx.lock_wait()?)
}

/// As [`for_writing`], waiting at most `wait` for another writer.
pub(crate) fn for_writing_within<'a>(
    cx: &Context,
    project: &Project,
    run: &'a RunDir,
    now: Timestamp,
    wait: Duration,
) -> Result<Loaded<'a>> {
    if run.is_leftover() {
        // Before the lock is taken, which would make a log for it.
        return Err(elsewhere(cx, project, run));
    }
    if run.lacks_log() {
        let shown = run.read_text()?.and_then(|text| RunText::parse(text).ok()?.document().state.last_seq);
        if !places_of_log(cx, project, run, shown).is_empty() {
            return Err(rewound(cx, project, run, Seq(0), shown.unwrap_or_default()));
        }
    }
    let request = cx.lock_request(now, wait);
    project.keep_out_of_git(&request)?;
    let mut locked = run.lock(&request)?;
    let found = judge(&mut locked, run)?;
    if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_writing()) {
        return Err(refusal(cx, project, run, fault.clone()));
    }
    let warnings = warnings(&found, locked.tail().last_seq);
    let shown = found.faults.iter().find_map(Fault::beyond_the_log).unwrap_or_default();
    clear_leftovers(&mut locked, shown, now)?;
    let is_foreign = found.repairs.contains(&Repair::AdoptRun);
    let Some(current) = found.run else { return Err(refusal(cx, project, run, Fault::Empty)) };
    let (text, state) = current.into_parts();
    let mut loaded = Loaded { state, locked, text, warnings, run, workflow: Workflow::Unread };
    for repair in found.repairs {
        loaded.repair(cx, project, repair, now)?;
    }
    if is_foreign {
        return Ok(loaded);
    }
    loaded.restore_activities()?;
    let notes = loaded.locked.take_notes();
    loaded.warnings.extend(notes);
    Ok(loaded)
}

/// Judges a run under its lock, by the end of its log where that tells enough.
fn judge(locked: &mut LockedRun<'_>, run: &RunDir) -> Result<Reconciled> {
    let noted = locked.high_water().0;
    let mut file = read_run(run.id(), locked.read_text()?);
    if let Ok(Some(text)) = file {
        if let Some(shown) = text.document().state.last_seq.filter(|&shown| shown < locked.tail().last_seq) {
            locked.reread_tail(shown)?;
        }
        // At another length than it was left at, somebody else was at the log, and its end alone does not show it.
        file = match locked.is_log_as_left() {
            true => match reconcile_end(text, &end_of(locked.tail()), noted) {
                Ok(found) => return Ok(found),
                Err(text) => Ok(Some(*text)),
            },
            false => Ok(Some(text)),
        };
    }
    Ok(reconcile(file, &locked.read_log()?, noted))
}

/// What whoever writes is told of the state in which the run was found.
fn warnings(found: &Reconciled, last: Seq) -> Vec<String> {
    let is_rebuilt = found.repairs.iter().any(|repair| matches!(repair, Repair::Rebuild { .. }));
    let rebuilt = is_rebuilt.then(|| "run.yaml was missing; it is rebuilt from the log".to_owned());
    let shown = found.faults.iter().find_map(Fault::beyond_the_log);
    let ends_early = shown
        .map(|shown| format!("the log ends at event {last}, but run.yaml shows event {shown}; counting goes on there"));
    rebuilt.into_iter().chain(ends_early).collect()
}

/// The end of a log as the engine takes it.
pub(crate) fn end_of(tail: &LogTail) -> LogEnd<'_> {
    LogEnd { newer: &tail.newer, at: tail.at.as_ref(), last: tail.last_seq, ordered: tail.ordered }
}

fn clear_leftovers(locked: &mut LockedRun<'_>, shown: Seq, now: Timestamp) -> Result<()> {
    if !locked.has_leftovers()? {
        return Ok(());
    }
    let log = locked.read_log()?;
    // What flow wrote, and what a person saved and the log keeps word for word.
    let adopted = |event: &Event| match &event.kind {
        EventKind::RunEdited(edit) => Some(TextDigest(digest(edit.text.as_bytes()))),
        _ => None,
    };
    let written: Vec<_> = log.events().flat_map(|event| [event.run.clone(), adopted(event)]).flatten().collect();
    let last = log.last_seq().max(shown);
    locked.clear_leftovers(
        |text| {
            let known = TextDigest(digest(text.as_bytes()));
            // A text that shows an event which never made it into the log was being written when its writer died.
            let unsaid = RunText::parse(text).is_ok_and(|text| text.document().state.last_seq > Some(last));
            written.contains(&known) || unsaid
        },
        now,
    )?;
    Ok(())
}

impl Loaded<'_> {
    /// The event that begins the log.
    pub(crate) fn first_event(&self) -> Result<Option<Event>> {
        Ok(self.run.first_event()?)
    }

    /// The workflow that the run pins. Read when it is first asked for: most records stay in their phase and need none.
    pub(crate) fn machine(&mut self, cx: &Context, project: &Project) -> Result<Option<Rc<Machine>>> {
        if matches!(self.workflow, Workflow::Unread) {
            let first = match self.state.document().state.workflow_seq {
                None => self.run.first_event()?,
                // Another definition was adopted.
                Some(_) => None,
            };
            let pinned = match first {
                Some(first) if is_free(&first) => {
                    self.workflow = Workflow::Unknown;
                    return Ok(None);
                }
                Some(first) => machine_of(&first, &mut self.warnings),
                // Its first line may be lost; a repair of the log pins the workflow then.
                None => pinned(self.locked.read_log()?.events(), &mut self.warnings),
            };
            // Its log is lost or begins elsewhere: today's definition is nearer to the truth than none.
            let today = || catalog_machine(cx, project, self.state.document(), &mut self.warnings);
            self.workflow = pinned.or_else(today).into();
        }
        Ok(self.known_machine())
    }

    /// The workflow that the run pins, when something asked for it before.
    pub(crate) fn known_machine(&self) -> Option<Rc<Machine>> {
        match &self.workflow {
            Workflow::Known(machine) => Some(Rc::clone(machine)),
            Workflow::Unread | Workflow::Unknown => None,
        }
    }

    /// Takes one step that brings the run in order.
    fn repair(&mut self, cx: &Context, project: &Project, repair: Repair, now: Timestamp) -> Result<()> {
        match repair {
            Repair::Rebuild { text } => {
                let log = self.locked.read_log()?;
                Ok(self.locked.roll_forward(None, text.text(), &files_of(log.events()), now, &mut |_| None)?)
            }
            Repair::EndRepair { old, text, is_own } => {
                if !is_own {
                    self.locked.keep_copy(layout::RUN_FILE, now)?;
                }
                let log = self.locked.read_log()?;
                let newer = log.events().filter(|event| Some(event.seq) > old.document().state.last_seq);
                let files = files_of(newer);
                self.locked.roll_forward(Some(old.text()), text.text(), &files, now, &mut |_| None)?;
                Ok(self.locked.reread_tail(Seq(u64::MAX))?)
            }
            Repair::RollForward { since, old, text } => {
                let newer = self.locked.tail().newer.clone();
                let mut merge = |saved: &str| merge_save(saved, since, &newer);
                let files = files_of(newer.iter());
                Ok(self.locked.roll_forward(Some(old.text()), text.text(), &files, now, &mut merge)?)
            }
            Repair::AdoptRun => self.adopt_run(cx, project, now),
            Repair::AdoptEdit { log, changes } => {
                self.state = *log;
                let text = self.text.text().to_owned();
                let edit = RunEdited { changes: *changes, by_command: false, session: None, text };
                self.commit(cx, EventKind::RunEdited(Box::new(edit)), None, now, Vec::new()).map(|_| ())
            }
        }
    }

    /// The files of records are not flushed by their commits; after a power cut some may be missing while `run.yaml` is
    /// not.
    fn restore_activities(&mut self) -> Result<()> {
        if !self.locked.may_lack_activities() {
            return self.restore_latest();
        }
        for file in files_of(self.locked.read_log()?.events()) {
            if let Err(error) = self.locked.restore_activity(&file) {
                // The record itself is in the log. The next writer tries again.
                self.warnings.push(format!("an activity file may be damaged: {}", error.one_line()));
                return Ok(());
            }
        }
        self.locked.note_activities_checked();
        Ok(())
    }

    fn restore_latest(&self) -> Result<()> {
        let Some(event) = &self.locked.tail().at else { return Ok(()) };
        for record in event.kind.records() {
            let lost = match self.locked.is_lost(&record.number.file_name(&record.id())) {
                // The next record is the latest then, and nobody looks at this one again.
                Err(error) if error.is_io() => return Err(error.into()),
                found => found.unwrap_or(false),
            };
            if lost {
                self.locked.restore_activity(&file_of(record))?;
            }
        }
        Ok(())
    }

    /// Takes over a run that another program wrote.
    fn adopt_run(&mut self, cx: &Context, project: &Project, now: Timestamp) -> Result<()> {
        let names = self.run.activity_names()?;
        let mut document = self.text.document().clone();
        document.state.last_number = names.last().map_or(Number(0), |(number, _)| *number);
        let known = catalog_machine(cx, project, &document, &mut self.warnings);
        if known.is_some() {
            self.warnings.pop();
        }
        let machine = known.as_ref().map(Machine::to_value);
        self.workflow = known.into();
        let text = self.text.text().to_owned();
        let kind = EventKind::RunAdopted(Box::new(RunAdopted { machine, document, text }));
        self.commit(cx, kind, None, now, Vec::new())?;
        Ok(())
    }

    /// Commits one event on top of the state. `key` makes it recognisable on a retry.
    pub(crate) fn commit(
        &mut self,
        cx: &Context,
        kind: EventKind,
        key: Option<&str>,
        now: Timestamp,
        activities: Vec<ActivityFile>,
    ) -> Result<Seq> {
        let text = self.text.clone();
        self.commit_over(cx, &text, kind, key, now, activities)
    }

    /// As [`Self::commit`], with `base` in place of what `run.yaml` says.
    pub(crate) fn commit_over(
        &mut self,
        cx: &Context,
        base: &RunText,
        kind: EventKind,
        key: Option<&str>,
        now: Timestamp,
        activities: Vec<ActivityFile>,
    ) -> Result<Seq> {
        let noted = self.locked.high_water().0;
        let shown = self.state.document().state.last_seq.unwrap_or_default();
        let seq = self.locked.tail().last_seq.max(shown).max(noted).next();
        let id = match key {
            Some(key) => crate::model::EventId::new(key)?,
            None => cx.ids.next(now),
        };
        let mut event = Event { seq, id, at: now, kind, run: None };
        let mut state = self.state.clone();
        state.apply(&event);
        let fault = |error| Error::RunFile { path: self.locked.run_file(), error };
        let text = base.with_state(&state.document().state).map_err(fault)?;
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
        let batch = Batch { event: &event, old_text: self.text.text(), new_text: text.text(), activities };
        let before = self.text.document().state.last_seq;
        let newer = std::slice::from_ref(&event);
        let mut merge = |saved: &str| before.and_then(|before| merge_save(saved, before, newer));
        let committed = self.locked.commit(&batch, &mut merge)?;
        if let Some(why) = committed.lagging {
            self.warnings.push(format!("recorded as event {seq}; its files follow with the next command: {why}"));
        }
        self.warnings.extend(self.locked.take_notes());
        self.state = state;
        self.text = text;
        Ok(seq)
    }

    /// The next number whose file name is free.
    pub(crate) fn next_number(&self, id: &crate::model::ActivityId) -> Result<Number> {
        self.next_number_after(None, id)
    }

    /// The same, behind one that is to be given with it.
    pub(crate) fn next_number_after(&self, last: Option<Number>, id: &crate::model::ActivityId) -> Result<Number> {
        let last = last.unwrap_or_default().max(self.locked.high_water().1);
        let mut number = self.state.document().state.last_number.max(last).next();
        while !self.locked.is_free(&number.file_name(id))? {
            number = number.next();
        }
        Ok(number)
    }
}

/// The files of the records of these events.
fn files_of<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<ActivityFile> {
    events.flat_map(activity_files).collect()
}

/// The file of a record; those of the records that a repair found again.
pub(crate) fn activity_files(event: &Event) -> Vec<ActivityFile> {
    let records = match &event.kind {
        EventKind::LogRepaired(repair) => &repair.salvaged,
        kind => kind.records(),
    };
    records.iter().map(file_of).collect()
}

/// As [`activity_file`], of the record alone.
pub(crate) fn file_of(record: &ActivityRecorded) -> ActivityFile {
    ActivityFile { name: record.number.file_name(&record.id()), text: crate::codec::emit(&record.activity) }
}
