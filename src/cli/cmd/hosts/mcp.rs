//! `mcp`: the standard streams belong to the protocol.

use std::io::{self, BufReader};

use crate::cli::args::{McpArgs, ToolsArg};
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::mcp::{self, Offer};
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, args: &McpArgs, out: &Out) -> CliResult {
    let offer = Offer { core: args.tools == ToolsArg::Core, read_only: args.read_only };
    mcp::serve(cx, offer, BufReader::new(io::stdin()), out.stream())?;
    Ok(Exit::Done)
}
