//! Moves runs that are over out of `.flow/runs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::{Dir, Disk, DiskError, Errno, Links, Operation, Rename};
use crate::model::RunId;
use crate::store::error::{Result, StoreError};
use crate::store::local::layout::{PRUNING, RUNS};
use crate::store::local::lock::Lock;
use crate::store::local::project::{Project, remove_all};
use crate::store::local::run_dir::RunDir;
use crate::store::pruned::{Pruning, StayingRun};
use crate::store::request::WriteRequest;
use crate::store::run_store::StoredRun;

/// How long to wait for the writer of a run that is over: there should be none.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many runs are locked at a time: each lock is an open file, of which a process may have some hundreds.
const LOCKED_AT_ONCE: usize = 64;

/// Why a run is not taken that another process took.
const NOT_HERE: &str = "it is not here";

/// The directory like `.flow` that gets pruned runs.
#[derive(Debug)]
pub struct PrunePlace {
    runs: Dir,
    /// As notes name it.
    noted: PathBuf,
}

/// A run that was chosen to be pruned.
enum Leaving {
    /// It is locked, so that nothing about it changes until it is moved.
    Goes(Box<(RunDir, Lock)>),
    /// Why it stays.
    Stays(String),
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
        let (into, shown) = match place {
            Some(place) => (place.runs.clone(), place.noted.display().to_string()),
            None => (self.flow.ensure_dir(PRUNING)?.0, PRUNING.to_owned()),
        };
        for ids in ids.chunks(LOCKED_AT_ONCE) {
            let mut leaving = Vec::new();
            for id in ids {
                match self.leaving(id, &into, &shown, request, why_it_stays)? {
                    Leaving::Goes(locked) => leaving.push(locked),
                    Leaving::Stays(why) => pruning.stay.push(StayingRun { run_id: id.clone(), why }),
                }
            }
            if leaving.is_empty() {
                continue;
            }
            let gone: Vec<_> = leaving.iter().map(|run| run.0.id.clone()).collect();
            self.note_pruned(&locked, &gone, place.map(|place| &*place.noted), request.writer.since)?;
            for run in &leaving {
                take_away(&run.0, &into)?;
            }
            self.flush_moved(&into)?;
            self.forget_recaps(&gone);
        }
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

    /// Locks a run that is to be moved into the directory `into`, unless it stays.
    fn leaving(
        &self,
        id: &RunId,
        into: &Dir,
        shown: &str,
        request: &WriteRequest,
        why_it_stays: &mut dyn FnMut(&dyn StoredRun) -> Option<String>,
    ) -> Result<Leaving> {
        let run = match self.run(id) {
            // Another prune may have taken it since it was chosen, and its line says where it is.
            Err(error) if error.is_not_found() => return Ok(Leaving::Stays(NOT_HERE.to_owned())),
            found => found?,
        };
        let request = WriteRequest { wait: request.wait.min(PATIENCE), ..request.clone() };
        let lock = match Lock::take(&run.dir, &request) {
            Err(error @ StoreError::Held { .. }) => return Ok(Leaving::Stays(error.to_string())),
            taken => taken?,
        };
        run.check_place()?;
        if run.has_writer_at_work()? {
            return Ok(Leaving::Stays("another process writes it".to_owned()));
        }
        if let Some(why) = why_it_stays(&run) {
            return Ok(Leaving::Stays(why));
        }
        if into.exists(id.as_str())? {
            return Ok(Leaving::Stays(format!("{shown} has another run of this id")));
        }
        Ok(Leaving::Goes(Box::new((run, lock))))
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

/// Moves a run that is locked into the directory `into`.
fn take_away(run: &RunDir, into: &Dir) -> Result<()> {
    let name = run.id.as_str();
    run.runs.rename_into(name, into, name, Rename::NoReplace).map_err(|error| match error {
        DiskError::Io { source, .. } if source.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
            StoreError::OtherFileSystem { path: into.path().to_owned() }
        }
        other => other.into(),
    })
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
