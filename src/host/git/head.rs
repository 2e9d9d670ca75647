//! What is checked out, from the files in which git stores it (gitrepository-layout). Does not run git.

use std::fs;
use std::path::Path;

use crate::host::git::command::Git;
use crate::host::git::refs::STASH;
use crate::host::git::worktrees::{git_dir, pointed_to, shared_dir};

/// How many references may lead to each other.
const LINKS: usize = 5;
/// The largest file of packed references that is read, in bytes.
const PACKED_BYTES: u64 = 64 << 20;
/// The length of a commit id where a short one is enough for people.
const SHORT: usize = 7;
/// What `HEAD` says where references are not files but in a table.
const IN_A_TABLE: &str = "refs/heads/.invalid";

/// What is checked out in a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch, even before its first commit, and during its rebase. None if a commit is checked out without a branch.
    pub branch: Option<String>,
    /// The id of the commit; none before the first one.
    pub commit: Option<String>,
}

impl Head {
    /// The branch, otherwise the short id of the commit.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.branch.clone().or_else(|| Some(self.commit.as_ref()?.get(..SHORT)?.to_owned()))
    }

    /// Whether this is what a run noted as its branch when it began.
    #[must_use]
    pub fn is_at(&self, noted: &str) -> bool {
        if self.branch.is_some() {
            return self.branch.as_deref() == Some(noted);
        }
        // Without a branch a run notes the short id of the commit.
        let Some(commit) = &self.commit else { return false };
        noted.len() >= SHORT && commit.starts_with(noted)
    }
}

/// Whether a text may be the id of a commit, whole or cut short.
#[must_use]
pub fn is_commit_id(text: &str) -> bool {
    text.len() >= SHORT && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Git {
    /// What is checked out at `dir`. `None` outside of a repository, and if its files do not tell.
    #[must_use]
    pub fn head(&self, dir: &Path) -> Option<Head> {
        let own = git_dir(&self.top(dir)?.join(".git"))?;
        let reference = match fs::read_link(own.join("HEAD")) {
            // The way in which git wrote it before there were symbolic references.
            Ok(link) => link.to_str()?.to_owned(),
            Err(_) => {
                let text = one_line(&own.join("HEAD"))?;
                match text.strip_prefix("ref:") {
                    Some(name) => name.trim().to_owned(),
                    None => return Some(Head { branch: rebased(&own), commit: Some(commit_id(&text)?) }),
                }
            }
        };
        if reference == IN_A_TABLE || !reference.starts_with("refs/") {
            return None;
        }
        let (reference, commit) = follow(&shared_dir(&own)?, reference);
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(&reference).to_owned();
        Some(Head { branch: Some(branch), commit })
    }
}

impl Git {
    /// Whether the repository of `dir` has the branch `name`. `None` if its files do not tell.
    #[must_use]
    pub fn has_branch(&self, dir: &Path, name: &str) -> Option<bool> {
        let shared = shared_dir(&git_dir(&self.top(dir)?.join(".git"))?)?;
        if shared.join("reftable").is_dir() {
            return None;
        }
        Some(follow(&shared, format!("refs/heads/{name}")).1.is_some())
    }

    /// Whether something is stashed in the repository of `dir`. Also where that is not known, because references are in a table.
    pub(super) fn has_stash(&self, dir: &Path) -> bool {
        let Some(shared) = self.top(dir).and_then(|top| shared_dir(&git_dir(&top.join(".git"))?)) else { return false };
        shared.join("reftable").is_dir() || follow(&shared, STASH.to_owned()).1.is_some()
    }
}

/// The branch of which git makes the commits again, while it has checked out one of these.
fn rebased(own: &Path) -> Option<String> {
    for dir in ["rebase-merge", "rebase-apply"] {
        if let Some(name) = one_line(&own.join(dir).join("head-name")) {
            return name.strip_prefix("refs/heads/").map(str::to_owned);
        }
    }
    None
}

/// The reference to which `name` leads, and the commit that it names.
fn follow(shared: &Path, mut name: String) -> (String, Option<String>) {
    for _ in 0..LINKS {
        // A name from a file of the repository must not lead out of it.
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            break;
        }
        let Some(text) = one_line(&shared.join(&name)) else {
            let commit = packed(&shared.join("packed-refs"), &name);
            return (name, commit);
        };
        match text.strip_prefix("ref:") {
            Some(next) => name = next.trim().to_owned(),
            None => return (name, commit_id(&text)),
        }
    }
    (name, None)
}

/// The commit of a reference in the file of packed ones.
fn packed(file: &Path, name: &str) -> Option<String> {
    fs::symlink_metadata(file).ok().filter(|meta| meta.is_file() && meta.len() <= PACKED_BYTES)?;
    let text = fs::read_to_string(file).ok()?;
    for line in text.lines() {
        if let Some((commit, packed)) = line.split_once(' ')
            && packed == name
        {
            return commit_id(commit);
        }
    }
    None
}

/// A whole commit id: of SHA-1 or SHA-256, in lower case.
fn commit_id(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_id { Some(text.to_owned()) } else { None }
}

fn one_line(file: &Path) -> Option<String> {
    pointed_to(file)?.into_os_string().into_string().ok()
}
