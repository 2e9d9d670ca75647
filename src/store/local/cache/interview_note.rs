//! The documents in which interviews began, so that they are found again. In the cache: it is never flushed, may be deleted,
//! and nothing depends on it.

use crate::disk::replace_unflushed;
use crate::store::error::Result;
use crate::store::local::layout::{CACHE, INTERVIEW_NOTE};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::request::WriteRequest;

/// How many documents are noted, the latest ones.
const DOCUMENTS: usize = 100;
/// Largest note, in bytes.
const BYTES: usize = 1 << 20;

impl Project {
    /// The documents that were noted, as paths in the project; the latest last.
    pub(crate) fn noted_interviews(&self) -> Vec<String> {
        self.interview_note().unwrap_or_default()
    }

    fn interview_note(&self) -> Option<Vec<String>> {
        let bytes = self.flow.find_dir(CACHE).ok()??.read(INTERVIEW_NOTE, BYTES).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Notes `document` as the latest one, and drops those for which `is_known` is false.
    pub(crate) fn note_interview(
        &self,
        request: &WriteRequest,
        document: &str,
        is_known: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let _lock = Lock::take(&self.flow, request)?;
        let mut noted = self.noted_interviews();
        noted.retain(|known| known != document && is_known(known));
        noted.push(document.to_owned());
        let surplus = noted.len().saturating_sub(DOCUMENTS);
        noted.drain(..surplus);
        Ok(replace_unflushed(&self.cache()?, INTERVIEW_NOTE, serde_json::to_string(&noted).unwrap_or_default())?)
    }
}
