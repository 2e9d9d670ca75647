//! The runs of which a run is a fork, for the evidence that it took over: that stays where it is.

use std::collections::BTreeMap;

use crate::model::RunId;
use crate::store::{Project, StoredRun};

/// A run from which records were taken over.
#[derive(Debug)]
pub(in crate::runs) struct Parent {
    pub(in crate::runs) run: Box<dyn StoredRun>,
    /// The files of its evidence, each with its length.
    pub(in crate::runs) files: BTreeMap<String, u64>,
}

/// Such runs, opened once each.
#[derive(Debug, Default)]
pub(in crate::runs) struct Parents(BTreeMap<RunId, Option<Parent>>);

impl Parents {
    /// The run `id`; `None` if it is gone or cannot be read, and its evidence with it.
    pub(in crate::runs) fn get(&mut self, project: &Project, id: &RunId) -> Option<&Parent> {
        if !self.0.contains_key(id) {
            self.0.insert(id.clone(), opened(project, id));
        }
        self.0.get(id)?.as_ref()
    }
}

fn opened(project: &Project, id: &RunId) -> Option<Parent> {
    let run = project.runs().open(id).ok()?;
    let files = run.evidence().ok()?.into_iter().collect();
    Some(Parent { run, files })
}
