//! Repairs that come before anything else is written into a run.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Transaction;
use crate::engine::{History, Repair, RunState, merge_save};
use crate::machine::Machine;
use crate::model::{EventKind, FieldChange, Number, RunAdopted, RunChanges, RunEdited, RunStatus, Seq};
use crate::runs::error::Result;
use crate::runs::open::pinned::catalog_machine;
use crate::runs::open::view::add_earlier_attempts;
use crate::runs::write::journal;
use crate::store::{ActivityFile, LogScan};

impl Transaction<'_> {
    /// Makes the repairs that `reconcile` requires, in order.
    pub(super) fn repair_all(&mut self, repairs: Vec<Repair>) -> Result<()> {
        repairs.into_iter().try_for_each(|repair| self.repair(repair))
    }

    /// Makes one of them.
    fn repair(&mut self, repair: Repair) -> Result<()> {
        let now = self.now;
        match repair {
            Repair::Rebuild { text } => {
                let files = ActivityFile::of_all(self.writer.log()?.events());
                Ok(self.writer.roll_forward(None, text.text(), &files, now, &mut |_| None)?)
            }
            Repair::EndRepair { old, text, is_own } => {
                if !is_own && let Some(chores) = self.writer.chores() {
                    chores.keep_text(now)?;
                }
                let log = self.writer.log()?;
                let newer = log.events().filter(|event| Some(event.seq) > old.document().state.last_seq);
                let files = ActivityFile::of_all(newer);
                self.writer.roll_forward(Some(old.text()), text.text(), &files, now, &mut |_| None)?;
                Ok(self.writer.read_end(Seq(u64::MAX))?)
            }
            Repair::RollForward { since, old, text, drops_edit } => {
                if drops_edit && let Some(chores) = self.writer.chores() {
                    chores.keep_text(now)?;
                }
                let newer = self.writer.end().newer.clone();
                let files = ActivityFile::of_all(&newer);
                // An editor may save the file while it is rolled forward.
                Ok(self.writer.roll_forward(Some(old.text()), text.text(), &files, now, &mut |saved| {
                    merge_save(saved, since, &newer)
                })?)
            }
            Repair::AdoptRun => self.adopt_run(),
            Repair::AdoptEdit { log, changes } => {
                self.edited = Some(log.document().clone());
                self.state = *log;
                let text = self.text.text().to_owned();
                let edit = RunEdited { changes: *changes, by_command: false, session: None, text };
                self.append(EventKind::RunEdited(Box::new(edit)), None)?;
                self.commit().map(drop)
            }
        }
    }

    /// Notes, as the edit by hand that it may be, that a run is completed by its `run.yaml` alone: the log lacks the event
    /// that says so. No run is past what its phases require without a word in its log.
    pub(super) fn note_unlogged_end(&mut self) -> Result<()> {
        let state = &self.state.document().state;
        if state.status != RunStatus::Completed {
            return Ok(());
        }
        let current_phase = FieldChange::between(None, state.current_phase.as_ref());
        let changes = RunChanges { status: Some(state.status), current_phase, ..RunChanges::default() };
        if self.machine()?.is_none_or(|machine| machine.requires().is_empty()) {
            return Ok(());
        }
        let text = self.text.text().to_owned();
        let edit = RunEdited { changes, by_command: false, session: None, text };
        self.append(EventKind::RunEdited(Box::new(edit)), None)?;
        self.commit().map(drop)
    }

    /// Adopts a run that another program wrote.
    fn adopt_run(&mut self) -> Result<()> {
        let names = self.run.activity_names()?;
        let mut document = self.text.document().clone();
        document.state.last_number = names.last().map_or(Number(0), |(number, _)| *number);
        let mut history = History::without_log(RunState::from_document(document));
        add_earlier_attempts(&mut history, self.run, &LogScan::default())?;
        history.foresee_open_work();
        let document = history.state().document().clone();
        let known = catalog_machine(self.project, &document, &mut self.warnings);
        if known.is_some() {
            // That the run pins no workflow is not true any longer behind the event below.
            self.warnings.pop();
        }
        let machine = known.as_ref().map(Machine::to_value);
        self.workflow = OnceCell::from(known.map(Rc::new));
        let text = self.text.text().to_owned();
        self.append(EventKind::RunAdopted(Box::new(RunAdopted { machine, document, text })), None)?;
        self.commit()?;
        self.note_unlogged_end()?;
        // Others may have to wait for the journal with this one command, and never again.
        let warning = journal::note_first(self.project, self.state.document(), self.now);
        self.warnings.extend(warning);
        Ok(())
    }
}
