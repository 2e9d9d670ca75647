//! Why a drive stopped short.

use thiserror::Error;

use crate::model::{Explain, Kind, Problem, RunId};
use crate::runs;

/// Why a graph was not driven, or not to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// What keeps verbs over runs from their work as well: the project, files, settings, a rule of the run.
    #[error(transparent)]
    Run(runs::Error),
    /// What a driver began is still at work, though the driver is gone.
    #[error("process {pid} still works on run {run}: its driver is gone, what it began is not")]
    StillRuns {
        /// The run.
        run: RunId,
        /// The process.
        pid: u32,
    },
    /// A model was named, and this build cannot ask one.
    #[error("this build of flow has no network, so it cannot ask an endpoint which state follows")]
    NoNetwork,
    /// A graph leads nowhere, or a state leads out of it.
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
