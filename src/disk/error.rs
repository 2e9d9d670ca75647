//! Errors of files and directories.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::model::{Explain, Kind, Problem};

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Hazard {
    /// The other user could change it at any time.
    #[error("belongs to {}", owner_in_words(*.owner))]
    ForeignOwner {
        /// The other user's id.
        owner: u32,
    },
    /// A write would change the file under its other name, too.
    #[error("is a hard link: writing to it would change another file too")]
    HardLink,
    /// It may lead anywhere.
    #[error("is a symbolic link")]
    Symlink,
    /// A file is expected there.
    #[error("is a directory")]
    Directory,
    /// A directory is expected there.
    #[error("is a file, not a directory")]
    File,
    /// Opening it may block forever.
    #[error("is a FIFO")]
    Fifo,
    /// It has no content of its own.
    #[error("is a socket")]
    Socket,
    /// It has no content of its own.
    #[error("is a device")]
    Device,
    /// It is something else.
    #[error("is not a regular file")]
    Other,
}

/// An operation on a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Operation {
    /// Append to the file.
    #[error("append to")]
    Append,
    /// Create.
    #[error("create")]
    Create,
    /// Make sure that what was written is on stable storage.
    #[error("flush")]
    Flush,
    /// Ask for its type, owner and size.
    #[error("inspect")]
    Inspect,
    /// Read the names in the directory.
    #[error("list")]
    List,
    /// Wait for the lock of the file or directory.
    #[error("lock")]
    Lock,
    /// Make the directory.
    #[error("make")]
    Make,
    /// Open.
    #[error("open")]
    Open,
    /// Read.
    #[error("read")]
    Read,
    /// Remove.
    #[error("remove")]
    Remove,
    /// Give it another name, or exchange two names.
    #[error("rename")]
    Rename,
    /// Cut off what a dead writer left in it.
    #[error("repair")]
    Repair,
    /// Put a new file in its place, in one step.
    #[error("replace")]
    Replace,
    /// Write.
    #[error("write")]
    Write,
    /// Write a temporary file beside it.
    #[error("write beside")]
    WriteBeside,
}

impl Operation {
    /// Whether it changes nothing.
    fn is_reading(self) -> bool {
        matches!(self, Self::Inspect | Self::List | Self::Open | Self::Read)
    }
}

/// Why a file or directory could not be used.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The file or directory does not exist.
    #[error("{} does not exist", path.display())]
    NotFound {
        /// Where nothing is.
        path: PathBuf,
    },
    /// The name is taken.
    #[error("{} exists already", path.display())]
    Exists {
        /// The existing file or directory.
        path: PathBuf,
    },
    /// Following or writing this path could reach files elsewhere, so it is refused.
    #[error("{} {hazard}", path.display())]
    Unsafe {
        /// The file or directory that is refused.
        path: PathBuf,
        /// Why it is unsafe.
        hazard: Hazard,
    },
    /// The file is larger than its limit.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: usize,
    },
    /// A file that must be text is not.
    #[error("{} is not UTF-8 text", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// The system does not let this user read or change what belongs to another one.
    #[error("cannot {action} {}, which belongs to {}", path.display(), owner_in_words(*.owner))]
    NotOurs {
        /// What was tried.
        action: Operation,
        /// The file or directory of the other user.
        path: PathBuf,
        /// The other user's id.
        owner: u32,
        /// The system's error.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: Operation,
        /// The file or directory of the system call.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl DiskError {
    /// The error of a system call.
    pub(crate) fn io(action: Operation, path: PathBuf, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path, source: source.into() }
    }

    /// Whether the error means that the file does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether flow must not touch the file: it is unsafe, or permissions forbid it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        match self {
            Self::Unsafe { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            Self::NotOurs { .. } => true,
            _ => false,
        }
    }
}

/// A user in a sentence.
pub(crate) fn owner_in_words(owner: u32) -> String {
    if owner == 0 { "root".to_owned() } else { format!("user {owner}") }
}

/// How to get back what another user left behind, for instance root in a container.
pub(crate) fn make_it_yours(path: &Path) -> String {
    // All of `.flow`: what is given back in part leaves the next command at the same error.
    let whole = path.ancestors().find(|above| above.ends_with(".flow")).unwrap_or(path);
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let place = crate::model::quoted(&whole.to_string_lossy());
    format!("make it yours: sudo chown -R {user}:{group} {place}")
}

impl Explain for DiskError {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::NotFound { .. } => new(Kind::NotFound, "not_found"),
            Self::Exists { .. } => new(Kind::Refused, "run_exists").help("use another id, or go on with that run"),
            Self::Unsafe { path, hazard } => new(Kind::Unsafe, "unsafe_path").help(match hazard {
                Hazard::Symlink if path.ends_with(".flow") => {
                    "put a plain directory in its place, or name the one to which it leads with FLOW_DIR"
                }
                Hazard::HardLink => "put a copy of its own in its place: cp FILE COPY && mv COPY FILE",
                Hazard::ForeignOwner { .. } => {
                    "run flow as the owner, or set FLOW_TRUST_OWNER=1 when that user is trusted"
                }
                Hazard::Directory => "a file belongs there: move the directory away, or run `flow doctor --repair`",
                Hazard::File => {
                    "a directory belongs there: move the file away, and bring the directory back with git if it was committed"
                }
                _ => "flow follows no links below .flow; put a plain file or directory in its place",
            }),
            Self::TooLarge { .. } => new(Kind::Damaged, "too_large")
                .help("shorten it, or bring an earlier one back with git; nothing was written"),
            Self::NotUtf8 { .. } => new(Kind::Damaged, "not_utf8").help("bring an earlier version back with git"),
            Self::NotOurs { path, action, source, .. } => {
                let recorded = if action.is_reading() { "" } else { "; nothing was recorded" };
                new(Kind::Io, "io_error").help(format!("{}{recorded}", make_it_yours(path))).caused_by(source)
            }
            Self::Io { source, action, .. } => new(Kind::Io, "io_error")
                .help(match action {
                    // A file is opened to write as well.
                    _ if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                        "make it writable, then try again; nothing was recorded"
                    }
                    // To read, or to write: a lock, for instance.
                    _ if matches!(action, Operation::Open) => "make it readable and writable, then try again",
                    action if action.is_reading() => "make it readable, then try again",
                    _ => "nothing was recorded; try again when the cause is gone",
                })
                .caused_by(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_only_be_read_is_to_be_made_writable() {
        let source = io::ErrorKind::ReadOnlyFilesystem.into();
        let problem = DiskError::Io { path: "x".into(), action: Operation::Open, source }.problem();
        assert_eq!(problem.help.unwrap().to_string(), "make it writable, then try again; nothing was recorded");
    }

    #[test]
    fn only_what_writes_says_that_nothing_was_recorded() {
        for (action, says) in [
            (Operation::Open, false),
            (Operation::List, false),
            (Operation::Inspect, false),
            (Operation::Read, false),
            (Operation::Lock, true),
            (Operation::Append, true),
        ] {
            let source = io::ErrorKind::PermissionDenied.into();
            let problem = DiskError::Io { path: "x".into(), action, source }.problem();
            assert_eq!(format!("{problem:?}").contains("nothing was recorded"), says, "{action}");
        }
    }
}
