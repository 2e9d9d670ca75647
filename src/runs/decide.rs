//! Decisions on a loaded run, with what they need of its workflow and its log.

use std::cell::{OnceCell, RefCell};

use crate::engine::{Caller, Command, Decision, History, Refusal, Trail, asks_workflow, decide};
use crate::runs::checkout::refuse_joined;
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::load::Loaded;
use crate::runs::view::with_earlier;
use crate::store::Project;

/// The log of a loaded run, read when it is asked for the first time.
pub(crate) struct LoadedTrail<'a, 'b> {
    loaded: &'a Loaded<'b>,
    history: OnceCell<Option<History>>,
    fault: RefCell<Option<Error>>,
}

impl<'a, 'b> LoadedTrail<'a, 'b> {
    pub(crate) fn of(loaded: &'a Loaded<'b>) -> Self {
        Self { loaded, history: OnceCell::new(), fault: RefCell::new(None) }
    }

    fn read(&self) -> Result<Option<History>> {
        let Loaded { locked, state, run, .. } = self.loaded;
        let log = locked.read_log()?;
        // A decision on one of two histories would hide the other.
        refuse_joined(run.id(), &log)?;
        let Some(mut history) = History::fold(log.events()) else { return Ok(None) };
        // Where the log was damaged, run.yaml knows more.
        history.show(state.clone());
        with_earlier(&mut history, run, &log)?;
        Ok(Some(history))
    }

    /// Why the log could not be read, when it was asked for: no decision that rests on it counts then.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.take()
    }
}

impl Trail for LoadedTrail<'_, '_> {
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

impl Loaded<'_> {
    /// Decides on `command`, with the run's workflow and log where it needs them.
    ///
    /// # Errors
    /// [`Error::Refused`] when a rule forbids it; [`Error::Store`] when the log cannot be read.
    pub(crate) fn decide(
        &mut self,
        cx: &Context,
        project: &Project,
        caller: &Caller,
        command: Command,
    ) -> Result<Decision> {
        let asks = asks_workflow(&self.state, &command);
        let machine = if asks { self.machine(cx, project)? } else { None };
        let trail = LoadedTrail::of(self);
        let decision = decide(&self.state, machine.as_deref(), caller, command, &trail);
        if let Some(fault) = trail.fault() {
            return Err(fault);
        }
        decision.map_err(|refusal| self.refused(cx, project, refusal))
    }

    /// A refusal as an error. One that rests on the run's workflow says so when today's definition is another one.
    pub(crate) fn refused(&self, cx: &Context, project: &Project, refusal: Refusal) -> Error {
        let run = self.state.id().clone();
        let today = || cx.catalog(Some(project)).find(self.state.document().workflow.as_str()).ok();
        let pinned = self.known_machine().filter(|_| refusal.rests_on_workflow());
        let changed =
            pinned.is_some_and(|pinned| today().is_some_and(|today| !pinned.differences(&today.machine).is_empty()));
        if changed { Error::RefusedByOlder { run, refusal } } else { Error::Refused { run, refusal } }
    }
}
