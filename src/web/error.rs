//! Errors of the server as a whole. What goes wrong in a request is in its answer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::model::{Explain, Kind, Problem};
use crate::runs;

/// Why the server did not start, or ended.
#[derive(Debug, Error)]
pub enum Error {
    /// This build has no server.
    #[error("this build of flow has no dashboard")]
    NoServer,
    /// The address can be reached from other machines.
    #[error("{0} can be reached from other machines, which would see the runs of this one")]
    Remote(IpAddr),
    /// The port is taken, or the address is not of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The server could not be started.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// A directory was given that is in no project, or a project cannot be read.
    #[error("{}", of_directory(dir, source))]
    Project {
        /// The directory.
        dir: PathBuf,
        /// Why.
        source: Box<runs::Error>,
    },
    /// A project cannot be read.
    #[error(transparent)]
    Runs(#[from] runs::Error),
}

/// A fault of a directory, which its sentence may name already.
fn of_directory(dir: &Path, source: &runs::Error) -> String {
    let (dir, told) = (dir.display().to_string(), source.to_string());
    if told.contains(&dir) { told } else { format!("{dir}: {told}") }
}

/// The result of serving.
pub type Result<T> = std::result::Result<T, Error>;

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::NoServer => new(Kind::Usage, "no_server").help("install a flow that is built with the feature `serve`"),
            Self::Remote(_) => new(Kind::Usage, "remote_address")
                .help("leave out `--listen`, and forward the port over ssh; or add `--allow-remote` in a network that you trust"),
            Self::Listen { source, .. } => new(Kind::Io, "cannot_listen")
                .caused_by(source)
                .help("leave out `--port` to take one that is free"),
            Self::Start(source) => new(Kind::Io, "io_error").caused_by(source),
            Self::Project { source, .. } => {
                let inner = source.problem();
                Problem { message: self.to_string(), ..inner }
            }
            Self::Runs(error) => error.problem(),
        }
    }
}
