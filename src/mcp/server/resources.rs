//! Resources: the list of runs, a run, its events. A run is named by its id alone.

use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::Value;

use crate::mcp::server::answer::{no_commands, problem, report};
use crate::mcp::server::offer::ToolOffer;
use crate::model::{Explain, Kind, Problem};
use crate::runs::{self, Context, ListFilter, ListReport, ListedRun, LogReport, LogRequest, RunInList, ShowRequest};

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
pub(super) fn list(cx: &Context, tools: &[ToolOffer]) -> Result<ListResourcesResult, ErrorData> {
    let report = newest(cx, 0).map_err(|error| failed(cx, tools, &error.problem()))?;
    let mut resources = vec![Resource::new(RUNS, "runs").with_description("The newest runs").with_mime_type(JSON)];
    for RunInList { run: ListedRun { head, .. }, .. } in report.runs {
        let about = format!("A run of {}, {}", head.workflow, head.status);
        let run = Resource::new(format!("{RUNS}/{}", head.run_id), head.run_id.to_string());
        resources.push(run.with_description(about).with_mime_type(JSON));
    }
    Ok(ListResourcesResult::with_all_items(resources))
}

fn newest(cx: &Context, looked_at: usize) -> runs::Result<ListReport> {
    runs::list_looking_at(cx, &ListFilter { limit: Some(LISTED), ..ListFilter::default() }, looked_at)
}

/// The addresses of a run.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let run = ResourceTemplate::new(address(""), "run").with_description("A run: its phases, activities and artifacts");
    let events =
        ResourceTemplate::new(address(EVENTS), "events").with_description("What happened to a run: its latest events");
    ListResourceTemplatesResult::with_all_items([run, events].map(|template| template.with_mime_type(JSON)).to_vec())
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
pub(super) fn read(cx: &Context, tools: &[ToolOffer], uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let value = value(cx, tools, uri)?;
    let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn value(cx: &Context, tools: &[ToolOffer], uri: &str) -> Result<Value, ErrorData> {
    let Some(path) = uri.strip_prefix(RUNS) else { return Err(unknown(uri)) };
    let answer = if path.is_empty() {
        newest(cx, LISTED).map(|runs| report(cx, tools, &runs, no_commands(&runs)))
    } else {
        // Without the slash it is the address of something else that begins with the same letters.
        let Some(run) = path.strip_prefix('/') else { return Err(unknown(uri)) };
        match run.strip_suffix(EVENTS) {
            Some(run) => latest_events(cx, run).map(|log| report(cx, tools, &log, no_commands(&log))),
            None => {
                let request = ShowRequest { run: Some(run.to_owned()), ..ShowRequest::default() };
                runs::show(cx, &request).map(|shown| report(cx, tools, &shown, no_commands(&shown)))
            }
        }
    };
    answer.map_err(|error| failed(cx, tools, &error.problem()))
}

fn latest_events(cx: &Context, run: &str) -> runs::Result<LogReport> {
    let mut log = runs::log(cx, &LogRequest { run: Some(run.to_owned()), ..LogRequest::default() })?;
    log.events.drain(..log.events.len().saturating_sub(SHOWN));
    Ok(log)
}

fn unknown(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource {uri:.200}"), None)
}

/// The error of a verb as one of the protocol, with the whole of it as its data.
pub(super) fn failed(cx: &Context, tools: &[ToolOffer], why: &Problem) -> ErrorData {
    let data = problem(cx, tools, why);
    let message = data["error"]["message"].as_str().unwrap_or_default().to_owned();
    match why.kind {
        Kind::NotFound | Kind::Usage => ErrorData::resource_not_found(message, Some(data)),
        _ => ErrorData::internal_error(message, Some(data)),
    }
}
