//! Why a document was not read or replaced.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

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
    #[error("{path} is being saved by somebody else")]
    Changing {
        /// The document.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was tried.
        doing: &'static str,
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
