//! `start`: creates a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::{Catalog, FoundWorkflow};
use crate::engine::RunState;
use crate::host::GitFacts;
use crate::machine::Machine;
use crate::model::{
    Event, EventKind, Issue, RunDocument, RunId, RunStarted, Seq, SessionId, StateName, Timestamp, WorkflowId,
    did_you_mean, issue_file_part, slug,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::new_project::MadeProject;
use crate::runs::open::name::IssueKeys;
use crate::runs::open::same_work::{SameWork, checked_work, refuse_second_run, refuse_work_in_git};
use crate::runs::open::shared::ask_store;
use crate::runs::open::view::for_reading;
use crate::runs::user_state::git_state;
use crate::runs::write::journal;
use crate::runs::write::new_run::{
    Creation, ExistingRun, default_limits, holder_of_new_run, known_run, new_run, refuse_same_but_for_case,
};
use crate::runs::write::required_here::{as_project_asks, unnamed_commands};
use crate::runs::write::token::token_of_new_run;
use crate::store::{Document, RefreshScope, StoreError, StoredRun};

/// The run to create.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// The workflow's name.
    pub workflow: String,
    /// The issue that the run is about: a number, the key of another tracker, or an address.
    pub issue: Option<Issue>,
    /// The pull request that the run is about.
    pub pr: Option<u64>,
    /// The goal that the run serves.
    pub goal: Option<String>,
    /// The branch; otherwise git's.
    pub branch: Option<String>,
    /// The repository; otherwise git's.
    pub repo: Option<String>,
    /// The decision journal; otherwise the issue's.
    pub journal: Option<String>,
    /// The end of the run id; otherwise made from issue, pull request or goal.
    pub slug: Option<String>,
    /// The first phase; otherwise the workflow's initial phase.
    pub phase: Option<StateName>,
    /// The session that starts the run and holds it.
    pub session: Option<SessionId>,
    /// The whole run id. Where machines share runs, a repeated request with the same id gives the same run: the answer to the
    /// first one may have been lost.
    #[serde(rename = "run_id")]
    pub id: Option<RunId>,
    /// Even if one is open.
    #[serde(default)]
    pub another: bool,
    /// In this checkout alone, if the project shares its runs.
    #[serde(default)]
    pub local: bool,
}

/// The longest slug in a run id, in bytes; leaves room for the time and a suffix.
pub(super) const SLUG_BYTES: usize = 80;

/// The report of `start`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StartReport {
    /// Its id.
    pub run_id: RunId,
    /// Its directory, relative to the project.
    pub path: String,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its current phase.
    pub phase: StateName,
    /// The place of that phase in the workflow, from 1.
    pub phase_number: usize,
    /// How many phases the workflow has.
    pub phases: usize,
    /// The workflow's description of the phase.
    pub description: Option<String>,
    /// The position of its first event.
    pub seq: Seq,
    /// The session that holds it.
    pub session: Option<SessionId>,
    /// The value for `FLOW_RUN_TOKEN` in the environment of sub-agents with sessions of their own; none if no session
    /// holds the run, or if it was there already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The epoch under which the session holds it.
    pub epoch: u64,
    /// Whether it was begun now; `false` if an earlier request with the same id began it.
    pub created: bool,
    /// The `.flow` that this start made; absent if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeProject>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Creates a run atomically, and notes it in the decision journal.
///
/// # Errors
/// [`Error::Catalog`] for a workflow that is unknown or invalid, [`Error::Usage`] for arguments that do not fit,
/// [`Error::Store`] when the run cannot be written.
pub fn start(cx: &Context, request: &StartRequest) -> Result<StartReport> {
    let now = cx.now();
    let request = &StartRequest { issue: checked_work(request.issue.as_ref(), request.pr)?, ..request.clone() };
    let existing = match cx.project() {
        Err(error @ Error::Store(_)) => return Err(error),
        existing => existing.ok(),
    };
    let catalog = cx.catalog(existing.as_ref());
    let known = match &existing {
        Some(project) => known_run(project, request.id.as_ref(), request.local)?,
        None => None,
    };
    let root = cx.root_of(existing.as_ref())?;
    let found = cx.find_workflow(&root, &catalog, &request.workflow)?;
    let mut warnings = warnings_of(&catalog, &found);
    let machine = as_project_asks(existing.as_ref(), found.machine)?;
    let phase = initial_phase(&machine, request.phase.as_ref())?;
    let caller = cx.caller(request.session.clone(), None)?;
    if let Some(id) = &request.id {
        cx.refuse_id_in_git(&root, id)?;
        if let Some(project) = &existing {
            refuse_same_but_for_case(project, id)?;
        }
    }
    let key = request.issue.as_ref().map(|issue| IssueKeys::at(cx, root.clone()).key(issue));
    let base = run_id_base(request, key.as_deref(), now)?;
    if let Some(journal) = &request.journal
        && let Some(why) = journal::refuse_path(journal.as_ref())
    {
        return Err(Error::Usage(format!("--journal: {why}")));
    }
    if !request.another && known.is_none() {
        let same = SameWork::new(request.issue.clone(), request.pr, machine.id());
        if let Some(project) = &existing {
            refuse_second_run(project, request.id.as_ref(), &same)?;
        }
        refuse_work_in_git(cx, &root, &same)?;
    }
    // Only now: a refused start makes nothing in `.flow`.
    let (project, made) = cx.project_or_made()?;
    let holder = holder_of_new_run(&project, &caller)?;
    let token = token_of_new_run(cx, &caller, now)?;
    let started = RunStarted {
        run_id: RunId::new(base.as_str())?,
        workflow: machine.id().clone(),
        workflow_version: machine.version(),
        phase: Some(phase.clone()),
        goal: request.goal.clone().filter(|goal| !goal.trim().is_empty()),
        context: context_of(&project, request, key.as_deref()),
        limits: default_limits(),
        session: caller.session,
        holder,
        token: token.as_ref().map(|token| token.digest.clone()),
        machine: machine.to_value(),
    };
    if let Some(known) = known_start(&project, known, &started, request)? {
        return Ok(known);
    }
    let (run, state) = match create(&project, &started, request, now) {
        // Another process began it at the same time, or an earlier request that was not confirmed.
        Err(Error::Store(StoreError::Taken { at })) => {
            ask_store(&project, RefreshScope::All);
            let known = known_run(&project, request.id.as_ref(), request.local)?;
            let known = known_start(&project, known, &started, request)?;
            return known.ok_or(Error::Store(StoreError::Taken { at }));
        }
        created => created?,
    };
    let document = state.into_document();
    // After the run, so that others need not wait for the journal.
    warnings.extend(unnamed_commands(&project, &machine));
    warnings.extend(journal::note(&project, &document, now));
    let report = report_of(&project, &*run, document, Some(&machine), phase);
    Ok(StartReport { seq: Seq(1), token: token.map(|token| token.text), created: true, made, warnings, ..report })
}

/// Settings of the project that have no effect, as far as they may concern a run of this workflow.
fn warnings_of(catalog: &Catalog, found: &FoundWorkflow) -> Vec<String> {
    let id = found.machine.id().as_str();
    let mut warnings = catalog.warnings();
    warnings.extend(found.unread_gates().iter().map(|gate| gate.in_workflow(id)));
    let unread = catalog.unread_files().into_iter().filter(|file| file.id == id);
    warnings.extend(unread.map(|file| file.message));
    warnings.extend(found.unread_diagram.clone());
    warnings
}

/// What is said of a run, begun now or earlier, which is in `phase`, or is over.
fn report_of(
    project: &OpenedProject,
    run: &dyn StoredRun,
    document: RunDocument,
    machine: Option<&Machine>,
    phase: StateName,
) -> StartReport {
    let state = machine.and_then(|machine| machine.state(&phase));
    StartReport {
        run_id: run.id().clone(),
        path: run.address(Document::Run).from(project.root()),
        workflow: document.workflow,
        phase_number: machine.and_then(|machine| machine.place_of(&phase)).unwrap_or(1),
        phases: machine.map_or(1, |machine| machine.states().len()),
        description: state.and_then(|state| state.description.clone()),
        phase,
        seq: document.state.last_seq.unwrap_or_default(),
        session: document.state.session,
        token: None,
        epoch: document.state.epoch,
        created: false,
        made: None,
        warnings: Vec::new(),
    }
}

/// The shared run that an earlier request with the same id began, as it is by now; `None` if `known` is none or began otherwise.
fn known_start(
    project: &OpenedProject,
    known: Option<ExistingRun>,
    started: &RunStarted,
    asked: &StartRequest,
) -> Result<Option<StartReport>> {
    let Some((run, Some(Event { kind: EventKind::RunStarted(first), .. }))) = known else { return Ok(None) };
    // In one checkout no answer is lost, and an id is used once.
    if !project.runs().shared().has(run.id()) || !is_same_start(&first, started, asked) {
        return Ok(None);
    }
    let view = for_reading(project, &*run)?;
    let document = view.history.state().document().clone();
    let phase = document.state.current_phase.clone().or(first.phase).or_else(|| started.phase.clone());
    let phase = phase.expect("BUG: a start without a phase");
    Ok(Some(report_of(project, &*run, document, view.machine.as_ref(), phase)))
}

/// Whether a run began by the same request that would begin `started` now. What follows from the checkout and from the
/// definition may be another thing by now.
fn is_same_start(first: &RunStarted, started: &RunStarted, asked: &StartRequest) -> bool {
    let mut keys = vec!["issue", "pr"];
    for (key, is_asked) in
        [("repo", asked.repo.is_some()), ("branch", asked.branch.is_some()), ("journal", asked.journal.is_some())]
    {
        if is_asked {
            keys.push(key);
        }
    }
    first.workflow == started.workflow
        && first.goal == started.goal
        && first.session == started.session
        && (asked.phase.is_none() || first.phase == started.phase)
        && keys.into_iter().all(|key| first.context.get(key) == started.context.get(key))
}

/// Creates the run, unless one that is open is about the same work.
fn create(
    project: &OpenedProject,
    started: &RunStarted,
    asked: &StartRequest,
    now: Timestamp,
) -> Result<(Box<dyn StoredRun>, RunState)> {
    let event_id = project.cx.ids.next(now);
    let same = SameWork::new(asked.issue.clone(), asked.pr, &started.workflow);
    let work =
        if asked.another { Vec::new() } else { same.keys(&IssueKeys::at(&project.cx, project.root().to_owned())) };
    let is_given = asked.id.is_some();
    let creation = Creation { project, local: asked.local, id: &started.run_id, is_given, now };
    creation.create(&mut |run_id| {
        if run_id == started.run_id && !asked.another {
            refuse_second_run(project, asked.id.as_ref(), &same)?;
        }
        let kind = EventKind::RunStarted(Box::new(RunStarted { run_id, ..started.clone() }));
        let event = Event { seq: Seq(1), id: event_id.clone(), at: now, kind, run: None, recap: None };
        new_run(project, vec![event], work.clone())
    })
}

/// The context of a new run; `key` is that of its issue.
pub(crate) fn context_of(project: &OpenedProject, request: &StartRequest, key: Option<&str>) -> Map<String, Value> {
    let known = request.repo.is_some() && request.branch.is_some();
    // To ask git takes longer than all the rest of a start.
    let facts = if known {
        GitFacts::default()
    } else {
        project.cx.git.facts(project.root(), || git_state(&project.cx, project.root()))
    };
    let repo = request.repo.clone().or(facts.repo);
    let branch = request.branch.clone().or(facts.branch);
    let mut context = Map::new();
    context.insert("repo".into(), repo.unwrap_or_default().into());
    context.insert("branch".into(), branch.unwrap_or_default().into());
    context.insert("issue".into(), request.issue.as_ref().map_or(Value::Null, Issue::to_value));
    context.insert("pr".into(), request.pr.map_or(Value::Null, Value::from));
    let journal = match (&request.journal, key) {
        (Some(journal), _) => Some(journal.clone()),
        (None, Some(key)) if journal::is_kept(project) => Some(journal::of_issue(key)),
        _ => None,
    };
    if let Some(journal) = journal {
        context.insert("journal".into(), journal.into());
    }
    if let Some(head) = facts.head {
        context.insert("head".into(), head.into());
    }
    context
}

fn initial_phase(machine: &Machine, asked: Option<&StateName>) -> Result<StateName> {
    let Some(phase) = asked else {
        return Ok(machine.initial()[0].clone());
    };
    if machine.contains(phase) {
        return Ok(phase.clone());
    }
    let known = machine.states().iter().map(|state| state.name.as_str()).collect::<Vec<_>>().join(", ");
    let meant = did_you_mean(machine.suggest(phase.as_str()));
    let it = if meant.is_empty() { "it" } else { "It" };
    Err(Error::Usage(format!("workflow {} has no phase `{phase}`; {meant}{it} has {known}", machine.id())))
}

fn run_id_base(request: &StartRequest, issue: Option<&str>, now: Timestamp) -> Result<String> {
    if let Some(id) = &request.id {
        return Ok(id.to_string());
    }
    let end = if let Some(given) = &request.slug {
        slug(given, SLUG_BYTES)
            .ok_or_else(|| Error::Usage(format!("--slug {given:?} has no letter or digit that a run id may hold")))?
    } else if let Some(key) = issue {
        format!("issue-{}", issue_file_part(key))
    } else if let Some(pr) = request.pr {
        // The name of a workflow about pull requests says so already.
        format!("{}-{pr}", if request.workflow.contains("pr") { &request.workflow } else { "pr" })
    } else if let Some(goal) = request.goal.as_ref().filter(|goal| !goal.trim().is_empty()) {
        slug(goal, SLUG_BYTES).unwrap_or_else(|| "goal".to_owned())
    } else {
        slug(&request.workflow, SLUG_BYTES).unwrap_or_else(|| "run".to_owned())
    };
    Ok(format!("{}-{end}", now.compact()))
}
