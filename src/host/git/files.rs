//! The names of the files of a checkout, tracked and untracked, and whether they are those of its commit.
//!
//! Only names come from git, and the flags of its index; who wants the content reads the files. Submodules are entered,
//! also those whose changes git is told to ignore.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::host::git::command::{Git, check_commit_id};
use crate::host::git::ignores::UnlistedRules;
use crate::host::git::indexed::{EditedFiles, IndexedFiles, listed};
use crate::host::git::running::{GitAnswer, RunningGit, Silence, reason};
use crate::host::git::tree::{
    Apart, DEPTH, LISTING, ListedChanges, PATHS, STRICT, SUBMODULES, StatusEntries, checked_out, left_out,
};

/// How much of the list is read, in bytes: some four million files.
const LIST_BYTES: usize = 512 << 20;
/// From how many bytes on git may have complained of more than is read.
const COMPLAINT_BYTES: usize = 4 << 10;
const LIST: [&str; 2] = ["ls-files", "-z"];
/// Every tracked file with its flags and its kind.
const TRACKED: [&str; 3] = ["-s", "-v", "-c"];
/// The same, with the times that the index has of it.
const TRACKED_WITH_TIMES: [&str; 4] = ["-s", "-v", "-c", "--debug"];
/// Every untracked file that is not ignored, marked as such.
const UNTRACKED: [&str; 3] = ["-v", "-o", "--exclude-standard"];
/// The name of a file of rules by which git ignores others.
const RULES: &str = ".gitignore";
/// What git says of an untracked directory that it cannot read.
const CLOSED: &[u8] = b"warning: could not open directory '";

/// The files of a checkout. Paths are relative to its top, and need not be UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeFiles {
    /// The top of the checkout.
    pub top: PathBuf,
    /// The files and links that the index names or that are untracked; sorted. Some may not exist.
    pub files: Vec<Vec<u8>>,
    /// Repositories that are not submodules, or that are nested too deep.
    pub nested: Vec<Vec<u8>>,
    /// Directories that cannot be read.
    pub unreadable: Vec<Vec<u8>>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Files whose changes git does not tell: those that the index hides, which need not exist, and untracked ones in submodules.
    pub hidden: Vec<Vec<u8>>,
    /// By what files were left out that git ignores.
    pub rules: UnlistedRules,
    /// Whether a submodule is not what its commit says, or git cannot look at something.
    is_hidden: bool,
}

/// A question for the files of a checkout that git is answering.
#[derive(Debug)]
pub struct AskedForFiles {
    git: Git,
    found: TreeFiles,
    // Dropped before the directory that they use.
    asked: RunningGit,
    excludes_file: RunningGit,
    apart: Apart,
}

/// How the files of a checkout differ from its commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeChanges {
    /// Whether what is on the disk is what the commit has.
    pub is_clean: bool,
    /// Whether that cannot be told: a filter of the repository converts all files that differ, and git was asked without it.
    pub needs_filter: bool,
    /// The paths that differ, at most a thousand.
    pub paths: Vec<String>,
    /// Whether more differ.
    pub more: bool,
    /// What the indices have of the files, if none differs.
    pub indexed: Vec<IndexedFiles>,
}

/// What is asked of each repository on the way.
struct FilesWalk<'g> {
    git: &'g Git,
    deadline: Instant,
    /// How many submodules may still be entered.
    left: usize,
    found: TreeFiles,
    /// How git is asked for tracked files.
    tracked: &'static [&'static str],
    indexed: Vec<IndexedFiles>,
}

impl Git {
    /// Lists the files of the checkout that contains `dir`, without `own`: paths relative to the top; and how they differ from the
    /// commit. `state` gives the user's state directory, where what git needs for this is kept. `None` outside of a repository.
    ///
    /// # Errors
    /// Why git cannot tell, in one line.
    pub fn tree_files(
        &self,
        dir: &Path,
        own: &[String],
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Option<(TreeFiles, TreeChanges)>, String> {
        let Some((git, found)) = self.no_files_yet(dir)? else { return Ok(None) };
        let changes = git.start_listing(dir, own.to_vec(), state(), true)?;
        let excludes_file = git.ask_for_excludes_file(&changes.apart)?;
        let mut walk = FilesWalk::of(&git, found, &changes.apart, &TRACKED)?;
        walk.take_all(&changes.apart, own, &TRACKED)?;
        git.note_rules(&mut walk.found.rules, (&changes.apart, b""), excludes_file, walk.deadline)?;
        // It looks for untracked files anyway, so the directories are walked once.
        let changes = changes.listed()?;
        if changes.is_cut {
            walk.take_all(&changes.apart, own, &UNTRACKED)?;
        } else {
            walk.note_closed(b"", &changes.answer)?;
            walk.take_untracked(&changes.answer.out);
        }
        let found = walk.found();
        let changes = git.changes(&found, changes, own)?;
        Ok(Some((found, changes)))
    }

    /// Asks for the same files, without the question how they differ from the commit, for which git looks at each of them.
    ///
    /// # Errors
    /// Why git cannot be asked, in one line.
    pub fn ask_for_files(
        &self,
        dir: &Path,
        own: &[String],
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Option<AskedForFiles>, String> {
        let Some((git, found)) = self.no_files_yet(dir)? else { return Ok(None) };
        let apart = git.apart(dir, state(), Instant::now() + LISTING)?;
        let asked = ask_all(&git, &apart, own, &[&TRACKED[..], &UNTRACKED].concat())?;
        let excludes_file = git.ask_for_excludes_file(&apart)?;
        Ok(Some(AskedForFiles { git, found, asked, excludes_file, apart }))
    }

    /// How these files, which [`Self::ask_for_files`] brought, differ from the commit.
    ///
    /// # Errors
    /// Why git cannot tell, in one line.
    pub fn tree_changes(
        &self,
        files: &TreeFiles,
        own: &[String],
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<TreeChanges, String> {
        let git = Self { limit: LISTING, ..self.clone() };
        let listed = git.start_listing(&files.top, own.to_vec(), state(), true)?.listed()?;
        git.changes(files, listed, own)
    }

    fn changes(&self, files: &TreeFiles, listed: ListedChanges, own: &[String]) -> Result<TreeChanges, String> {
        let ListedChanges { paths, is_cut, only_need_filter, apart, .. } = listed;
        let is_hidden = files.is_hidden || !files.hidden.is_empty();
        let is_whole = files.commit.is_some() && !is_cut && !is_hidden;
        let is_clean = is_whole && paths.is_empty();
        let needs_filter = is_whole && only_need_filter;
        let mut indexed = Vec::new();
        if is_clean {
            let top = TreeFiles::at(files.top.clone());
            let mut walk = FilesWalk::of(self, top, &apart, &TRACKED_WITH_TIMES)?;
            walk.take_all(&apart, own, &TRACKED_WITH_TIMES)?;
            indexed = walk.indexed;
        }
        Ok(TreeChanges { is_clean, needs_filter, paths, more: is_cut, indexed })
    }

    /// The files of a checkout before any is listed, and git for that.
    fn no_files_yet(&self, dir: &Path) -> Result<Option<(Self, TreeFiles)>, String> {
        let Some(top) = self.find_top(dir).map_err(|error| error.to_string())? else { return Ok(None) };
        let git = Self { limit: LISTING, ..self.clone() };
        // Before the files are listed: a commit meanwhile changes no file.
        let head = self.head(dir).unwrap_or_else(|| self.head_from_git(dir));
        Ok(Some((git, TreeFiles { top, commit: head.commit, ..TreeFiles::default() })))
    }
}

impl AskedForFiles {
    /// What git answers.
    ///
    /// # Errors
    /// Why git cannot tell, in one line.
    pub fn answer(self) -> Result<TreeFiles, String> {
        let Self { git, found, asked, excludes_file, apart } = self;
        let mut walk = FilesWalk::of(&git, found, &apart, &TRACKED)?;
        walk.take(&apart, b"", asked, DEPTH)?;
        git.note_rules(&mut walk.found.rules, (&apart, b""), excludes_file, walk.deadline)?;
        Ok(walk.found())
    }
}

impl TreeChanges {
    /// Notes files that differ as well.
    pub fn note_edited(&mut self, edited: EditedFiles) {
        let EditedFiles { paths, only_need_filter } = edited;
        self.needs_filter |= self.is_clean && !paths.is_empty() && only_need_filter;
        self.is_clean &= paths.is_empty();
        self.more |= paths.len() > PATHS;
        for path in paths.into_iter().take(PATHS) {
            self.paths.push(String::from_utf8_lossy(&path).into_owned());
        }
    }
}

impl TreeFiles {
    /// A directory in which no files are listed.
    #[must_use]
    pub fn at(top: PathBuf) -> Self {
        Self { top, ..Self::default() }
    }
}

impl Git {
    /// The paths in which two commits differ, without `own`. `state` is as in [`Self::tree_files`].
    ///
    /// # Errors
    /// Why git cannot tell: one of them may not be there.
    pub fn changed_between(
        &self,
        dir: &Path,
        commits: [&str; 2],
        own: &[String],
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Vec<String>, String> {
        commits.into_iter().try_for_each(check_commit_id)?;
        let deadline = Instant::now() + LISTING;
        let apart = self.apart(dir, state(), deadline)?;
        let left_out = left_out(own);
        let mut question = vec!["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none"];
        question.extend(commits);
        question.extend(["--", ":(top)"]);
        question.extend(left_out.iter().map(String::as_str));
        let asked = self.start(&apart.variables, &apart.top, &question).map_err(Silence::why)?;
        let out = asked.output(deadline)?;
        let mut paths = Vec::new();
        for path in out.split(|&byte| byte == 0) {
            if !path.is_empty() {
                paths.push(String::from_utf8_lossy(path).into_owned());
            }
        }
        Ok(paths)
    }
}

impl<'g> FilesWalk<'g> {
    /// Begins with the repository of `apart`.
    fn of(git: &'g Git, mut found: TreeFiles, apart: &Apart, tracked: &'static [&'static str]) -> Result<Self, String> {
        // In a submodule `core.worktree` leads to where its `.git` is. Elsewhere the project is not among the files that it names.
        if found.top.canonicalize().is_ok_and(|top| top != apart.top) {
            return Err("core.worktree names another directory than the one in which .git is".to_owned());
        }
        found.top = apart.top.clone();
        let deadline = Instant::now() + LISTING;
        Ok(Self { git, deadline, left: SUBMODULES, found, tracked, indexed: Vec::new() })
    }

    /// Takes the files of its repository that these options of git name.
    fn take_all(&mut self, apart: &Apart, own: &[String], options: &[&str]) -> Result<(), String> {
        let asked = ask_all(self.git, apart, own, options)?;
        self.take(apart, b"", asked, DEPTH)
    }

    /// What was taken.
    fn found(self) -> TreeFiles {
        let mut found = self.found;
        found.files.sort_unstable();
        // A file in conflict is in the index up to three times.
        found.files.dedup();
        found.nested.sort();
        found.unreadable.sort();
        found
    }

    /// Takes the files of a repository that is at `prefix`, and enters its submodules.
    fn take(&mut self, apart: &Apart, prefix: &[u8], asked: RunningGit, depth: usize) -> Result<(), String> {
        let answer = asked.answer(self.deadline).map_err(Silence::why)?;
        if answer.out.len() >= LIST_BYTES {
            return Err("git lists too many files".to_owned());
        }
        if !answer.status.success() {
            return Err(reason(&answer));
        }
        self.note_closed(prefix, &answer)?;
        let mut submodules = Vec::new();
        for entry in answer.out.split(|&byte| byte == 0) {
            let Some(listed) = listed(entry) else { continue };
            if let Some(nested) = listed.path.strip_suffix(b"/") {
                self.found.nested.push([prefix, nested].concat());
                self.found.is_hidden = true;
            } else if listed.is_submodule {
                submodules.push(listed.path.to_owned());
            } else {
                self.found.files.push([prefix, listed.path].concat());
            }
            // What is untracked in a submodule does not show in the repository around it.
            if listed.is_hidden || (listed.is_untracked && !prefix.is_empty()) {
                self.found.hidden.push([prefix, listed.path].concat());
            }
            if listed.is_skipped && Path::new(OsStr::from_bytes(listed.path)).ends_with(RULES) {
                let rules = &mut self.found.rules.only_indexed;
                rules.insert([prefix, listed.path].concat(), Sha256::digest(listed.entry).into());
            }
        }
        if self.tracked == TRACKED_WITH_TIMES {
            self.indexed.push(IndexedFiles { prefix: prefix.to_owned(), list: answer.out });
        }
        submodules.dedup();
        if submodules.is_empty() {
            return Ok(());
        }
        let ignored = self.git.submodules(apart, self.deadline)?;
        self.found.is_hidden |= ignored.iter().any(|(_, ignored)| !ignored.is_empty());
        for path in submodules {
            self.enter(apart, prefix, &path, depth)?;
        }
        Ok(())
    }

    /// Takes the files of the submodule at `path`.
    fn enter(&mut self, outer: &Apart, prefix: &[u8], path: &[u8], depth: usize) -> Result<(), String> {
        let relative = Path::new(OsStr::from_bytes(path));
        let whole = [prefix, path].concat();
        let Some(dir) = checked_out(&outer.top, relative) else {
            // Not checked out, so the commit has more than the disk; or something else is in its place.
            self.found.is_hidden = true;
            let dir = outer.top.join(relative);
            match dir.symlink_metadata() {
                Ok(meta) if !meta.is_dir() => self.found.files.push(whole),
                Ok(_) if !is_empty(&dir) => self.found.nested.push(whole),
                _ => {}
            }
            return Ok(());
        };
        if depth == 0 || self.left == 0 {
            self.found.is_hidden = true;
            self.found.nested.push(whole);
            return Ok(());
        }
        self.left -= 1;
        let in_submodule = |why| format!("submodule {}: {why}", String::from_utf8_lossy(&whole));
        let inner = self.git.apart(&dir, outer.state.clone(), self.deadline).map_err(in_submodule)?;
        if inner.top == outer.top {
            // Its `.git` leads to no repository.
            self.found.is_hidden = true;
            self.found.nested.push(whole);
            return Ok(());
        }
        let prefix = [&whole[..], b"/"].concat();
        let asked = ask_all(self.git, &inner, &[], &[self.tracked, &UNTRACKED].concat()).map_err(in_submodule)?;
        let excludes_file = self.git.ask_for_excludes_file(&inner).map_err(in_submodule)?;
        self.take(&inner, &prefix, asked, depth - 1).map_err(in_submodule)?;
        let rules = &mut self.found.rules;
        self.git.note_rules(rules, (&inner, &prefix), excludes_file, self.deadline).map_err(in_submodule)
    }

    /// Takes the untracked files that `git status` lists.
    fn take_untracked(&mut self, out: &[u8]) {
        for (state, path) in StatusEntries::of(out) {
            if state != *b"??" {
                continue;
            }
            if let Some(nested) = path.strip_suffix(b"/") {
                self.found.nested.push(nested.to_owned());
                self.found.is_hidden = true;
            } else {
                self.found.files.push(path.to_owned());
            }
        }
    }

    fn note_closed(&mut self, prefix: &[u8], answer: &GitAnswer) -> Result<(), String> {
        if answer.complaint.len() >= COMPLAINT_BYTES {
            return Err("git cannot read many directories".to_owned());
        }
        for line in answer.complaint.split(|&byte| byte == b'\n') {
            let Some(rest) = line.strip_prefix(CLOSED) else { continue };
            let end = rest.iter().rposition(|&byte| byte == b'\'').unwrap_or(rest.len());
            let path = rest[..end].strip_suffix(b"/").unwrap_or(&rest[..end]);
            self.found.unreadable.push([prefix, path].concat());
            self.found.is_hidden = true;
        }
        Ok(())
    }
}

/// Asks for the files of a repository that these options of git name, without `own`.
fn ask_all(git: &Git, apart: &Apart, own: &[String], options: &[&str]) -> Result<RunningGit, String> {
    let left_out = left_out(own);
    let mut question = [&STRICT[..], &LIST[..], options, &["--", ":(top)"]].concat();
    question.extend(left_out.iter().map(String::as_str));
    let asked = git.start(&apart.variables, &apart.top, &question).map_err(Silence::why)?;
    Ok(asked.of_at_most(LIST_BYTES))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}
