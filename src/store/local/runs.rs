//! The local store: runs in `.flow/runs`.

use std::path::PathBuf;

use crate::model::{RunId, RunSummary};
use crate::store::error::Result;
use crate::store::local::layout::RUNS;
use crate::store::local::project::Project;
use crate::store::pruned::PrunedRun;
use crate::store::request::WriteRequest;
use crate::store::run_store::{MaybeOpen, NewRuns, RunCache, RunStamp, RunStore, StoredRun, Visit};

impl RunStore for Project {
    fn ids(&self) -> Result<Vec<RunId>> {
        self.run_ids()
    }

    fn open(&self, id: &RunId) -> Result<Box<dyn StoredRun>> {
        Ok(Box::new(self.run(id)?))
    }

    fn each(&self, ids: &[RunId], visit: Visit<'_>) -> Result<()> {
        self.each_of(ids, |id, run| visit(id, run.map(|run| Box::new(run) as Box<dyn StoredRun>)))
    }

    fn stamps(&self, ids: Option<&[RunId]>, due: &dyn Fn(&RunId) -> bool) -> Result<Vec<(RunId, RunStamp)>> {
        self.stamps_of_runs(ids, due)
    }

    fn place(&self, id: &RunId) -> Option<PathBuf> {
        Some(self.path().join(RUNS).join(id.as_str()))
    }

    fn places(&self) -> Vec<PathBuf> {
        vec![self.path().join(RUNS)]
    }

    fn create(
        &self,
        request: &WriteRequest,
        outside: Option<&str>,
        propose: NewRuns<'_>,
    ) -> Result<Box<dyn StoredRun>> {
        Ok(Box::new(self.create_run(request, outside, propose)?))
    }

    fn pruned(&self, id: &RunId) -> Result<Option<PrunedRun>> {
        self.note_of_pruned(id)
    }

    fn pruned_named(&self, name: &str) -> Result<Option<PrunedRun>> {
        self.pruned_like(name)
    }

    fn maybe_open(&self, outside: Option<&str>) -> Result<MaybeOpen> {
        self.maybe_open_runs(outside)
    }

    fn listing(&self, known: &(dyn Fn(Vec<RunSummary>) + Sync)) -> Result<Vec<RunId>> {
        self.all_runs(known)
    }

    fn run_cache(&self) -> Option<&dyn RunCache> {
        Some(self)
    }
}
