//! Edits that git does not see.
//!
//! git compares the times of a file with those in its index by whole seconds, and reads the file only if its modification time
//! is not older than the index. So it takes a file for unchanged that was edited in the second in which git had looked at it,
//! if its length is the same and its modification time was set back. The index has the nanoseconds of the change time as
//! well, which the kernel alone sets: a file of the same second with others is compared once more, in an index without times.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Instant;

use crate::host::git::command::Git;
use crate::host::git::common::temporary_dir;
use crate::host::git::running::{Silence, file_with};
use crate::host::git::tree::{Apart, LISTING, STRICT};

/// How many lines of `git ls-files --debug` follow a path.
const LINES: usize = 5;
/// What the first of them begins with.
const CHANGED: &[u8] = b"  ctime: ";
/// Asks for the content of all files of an index in which no times are.
const COMPARE: [&str; 10] = [
    "-c",
    "core.splitIndex=false",
    "-c",
    "diff.autoRefreshIndex=true",
    "diff",
    "--name-only",
    "-z",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=all",
];

/// What the index of a repository has of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFiles {
    /// Where the repository is below the top of the checkout, with a `/` at its end.
    pub(super) prefix: Vec<u8>,
    /// What git lists.
    pub(super) list: Vec<u8>,
}

/// Files whose content is another one than that in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFiles {
    /// Their paths.
    pub paths: Vec<Vec<u8>>,
    /// Whether none of them may be edited: a filter converts each, and git was asked without it.
    pub only_need_filter: bool,
}

/// A file in an index.
#[derive(Debug, Clone)]
pub struct IndexedFile<'i> {
    /// Its path within the repository.
    pub path: &'i [u8],
    /// The second of its last change, and the nanosecond.
    pub changed: Option<(u32, u32)>,
    /// What git says of it.
    entry: &'i [u8],
}

impl IndexedFiles {
    /// The path from the top of the checkout.
    #[must_use]
    pub fn whole(&self, path: &[u8]) -> Vec<u8> {
        [&self.prefix, path].concat()
    }

    /// Its files.
    #[must_use]
    pub fn files(&self) -> Vec<IndexedFile<'_>> {
        let mut files = Vec::new();
        let mut rest = &self.list[..];
        while let Some(end) = memchr::memchr(0, rest) {
            let entry = &rest[..end];
            let (times, behind) = split_times(&rest[end + 1..]);
            rest = behind;
            if let Some(listed) = listed(entry)
                && !listed.is_untracked
                && !listed.is_submodule
            {
                files.push(IndexedFile { path: listed.path, changed: change_time(times), entry: listed.entry });
            }
        }
        files
    }
}

/// An entry in git's list.
pub(super) struct ListedPath<'o> {
    pub(super) path: &'o [u8],
    pub(super) is_untracked: bool,
    pub(super) is_submodule: bool,
    /// Whether git does not look at the file when it is asked for changes.
    pub(super) is_hidden: bool,
    /// Whether the index says that the file is not on the disk.
    pub(super) is_skipped: bool,
    /// What git says of it, for `update-index`.
    pub(super) entry: &'o [u8],
}

/// `H 100644 <object> 0<TAB>path`, or `? path` for an untracked one. Before it the times of the last one may stand.
pub(super) fn listed(entry: &[u8]) -> Option<ListedPath<'_>> {
    let (_, entry) = split_times(entry);
    let (tag, rest) = (entry.first()?, entry.get(2..)?);
    if *tag == b'?' {
        let nothing = ListedPath {
            path: rest,
            is_untracked: true,
            is_submodule: false,
            is_hidden: false,
            is_skipped: false,
            entry: rest,
        };
        return Some(nothing);
    }
    let tab = memchr::memchr(b'\t', rest)?;
    // A lower case letter is for `assume-unchanged`, and `S` for `skip-worktree`.
    let is_skipped = tag.eq_ignore_ascii_case(&b'S');
    let is_hidden = tag.is_ascii_lowercase() || is_skipped;
    let is_submodule = rest.starts_with(b"160000 ");
    Some(ListedPath { path: &rest[tab + 1..], is_untracked: false, is_submodule, is_hidden, is_skipped, entry: rest })
}

/// Splits the times of a file, if they stand there, from what follows them.
fn split_times(list: &[u8]) -> (&[u8], &[u8]) {
    if !list.starts_with(CHANGED) {
        return (&[], list);
    }
    let end = memchr::memchr_iter(b'\n', list).nth(LINES - 1).map_or(list.len(), |end| end + 1);
    list.split_at(end)
}

fn change_time(times: &[u8]) -> Option<(u32, u32)> {
    let line = times.strip_prefix(CHANGED)?.split(|&byte| byte == b'\n').next()?;
    let (seconds, nanos) = str::from_utf8(line).ok()?.split_once(':')?;
    Some((seconds.parse().ok()?, nanos.parse().ok()?))
}

impl Git {
    /// Those of `files` whose content is another one than that in the index. `files` are some of `index`, of a checkout
    /// whose top is `top`. `state` is the user's state directory.
    ///
    /// # Errors
    /// Why git cannot tell, in one line.
    pub fn edited_files(
        &self,
        top: &Path,
        index: &IndexedFiles,
        files: &[IndexedFile<'_>],
        state: Option<&Path>,
    ) -> Result<EditedFiles, String> {
        let git = Self { limit: LISTING, ..self.clone() };
        let deadline = Instant::now() + LISTING;
        let dir = top.join(OsStr::from_bytes(&index.prefix));
        let apart = git.apart(&dir, state.map(Path::to_owned), deadline)?;
        let mut entries = Vec::new();
        for file in files {
            entries.extend(file.entry);
            entries.push(0);
        }
        let edited = git.differing(&apart, &entries, deadline)?;
        let only_need_filter = git.need_filter(&apart, edited.iter().map(Vec::as_slice), deadline)?;
        Ok(EditedFiles { paths: edited.iter().map(|path| index.whole(path)).collect(), only_need_filter })
    }

    /// The paths of these entries whose files have another content or mode, or are gone. Each entry is as `git update-index
    /// --index-info` reads it, with a NUL at its end. They are put into an index of their own, without times.
    pub(super) fn differing(&self, apart: &Apart, entries: &[u8], deadline: Instant) -> Result<Vec<Vec<u8>>, String> {
        let own = temporary_dir().map_err(|error| format!("no temporary directory: {error}"))?;
        let mut variables = apart.variables.clone();
        variables.push(("GIT_INDEX_FILE", own.path().join("index").into_os_string()));
        let input = file_with(entries).map_err(|error| format!("cannot write what git is to read: {error}"))?;
        let question = [&STRICT[..], &["-c", "core.splitIndex=false", "update-index", "-z", "--index-info"]].concat();
        let asked = self.start_with(&variables, &apart.top, &question, input).map_err(Silence::why)?;
        asked.output(deadline)?;
        let question = [&STRICT[..], &COMPARE].concat();
        let asked = self.start(&variables, &apart.top, &question).map_err(Silence::why)?;
        let out = asked.output(deadline)?;
        Ok(out.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }
}
