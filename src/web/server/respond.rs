//! How requests are answered: pages, reports for programs, and why there is none.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::{Kind, Problem, RunId};
use crate::picture::page::{self, Page, Place, document, message_page};
use crate::runs::{FeedRun, Result};
use crate::runs::{read_request, request_schema};
use crate::web::server::answer::{Refusal, WebResult, failed, html, missing, of_moment, refused, reported, status_of};
use crate::web::server::guard::Visitor;
use crate::web::server::live::{Live, Panicked, ServedProject, call, on_reader};

/// All that is served, as a request gets it.
pub(super) type ServerState = State<Arc<Live>>;

/// The project in an address, and the run or the workflow below it.
pub(super) type BelowProject = Path<(String, String)>;

/// The query of an address, as it came.
pub(super) type RawQuery = Query<Vec<(String, String)>>;

/// What cannot be read of a request: its query, or its content.
pub(super) fn unreadable(why: &str) -> Problem {
    Problem::new(Kind::Usage, "usage", why)
}

/// The query of an address that answers with everything.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AsksNothing {}

/// What the query of an address asks for. An empty field of a form is none.
pub(super) fn asked<T: DeserializeOwned + JsonSchema>(Query(given): RawQuery) -> WebResult<T> {
    let schema = request_schema::<T>();
    let mut fields = Map::new();
    for (name, text) in given {
        if text.trim().is_empty() {
            continue;
        }
        let is_number = is_integer(&schema["properties"][&name]["type"]);
        let value = match text.parse::<u64>() {
            Ok(number) if is_number => number.into(),
            _ => Value::String(text),
        };
        if fields.insert(name.clone(), value).is_some() {
            return Err(unreadable(&format!("the query has `{name:.60}` more than once")));
        }
    }
    read_request(&fields, request_schema::<T>).map_err(|why| unreadable(&format!("the query does not fit: {why}")))
}

fn is_integer(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(is_integer),
        kind => kind == "integer",
    }
}

/// A page, or the shell for those who have not shown the token.
pub(super) fn shown(visitor: Visitor, status: StatusCode, make: impl FnOnce() -> Page) -> Response {
    if visitor.is_known { html(status, document(&make(), Place::Served)) } else { html(StatusCode::OK, page::shell()) }
}

/// The page that `make` makes, or one that says why `what` cannot be shown; the shell for those who have not shown the token.
pub(super) async fn page_of(
    live: Arc<Live>,
    visitor: Visitor,
    what: &'static str,
    make: impl FnOnce(&Live) -> WebResult<Page> + Send + 'static,
) -> Response {
    if !visitor.is_known {
        return html(StatusCode::OK, page::shell());
    }
    page_from_reader(live, move |live| {
        // Before the page is made, so that a change meanwhile is announced again and not lost.
        let since = live.since();
        let (status, page) = match make(live) {
            Ok(page) => (StatusCode::OK, page),
            Err(problem) => {
                let problem = live.hide.in_problem(problem);
                let status = match problem.kind {
                    Kind::NotFound | Kind::Usage => status_of(&problem),
                    // A page that says why is a page.
                    _ => StatusCode::OK,
                };
                (status, message_page(&format!("{what} cannot be shown"), &problem.one_line()))
            }
        };
        of_moment(html(status, document(&page, Place::Served)), &since)
    })
    .await
}

/// Answers with what `read` makes, which may wait for the disk and for other readers.
pub(super) async fn page_from_reader(
    live: Arc<Live>,
    read: impl FnOnce(&Live) -> Response + Send + 'static,
) -> Response {
    match on_reader(&live, read).await {
        Ok(response) => response,
        Err(Panicked) => refused(Refusal::failure("the page could not be made")),
    }
}

/// As [`page_from_reader`], for programs: the report that `read` makes, or its error.
pub(super) async fn report_from_reader<T: Serialize>(
    live: Arc<Live>,
    read: impl FnOnce(&Live) -> WebResult<T> + Send + 'static,
) -> Response {
    page_from_reader(live, move |live| reported(read(live).map_err(|problem| live.hide.in_problem(problem)))).await
}

/// As [`report_from_reader`], about a run of a project and what the query asks for.
pub(super) async fn report_run<Q: DeserializeOwned + JsonSchema, T: Serialize>(
    live: Arc<Live>,
    (project, run): (String, String),
    query: RawQuery,
    read: impl FnOnce(&FeedRun, Q) -> Result<T> + Send + 'static,
) -> Response {
    report_from_reader(live, move |live| {
        let asked = asked(query)?;
        with_run(live, &project, &run, |run, _| read(run, asked))
    })
    .await
}

/// As [`report_from_reader`], for an action.
pub(super) async fn report_act<T: Serialize>(
    live: Arc<Live>,
    act: impl FnOnce(&Live) -> WebResult<T> + Send + 'static,
) -> Response {
    let response = call(&live, &live.acting, move |live| {
        let done = act(live).map_err(|problem| live.hide.in_problem(problem));
        reported(done.map(|report| live.hide.in_warnings(json!(report))))
    });
    match response.await {
        Ok(response) => response,
        // It may be done anyway: the panic can be behind the last write.
        Err(Panicked) => refused(Refusal::failure("the action came to no answer; look at the run again")),
    }
}

/// A project by its name in addresses.
pub(super) fn project_of<'l>(live: &'l Live, name: &str) -> WebResult<&'l ServedProject> {
    live.find(name).ok_or_else(|| missing("no project of this name is served"))
}

/// A run's id in an address.
pub(super) fn id_of(run: &str) -> WebResult<RunId> {
    run.parse().map_err(|_| missing("this is not the id of a run"))
}

/// Calls `read` with a run of a project and its address.
pub(super) fn with_run<T>(
    live: &Live,
    project: &str,
    run: &str,
    read: impl FnOnce(&FeedRun, String) -> Result<T>,
) -> WebResult<T> {
    let served = project_of(live, project)?;
    let id = id_of(run)?;
    let mut keeper = served.keeper();
    let found = keeper.feed.run(&id).map_err(failed)?;
    read(&found, format!("/{}/runs/{id}", served.name)).map_err(failed)
}
