//! Moves runs that are over out of `.flow/runs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::{Dir, Disk, DiskError, Errno, Links, Operation, Rename};
use crate::model::RunId;
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{PRUNING, RUNS};
use crate::store::local::lock::Lock;
use crate::store::local::project::{Project, remove_all};
use crate::store::pruned::{Pruning, StayingRun};
use crate::store::request::WriteRequest;
use crate::store::run_store::StoredRun;

/// How long to wait for the writer of a run that is over: there should be none.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a run is not taken that another process took.
const NOT_HERE: &str = "it is not here";

/// The directory like `.flow` that gets pruned runs.
#[derive(Debug)]
pub struct PrunePlace {
    runs: Dir,
    /// As notes name it.
    noted: PathBuf,
}

impl Project {
    /// Makes `flow` a directory like `.flow` that gets pruned runs, if it is not one. Notes call it `noted`.
    ///
    /// # Errors
    /// [`StoreError::OtherFileSystem`] if runs cannot be renamed into it; others as for [`Self::init`].
    pub fn prune_place(
        &self,
        disk: &dyn Disk,
        flow: &Path,
        noted: &Path,
        request: &WriteRequest,
    ) -> Result<PrunePlace> {
        let device = self.flow.stat()?.device;
        let parent = flow.parent().unwrap_or(flow);
        let there = disk.look(flow, Links::Follow).or_else(|_| disk.look(parent, Links::Follow));
        let there = there.map_err(|errno| match errno {
            Errno::NOENT => DiskError::NotFound { path: parent.to_owned() },
            _ => DiskError::io(Operation::Inspect, flow.to_owned(), errno),
        })?;
        // Before anything is made there.
        if there.device != device {
            return Err(StoreError::OtherFileSystem { path: flow.to_owned() });
        }
        let (place, _) = Self::init(disk, flow, self.trust(), &[], &[], request)?;
        let (runs, _) = place.flow.ensure_dir(RUNS)?;
        // Also if it was there: who made it may have been killed before it was flushed.
        place.flow.sync()?;
        Ok(PrunePlace { runs, noted: noted.to_owned() })
    }

    /// Takes these runs out of the project, each with one rename, to `place`; without one they are deleted. A run stays if
    /// `why_it_stays` says so while it is locked. On success all of it survives a power cut. After a failure each run is in
    /// one place, whole, and the next prune goes on.
    ///
    /// # Errors
    /// [`StoreError::OtherFileSystem`] if a run cannot be renamed there, [`StoreError::Held`] if another process creates runs
    /// for too long; others when something cannot be written.
    pub fn prune(
        &self,
        ids: &[RunId],
        place: Option<&PrunePlace>,
        request: &WriteRequest,
        why_it_stays: &mut dyn FnMut(&dyn StoredRun) -> Option<String>,
    ) -> Result<Pruning> {
        let mut pruning = Pruning::default();
        let left = self.flow.find_dir(PRUNING)?;
        // Who moved them may have been killed before that was flushed, and no run may come back half deleted.
        if let Some(moved) = &left {
            self.flush_moved(moved)?;
        }
        if ids.is_empty() && left.is_none() {
            return Ok(pruning);
        }
        self.keep_out_of_git(&[], request)?;
        let locked = self.lock_for_repair(request)?;
        pruning.warnings.extend(self.delete_pruned());
        if ids.is_empty() {
            return Ok(pruning);
        }
        // Another prune may have taken some since these were chosen, and its line says where they are.
        let mut here = Vec::new();
        for id in ids {
            match self.run(id) {
                Ok(_) => here.push(id.clone()),
                Err(error) if error.is_not_found() => {
                    pruning.stay.push(StayingRun { run_id: id.clone(), why: NOT_HERE.to_owned() });
                }
                Err(error) => return Err(error),
            }
        }
        if here.is_empty() {
            return Ok(pruning);
        }
        self.note_pruned(&locked, &here, place.map(|place| &*place.noted), request.writer.since)?;
        let (into, shown) = match place {
            Some(place) => (place.runs.clone(), place.noted.display().to_string()),
            None => (self.flow.ensure_dir(PRUNING)?.0, PRUNING.to_owned()),
        };
        for id in &here {
            if let Some(why) = self.take_away(id, &into, &shown, request, why_it_stays)? {
                pruning.stay.push(StayingRun { run_id: id.clone(), why });
            }
        }
        self.flush_moved(&into)?;
        self.forget_recaps(&here);
        pruning.warnings.extend(self.delete_pruned());
        Ok(pruning)
    }

    /// Makes durable what earlier prunes moved into `flow`, for the answer that there is nothing to move: such a one may have been
    /// killed before it did.
    ///
    /// # Errors
    /// When it cannot be flushed.
    pub fn flush_pruned(&self, disk: &dyn Disk, flow: &Path) -> Result<()> {
        let Ok(place) = Self::open_named(disk, flow, self.trust()) else { return Ok(()) };
        if let Some(runs) = place.flow.find_dir(RUNS)? {
            self.flush_moved(&runs)?;
        }
        Ok(())
    }

    /// Makes durable what was moved out of the runs of this project and into the directory `into`.
    fn flush_moved(&self, into: &Dir) -> Result<(), DiskError> {
        // The new names first: a power cut in between must not lose both.
        into.sync()?;
        self.flow.sync()?;
        match self.flow.find_dir(RUNS)? {
            Some(runs) => runs.sync(),
            None => Ok(()),
        }
    }

    /// Moves a run into the directory `into`, unless it stays; then it says why.
    fn take_away(
        &self,
        id: &RunId,
        into: &Dir,
        shown: &str,
        request: &WriteRequest,
        why_it_stays: &mut dyn FnMut(&dyn StoredRun) -> Option<String>,
    ) -> Result<Option<String>> {
        let run = match self.run(id) {
            Err(error) if error.is_not_found() => return Ok(Some(NOT_HERE.to_owned())),
            found => found?,
        };
        let request = WriteRequest { wait: request.wait.min(PATIENCE), ..request.clone() };
        let _lock = match Lock::take(&run.dir, &request) {
            Err(error @ StoreError::Held { .. }) => return Ok(Some(error.to_string())),
            taken => taken?,
        };
        run.check_place()?;
        if run.has_writer_at_work()? {
            return Ok(Some("another process writes it".to_owned()));
        }
        if let Some(why) = why_it_stays(&run) {
            return Ok(Some(why));
        }
        if into.exists(id.as_str())? {
            return Ok(Some(format!("{shown} has another run of this id")));
        }
        run.runs.rename_into(id.as_str(), into, id.as_str(), Rename::NoReplace).map_err(|error| match error {
            DiskError::Io { source, .. } if source.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                StoreError::OtherFileSystem { path: into.path().to_owned() }
            }
            other => other.into(),
        })?;
        Ok(None)
    }

    /// Deletes the runs that were pruned. A warning if not all of them could be.
    fn delete_pruned(&self) -> Option<String> {
        let deleted = match self.flow.find_dir(PRUNING) {
            Ok(None) => return None,
            Ok(Some(dir)) => remove_all(&dir).and_then(|()| self.flow.remove_dir(PRUNING)),
            Err(error) => Err(error),
        };
        let error = deleted.err()?;
        Some(format!("runs that were pruned are not deleted yet: {error}; the next `flow prune` goes on"))
    }

    /// The size of a run, in bytes: that of all its files.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn size_of_run(&self, id: &RunId) -> Result<u64> {
        Ok(size_of(&self.run(id)?.dir)?)
    }
}

fn size_of(dir: &Dir) -> Result<u64, DiskError> {
    let mut bytes = 0;
    for name in dir.names()? {
        bytes += match dir.find_dir(&name) {
            Ok(Some(inner)) => size_of(&inner)?,
            Ok(None) => 0,
            // Not a directory.
            Err(_) => dir.look(&name)?.len,
        };
    }
    Ok(bytes)
}
