//! What every command that begins a run does: its first files, who holds it, and its id.

use serde_json::{Map, Value, json};

use crate::codec::{RunText, digest};
use crate::engine::{Caller, RunState};
use crate::model::{Event, Kind, Problem, RunDocument, RunId, TextDigest, Timestamp};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::open::checkout::{elsewhere, may_be_elsewhere};
use crate::runs::open::shared::refuse_id_of_shared;
use crate::runs::open::sparse::left_out_ids;
use crate::store::{Address, NewRun, StoredRun, WorkKey};

/// A run that begins with these events, and its state. `work` is what no other open run may be about.
///
/// # Errors
/// When `run.yaml` cannot show a state.
pub(in crate::runs) fn new_run(
    project: &OpenedProject,
    mut events: Vec<Event>,
    work: Vec<WorkKey>,
) -> Result<(NewRun, RunState)> {
    let (first, more) = events.split_first_mut().expect("BUG: a run without events");
    let mut state = RunState::begin(first).expect("BUG: a run begins with another event");
    let mut text = text_of_new_run(project, state.document());
    first.run = Some(TextDigest(digest(text.text().as_bytes())));
    for event in more {
        state.apply(event);
        let shown = text.with_state(&state.document().state);
        text = shown.map_err(|error| Error::run_file(&Address::new("run.yaml"), &error, false))?;
        event.run = Some(TextDigest(digest(text.text().as_bytes())));
    }
    Ok((NewRun { id: state.id().clone(), text: text.text().to_owned(), events, work }, state))
}

/// The first `run.yaml` of a run. It names its schema where the project has it.
fn text_of_new_run(project: &OpenedProject, document: &RunDocument) -> RunText {
    if project.has_schemas() { RunText::create_with_schema(document) } else { RunText::create(document) }
}

/// A run to create, and the ids that it may have.
pub(in crate::runs) struct Creation<'c> {
    pub(in crate::runs) project: &'c OpenedProject,
    /// Whether it is made in this checkout, also where machines share runs.
    pub(in crate::runs) local: bool,
    pub(in crate::runs) id: &'c RunId,
    /// Whether the caller gave the id. Then no other one is tried.
    pub(in crate::runs) is_given: bool,
    pub(in crate::runs) now: Timestamp,
}

impl Creation<'_> {
    /// Creates the run that `make` makes of the first free id: the one that is wanted, or else `…-2`, `…-3`. `make` runs under
    /// the project's lock, so of two processes at the same time the second one sees the first one's run.
    ///
    /// # Errors
    /// Those of `make`, and those of [`RunStore::create`](crate::store::RunStore::create).
    pub(in crate::runs) fn create(
        &self,
        make: &mut dyn FnMut(RunId) -> Result<(NewRun, RunState)>,
    ) -> Result<(Box<dyn StoredRun>, RunState)> {
        let project = self.project;
        if self.local && self.is_given {
            refuse_id_of_shared(project, self.id)?;
        }
        let request = project.cx.write_request(self.now, project.commit_wait()?);
        let outside = project.outside();
        let (mut made, mut fault, mut passed) = (None, None, 0);
        let created = project.runs_to_begin_in(self.local).create(&request, outside.as_deref(), &mut |attempt| {
            if attempt > 1 && self.is_given {
                return None;
            }
            match self.free_id(attempt, &mut passed).and_then(&mut *make) {
                Ok((new, state)) => {
                    made = Some(state);
                    Some(new)
                }
                Err(error) => {
                    fault = Some(error);
                    None
                }
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        Ok((created?, made.expect("BUG: a run was created without a state")))
    }

    /// The id of a try. `passed` counts those that a shared run has, which would hide the run.
    fn free_id(&self, attempt: usize, passed: &mut usize) -> Result<RunId> {
        let mut id = self.nth_id(attempt + *passed)?;
        while self.local && self.project.runs().shared().has(&id) {
            *passed += 1;
            id = self.nth_id(attempt + *passed)?;
        }
        Ok(id)
    }

    fn nth_id(&self, attempt: usize) -> Result<RunId> {
        if attempt == 1 { Ok(self.id.clone()) } else { Ok(RunId::new(format!("{}-{attempt}", self.id))?) }
    }
}

/// A run that was there before, and its first event, if that can be read.
pub(in crate::runs) type ExistingRun = (Box<dyn StoredRun>, Option<Event>);

/// The run that has the id which the caller gave, in the place where a new one would be: an earlier request may have made it,
/// also one whose answer was lost. `None` without one. Its first event says whether the request was the same.
///
/// # Errors
/// When the run cannot be read, or git took its files from here: another one must not take its place.
pub(in crate::runs) fn known_run(
    project: &OpenedProject,
    id: Option<&RunId>,
    is_local: bool,
) -> Result<Option<ExistingRun>> {
    let Some(id) = id else { return Ok(None) };
    let run = match project.runs().open(id) {
        Err(error) if error.is_not_found() => return Ok(None),
        opened => opened?,
    };
    if may_be_elsewhere(project, &*run) {
        return Err(elsewhere(project, &*run));
    }
    let is_shared = project.runs().shared().has(id);
    if project.runs().shared().address().is_some() && is_shared == is_local {
        return Ok(None);
    }
    let first = run.first_event()?;
    Ok(Some((run, first)))
}

/// The process that holds a run which `caller` begins; none without a session.
///
/// # Errors
/// Those of [`OpenedProject::holder_for`].
pub(in crate::runs) fn holder_of_new_run(project: &OpenedProject, caller: &Caller) -> Result<Option<String>> {
    if caller.session.is_some() { project.holder_for(caller.session.as_ref()) } else { Ok(None) }
}

/// The limits of FlowRun's template: ten attempts, no time limit.
pub(in crate::runs) fn default_limits() -> Map<String, Value> {
    let limits = json!({ "max_iterations": 10, "max_runtime_minutes": null });
    limits.as_object().cloned().unwrap_or_default()
}

/// Refuses an id that differs from another only in case: on some file systems both would share a directory.
pub(in crate::runs) fn refuse_same_but_for_case(project: &OpenedProject, id: &RunId) -> Result<()> {
    let mut others = left_out_ids(project)?;
    others.extend(project.runs().ids()?.iter().map(RunId::to_string));
    for other in others {
        if other != id.as_str() && other.eq_ignore_ascii_case(id.as_str()) {
            let message = format!("run {other} exists, and {id} differs from it only in case");
            let help = format!("use another id, or go on with {other}");
            return Err(Problem::new(Kind::Refused, "run_exists", message).help(help).into());
        }
    }
    Ok(())
}
