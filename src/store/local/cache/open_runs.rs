//! The list of the runs that were open, as [`crate::store::local::index`] uses it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::disk::{Dir, DiskError, replace_unflushed};
use crate::model::{RunId, RunSummary, limits};
use crate::store::local::cache::finished::{VERSION, values};
use crate::store::local::layout::OPEN_RUNS;

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::store::local) struct OpenRuns {
    /// That of a summary.
    v: String,
    /// The stamps of all that shows whether other runs may be open, from before they were looked at.
    pub(in crate::store::local) world: String,
    /// The runs whose summary follows from their files alone, each as a [`KnownRun`] is written: there may be thousands, which
    /// two threads read.
    pub(in crate::store::local) known: Vec<Box<RawValue>>,
    /// The other open runs.
    pub(in crate::store::local) unknown: Vec<RunId>,
    /// The runs that finished last, each with the stamp of its `run.yaml`.
    pub(in crate::store::local) recent: Vec<(RunId, String)>,
}

/// The summary of a run, with the stamp of its files for which it holds ([`crate::store::local::stamps::number`]).
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::store::local) struct KnownRun(
    pub(in crate::store::local) u64,
    #[serde(serialize_with = "as_values")] pub(in crate::store::local) RunSummary,
);

impl OpenRuns {
    pub(in crate::store::local) fn new(world: String) -> Self {
        Self { v: VERSION.to_owned(), world, known: Vec::new(), unknown: Vec::new(), recent: Vec::new() }
    }

    pub(in crate::store::local) fn read(cache: &Dir) -> Option<Self> {
        let text = cache.read_text(OPEN_RUNS, limits::CACHE_BYTES).ok()??;
        serde_json::from_str(&text).ok().filter(|listed: &Self| listed.v == VERSION)
    }

    pub(in crate::store::local) fn write(&self, cache: &Dir) -> Result<(), DiskError> {
        replace_unflushed(cache, OPEN_RUNS, serde_json::to_string(self).unwrap_or_default())
    }

    /// Adds a run whose summary follows from its files alone.
    pub(in crate::store::local) fn add(&mut self, run: &KnownRun) {
        match to_raw_value(run) {
            Ok(written) => self.known.push(written),
            Err(_) => self.unknown.push(run.1.head.run_id.clone()),
        }
    }

    /// Removes a run. What cannot be read stays, so that the list does not count.
    pub(in crate::store::local) fn remove(&mut self, id: &RunId) {
        self.known.retain(|written| KnownRun::read(written).is_none_or(|run| run.1.head.run_id != *id));
        self.unknown.retain(|open| open != id);
    }

    /// The known runs by their ids, as far as they can be read.
    pub(in crate::store::local) fn by_id(self) -> HashMap<RunId, KnownRun> {
        let mut by_id = HashMap::with_capacity(self.known.len());
        for written in self.known {
            if let Some(run) = KnownRun::read(&written) {
                by_id.insert(run.1.head.run_id.clone(), run);
            }
        }
        by_id
    }
}

impl KnownRun {
    pub(in crate::store::local) fn read(written: &RawValue) -> Option<Self> {
        serde_json::from_str(written.get()).ok()
    }
}

/// Writes a summary as [`crate::store::local::cache::finished`] does.
fn as_values<S: Serializer>(summary: &RunSummary, serializer: S) -> Result<S::Ok, S::Error> {
    values(summary).serialize(serializer)
}
