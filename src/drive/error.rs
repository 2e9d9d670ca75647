//! Errors of `drive`.

use thiserror::Error;

use crate::model::{Explain, Kind, Problem, RunId};
use crate::runs;

/// Why a graph could not be driven, or not to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// An error that other verbs over runs have too: the project, files, settings, a rule of the run.
    #[error(transparent)]
    Run(runs::Error),
    /// The driver is gone, but a command that it started still runs.
    #[error("process {pid} still works on run {run}: its driver is gone, what it began is not")]
    StillRuns {
        /// The run.
        run: RunId,
        /// The process.
        pid: u32,
    },
    /// An endpoint was named, but this build has no network.
    #[error("this build of flow has no network, so it cannot ask an endpoint which state follows")]
    NoNetwork,
    /// A state has no successor, or asks for one to which no transition leads.
    #[error("{0}")]
    NoWayOn(String),
}

/// The result of driving a graph.
pub type Result<T> = std::result::Result<T, Error>;

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Run(error) => error.problem(),
            Self::StillRuns { pid, .. } => {
                new(Kind::Held, "still_running").help(format!("wait until it is done, or end it: kill {pid}"))
            }
            Self::NoNetwork => new(Kind::Usage, "no_network")
                .help("choose with --choose COMMAND, or install a flow that is built with the feature `network`"),
            Self::NoWayOn(_) => new(Kind::Refused, "no_way_on")
                .help("correct the graph or what the state answers; what is done stays done"),
        }
    }
}
