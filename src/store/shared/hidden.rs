//! Runs of this checkout that are not shown, since machines share other ones of the same ids.

use crate::model::RunId;
use crate::store::address::Document;
use crate::store::error::{HiddenRun, Result, StoreError};
use crate::store::local::RunDir;
use crate::store::request::WriteRequest;
use crate::store::run_store::StoredRun as _;
use crate::store::shared::copy::Copies;
use crate::store::shared::moving::own_lines;
use crate::store::shared::store::Shared;

impl Shared {
    /// Whether the run `id` of this checkout goes on after the end of the shared one, whose copy is brought up to date. False as well
    /// without one of both.
    ///
    /// # Errors
    /// [`StoreError::Hidden`] when both went on in different ways; others as of asking.
    pub fn goes_on(&self, id: &RunId, request: &WriteRequest) -> Result<bool> {
        self.copies.goes_on(id, request)
    }

    pub(super) fn all_hidden(&self) -> Result<Vec<HiddenRun>> {
        let mut hidden = Vec::new();
        for id in self.copies.here.run_ids()? {
            if let Ok(copy) = self.copies.project.run(&id) {
                hidden.extend(self.copies.hidden_by(&copy));
            }
        }
        Ok(hidden)
    }
}

impl Copies {
    /// The run of this checkout that a copy hides. What cannot be read is not compared.
    pub(super) fn hidden_by(&self, copy: &RunDir) -> Option<HiddenRun> {
        let id = copy.id();
        let local = self.here.run(id).ok()?;
        let log = own_lines(&local.log_bytes().ok()??);
        let shared = copy.log_bytes().ok()?.unwrap_or_default();
        // One that a branch brought may be the shared run itself, as it was earlier. And one that is being moved may not have
        // its whole copy yet.
        if shared.is_empty() || shared.starts_with(&log) || self.project.pushing(id).is_some() {
            return None;
        }
        let (at, here) = (self.carrier.address(), local.address(Document::Run));
        Some(HiddenRun { run: id.clone(), at, here, goes_on: log.starts_with(&shared) })
    }

    /// As [`Shared::goes_on`].
    pub(super) fn goes_on(&self, id: &RunId, request: &WriteRequest) -> Result<bool> {
        let Some(copy) = self.existing(id)? else { return Ok(false) };
        match self.hidden_now(&copy, request)? {
            Some(hidden) if !hidden.goes_on => Err(StoreError::Hidden(hidden)),
            hidden => Ok(hidden.is_some()),
        }
    }

    /// The same by what the store has: the copy may be behind.
    pub(super) fn hidden_now(&self, copy: &RunDir, request: &WriteRequest) -> Result<Option<HiddenRun>> {
        if self.hidden_by(copy).is_none() {
            return Ok(None);
        }
        match self.catch_up(copy.id(), None, request) {
            Ok(_) | Err(StoreError::Lost { .. }) => Ok(self.hidden_by(copy)),
            Err(error) => Err(error),
        }
    }
}
