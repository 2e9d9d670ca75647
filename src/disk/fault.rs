//! Errors of reading or replacing a document.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::disk::error::{DiskError, Operation};
use crate::model::{Explain, Kind, Problem};

/// Why a document was not replaced.
#[derive(Debug, Error)]
pub enum DocumentError<E: std::error::Error + 'static> {
    /// The edit was refused.
    #[error("{path} cannot be changed")]
    Edit {
        /// The document.
        path: PathBuf,
        /// Why not.
        source: E,
    },
    /// It could not be read or written.
    #[error(transparent)]
    Fault(#[from] DocumentFault),
}

/// Why a document could not be read or replaced. It has its old text, except after [`DocumentFault::Unconfirmed`].
#[derive(Debug, Error)]
pub enum DocumentFault {
    /// The path leads, or could lead, out of its root.
    #[error("{path} {why}")]
    Unsafe {
        /// The path or component.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The text is larger than flow reads or writes.
    #[error("{path} is larger than {limit} bytes")]
    TooLarge {
        /// The document.
        path: PathBuf,
        /// The limit in bytes.
        limit: usize,
    },
    /// The file is not text.
    #[error("{path} is not UTF-8 from byte {valid} on")]
    NotText {
        /// The document.
        path: PathBuf,
        /// How many bytes from the beginning are UTF-8.
        valid: usize,
    },
    /// Another writer did not finish in time.
    #[error("{path} is locked by another writer")]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// Another program saved the document during every attempt.
    #[error("{path} is being saved by another program")]
    Changing {
        /// The document.
        path: PathBuf,
    },
    /// The document is not there, and exists anyway.
    #[error("{0}")]
    Elsewhere(Problem),
    /// The document's directory belongs to another user, and the system lets no other one write there.
    #[error(transparent)]
    NotOurs(DiskError),
    /// A system call failed.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was tried.
        doing: Operation,
        /// The document, or a file beside it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The new text is in place, but a flush failed, so that a power cut may undo it.
    #[error("{path} was written, but not flushed: a power cut may undo it")]
    Unconfirmed {
        /// The document.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl DocumentFault {
    /// The fault of a path that leads, or could lead, elsewhere.
    pub(crate) fn refused(path: &Path, why: &'static str) -> Self {
        Self::Unsafe { path: path.to_owned(), why }
    }

    /// The fault of a system call.
    pub(crate) fn io(doing: Operation, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), source: source.into() }
    }
}

impl Explain for DocumentFault {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Unsafe { .. } => {
                new(Kind::Unsafe, "unsafe_path").help("name a plain file of your own; nothing was written")
            }
            Self::TooLarge { .. } => new(Kind::Refused, "document_too_large")
                .help("put long texts into files of their own; nothing was written"),
            Self::NotText { .. } => new(Kind::Damaged, "not_utf8").help("save it as UTF-8; nothing was written"),
            Self::Busy { .. } => new(Kind::Held, "lock_timeout")
                .help("try again, or wait longer with --lock-timeout SECONDS; nothing was written"),
            Self::Changing { .. } => new(Kind::Held, "document_changed").help("try again; nothing was written"),
            Self::NotOurs(error) => error.problem(),
            Self::Elsewhere(problem) => problem.clone(),
            Self::Io { source, .. } => new(Kind::Io, "io_error")
                .help("nothing was written; try again when the cause is gone")
                .caused_by(source),
            Self::Unconfirmed { source, .. } => {
                new(Kind::Io, "unconfirmed").help("try again; the same answer is written once").caused_by(source)
            }
        }
    }
}
