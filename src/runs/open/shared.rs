//! Runs that several machines share, as readers see them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Explain as _, RunId, Seq, Timestamp};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::store::{RefreshScope, SharedStore, StoreError, StoredRun, WriteRequest};

/// How long someone who only reads waits for the store that machines share.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where a run is shared, and how far its copy is known to be current.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sharing {
    /// The store.
    pub store: String,
    /// How far the copy is known to be current.
    pub as_of: SharedAsOf,
}

/// How far a copy is known to be current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedAsOf {
    /// Its last event.
    pub seq: Seq,
    /// When the store was last reached; none if it never was.
    pub at: Option<Timestamp>,
    /// Whether it was reached when it was last asked.
    pub reached: bool,
}

impl SharedAsOf {
    /// As of which event, and when the store was last reached.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.at {
            Some(at) => format!("event {} ({at})", self.seq),
            None => format!("event {}", self.seq),
        }
    }
}

/// The store that a project names and whose runs are not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnseenStore {
    /// What the project calls it: `git:origin`.
    pub store: String,
    /// Whether its runs are seen once the user accepts it; otherwise it cannot be used.
    pub acceptable: bool,
    /// Why not, if it cannot be used, and what makes its runs seen.
    pub told: String,
}

impl UnseenStore {
    /// That of a project; `None` if it names none, or one that is used.
    #[must_use]
    pub fn of(project: &OpenedProject) -> Option<Self> {
        let Some(store) = project.runs().shared().not_accepted() else {
            // Without the configuration it is not known whether there is a store.
            let error = project.catalog().store().err()?;
            let store = "a store that .flow/config.yaml may name".to_owned();
            return Some(Self { store, acceptable: false, told: error.one_line() });
        };
        let (acceptable, told) = match &store.place {
            Ok(_) => (true, store.help().to_string()),
            Err(problem) => (false, format!("{problem}; {}", store.help())),
        };
        Some(Self { store: store.at.to_string(), acceptable, told })
    }
}

impl Sharing {
    /// As of which event a copy is shown, where the store was not reached when it was last asked.
    #[must_use]
    pub fn shown_as_of(&self) -> Option<String> {
        if self.as_of.reached { None } else { Some(self.as_of.in_words()) }
    }

    /// That of a run; `None` if it is of this checkout alone.
    pub(in crate::runs) fn of(store: SharedStore<'_>, run: &dyn StoredRun) -> Option<Self> {
        let as_of = run.as_of()?;
        let seq = run.last().unwrap_or_default();
        let as_of = SharedAsOf { seq, at: as_of.at, reached: as_of.reached };
        Some(Self { store: store.address()?.to_string(), as_of })
    }

    /// That of a run whose last event is known, and which need not be opened.
    pub(in crate::runs) fn of_listed(store: SharedStore<'_>, run: &RunId, last: Option<Seq>) -> Option<Self> {
        let shared = store.with(run)?;
        let as_of = shared.as_of();
        let as_of = SharedAsOf { seq: last.unwrap_or_default(), at: as_of.at, reached: as_of.reached };
        Some(Self { store: shared.address().to_string(), as_of })
    }
}

/// What the store answered.
#[derive(Debug, Default)]
pub(in crate::runs) struct StoreAnswer {
    notes: Vec<String>,
    /// Why it did not answer.
    pub(in crate::runs) failed: Option<Error>,
}

impl StoreAnswer {
    /// Brings the copies of shared runs up to date, unless the caller must not wait for a network. It waits as long as a reader
    /// does.
    pub(in crate::runs) fn now(project: &OpenedProject, scope: RefreshScope) -> Self {
        Self::of(project, |project| refresh(project, scope))
    }

    /// The same for a command that then writes to the store: it waits as long as that one does.
    pub(in crate::runs) fn before_writing(project: &OpenedProject, scope: RefreshScope) -> Self {
        Self::of(project, |project| refresh_within(project, scope, project.commit_wait()?))
    }

    fn of(project: &OpenedProject, refresh: impl FnOnce(&OpenedProject) -> Result<Vec<String>>) -> Self {
        if let Some(why) = not_accepted(project) {
            return Self { notes: vec![why], failed: None };
        }
        if project.runs().shared().address().is_none() {
            // Without the configuration it is not known whether there is a store.
            return match project.catalog().store() {
                Ok(_) => Self::default(),
                Err(error) => {
                    Self { notes: vec![format!("{}; shared runs are not seen", error.one_line())], failed: None }
                }
            };
        }
        if project.cx.options.is_offline {
            return Self::default();
        }
        match refresh(project) {
            Ok(notes) => Self { notes, failed: None },
            Err(error) => Self { notes: Vec::new(), failed: Some(error) },
        }
    }

    /// What a reader should know who is shown this run: where the store did not answer, as of which event it is.
    pub(in crate::runs) fn about(&self, project: &OpenedProject, run: &dyn StoredRun) -> Vec<String> {
        let as_of = Sharing::of(project.runs().shared(), run).map(|sharing| sharing.as_of.in_words());
        match (&self.failed, as_of) {
            (Some(error), Some(as_of)) => vec![format!("{}; {} is shown as of {as_of}", error.one_line(), run.id())],
            _ => self.about_all(project),
        }
    }

    /// What a reader should know who is shown several runs.
    pub(in crate::runs) fn about_all(&self, project: &OpenedProject) -> Vec<String> {
        match &self.failed {
            Some(error) => vec![unreached(project, error)],
            None => self.notes.clone(),
        }
    }
}

/// Brings the copies of shared runs up to date, unless the caller must not wait for a network. Returns what a reader should
/// know.
pub(crate) fn ask_store(project: &OpenedProject, scope: RefreshScope) -> Vec<String> {
    StoreAnswer::now(project, scope).about_all(project)
}

/// What a reader is told of a store that did not answer.
pub(in crate::runs) fn unreached(project: &OpenedProject, error: &Error) -> String {
    let shown = if project.runs().shared().accepted().is_some_and(|shared| shared.as_of().at.is_none()) {
        "shared runs are not shown, since it was never reached from here"
    } else {
        "shared runs are shown as they were seen last"
    };
    format!("{}; {shown}", error.one_line())
}

/// That the store did not answer when it was asked last, for a face that goes on showing its runs.
pub(in crate::runs) fn store_away(project: &OpenedProject) -> Option<String> {
    let shared = project.runs().shared().accepted()?;
    let asked = shared.as_of();
    if asked.reached {
        return None;
    }
    let store = shared.address();
    Some(match asked.at {
        Some(_) => {
            format!("{store} was not reached when it was asked last; shared runs are shown as they were seen last")
        }
        None => format!("{store} was not reached yet from here"),
    })
}

/// Refuses the id of a shared run for a run of this checkout alone: the shared one would hide it.
pub(in crate::runs) fn refuse_id_of_shared(project: &OpenedProject, id: &RunId) -> Result<()> {
    match project.runs().shared().with(id) {
        Some(shared) => Err(StoreError::Taken { at: shared.address().of_run(id) }.into()),
        None => Ok(()),
    }
}

/// That the store which the project names was not accepted, and what accepts it; `None` if there is nothing to accept.
pub(crate) fn not_accepted(project: &OpenedProject) -> Option<String> {
    let store = project.runs().shared().not_accepted()?;
    Some(format!("{store}; {}", store.help()))
}

/// Brings the copies of shared runs up to date because what is known is not enough. Whether there is anything to bring.
pub(in crate::runs) fn brings_news(project: &OpenedProject, scope: RefreshScope) -> Result<bool> {
    if project.runs().shared().address().is_none() {
        // What is looked for may be shared.
        project.catalog().store()?;
        return Ok(false);
    }
    if project.cx.options.is_offline {
        return Ok(false);
    }
    refresh(project, scope)?;
    Ok(true)
}

/// Brings the copies of shared runs up to date, within the time of a reader. Returns messages about quarantine.
pub(in crate::runs) fn refresh(project: &OpenedProject, scope: RefreshScope) -> Result<Vec<String>> {
    refresh_within(project, scope, project.commit_wait()?.min(PATIENCE))
}

/// The same within `wait`.
fn refresh_within(project: &OpenedProject, scope: RefreshScope, wait: Duration) -> Result<Vec<String>> {
    let shared = match project.runs().shared() {
        SharedStore::None => return Ok(Vec::new()),
        SharedStore::NotAccepted(store) => {
            return Err(StoreError::NotAccepted { store: store.clone(), begins: false }.into());
        }
        SharedStore::Accepted(shared) => shared,
    };
    if let Some((why, has_answered)) = project.unanswered.get() {
        let (at, why) = (shared.address(), why.clone());
        return Err(StoreError::Unreached { at, why, has_answered: *has_answered }.into());
    }
    let answer = shared.refresh(scope, &project.cx.write_request(project.cx.now(), wait));
    if let Err(StoreError::Unreached { why, has_answered, .. }) = &answer {
        let _ = project.unanswered.set((why.clone(), *has_answered));
    }
    Ok(answer?)
}

/// A request of someone who only reads, and waits no longer than that is worth.
pub(crate) fn request_to_read(project: &OpenedProject) -> Result<WriteRequest> {
    let wait = project.commit_wait()?.min(PATIENCE);
    Ok(project.cx.write_request(project.cx.now(), wait))
}
