//! The command line that drives a run. The run stores it, so that `resume` can suggest it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::drive::http::server;
use crate::drive::report::{Choose, DriveRequest, Endpoint};
use crate::model::{RunId, quoted};
use crate::runs::driver::{DRIVES, UNKNOWN_DRIVER, is_driver};
use crate::runs::workflow::is_file;
use crate::runs::{OpenedProject, Thing, named_in};

/// The default time limit for a command, the same as on the command line.
const USUAL_TIMEOUT: Duration = Duration::from_secs(600);

/// The commands that drive a run.
#[derive(Debug)]
pub(super) struct DriverCommands<'a> {
    pub(super) request: &'a DriveRequest,
    /// The directory in which they run, as the run stores it.
    pub(super) dir: Option<String>,
}

impl DriverCommands<'_> {
    /// The command line that continues to drive `run`, as the run stores it: the path of a graph is as seen from the
    /// project.
    pub(super) fn line(&self, project: &OpenedProject, run: &RunId) -> String {
        let graph = if is_file(&project.cx, &self.request.graph) {
            named_in(project, &self.request.graph)
        } else {
            Some(self.request.graph.clone())
        };
        let command = graph.and_then(|graph| driver(run, &graph, self.request));
        // Without a command line `resume` at least knows that a driver works here.
        command.unwrap_or_else(|| UNKNOWN_DRIVER.to_owned())
    }
}

/// What a driver runs and asks, if its commands run in the directory that the run stores as `place`.
pub(super) fn things(request: &DriveRequest, place: Option<&str>) -> Vec<Thing> {
    let place = place.unwrap_or_default();
    let mut things: Vec<_> = request.on.iter().map(|(_, job)| Thing::command(job, place)).collect();
    match &request.choose {
        Choose::Person => {}
        Choose::Command(job) => things.push(Thing::command(job, place)),
        // Accepted without a password that the URL may have.
        Choose::Endpoint(Endpoint { url, .. }) => things.extend(server(url).ok().map(|url| Thing::endpoint(&url))),
    }
    things
}

/// The command line that continues to drive `run`, with `graph` as seen from the project. None if it does not fit into
/// a line. A password in a URL is left out.
fn driver(run: &RunId, graph: &str, request: &DriveRequest) -> Option<String> {
    let mut command = format!("{DRIVES}{} --run-id {run}", quoted(graph));
    let mut add = |option: &str, value: &str| {
        let _ = write!(command, " --{option} {}", quoted(value));
    };
    for (kind, job) in &request.on {
        add("on", &format!("{kind}={job}"));
    }
    for kind in &request.types {
        add("type", kind);
    }
    match &request.choose {
        Choose::Person => {}
        Choose::Command(job) => add("choose", job),
        Choose::Endpoint(endpoint) => add("choose-url", &server(&endpoint.url).ok()?),
    }
    if request.timeout != USUAL_TIMEOUT {
        add("timeout", &request.timeout.as_secs_f64().to_string());
    }
    // The store takes a line of bounded length.
    if is_driver(&command) { Some(command) } else { None }
}
