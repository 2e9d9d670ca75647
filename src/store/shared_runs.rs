//! What a store that several machines share does besides what every store of runs does.

use std::fmt;
use std::path::PathBuf;

use crate::model::{RunId, Timestamp};
use crate::store::address::Address;
use crate::store::error::{HiddenRun, Result, UnacceptedStore};
use crate::store::flaw::StoreFlaw;
use crate::store::request::WriteRequest;
use crate::store::work::WorkKey;

/// The store of a project that several machines share, if it has one.
#[derive(Debug, Clone, Copy)]
pub enum SharedStore<'s> {
    /// All runs are in this checkout alone.
    None,
    /// The project names one that the user has not accepted on this machine: its runs are not here.
    NotAccepted(&'s UnacceptedStore),
    /// The user has accepted it.
    Accepted(&'s dyn SharedRuns),
}

impl<'s> SharedStore<'s> {
    /// The runs of an accepted store.
    #[must_use]
    pub fn accepted(self) -> Option<&'s dyn SharedRuns> {
        match self {
            Self::Accepted(runs) => Some(runs),
            Self::None | Self::NotAccepted(_) => None,
        }
    }

    /// The store that the user has not accepted.
    #[must_use]
    pub fn not_accepted(self) -> Option<&'s UnacceptedStore> {
        match self {
            Self::NotAccepted(store) => Some(store),
            Self::None | Self::Accepted(_) => None,
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(self) -> Option<Address> {
        match self {
            Self::None => None,
            Self::NotAccepted(store) => Some(store.at.clone()),
            Self::Accepted(runs) => Some(runs.address()),
        }
    }

    /// Where it is, if that is a directory of this machine.
    #[must_use]
    pub fn directory(self) -> Option<PathBuf> {
        match self {
            Self::None => None,
            Self::NotAccepted(store) => store.directory(),
            Self::Accepted(runs) => runs.directory(),
        }
    }

    /// The shared runs, if this run is one of them: then a copy is here.
    #[must_use]
    pub fn with(self, run: &RunId) -> Option<&'s dyn SharedRuns> {
        self.accepted().filter(|runs| runs.copies_with(run).is_some())
    }

    /// Whether this run is shared.
    #[must_use]
    pub fn has(self, run: &RunId) -> bool {
        self.with(run).is_some()
    }

    /// The directory like `.flow` that has the copy of a shared run; `None` for another run.
    #[must_use]
    pub fn copies_with(self, run: &RunId) -> Option<PathBuf> {
        self.accepted()?.copies_with(run)
    }
}

/// The runs that several machines share, of which copies are here.
pub trait SharedRuns: fmt::Debug + Send + Sync {
    /// The address of the store.
    fn address(&self) -> Address;

    /// Where the store is, if that is a directory of this machine.
    fn directory(&self) -> Option<PathBuf>;

    /// The directory like `.flow` that has the copy of a shared run; `None` for another run.
    fn copies_with(&self, run: &RunId) -> Option<PathBuf>;

    /// When the store was reached last, and whether it was when it was asked last. Copies are current up to then.
    fn as_of(&self) -> AsOf;

    /// The runs of this checkout that are not shown, since machines share other ones of their ids.
    ///
    /// # Errors
    /// As [`RunStore::ids`](crate::store::RunStore::ids).
    fn hidden(&self) -> Result<Vec<HiddenRun>>;

    /// Brings copies of runs that other machines write up to date, those of `scope`, as long as `request` allows. Returns
    /// messages about what was moved to quarantine.
    ///
    /// # Errors
    /// [`StoreError::Unreached`](crate::store::StoreError::Unreached) when the store cannot be asked; others when a copy
    /// cannot be written.
    fn refresh(&self, scope: RefreshScope, request: &WriteRequest) -> Result<Vec<String>>;

    /// What is wrong in the store: with the log of one run, otherwise with everything. `work_of` says what an open run is about.
    ///
    /// # Errors
    /// As [`Self::refresh`], for copies that cannot be read.
    fn flaws(&self, of: Option<&RunId>, work_of: WorkOf<'_>, request: &WriteRequest) -> Result<Vec<StoreFlaw>>;

    /// Brings the copy of a run that the store has and does not list, because what lists it was deleted. Whether there is one.
    ///
    /// # Errors
    /// As [`Self::refresh`].
    fn bring_unlisted(&self, run: &RunId, request: &WriteRequest) -> Result<bool>;

    /// Puts into the store what it has lost of a run of which a copy is here, which is about `work`.
    ///
    /// # Errors
    /// As [`Self::refresh`]; [`StoreError::Taken`](crate::store::StoreError::Taken) when the store has another run of this id.
    fn put_again(&self, run: &RunId, work: Vec<WorkKey>, request: &WriteRequest) -> Result<()>;
}

/// Which runs [`SharedRuns::refresh`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshScope {
    /// Those that are open, and those that were when they were last looked at.
    Open,
    /// All.
    All,
}

/// Tells what an open run of this checkout is about.
pub type WorkOf<'a> = &'a dyn Fn(&RunId) -> Vec<WorkKey>;

/// How far a copy of shared runs is known to be current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    /// When the store that machines share was last reached; `None` if it never was.
    pub at: Option<Timestamp>,
    /// Whether it was reached when it was last asked.
    pub reached: bool,
}
