//! What can go wrong with files, as data.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::store::WriterNote;

/// Why a file operation of flow failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Nothing of that name exists.
    #[error("{} does not exist", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
    },
    /// The name is taken.
    #[error("{} exists already", path.display())]
    Exists {
        /// What stands in the way.
        path: PathBuf,
    },
    /// Following or writing this path could reach files outside `.flow`.
    #[error("{} {why}", path.display())]
    Unsafe {
        /// The path that is refused.
        path: PathBuf,
        /// What it is: `is a symbolic link`, …
        why: &'static str,
    },
    /// Another program's directory.
    #[error("{} belongs to another program: it contains {evidence} and nothing of flow's", path.display())]
    Foreign {
        /// The `.flow` directory.
        path: PathBuf,
        /// A name found in it.
        evidence: String,
    },
    /// A file is larger than its bound.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bound in bytes.
        limit: usize,
    },
    /// What is to be recorded does not fit into one line of the log.
    #[error("the record is larger than {limit} bytes")]
    TooLong {
        /// The bound in bytes.
        limit: usize,
    },
    /// Another program put a file of its own in the place of the log.
    #[error("another program replaced {} just now", path.display())]
    Replaced {
        /// The log.
        path: PathBuf,
    },
    /// A file that must be text is not.
    #[error("{} is not UTF-8 text", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// Another live process holds the lock.
    #[error("{} is held by another process", path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as far as it wrote that down.
        holder: Option<Box<WriterNote>>,
        /// How long was waited.
        waited: Duration,
    },
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `create`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The record may or may not be on stable storage: a flush failed, and a second one could not be trusted.
    #[error("the record in {} could not be confirmed", path.display())]
    Unconfirmed {
        /// The log.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl StoreError {
    /// The error and its cause as one sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }

    /// Whether the error says that nothing is there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether something is not to be touched: it is no place of flow's, or its permissions do not allow it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        match self {
            Self::Unsafe { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether the system refused something that may well be there.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}
