//! Replaces `server/` in a build without the feature `mcp`.

use std::io::{BufRead, Write};

use crate::mcp::Offer;
use crate::model::{Kind, Problem};
use crate::runs::{Context, Result};

/// Refuses: this build has no server.
///
/// # Errors
/// Always.
pub fn serve(_: &Context, _: Offer, _: impl BufRead + Send + 'static, _: impl Write + Send + 'static) -> Result<()> {
    Err(Problem::new(Kind::Usage, "no_mcp", "this build of flow has no MCP server")
        .help("install a flow that is built with the feature `mcp`")
        .into())
}
