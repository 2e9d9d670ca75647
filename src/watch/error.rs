//! Errors of watching.

use std::io;

use thiserror::Error;

use crate::model::{Explain, Kind, Problem};
use crate::runs;

/// Why nothing is shown.
#[derive(Debug, Error)]
pub enum Error {
    /// This build has no screen.
    #[error("this build of flow cannot draw on a terminal")]
    NoScreen,
    /// Standard output is not a terminal.
    #[error("`flow watch` draws on a terminal, and standard output is not one: use `--once` or `--json`")]
    NoTerminal,
    /// The terminal cannot be used.
    #[error("cannot use the terminal")]
    Terminal(#[source] io::Error),
    /// The project or the run cannot be read.
    #[error(transparent)]
    Runs(#[from] runs::Error),
}

/// The result of watching.
pub type Result<T> = std::result::Result<T, Error>;

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::NoScreen => new(Kind::Usage, "no_screen")
                .help("use `--once` or `--json`, or install a flow that is built with the feature `watch`"),
            Self::NoTerminal => new(Kind::Usage, "no_terminal")
                .help("`--once` prints the runs as they are, `--json` a line for each change"),
            Self::Terminal(source) => new(Kind::Io, "io_error").caused_by(source),
            Self::Runs(error) => error.problem(),
        }
    }
}
