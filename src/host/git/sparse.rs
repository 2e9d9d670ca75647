//! What git has of the files of flow: what a sparse checkout leaves out of the working tree, and what was committed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Instant;

use crate::host::git::command::Git;
use crate::host::git::running::{Silence, reason};
use crate::host::git::worktrees::git_dir;

/// The largest index that is read, in bytes.
const INDEX_BYTES: u64 = 64 << 20;
/// What an index begins with whose paths stand there whole; those of version 4 are cut short.
const WHOLE_PATHS: [&[u8]; 2] = [b"DIRC\0\0\0\x02", b"DIRC\0\0\0\x03"];
/// The names of extensions with which an index lacks files that git has: those of another index, and those below directories.
const LINK: &[u8] = b"link";
const SPARSE_DIRECTORIES: &[u8] = b"sdir";

impl Git {
    /// Whether git's index may have the file `path` below `dir`. Does not run git.
    #[must_use]
    pub fn may_track(&self, dir: &Path, path: &Path) -> bool {
        let own = self.top(dir).and_then(|top| git_dir(&top.join(".git")));
        let Some(file) = own.map(|own| own.join("index")) else { return true };
        match file.metadata() {
            Ok(meta) if meta.len() <= INDEX_BYTES => {}
            Ok(_) => return true,
            Err(error) => return error.kind() != ErrorKind::NotFound,
        }
        let Ok(index) = fs::read(file) else { return true };
        if path.is_absolute() || !WHOLE_PATHS.iter().any(|begin| index.starts_with(begin)) {
            return true;
        }
        let signs = [LINK, SPARSE_DIRECTORIES, path.as_os_str().as_bytes()];
        signs.iter().any(|sign| memchr::memmem::find(&index, sign).is_some())
    }

    /// Whether a sparse checkout may leave out files of the working tree of `dir`. Does not run git.
    #[must_use]
    pub fn may_be_sparse(&self, dir: &Path) -> bool {
        let Some(top) = self.top(dir) else { return false };
        let Some(own) = git_dir(&top.join(".git")) else { return false };
        own.join("info/sparse-checkout").is_file()
    }

    /// The files below `path` that git has and a sparse checkout leaves out, relative to `dir`; `path` may be a pattern with
    /// stars. Empty if there is no sparse checkout.
    ///
    /// # Errors
    /// Why git did not tell.
    pub fn left_out(&self, dir: &Path, path: &str) -> Result<Vec<String>, String> {
        self.left_out_of(dir, &format!(":(glob){path}"))
    }

    /// As [`Self::left_out`], for the file or directory `path` and what is below it.
    ///
    /// # Errors
    /// As [`Self::left_out`].
    pub fn left_out_at(&self, dir: &Path, path: &str) -> Result<Vec<String>, String> {
        self.left_out_of(dir, &format!(":(literal){path}"))
    }

    fn left_out_of(&self, dir: &Path, paths: &str) -> Result<Vec<String>, String> {
        let mut left_out = Vec::new();
        if !self.may_be_sparse(dir) {
            return Ok(left_out);
        }
        let question = ["ls-files", "-t", "-z", "--", paths];
        let out = self.whole_answer(dir, &question, Instant::now() + self.limit)?;
        for entry in out.split(|&byte| byte == 0) {
            // `S` marks what is not in the tree on purpose.
            if let Some(name) = entry.strip_prefix(b"S ")
                && let Ok(name) = std::str::from_utf8(name)
                && !dir.join(name).exists()
            {
                left_out.push(name.to_owned());
            }
        }
        Ok(left_out)
    }

    /// Whether the sparse checkout of `dir` is one of directories ("cones").
    #[must_use]
    pub fn has_cones(&self, dir: &Path) -> bool {
        let set = self.line(dir, &["config", "--type=bool", "--get", "core.sparseCheckoutCone"]);
        set.as_deref() == Some("true")
    }

    /// What git prints, all of it.
    fn whole_answer(&self, dir: &Path, question: &[&str], deadline: Instant) -> Result<Vec<u8>, String> {
        let answer = self.start(&[], dir, question).and_then(|asked| asked.answer(deadline)).map_err(Silence::why)?;
        if !answer.status.success() {
            return Err(reason(&answer));
        }
        Ok(answer.out)
    }

    /// Whether git's index has the file `path`, relative to `dir`.
    #[must_use]
    pub fn tracks(&self, dir: &Path, path: &str) -> bool {
        self.lists(dir, &[], path)
    }

    /// Whether `git restore` passes over the file `path`, or files below it, relative to `dir`, because the index marks them as left
    /// out.
    #[must_use]
    pub fn is_skipped(&self, dir: &Path, path: &str) -> bool {
        let path = format!(":(literal){path}");
        let marked = self.ask(dir, &["ls-files", "-t", "-z", "--", &path]);
        let Ok(answer) = marked else { return false };
        answer.status.success() && answer.out.split(|&byte| byte == 0).any(|entry| entry.starts_with(b"S "))
    }

    /// Whether the project's rules for git give one of these files to Git LFS, relative to `dir`.
    #[must_use]
    pub fn is_for_lfs(&self, dir: &Path, files: &[&str]) -> bool {
        let answer = self.ask(dir, &[&["check-attr", "filter", "--"], files].concat());
        answer.is_ok_and(|answer| {
            String::from_utf8_lossy(&answer.out).lines().any(|line| line.ends_with(": filter: lfs"))
        })
    }

    /// Whether git ignores the file `path`, relative to `dir`. `None` if it does not say.
    #[must_use]
    pub fn ignores(&self, dir: &Path, path: &str) -> Option<bool> {
        match self.ask(dir, &["check-ignore", "-q", "--", path]).ok()?.status.code()? {
            0 => Some(true),
            1 => Some(false),
            _ => None,
        }
    }

    /// Whether the repository of `dir` is set to have no working tree.
    #[must_use]
    pub fn is_set_bare(&self, dir: &Path) -> bool {
        self.line(dir, &["rev-parse", "--is-bare-repository"]).as_deref() == Some("true")
    }

    fn lists(&self, dir: &Path, options: &[&str], path: &str) -> bool {
        let path = format!(":(literal){path}");
        let listed = self.ask(dir, &[&["ls-files", "-z"], options, &["--", &path]].concat());
        listed.is_ok_and(|answer| answer.status.success() && !answer.out.is_empty())
    }

    /// Whether git's index or the commit that is checked out has files below the directory `path`, relative to `dir`.
    #[must_use]
    pub fn has_files(&self, dir: &Path, path: &str) -> bool {
        self.top(dir).is_some() && self.lists(dir, self.with_commit(dir), path)
    }

    /// The option by which git lists the files of the commit that is checked out as well.
    fn with_commit(&self, dir: &Path) -> &'static [&'static str] {
        // Before the first commit there is no tree to list.
        let is_unborn = self.head(dir).is_some_and(|head| head.commit.is_none());
        if is_unborn { &[] } else { &["--with-tree=HEAD"] }
    }

    /// The files that `pattern` fits, that git's index or the commit that is checked out has, and that are not in the working
    /// tree, with their contents. Only those that contain `word`, in whatever case.
    ///
    /// # Errors
    /// Why git did not tell.
    pub fn removed_with(&self, dir: &Path, pattern: &str, word: &str) -> Result<Vec<(String, String)>, String> {
        let mut found = Vec::new();
        if self.top(dir).is_none() {
            return Ok(found);
        }
        let deadline = Instant::now() + self.limit;
        let pattern = format!(":(glob){pattern}");
        let question = [&["ls-files", "-z"], self.with_commit(dir), &["--", &pattern]].concat();
        let listed = self.whole_answer(dir, &question, deadline)?;
        for name in listed.split(|&byte| byte == 0) {
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if name.is_empty() || dir.join(name).exists() {
                continue;
            }
            let of =
                |place: &str| self.whole_answer(dir, &["cat-file", "blob", &format!("{place}:./{name}")], deadline);
            let text = String::from_utf8_lossy(&of("").or_else(|_| of("HEAD"))?).into_owned();
            if text.to_lowercase().contains(&word.to_lowercase()) {
                found.push((name.to_owned(), text));
            }
        }
        Ok(found)
    }

    /// The files in git's index that `pattern` fits and that contain `word`, in whatever case, with their contents.
    ///
    /// # Errors
    /// Why git did not tell, for example because a partial clone lacks them.
    pub fn indexed_with(&self, dir: &Path, pattern: &str, word: &str) -> Result<Vec<(String, String)>, String> {
        // One deadline for all: a git that is slow once would be so for each file.
        let deadline = Instant::now() + self.limit;
        let pattern = format!(":(glob){pattern}");
        let question = ["grep", "--cached", "-l", "-z", "-i", "-F", "-e", word, "--", &pattern];
        let answer = self.start(&[], dir, &question).and_then(|asked| asked.answer(deadline)).map_err(Silence::why)?;
        // A file that it cannot read is to it one without the word.
        if !answer.complaint.is_empty() {
            return Err(reason(&answer));
        }
        let mut found = Vec::new();
        for name in answer.out.split(|&byte| byte == 0) {
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if !name.is_empty() {
                let out = self.whole_answer(dir, &["cat-file", "blob", &format!(":./{name}")], deadline)?;
                found.push((name.to_owned(), String::from_utf8_lossy(&out).into_owned()));
            }
        }
        Ok(found)
    }
}
