//! Where the evidence of records is: in the run itself, or in one of which it is a fork, since what was taken over stays there.

use std::collections::BTreeMap;

use crate::engine::Attempt;
use crate::model::RunId;
use crate::store::{Project, StoredRun};

/// A run that keeps the evidence of a record.
#[derive(Clone, Copy)]
pub(in crate::runs) struct EvidenceSource<'r> {
    pub(in crate::runs) run: &'r dyn StoredRun,
    /// The files of its evidence, each with its length.
    pub(in crate::runs) files: &'r BTreeMap<String, u64>,
}

/// The runs that keep the evidence of a run's records.
pub(in crate::runs) struct EvidenceSources<'r> {
    project: &'r Project,
    own: EvidenceSource<'r>,
    /// The runs of which it is a fork, opened once each.
    parents: BTreeMap<RunId, Option<Parent>>,
}

/// A run from which records were taken over.
struct Parent {
    run: Box<dyn StoredRun>,
    files: BTreeMap<String, u64>,
}

impl<'r> EvidenceSources<'r> {
    /// Those of the records of `run`, whose own evidence are `files`.
    pub(in crate::runs) fn of(project: &'r Project, run: &'r dyn StoredRun, files: &'r BTreeMap<String, u64>) -> Self {
        Self { project, own: EvidenceSource { run, files }, parents: BTreeMap::new() }
    }

    /// The run that keeps the evidence of `attempt`; `None` if it is gone or cannot be read, and the evidence with it.
    pub(in crate::runs) fn get(&mut self, attempt: &Attempt) -> Option<EvidenceSource<'_>> {
        let Some(id) = &attempt.of else { return Some(self.own) };
        if !self.parents.contains_key(id) {
            self.parents.insert(id.clone(), opened(self.project, id));
        }
        let parent = self.parents.get(id)?.as_ref()?;
        Some(EvidenceSource { run: &*parent.run, files: &parent.files })
    }
}

fn opened(project: &Project, id: &RunId) -> Option<Parent> {
    let run = project.runs().open(id).ok()?;
    let files = run.evidence().ok()?.into_iter().collect();
    Some(Parent { run, files })
}
