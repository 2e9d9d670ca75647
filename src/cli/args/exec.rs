//! Arguments of `exec`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::cli::args::shared::{CallerArgs, RunArg};
use crate::cli::args::usage::UsageArgs;
use crate::cli::args::values::time_limit;
use crate::cli::complete;
use crate::model::{ActivityId, StateName};

// Arguments of `trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Accept them as they are now
    #[arg(long)]
    pub(crate) yes: bool,
}

// Arguments of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// The number or the id of one record [default: the last one of each command]
    #[arg(value_name = "ACTIVITY")]
    pub(crate) activity: Option<String>,
    /// Run them on the commit that they ran on, checked out in a temporary directory
    #[arg(long)]
    pub(crate) clean: bool,
    /// Do not ask; run only commands that the project names and that were accepted with `flow trust`
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The run: its id, issue or pull request, the beginning or end of its id, or @latest [default: FLOW_RUN, the
    /// session's, or the only open one of the branch or of all]
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run_id: Option<String>,
    /// The activity's id; the command runs once for it, also when the same line is given again
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<ActivityId>,
    /// The phase [default: the current one]
    #[arg(long, value_name = "PHASE", add = complete::phases())]
    pub(crate) phase: Option<StateName>,
    /// End the command after so many seconds, and record it as failed [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// A glob of files, from the top of the project, on which the command runs as well: ignored ones such as build output, and
    /// all of them outside of git; may be repeated
    #[arg(long = "input", value_name = "GLOB")]
    pub(crate) inputs: Vec<String>,
    /// Keep no output; its digest is recorded all the same
    #[arg(long)]
    pub(crate) no_output: bool,
    /// Run it once more under this id
    #[arg(long)]
    pub(crate) again: bool,
    /// Give the command no terminal for its output
    #[arg(long)]
    pub(crate) no_tty: bool,
    #[command(flatten)]
    pub(crate) usage: UsageArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    /// The name of a command in .flow/config.yaml, which was accepted with `flow trust`
    #[arg(value_name = "NAME", conflicts_with = "argv", add = complete::commands())]
    pub(crate) name: Option<String>,
    /// The program and its arguments; no shell reads them
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) argv: Vec<OsString>,
}
