//! Reading files that came with a clone.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::catalog::CatalogError;
use crate::codec::Place as TextPlace;
use crate::machine::{Diagnostic, Name};
use crate::model::limits;

/// An open directory.
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
    links: bool,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Folder {
    /// The directory at `path`; none when it is not there. With `links` its name and those below it may be symbolic
    /// links.
    pub(crate) fn open(path: &Path, links: bool) -> Result<Option<Self>, CatalogError> {
        let opened = if links {
            rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())
        } else {
            let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            rustix::fs::open(parent, DIRECTORY, Mode::empty())
                .and_then(|parent| rustix::fs::openat(&parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
        };
        match opened {
            Ok(handle) => Ok(Some(Self { handle, path: path.to_owned(), links })),
            Err(Errno::NOENT) => Ok(None),
            // Not a directory of definitions, whatever it is.
            Err(Errno::NOTDIR) if links => Ok(None),
            // With O_DIRECTORY, Linux reports a symbolic link as ENOTDIR.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(CatalogError::Refused {
                path: path.to_owned(),
                reason: "is not a directory of its own; flow follows no symbolic links below .flow",
            }),
            Err(error) => Err(io_error(path, error)),
        }
    }

    /// The path of `file`, for messages.
    pub(crate) fn join(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// The names in it, unsorted; those that are no text are left out.
    pub(crate) fn names(&self) -> Result<Vec<String>, CatalogError> {
        let mut names = Vec::new();
        let entries = Dir::read_from(&self.handle).map_err(|error| io_error(&self.path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| io_error(&self.path, error))?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    /// The text of `file`, which may be in a directory of this one; none when there is no such file.
    pub(crate) fn read(&self, file: &str) -> Result<Option<String>, CatalogError> {
        let path = self.join(file);
        let absent = |error: Errno| match error {
            Errno::NOENT | Errno::NOTDIR => Ok(None),
            Errno::LOOP => refused(&path, "is a symbolic link; flow follows none below .flow"),
            Errno::NXIO => refused(&path, "is not a regular file"),
            error => Err(io_error(&path, error)),
        };
        let stay = if self.links { OFlags::empty() } else { OFlags::NOFOLLOW };
        // Not to wait for the writer of a FIFO, the file is opened without blocking and looked at afterwards.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | stay;
        let opened = match file.split_once('/') {
            None => rustix::fs::openat(&self.handle, file, flags, Mode::empty()),
            Some((dir, file)) => rustix::fs::openat(&self.handle, dir, DIRECTORY | stay, Mode::empty())
                .and_then(|dir| rustix::fs::openat(dir.as_fd(), file, flags, Mode::empty())),
        };
        match opened {
            Ok(handle) => read(File::from(handle), &path).map(Some),
            Err(error) => absent(error),
        }
    }
}

fn refused<T>(path: &Path, reason: &'static str) -> Result<T, CatalogError> {
    Err(CatalogError::Refused { path: path.to_owned(), reason })
}

fn read(file: File, path: &Path) -> Result<String, CatalogError> {
    let at_path = |source| CatalogError::Io { path: path.to_owned(), source };
    if !file.metadata().map_err(at_path)?.is_file() {
        return refused(path, "is not a regular file");
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also when it grows while it is read.
    let bound = u64::try_from(limits::WORKFLOW_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut bytes).map_err(at_path)?;
    definition_text(path, bytes)
}

/// The bytes of the file at `path` as text of bounded size.
pub(crate) fn definition_text(path: &Path, bytes: Vec<u8>) -> Result<String, CatalogError> {
    let invalid = |text: String, code, message: String, place| {
        let mut name = Name::nowhere("");
        name.place = place;
        let diagnostics = vec![Diagnostic::error(code, &name, message)];
        Err(CatalogError::Invalid { path: path.to_owned(), text, diagnostics })
    };
    if bytes.len() > limits::WORKFLOW_BYTES {
        let message = format!("the definition is larger than {} bytes", limits::WORKFLOW_BYTES);
        return invalid(String::new(), "too_large", message, TextPlace { line: 1, column: 1 });
    }
    String::from_utf8(bytes).or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let place = TextPlace::of(&text, valid);
        invalid(text, "not_utf8", "the definition is not UTF-8 text".into(), place)
    })
}

fn io_error(path: &Path, error: Errno) -> CatalogError {
    CatalogError::Io { path: path.to_owned(), source: error.into() }
}
