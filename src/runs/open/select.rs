//! Selects the run that a command is about if none is named.

use crate::model::{RunId, SessionId, Timestamp};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::reading::{Runs, in_words, is_own, read_all};
use crate::runs::open::worktrees::worktree_with;
use crate::store::{Project, StoredRun};

/// The name for the run that was started last, even if it is over.
pub(crate) const LATEST: &str = "@latest";

/// The run that a reading command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeantRun {
    /// The run.
    pub run_id: RunId,
    /// Whether it was selected as the open run.
    pub open: bool,
    /// Why it was selected, if none was named.
    pub why: Option<String>,
}

/// Opens the run that `given` names: an id, a prefix of only one run's id, or [`LATEST`].
pub(crate) fn open_run(cx: &Context, project: &Project, given: &str) -> Result<Box<dyn StoredRun>> {
    if given == LATEST {
        return Ok(project.runs().open(&latest_run(cx, project)?)?);
    }
    match open_run_exactly(project, given) {
        Err(Error::NoSuchRun { suggestion, .. }) => {
            let ids = project.runs().ids()?.into_iter();
            let mut begun: Vec<_> = ids.filter(|id| id.as_str().starts_with(given)).collect();
            begun.sort_unstable();
            match begun.as_slice() {
                [] => {
                    let worktree = worktree_with(cx, given);
                    Err(Error::NoSuchRun { id: given.to_owned(), suggestion, worktree })
                }
                [only] => Ok(project.runs().open(only)?),
                _ => Err(Error::AmbiguousRun {
                    given: given.to_owned(),
                    candidates: begun.iter().map(RunId::to_string).collect(),
                }),
            }
        }
        found => found,
    }
}

/// Opens the run with exactly this id.
pub(crate) fn open_run_exactly(project: &Project, id: &str) -> Result<Box<dyn StoredRun>> {
    match project.runs().open(&RunId::new(id)?) {
        Err(error) if error.is_not_found() => {
            let ids = project.runs().ids().unwrap_or_default();
            let suggestion = crate::codec::similar(id, ids.iter().map(RunId::as_str)).map(str::to_owned);
            Err(Error::NoSuchRun { id: id.to_owned(), suggestion, worktree: None })
        }
        found => Ok(found?),
    }
}

pub(crate) fn latest_run(cx: &Context, project: &Project) -> Result<RunId> {
    let (runs, unreadable) = read_all(cx, project, |run| Some((run.head.created_at, run.head.run_id)))?;
    let latest = runs.into_iter().max().map(|(_, id)| id);
    latest.ok_or_else(|| Error::NoActiveRun { unreadable: in_words(&unreadable) })
}

/// The run that a reading command is about: the one that is named; otherwise the session's, the only active one, the
/// only open one, or the latest if all are over.
///
/// # Errors
/// [`Error::NoSuchRun`] and [`Error::AmbiguousRun`] for a name; [`Error::SeveralRuns`] when several are open,
/// [`Error::NoActiveRun`] when there are no runs.
pub fn meant_run(cx: &Context, named: Option<&str>, session: Option<SessionId>) -> Result<MeantRun> {
    let project = cx.project()?;
    if let Some(given) = named {
        return Ok(MeantRun { run_id: open_run(cx, &project, given)?.id().clone(), open: false, why: None });
    }
    let caller = cx.caller(session, None)?;
    let runs = Runs::read_open(cx, &project)?;
    match runs.meant(caller.session.as_ref()) {
        Ok(run) => Ok(MeantRun { run_id: run.head.run_id.clone(), open: true, why: Some("the open run".to_owned()) }),
        Err(Error::NoActiveRun { unreadable }) if unreadable.is_empty() => {
            let run_id = latest_run(cx, &project)?;
            Ok(MeantRun { run_id, open: false, why: Some("no run is open; this one is the latest".to_owned()) })
        }
        Err(error) => Err(error),
    }
}

/// As [`select_run`], for commands that write: refuses to guess if an unreadable run may be the one that is meant.
pub(crate) fn select_run_to_write(
    cx: &Context,
    project: &Project,
    named: Option<&str>,
    session: Option<&SessionId>,
    now: Timestamp,
) -> Result<Box<dyn StoredRun>> {
    if let Some(id) = named {
        return open_run(cx, project, id);
    }
    let runs = Runs::read_open_and_remember(cx, project, now)?;
    let run = runs.meant(session)?;
    match runs.unreadable.first() {
        Some(unreadable) if !is_own(run, session) => {
            let unreadable = unreadable.run_id.clone();
            Err(Error::UnsureRun { candidate: run.head.run_id.clone(), unreadable })
        }
        _ => Ok(project.runs().open(&run.head.run_id)?),
    }
}

/// The run that is named, otherwise the session's, otherwise the only active one.
pub(crate) fn select_run(
    cx: &Context,
    project: &Project,
    named: Option<&str>,
    session: Option<&SessionId>,
) -> Result<Box<dyn StoredRun>> {
    match named {
        Some(id) => open_run(cx, project, id),
        None => Ok(project.runs().open(&Runs::read_open(cx, project)?.meant(session)?.head.run_id)?),
    }
}
