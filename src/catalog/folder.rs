//! Reads untrusted files of a project, which may come with a clone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::CatalogError;
use crate::codec::Place as TextPlace;
use crate::disk::{Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, read_up_to};
use crate::machine::{Diagnostic, Name};
use crate::model::limits;

/// An open directory.
pub(crate) struct Folder {
    disk: Arc<dyn Disk>,
    handle: Arc<dyn DiskDir>,
    path: PathBuf,
    links: bool,
}

impl Folder {
    /// The directory at `path`; `None` if it does not exist. With `links`, it and the names below it may be symbolic
    /// links.
    pub(crate) fn open(disk: &Arc<dyn Disk>, path: &Path, links: bool) -> Result<Option<Self>, CatalogError> {
        let opened = if links {
            disk.open(path)
        } else {
            let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            disk.open(parent).and_then(|parent| parent.open_dir(name))
        };
        match opened {
            Ok(handle) => Ok(Some(Self { disk: Arc::clone(disk), handle, path: path.to_owned(), links })),
            Err(Errno::NOENT) => Ok(None),
            // A file in place of a directory of definitions holds no definitions.
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

    /// The names in it, unsorted, without those that are not UTF-8.
    pub(crate) fn names(&self) -> Result<Vec<String>, CatalogError> {
        let names = self.handle.names().map_err(|error| io_error(&self.path, error))?;
        // No id could name any other file.
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// The text of `file`, which may be `name` or `dir/name`; `None` if it does not exist.
    pub(crate) fn read(&self, file: &str) -> Result<Option<String>, CatalogError> {
        let path = self.join(file);
        let opened = match file.split_once('/') {
            _ if self.links => self.disk.open_file(&path, Open::Read, Links::Follow),
            None => self.handle.open_file(file.as_ref(), Open::Read),
            Some((dir, file)) => {
                self.handle.open_dir(dir.as_ref()).and_then(|dir| dir.open_file(file.as_ref(), Open::Read))
            }
        };
        match opened {
            Ok(file) => read(&*file, &path).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(Errno::LOOP) => refused(&path, "is a symbolic link; flow follows none below .flow"),
            Err(Errno::NXIO) => refused(&path, "is not a regular file"),
            Err(error) => Err(io_error(&path, error)),
        }
    }
}

fn refused<T>(path: &Path, reason: &'static str) -> Result<T, CatalogError> {
    Err(CatalogError::Refused { path: path.to_owned(), reason })
}

fn read(file: &dyn DiskFile, path: &Path) -> Result<String, CatalogError> {
    let stat = file.stat().map_err(|error| io_error(path, error))?;
    if stat.kind != FileType::RegularFile {
        return refused(path, "is not a regular file");
    }
    let read = read_up_to(file, 0, stat.len, limits::WORKFLOW_BYTES);
    definition_text(path, read.map_err(|source| CatalogError::Io { path: path.to_owned(), source })?)
}

/// The bytes of the file at `path` as text. Fails if they are too many or not UTF-8.
pub(crate) fn definition_text(path: &Path, bytes: Vec<u8>) -> Result<String, CatalogError> {
    if bytes.len() > limits::WORKFLOW_BYTES {
        return Err(too_large(path));
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
    // Up to there the text has the same bytes as the file.
    let mut at = Name::nowhere("");
    at.place = TextPlace::of(&text, error.utf8_error().valid_up_to());
    let diagnostics = vec![Diagnostic::error("not_utf8", &at, "the file is not UTF-8 text")];
    Err(CatalogError::Invalid { path: path.to_owned(), text, diagnostics })
}

/// The error for a file that is larger than a definition may be.
pub(crate) fn too_large(path: &Path) -> CatalogError {
    let message = format!("the file is larger than {} bytes", limits::WORKFLOW_BYTES);
    let diagnostics = vec![Diagnostic::error("too_large", &Name::nowhere(""), message)];
    // Without its text: an excerpt would be as large as the file.
    CatalogError::Invalid { path: path.to_owned(), text: String::new(), diagnostics }
}

fn io_error(path: &Path, error: Errno) -> CatalogError {
    CatalogError::Io { path: path.to_owned(), source: error.into() }
}
