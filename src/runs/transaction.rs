//! The one way to change a run: begin, bring it in order, judge who holds it, decide, commit.
//!
//! What a run is, and what has to be put right before anything else, [`reconcile`] says; this is where it is done. Readers
//! ask the same in [`crate::runs::view`], and do nothing.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use crate::codec::{RunText, digest};
use crate::engine::{
    Caller, Command, Decision, Fault, History, Reconciled, Refusal, Repair, RunState, Trail, asks_workflow, decide,
    is_free, machine_of, merge_save, pinned, read_run, reconcile, reconcile_end,
};
use crate::machine::Machine;
use crate::model::{
    ActivityId, ActivityRecorded, Event, EventId, EventKind, Number, RunAdopted, RunEdited, Seq, TextDigest, Timestamp,
};
use crate::runs::checkout::{elsewhere, places_of_log, refuse_joined, rewound};
use crate::runs::claim::{claim_of_dead, judge_holder};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::fault::refusal;
use crate::runs::pinned::catalog_machine;
use crate::runs::view::with_earlier;
use crate::store::{ActivityFile, Batch, Document, Presence, Project, RunWriter, StoreError, StoredRun, WriteRequest};

/// How often a transaction decides again when another writer was faster each time.
const TRIES: u32 = 20;

/// A run that is ready for a decision: no one else writes it, what was left undone is done, hand edits are adopted.
pub(crate) struct Transaction<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) project: &'a Project,
    pub(crate) writer: Box<dyn RunWriter + 'a>,
    /// Who writes.
    pub(crate) caller: Caller,
    pub(crate) now: Timestamp,
    pub(crate) text: RunText,
    /// The state with the events that are to be committed.
    pub(crate) state: RunState,
    pub(crate) warnings: Vec<String>,
    pub(super) run: &'a dyn StoredRun,
    workflow: Workflow,
    /// Events that are to be committed.
    pending: Vec<Event>,
    /// The `run.yaml` that shows them.
    next_text: Option<RunText>,
}

/// The workflow of a run.
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

/// Lets `act` change `run` for `caller`. When another writer was faster, `act` is called again with the run as it is then,
/// so it must do nothing but read and write the run.
///
/// # Errors
/// What `act` gives; and those of reading a run and of bringing it in order.
pub(crate) fn transact<T>(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    caller: Caller,
    now: Timestamp,
    act: impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Result<T> {
    transact_as(cx, project, run, caller, &cx.write_request(now, cx.lock_wait()?), act)
}

/// As [`transact`], for the writer that `request` names, who waits as long as it says.
pub(crate) fn transact_as<T>(
    cx: &Context,
    project: &Project,
    run: &dyn StoredRun,
    caller: Caller,
    request: &WriteRequest,
    mut act: impl FnMut(&mut Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let mut tries = 0;
    loop {
        let done = Transaction::begin(cx, project, run, &caller, request).and_then(|mut tx| {
            let done = act(&mut tx)?;
            assert!(tx.pending.is_empty(), "BUG: a change of {} was not committed", run.id());
            Ok(done)
        });
        match done {
            Err(Error::Store(StoreError::Conflict { .. })) if tries < TRIES => {
                tries += 1;
                thread::sleep(Duration::from_millis(u64::from(tries)));
            }
            done => return done,
        }
    }
}

impl<'a> Transaction<'a> {
    /// Locks `run` and brings it in order: recovers what a dead writer left, adopts what a person changed.
    fn begin(
        cx: &'a Context,
        project: &'a Project,
        run: &'a dyn StoredRun,
        caller: &Caller,
        request: &WriteRequest,
    ) -> Result<Self> {
        let now = request.writer.since;
        match run.presence() {
            // Before the lock is taken, which would make a log for it.
            Presence::Away => return Err(elsewhere(cx, project, run)),
            Presence::WithoutLog => {
                let shown = run.text()?.and_then(|text| RunText::parse(text).ok()?.document().state.last_seq);
                if !places_of_log(cx, project, run, shown).is_empty() {
                    return Err(rewound(cx, project, run, Seq(0), shown.unwrap_or_default()));
                }
            }
            Presence::Whole => {}
        }
        project.keep_out_of_git(request)?;
        let mut writer = run.begin(request)?;
        let found = judge(&mut *writer, run)?;
        if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_writing()) {
            return Err(refusal(cx, project, run, fault.clone()));
        }
        let warnings = warnings(&found, writer.end().last);
        let shown = found.faults.iter().find_map(Fault::beyond_the_log).unwrap_or_default();
        writer.clear_leftovers(shown, now)?;
        let is_foreign = found.repairs.contains(&Repair::AdoptRun);
        let Some(current) = found.run else { return Err(refusal(cx, project, run, Fault::Empty)) };
        let (text, state) = current.into_parts();
        let (caller, workflow) = (caller.clone(), Workflow::Unread);
        let (pending, next_text) = (Vec::new(), None);
        let mut tx =
            Self { cx, project, writer, caller, now, text, state, warnings, run, workflow, pending, next_text };
        for repair in found.repairs {
            tx.repair(repair)?;
        }
        if !is_foreign {
            tx.warnings.extend(tx.writer.restore_lost()?);
            tx.warnings.extend(tx.writer.take_notes());
        }
        tx.caller = judge_holder(&tx)?;
        Ok(tx)
    }

    /// The event that begins the log.
    pub(crate) fn first_event(&self) -> Result<Option<Event>> {
        Ok(self.run.first_event()?)
    }

    /// The workflow that the run pins. Read when it is first asked for: most records stay in their phase and need none.
    pub(crate) fn machine(&mut self) -> Result<Option<Rc<Machine>>> {
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
                None => pinned(self.writer.log()?.events(), &mut self.warnings),
            };
            // Its log is lost or begins elsewhere: today's definition is nearer to the truth than none.
            let today = || catalog_machine(self.cx, self.project, self.state.document(), &mut self.warnings);
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

    /// The log of the run, read when a decision asks for it.
    pub(crate) fn trail(&self) -> LogTrail<'_, 'a> {
        LogTrail { tx: self, history: OnceCell::new(), fault: RefCell::new(None) }
    }

    /// Decides on `command`, with the run's workflow and log where it needs them.
    ///
    /// # Errors
    /// [`Error::Refused`] when a rule forbids it; [`Error::Store`] when the log cannot be read.
    pub(crate) fn decide(&mut self, command: Command) -> Result<Decision> {
        let machine = if asks_workflow(&self.state, &command) { self.machine()? } else { None };
        let trail = self.trail();
        let decision = decide(&self.state, machine.as_deref(), &self.caller, command, &trail);
        if let Some(fault) = trail.fault() {
            return Err(fault);
        }
        decision.map_err(|refusal| self.refused(refusal))
    }

    /// A refusal as an error. One that rests on the run's workflow says so when today's definition is another one.
    pub(crate) fn refused(&self, refusal: Refusal) -> Error {
        let run = self.state.id().clone();
        let today = || self.cx.catalog(Some(self.project)).find(self.state.document().workflow.as_str()).ok();
        let pinned = self.known_machine().filter(|_| refusal.rests_on_workflow());
        let changed =
            pinned.is_some_and(|pinned| today().is_some_and(|today| !pinned.differences(&today.machine).is_empty()));
        if changed { Error::RefusedByOlder { run, refusal } } else { Error::Refused { run, refusal } }
    }

    /// Takes one step that brings the run in order.
    fn repair(&mut self, repair: Repair) -> Result<()> {
        let now = self.now;
        match repair {
            Repair::Rebuild { text } => {
                let files = ActivityFile::of_all(self.writer.log()?.events());
                Ok(self.writer.roll_forward(None, text.text(), &files, now, &mut |_| None)?)
            }
            Repair::EndRepair { old, text, is_own } => {
                if !is_own {
                    self.writer.keep_text(now)?;
                }
                let log = self.writer.log()?;
                let newer = log.events().filter(|event| Some(event.seq) > old.document().state.last_seq);
                let files = ActivityFile::of_all(newer);
                self.writer.roll_forward(Some(old.text()), text.text(), &files, now, &mut |_| None)?;
                Ok(self.writer.read_end(Seq(u64::MAX))?)
            }
            Repair::RollForward { since, old, text } => {
                let newer = self.writer.end().newer.clone();
                let mut merge = |saved: &str| merge_save(saved, since, &newer);
                let files = ActivityFile::of_all(&newer);
                Ok(self.writer.roll_forward(Some(old.text()), text.text(), &files, now, &mut merge)?)
            }
            Repair::AdoptRun => self.adopt_run(),
            Repair::AdoptEdit { log, changes } => {
                self.state = *log;
                let text = self.text.text().to_owned();
                let edit = RunEdited { changes: *changes, by_command: false, session: None, text };
                self.append(EventKind::RunEdited(Box::new(edit)), None)?;
                self.commit().map(drop)
            }
        }
    }

    /// Takes over a run that another program wrote.
    fn adopt_run(&mut self) -> Result<()> {
        let names = self.run.activity_names()?;
        let mut document = self.text.document().clone();
        document.state.last_number = names.last().map_or(Number(0), |(number, _)| *number);
        let known = catalog_machine(self.cx, self.project, &document, &mut self.warnings);
        if known.is_some() {
            self.warnings.pop();
        }
        let machine = known.as_ref().map(Machine::to_value);
        self.workflow = known.into();
        let text = self.text.text().to_owned();
        self.append(EventKind::RunAdopted(Box::new(RunAdopted { machine, document, text })), None)?;
        self.commit().map(drop)
    }

    /// Gives the run to the caller when its holder is known dead.
    pub(crate) fn replace_dead_holder(&mut self) -> Result<()> {
        match claim_of_dead(self)? {
            Some(claim) => self.append(claim, None).map(drop),
            None => Ok(()),
        }
    }

    /// The `run.yaml` that shows what was appended.
    pub(crate) fn next_text(&self) -> &RunText {
        self.next_text.as_ref().unwrap_or(&self.text)
    }

    /// Adds an event to those that [`Self::commit`] writes, and gives its position. `key` makes it recognisable on a retry.
    pub(crate) fn append(&mut self, kind: EventKind, key: Option<&str>) -> Result<Seq> {
        let base = self.next_text().clone();
        self.append_over(&base, kind, key)
    }

    /// As [`Self::append`], with `base` in place of what `run.yaml` says.
    pub(crate) fn append_over(&mut self, base: &RunText, kind: EventKind, key: Option<&str>) -> Result<Seq> {
        let shown = self.state.document().state.last_seq.unwrap_or_default();
        let seq = self.writer.end().last.max(shown).max(self.writer.noted().0).next();
        let id = match key {
            Some(key) => EventId::new(key)?,
            None => self.cx.ids.next(self.now),
        };
        let mut event = Event { seq, id, at: self.now, kind, run: None };
        self.state.apply(&event);
        let fault = |error| self.unusable(error);
        let text = base.with_state(&self.state.document().state).map_err(fault)?;
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
        self.pending.push(event);
        self.next_text = Some(text);
        Ok(seq)
    }

    /// Writes what was appended. Gives the position of the last event.
    pub(crate) fn commit(&mut self) -> Result<Seq> {
        let events = std::mem::take(&mut self.pending);
        let text = self.next_text.take().expect("BUG: nothing was appended");
        let batch = Batch { events: &events, old_text: self.text.text(), new_text: text.text() };
        let before = self.text.document().state.last_seq;
        let mut merge = |saved: &str| before.and_then(|before| merge_save(saved, before, &events));
        let committed = self.writer.commit(&batch, &mut merge)?;
        let seq = committed.seq;
        if let Some(why) = committed.lagging {
            self.warnings.push(format!("recorded as event {seq}; its files follow with the next command: {why}"));
        }
        self.warnings.extend(self.writer.take_notes());
        self.text = text;
        Ok(seq)
    }

    /// The error of a `run.yaml` that cannot be changed safely.
    pub(crate) fn unusable(&self, error: crate::codec::RunTextError) -> Error {
        Error::RunFile { at: self.run.address(Document::Text), error }
    }

    /// Where the file of a record is, from the project.
    pub(crate) fn path_of(&self, record: &ActivityRecorded) -> String {
        let name = record.number.file_name(&record.id());
        self.run.address(Document::Activity(&name)).from(self.project.root())
    }

    /// The next number whose file name is free.
    pub(crate) fn next_number(&self, id: &ActivityId) -> Result<Number> {
        self.next_number_after(None, id)
    }

    /// The same, behind one that is to be given with it.
    pub(crate) fn next_number_after(&self, last: Option<Number>, id: &ActivityId) -> Result<Number> {
        let last = last.unwrap_or_default().max(self.writer.noted().1);
        let mut number = self.state.document().state.last_number.max(last).next();
        while !self.writer.is_free(&number.file_name(id))? {
            number = number.next();
        }
        Ok(number)
    }
}

/// Judges a run that is to be written, by the end of its log where that tells enough.
fn judge(writer: &mut dyn RunWriter, run: &dyn StoredRun) -> Result<Reconciled> {
    let noted = writer.noted().0;
    let mut file = read_run(run.id(), writer.text()?);
    if let Ok(Some(text)) = file {
        if let Some(shown) = text.document().state.last_seq.filter(|&shown| shown < writer.end().last) {
            writer.read_end(shown)?;
        }
        // At another length than it was left at, somebody else was at the log, and its end alone does not show it.
        file = match writer.is_as_left() {
            true => match reconcile_end(text, writer.end(), noted) {
                Ok(found) => return Ok(found),
                Err(text) => Ok(Some(*text)),
            },
            false => Ok(Some(text)),
        };
    }
    Ok(reconcile(file, &writer.log()?, noted))
}

/// What a writer is told of the state in which the run was found.
fn warnings(found: &Reconciled, last: Seq) -> Vec<String> {
    let is_rebuilt = found.repairs.iter().any(|repair| matches!(repair, Repair::Rebuild { .. }));
    let rebuilt = is_rebuilt.then(|| "run.yaml was missing; it is rebuilt from the log".to_owned());
    let shown = found.faults.iter().find_map(Fault::beyond_the_log);
    let ends_early = shown
        .map(|shown| format!("the log ends at event {last}, but run.yaml shows event {shown}; counting goes on there"));
    rebuilt.into_iter().chain(ends_early).collect()
}

/// The log of a run that is written, read when it is asked for the first time.
pub(crate) struct LogTrail<'t, 'a> {
    tx: &'t Transaction<'a>,
    history: OnceCell<Option<History>>,
    fault: RefCell<Option<Error>>,
}

impl LogTrail<'_, '_> {
    fn read(&self) -> Result<Option<History>> {
        let Transaction { writer, state, run, .. } = self.tx;
        let log = writer.log()?;
        // A decision on one of two histories would hide the other.
        refuse_joined(run.id(), &log)?;
        let Some(mut history) = History::fold(log.events()) else { return Ok(None) };
        // Where the log was damaged, run.yaml knows more.
        history.show(state.clone());
        with_earlier(&mut history, *run, &log)?;
        Ok(Some(history))
    }

    /// Why the log could not be read, when it was asked for: no decision that rests on it counts then.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.take()
    }
}

impl Trail for LogTrail<'_, '_> {
    fn history(&self) -> Option<&History> {
        let read = || {
            self.read().unwrap_or_else(|error| {
                *self.fault.borrow_mut() = Some(error);
                None
            })
        };
        self.history.get_or_init(read).as_ref()
    }
}
