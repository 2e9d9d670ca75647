//! Where a document is: a directory that exists, and the path below it.

use std::path::{Path, PathBuf};

use crate::disk::error::Operation;
use crate::disk::fault::DocumentFault;
use crate::disk::file_system::{Disk, Errno, FileType, Links};

/// Why a path has no root for [`DocumentPlace`](crate::disk::DocumentPlace).
#[derive(Debug)]
pub(crate) enum NoRoot<'p> {
    /// It names no file.
    NoFile,
    /// Something on the way is not a directory.
    BelowFile,
    /// This directory cannot be looked at.
    Unseen(&'p Path, Errno),
}

impl NoRoot<'_> {
    /// The fault to report for the document, by the path that the caller gave.
    pub(crate) fn fault(self, named: &Path) -> DocumentFault {
        match self {
            Self::NoFile => DocumentFault::refused(named, "names no file"),
            Self::BelowFile => DocumentFault::refused(named, "is below something that is not a directory"),
            Self::Unseen(path, errno) => DocumentFault::io(Operation::Inspect, path, errno),
        }
    }
}

/// The root and the relative path of the document at `path`: the deepest directory on the way that exists, without links,
/// and the rest.
pub(crate) fn root_of<'p>(disk: &dyn Disk, path: &'p Path) -> Result<(PathBuf, PathBuf), NoRoot<'p>> {
    let mut root = path.parent().ok_or(NoRoot::NoFile)?;
    loop {
        match disk.look(root, Links::Follow).map(|stat| stat.kind) {
            Ok(FileType::Directory) => break,
            Ok(_) | Err(Errno::NOTDIR) => return Err(NoRoot::BelowFile),
            Err(Errno::NOENT) => root = root.parent().ok_or(NoRoot::NoFile)?,
            Err(errno) => return Err(NoRoot::Unseen(root, errno)),
        }
    }
    // Links are resolved here once, because below the root none is followed.
    let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
    Ok((disk.canonical(root).map_err(|errno| NoRoot::Unseen(root, errno))?, relative))
}
