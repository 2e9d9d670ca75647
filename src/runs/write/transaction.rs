//! The only way to change a run: lock, repair, judge the holder, decide, commit.
//!
//! [`reconcile`](crate::engine::reconcile) finds the state of a run and the repairs that must come before anything else; the repairs are made
//! here. Readers call it too, in [`crate::runs::open::view`], but make no repairs.

pub(crate) mod attempts;
mod found;
mod holder;
pub(in crate::runs) mod lost;
pub(in crate::runs) mod moved_on;
mod named;
mod repairs;
mod trail;
mod unpublished;

use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;

use crate::codec::{RunText, digest};
use crate::engine::{
    Caller, Command, Decision, Fault, Recap, Refusal, Repair, RunState, Trail, asks_workflow, decide, is_free,
    machine_of, merge_save, pinned,
};
use crate::machine::Machine;
use crate::model::{
    ActivityId, ActivityRecorded, Event, EventId, EventKind, Explain as _, Number, RunDocument, Seq, TextDigest,
    Timestamp,
};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::here::{interview_command, named_here};
use crate::runs::open::checkout::{elsewhere, may_be_elsewhere, refuse_log_elsewhere, refuse_what_git_has};
use crate::runs::open::fault::refusal;
use crate::runs::open::pinned::catalog_machine;
use crate::runs::open::proof::Proofs;
use crate::runs::open::recap::{pinned_by_recap, recap_with};
use crate::runs::open::same_work::SameWork;
use crate::runs::open::view::nearly_full;
use crate::runs::write::begun::{note_workers, waits_for_command};
use crate::runs::write::exec::obstacle::obstacle;
use crate::runs::write::transaction::found::{reconcile_for_writing, refuse_unfit, warnings};
use crate::runs::write::transaction::unpublished::{UnpublishedEvents, others_publish};
use crate::store::{Batch, Document, RunParts, RunWriter, StoreError, StoredRun, WorkKey, WriteRequest};

/// A run that is ready for a decision: it is locked, interrupted work is finished, and hand edits are adopted.
pub(crate) struct Transaction<'a> {
    pub(crate) project: &'a OpenedProject,
    pub(crate) writer: Box<dyn RunWriter + 'a>,
    /// The writer.
    pub(crate) caller: Caller,
    pub(crate) now: Timestamp,
    pub(crate) text: RunText,
    /// The state with the events that are not committed yet.
    pub(crate) state: RunState,
    pub(crate) warnings: Vec<String>,
    /// Whether the run may be about the same as another open run, because the caller said so.
    pub(crate) may_share_work: bool,
    /// The run before a person's edit, while that is adopted.
    edited: Option<RunDocument>,
    /// Whether the answer is about events that the store has, and not about what this reader saw of it.
    is_certain: bool,
    has_committed: bool,
    pub(in crate::runs) run: &'a dyn StoredRun,
    /// What is known of the commands that phases require, once that was looked at.
    proofs: Option<Rc<Proofs>>,
    /// The workflow of the run, once it was read; none if the run has no usable one.
    workflow: OnceCell<Option<Rc<Machine>>>,
    /// What others are about to publish.
    behind: Option<UnpublishedEvents>,
    /// The issue and the pull request that the run has given up.
    freed: Vec<WorkKey>,
    /// Events that are not committed yet.
    pending: Vec<Event>,
    /// The `run.yaml` for the state with these events.
    next_text: Option<RunText>,
}

impl<'a> Transaction<'a> {
    /// Runs `act`. What it answers is on stable storage.
    fn run_to_its_end<T>(&mut self, act: &mut impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        let done = act(self)?;
        assert!(self.pending.is_empty(), "BUG: a change of {} was not committed", self.run.id());
        if self.behind.is_some()
            && let Some(chores) = self.writer.chores()
        {
            // The answer is about events whose writers have not flushed them yet.
            chores.settle()?;
        }
        if !self.has_committed && (self.is_certain || self.run.is_current()) {
            // The command that this one repeats may have ended without an answer.
            self.writer.tell_again();
        }
        Ok(done)
    }

    /// Locks `run`, finishes what a dead writer left, and adopts hand edits. `None` if other writers have to publish first what
    /// they have appended, and there is time to wait for them. `notes` gets what was moved to quarantine before a failure.
    fn begin(
        project: &'a OpenedProject,
        run: &'a dyn StoredRun,
        caller: &Caller,
        request: &WriteRequest,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>> {
        let now = request.writer.since;
        // Check this before taking the lock, which would create a log.
        if may_be_elsewhere(project, run) {
            return Err(elsewhere(project, run));
        }
        match run.parts() {
            RunParts::Whole => {}
            RunParts::WithoutLog => {
                refuse_log_elsewhere(project, run)?;
                refuse_unfit(project, run)?;
            }
            RunParts::Away | RunParts::Emptied | RunParts::Nothing => refuse_unfit(project, run)?,
        }
        // Before the writer leaves anything that must never be committed.
        project.keep_out_of_git(request)?;
        let mut writer = run.begin(request)?;
        let found = reconcile_for_writing(project, &mut *writer, run)?;
        if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_writing()) {
            return Err(refusal(project, run, fault.clone()));
        }
        let last = writer.end().last;
        refuse_what_git_has(project, run, &found, last)?;
        let warnings = warnings(&found, last);
        let shown = found.faults.iter().find_map(Fault::beyond_the_log).unwrap_or_default();
        if let Some(chores) = writer.chores() {
            chores.clear_leftovers(shown, now)?;
        }
        let Some(current) = found.run else { return Err(refusal(project, run, Fault::Empty)) };
        let (text, state) = current.into_parts();
        let (caller, workflow) = (caller.clone(), OnceCell::new());
        let mut tx = Self {
            project,
            writer,
            caller,
            now,
            text,
            state,
            warnings,
            may_share_work: false,
            edited: None,
            is_certain: false,
            has_committed: false,
            run,
            proofs: None,
            workflow,
            behind: None,
            freed: Vec::new(),
            pending: Vec::new(),
            next_text: None,
        };
        let mut ready = tx.make_ready(found.repairs, !request.wait.is_zero());
        if shown > last && matches!(ready, Ok(true)) {
            ready = tx.note_unlogged_end().map(|()| true);
        }
        if ready.is_err()
            && let Some(chores) = tx.writer.chores()
        {
            // What another machine recorded may have taken the place of what a person wrote.
            notes.extend(chores.take_notes());
        }
        Ok(ready?.then_some(tx))
    }

    /// Makes the repairs. Whether it did, or other writers have to publish first and it `may_wait` for them.
    fn make_ready(&mut self, repairs: Vec<Repair>, may_wait: bool) -> Result<bool> {
        let is_foreign = repairs.contains(&Repair::AdoptRun);
        let is_up_to_others = others_publish(&mut *self.writer, &repairs)?;
        if is_up_to_others && repairs.len() == 1 {
            self.behind = repairs.into_iter().find_map(|repair| UnpublishedEvents::of(repair, &*self.writer));
        } else if is_up_to_others && may_wait {
            return Ok(false);
        } else {
            self.repair_all(repairs)?;
        }
        if !is_foreign
            && self.behind.is_none()
            && let Some(chores) = self.writer.chores()
        {
            self.warnings.extend(chores.restore_lost()?);
            self.warnings.extend(chores.take_notes());
        }
        self.caller = self.caller_beside_holder()?;
        Ok(true)
    }

    /// The workflow that the run pins. It is read on first use, because most records stay in their phase and do not
    /// need it.
    pub(crate) fn machine(&mut self) -> Result<Option<Rc<Machine>>> {
        if self.workflow.get().is_none() {
            let machine = self.read_machine()?;
            self.workflow = OnceCell::from(machine.map(Rc::new));
        }
        Ok(self.known_machine())
    }

    fn read_machine(&mut self) -> Result<Option<Machine>> {
        let first = match self.state.document().state.workflow_seq {
            None => self.run.first_event()?,
            // The run has adopted another definition since its first event.
            Some(_) => None,
        };
        let pinned = match first {
            Some(first) if is_free(&first) => return Ok(None),
            Some(first) => machine_of(&first, &mut self.warnings),
            // The first line may be lost; then a repair of the log has pinned the workflow.
            None => match pinned_by_recap(self.project, self.run) {
                Some(machine) => Some(machine),
                None => pinned(self.writer.log()?.events(), &mut self.warnings),
            },
        };
        // No pinned definition can be found; the current one is a better approximation than none.
        Ok(pinned.or_else(|| catalog_machine(self.project, self.state.document(), &mut self.warnings)))
    }

    /// The pinned workflow, if it was read already.
    pub(crate) fn known_machine(&self) -> Option<Rc<Machine>> {
        self.workflow.get().cloned().flatten()
    }

    /// Notes that the answer stands, whatever other machines did meanwhile. One that repeats what an event says is such an
    /// answer: what the copy has, the store has.
    pub(crate) const fn answer_stands(&mut self) {
        self.is_certain = true;
    }

    /// Decides on `command`, with the run's workflow and log if they are needed.
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

    /// As [`Self::decide`], for a command that records an activity.
    ///
    /// # Errors
    /// Those of [`Self::decide`].
    pub(crate) fn decide_record(&mut self, command: Command) -> Result<Box<ActivityRecorded>> {
        let Decision::Commit(EventKind::ActivityRecorded(recorded)) = self.decide(command)? else {
            unreachable!("BUG: recording gave another event")
        };
        Ok(recorded)
    }

    /// A refusal as an error. If the refusal depends on the run's workflow and the current definition differs, the
    /// error says so.
    pub(crate) fn refused(&self, mut refusal: Refusal) -> Error {
        if let Refusal::InterviewOpen { document, .. } = &refusal
            && let Err(gone) = interview_command(self.project, self.run.id(), document)
        {
            return Error::refused(self.run.id(), refusal).problem().help(gone).into();
        }
        if let Some(document) = refusal.document_mut() {
            *document = named_here(self.project, Path::new(document));
        }
        for one in refusal.unproved_mut() {
            one.obstacle = one.obstacle.take().or_else(|| obstacle(self.project, one));
        }
        // The history may be long, and most refusals do not need it.
        if matches!(refusal, Refusal::InDoubt { .. } | Refusal::NotDone(_))
            && let Some(waits) = waits_for_command(self.project, &refusal, self.trail().history())
        {
            return waits.into();
        }
        let mut by_older = false;
        if refusal.rests_on_workflow()
            && let Some(pinned) = self.known_machine()
            && let Ok(today) = self.project.catalog().find(self.state.document().workflow.as_str())
        {
            by_older = !pinned.differences(&today.machine).is_empty();
        }
        Error::Refused { run: self.state.id().clone(), refusal, by_older }
    }

    /// The `run.yaml` for the state with the appended events.
    pub(crate) fn next_text(&self) -> &RunText {
        self.next_text.as_ref().unwrap_or(&self.text)
    }

    /// Appends an event for [`Self::commit`], and gives its position. `key` identifies it on a retry.
    pub(crate) fn append(&mut self, kind: EventKind, key: Option<&str>) -> Result<Seq> {
        let base = self.next_text().clone();
        self.append_over(&base, kind, key)
    }

    /// As [`Self::append`], with `base` instead of the current `run.yaml`.
    pub(crate) fn append_over(&mut self, base: &RunText, mut kind: EventKind, key: Option<&str>) -> Result<Seq> {
        note_workers(&self.project.cx, &self.caller, &mut kind)?;
        // No position is given twice, not even one that the log has lost.
        let shown = self.state.document().state.last_seq.unwrap_or_default();
        let seq = self.writer.end().last.max(shown).max(self.writer.noted().seq).next();
        let id = match key {
            Some(key) => EventId::new(key)?,
            None => self.project.cx.ids.next(self.now),
        };
        let mut event = Event { seq, id, at: self.now, kind, run: None, recap: None };
        self.state.apply(&event);
        let text = base.with_state(&self.state.document().state).map_err(|error| self.unusable(&error))?;
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
        self.pending.push(event);
        self.next_text = Some(text);
        Ok(seq)
    }

    /// Commits the appended events. Gives the position of the last one.
    pub(crate) fn commit(&mut self) -> Result<Seq> {
        let mut events = std::mem::take(&mut self.pending);
        let text = self.next_text.take().expect("BUG: nothing was appended");
        let recap = recap_with(self.project, self.run, &events, || self.writer.log().ok());
        if let (Some(recap), Some(last)) = (&recap, events.last_mut()) {
            last.recap = Some(Recap::digest_of(recap));
        }
        let behind = self.behind.take();
        let (earlier, old, since) = match &behind {
            Some(behind) => (&*behind.newer, &behind.old, Some(behind.since)),
            None => (&[][..], &self.text, self.text.document().state.last_seq),
        };
        let edited = self.edited.take();
        let before = edited.as_ref().unwrap_or(self.text.document());
        let mut work = SameWork::change(self.project, before, text.document());
        if self.may_share_work {
            work.taken.clear();
        }
        let mut batch = Batch { events: &events, earlier, old_text: old.text(), new_text: text.text(), work };
        let merge = &mut |saved: &str| merge_save(saved, since?, &[earlier, &events].concat());
        let committed = match self.writer.commit(&batch, merge) {
            // What a person wrote counts, whatever other runs are about.
            Err(StoreError::WorkTaken { .. }) if edited.is_some() => {
                batch.work.taken.clear();
                self.writer.commit(&batch, merge)?
            }
            committed => committed?,
        };
        self.is_certain = true;
        self.has_committed = true;
        self.freed.append(&mut batch.work.freed);
        if let Some(warning) = nearly_full(text.text()) {
            // Said once, although several commits may make up one command.
            self.warnings.retain(|warning| !warning.starts_with("run.yaml is "));
            self.warnings.push(warning);
        }
        let seq = committed.seq;
        if let Some(recap) = recap {
            // A cache: without it the next reader makes it.
            let _ = self.project.keep_recap(self.run.id(), &recap);
        }
        if let Some(why) = committed.lagging {
            self.warnings.push(format!("recorded as event {seq}; its files follow with the next command: {why}"));
        }
        if let Some(chores) = self.writer.chores() {
            self.warnings.extend(chores.take_notes());
        }
        self.text = text;
        Ok(seq)
    }

    /// The error for a `run.yaml` that cannot be changed safely.
    pub(crate) fn unusable(&self, error: &crate::codec::RunTextError) -> Error {
        Error::run_file(&self.run.address(Document::Text), error, self.writer.end().last > Seq(0))
    }

    /// The path of a record's file, relative to the project.
    pub(crate) fn path_of(&self, record: &ActivityRecorded) -> String {
        let name = record.number.file_name(&record.id());
        self.run.address(Document::Activity(&name)).from(self.project.root())
    }

    /// The next number whose file name is free. `last` is one that the same commit gives already.
    pub(crate) fn next_number(&self, last: Option<Number>, id: &ActivityId) -> Result<Number> {
        let mut last = last.unwrap_or_default().max(self.writer.noted().number);
        if self.writer.noted().number == Number(0) {
            // A clone has no note of it. Files that the log does not have may be those of records that are elsewhere.
            for (number, _) in self.run.activity_names()? {
                last = last.max(number);
            }
        }
        let mut number = self.state.document().state.last_number.max(last).next();
        while !self.writer.is_free(&number.file_name(id))? {
            number = number.next();
        }
        Ok(number)
    }
}
