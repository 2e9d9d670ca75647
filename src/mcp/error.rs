//! Errors of the server as a whole. What goes wrong in a call is in its answer.

use std::io;

use thiserror::Error;

use crate::model::{Explain, Kind, Problem};

/// Why the server did not start, or ended before its input did.
#[derive(Debug, Error)]
pub enum Error {
    /// This build has no MCP server.
    #[error("this build of flow has no MCP server")]
    NoMcp,
    /// The server could not be started.
    #[error("cannot start the MCP server")]
    Start(#[source] io::Error),
    /// A message could not be read.
    #[error("cannot read from standard input")]
    Input(#[source] io::Error),
    /// An answer could not be written.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

/// The result of serving a client to its end.
pub type Result<T> = std::result::Result<T, Error>;

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::NoMcp => new(Kind::Usage, "no_mcp").help("install a flow that is built with the feature `mcp`"),
            Self::Start(source) | Self::Input(source) | Self::Output(source) => {
                new(Kind::Io, "io_error").caused_by(source)
            }
        }
    }
}
