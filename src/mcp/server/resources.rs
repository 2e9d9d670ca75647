//! Resources: the list of runs, a run, its events. A run is named by its id alone.

use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::Value;

use crate::mcp::server::answer::{problem, report};
use crate::mcp::server::tools::Tool;
use crate::model::{Explain, Kind, Problem};
use crate::runs::{self, Context, ListFilter, ListReport, LogRequest, ShowRequest};

/// The address of the list of runs; a run's begins with it.
const RUNS: &str = "flow://runs";
/// The end of the address of a run's events.
const EVENTS: &str = "/events";
/// The variable in the addresses of templates.
pub(super) const RUN: &str = "id";
const JSON: &str = "application/json";
/// How many runs are listed.
const LISTED: usize = 100;
/// How many events are shown, the latest.
const SHOWN: usize = 200;

/// The list of runs, and the newest runs.
pub(super) fn list(cx: &Context) -> Result<ListResourcesResult, ErrorData> {
    let report = newest(cx).map_err(|error| failed(cx, &error.problem()))?;
    let all = Resource::new(RUNS, "runs").with_description("The newest runs").with_mime_type(JSON);
    let run = |run: &runs::ListedRun| {
        let about = format!("A run of {}, {}", run.head.workflow, run.head.status);
        Resource::new(format!("{RUNS}/{}", run.head.run_id), run.head.run_id.to_string())
            .with_description(about)
            .with_mime_type(JSON)
    };
    Ok(ListResourcesResult::with_all_items(std::iter::once(all).chain(report.runs.iter().map(run)).collect()))
}

fn newest(cx: &Context) -> runs::Result<ListReport> {
    runs::list(cx, &ListFilter { limit: Some(LISTED), ..ListFilter::default() })
}

/// The addresses of a run.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |end: &str, name: &str, about: &str| {
        ResourceTemplate::new(address(end), name).with_description(about).with_mime_type(JSON)
    };
    ListResourceTemplatesResult::with_all_items(vec![
        template("", "run", "A run: its phases, activities and artifacts"),
        template(EVENTS, "events", "What happened to a run: its latest events"),
    ])
}

/// The address of a template with this end.
fn address(end: &str) -> String {
    format!("{RUNS}/{{{RUN}}}{end}")
}

/// Whether there is a template with this address.
pub(super) fn is_template(uri: &str) -> bool {
    ["", EVENTS].iter().any(|end| address(end) == uri)
}

/// Reads a resource.
pub(super) fn read(cx: &Context, tools: &[Tool], uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let value = value(cx, tools, uri)?;
    let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn value(cx: &Context, tools: &[Tool], uri: &str) -> Result<Value, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("there is no resource {uri:.200}"), None);
    let path = uri.strip_prefix(RUNS).ok_or_else(unknown)?;
    let answer = match path.strip_prefix('/') {
        None if path.is_empty() => newest(cx).map(|runs| report(cx, tools, &runs)),
        None => return Err(unknown()),
        Some(rest) => match rest.strip_suffix(EVENTS) {
            Some(run) => {
                let request = LogRequest { run: Some(run.to_owned()), ..LogRequest::default() };
                runs::log(cx, &request).map(|mut log| {
                    log.events.drain(..log.events.len().saturating_sub(SHOWN));
                    report(cx, tools, &log)
                })
            }
            None => {
                let request = ShowRequest { run: Some(rest.to_owned()), ..ShowRequest::default() };
                runs::show(cx, &request).map(|shown| report(cx, tools, &shown))
            }
        },
    };
    answer.map_err(|error| failed(cx, &error.problem()))
}

/// The error of a verb as one of the protocol, with the whole of it as its data.
pub(super) fn failed(cx: &Context, why: &Problem) -> ErrorData {
    let data = problem(cx, &[], why);
    let message = data["error"]["message"].as_str().unwrap_or_default().to_owned();
    match why.kind {
        Kind::NotFound | Kind::Usage => ErrorData::resource_not_found(message, Some(data)),
        _ => ErrorData::internal_error(message, Some(data)),
    }
}
