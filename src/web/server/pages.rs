//! What is at which address. Names and ids in addresses are looked up; no path of a file system is made of them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::{Kind, RunId, Seq};
use crate::picture::diagram;
use crate::picture::page::{self, LOG_PAGE, Page, Place, RunPage, document, message_page, run_page, runs_page};
use crate::runs::{CardFilter, CardGroup, EvidenceReport, FeedRun};
use crate::web::server::answer::{Found, failed, html, json as as_json, missing, of_moment, reported, text, with_type};
use crate::web::server::gate::Caller;
use crate::web::server::live::{Live, Served, acting, apart, cards};
use crate::web::server::{actions, files, places, socket};

/// How many records of activities a page shows.
const ACTIVITIES: usize = 100;
/// The most events in one answer.
const EVENTS: usize = 500;

const SCRIPT: &str = include_str!("../assets/flow.js");
const ICON: &str = include_str!("../assets/flow.svg");

pub(super) type Answer = Response<Body>;

/// All addresses. A page without the token is an empty shell; everything else that says something of a project is
/// refused without it.
pub(super) fn router(live: Arc<Live>) -> Router {
    let known = Router::new()
        .route("/api/v1/runs", get(list))
        .route("/api/v1/{project}/runs/{run}", get(run))
        .route("/api/v1/{project}/runs/{run}/activities", get(activities))
        .route("/api/v1/{project}/runs/{run}/log", get(log))
        .route("/api/v1/{project}/runs/{run}/evidence", get(evidence))
        .route("/api/v1/{project}/runs/{run}/diagram", get(drawn))
        .route("/api/v1/{project}/runs/{run}/file", get(files::raw))
        .route("/api/v1/sessions", get(places::sessions))
        .route("/api/v1/workflows", get(places::workflows))
        .route("/api/v1/{project}/workflows/{workflow}", get(places::workflow))
        .route("/api/v1/interviews", get(places::interviews))
        .route("/api/v1/{project}/runs/{run}/cancel", post(actions::cancel))
        .route("/api/v1/{project}/runs/{run}/unblock", post(actions::unblock))
        .route("/api/v1/{project}/runs/{run}/approve", post(actions::approve))
        .route("/api/v1/{project}/runs/{run}/reject", post(actions::reject))
        .route("/api/v1/{project}/runs/{run}/answer", post(actions::answer))
        .route("/api/v1/{project}/interview/answer", post(actions::answer_interview))
        .route("/ws", get(socket::open))
        .route_layer(middleware::from_fn(only_known));
    Router::new()
        .route("/", get(runs))
        .route("/{project}/runs/{run}", get(run_shown))
        .route("/{project}/runs/{run}/file", get(files::shown))
        .route("/sessions", get(places::sessions_shown))
        .route("/workflows", get(places::workflows_shown))
        .route("/{project}/workflows/{workflow}", get(places::workflow_shown))
        .route("/interviews", get(places::interviews_shown))
        .route("/{project}/interview", get(places::interview_shown))
        .route("/flow.css", get(async || with_type(StatusCode::OK, "text/css; charset=utf-8", page::STYLE)))
        .route("/flow.js", get(async || with_type(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT)))
        .route("/flow.svg", get(async || with_type(StatusCode::OK, "image/svg+xml", ICON)))
        .merge(known)
        .fallback(nothing)
        .with_state(live)
}

async fn only_known(
    Extension(caller): Extension<Caller>,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Answer {
    if caller.is_known { next.run(request).await } else { text(StatusCode::UNAUTHORIZED, "this needs the token") }
}

async fn nothing(Extension(caller): Extension<Caller>) -> Answer {
    shown(caller, StatusCode::NOT_FOUND, || message_page("Not found", "There is nothing at this address."))
}

/// A page, or the shell for those who have not shown the token.
fn shown(caller: Caller, status: StatusCode, make: impl FnOnce() -> Page) -> Answer {
    if caller.is_known { html(status, document(&make(), Place::Served)) } else { html(StatusCode::OK, page::shell()) }
}

/// The page that `make` makes, or one that says why `what` cannot be shown; the shell for those who have not shown the token.
pub(super) async fn page_of(
    live: Arc<Live>,
    caller: Caller,
    what: &'static str,
    make: impl FnOnce(&Live) -> Found<Page> + Send + 'static,
) -> Answer {
    if !caller.is_known {
        return html(StatusCode::OK, page::shell());
    }
    read_apart(live, move |live| {
        let since = live.since();
        let (status, page) = match make(live) {
            Ok(page) => (StatusCode::OK, page),
            Err(problem) => {
                let problem = live.hide.in_problem(problem);
                // That something cannot be read is what there is to say of it.
                let status = if problem.kind == Kind::NotFound { StatusCode::NOT_FOUND } else { StatusCode::OK };
                (status, message_page(&format!("{what} cannot be shown"), &problem.one_line()))
            }
        };
        of_moment(html(status, document(&page, Place::Served)), &since)
    })
    .await
}

/// Answers with what `read` makes, which may wait for the disk and for other readers.
pub(super) async fn read_apart(live: Arc<Live>, read: impl FnOnce(&Live) -> Answer + Send + 'static) -> Answer {
    let failed = |_| text(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made");
    apart(&live, read).await.unwrap_or_else(failed)
}

/// As [`read_apart`], for programs: the report that `read` makes, or its error.
pub(super) async fn report_apart<T: Serialize>(
    live: Arc<Live>,
    read: impl FnOnce(&Live) -> Found<T> + Send + 'static,
) -> Answer {
    read_apart(live, move |live| reported(read(live).map_err(|problem| live.hide.in_problem(problem)))).await
}

/// As [`report_apart`], for an action.
pub(super) async fn report_act<T: Serialize>(
    live: Arc<Live>,
    act: impl FnOnce(&Live) -> Found<T> + Send + 'static,
) -> Answer {
    let failed = |_| text(StatusCode::INTERNAL_SERVER_ERROR, "the action came to no answer; look at the run again");
    let told = move |live: &Live| {
        let done = act(live).map_err(|problem| live.hide.in_problem(problem));
        reported(done.map(|report| live.hide.in_warnings(json!(report))))
    };
    acting(&live, told).await.unwrap_or_else(failed)
}

/// The query of the page of all runs. An empty field of a form is none.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Search {
    group: Option<CardGroup>,
    search: Option<String>,
    workflow: Option<String>,
    skip: usize,
    limit: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { group: None, search: None, workflow: None, skip: 0, limit: CardFilter::default().limit }
    }
}

impl From<Search> for CardFilter {
    fn from(asked: Search) -> Self {
        let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let limit = asked.limit.min(EVENTS);
        Self {
            group: asked.group,
            search: given(asked.search),
            workflow: given(asked.workflow),
            skip: asked.skip,
            limit,
        }
    }
}

async fn runs(
    State(live): State<Arc<Live>>,
    Extension(caller): Extension<Caller>,
    Query(search): Query<Search>,
) -> Answer {
    let filter = CardFilter::from(search);
    page_of(live, caller, "This list", move |live| {
        let now = live.now();
        Ok(runs_page(&cards(live, &filter), &filter, now))
    })
    .await
}

async fn list(State(live): State<Arc<Live>>, Query(search): Query<Search>) -> Answer {
    let filter = CardFilter::from(search);
    read_apart(live, move |live| as_json(StatusCode::OK, &json!({ "projects": cards(live, &filter) }))).await
}

/// Which state of a run, and which part of its log.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct When {
    /// After this event.
    at: Option<u64>,
    /// The last event of the log to show.
    log: Option<u64>,
}

async fn run_shown(
    State(live): State<Arc<Live>>,
    Extension(caller): Extension<Caller>,
    Path((project, run)): Path<(String, String)>,
    Query(when): Query<When>,
) -> Answer {
    page_of(live, caller, "This run", move |live| {
        with_run(live, &project, &run, |run, address| {
            let at = when.at.map(Seq);
            let report = run.report(at)?;
            let activities = run.activities(at, 0, ACTIVITIES);
            let evidence = run.evidence(&report)?;
            let end = when.log.or(when.at).unwrap_or(report.last.0).min(report.last.0);
            let from = end.saturating_sub(LOG_PAGE as u64);
            let mut log = run.log(Seq(from), EVENTS);
            // By position and not by number: after a merge two events may have the same position.
            log.events.retain(|event| event.seq.0 <= end);
            let view = RunPage {
                run: &report,
                activities: &activities,
                evidence: &evidence,
                log: &log,
                machine: run.machine(),
                address: Some(address),
                now: live.now(),
                actions: live.actions,
            };
            Ok(run_page(&view))
        })
    })
    .await
}

/// A project by its name in addresses.
pub(super) fn project_of<'l>(live: &'l Live, name: &str) -> Found<&'l Served> {
    live.find(name).ok_or_else(|| missing("no project of this name is served"))
}

/// Calls `read` with a run of a project and its address.
pub(super) fn with_run<T>(
    live: &Live,
    project: &str,
    run: &str,
    read: impl FnOnce(&FeedRun, String) -> crate::runs::Result<T>,
) -> Found<T> {
    let served = project_of(live, project)?;
    let id = run.parse::<RunId>().map_err(|_| missing("this is not the id of a run"))?;
    let mut keeper = served.keeper();
    let found = keeper.feed.run(&id).and_then(|found| read(&found, format!("/{}/runs/{id}", served.name)));
    found.map_err(failed)
}

async fn run(
    State(live): State<Arc<Live>>,
    Path((project, run)): Path<(String, String)>,
    Query(when): Query<When>,
) -> Answer {
    report_apart(live, move |live| with_run(live, &project, &run, |run, _| run.report(when.at.map(Seq)))).await
}

/// A part of a list.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Part {
    after: u64,
    skip: usize,
    limit: usize,
}

impl Default for Part {
    fn default() -> Self {
        Self { after: 0, skip: 0, limit: ACTIVITIES }
    }
}

async fn activities(
    State(live): State<Arc<Live>>,
    Path((project, run)): Path<(String, String)>,
    Query(part): Query<Part>,
) -> Answer {
    let limit = part.limit.min(EVENTS);
    report_apart(live, move |live| with_run(live, &project, &run, |run, _| Ok(run.activities(None, part.skip, limit))))
        .await
}

async fn log(
    State(live): State<Arc<Live>>,
    Path((project, run)): Path<(String, String)>,
    Query(part): Query<Part>,
) -> Answer {
    let limit = part.limit.min(EVENTS);
    report_apart(live, move |live| with_run(live, &project, &run, |run, _| Ok(run.log(Seq(part.after), limit)))).await
}

async fn evidence(State(live): State<Arc<Live>>, Path((project, run)): Path<(String, String)>) -> Answer {
    report_apart(live, move |live| {
        with_run(live, &project, &run, |run, _| {
            Ok(EvidenceReport { evidence: run.evidence(&run.report(None)?)?, unreadable: Vec::new() })
        })
    })
    .await
}

async fn drawn(State(live): State<Arc<Live>>, Path((project, run)): Path<(String, String)>) -> Answer {
    report_apart(live, move |live| {
        with_run(live, &project, &run, |run, _| {
            let report = run.report(None)?;
            Ok(run.machine().map(|machine| diagram(machine, &report.here())))
        })
    })
    .await
}
