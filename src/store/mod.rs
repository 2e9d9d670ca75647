//! Durability: directory handles, the lock, the log, commit and recovery. Knows documents, not states.
//!
//! The commit protocol, in the order that every crash analysis in `docs/durability.md` rests on:
//!
//! 1. lock the run ([`RunDir::lock`]); remove what a dead writer left, cut a torn tail off the log;
//! 2. build all bytes: the new `run.yaml`, the activity file, one sealed line;
//! 3. write both files under temporary names (a full disk shows up here, before anything is said);
//! 4. append the line with one `write`; flush the log: **the commit point**; flush the new `run.yaml`;
//! 5. rename both files into place; acknowledge.
//!
//! Everything but the line is a projection that the line can rebuild. Paths are never used twice: a directory handle
//! plus one name, and no symbolic link is followed anywhere below `.flow`.

mod batch;
pub(crate) mod commit;
mod create;
mod error;
mod index;
pub mod layout;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod log_file;
mod mend;
pub(crate) mod note;
pub(crate) mod project;
mod publish;
mod recover;
pub(crate) mod run_dir;

pub use crate::codec::{Line, LogScan, Skipped};
pub use batch::{ActivityFile, Batch, Committed};
pub use create::NewRun;
pub use error::StoreError;
pub use index::{MaybeOpen, git_stamp};
pub use log::{LogPosition, LogTail};
pub use mend::{Mender, ProjectMender, Shelf};
pub use note::{LockRequest, WriterNote};
pub use project::{Initialised, Project};
pub use recover::is_cut_off;
pub use run_dir::{LockedRun, RunDir};
