//! What can go wrong with files, as data.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::model::{Explain, Kind, Problem};

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
    #[error("{} is held by another process ({}); waited {:.1} s", path.display(), described(.holder.as_deref()), waited.as_secs_f64())]
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

impl Explain for StoreError {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::NotFound { .. } => new(Kind::NotFound, "not_found"),
            Self::Exists { .. } => new(Kind::Refused, "run_exists").help("use another id, or go on with that run"),
            Self::Unsafe { why, .. } => new(Kind::Unsafe, "unsafe_path").help(match *why {
                why if why.starts_with("is a hard link") => {
                    "put a copy of its own in its place: cp FILE COPY && mv COPY FILE"
                }
                "belongs to another user" => {
                    "run flow as the owner, or set FLOW_TRUST_OWNER=1 when that user is trusted"
                }
                _ => "flow follows no links below .flow; put a plain file or directory in its place",
            }),
            Self::Foreign { .. } => new(Kind::Unsafe, "foreign_flow_directory").help(
                "make another directory with `FLOW_DIR=DIR flow init` and keep FLOW_DIR set, or move that one away; nothing was written into it",
            ),
            Self::TooLarge { .. } => new(Kind::Damaged, "too_large")
                .help("shorten it, or bring an earlier one back with git; nothing was written"),
            Self::TooLong { .. } => new(Kind::Refused, "record_too_large")
                .help("put long texts into a file and refer to it as evidence; nothing was written"),
            Self::Replaced { .. } => new(Kind::Held, "log_replaced").help("try again; nothing was written"),
            Self::NotUtf8 { .. } => new(Kind::Damaged, "not_utf8").help("bring an earlier version back with git"),
            Self::Held { .. } => new(Kind::Held, "lock_timeout")
                .help("try again, or wait longer with --lock-timeout SECONDS; nothing was written"),
            Self::Io { source, action, .. } => new(Kind::Io, "io_error")
                .help(match *action {
                    "read" => "make it readable, then try again",
                    _ => "nothing was recorded; try again when the cause is gone",
                })
                .caused_by(source),
            Self::Unconfirmed { source, .. } => new(Kind::Io, "unconfirmed")
                .help("try again; a record with the same --id is recorded once, whatever happened")
                .caused_by(source),
        }
    }
}

/// Who holds a lock, as far as that process noted it.
fn described(holder: Option<&WriterNote>) -> String {
    match holder {
        Some(note) => format!("process {}, `{}`, since {}", note.pid, note.command, note.since),
        None => "another process".to_owned(),
    }
}
