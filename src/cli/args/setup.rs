//! Arguments of `setup`.

use clap::Args;

use crate::cli::args::hooks::host_of_agents;
use crate::hooks::settings::AgentHost;

// Arguments of `setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The hosts [default: those that are on this machine]
    #[arg(value_name = "HOST", value_parser = host_of_agents())]
    pub(crate) hosts: Vec<AgentHost>,
    /// Use your own settings, for all projects, instead of this project's
    #[arg(long)]
    pub(crate) user: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take out what an earlier setup put in
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) undo: bool,
}
