//! The log of a run in a transaction, for the rules that ask for more than the state.

use std::cell::{OnceCell, RefCell};

use crate::engine::{Attempt, History, ProofCheck, Trail};
use crate::machine::Requirement;
use crate::runs::error::{Error, Result};
use crate::runs::open::checkout::refuse_joined;
use crate::runs::open::recap::recapped;
use crate::runs::open::view::add_earlier_attempts;
use crate::runs::write::begun::goes_on;
use crate::runs::write::transaction::Transaction;

/// The log of the run in a transaction, read on first use.
pub(crate) struct LogTrail<'t, 'a> {
    tx: &'t Transaction<'a>,
    history: OnceCell<Option<History>>,
    fault: RefCell<Option<Error>>,
}

impl LogTrail<'_, '_> {
    /// Why the log could not be read. If there is a reason, decisions that used the log do not count.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.take()
    }
}

impl Trail for LogTrail<'_, '_> {
    fn history(&self) -> Option<&History> {
        let history = self.history.get_or_init(|| match self.tx.history() {
            Ok(history) => history,
            Err(error) => {
                *self.fault.borrow_mut() = Some(error);
                None
            }
        });
        history.as_ref()
    }

    fn judge(&self, requirement: &Requirement, attempt: &Attempt) -> ProofCheck {
        match &self.tx.proofs {
            Some(proofs) => proofs.judge(requirement, attempt),
            None => ProofCheck::NotLooked,
        }
    }

    fn is_at_work(&self, attempt: &Attempt) -> bool {
        self.history().is_some_and(|history| goes_on(self.tx.project, history, attempt.number))
    }
}

impl<'a> Transaction<'a> {
    /// The history of the run, as far as questions about its present go: from its recap, if it has one, otherwise from the
    /// whole log. `None` without a log.
    pub(crate) fn history(&self) -> Result<Option<History>> {
        if let Some(history) = recapped(self.project, self.run, &self.pending, &self.state) {
            return Ok(Some(history));
        }
        let log = self.writer.log()?;
        // A decision based on one of two histories would hide the other.
        refuse_joined(self.run.id(), &log)?;
        let Some(mut history) = History::fold(log.events()) else { return Ok(None) };
        // If the log is damaged, `run.yaml` knows more.
        history.show(self.state.clone());
        add_earlier_attempts(&mut history, self.run, &log)?;
        Ok(Some(history))
    }

    /// The log of the run, read on first use.
    pub(crate) fn trail(&self) -> LogTrail<'_, 'a> {
        LogTrail { tx: self, history: OnceCell::new(), fault: RefCell::new(None) }
    }
}
