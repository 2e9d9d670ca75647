//! Runs that survive: the trait, and the stores that keep them. Knows documents, not states.
//!
//! [`RunStore`] says what every store does. [`local`] keeps runs in `.flow` and is what the program uses; its documentation
//! tells the commit protocol. [`MemoryStore`] keeps them in memory, where a test wants runs and no files.

mod address;
mod batch;
mod error;
#[doc(hidden)]
pub mod local;
mod memory;
mod request;
mod run_store;

pub use crate::codec::{Line, LogEnd, LogScan, Skipped};
pub use address::{Address, Document};
pub use batch::{ActivityFile, Batch, Committed, Merge, NewRun};
pub use error::StoreError;
pub(crate) use local::Initialised;
pub use local::Project;
pub(crate) use local::git_stamp;
pub use memory::MemoryStore;
pub use request::{WriteRequest, Writer};
pub use run_store::{Listing, MaybeOpen, Position, Presence, RunStore, RunWriter, StoredRun, Summaries, Visit};
