//! The files of a run's evidence that a record refers to, read before it is recorded.

use crate::model::{Activity, KeptEvidence};
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::open::reference::{Referent, referent};
use crate::store::StoredRun;

/// What a record keeps of the files that it refers to.
#[derive(Debug, Clone, Default)]
pub(in crate::runs) struct KeptFiles {
    /// Each file, with its bytes.
    pub(in crate::runs) files: Vec<(KeptEvidence, Vec<u8>)>,
    /// Why others are not kept.
    pub(in crate::runs) warnings: Vec<String>,
}

impl KeptFiles {
    /// Those that `activity` refers to in the `evidence/` of `run`.
    pub(in crate::runs) fn of(project: &OpenedProject, run: &dyn StoredRun, activity: &Activity) -> Result<Self> {
        let mut kept = Self::default();
        let mut references = activity.evidence().peekable();
        if references.peek().is_none() {
            return Ok(kept);
        }
        let there = run.evidence()?.into_iter().collect();
        let limit = run.evidence_limit();
        for reference in references {
            let Referent::Evidence { name, bytes: Some(bytes) } = referent(project, run, reference, &there) else {
                continue;
            };
            if bytes > limit as u64 {
                let elsewhere = if run.as_of().is_some() { ", and other machines do not get it" } else { "" };
                kept.warnings.push(format!(
                    "evidence/{name} is {bytes} bytes long, and up to {limit} are kept with a record: its content can change \
                     unseen{elsewhere}"
                ));
                continue;
            }
            if let Some(part) = run.read_evidence(&name, 0, limit)? {
                kept.files.push((KeptEvidence::of(&name, &part.bytes), part.bytes));
            }
        }
        kept.files.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        kept.files.dedup_by(|(one, _), (other, _)| one.name == other.name);
        Ok(kept)
    }

    /// The digest of each file.
    pub(in crate::runs) fn digests(&self) -> Vec<KeptEvidence> {
        self.files.iter().map(|(kept, _)| kept.clone()).collect()
    }
}
