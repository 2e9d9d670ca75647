//! Arguments of `mcp`.

use clap::{Args, ValueEnum};

// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Which tools to offer; core are the eight that most runs need
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) tools: ToolsArg,
    /// Offer only what writes nothing
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// Which tools the server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsArg {
    Core,
    All,
}
