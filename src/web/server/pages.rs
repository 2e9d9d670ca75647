//! What is at which address. Names and ids in addresses are looked up; no path of a file system is made of them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, middleware};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::model::Seq;
use crate::picture::page::{self, LOG_PAGE, LogPart, RunPage, message_page, run_page, runs_page, says};
use crate::picture::{LogFilter, diagram};
use crate::runs::{CardFilter, EvidenceReport};
use crate::web::server::answer::{WebResult, refused, with_type};
use crate::web::server::guard::{NEEDS_TOKEN, Visitor, unknown};
use crate::web::server::live::{Live, cards};
use crate::web::server::respond::{
    AsksNothing, BelowProject, RawQuery, ServerState, asked, page_of, report_from_reader, report_run, shown, with_run,
};
use crate::web::server::{actions, files, places, socket};

/// How many activities a page shows.
const ACTIVITIES: usize = 100;
/// How long a page waits for what the files are now.
const LOOKING: Duration = Duration::from_millis(1500);
/// The most events in one answer.
const EVENTS: usize = 500;

const SCRIPT: &str = include_str!("../assets/flow.js");
const ICON: &str = include_str!("../assets/flow.svg");

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
    Extension(visitor): Extension<Visitor>,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Response {
    if visitor.is_known { next.run(request).await } else { refused(unknown(NEEDS_TOKEN)) }
}

async fn nothing(Extension(visitor): Extension<Visitor>) -> Response {
    shown(visitor, StatusCode::NOT_FOUND, || message_page("Not found", "There is nothing at this address."))
}

/// The runs that the query asks for.
fn filter(query: RawQuery) -> WebResult<CardFilter> {
    let mut filter: CardFilter = asked(query)?;
    filter.limit = filter.limit.min(EVENTS);
    filter.search = filter.search.map(|text| text.trim().to_owned());
    Ok(filter)
}

async fn runs(State(live): ServerState, Extension(visitor): Extension<Visitor>, query: RawQuery) -> Response {
    page_of(live, visitor, "This list", move |live| {
        let filter = filter(query)?;
        let now = live.clock.now();
        Ok(runs_page(&cards(live, &filter), &filter, now))
    })
    .await
}

async fn list(State(live): ServerState, query: RawQuery) -> Response {
    report_from_reader(live, move |live| Ok(json!({ "projects": cards(live, &filter(query)?) }))).await
}

/// Which state of a run, and which part of its log.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct When {
    /// After this event.
    at: Option<u64>,
    /// The last event of the log to show.
    log: Option<u64>,
    /// Which events of the log.
    only: LogFilter,
    /// Only events with this text.
    find: Option<String>,
}

/// Which state of a run, for programs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ReportWhen {
    /// After this event.
    at: Option<u64>,
}

async fn run_shown(
    State(live): ServerState,
    Extension(visitor): Extension<Visitor>,
    Path((project, run)): BelowProject,
    query: RawQuery,
) -> Response {
    page_of(live, visitor, "This run", move |live| {
        let When { at, log, only, find } = asked(query)?;
        let find = find.map(|text| text.trim().to_owned());
        // Without the feed, for which others wait. At an earlier time the files are not known.
        let seen = match at {
            None => Some(with_run(live, &project, &run, |run, _| Ok(run.last_seen_commands()))?),
            Some(_) => None,
        };
        let evidence_states = seen.map(|seen| seen.states_within(LOOKING)).unwrap_or_default();
        with_run(live, &project, &run, |run, address| {
            let seq = at.map(Seq);
            let report = run.report(seq)?;
            let (activities, all_activities) = run.shown_activities(seq, ACTIVITIES);
            let evidence = run.evidence(&report)?;
            // A page about an earlier state shows the log up to that state.
            let end = log.or(at).unwrap_or(report.last.0).min(report.last.0);
            let (log, earlier) = run.log_until(Seq(end), LOG_PAGE, |event| {
                only.takes(event) && find.as_deref().is_none_or(|text| says(event, text))
            });
            let view = RunPage {
                run: &report,
                activities: &activities,
                all_activities,
                evidence: &evidence,
                evidence_states: &evidence_states,
                log: LogPart { report: &log, filter: only, find: find.as_deref(), earlier },
                machine: run.machine(),
                address: Some(address),
                now: live.clock.now(),
                actions: live.actions,
            };
            Ok(run_page(&view))
        })
    })
    .await
}

async fn run(State(live): ServerState, Path(run): BelowProject, query: RawQuery) -> Response {
    report_run(live, run, query, |run, ReportWhen { at }| run.report(at.map(Seq))).await
}

/// A part of the list of activities.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ActivityPart {
    skip: usize,
    limit: usize,
}

impl Default for ActivityPart {
    fn default() -> Self {
        Self { skip: 0, limit: ACTIVITIES }
    }
}

/// A part of a log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct EventPart {
    after: u64,
    limit: usize,
}

impl Default for EventPart {
    fn default() -> Self {
        Self { after: 0, limit: ACTIVITIES }
    }
}

async fn activities(State(live): ServerState, Path(run): BelowProject, query: RawQuery) -> Response {
    report_run(live, run, query, |run, ActivityPart { skip, limit }| Ok(run.activities(None, skip, limit.min(EVENTS))))
        .await
}

async fn log(State(live): ServerState, Path(run): BelowProject, query: RawQuery) -> Response {
    report_run(live, run, query, |run, EventPart { after, limit }| Ok(run.log(Seq(after), limit.min(EVENTS)))).await
}

async fn evidence(State(live): ServerState, Path((project, run)): BelowProject, query: RawQuery) -> Response {
    report_from_reader(live, move |live| {
        let AsksNothing {} = asked(query)?;
        let (evidence, seen) = with_run(live, &project, &run, |run, _| {
            let evidence = run.evidence(&run.report(None)?)?;
            Ok((evidence, run.seen_commands()))
        })?;
        // Without the feed, for which others wait.
        let seen = seen.evidence_within(LOOKING);
        Ok(EvidenceReport { evidence, seen, unreadable: Vec::new(), notes: Vec::new() })
    })
    .await
}

async fn drawn(State(live): ServerState, Path(run): BelowProject, query: RawQuery) -> Response {
    report_run(live, run, query, |run, AsksNothing {}| {
        let report = run.report(None)?;
        Ok(run.machine().map(|machine| diagram(machine, &report.here())))
    })
    .await
}
