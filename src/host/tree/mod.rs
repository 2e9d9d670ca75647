//! The digest of a checkout's files: what they are, byte for byte, whatever git's index and configuration say of them.
//!
//! git only lists the names ([`crate::host::git`]). The bytes are read here, so no filter of the repository runs, line ends
//! are those on the disk, and no flag of the index hides an edit.

mod cache;
mod digest;
mod directories;
mod entry;
mod ignored;
mod input;
mod path;
mod place;
#[cfg(test)]
mod tests;
mod uncovered;

pub(crate) use cache::BEGINS as TREE_CACHE_BEGINS;
pub use cache::KnownTree;
pub use digest::{Tree, read_tree};
pub use input::{InputFiles, InputGlobs};
pub(crate) use place::checkout_place;
