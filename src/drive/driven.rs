//! The run that is driven, and the person who watches.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::drive::agent::{self, FinishedState};
use crate::model::{RunId, SessionId, StateName, beginning};

/// The output of a state, as it is shown to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Given")]
pub struct StateOutput {
    /// The state.
    pub state: StateName,
    /// The output; a long one is cut, and ends with `…`.
    pub output: String,
}

/// The person who called the driver, if any.
pub trait Person {
    /// Shows the output of a state.
    fn learn(&mut self, given: &StateOutput);
    /// The answer to `prompt`; none if no person is there. `last` is the latest output, to which the question may
    /// refer.
    fn ask(&mut self, last: Option<&StateOutput>, prompt: &str) -> Option<String>;
    /// Shows a line about the progress.
    fn tell(&mut self, line: &str);
}

/// The person, shared by the states and the chooser; none for a driver without an audience.
pub(super) type Audience<'p> = Rc<RefCell<Option<&'p mut dyn Person>>>;

/// Shows a line about the progress to the person, if there is one.
pub(super) fn tell(audience: &Audience<'_>, line: &str) {
    if let Some(person) = &mut *audience.borrow_mut() {
        person.tell(line);
    }
}

/// The run that is driven, and the session that drives it.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    pub(super) run: RunId,
    /// The run's directory, which exists from the first state on.
    pub(super) run_dir: PathBuf,
    pub(super) workflow: String,
    pub(super) session: SessionId,
    pub(super) epoch: u64,
    /// Whether the session ends with the driver.
    pub(super) owns_session: bool,
}

/// The latest output of a state, for a person who is asked.
pub(super) fn given_last(context: &agent::Context) -> Option<StateOutput> {
    context.done.iter().rev().find_map(given)
}

/// The output of a state, cut for people; none if it is empty.
pub(super) fn given(done: &FinishedState) -> Option<StateOutput> {
    let output = done.output.as_deref().filter(|output| !output.trim().is_empty())?;
    Some(StateOutput { state: done.state.clone(), output: beginning(output, GIVEN).into_owned() })
}

/// How much of an output is shown to people, in characters; the run has all of it.
const GIVEN: usize = 8000;
