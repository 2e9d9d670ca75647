//! Arguments of `watch`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::values::text;
use crate::cli::complete;

// Arguments of `watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// A directory of the project [default: the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only this run: its id, a unique prefix of its id, or @latest
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run_id: Option<String>,
    /// Print the runs as they are, and end; with --json, the first line alone
    #[arg(long)]
    pub(crate) once: bool,
    /// Only runs with this text in their id, workflow, phase, goal, feature or reason, or about this issue (#42)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(crate) search: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Look at the files at fixed intervals, where the system does not tell of changes (network file systems)
    #[arg(long)]
    pub(crate) poll: bool,
    /// Ring the terminal's bell and send a notification (OSC 9) when a run begins to need a person
    #[arg(long, conflicts_with = "once")]
    pub(crate) notify: bool,
}
