//! Why a document was not read or replaced.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::disk::error::Operation;
use crate::model::{Explain, Kind, Problem};

/// A document that was not replaced.
#[derive(Debug, Error)]
pub enum DocumentError<E: std::error::Error + 'static> {
    /// The edit was refused.
    #[error("{path} cannot be changed")]
    Edit {
        /// The document.
        path: PathBuf,
        /// Why.
        source: E,
    },
    /// It could not be read or written.
    #[error(transparent)]
    Fault(#[from] DocumentFault),
}

/// Why a document was not read or replaced. Its old text is untouched, but after [`DocumentFault::Unconfirmed`].
#[derive(Debug, Error)]
pub enum DocumentFault {
    /// The path leads, or could lead, to somewhere else.
    #[error("{path} {why}")]
    Unsafe {
        /// The path or the component at fault.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More text than flow reads or writes.
    #[error("{path} is larger than {limit} bytes")]
    TooLarge {
        /// The document.
        path: PathBuf,
        /// The bound.
        limit: usize,
    },
    /// Bytes that are no text.
    #[error("{path} is not UTF-8 from byte {valid} on")]
    NotText {
        /// The document.
        path: PathBuf,
        /// How many bytes are text.
        valid: usize,
    },
    /// Another writer did not finish in time.
    #[error("{path} is locked by another writer")]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// Somebody saved it again and again meanwhile.
    #[error("{path} is being saved by another program")]
    Changing {
        /// The document.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was tried.
        doing: Operation,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The new text is in place, and the system does not say that it will stay.
    #[error("{path} was written, but it is not certain that a power cut leaves it")]
    Unconfirmed {
        /// The document.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
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
            Self::Io { source, .. } => new(Kind::Io, "io_error")
                .help("nothing was written; try again when the cause is gone")
                .caused_by(source),
            Self::Unconfirmed { source, .. } => {
                new(Kind::Io, "unconfirmed").help("try again; the same answer is written once").caused_by(source)
            }
        }
    }
}
