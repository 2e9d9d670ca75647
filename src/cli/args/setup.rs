//! Arguments of `setup`.

use clap::{Args, ValueEnum};

use crate::hooks::settings::AgentHost;

// Arguments of `setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The hosts [default: those that are on this machine]
    #[arg(value_name = "HOST")]
    pub(crate) hosts: Vec<AgentHostArg>,
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

value_enum!(
    /// A host.
    AgentHostArg { ClaudeCode, Codex, Qwen, GeminiCli, Copilot, Opencode } -> AgentHost
);
