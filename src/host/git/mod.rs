//! Facts about the checkout, from the `git` program.
//!
//! A repository is untrusted. So git must not start helpers that a repository can name, must not lock the index, and
//! must not prompt. It has a time limit, and its output is bounded. The commands here start no helper, however git is
//! configured. The one that would, to find changed files, is in `tree`.
#![expect(clippy::disallowed_methods, reason = "git is the one program that flow runs")]

mod as_in;
mod bare;
mod bare_refs;
mod command;
mod common;
mod copy;
mod facts;
mod files;
mod filtered;
mod head;
mod ignores;
mod indexed;
mod kept;
mod places;
mod refs;
mod remotes;
mod running;
mod settings;
mod sparse;
#[cfg(test)]
mod tests;
mod tree;
mod worktrees;

pub use bare::{BareRepository, MessageOf, PushOutcome, RefChange};
pub use bare_refs::NamedObject;
pub use command::Git;
pub use copy::CommitCopy;
pub use facts::GitFacts;
pub use files::{AskedForFiles, TreeChanges, TreeFiles};
pub use head::{Head, is_commit_id};
pub use ignores::UnlistedRules;
pub use indexed::{EditedFiles, IndexedFile, IndexedFiles};
pub use refs::GitRef;
pub(crate) use tree::is_own_path;
pub use tree::{AskedForChanges, WorkingTree};
