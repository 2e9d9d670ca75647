//! Serves one client, from its first message to its last.

use std::io::{self, BufRead, Write};

use rmcp::service::serve_directly;
use tokio::runtime::Builder;

use crate::mcp::Offer;
use crate::mcp::server::handler::McpHandler;
use crate::mcp::server::lines::{ClientLines, EarlyEnd};
use crate::runs::{Context, Error, Result};

/// Answers the messages of a client, a line each, until `input` ends or the client closes `output`. One call is done after
/// the other, on this thread.
///
/// # Errors
/// `io_error` when a line cannot be read or written.
pub fn serve(
    cx: &Context,
    offer: Offer,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let start = "cannot start the MCP server";
    let runtime = Builder::new_current_thread().enable_time().build().map_err(|error| Error::io(start, &error))?;
    let ending = EarlyEnd::default();
    let lines = ClientLines::new(input, output, ending.clone());
    let handler = McpHandler::new(cx.clone(), offer);
    // `rmcp`'s own start waits for a first message of its liking, and takes the end of the input for an error. Its
    // handler knows both lifecycles without it.
    let served = runtime.block_on(async { serve_directly(handler, lines, None).waiting().await });
    served.map_err(|error| Error::io(start, &io::Error::other(error)))?;
    ending.result()
}
