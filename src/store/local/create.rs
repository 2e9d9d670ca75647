//! Creates a run under a temporary name, flushes it and renames it into place, so that it appears whole or not at all.

use crate::codec::seal;
use crate::disk::{DiskError, NEW_FILE, Rename, flush};
use crate::store::batch::{ActivityFile, NewRun};
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{
    ACTIVITIES, EVIDENCE, LOCK, LOG, LOG_TMP, NEW_RUN, RUN_FILE, RUN_MERGE_TMP, RUN_TMP, RUNS, is_run_tmp_of_one,
};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::local::run_dir::RunDir;
use crate::store::request::WriteRequest;
use crate::store::run_store::NewRuns;

/// How many ids are tried before creation fails with [`StoreError::Taken`].
const ID_TRIES: usize = 10_000;

impl Project {
    /// Implements [`RunStore::create`](crate::store::RunStore::create).
    pub(super) fn create_run(
        &self,
        request: &WriteRequest,
        outside: Option<&str>,
        propose: NewRuns<'_>,
    ) -> Result<RunDir> {
        let (runs, _) = self.flow.ensure_dir(RUNS)?;
        // Flush even if the directory existed: the process that made it may have been killed before its flush.
        self.flow.sync()?;
        // The lock also orders creations: a half-made run found under it belongs to a dead process, not to a live one.
        let _lock = Lock::take(&self.flow, request)?;
        self.remove_half_made();
        // The new run changes the stamps by which the list of open runs counts.
        let known = self.known_open(outside);
        let mut refusal = StoreError::Taken { at: runs.path().into() };
        for attempt in 1..=ID_TRIES {
            let Some(new) = propose(attempt) else { return Err(refusal) };
            let path = runs.join(new.id.as_str());
            if runs.exists(new.id.as_str())? {
                refusal = StoreError::Taken { at: path.into() };
                continue;
            }
            if let Some(pruned) = self.note_of_pruned(&new.id)? {
                refusal = pruned.refusal();
                continue;
            }
            let aside = format!("{NEW_RUN}{}", new.id);
            let built = self
                .build(&aside, &new)
                .and_then(|()| self.flow.rename_into(&aside, &runs, new.id.as_str(), Rename::NoReplace));
            match built {
                Ok(()) => {
                    // Other processes may see the run from here on, so it is not taken back.
                    runs.sync().map_err(|error| match error {
                        DiskError::Io { source, .. } => StoreError::Unconfirmed { at: (&path).into(), source },
                        other => other.into(),
                    })?;
                    if let Some(known) = known {
                        self.remember_start(known, &new.id, outside);
                    }
                    return Ok(RunDir { dir: runs.open_dir(new.id.as_str())?, runs, id: new.id });
                }
                Err(DiskError::Exists { path }) => {
                    self.remove_half_made();
                    refusal = StoreError::Taken { at: path.into() };
                }
                Err(error) => {
                    self.remove_half_made();
                    return Err(error.into());
                }
            }
        }
        Err(refusal)
    }

    fn build(&self, aside: &str, new: &NewRun) -> Result<(), DiskError> {
        self.flow.make_dir(aside)?;
        let dir = self.flow.open_dir(aside)?;
        dir.make_dir(ACTIVITIES)?;
        dir.make_dir(EVIDENCE)?;
        let files = ActivityFile::of_records(&new.events);
        if !files.is_empty() {
            let activities = dir.open_dir(ACTIVITIES)?;
            for file in &files {
                let made = activities.create(&file.name, file.text.as_bytes(), NEW_FILE)?;
                flush(&*made, || activities.join(&file.name))?;
            }
            activities.sync()?;
        }
        let log: String = new.events.iter().map(seal).collect();
        for (name, text) in [(LOG, &log), (RUN_FILE, &new.text)] {
            flush(&*dir.create(name, text.as_bytes(), NEW_FILE)?, || dir.join(name))?;
        }
        dir.sync()
    }

    /// Removes the half-made runs of creators that died. Call it only under the project's lock. After a power cut a
    /// half-made run may also have files of writers: the rename was lost, although other commands had already worked in
    /// the run.
    fn remove_half_made(&self) {
        let names = self.flow.names().unwrap_or_default();
        for name in names.iter().filter(|name| name.starts_with(NEW_RUN)) {
            // An unknown file in it was not made here; it keeps the directory from being removed.
            if let Ok(dir) = self.flow.open_dir(name) {
                for file in [RUN_FILE, LOG, LOCK, RUN_TMP, RUN_MERGE_TMP, LOG_TMP] {
                    let _ = dir.remove(file);
                }
                for file in dir.names().unwrap_or_default().iter().filter(|name| is_run_tmp_of_one(name)) {
                    let _ = dir.remove(file);
                }
                if let Ok(activities) = dir.open_dir(ACTIVITIES) {
                    for file in activities.names().unwrap_or_default() {
                        let _ = activities.remove(&file);
                    }
                }
                let _ = dir.remove_dir(ACTIVITIES);
                let _ = dir.remove_dir(EVIDENCE);
            }
            let _ = self.flow.remove_dir(name);
        }
    }
}
