//! The server, in builds with the feature `mcp`.

mod answer;
mod arguments;
mod call;
mod commands;
mod completion;
mod handler;
mod interview;
mod lines;
mod message;
mod prompts;
mod resources;
mod schema;
mod state;
mod tools;

use std::io::{self, BufRead, Write};

use rmcp::service::serve_directly;
use tokio::runtime::Builder;

use crate::mcp::server::handler::Handler;
use crate::mcp::server::lines::{Ending, Lines};
use crate::mcp::{Error, Offer, Result};
use crate::runs::Context;

/// Answers the messages of a client, a line each, until `input` ends or nobody reads `output` any more. One call is done
/// after the other, on this thread.
///
/// # Errors
/// [`Error::Input`] and [`Error::Output`] when a line cannot be read or written.
pub fn serve(
    cx: &Context,
    offer: Offer,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_time().build().map_err(Error::Start)?;
    let ending = Ending::default();
    let lines = Lines::new(input, output, ending.clone());
    let handler = Handler::new(cx.clone(), offer);
    // `rmcp`'s own start waits for a first message of its liking, and takes the end of the input for an error. Its
    // handler knows both lifecycles without it.
    let served = runtime.block_on(async { serve_directly(handler, lines, None).waiting().await });
    served.map_err(|error| Error::Start(io::Error::other(error)))?;
    ending.result()
}
