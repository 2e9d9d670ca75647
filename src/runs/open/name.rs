//! A run by the name that people use for it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use crate::model::{Help, Issue, Kind, Problem, Remote, RunId, RunSummary, Suggestion, first_few, quoted};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::checkout::{in_git, may_be_elsewhere};
use crate::runs::open::reading::{Runs, read_all, reasons};
use crate::runs::open::shared::{brings_news, request_to_read};
use crate::runs::open::sparse::{refuse_left_out_name, refuse_left_out_run};
use crate::runs::open::worktrees::{in_other_worktrees, place_name};
use crate::runs::path::path_argument;
use crate::runs::user_state::git_state;
use crate::store::{Project, RefreshScope, StoreError, StoredRun};

/// The name for the run that was started last, even if it is over.
pub(crate) const LATEST: &str = "@latest";

/// What a name is looked up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To read.
    Read,
    /// To write. The end of an id is not enough if it fits an open run and one that is over.
    Write,
}

/// Opens the run that `given` names: its id; the issue or pull request that it is about; the beginning of its id; the end of
/// its id, behind a `-`; or [`LATEST`]. The first of these that fits a run counts. An open run comes before those that
/// are over, except for [`LATEST`].
/// A run that is not known here, or was pruned here, may be shared, so the store is asked then.
/// One that was removed from the checkout, is on another branch or in the stash is named with what brings it back.
pub(crate) fn open_run(project: &OpenedProject, given: &str, purpose: Purpose) -> Result<Box<dyn StoredRun>> {
    let found = find_run(project, given, purpose);
    if let Err(Error::NoSuchRun { worktree: None, .. }) = &found
        && let Ok(id) = RunId::new(given)
        && let Some(elsewhere) = in_git(project, &id)
    {
        return Err(elsewhere);
    }
    found
}

/// As [`open_run`], without starting git for a name that nothing fits: hooks look for runs of other projects.
pub(crate) fn find_run(project: &OpenedProject, given: &str, purpose: Purpose) -> Result<Box<dyn StoredRun>> {
    match open_known_run(project, given, purpose) {
        Err(error) if is_not_here(&error) && brings_news(project, RefreshScope::All)? => {
            match open_known_run(project, given, purpose) {
                Err(error) if is_not_here(&error) && is_unlisted(project, given)? => {
                    open_known_run(project, given, purpose)
                }
                found => found,
            }
        }
        found => found,
    }
}

fn is_not_here(error: &Error) -> bool {
    matches!(error, Error::NoSuchRun { .. } | Error::Store(StoreError::Pruned { .. }))
}

/// Whether this is the whole id of a run that the store has and does not list. Its copy is here then.
fn is_unlisted(project: &OpenedProject, given: &str) -> Result<bool> {
    let Ok(id) = RunId::new(given) else { return Ok(false) };
    let Some(shared) = project.runs().shared().accepted() else { return Ok(false) };
    Ok(shared.bring_unlisted(&id, &request_to_read(project)?)?)
}

fn open_known_run(project: &OpenedProject, given: &str, purpose: Purpose) -> Result<Box<dyn StoredRun>> {
    if given == LATEST {
        return Ok(project.runs().open(&latest_run(project)?)?);
    }
    let suggestion = match open_run_exactly(project, given) {
        Err(Error::NoSuchRun { suggestion, .. }) => suggestion,
        // `#42` is not an id.
        Err(Error::Name(bad)) if given.parse::<Issue>().is_err() => {
            return Err(named_by_hud(project, given).unwrap_or_else(|| bad.into()));
        }
        Err(Error::Name(_)) => None,
        found => return found,
    };
    if let Some(id) = run_named_otherwise(project, given, purpose)? {
        return Ok(project.runs().open(&id)?);
    }
    refuse_left_out_name(project, given)?;
    if let Some(pruned) = pruned_run(project, given) {
        return Err(pruned);
    }
    Err(Error::NoSuchRun { id: given.to_owned(), suggestion, worktree: worktree_with(&project.cx, given) })
}

/// The run that `given` names without being its id.
fn run_named_otherwise(project: &OpenedProject, given: &str, purpose: Purpose) -> Result<Option<RunId>> {
    if let Ok(issue) = given.parse()
        && let Some(id) = run_about(project, given, &issue)?
    {
        refuse_name_of_another(project, given, &id)?;
        return Ok(Some(id));
    }
    run_like(project, given, purpose)
}

/// That a name is one of another worktree, as a status line shows it: `fix@side`.
fn named_by_hud(project: &OpenedProject, given: &str) -> Option<Error> {
    let (name, place) = given.rsplit_once('@')?;
    let (root, _) = in_other_worktrees(&project.cx).into_iter().find(|(root, _)| place_name(root) == place)?;
    let message = format!("{given} is the run {name} of another worktree");
    let there = Suggestion::flow("show").value(name).in_project(Some(&path_argument(&root)));
    Some(Problem::new(Kind::NotFound, "run_not_found", message).help(Help::from("name it there: ") + there).into())
}

/// The other worktree of the repository in which `given` names a run.
fn worktree_with(cx: &Context, given: &str) -> Option<PathBuf> {
    for (path, cx) in in_other_worktrees(cx) {
        let Ok(project) = cx.project() else { continue };
        let named = match RunId::new(given) {
            Ok(id) if project.runs().open(&id).is_ok() => Some(id),
            _ => run_named_otherwise(&project, given, Purpose::Read).ok().flatten(),
        };
        if let Some(id) = named
            && let Ok(run) = project.runs().open(&id)
            // That worktree may have only files of the run that git does not know.
            && !may_be_elsewhere(&project, &*run)
        {
            return Some(path);
        }
    }
    None
}

/// Opens the run with exactly this id.
pub(crate) fn open_run_exactly(project: &Project, id: &str) -> Result<Box<dyn StoredRun>> {
    match project.runs().open(&RunId::new(id)?) {
        Err(error) if error.is_not_found() => {
            refuse_pruned(project, &RunId::new(id)?)?;
            let ids = project.runs().ids().unwrap_or_default();
            Err(Error::NoSuchRun { id: id.to_owned(), suggestion: similar_run(id, &ids), worktree: None })
        }
        found => Ok(found?),
    }
}

/// The run whose id, or whose name without the time of its start, has similar letters; of several the newest.
fn similar_run(given: &str, ids: &[RunId]) -> Option<String> {
    if let Some(id) = crate::codec::similar(given, ids.iter().map(RunId::as_str)) {
        return Some(id.to_owned());
    }
    let given = given.to_lowercase();
    let mut by_name = BTreeMap::new();
    for id in ids {
        let newest = by_name.entry(id.name().to_lowercase()).or_insert(id);
        *newest = (*newest).max(id);
    }
    let name = crate::codec::similar(&given, by_name.keys().map(String::as_str))?;
    by_name.get(name).map(ToString::to_string)
}

/// Refuses a run that is not here because it was pruned.
pub(crate) fn refuse_pruned(project: &Project, id: &RunId) -> Result<()> {
    match project.runs().pruned(id)? {
        Some(pruned) => Err(pruned.refusal().into()),
        None => Ok(()),
    }
}

/// The same, unless machines share a run of this id, which the store is asked for.
pub(in crate::runs) fn refuse_pruned_here(project: &OpenedProject, id: &RunId) -> Result<()> {
    match refuse_pruned(project, id) {
        Err(_) if brings_news(project, RefreshScope::All)? && project.runs().shared().has(id) => Ok(()),
        refused => refused,
    }
}

/// That the run of this name was pruned. A name that could not be looked up names no pruned run.
fn pruned_run(project: &Project, given: &str) -> Option<Error> {
    let name = given.trim_start_matches('#');
    if name.is_empty() {
        return None;
    }
    Some(project.runs().pruned_named(name).ok()??.refusal().into())
}

/// The run that was started last.
pub(crate) fn latest_run(project: &OpenedProject) -> Result<RunId> {
    let (runs, unreadable) = read_all(project, |run| Some((run.head.created_at, run.head.run_id)))?;
    match runs.into_iter().max() {
        Some((_, id)) => Ok(id),
        None => Err(Error::no_active_run(reasons(&unreadable))),
    }
}

/// The run that is about an issue, or about the pull request of that number.
fn run_about(project: &OpenedProject, given: &str, issue: &Issue) -> Result<Option<RunId>> {
    let keys = IssueKeys::at(&project.cx, project.root().to_owned());
    let (key, pr) = (keys.key(issue), keys.pull_request(issue));
    let mut found = Vec::new();
    for run in Runs::read_open(project)?.open() {
        if keys.is_about(run, &key, pr) {
            found.push(run.head.run_id.clone());
        }
    }
    if found.is_empty() {
        // Only runs that are about something can be meant, and few are. Several threads read them, which cannot share the keys.
        let (about, _) = read_all(project, |run| (run.issue.is_some() || run.pr.is_some()).then_some(run))?;
        for run in about {
            if keys.is_about(&run, &key, pr) {
                found.push(run.head.run_id);
            }
        }
    }
    if found.is_empty() {
        let word = if issue.is_address() { String::new() } else { issue.to_string() };
        refuse_left_out_run(project, None, &word, |run| keys.is_about(&RunSummary::from(run), &key, pr))?;
    }
    only(given, found)
}

/// Refuses the key of an issue that is also the short name of another run, as lists show that: `issue-7`.
fn refuse_name_of_another(project: &OpenedProject, given: &str, about: &RunId) -> Result<()> {
    // No short name is a number.
    if given.trim_start_matches('#').bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    let mut meant = project.runs().ids()?;
    meant.retain(|id| id == about || id.name() == given);
    only(given, meant).map(|_| ())
}

/// Refuses to begin a run for a report if its id is a name of an open one: the report may be meant for that.
pub(in crate::runs) fn refuse_name_of_open(project: &OpenedProject, id: &RunId) -> Result<()> {
    let issue = id.as_str().parse::<Issue>().ok();
    let ids = project.runs().ids()?;
    let is_short = ids.iter().any(|other| other != id && other.name() == id.as_str());
    if issue.is_none() && !is_short || ids.contains(id) {
        return Ok(());
    }
    let keys = IssueKeys::at(&project.cx, project.root().to_owned());
    let about = issue.map(|issue| (keys.key(&issue), keys.pull_request(&issue)));
    for run in Runs::read_open(project)?.open() {
        let other = &run.head.run_id;
        let is_about = about.as_ref().is_some_and(|(key, pr)| keys.is_about(run, key, *pr));
        if other != id && (other.name() == id.as_str() || is_about) {
            let message = format!("{id} is a name of the open run {other}, and no run has it as its id");
            let help = format!("go on with {other} by its whole id, or give the new run another one");
            return Err(Problem::new(Kind::Refused, "run_exists", message).help(help).into());
        }
    }
    Ok(())
}

/// The run whose id begins with `given`, or else ends with it behind a `-`.
fn run_like(project: &OpenedProject, given: &str, purpose: Purpose) -> Result<Option<RunId>> {
    let ids = project.runs().ids()?;
    // Every id begins with an empty name, which names none of them.
    if given.is_empty() {
        return Ok(None);
    }
    let (mut fitting, mut others): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.as_str().starts_with(given));
    let end = format!("-{given}");
    others.retain(|id| id.as_str().ends_with(&end));
    let by_end = fitting.is_empty();
    if by_end {
        fitting = std::mem::take(&mut others);
    } else if purpose == Purpose::Read {
        others.clear();
    }
    if fitting.len() < 2 && others.is_empty() {
        return Ok(fitting.pop());
    }
    let runs = Runs::read_open(project)?;
    // A run that cannot be read may be open.
    let mut may_be_open: HashSet<&str> = runs.open().map(|run| run.head.run_id.as_str()).collect();
    may_be_open.extend(runs.unreadable.iter().map(|run| run.run_id.as_str()));
    // People see the ends of ids in lists, so the beginning of another one is not meant for sure.
    others.retain(|id| may_be_open.contains(id.as_str()));
    if !others.is_empty() {
        fitting.extend(others);
        return only(given, fitting);
    }
    let mut open = fitting.clone();
    open.retain(|id| may_be_open.contains(id.as_str()));
    // A record in the wrong run stays there, so to write an end of an id must fit one run alone.
    let is_sure = purpose == Purpose::Read || !by_end;
    match open.as_slice() {
        [one] if is_sure => Ok(Some(one.clone())),
        [_, _, ..] if is_sure => only(given, open),
        _ => only(given, fitting),
    }
}

/// The only one of these runs; refuses several.
fn only(given: &str, mut found: Vec<RunId>) -> Result<Option<RunId>> {
    found.sort_unstable();
    match found.as_slice() {
        [] | [_] => Ok(found.pop()),
        _ => {
            // In a shell, a bare `#` begins a comment.
            let message = format!("{} fits several runs: {}", quoted(given), first_few(&found, 5));
            Err(Problem::new(Kind::Usage, "ambiguous_run", message).help("name one of them by its whole id").into())
        }
    }
}

/// The remote of the repository that runs are about.
pub(in crate::runs) fn own_remote(project: &OpenedProject) -> Option<Remote> {
    project.cx.git.remote(project.root(), || git_state(&project.cx, project.root()))
}

/// The keys by which the issues of one project are compared. Asks git for the remote at most once, and only if an issue is
/// named by its address.
pub(crate) struct IssueKeys<'a> {
    cx: &'a Context,
    root: PathBuf,
    remote: OnceCell<Option<Remote>>,
}

impl<'a> IssueKeys<'a> {
    /// The keys of the issues of the project that is or will be at `root`.
    pub(crate) fn at(cx: &'a Context, root: PathBuf) -> Self {
        Self { cx, root, remote: OnceCell::new() }
    }

    /// The key of an issue.
    pub(crate) fn key(&self, issue: &Issue) -> String {
        issue.key(self.remote_for(issue))
    }

    /// The number of the pull request that it may name as well.
    fn pull_request(&self, issue: &Issue) -> Option<u64> {
        issue.pull_request(self.remote_for(issue))
    }

    fn remote_for(&self, issue: &Issue) -> Option<&Remote> {
        if !issue.is_address() {
            return None;
        }
        self.remote.get_or_init(|| self.cx.git.remote(&self.root, || git_state(self.cx, &self.root))).as_ref()
    }

    /// Whether a run is about the issue with this key, or about this pull request.
    fn is_about(&self, run: &RunSummary, key: &str, pr: Option<u64>) -> bool {
        pr.is_some() && run.pr == pr || run.issue.as_ref().is_some_and(|issue| self.key(issue) == key)
    }
}
