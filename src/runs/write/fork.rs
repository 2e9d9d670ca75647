//! `fork`: a run that goes on from an event of another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::catalog::CatalogError;
use crate::codec::{LogScan, digest, seal};
use crate::engine::{Command, Decision, History, Refusal, RunState, decide, requests_of};
use crate::machine::Machine;
use crate::model::{
    Event, EventId, EventKind, Explain as _, ForkPoint, Help, Kind, Problem, RunDocument, RunForked, RunId, Seq,
    SessionId, StateName, Suggestion, Timestamp, WorkflowId, hex, slug,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::fault::refusal;
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::select::select_run;
use crate::runs::open::shared::{StoreAnswer, ask_store};
use crate::runs::open::view::{View, for_reading};
use crate::runs::write::journal;
use crate::runs::write::new_run::{Creation, holder_of_new_run, known_run, new_run, refuse_same_but_for_case};
use crate::runs::write::required_here::as_project_asks;
use crate::runs::write::start::{SLUG_BYTES, StartRequest, context_of};
use crate::runs::write::token::{RunToken, token_of_new_run};
use crate::store::{Document, RefreshScope, StoreError, StoredRun};

/// Which run to fork, and where.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRequest {
    /// The run to go on from.
    #[serde(rename = "run_id")]
    pub run: String,
    /// The event after which the fork goes on; otherwise the last one.
    #[serde(default)]
    pub at: Option<u64>,
    /// The whole id of the fork; otherwise made from the time and the run's id. A repeated request with the same id gives
    /// the same fork.
    #[serde(default)]
    pub id: Option<RunId>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether it follows the definition that its workflow has now, instead of the one that the run follows there.
    #[serde(default)]
    pub workflow_now: bool,
    /// The session that forks the run and holds the fork.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// In this checkout alone, also if the run is shared.
    #[serde(default)]
    pub local: bool,
}

/// The report of `fork`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ForkReport {
    /// The fork.
    pub run_id: RunId,
    /// Its directory, relative to the project.
    pub path: String,
    /// The store in which machines share it; none for one of this checkout alone.
    pub store: Option<String>,
    /// The run, and the event, after which it goes on.
    pub forked_from: ForkPoint,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its current phase.
    pub phase: Option<StateName>,
    /// How many activities it took over as completed.
    pub completed_activities: usize,
    /// The position of its last event.
    pub seq: Seq,
    /// The session that holds it.
    pub session: Option<SessionId>,
    /// The epoch under which the session holds it.
    pub epoch: u64,
    /// The value for `FLOW_RUN_TOKEN` in the environment of sub-agents; none if no session holds the fork, or if it was there
    /// already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether it was made now; `false` if an earlier request with the same id made it.
    pub created: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Creates a run that goes on from an event of another one, which stays as it is. It has all that it needs of the other run
/// but the files of evidence, and so is shared only if that one is.
///
/// # Errors
/// [`Error::NoSuchRun`], `event_not_found`, those of reading a run, `run_exists` if the id belongs to another run,
/// [`Error::Refused`] if the definition of today does not have the position, [`Error::Store`] when the fork cannot be written.
pub fn fork(cx: &Context, request: &ForkRequest) -> Result<ForkReport> {
    let project = cx.project()?;
    let asked = ask_for(&project, request);
    let mut warnings = asked.about_all(&project);
    let (caller, now) = (cx.caller(request.session.clone(), None)?, cx.now());
    let parent = select_run(&project, Some(&request.run), request.session.clone())?;
    if request.reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
        return Err(Error::refused(parent.id(), Refusal::ReasonMissing));
    }
    // Where the project names a store that was not accepted, no run begins here without --local.
    let is_local = parent.as_of().is_none() && project.runs().shared().not_accepted().is_none();
    let request = &ForkRequest { local: request.local || is_local, ..request.clone() };
    if let Some(known) = known_fork(&project, request, parent.id())? {
        return Ok(known);
    }
    if let Some(error) = asked.failed.filter(|_| !request.local) {
        return Err(error);
    }
    if let Some(id) = &request.id {
        cx.refuse_id_in_git(project.root(), id)?;
        refuse_same_but_for_case(&project, id)?;
    }
    let (mut view, point) = parent_then(&project, &*parent, request, &mut warnings)?;
    let interviews = view.history.leave_interviews();
    let (token, holder) = (token_of_new_run(cx, &caller, now)?, holder_of_new_run(&project, &caller)?);
    let base = fork_id(request, parent.id(), now)?;
    let mut document = view.history.forked(base.clone(), now, caller.session.clone());
    note_checkout(&project, &mut document);
    let machine = view.machine.take();
    let started = RunForked {
        parent: point,
        parent_digest: digest_of(&view.log),
        reason: request.reason.clone(),
        holder,
        token: token.as_ref().map(|token| token.digest.clone()),
        machine: machine.as_ref().map_or(Value::Null, Machine::to_value),
        document,
        past: view.history.inheritance(parent.id(), requests_of(view.log.events())),
    };
    let first = Event {
        seq: Seq(1),
        id: cx.ids.next(now),
        at: now,
        kind: EventKind::RunForked(Box::new(started)),
        run: None,
        recap: None,
    };
    let mut events = vec![first];
    if request.workflow_now {
        events.extend(adoption(&project, parent.id(), machine.as_ref(), &events[0], cx.ids.next(now))?);
    }
    let (local, is_given) = (request.local, request.id.is_some());
    let creation = Creation { project: &project, local, id: &base, is_given, now };
    let created = creation.create(&mut |id| {
        // The parent may have been pruned since it was read, and its evidence with it. While a run is created, none is.
        open_run_exactly(&project, parent.id().as_str())?;
        let mut events = events.clone();
        if let EventKind::RunForked(forked) = &mut events[0].kind {
            forked.document.id = id;
        }
        new_run(&project, events, Vec::new())
    });
    let (run, state) = match created {
        // Another process made it at the same time, or an earlier request that was not confirmed.
        Err(Error::Store(StoreError::Taken { at })) => {
            warnings.extend(ask_store(&project, RefreshScope::All));
            return known_fork(&project, request, parent.id())?.ok_or(Error::Store(StoreError::Taken { at }));
        }
        created => created?,
    };
    warnings.extend(journal::note(&project, state.document(), now));
    warnings.extend(interviews.iter().map(|document| stays_with(parent.id(), document, run.id())));
    Ok(report_of(&project, &*run, state.document(), token, warnings))
}

/// Notes the checkout of today, in which the fork is made.
fn note_checkout(project: &OpenedProject, fork: &mut RunDocument) {
    let here = context_of(project, &StartRequest::default(), None);
    for key in ["branch", "head"] {
        if let Some(value) = here.get(key) {
            fork.context.insert(key.to_owned(), value.clone());
        }
    }
}

/// A fork of this checkout alone goes on without the store.
fn ask_for(project: &OpenedProject, request: &ForkRequest) -> StoreAnswer {
    let ask = if request.local { StoreAnswer::now } else { StoreAnswer::before_writing };
    ask(project, RefreshScope::All)
}

/// That the interview about `document` is not one of the fork.
fn stays_with(parent: &RunId, document: &str, fork: &RunId) -> String {
    let own = Suggestion::flow("interview start").example_value("OTHER.md").option("run-id", fork);
    format!("the interview about {document} stays with {parent}; `{own}` begins one of the fork")
}

/// The parent as of the event after which the fork goes on, which comes with it.
fn parent_then(
    project: &OpenedProject,
    parent: &dyn StoredRun,
    request: &ForkRequest,
    warnings: &mut Vec<String>,
) -> Result<(View, ForkPoint)> {
    let mut view = for_reading(project, parent)?;
    if let Some(fault) = view.faults.first() {
        return Err(refusal(project, parent, fault.clone()));
    }
    let point = point(parent, &view, request)?;
    let shown = view.history.state().document().clone();
    // Folding the log a second time costs as much as reading it, so only if the fork begins earlier.
    if point.seq != view.log.last_seq() || !is_as_logged(&view) {
        view.go_back(parent.id(), point.seq)?;
    }
    if request.at.is_none() && shown != *view.history.state().document() {
        warnings.push(format!("{} was edited, and no event says so yet: the fork does not have the edit", parent.id()));
    }
    Ok((view, point))
}

/// The event after which the fork goes on.
fn point(parent: &dyn StoredRun, view: &View, request: &ForkRequest) -> Result<ForkPoint> {
    let id = parent.id();
    let last = view.log.last_seq();
    if last == Seq(0) {
        let message = format!("{id} has no event yet to go on from: another program wrote it");
        let next = Suggestion::flow("resume").value(id);
        let claim = Suggestion::flow("resume").value(id).flag("claim").example("session", "ID");
        let help =
            Help::from("record something in it first, as ") + next + " says; or take it over for a session: " + claim;
        return Err(Problem::new(Kind::Refused, "no_events", message).help(help).into());
    }
    Ok(ForkPoint { run_id: id.clone(), seq: request.at.map_or(last, Seq) })
}

/// Whether `run.yaml` is the one that was written with the last event.
fn is_as_logged(view: &View) -> bool {
    let last = view.log.events().next_back().and_then(|event| event.run.as_ref());
    last.is_some_and(|written| written.0 == digest(view.text.as_bytes()))
}

/// The SHA-256 of a log's lines, as `sha256sum` says it of them.
fn digest_of(log: &LogScan) -> String {
    let mut lines = Sha256::new();
    for event in log.events() {
        lines.update(seal(event));
    }
    hex(&lines.finalize())
}

/// What to do where the definition of today cannot be followed.
const AS_IT_WAS: &str = "leave --workflow-now away: then the fork follows the definition that the run follows there";

/// The event by which the fork follows the definition of today; `None` if it does so already.
fn adoption(
    project: &OpenedProject,
    parent: &RunId,
    machine: Option<&Machine>,
    first: &Event,
    id: EventId,
) -> Result<Option<Event>> {
    let state = RunState::begin(first).expect("BUG: a fork begins no run");
    let workflow = &state.document().workflow;
    let newer = match project.catalog().find(workflow.as_str()) {
        Ok(found) => as_project_asks(Some(project), found.machine)?,
        Err(CatalogError::Unknown { .. }) => {
            let message = format!("the definition of `{workflow}`, which {parent} follows, is no longer here");
            let help = Help::from(format!("put it back as .flow/workflows/{workflow}.workflow.yaml; or ")) + AS_IT_WAS;
            return Err(Problem::new(Kind::NotFound, "unknown_workflow", message).help(help).into());
        }
        Err(error) => return Err(error.into()),
    };
    let newer = newer.spelled_as(state.document().state.positions());
    let trail = History::fold([first]).expect("BUG: a fork begins no run");
    let caller = project.cx.caller(state.document().state.session.clone(), None)?;
    let decided = decide(&state, machine, &caller, Command::AdoptWorkflow(Box::new(newer)), &trail);
    // No run has the id of the fork yet.
    match decided.map_err(|refusal| Error::refused(parent, refusal).problem().help(AS_IT_WAS))? {
        Decision::Commit(kind) => Ok(Some(Event { seq: Seq(2), id, at: first.at, kind, run: None, recap: None })),
        _ => Ok(None),
    }
}

/// The id of the fork, or the beginning of it.
fn fork_id(request: &ForkRequest, parent: &RunId, now: Timestamp) -> Result<RunId> {
    if let Some(id) = &request.id {
        return Ok(id.clone());
    }
    // The key of its issue is there as it is: in `PROJ-123`, a slug would be in lower case.
    let name = parent.name();
    let name = if name.len() > SLUG_BYTES { slug(name, SLUG_BYTES) } else { Some(name.to_owned()) };
    let name = name.unwrap_or_else(|| "run".to_owned());
    Ok(RunId::new(format!("{}-{name}", now.compact()))?)
}

/// The fork that an earlier request with the same id made; `None` if no run has this id.
fn known_fork(project: &OpenedProject, request: &ForkRequest, parent: &RunId) -> Result<Option<ForkReport>> {
    let Some((run, first)) = known_run(project, request.id.as_ref(), request.local)? else { return Ok(None) };
    let id = run.id();
    let of = match first {
        Some(Event { kind: EventKind::RunForked(forked), .. }) => Some(forked.parent),
        _ => None,
    };
    let message = match of {
        Some(point) if point.run_id == *parent && request.at.is_none_or(|at| point.seq == Seq(at)) => None,
        Some(other) => Some(format!("run {id} exists, and goes on from event {} of {}", other.seq, other.run_id)),
        None => Some(format!("run {id} exists, and is not a fork of {parent}")),
    };
    if let Some(message) = message {
        return Err(Problem::new(Kind::Refused, "run_exists", message).help("use another id").into());
    }
    let view = for_reading(project, &*run)?;
    let report = report_of(project, &*run, view.history.state().document(), None, Vec::new());
    Ok(Some(ForkReport { created: false, ..report }))
}

fn report_of(
    project: &OpenedProject,
    run: &dyn StoredRun,
    document: &RunDocument,
    token: Option<RunToken>,
    warnings: Vec<String>,
) -> ForkReport {
    let state = &document.state;
    ForkReport {
        run_id: document.id.clone(),
        path: run.address(Document::Run).from(project.root()),
        store: run.as_of().and(project.runs().shared().address()).map(|at| at.to_string()),
        forked_from: state.forked_from.clone().expect("BUG: a fork of nothing"),
        workflow: document.workflow.clone(),
        phase: state.current_phase.clone(),
        completed_activities: state.completed_activities.len(),
        seq: state.last_seq.unwrap_or_default(),
        session: state.session.clone(),
        epoch: state.epoch,
        token: token.map(|token| token.text),
        created: true,
        warnings,
    }
}
