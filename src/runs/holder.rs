//! The process by whose life others can later tell whether a session lives.

use crate::engine::Hold;
use crate::host::Holder;
use crate::model::SessionId;
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::host_note::bound_process;

/// The process that holds a run, if the log names one.
pub(in crate::runs) fn process_of(hold: &Hold) -> Option<Holder> {
    hold.holder.as_deref()?.parse().ok()
}

impl OpenedProject {
    /// As [`Context::holder`], in the form of the log, for a caller that acts for `session`: the process to which a hook has
    /// bound it, unless the caller names another one.
    pub(crate) fn holder_for(&self, session: Option<&SessionId>) -> Result<Option<String>> {
        match self.sure_holder(session)? {
            Some(holder) => Ok(Some(holder)),
            None => Ok(self.cx.holder()?.map(|holder| holder.to_string())),
        }
    }

    /// As [`Self::holder_for`], if that process is named by the caller, a hook or the agent. Otherwise it is only the
    /// nearest ancestor, which may be a hook that ends at once.
    pub(crate) fn sure_holder(&self, session: Option<&SessionId>) -> Result<Option<String>> {
        // What the caller says comes before what a hook noted, and both before the agent's own variable.
        let sure = if let Some(pid) = self.cx.holder_given_to_flow()? {
            Holder::current(Some(pid))
        } else if let Some(bound) = session.and_then(|session| bound_process(self, session)) {
            Some(bound)
        } else if let Some(pid) = self.cx.env.holder()? {
            Holder::current(Some(pid))
        } else {
            self.cx.unnamed_agent().map(|(_, process)| process)
        };
        Ok(sure.map(|holder| holder.to_string()))
    }
}
