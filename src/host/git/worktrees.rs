//! The other worktrees of a repository, from the files in which git stores them (gitrepository-layout). Does not run
//! git, so it costs nothing if there are none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::host::git::command::Git;
use crate::model::limits;

/// The maximum number of worktrees to return.
const WORKTREES: usize = 100;

impl Git {
    /// The tops of the other worktrees of the repository that contains `dir`, or of the bare one that `dir` is in, sorted.
    /// Leaves out those that cannot be read.
    #[must_use]
    pub fn other_worktrees(&self, dir: &Path) -> Vec<PathBuf> {
        let top = self.top(dir);
        let common = match &top {
            Some(top) => git_dir(&top.join(".git")).and_then(|git_dir| shared_dir(&git_dir)),
            None => self.bare_around(dir),
        };
        let Some(common) = common else { return Vec::new() };
        let mut tops = Vec::new();
        // A bare repository has no main worktree.
        if common.ends_with(".git") {
            tops.extend(common.parent().map(Path::to_owned));
        }
        for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
            let Some(git_file) = pointed_to(&entry.path().join("gitdir")) else { continue };
            // The path of the worktree's `.git` file, which may be relative to the directory of this entry.
            tops.extend(entry.path().join(git_file).parent().map(Path::to_owned));
        }
        let own = top.and_then(|top| fs::canonicalize(top).ok());
        let mut others = Vec::new();
        for path in tops {
            // git keeps the entry of a worktree that was removed until it is pruned.
            if path.join(".git").exists()
                && let Ok(path) = fs::canonicalize(path)
                && Some(&path) != own.as_ref()
            {
                others.push(path);
            }
        }
        others.sort();
        others.dedup();
        others.truncate(WORKTREES);
        others
    }

    /// The bare repository that `dir` is, or is in.
    fn bare_around(&self, dir: &Path) -> Option<PathBuf> {
        let dir = fs::canonicalize(dir).ok()?;
        dir.ancestors().find(|dir| self.is_bare(dir)).map(Path::to_owned)
    }

    /// Where git keeps the index of the worktree whose top is `top`. The file may be missing.
    #[must_use]
    pub fn index(&self, top: &Path) -> Option<PathBuf> {
        Some(git_dir(&top.join(".git"))?.join("index"))
    }
}

/// The directory of git's files for a worktree, found from its `.git`.
pub(super) fn git_dir(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    Some(git.parent()?.join(pointed_to(git)?.to_str()?.strip_prefix("gitdir: ")?))
}

/// The directory that all worktrees share, found from that of one of them.
pub(super) fn shared_dir(own: &Path) -> Option<PathBuf> {
    let shared = match pointed_to(&own.join("commondir")) {
        Some(shared) => own.join(shared),
        None => own.to_owned(),
    };
    fs::canonicalize(shared).ok()
}

/// The path in a small file with one line.
pub(super) fn pointed_to(file: &Path) -> Option<PathBuf> {
    let meta = fs::symlink_metadata(file).ok()?;
    // Checked before it is opened: a FIFO would keep the reader waiting.
    if !meta.is_file() || meta.len() > limits::TAIL_BYTES as u64 {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    Some(PathBuf::from(text.trim_end_matches(['\n', '\r'])))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files directly")]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_a_path_behind_its_word() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real/.git/worktrees/w");
        fs::create_dir_all(&real).unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        fs::write(dir.path().join("w/.git"), format!("gitdir: {}\n", real.display())).unwrap();
        fs::write(real.join("commondir"), "../..\n").unwrap();
        fs::write(real.join("gitdir"), format!("{}\n", dir.path().join("w/.git").display())).unwrap();
        let top = |name: &str| fs::canonicalize(dir.path().join(name)).unwrap();
        let others = |name: &str| Git::default().other_worktrees(&dir.path().join(name));
        assert_eq!(others("w"), [top("real")]);
        assert_eq!(others("real"), [top("w")]);
        fs::rename(dir.path().join("real/.git"), dir.path().join("bare.git")).unwrap();
        let bare = dir.path().join("bare.git");
        fs::write(bare.join("worktrees/w/gitdir"), format!("{}\n", dir.path().join("w/.git").display())).unwrap();
        assert_eq!(others("bare.git"), Vec::<PathBuf>::new(), "not a repository yet");
        fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(bare.join("objects")).unwrap();
        fs::create_dir_all(bare.join("refs/heads")).unwrap();
        assert_eq!(others("bare.git"), [top("w")]);
        assert_eq!(others("bare.git/refs"), [top("w")]);
        fs::rename(&bare, dir.path().join("real/.git")).unwrap();
        fs::remove_dir_all(dir.path().join("w")).unwrap();
        assert_eq!(others("real"), Vec::<PathBuf>::new(), "it was removed and not yet pruned");
    }
}
