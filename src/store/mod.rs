//! Durable runs: the trait of a store, and the stores. A store knows documents, not states.
//!
//! [`RunStore`] defines what every store promises. [`local`] keeps runs in `.flow`, and the program uses it; its
//! documentation describes the commit protocol. [`shared`] keeps runs in one place for several machines, as [`SharedRuns`] says.

mod address;
mod batch;
mod chores;
mod displaced;
mod error;
mod flaw;
#[doc(hidden)]
pub mod local;
mod pause;
mod pruned;
mod request;
mod run_store;
pub mod shared;
mod shared_runs;
mod work;

pub use crate::codec::{FaultyLine, LogEnd, LogLine, LogScan};
pub use address::{Address, Document};
pub use batch::{ActivityFile, Batch, CommitReceipt, Merge, NewRun};
pub use chores::LocalChores;
pub use displaced::DisplacedEvents;
pub use error::{HiddenRun, Result, StoreError, UnacceptedStore};
pub use flaw::StoreFlaw;
pub(crate) use local::InitOutcome;
pub(crate) use local::TreeCache;
pub(crate) use local::git_stamp;
pub use local::{Project, PrunePlace};
pub(crate) use pause::pause_after;
pub use pruned::{PrunedRun, Pruning, StayingRun};
pub use request::{LOCK_WAIT, WriteRequest, Writer};
pub use run_store::{
    BroughtEvidence, LogSinceCommit, MaybeOpen, NewRuns, Noted, ReadPosition, Reopening, RunCache, RunParts, RunStamp,
    RunStore, RunWriter, StoredRun, Visit, WORTH_CACHING,
};
pub use shared_runs::{AsOf, RefreshScope, SharedRuns, SharedStore, WorkOf};
pub use work::{WorkChange, WorkKey};
