//! A project that names a store which the user has not accepted.

use std::path::PathBuf;

use crate::model::{RunId, RunSummary};
use crate::store::error::{Result, StoreError, UnacceptedStore};
use crate::store::local::Project;
use crate::store::pruned::PrunedRun;
use crate::store::request::WriteRequest;
use crate::store::run_store::{MaybeOpen, NewRuns, RunCache, RunStamp, RunStore, StoredRun, Visit};
use crate::store::shared::delegate::answered_by;
use crate::store::shared_runs::SharedStore;

/// The runs of this checkout alone. Shared ones are not there, and no run begins.
#[derive(Debug)]
pub struct UnacceptedRuns {
    here: Project,
    named: UnacceptedStore,
}

impl UnacceptedRuns {
    /// The runs of `here`, which names this store.
    #[must_use]
    pub fn new(here: Project, named: UnacceptedStore) -> Self {
        Self { here, named }
    }
}

impl RunStore for UnacceptedRuns {
    answered_by! { here:
        fn ids(&self) -> Result<Vec<RunId>>;
        fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>>;
        fn each(&self, ids: &[RunId], visit: Visit<'_>) -> Result<()>;
        fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool) -> Result<Vec<(RunId, RunStamp)>>;
        fn place(&self, id: &RunId) -> Option<PathBuf>;
        fn places(&self) -> Vec<PathBuf>;
        fn pruned(&self, id: &RunId) -> Result<Option<PrunedRun>>;
        fn pruned_named(&self, name: &str) -> Result<Option<PrunedRun>>;
        fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen>;
        fn listing(&self, known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>>;
        fn run_cache(&self) -> Option<&dyn RunCache>;
    }

    fn create(&self, _: &WriteRequest, _: Option<&str>, _: NewRuns<'_>) -> Result<Box<dyn StoredRun>> {
        Err(StoreError::NotAccepted { store: self.named.clone(), begins: true })
    }

    fn shared(&self) -> SharedStore<'_> {
        SharedStore::NotAccepted(&self.named)
    }
}
