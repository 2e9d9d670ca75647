//! Completion in a shell: the script that asks flow, and the names of runs, phases and workflows.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::cli::Cli;
use crate::cli::page::clean;
use crate::runs::{self, BriefRequest, Context, ListFilter, Options};

/// The variable with which a script asks flow to complete a command line. Its value is the name of the shell.
const VARIABLE: &str = "FLOW_COMPLETE";
/// The highest number of runs that are offered; the newest are.
const RUNS: usize = 100;

/// Completes the command line `args`, if a script asks for it. Returns whether it did.
pub(super) fn complete(args: &[OsString]) -> bool {
    let env = CompleteEnv::with_factory(Cli::command).var(VARIABLE).bin("flow");
    // The variable may be set for something else; then the command runs.
    env.try_complete(args, Some(Path::new("."))).unwrap_or(false)
}

/// Writes the script that makes `shell` ask flow.
pub(super) fn write_script(shell: Shell, to: &mut Vec<u8>) -> io::Result<()> {
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    known.write_registration(VARIABLE, "flow", "flow", "flow", to)
}

/// Runs, newest first.
pub(super) fn runs() -> ArgValueCandidates {
    candidates(|cx| {
        let filter = ListFilter { limit: Some(RUNS), ..ListFilter::default() };
        let runs = runs::list(cx, &filter).ok()?.runs.into_iter();
        Some(
            runs.map(|run| (run.head.run_id.to_string(), format!("{} {}", run.head.workflow, run.head.status)))
                .collect(),
        )
    })
}

/// The phases of the workflow of the run that would be resumed.
pub(super) fn phases() -> ArgValueCandidates {
    candidates(|cx| {
        let workflow = runs::brief(cx, &BriefRequest::default()).ok()??.position.workflow?;
        let (report, _) = runs::workflow_show(cx, workflow.as_str()).ok()?;
        let states = report.states.into_iter();
        Some(states.map(|state| (state.name.to_string(), state.description.unwrap_or_default())).collect())
    })
}

/// Workflows.
pub(super) fn workflows() -> ArgValueCandidates {
    candidates(|cx| {
        let workflows = runs::workflow_list(cx).ok()?.workflows.into_iter();
        Some(workflows.map(|workflow| (workflow.id, workflow.description.unwrap_or_default())).collect())
    })
}

/// Names with their meanings.
type Names = Vec<(String, String)>;

/// What a shell offers: the names that `find` finds, in their order.
fn candidates(find: fn(&Context) -> Option<Names>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let cx = Context::of_this_process(Options::default()).ok();
        let found = cx.and_then(|cx| find(&cx)).unwrap_or_default();
        let candidate = |(at, (name, help)): (usize, (String, String))| {
            let help = clean(&help).into_owned();
            CompletionCandidate::new(name).help((!help.is_empty()).then(|| help.into())).display_order(Some(at))
        };
        found.into_iter().enumerate().map(candidate).collect()
    })
}
