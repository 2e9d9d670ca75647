//! The pages that are not about runs: sessions, workflows and interviews, of all projects and of one; and the same for
//! programs.

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::interviews::{self, OpenInterview};
use crate::modes;
use crate::picture::diagram;
use crate::picture::page::{
    ProjectInterviews, ProjectSessions, ProjectWorkflows, UsedWorkflow, WorkflowPage, interview_page, interviews_page,
    sessions_page, workflow_page, workflows_page,
};
use crate::runs::{self, Card, CardFilter, PhaseUses, ShortNames, WorkflowUse, phase_uses};
use crate::web::server::answer::{WebResult, failed, missing};
use crate::web::server::guard::Visitor;
use crate::web::server::hide::Hide;
use crate::web::server::live::{Live, ServedProject};
use crate::web::server::respond::{
    AsksNothing, BelowProject, RawQuery, ServerState, asked, page_of, project_of, report_from_reader,
};

/// How many runs the page of a workflow shows.
const RUNS: usize = 100;
/// How many of its latest runs tell how long its phases take.
const LATEST: usize = 20;

/// What `read` finds in each project, or a sentence that says why not.
fn of_each<T>(live: &Live, read: impl Fn(&ServedProject) -> WebResult<T>) -> Vec<(String, WebResult<T>)> {
    let mut found = Vec::with_capacity(live.projects.len());
    for project in &live.projects {
        found.push((project.name.clone(), read(project).map_err(|problem| live.hide.in_problem(problem))));
    }
    found
}

/// The same for programs. The query asks for nothing else.
fn listed<T: Serialize>(query: RawQuery, found: impl FnOnce() -> Vec<(String, WebResult<T>)>) -> WebResult<Value> {
    let AsksNothing {} = asked(query)?;
    let found = found();
    let mut projects = Vec::with_capacity(found.len());
    for (project, found) in found {
        projects.push(match found {
            Ok(found) => json!(found),
            Err(error) => json!({ "project": project, "error": error }),
        });
    }
    Ok(json!({ "projects": projects }))
}

fn sessions_in(project: &ServedProject, hide: &Hide) -> WebResult<ProjectSessions> {
    let open = project.keeper().feed.open_cards();
    let mut sessions = modes::sessions_of(&project.cx, &open).map_err(failed)?;
    hide.in_texts(&mut sessions.warnings);
    for mode in sessions.sessions.iter_mut().flat_map(|session| &mut session.modes) {
        hide.in_texts(&mut mode.notes);
    }
    // What is wrong with a policy stands beside the sessions.
    let policy = modes::table(&project.cx).ok();
    Ok(ProjectSessions { project: project.name.clone(), sessions, policy })
}

pub(super) async fn sessions(State(live): ServerState, query: RawQuery) -> Response {
    report_from_reader(live, |live| listed(query, || of_each(live, |project| sessions_in(project, &live.hide)))).await
}

pub(super) async fn sessions_shown(State(live): ServerState, Extension(visitor): Extension<Visitor>) -> Response {
    page_of(live, visitor, "This list", |live| {
        Ok(sessions_page(&of_each(live, |project| sessions_in(project, &live.hide)), live.clock.now()))
    })
    .await
}

fn workflows_in(project: &ServedProject, hide: &Hide) -> WebResult<ProjectWorkflows> {
    let uses = project.keeper().feed.uses();
    let known = runs::workflow_list(&project.cx).map_err(failed)?;
    let mut workflows = Vec::with_capacity(known.workflows.len());
    for mut workflow in known.workflows {
        workflow.origin = hide.in_text(&workflow.origin);
        workflow.error = workflow.error.as_deref().map(|error| hide.in_text(error));
        // One that has no run is in the list as well.
        let used = uses.iter().find(|(known, _)| known.as_str() == workflow.id);
        workflows.push(UsedWorkflow { runs: used.map(|(_, runs)| runs.clone()).unwrap_or_default(), workflow });
    }
    Ok(ProjectWorkflows { project: project.name.clone(), workflows })
}

pub(super) async fn workflows(State(live): ServerState, query: RawQuery) -> Response {
    report_from_reader(live, |live| listed(query, || of_each(live, |project| workflows_in(project, &live.hide)))).await
}

pub(super) async fn workflows_shown(State(live): ServerState, Extension(visitor): Extension<Visitor>) -> Response {
    page_of(live, visitor, "This list", |live| {
        Ok(workflows_page(&of_each(live, |project| workflows_in(project, &live.hide))))
    })
    .await
}

/// The runs of a workflow, what they show of its phases, and the open ones among them with their names.
fn runs_of(project: &ServedProject, workflow: &str) -> (WorkflowUse, PhaseUses, Vec<Card>, ShortNames) {
    let mut keeper = project.keeper();
    let uses = keeper.feed.uses();
    let used = uses.into_iter().find(|(known, _)| known.as_str() == workflow);
    let filter = CardFilter { workflow: Some(workflow.to_owned()), limit: RUNS, ..CardFilter::default() };
    let found = keeper.feed.cards(&filter);
    let names = keeper.feed.short_names(&found);
    let mut open: Vec<_> = found.groups.into_iter().flat_map(|group| group.cards).collect();
    open.truncate(RUNS);
    let phases = phase_uses(&mut keeper.feed, workflow, LATEST);
    (used.map(|(_, runs)| runs).unwrap_or_default(), phases, open, names)
}

pub(super) async fn workflow(
    State(live): ServerState,
    Path((project, workflow)): BelowProject,
    query: RawQuery,
) -> Response {
    report_from_reader(live, move |live| {
        let AsksNothing {} = asked(query)?;
        let project = project_of(live, &project)?;
        let (mut report, machine) = runs::workflow_named(&project.cx, &workflow).map_err(failed)?;
        report.origin = live.hide.in_text(&report.origin);
        let (used, phases, ..) = runs_of(project, &workflow);
        let here: Vec<_> = used.phases.keys().cloned().collect();
        let drawn = machine.map(|machine| diagram(&machine, &here));
        Ok(json!({ "workflow": report, "runs": used, "phases": phases, "diagram": drawn }))
    })
    .await
}

pub(super) async fn workflow_shown(
    State(live): ServerState,
    Extension(visitor): Extension<Visitor>,
    Path((project, workflow)): BelowProject,
) -> Response {
    page_of(live, visitor, "This workflow", move |live| {
        let served = project_of(live, &project)?;
        let (mut report, machine) = runs::workflow_named(&served.cx, &workflow).map_err(failed)?;
        report.origin = live.hide.in_text(&report.origin);
        let (used, phases, cards, names) = runs_of(served, &workflow);
        let view = WorkflowPage {
            project: &project,
            workflow: &report,
            name: &workflow,
            machine: machine.as_ref(),
            runs: &used,
            phases: &phases,
            cards: &cards,
            names: &names,
            now: live.clock.now(),
        };
        Ok(workflow_page(&view))
    })
    .await
}

fn interviews_in(project: &ServedProject, hide: &Hide) -> WebResult<ProjectInterviews> {
    let mut interviews = interviews::list(&project.cx).map_err(failed)?;
    for run in &mut interviews.unreadable {
        run.reason = hide.in_text(&run.reason);
    }
    for known in &mut interviews.documents {
        known.error = known.error.as_deref().map(|error| hide.in_text(error));
    }
    Ok(ProjectInterviews { project: project.name.clone(), interviews })
}

pub(super) async fn interviews(State(live): ServerState, query: RawQuery) -> Response {
    report_from_reader(live, |live| listed(query, || of_each(live, |project| interviews_in(project, &live.hide)))).await
}

pub(super) async fn interviews_shown(State(live): ServerState, Extension(visitor): Extension<Visitor>) -> Response {
    page_of(live, visitor, "This list", |live| {
        Ok(interviews_page(&of_each(live, |project| interviews_in(project, &live.hide)), live.clock.now()))
    })
    .await
}

/// Which interview.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InterviewQuery {
    document: String,
}

/// An interview that an open run waits for. No address names another document.
pub(super) fn awaited_interview(project: &ServedProject, hide: &Hide, document: &str) -> WebResult<OpenInterview> {
    let open = interviews_in(project, hide)?.interviews.interviews;
    let awaited = open.into_iter().find(|one| one.document.to_string_lossy() == document);
    awaited.ok_or_else(|| missing("no open run waits for an interview about this document"))
}

pub(super) async fn interview_shown(
    State(live): ServerState,
    Extension(visitor): Extension<Visitor>,
    Path(project): Path<String>,
    query: RawQuery,
) -> Response {
    page_of(live, visitor, "This interview", move |live| {
        let InterviewQuery { document } = asked(query)?;
        let served = project_of(live, &project)?;
        let one = awaited_interview(served, &live.hide, &document)?;
        let status = interviews::status(&served.cx, &one.document).map_err(failed)?;
        Ok(interview_page(&project, &one, &status, live.actions))
    })
    .await
}
