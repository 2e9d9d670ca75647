//! The command that drives a run, which the run remembers for those who ask how it goes on.

use std::fmt::Write as _;
use std::time::Duration;

use crate::drive::http::server;
use crate::drive::{Choose, DriveRequest};
use crate::model::{RunId, quoted};
use crate::runs::advice::{DRIVES, is_driver};

/// How long a command of a state may take by default, as on the command line.
const USUAL_TIMEOUT: Duration = Duration::from_secs(600);

/// The command that drives a run once more, with a `graph` that is named from the project. None when it does not fit into
/// a line. A password in an address is left out.
pub(super) fn driver(run: &RunId, graph: &str, request: &DriveRequest) -> Option<String> {
    let mut command = format!("{DRIVES}{} --run-id {run}", quoted(graph));
    let mut add = |option: &str, value: &str| {
        let _ = write!(command, " --{option} {}", quoted(value));
    };
    request.on.iter().for_each(|(kind, job)| add("on", &format!("{kind}={job}")));
    request.types.iter().for_each(|kind| add("type", kind));
    match &request.choose {
        Choose::Nobody => {}
        Choose::Command(job) => add("choose", job),
        Choose::Endpoint(endpoint) => add("choose-url", &server(&endpoint.url).ok()?),
    }
    if request.timeout != USUAL_TIMEOUT {
        add("timeout", &request.timeout.as_secs_f64().to_string());
    }
    is_driver(&command).then_some(command)
}
