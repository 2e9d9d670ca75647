//! Who holds the run of a transaction, and the claims that writing it needs.

use super::Transaction;
use crate::engine::{Caller, Claim, Command, Decision, NoTrail, decide};
use crate::host::Holder;
use crate::model::EventKind;
use crate::runs::error::Result;
use crate::runs::holder::process_of;
use crate::runs::host_note::is_dead;

impl Transaction<'_> {
    /// The caller, with what is known about the run's holder. Cheap unless another session holds the run.
    pub(super) fn caller_beside_holder(&self) -> Result<Caller> {
        let caller = self.caller.clone();
        let Some(held) = &self.state.document().state.session else { return Ok(caller) };
        if caller.session.is_none() || caller.session.as_ref() == Some(held) {
            return Ok(caller);
        }
        // The process of the holder stands in the log alone.
        let holder = self.holder_evidence()?;
        Ok(Caller { holder_dead: is_dead(self.project, held, holder.as_ref()), ..caller })
    }

    /// The process that holds the run, if it is known.
    pub(in crate::runs) fn holder_evidence(&self) -> Result<Option<Holder>> {
        let Some(history) = self.history()? else { return Ok(None) };
        let Some(hold) = history.hold() else { return Ok(None) };
        Ok(process_of(hold))
    }

    /// Claims the run for the caller if its holder is known to be dead.
    pub(crate) fn replace_dead_holder(&mut self) -> Result<()> {
        if self.caller.holder_dead
            && let Some(claim) = self.claim()?
        {
            self.append(claim, None)?;
        }
        Ok(())
    }

    /// As [`Self::replace_dead_holder`], and also if no session holds the run: the session that works on it holds it.
    pub(crate) fn claim_for_work(&mut self) -> Result<()> {
        if self.state.document().state.session.is_none()
            && let Some(claim) = self.claim()?
        {
            return self.append(claim, None).map(drop);
        }
        self.replace_dead_holder()
    }

    /// The event that gives the run to the caller, if the caller is a session and no rule forbids it.
    fn claim(&self) -> Result<Option<EventKind>> {
        if self.caller.session.is_none() {
            return Ok(None);
        }
        let holder = self.project.holder_for(self.caller.session.as_ref())?;
        let claim = Command::Claim(Claim { holder, take_over: false });
        match decide(&self.state, None, &self.caller, claim, &NoTrail) {
            Ok(Decision::Commit(kind)) => Ok(Some(kind)),
            Ok(Decision::Already) | Err(_) => Ok(None),
        }
    }
}
