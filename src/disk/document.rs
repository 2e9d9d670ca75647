//! Replaces a user's document outside `.flow`, such as the decision journal or the document of an interview.
//!
//! Nothing else has the contents of such a document, so it needs no log: its whole new text is written to a temporary
//! file beside it, flushed, and exchanged with it in one rename. The text that comes out of the exchange is checked: if
//! a person saved the document since it was read, their text is put back and the edit is made again on top of it.
//!
//! Each component below the root is opened by itself, and no symlink is followed; after that only directory handles are
//! used, so replacing a directory meanwhile has no effect.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::disk::dir::write_all;
use crate::disk::document_dir::{DocumentDir, OldDocument};
use crate::disk::document_lock::{DocumentLock, Guard};
use crate::disk::error::Operation;
use crate::disk::fault::{DocumentError, DocumentFault};
use crate::disk::file_system::{Disk, DiskFile, Errno, Links, Open, Rename};
use crate::disk::rights::Rights;
use crate::model::Problem;

/// How often to repeat an edit of a document that another program saves again and again.
const TRIES: usize = 5;
/// The suffix of temporary files before the exchange.
const TEMPORARY: &[u8] = b".tmp";
/// The suffix of the file that is exchanged with a document.
const SWAP: &[u8] = b".swap";
/// Separates the digests of the two texts.
const BETWEEN: u8 = b'_';

/// A document, and how to read and write it.
#[derive(Debug, Clone, Copy)]
pub struct DocumentPlace<'a> {
    /// The file system.
    pub disk: &'a dyn Disk,
    /// A directory. Links on the way to it are followed.
    pub root: &'a Path,
    /// The document's path below the root.
    pub relative: &'a Path,
    /// Its largest size in bytes.
    pub limit: usize,
    /// The lock to take.
    pub guard: Guard,
    /// How long to wait for another writer.
    pub wait: Duration,
    /// For a copy that is written once: the original, in the same directory. The temporary files of the copy are named
    /// after it, so that its writers remove those of a dead writer.
    pub copy_of: Option<&'a OsStr>,
    /// The digest of a text. It is part of the names of files that are exchanged with the document.
    pub digest: fn(&[u8]) -> String,
    /// Who knows whether a document that is not there exists anyway.
    pub absence: &'a dyn Absence,
}

/// Knows files that are not there and exist anyway, such as those that a sparse checkout leaves out.
pub trait Absence: Debug {
    /// Why nothing may take the place of the file at `path`, which is not there; `None` if it does not exist.
    fn elsewhere(&self, path: &Path) -> Option<Problem>;
}

/// For files that no one else keeps.
impl Absence for () {
    fn elsewhere(&self, _: &Path) -> Option<Problem> {
        None
    }
}

impl DocumentPlace<'_> {
    fn path(&self) -> PathBuf {
        self.root.join(self.relative)
    }

    /// Refuses to take a document that is not there for one that does not exist, if it exists elsewhere.
    fn refuse_elsewhere(&self) -> Result<(), DocumentFault> {
        match self.absence.elsewhere(&self.path()) {
            Some(problem) => Err(DocumentFault::Elsewhere(problem)),
            None => Ok(()),
        }
    }
}

/// The text of a document; `None` if the file does not exist. Takes no lock, because a document is replaced atomically.
///
/// # Errors
/// [`DocumentFault`].
pub fn read_document(place: &DocumentPlace<'_>) -> Result<Option<String>, DocumentFault> {
    let (parents, name) = split(place.relative)?;
    if let Some(dir) = DocumentDir::open(place.disk, place.root, &parents)?
        && let Some(old) = dir.read(name, place.limit)?
    {
        return Ok(Some(old.text));
    }
    place.refuse_elsewhere()?;
    Ok(None)
}

/// Replaces the text of a document by the result of `edit`, which gets the old text (`None` if there is no file yet).
/// Creates missing directories. Writes nothing if `edit` fails or returns the same text. Calls `edit` again if another
/// program saved the document meanwhile.
///
/// # Errors
/// [`DocumentError`]; the document then has its old text, except after [`DocumentFault::Unconfirmed`].
pub fn update_document<E: std::error::Error + 'static>(
    place: &DocumentPlace<'_>,
    edit: &mut dyn FnMut(Option<&str>) -> Result<String, E>,
) -> Result<(), DocumentError<E>> {
    edit_document(place, &mut |old| edit(old).map(Some))
}

/// An edit of a document: the old text in, the new one out; `None` stands for no file.
pub type Edit<'e, E> = dyn FnMut(Option<&str>) -> Result<Option<String>, E> + 'e;

/// As [`update_document`], and removes the file if `edit` returns `None`.
///
/// # Errors
/// As [`update_document`].
pub fn edit_document<E: std::error::Error + 'static>(
    place: &DocumentPlace<'_>,
    edit: &mut Edit<'_, E>,
) -> Result<(), DocumentError<E>> {
    let (parents, name) = split(place.relative)?;
    // Before anything is made.
    if place.disk.look(&place.path(), Links::Refuse) == Err(Errno::NOENT) {
        place.refuse_elsewhere()?;
    }
    let dir = DocumentDir::ensure(place.disk, place.root, &parents)?;
    let lock = DocumentLock::take(&dir, name, place.guard, place.wait)?;
    let updated = dir.update(place, name, edit);
    lock.release(&dir);
    updated
}

/// Settles a document that stays as it is: its writer may have died before the directory was flushed, and dead writers may
/// have left files beside it. What cannot be done now stays for the next writer.
pub fn settle_document(place: &DocumentPlace<'_>) {
    let Ok((parents, name)) = split(place.relative) else { return };
    let Ok(Some(dir)) = DocumentDir::open(place.disk, place.root, &parents) else { return };
    // Taking the lock may make a file.
    if !dir.left(name).is_empty()
        && let Ok(lock) = DocumentLock::take(&dir, name, place.guard, place.wait)
    {
        dir.sweep(place, name);
        lock.release(&dir);
    }
    let _ = dir.confirm(place.path());
}

/// The directories and the file name of a path that stays below its root.
fn split(relative: &Path) -> Result<(Vec<&OsStr>, &OsStr), DocumentFault> {
    let mut parts = Vec::new();
    for component in relative.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err(DocumentFault::refused(relative, "leads upwards")),
            Component::RootDir | Component::Prefix(_) => {
                return Err(DocumentFault::refused(relative, "is not relative"));
            }
        }
    }
    let name = parts.pop().ok_or_else(|| DocumentFault::refused(relative, "names no file"))?;
    Ok((parts, name))
}

/// Whether the new text replaced the old one.
#[derive(Debug, PartialEq, Eq)]
enum ReplaceOutcome {
    Yes,
    /// No: another text was there by then, and is in place again.
    ChangedMeanwhile,
}

impl DocumentDir {
    /// [`edit_document`] with the lock held.
    fn update<E: std::error::Error + 'static>(
        &self,
        place: &DocumentPlace<'_>,
        name: &OsStr,
        edit: &mut Edit<'_, E>,
    ) -> Result<(), DocumentError<E>> {
        let path = place.path();
        self.sweep(place, name);
        for _ in 0..TRIES {
            let old = self.read(name, place.limit)?;
            let old_text = old.as_ref().map(|old| old.text.as_str());
            let text = edit(old_text).map_err(|source| DocumentError::Edit { path: path.clone(), source })?;
            if let Some(text) = &text
                && text.len() > place.limit
            {
                return Err(DocumentFault::TooLarge { path, limit: place.limit }.into());
            }
            if text.as_deref() == old_text {
                // Who wrote that may have been killed before it was flushed, and this caller takes it for written.
                self.confirm(path)?;
                return Ok(());
            }
            // Only a text that changes would be lost under the other name.
            if let Some(old) = &old
                && old.is_linked
            {
                let why = "has another name as well (a hard link), under which the old text would stay";
                return Err(DocumentFault::Unsafe { path, why }.into());
            }
            let replaced = match (&text, &old) {
                (Some(text), old) => self.replace(place, name, text, old.as_ref())?,
                (None, Some(old)) => self.take_away(place, name, &old.text)?,
                (None, None) => ReplaceOutcome::Yes,
            };
            if replaced == ReplaceOutcome::Yes {
                return Ok(());
            }
        }
        Err(DocumentFault::Changing { path }.into())
    }

    /// Removes what dead writers left beside the document `name`. Called only under its lock, so none of it is in use.
    fn sweep(&self, place: &DocumentPlace<'_>, name: &OsStr) {
        for found in self.left(name) {
            let rest = &found.as_bytes()[hidden(name).len()..];
            let is_ours = if let Some(random) = rest.strip_suffix(TEMPORARY) {
                random.len() == 6
            } else if let Some(digests) = rest.strip_suffix(SWAP)
                && let Ok(Some(held)) = self.read(&found, place.limit)
            {
                // If it holds neither of the two texts, a person saved that during the exchange, and it stays.
                let held = (place.digest)(held.text.as_bytes());
                digests.split(|byte| *byte == BETWEEN).any(|digest| digest == held.as_bytes())
            } else {
                false
            };
            if is_ours {
                self.remove(&found);
            }
        }
    }

    /// The files beside the document `name` that have names as its writers give them.
    fn left(&self, name: &OsStr) -> Vec<OsString> {
        let prefix = hidden(name);
        let mut left = Vec::new();
        for found in self.handle.names().unwrap_or_default() {
            if let Some(rest) = found.as_bytes().strip_prefix(prefix.as_bytes())
                && (rest.ends_with(TEMPORARY) || rest.ends_with(SWAP))
            {
                left.push(found);
            }
        }
        left
    }

    /// Writes a temporary file, flushes it, renames it and flushes the directory. At every moment the new text is
    /// readable only by those who may read the old one (or the original of a copy).
    fn replace(
        &self,
        place: &DocumentPlace<'_>,
        name: &OsStr,
        text: &str,
        old: Option<&OldDocument>,
    ) -> Result<ReplaceOutcome, DocumentFault> {
        let path = self.path.join(name);
        let rights = match (old, place.copy_of) {
            (Some(old), _) => Some(old.rights),
            (None, Some(original)) => self.rights(original)?,
            (None, None) => None,
        };
        // Private until it has the rights of the file that it replaces.
        let how = Open::New { mode: if rights.is_some() { 0o600 } else { 0o666 } };
        // The temporary file is not removed by its path either: the directory may have been moved.
        let temporary = tempfile::Builder::new()
            .prefix(&hidden(place.copy_of.unwrap_or(name)))
            .suffix(OsStr::from_bytes(TEMPORARY))
            .disable_cleanup(true)
            .make_in(&self.path, |temporary| {
                let name = temporary.file_name().ok_or(io::ErrorKind::InvalidInput)?;
                Ok(self.handle.open_file(name, how)?)
            })
            .map_err(|error| self.not_made(&path, error))?;
        let from = temporary.path().file_name().unwrap_or_default();
        let replaced = match (self.fill(&**temporary.as_file(), text, rights), old) {
            (Ok(()), Some(old)) => self.exchange(place, from, name, &old.text, text),
            (Ok(()), None) => match self.flush_above(place.disk, place.root) {
                Ok(()) => self.put(from, name),
                Err(errno) => Err(DocumentFault::io(Operation::WriteBeside, &path, errno)),
            },
            (Err(error), _) => Err(DocumentFault::io(Operation::WriteBeside, &path, error)),
        };
        if !matches!(replaced, Ok(ReplaceOutcome::Yes)) {
            self.remove(from);
            return replaced;
        }
        self.confirm(path)
    }

    /// Writes and flushes a temporary file.
    fn fill(&self, file: &dyn DiskFile, text: &str, rights: Option<Rights>) -> io::Result<()> {
        if let Some(rights) = rights {
            rights.give(file)?;
        } else if let Some((user, group)) = self.heir() {
            let _ = file.set_owner(Some(user), Some(group));
        }
        write_all(file, text.as_bytes())?;
        Ok(file.sync_all()?)
    }

    /// Flushes the directory, so that no power cut brings the old text back.
    fn confirm(&self, path: PathBuf) -> Result<ReplaceOutcome, DocumentFault> {
        match self.handle.sync() {
            Ok(()) => Ok(ReplaceOutcome::Yes),
            Err(errno) => Err(DocumentFault::Unconfirmed { path, source: errno.into() }),
        }
    }

    /// Renames the document away, looks whether it is the text that was read, and removes it then.
    fn take_away(&self, place: &DocumentPlace<'_>, name: &OsStr, old: &str) -> Result<ReplaceOutcome, DocumentFault> {
        let aside = swap_name(name, place.digest, old, "");
        match self.rename(name, &aside, Rename::Replace) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(ReplaceOutcome::ChangedMeanwhile),
            Err(errno) => return Err(self.not_replaced(name, errno)),
        }
        let held = self.holds(&aside, old);
        if !matches!(held, Ok(true)) {
            // If the document was saved once more meanwhile, that text stays in place, and this one beside it.
            self.put(&aside, name)?;
            held?;
            return Ok(ReplaceOutcome::ChangedMeanwhile);
        }
        self.remove(&aside);
        self.confirm(self.path.join(name))
    }

    /// Renames `from` to `name`, which must not exist.
    fn put(&self, from: &OsStr, name: &OsStr) -> Result<ReplaceOutcome, DocumentFault> {
        match self.rename(from, name, Rename::NoReplace) {
            Ok(()) => return Ok(ReplaceOutcome::Yes),
            Err(Errno::EXIST) => return Ok(ReplaceOutcome::ChangedMeanwhile),
            Err(errno) if is_unknown(errno) => {}
            Err(errno) => return Err(self.not_replaced(name, errno)),
        }
        // This file system replaces whatever has the name, so look first.
        match self.handle.look(name) {
            Err(Errno::NOENT) => {
                self.rename(from, name, Rename::Replace).map_err(|errno| self.not_replaced(name, errno))?;
                Ok(ReplaceOutcome::Yes)
            }
            Ok(_) => Ok(ReplaceOutcome::ChangedMeanwhile),
            Err(errno) => Err(self.not_replaced(name, errno)),
        }
    }

    /// Exchanges `from`, which holds `text`, with `name`, which should hold `old`.
    fn exchange(
        &self,
        place: &DocumentPlace<'_>,
        from: &OsStr,
        name: &OsStr,
        old: &str,
        text: &str,
    ) -> Result<ReplaceOutcome, DocumentFault> {
        // Named after both texts, so that a sweep can tell later what a dead writer left from a person's save.
        let swap = swap_name(name, place.digest, old, text);
        self.rename(from, &swap, Rename::Replace).map_err(|errno| self.not_replaced(name, errno))?;
        match self.rename(&swap, name, Rename::Exchange) {
            Ok(()) => self.check_exchanged(&swap, name, old, text),
            Err(Errno::NOENT) => {
                self.remove(&swap);
                Ok(ReplaceOutcome::ChangedMeanwhile)
            }
            Err(errno) if is_unknown(errno) => {
                let replaced = self.replace_without_exchange(&swap, name, old)?;
                if replaced != ReplaceOutcome::Yes {
                    self.remove(&swap);
                }
                Ok(replaced)
            }
            Err(errno) => {
                self.remove(&swap);
                Err(self.not_replaced(name, errno))
            }
        }
    }

    /// Removes `swap`, which came out of the exchange, if it is the text that was read, and exchanges it back otherwise.
    fn check_exchanged(
        &self,
        swap: &OsStr,
        name: &OsStr,
        old: &str,
        text: &str,
    ) -> Result<ReplaceOutcome, DocumentFault> {
        let held = self.holds(swap, old);
        if matches!(held, Ok(true)) {
            self.remove(swap);
            return Ok(ReplaceOutcome::Yes);
        }
        self.rename(swap, name, Rename::Exchange).map_err(|errno| self.not_replaced(name, errno))?;
        // If the document was saved once more during the exchange, that text stays in place, and the earlier one beside
        // it.
        if self.holds(swap, text).unwrap_or(false) {
            self.remove(swap);
        }
        held?;
        Ok(ReplaceOutcome::ChangedMeanwhile)
    }

    /// For file systems that cannot exchange two names. A text saved between the check and the rename is lost; see
    /// `docs/durability.md`.
    fn replace_without_exchange(&self, swap: &OsStr, name: &OsStr, old: &str) -> Result<ReplaceOutcome, DocumentFault> {
        if !self.holds(name, old)? {
            return Ok(ReplaceOutcome::ChangedMeanwhile);
        }
        self.rename(swap, name, Rename::Replace).map_err(|errno| self.not_replaced(name, errno))?;
        Ok(ReplaceOutcome::Yes)
    }

    fn not_replaced(&self, name: &OsStr, errno: Errno) -> DocumentFault {
        DocumentFault::io(Operation::Replace, &self.path.join(name), errno)
    }
}

/// The prefix of temporary files beside the document `name`.
fn hidden(name: &OsStr) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden
}

/// The name of the file that is exchanged with a document, after the digests of both texts.
fn swap_name(name: &OsStr, digest: fn(&[u8]) -> String, old: &str, new: &str) -> OsString {
    let mut swap = hidden(name);
    swap.push(format!("{}{}{}", digest(old.as_bytes()), char::from(BETWEEN), digest(new.as_bytes())));
    swap.push(OsStr::from_bytes(SWAP));
    swap
}

/// Whether the error means that the file system does not know this kind of rename.
fn is_unknown(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files and processes directly")]
mod tests {
    use super::*;
    use crate::disk::file_system::FileType;
    use crate::disk::os::Os;
    use rustix::fs::{CWD, Mode};
    use std::fmt::Error as Refused;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Instant;

    const FILE: &str = ".decisions/issue-1.md";

    const WAIT: Duration = Duration::from_secs(2);

    fn place<'a>(root: &'a Path, relative: &'a str) -> DocumentPlace<'a> {
        DocumentPlace {
            disk: &Os,
            root,
            relative: Path::new(relative),
            limit: 100,
            guard: Guard::LockFile,
            wait: WAIT,
            copy_of: None,
            digest,
            absence: &(),
        }
    }

    fn digest(text: &[u8]) -> String {
        format!("{}-{}", text.len(), text.iter().map(|byte| u32::from(*byte)).sum::<u32>())
    }

    fn update(root: &Path, relative: &str, new: &str) -> Result<Option<String>, DocumentError<Refused>> {
        let mut seen = None;
        update_document(&place(root, relative), &mut |old| {
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
        assert_eq!(names(&root.path().join("a/b")), ["c.md"]);
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
    fn the_owner_of_the_old_file_stays_where_the_system_allows_it() {
        use std::os::unix::fs::{MetadataExt, chown};
        let root = tempfile::tempdir().unwrap();
        update(root.path(), FILE, "one").unwrap();
        let path = root.path().join(FILE);
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(&path, Some(4711), Some(4712)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let owner = |meta: fs::Metadata| (meta.uid(), meta.gid(), meta.mode() & 0o777);
        let before = owner(fs::metadata(&path).unwrap());
        update(root.path(), FILE, "two").unwrap();
        assert_eq!(owner(fs::metadata(&path).unwrap()), before);
    }

    #[test]
    fn a_copy_is_as_private_as_its_original() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x.md"), "mine").unwrap();
        fs::set_permissions(root.path().join("x.md"), fs::Permissions::from_mode(0o600)).unwrap();
        let copy = DocumentPlace { copy_of: Some(OsStr::new("x.md")), ..place(root.path(), "copy.md") };
        update_document(&copy, &mut |_| Ok::<_, Refused>("mine".to_owned())).unwrap();
        assert_eq!(fs::metadata(root.path().join("copy.md")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_with_another_name_is_not_replaced_under_one_of_them() {
        let root = tempfile::tempdir().unwrap();
        update(root.path(), FILE, "one").unwrap();
        fs::hard_link(root.path().join(FILE), root.path().join("other")).unwrap();
        let refused = update(root.path(), FILE, "two").unwrap_err();
        assert!(refused.to_string().contains("has another name as well (a hard link)"), "{refused}");
        assert_eq!(fs::read_to_string(root.path().join("other")).unwrap(), "one");
        assert_eq!(
            update(root.path(), FILE, "one").unwrap().as_deref(),
            Some("one"),
            "nothing changes, so nothing is lost"
        );
    }

    #[test]
    fn nothing_is_written_when_the_edit_fails_or_changes_nothing() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        update(root.path(), FILE, "one").unwrap();
        let path = root.path().join(FILE);
        let inode = fs::metadata(&path).unwrap().ino();
        update(root.path(), FILE, "one").unwrap();
        let refused = update_document(&place(root.path(), FILE), &mut |_| Err(Refused));
        assert!(matches!(refused, Err(DocumentError::Edit { source: Refused, .. })));
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(names(path.parent().unwrap()), ["issue-1.md"]);
    }

    #[test]
    fn paths_that_leave_the_root_are_refused() {
        let root = tempfile::tempdir().unwrap();
        for path in ["/etc/x", "../x", "a/../../x", "a/..", "", "."] {
            let error = update(root.path(), path, "x").unwrap_err();
            assert!(matches!(error, DocumentError::Fault(DocumentFault::Unsafe { .. })), "{path}: {error}");
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
        assert!(matches!(error("large"), DocumentError::Fault(DocumentFault::TooLarge { limit: 100, .. })));
        assert!(matches!(error("binary"), DocumentError::Fault(DocumentFault::NotText { valid: 2, .. })));
        for name in ["dir", "pipe", "fits/below"] {
            assert!(matches!(error(name), DocumentError::Fault(DocumentFault::Unsafe { .. })), "{name}");
        }
        let long = update(root.path(), "fits", &"y".repeat(101)).unwrap_err();
        assert!(matches!(long, DocumentError::Fault(DocumentFault::TooLarge { .. })));
        assert_eq!(fs::read(root.path().join("fits")).unwrap(), [b'x'; 100]);
    }

    #[test]
    fn a_lock_that_is_held_is_waited_for_but_not_for_ever() {
        let root = tempfile::tempdir().unwrap();
        let lock = fs::File::create(root.path().join("x.lock")).unwrap();
        fs2::FileExt::try_lock_exclusive(&lock).unwrap();
        let start = Instant::now();
        assert!(matches!(update(root.path(), "x", "new"), Err(DocumentError::Fault(DocumentFault::Busy { .. }))));
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
                        update_document(&place(root.path(), FILE), &mut add).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(root.path().join(FILE)).unwrap(), "x".repeat(40));
    }

    /// A document with this text, and one edit that adds a word; `first` happens between reading and writing.
    fn add_a_word(guard: Guard, first: impl Fn(&Path)) -> (tempfile::TempDir, usize) {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x.md"), "old").unwrap();
        let mut calls = 0;
        let mut edit = |old: Option<&str>| {
            calls += 1;
            if calls == 1 {
                first(root.path());
            }
            Ok::<_, Refused>(format!("{} word", old.unwrap_or("none")))
        };
        update_document(&DocumentPlace { guard, ..place(root.path(), "x.md") }, &mut edit).unwrap();
        (root, calls)
    }

    #[test]
    fn what_somebody_saves_meanwhile_is_not_lost() {
        for guard in [Guard::LockFile, Guard::Directory] {
            let text = |root: &tempfile::TempDir| fs::read_to_string(root.path().join("x.md")).unwrap();
            let (root, calls) = add_a_word(guard, |_| {});
            assert_eq!((text(&root).as_str(), calls), ("old word", 1));
            let (root, calls) = add_a_word(guard, |root| fs::write(root.join("x.md"), "theirs").unwrap());
            assert_eq!((text(&root).as_str(), calls), ("theirs word", 2), "saved in place");
            let (root, calls) = add_a_word(guard, |root| {
                fs::write(root.join("new"), "moved").unwrap();
                fs::rename(root.join("new"), root.join("x.md")).unwrap();
            });
            assert_eq!((text(&root).as_str(), calls), ("moved word", 2), "saved by a rename");
            let (root, calls) = add_a_word(guard, |root| fs::remove_file(root.join("x.md")).unwrap());
            assert_eq!((text(&root).as_str(), calls), ("none word", 2), "removed");
            assert_eq!(names(root.path()), ["x.md"], "nothing is left behind");
        }
        let root = tempfile::tempdir().unwrap();
        let made = update_document(&place(root.path(), "x.md"), &mut |old: Option<&str>| {
            if old.is_none() {
                fs::write(root.path().join("x.md"), "first").unwrap();
            }
            Ok::<_, Refused>(format!("{} word", old.unwrap_or("none")))
        });
        made.unwrap();
        assert_eq!(fs::read_to_string(root.path().join("x.md")).unwrap(), "first word");
    }

    #[test]
    fn a_document_is_removed_only_with_the_text_that_was_seen() {
        let remove = |root: &Path, first: &dyn Fn(Option<&str>)| {
            let mut edit = |old: Option<&str>| {
                first(old);
                Ok::<_, Refused>(old.filter(|old| *old != "ours").map(str::to_owned))
            };
            edit_document(&DocumentPlace { guard: Guard::Directory, ..place(root, "x.md") }, &mut edit).unwrap();
            names(root)
        };
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("x.md");
        assert!(remove(root.path(), &|_| ()).is_empty(), "no file, and none is made");
        fs::write(&file, "ours").unwrap();
        assert!(remove(root.path(), &|_| ()).is_empty());
        fs::write(&file, "ours").unwrap();
        let saved = |old: Option<&str>| {
            if old == Some("ours") {
                fs::write(&file, "theirs").unwrap();
            }
        };
        assert_eq!(remove(root.path(), &saved), ["x.md"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    }

    #[test]
    fn a_document_that_changes_all_the_time_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let mut nth = 0;
        let mut edit = |_: Option<&str>| {
            nth += 1;
            fs::write(root.path().join("x.md"), format!("saved {nth}")).unwrap();
            Ok::<_, Refused>("mine".to_owned())
        };
        let refused = update_document(&place(root.path(), "x.md"), &mut edit);
        assert!(matches!(refused, Err(DocumentError::Fault(DocumentFault::Changing { .. }))));
        assert_eq!(fs::read_to_string(root.path().join("x.md")).unwrap(), "saved 5");
        assert_eq!(names(root.path()), ["x.md"]);
    }

    #[test]
    fn what_dead_writers_left_goes_and_what_is_somebody_elses_stays() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        let swap = |old: &str, new: &str| swap_name(OsStr::new("x.md"), digest, old, new).into_string().unwrap();
        put("x.md", "new");
        put(".x.md.a1B2c3.tmp", "torn");
        put(&swap("old", "new"), "old");
        put(&swap("new", "newer"), "newer");
        put(&swap("theirs", "mine"), "saved in that moment");
        put(".x.md.notes", "mine");
        put(".x.md.seventy.tmp", "mine");
        put(".y.md.a1B2c3.tmp", "of another document");
        let before = names(root.path()).len();
        update(root.path(), "x.md", "newest").unwrap();
        let kept = names(root.path());
        assert_eq!(kept.len(), before - 3, "{kept:?}");
        assert!(kept.contains(&swap("theirs", "mine")));
    }

    #[test]
    fn a_lock_file_that_flow_made_is_gone_afterwards_and_one_of_the_scripts_stays() {
        let root = tempfile::tempdir().unwrap();
        let lock = root.path().join("x.md.lock");
        update(root.path(), "x.md", "one").unwrap();
        assert_eq!(names(root.path()), ["x.md"]);
        // Left by a writer that died.
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o600)).unwrap();
        update(root.path(), "x.md", "two").unwrap();
        assert_eq!(names(root.path()), ["x.md"]);
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).unwrap();
        update(root.path(), "x.md", "three").unwrap();
        assert_eq!(names(root.path()), ["x.md", "x.md.lock"]);
    }

    #[test]
    fn whoever_waited_for_a_lock_that_was_removed_waits_for_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let lock = root.path().join("x.md.lock");
        let hold = || {
            let held = fs::File::create(&lock).unwrap();
            fs2::FileExt::lock_exclusive(&held).unwrap();
            held
        };
        let first = hold();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| update(root.path(), "x.md", "new"));
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_file(&lock).unwrap();
            let second = hold();
            drop(first);
            std::thread::sleep(Duration::from_millis(200));
            assert!(!root.path().join("x.md").exists(), "it wrote beside the holder of the new lock");
            drop(second);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_locked_directory_is_waited_for_as_a_lock_file_is() {
        let root = tempfile::tempdir().unwrap();
        let other = fs::File::open(root.path()).unwrap();
        fs2::FileExt::try_lock_exclusive(&other).unwrap();
        let wait = Duration::from_millis(50);
        let place = DocumentPlace { guard: Guard::Directory, wait, ..place(root.path(), "x") };
        let mut edit = |_: Option<&str>| Ok::<_, Refused>("new".to_owned());
        let refused = update_document(&place, &mut edit);
        assert!(matches!(refused, Err(DocumentError::Fault(DocumentFault::Busy { .. }))));
        drop(other);
        update_document(&place, &mut edit).unwrap();
        assert_eq!(names(root.path()), ["x"]);
        assert_eq!(read_document(&place).unwrap().as_deref(), Some("new"));
        let absent = DocumentPlace { relative: Path::new("no/such"), ..place };
        assert_eq!(read_document(&absent).unwrap(), None);
    }
}
