//! Replacing a document of the user's outside `.flow`: the decision journal.
//!
//! Others write the same file: the original scripts do so under the same lock `<file>.lock`, which is never deleted (a
//! waiter could hold the deleted one). The lock is taken before the file is opened, so that nobody edits a text that was
//! replaced while he waited. Every component below the repository's top is opened by itself and no symlink is followed;
//! after that only directory handles are used, so a directory that is swapped meanwhile changes nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, statat};
use rustix::io::Errno;
use thiserror::Error;

/// How long another writer is waited for.
const WAIT: Duration = Duration::from_secs(2);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A document that was not replaced. Its old text is untouched.
#[derive(Debug, Error)]
pub enum DocumentError<E: std::error::Error + 'static> {
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
    /// The edit was refused.
    #[error("{path} cannot be changed")]
    Edit {
        /// The document.
        path: PathBuf,
        /// Why.
        source: E,
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
}

/// Replaces the text of `relative` below `root` by what `edit` makes of it (`None`: there is no such file yet).
/// Missing directories are made. Nothing is written when `edit` fails or gives the same text.
///
/// # Errors
/// [`DocumentError`]; apart from [`DocumentError::Io`] with `doing: "make durable"`, which comes after the replacement,
/// the old text stands.
pub fn update_document<E: std::error::Error + 'static>(
    root: &Path,
    relative: &Path,
    limit: usize,
    edit: &mut dyn FnMut(Option<&str>) -> Result<String, E>,
) -> Result<(), DocumentError<E>> {
    let path = root.join(relative);
    let (parents, name) = split(relative)?;
    let directory = Directory::open(root, &parents)?;
    // Held until the end of this function.
    let _lock = directory.lock(name)?;
    let old = directory.read(name, limit)?;
    let text = edit(old.as_ref().map(|old| old.text.as_str()))
        .map_err(|source| DocumentError::Edit { path: path.clone(), source })?;
    if text.len() > limit {
        return Err(DocumentError::TooLarge { path, limit });
    }
    if old.as_ref().is_some_and(|old| old.text == text) {
        return Ok(());
    }
    directory.replace(name, &text, old.map(|old| old.mode))
}

/// The directories and the file name of a path that stays below its root.
fn split<E: std::error::Error + 'static>(relative: &Path) -> Result<(Vec<&OsStr>, &OsStr), DocumentError<E>> {
    let refuse = |why| DocumentError::Unsafe { path: relative.to_owned(), why };
    let mut parts = Vec::new();
    for component in relative.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err(refuse("leads upwards")),
            Component::RootDir | Component::Prefix(_) => return Err(refuse("is not relative")),
        }
    }
    let name = parts.pop().ok_or_else(|| refuse("names no file"))?;
    Ok((parts, name))
}

fn failed<E: std::error::Error + 'static>(
    doing: &'static str,
    path: &Path,
    source: impl Into<io::Error>,
) -> DocumentError<E> {
    DocumentError::Io { doing, path: path.to_owned(), source: source.into() }
}

/// An open directory; the path is for messages and for naming temporary files.
struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

struct Old {
    text: String,
    mode: Mode,
}

impl Directory {
    /// Opens `parents` below `root` one by one and makes those that are missing. How `root` itself is reached is the
    /// caller's business.
    fn open<E: std::error::Error + 'static>(root: &Path, parents: &[&OsStr]) -> Result<Self, DocumentError<E>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, root, flags, Mode::empty()).map_err(|error| failed("open", root, error))?;
        let mut directory = Self { handle, path: root.to_owned() };
        for part in parents {
            let path = directory.path.join(part);
            let open = || openat(&directory.handle, *part, flags | OFlags::NOFOLLOW, Mode::empty());
            let handle = match open() {
                Err(Errno::NOENT) => directory.make(part).and_then(|()| open()),
                other => other,
            };
            let handle = handle.map_err(|error| match error {
                Errno::LOOP | Errno::NOTDIR => directory.unsafe_component(part, "is not a directory"),
                error => failed("open", &path, error),
            })?;
            directory = Self { handle, path };
        }
        Ok(directory)
    }

    fn make(&self, part: &OsStr) -> Result<(), Errno> {
        match mkdirat(&self.handle, part, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) => Ok(()), // somebody was faster
            Err(error) => Err(error),
            Ok(()) => rustix::fs::fsync(&self.handle),
        }
    }

    fn unsafe_component<E: std::error::Error + 'static>(&self, part: &OsStr, why: &'static str) -> DocumentError<E> {
        let is_link = statat(&self.handle, part, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        DocumentError::Unsafe {
            path: self.path.join(part),
            why: if is_link { "is a symlink, which is not followed" } else { why },
        }
    }

    /// Opens a regular file. Without `NONBLOCK` a named pipe would wait for its other end.
    fn file<E: std::error::Error + 'static>(
        &self,
        name: &OsStr,
        flags: OFlags,
    ) -> Result<Option<File>, DocumentError<E>> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = self.path.join(name);
        let handle = match openat(&self.handle, name, flags, Mode::from_raw_mode(0o600)) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                return Err(self.unsafe_component(name, "is not a regular file"));
            }
            Err(error) => return Err(failed("open", &path, error)),
        };
        let stat = fstat(&handle).map_err(|error| failed("inspect", &path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(self.unsafe_component(name, "is not a regular file"));
        }
        Ok(Some(handle.into()))
    }

    fn lock<E: std::error::Error + 'static>(&self, document: &OsStr) -> Result<File, DocumentError<E>> {
        let mut name = document.to_owned();
        name.push(".lock");
        let path = self.path.join(&name);
        let Some(file) = self.file(&name, OFlags::RDWR | OFlags::CREATE)? else {
            return Err(failed("make", &path, Errno::NOENT));
        };
        let deadline = Instant::now() + WAIT;
        loop {
            match fs2::FileExt::try_lock_exclusive(&file) {
                Ok(()) => return Ok(file),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("lock", &path, error)),
            }
            if Instant::now() >= deadline {
                return Err(DocumentError::Busy { path });
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn read<E: std::error::Error + 'static>(
        &self,
        name: &OsStr,
        limit: usize,
    ) -> Result<Option<Old>, DocumentError<E>> {
        let path = self.path.join(name);
        let Some(file) = self.file(name, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let stat = fstat(&file).map_err(|error| failed("inspect", &path, error))?;
        let mut bytes = Vec::new();
        file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed("read", &path, error))?;
        if bytes.len() > limit {
            return Err(DocumentError::TooLarge { path, limit });
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| DocumentError::NotText { path, valid: error.utf8_error().valid_up_to() })?;
        let mode = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        Ok(Some(Old { text, mode }))
    }

    /// Removes temporary files of writers that died. Only called under the document's lock, so none is in use.
    fn sweep(&self, prefix: &OsStr) {
        let Ok(names) = rustix::fs::Dir::read_from(&self.handle) else { return };
        let (prefix, suffix) = (prefix.as_encoded_bytes(), b".tmp");
        for entry in names.flatten() {
            let name = entry.file_name().to_bytes();
            if name.starts_with(prefix) && name.ends_with(suffix) && name.len() == prefix.len() + 6 + suffix.len() {
                let _ = rustix::fs::unlinkat(&self.handle, entry.file_name(), rustix::fs::AtFlags::empty());
            }
        }
    }

    /// Temporary file, its bytes on stable storage, rename, the directory on stable storage.
    fn replace<E: std::error::Error + 'static>(
        &self,
        name: &OsStr,
        text: &str,
        mode: Option<Mode>,
    ) -> Result<(), DocumentError<E>> {
        let path = self.path.join(name);
        let mut prefix = OsStr::new(".").to_owned();
        prefix.push(name);
        prefix.push(".");
        self.sweep(&prefix);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = |temporary: &Path| -> io::Result<File> {
            let name = temporary.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(openat(&self.handle, name, flags, Mode::from_raw_mode(0o644))?.into())
        };
        let mut temporary = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .make_in(&self.path, create)
            .map_err(|error| failed("write beside", &path, error))?;
        let write = |file: &mut File| -> io::Result<()> {
            file.write_all(text.as_bytes())?;
            if let Some(mode) = mode {
                fchmod(&*file, mode)?;
            }
            file.sync_all()
        };
        write(temporary.as_file_mut()).map_err(|error| failed("write beside", &path, error))?;
        let from = temporary.path().file_name().unwrap_or_default();
        // Not `persist`: it goes by the path, and the directory may stand elsewhere by now.
        renameat(&self.handle, from, &self.handle, name).map_err(|error| failed("replace", &path, error))?;
        temporary.disable_cleanup(true);
        rustix::fs::fsync(&self.handle).map_err(|error| failed("make durable", &path, error))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files and processes directly")]
mod tests {
    use super::*;
    use std::fmt::Error as Refused;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const FILE: &str = ".decisions/issue-1.md";

    fn update(root: &Path, relative: &str, new: &str) -> Result<Option<String>, DocumentError<Refused>> {
        let mut seen = None;
        update_document(root, Path::new(relative), 100, &mut |old| {
            seen = old.map(str::to_owned);
            Ok(new.to_owned())
        })?;
        Ok(seen)
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_missing_document_is_made_with_its_directories() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(update(root.path(), "./a/b/c.md", "one").unwrap(), None);
        assert_eq!(update(root.path(), "a/b/c.md", "two").unwrap().as_deref(), Some("one"));
        assert_eq!(fs::read_to_string(root.path().join("a/b/c.md")).unwrap(), "two");
        assert_eq!(names(&root.path().join("a/b")), ["c.md", "c.md.lock"]);
        fs::write(root.path().join("probe"), "").unwrap();
        let mode = |path| fs::metadata(root.path().join(path)).unwrap().permissions().mode();
        assert_eq!(mode("a/b/c.md"), mode("probe"), "as any program makes a file, not private");
    }

    #[test]
    fn the_mode_of_the_old_file_stays() {
        let root = tempfile::tempdir().unwrap();
        update(root.path(), FILE, "one").unwrap();
        let path = root.path().join(FILE);
        for mode in [0o600, 0o664, 0o755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            update(root.path(), FILE, &format!("{mode}")).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn nothing_is_written_when_the_edit_fails_or_changes_nothing() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        update(root.path(), FILE, "one").unwrap();
        let path = root.path().join(FILE);
        let inode = fs::metadata(&path).unwrap().ino();
        update(root.path(), FILE, "one").unwrap();
        let refused = update_document(root.path(), Path::new(FILE), 100, &mut |_| Err(Refused));
        assert!(matches!(refused, Err(DocumentError::Edit { source: Refused, .. })));
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(names(path.parent().unwrap()), ["issue-1.md", "issue-1.md.lock"]);
    }

    #[test]
    fn paths_that_leave_the_root_are_refused() {
        let root = tempfile::tempdir().unwrap();
        for path in ["/etc/x", "../x", "a/../../x", "a/..", "", "."] {
            let error = update(root.path(), path, "x").unwrap_err();
            assert!(matches!(error, DocumentError::Unsafe { .. }), "{path}: {error}");
        }
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn no_symlink_is_followed_in_any_component() {
        let root = tempfile::tempdir().unwrap();
        let target = tempfile::tempdir().unwrap();
        let target_file = target.path().join("file");
        fs::write(&target_file, "theirs").unwrap();
        fs::create_dir_all(root.path().join("real/deep")).unwrap();
        symlink(target.path(), root.path().join("link")).unwrap();
        symlink(target.path(), root.path().join("real/link")).unwrap();
        symlink(&target_file, root.path().join("real/file.md")).unwrap();
        symlink(&target_file, root.path().join("real/other.md.lock")).unwrap();
        symlink("nowhere", root.path().join("real/dangling.md")).unwrap();
        for path in ["link/x", "real/link/x", "real/file.md", "real/other.md", "real/dangling.md"] {
            let error = update(root.path(), path, "x").unwrap_err();
            assert!(error.to_string().contains("is a symlink"), "{path}: {error}");
        }
        assert_eq!(names(target.path()), ["file"]);
        assert_eq!(fs::read_to_string(target_file).unwrap(), "theirs");
        assert!(!root.path().join("real/other.md").exists());

        let elsewhere = target.path().join("root");
        symlink(root.path(), &elsewhere).unwrap();
        update(&elsewhere, "real/deep/x", "x").unwrap();
    }

    #[test]
    fn only_bounded_text_in_regular_files_is_read() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| fs::write(root.path().join(name), bytes).unwrap();
        put("large", &[b'x'; 101]);
        put("binary", b"ab\xff");
        put("fits", &[b'x'; 100]);
        fs::create_dir(root.path().join("dir")).unwrap();
        let pipe = root.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let error = |name| update(root.path(), name, "new").unwrap_err();
        assert!(matches!(error("large"), DocumentError::TooLarge { limit: 100, .. }));
        assert!(matches!(error("binary"), DocumentError::NotText { valid: 2, .. }));
        for name in ["dir", "pipe", "fits/below"] {
            assert!(matches!(error(name), DocumentError::Unsafe { .. }), "{name}");
        }
        let long = update(root.path(), "fits", &"y".repeat(101)).unwrap_err();
        assert!(matches!(long, DocumentError::TooLarge { .. }));
        assert_eq!(fs::read(root.path().join("fits")).unwrap(), [b'x'; 100]);
    }

    #[test]
    fn a_lock_that_is_held_is_waited_for_but_not_for_ever() {
        let root = tempfile::tempdir().unwrap();
        let lock = File::create(root.path().join("x.lock")).unwrap();
        fs2::FileExt::try_lock_exclusive(&lock).unwrap();
        let start = Instant::now();
        assert!(matches!(update(root.path(), "x", "new"), Err(DocumentError::Busy { .. })));
        assert!(start.elapsed() >= WAIT);
        assert!(!root.path().join("x").exists());
        drop(lock);
        update(root.path(), "x", "new").unwrap();
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let root = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let mut add = |old: Option<&str>| Ok::<_, Refused>(format!("{}x", old.unwrap_or_default()));
                        update_document(root.path(), Path::new(FILE), 100, &mut add).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(root.path().join(FILE)).unwrap(), "x".repeat(40));
    }
}
