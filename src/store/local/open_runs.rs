//! The list of the runs that were open, as [`crate::store::local::index`] uses it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::disk::{Dir, DiskError, replace_unflushed};
use crate::model::{RunId, RunSummary, limits};
use crate::store::local::finished::values;
use crate::store::local::layout::OPEN_RUNS;

/// The version of the cache. Increase it when [`RunSummary`] or the way it is made changes.
const VERSION: u32 = 5;
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenRuns {
    v: u32,
    /// The stamps of all that shows whether other runs may be open, from before they were looked at.
    pub(super) world: String,
    pub(super) open: Vec<OpenRun>,
    /// The runs that finished last, each with the stamp of its `run.yaml`.
    pub(super) recent: Vec<(RunId, String)>,
}

/// A run that was open: its summary with the stamp of its files, if it is known.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenRun(
    pub(super) RunId,
    #[serde(serialize_with = "as_values")] pub(super) Option<(String, RunSummary)>,
);

impl OpenRuns {
    pub(super) fn new(world: String, open: Vec<OpenRun>, recent: Vec<(RunId, String)>) -> Self {
        Self { v: VERSION, world, open, recent }
    }

    pub(super) fn read(cache: &Dir) -> Option<Self> {
        let bytes = cache.read(OPEN_RUNS, limits::CACHE_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok().filter(|known: &Self| known.v == VERSION)
    }

    pub(super) fn write(&self, cache: &Dir) -> Result<(), DiskError> {
        replace_unflushed(cache, OPEN_RUNS, &serde_json::to_string(self).unwrap_or_default())
    }

    /// The known summaries, each with the stamp for which it holds.
    pub(super) fn summaries(self) -> HashMap<RunId, (String, RunSummary)> {
        self.open.into_iter().filter_map(|OpenRun(id, known)| Some((id, known?))).collect()
    }
}

/// Writes a summary as [`crate::store::local::finished`] does.
fn as_values<S: Serializer>(known: &Option<(String, RunSummary)>, serializer: S) -> Result<S::Ok, S::Error> {
    known.as_ref().map(|(stamp, summary)| (stamp, values(summary))).serialize(serializer)
}
