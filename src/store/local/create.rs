//! Creating a run: built aside, flushed, and renamed into place, so that it is there wholly or not at all.

use crate::codec::seal;
use crate::disk::{DiskError, NEW_FILE, Rename, flush};
use crate::store::batch::{ActivityFile, NewRun};
use crate::store::error::StoreError;
use crate::store::local::layout::{
    ACTIVITIES, EVIDENCE, LOCK, LOG, LOG_TMP, NEW_RUN, RUN_FILE, RUN_MERGE_TMP, RUN_TMP, RUNS,
};
use crate::store::local::lock::Lock;
use crate::store::local::project::Project;
use crate::store::local::run_dir::RunDir;
use crate::store::request::WriteRequest;

/// How many suffixes are tried for a run id that is taken.
const ID_TRIES: usize = 10_000;

impl Project {
    /// As [`RunStore::create`](crate::store::RunStore::create).
    pub(super) fn create_run(
        &self,
        request: &WriteRequest,
        outside: Option<&str>,
        propose: &mut dyn FnMut(usize) -> Option<NewRun>,
    ) -> Result<RunDir, StoreError> {
        let (runs, _) = self.flow.ensure_dir(RUNS)?;
        // Also when it was there: whoever made it may have been killed before this.
        self.flow.sync()?;
        // Also orders creation, so that leftovers of dead creators can be told from the work of live ones.
        let _lock = Lock::take(&self.flow, request)?;
        self.remove_half_made();
        let known = self.known_open(outside);
        let mut taken = runs.path().to_owned();
        for attempt in 1..=ID_TRIES {
            let Some(new) = propose(attempt) else {
                return Err(StoreError::Taken { at: taken.into() });
            };
            taken = runs.join(new.id.as_str());
            if runs.exists(new.id.as_str())? {
                continue;
            }
            let aside = format!("{NEW_RUN}{}", new.id);
            let built = self
                .build(&aside, &new)
                .and_then(|()| self.flow.rename_into(&aside, &runs, new.id.as_str(), Rename::NoReplace));
            match built {
                Ok(()) => {
                    runs.sync().map_err(|error| match error {
                        DiskError::Io { source, .. } => StoreError::Unconfirmed { at: (&taken).into(), source },
                        other => other.into(),
                    })?;
                    if let Some(known) = known {
                        self.remember_start(known, &new.id, outside);
                    }
                    return Ok(RunDir { dir: runs.open_dir(new.id.as_str())?, runs, id: new.id });
                }
                Err(DiskError::Exists { path }) => {
                    self.remove_half_made();
                    taken = path;
                }
                Err(error) => {
                    self.remove_half_made();
                    return Err(error.into());
                }
            }
        }
        Err(StoreError::Taken { at: taken.into() })
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
        let log: String = new.events.iter().map(|event| seal(&event.to_object())).collect();
        for (name, text) in [(LOG, &log), (RUN_FILE, &new.text)] {
            flush(&*dir.create(name, text.as_bytes(), NEW_FILE)?, || dir.join(name))?;
        }
        dir.sync()
    }

    /// Removes what creators that died left behind. Only called under the project's lock. A power cut can take a run's
    /// name back when its creator was killed and another command worked in it already; hence the files of writers.
    fn remove_half_made(&self) {
        let names = self.flow.names().unwrap_or_default();
        for name in names.iter().filter(|name| name.starts_with(NEW_RUN)) {
            // Whatever else is in there was not made here and keeps the directory alive.
            if let Ok(dir) = self.flow.open_dir(name) {
                for file in [RUN_FILE, LOG, LOCK, RUN_TMP, RUN_MERGE_TMP, LOG_TMP] {
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
