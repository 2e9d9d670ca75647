//! The list of the runs that were open, as [`crate::store::local::index`] uses it: a line of JSON, and behind it a line for
//! each run whose summary is known.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};

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
    /// How many lines follow: a file that was cut off between two lines would hide runs.
    lines: usize,
    /// A line for each run whose summary follows from its files alone, as a [`KnownRun`] is written. There may be thousands,
    /// which two threads read.
    #[serde(skip)]
    pub(in crate::store::local) known: String,
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
        let v = VERSION.to_owned();
        Self { v, world, lines: 0, known: String::new(), unknown: Vec::new(), recent: Vec::new() }
    }

    pub(in crate::store::local) fn read(cache: &Dir) -> Option<Self> {
        let mut text = cache.read_text(OPEN_RUNS, limits::CACHE_BYTES).ok()??;
        let first = text.find('\n')?;
        let mut listed: Self = serde_json::from_str(&text[..first]).ok()?;
        text.drain(..=first);
        listed.known = text;
        (listed.v == VERSION && listed.known.lines().count() == listed.lines).then_some(listed)
    }

    pub(in crate::store::local) fn write(&self, cache: &Dir) -> Result<(), DiskError> {
        let first = serde_json::to_string(self).unwrap_or_default();
        replace_unflushed(cache, OPEN_RUNS, format!("{first}\n{}", self.known))
    }

    /// Adds a run whose summary follows from its files alone.
    pub(in crate::store::local) fn add(&mut self, run: &KnownRun) {
        match serde_json::to_string(run) {
            Ok(line) => {
                self.known.push_str(&line);
                self.known.push('\n');
                self.lines += 1;
            }
            Err(_) => self.unknown.push(run.1.head.run_id.clone()),
        }
    }

    /// Removes a run. What cannot be read stays, so that the list does not count.
    pub(in crate::store::local) fn remove(&mut self, id: &RunId) {
        let mut lines: Vec<&str> = self.known.split_inclusive('\n').collect();
        lines.retain(|line| KnownRun::read(line).is_none_or(|run| run.1.head.run_id != *id));
        self.lines = lines.len();
        self.known = lines.concat();
        self.unknown.retain(|open| open != id);
    }

    /// The known runs by their ids, as far as they can be read.
    pub(in crate::store::local) fn by_id(self) -> HashMap<RunId, KnownRun> {
        let mut by_id = HashMap::with_capacity(self.lines);
        for line in self.known.lines() {
            if let Some(run) = KnownRun::read(line) {
                by_id.insert(run.1.head.run_id.clone(), run);
            }
        }
        by_id
    }
}

impl KnownRun {
    pub(in crate::store::local) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Writes a summary as [`crate::store::local::cache::finished`] does.
fn as_values<S: Serializer>(summary: &RunSummary, serializer: S) -> Result<S::Ok, S::Error> {
    values(summary).serialize(serializer)
}
