//! `start`: create a run.

use serde_json::{Map, Value, json};

use crate::codec::{RunText, digest};
use crate::engine::RunState;
use crate::machine::Machine;
use crate::model::{
    Event, EventKind, RunDocument, RunId, RunStarted, Seq, SessionId, StateName, TextDigest, Timestamp, slug,
};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::journal;
use crate::report::StartReport;
use crate::store::{NewRun, Project, RunDir};

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// The workflow's name.
    pub workflow: String,
    /// The issue that it is about.
    pub issue: Option<u64>,
    /// The pull request that it is about.
    pub pr: Option<u64>,
    /// The goal that it serves.
    pub goal: Option<String>,
    /// The branch; otherwise git's.
    pub branch: Option<String>,
    /// The repository; otherwise git's.
    pub repo: Option<String>,
    /// The decision journal; otherwise the issue's.
    pub journal: Option<String>,
    /// The end of the run id; otherwise made from issue, pull request or goal.
    pub slug: Option<String>,
    /// Where to begin; otherwise the workflow's initial phase.
    pub phase: Option<StateName>,
    /// Who starts it and holds it.
    pub session: Option<SessionId>,
    /// The whole run id.
    pub id: Option<RunId>,
}

/// Longest slug in a run id, in bytes: leaves room for the time and a suffix.
const SLUG_BYTES: usize = 80;

impl Flow {
    /// Creates a run, atomically, and notes it in the decision journal.
    ///
    /// # Errors
    /// [`Error::Catalog`] for a workflow that is unknown or invalid, [`Error::Usage`] for arguments that do not fit,
    /// [`Error::Store`] when the run cannot be written.
    pub fn start(&self, request: &StartRequest) -> Result<StartReport> {
        let now = self.clock.now();
        let existing = self.project();
        let catalog = self.catalog(existing.as_ref().ok());
        if let Err(error @ Error::Store(_)) = existing {
            return Err(error);
        }
        let machine = catalog.find(&request.workflow)?.machine;
        let phase = initial_phase(&machine, request.phase.as_ref())?;
        let caller = self.caller(request.session.clone(), None)?;
        let base = run_id_base(request, now)?;
        if let Some(why) = request.journal.as_ref().and_then(|journal| journal::refuse_path(journal.as_ref())) {
            return Err(Error::Usage(format!("--journal: {why}")));
        }
        let (project, _) = self.project_or_init()?;
        if let Some(id) = &request.id {
            refuse_same_but_for_case(&project, id)?;
        }
        let holder = match caller.session {
            Some(_) => self.holder()?.map(|holder| holder.to_string()),
            None => None,
        };
        let started = RunStarted {
            run_id: RunId::new(base.as_str())?,
            workflow: machine.id().clone(),
            workflow_version: machine.version(),
            phase: Some(phase.clone()),
            goal: request.goal.clone(),
            context: self.context(&project, request),
            limits: default_limits(),
            session: caller.session,
            holder,
            machine: machine.to_value(),
        };
        let (run, document) = self.create(&project, &started, request.id.is_some(), now)?;
        let warning = journal::note(&project, &document, document.state.status, now);
        Ok(StartReport {
            run_id: run.id().clone(),
            path: Self::relative(&project, run.path()),
            workflow: document.workflow,
            phase,
            seq: Seq(1),
            session: started.session,
            epoch: document.state.epoch,
            warnings: warning.into_iter().collect(),
        })
    }

    /// Creates the run under the first free id: the given one alone, or `…-2`, `…-3` for a second start in one second.
    fn create(
        &self,
        project: &Project,
        started: &RunStarted,
        only_this_id: bool,
        now: Timestamp,
    ) -> Result<(RunDir, RunDocument)> {
        let event_id = self.ids.next(now);
        let mut document = None;
        let outside = self.outside(project);
        let request = self.lock_request(now, self.lock_wait()?);
        let run = project.create_run(&request, outside.as_deref(), &mut |attempt| {
            let run_id = match attempt {
                1 => started.run_id.clone(),
                _ if only_this_id => return None,
                n => RunId::new(format!("{}-{n}", started.run_id)).ok()?,
            };
            let kind = EventKind::RunStarted(Box::new(RunStarted { run_id: run_id.clone(), ..started.clone() }));
            let mut event = Event { seq: Seq(1), id: event_id.clone(), at: now, kind, run: None };
            let state = RunState::begin(&event)?;
            let text = RunText::create(state.document());
            event.run = Some(TextDigest(digest(text.text().as_bytes())));
            document = Some(state.document().clone());
            Some(NewRun { id: run_id, text: text.text().to_owned(), events: vec![event], activities: Vec::new() })
        })?;
        Ok((run, document.expect("BUG: a run was created without a document")))
    }

    pub(crate) fn context(&self, project: &Project, request: &StartRequest) -> Map<String, Value> {
        let known = request.repo.is_some() && request.branch.is_some();
        let facts = if known { None } else { Some(self.git.facts(project.root())) };
        let git = |pick: fn(crate::host::GitFacts) -> Option<String>| facts.clone().and_then(pick);
        let repo = request.repo.clone().or_else(|| git(|facts| facts.repo));
        let branch = request.branch.clone().or_else(|| git(|facts| facts.branch));
        let mut context = Map::new();
        context.insert("repo".into(), repo.unwrap_or_default().into());
        context.insert("branch".into(), branch.unwrap_or_default().into());
        context.insert("issue".into(), request.issue.map_or(Value::Null, Value::from));
        context.insert("pr".into(), request.pr.map_or(Value::Null, Value::from));
        let journal = request.journal.clone();
        let journal = journal.or_else(|| request.issue.map(|issue| format!(".decisions/issue-{issue}.md")));
        if let Some(journal) = journal {
            context.insert("journal".into(), journal.into());
        }
        if let Some(head) = git(|facts| facts.head) {
            context.insert("head".into(), head.into());
        }
        context
    }
}

fn initial_phase(machine: &Machine, asked: Option<&StateName>) -> Result<StateName> {
    let Some(phase) = asked else {
        return Ok(machine.initial()[0].clone());
    };
    if machine.contains(phase) {
        return Ok(phase.clone());
    }
    let known = machine.states().iter().map(|state| state.name.as_str()).collect::<Vec<_>>().join(", ");
    let meant = machine.suggest(phase.as_str()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(Error::Usage(format!("workflow {} has no phase `{phase}`; {meant}It has {known}", machine.id())))
}

/// The seed's template: ten attempts, no time limit.
pub(crate) fn default_limits() -> Map<String, Value> {
    let limits = json!({ "max_iterations": 10, "max_runtime_minutes": null });
    limits.as_object().cloned().unwrap_or_default()
}

fn run_id_base(request: &StartRequest, now: Timestamp) -> Result<String> {
    if let Some(id) = &request.id {
        return Ok(id.to_string());
    }
    let end = match (&request.slug, request.issue, request.pr, &request.goal) {
        (Some(given), ..) => slug(given, SLUG_BYTES)
            .ok_or_else(|| Error::Usage(format!("--slug {given:?} has no letter or digit that a run id may hold")))?,
        (None, Some(issue), ..) => format!("issue-{issue}"),
        (None, None, Some(pr), _) => {
            format!("{}-{pr}", if request.workflow.contains("pr") { &request.workflow } else { "pr" })
        }
        (None, None, None, Some(goal)) => slug(goal, SLUG_BYTES).unwrap_or_else(|| "goal".to_owned()),
        (None, None, None, None) => slug(&request.workflow, SLUG_BYTES).unwrap_or_else(|| "run".to_owned()),
    };
    Ok(format!("{}-{end}", now.compact()))
}

/// On a file system that ignores case the two would share a directory.
pub(crate) fn refuse_same_but_for_case(project: &Project, id: &RunId) -> Result<()> {
    let twin =
        project.run_names()?.into_iter().find(|name| name != id.as_str() && name.eq_ignore_ascii_case(id.as_str()));
    match twin {
        Some(twin) => Err(Error::TwinRun { id: id.clone(), twin }),
        None => Ok(()),
    }
}
