//! Where the evidence of records is: in the run itself, or in one of which it is a fork, since what was taken over stays there.

use std::collections::BTreeMap;

use crate::engine::Attempt;
use crate::model::{KeptEvidence, RunId};
use crate::runs::error::Result;
use crate::store::{Project, StoredRun};

/// A run that keeps the evidence of a record.
#[derive(Clone, Copy)]
pub(in crate::runs) struct EvidenceSource<'r> {
    pub(in crate::runs) run: &'r dyn StoredRun,
    /// The files of its evidence, each with its length.
    pub(in crate::runs) files: &'r BTreeMap<String, u64>,
}

/// Lists the files of a run's evidence, each with its length.
type FilesOf = fn(&dyn StoredRun) -> Result<BTreeMap<String, u64>>;

/// The runs that keep the evidence of a run's records.
pub(in crate::runs) struct EvidenceSources<'r> {
    project: &'r Project,
    run: &'r dyn StoredRun,
    files: BTreeMap<String, u64>,
    files_of: FilesOf,
    /// The runs of which it is a fork, opened once each.
    parents: BTreeMap<RunId, Option<Parent>>,
}

/// A run from which records were taken over.
struct Parent {
    run: Box<dyn StoredRun>,
    files: BTreeMap<String, u64>,
}

impl<'r> EvidenceSources<'r> {
    /// Those of the records of `run`.
    ///
    /// # Errors
    /// Those of `files_of` for the run itself.
    pub(in crate::runs) fn of(project: &'r Project, run: &'r dyn StoredRun, files_of: FilesOf) -> Result<Self> {
        Ok(Self { project, run, files: files_of(run)?, files_of, parents: BTreeMap::new() })
    }

    /// The run that keeps the evidence of `attempt`; `None` if it is gone or cannot be read, and the evidence with it.
    pub(in crate::runs) fn get(&mut self, attempt: &Attempt) -> Option<EvidenceSource<'_>> {
        let Some(id) = &attempt.of else { return Some(EvidenceSource { run: self.run, files: &self.files }) };
        if !self.parents.contains_key(id) {
            self.parents.insert(id.clone(), self.opened(id));
        }
        let parent = self.parents.get(id)?.as_ref()?;
        Some(EvidenceSource { run: &*parent.run, files: &parent.files })
    }

    fn opened(&self, id: &RunId) -> Option<Parent> {
        let run = self.project.runs().open(id).ok()?;
        let files = (self.files_of)(&*run).ok()?;
        Some(Parent { run, files })
    }
}

/// The files of a run's evidence that are here.
pub(in crate::runs) fn files_here(run: &dyn StoredRun) -> Result<BTreeMap<String, u64>> {
    Ok(run.evidence()?.into_iter().collect())
}

/// The same, and those that come from the store when someone reads them: those of a shared run, unless they are longer than what a
/// store keeps.
pub(in crate::runs) fn files_in_reach(run: &dyn StoredRun) -> Result<BTreeMap<String, u64>> {
    let mut files = files_here(run)?;
    for (name, kept) in kept_in_store(run)? {
        if kept.bytes <= run.evidence_limit() as u64 {
            files.entry(name).or_insert(kept.bytes);
        }
    }
    Ok(files)
}

/// The files of evidence that the store of a shared run has, as they were recorded last.
pub(in crate::runs) fn kept_in_store(run: &dyn StoredRun) -> Result<BTreeMap<String, KeptEvidence>> {
    let mut kept = BTreeMap::new();
    if run.as_of().is_none() {
        return Ok(kept);
    }
    for event in run.log()?.events() {
        for file in event.kind.records().iter().flat_map(|record| &record.evidence) {
            kept.insert(file.name.clone(), file.clone());
        }
    }
    Ok(kept)
}
