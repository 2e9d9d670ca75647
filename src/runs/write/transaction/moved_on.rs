//! Whether a run is as its caller saw it when they decided on a command.

use super::Transaction;
use super::attempts::transact;
use crate::engine::{Caller, Refusal, is_repair, text_of};
use crate::model::{LastSeen, RunId, Seq};
use crate::runs::context::Context;
use crate::runs::error::Result;

/// Refuses what a person decided who had seen the run up to `seen`, if there is more by now. Writes nothing.
///
/// # Errors
/// [`Refusal::MovedOn`], and those of reading the run.
pub fn refuse_moved_on(cx: &Context, run: &RunId, seen: &LastSeen) -> Result<()> {
    let project = cx.project()?;
    let run = project.runs().open(run)?;
    transact(&project, &*run, Caller::default(), cx.now(), |tx| tx.refuse_moved_on(Some(seen)))
}

impl Transaction<'_> {
    /// The event up to which the caller has seen the run. What they saw in `run.yaml` may be an event by now, at the latest
    /// since this transaction began.
    ///
    /// # Errors
    /// [`Refusal::MovedOn`] if `run.yaml` had another text before it was recorded, or has another one again.
    pub(crate) fn event_seen(&self, seen: &LastSeen) -> Result<Seq> {
        if !seen.has_edit() {
            return Ok(seen.event);
        }
        let newer = self.run.end(seen.event)?.map(|end| end.newer).unwrap_or_default();
        match newer.first() {
            Some(event) if !is_repair(event) && text_of(event).is_some_and(|text| seen.is_of(text)) => Ok(event.seq),
            _ => Err(self.refused(Refusal::MovedOn { seen: seen.clone(), last: self.last() })),
        }
    }

    /// The last event.
    fn last(&self) -> Seq {
        // The log may have lost its end, and `run.yaml` may be behind it.
        self.state.document().state.last_seq.unwrap_or_default().max(self.writer.end().last)
    }

    /// Refuses a command of a caller who decided it when they had seen the run up to `seen`, if there is more by now.
    pub(crate) fn refuse_moved_on(&self, seen: Option<&LastSeen>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        let (seen, last) = (self.event_seen(seen)?, self.last());
        if seen == last { Ok(()) } else { Err(self.refused(Refusal::MovedOn { seen: seen.into(), last })) }
    }
}
