//! The tool that runs commands: those alone that the project names and that a person accepted on this machine as they are.

use serde::Deserialize;

use schemars::JsonSchema;

use crate::mcp::server::answer::no_commands;
use crate::mcp::server::call::{Answer, Call};
use crate::mcp::server::tool::{ToolRow, Writes};
use crate::model::{ActivityId, Explain as _, Problem, SessionId, StateName, Usage};
use crate::runs::request_schema as of;
use crate::runs::{self, Context, ExecRequest, PassOn, TrustRequest};

/// How long a command may run, in seconds, unless the call says so.
const SECONDS: u64 = 600;
/// The most that a call can say.
const MOST_SECONDS: u64 = 3600;

/// The arguments of a call. None of them takes a command line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecCall {
    /// The command, by the project's name for it.
    name: String,
    /// The run.
    run_id: Option<String>,
    /// An idempotency key.
    id: Option<ActivityId>,
    /// The phase.
    phase: Option<StateName>,
    /// Run it once more under this id.
    #[serde(default)]
    again: bool,
    /// Seconds after which it is ended: 600, at most 3600.
    timeout: Option<u64>,
    /// Globs of ignored files that it reads.
    #[serde(default)]
    inputs: Vec<String>,
    /// The session.
    session: Option<SessionId>,
    /// The epoch.
    epoch: Option<u64>,
}

/// The tool.
pub(super) const ROW: ToolRow = ToolRow {
    name: "flow_exec",
    title: "Run a command",
    about: "Run a command of the project, and record how it ended and on which files.",
    writes: Writes::Anything,
    request: of::<ExecCall>,
    arguments: &["name", "run_id", "id", "phase", "again", "timeout", "inputs", "session", "epoch"],
    needs: &[],
    verbs: &[],
    commands: &[("exec", &["name"])],
    call,
};

/// The names of the commands that can be run: those that were accepted as they are now.
pub(super) fn accepted(cx: &Context) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(report) = runs::trust(cx, &TrustRequest::default()) {
        for command in report.commands {
            if command.accepted {
                names.push(command.name);
            }
        }
    }
    names
}

fn call(call: Call<'_>) -> Answer {
    let asked: ExecCall = call.request()?;
    let seconds = asked.timeout.unwrap_or(SECONDS);
    if !(1..=MOST_SECONDS).contains(&seconds) {
        return Err(call.wrong(&format!("`timeout` is a number of seconds from 1 to {MOST_SECONDS}")));
    }
    let request = ExecRequest {
        run: asked.run_id,
        id: asked.id,
        phase: asked.phase,
        // The verb refuses a name that was not accepted, whatever the client was told.
        name: Some(asked.name),
        argv: Vec::new(),
        again: asked.again,
        limit: Some(std::time::Duration::from_secs(seconds)),
        inputs: asked.inputs,
        usage: Usage::default(),
        drops_output: false,
        may_have_terminal: false,
        // Standard input and output are the client's.
        output: PassOn::Nowhere,
        session: asked.session,
        epoch: asked.epoch,
    };
    let answer = runs::exec(&call.cx, &request).map_err(|error| named_only(error.problem(), &call.cx));
    call.shown(answer.map_err(runs::Error::from), no_commands)
}

/// A problem without the advice to run any other command, which the tool cannot.
fn named_only(problem: Problem, cx: &Context) -> Problem {
    if problem.code != "command_not_found" {
        return problem;
    }
    let help = match accepted(cx).as_slice() {
        [] => "`commands` in .flow/config.yaml names them, and a person accepts them with `flow trust`".to_owned(),
        names => format!("`name` is one of {}", names.join(", ")),
    };
    Problem::new(problem.kind, problem.code, problem.message).help(help)
}
