//! Runs in a directory: `.flow/runs/<id>/` with `run.yaml`, `activities/` and `events.jsonl`, written under a lock.
//!
//! The commit protocol, in the order on which every crash analysis in `docs/durability.md` depends:
//!
//! 1. lock the run ([`RunDir::lock`]); remove what a dead writer left; cut a torn tail off the log;
//! 2. build all bytes: the new `run.yaml`, the activity files, one sealed line for each event;
//! 3. write both files under temporary names (a full disk shows up here, before anything is logged);
//! 4. append the lines with one `write`; flush the log: **the commit point**; flush the new `run.yaml`;
//! 5. rename both files into place; acknowledge.
//!
//! When others wait for the lock, it is free during the flush of step 4, and a writer that comes to step 5 publishes what
//! the writers before it appended as well.
//!
//! Everything but the lines is a projection, which can be rebuilt from them. Files are opened by one name below a
//! directory handle, never by a path that is resolved again, and no symbolic link below `.flow` is followed.

mod cache;
mod commit;
mod create;
mod hosts;
mod index;
pub(crate) mod layout;
pub(crate) mod lines;
mod listing;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod log_file;
mod mend;
pub(crate) mod note;
mod project;
mod prune;
mod publish;
mod recover;
mod run_dir;
mod runs;
mod stamps;
mod writer;

pub(crate) use cache::TreeCache;
pub use index::git_stamp;
pub use log::LogTail;
pub use mend::{DirLevel, FileBytes, ProjectMender, RepairLock};
pub use note::WriterNote;
pub use project::{InitOutcome, Project};
pub use prune::PrunePlace;
pub use recover::is_cut_off;
pub use run_dir::{LockedRun, RunDir};
