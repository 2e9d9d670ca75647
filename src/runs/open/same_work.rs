//! Two open runs about the same issue or pull request.

use std::path::Path;

use crate::engine::RunState;
use crate::model::{Help, Issue, Kind, Problem, RunDocument, RunId, RunSummary, Suggestion, WorkflowId, limits};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::listing::for_listing;
use crate::runs::open::name::IssueKeys;
use crate::runs::open::reading::Runs;
use crate::runs::open::shared::request_to_read;
use crate::runs::open::sparse::{refuse_left_out_run, refuse_removed_run};
use crate::runs::open::view::for_reading;
use crate::store::{StoreError, StoredRun, WorkChange, WorkKey};

/// What two open runs should not share: an issue, or a pull request in the same workflow.
pub(crate) struct SameWork<'a> {
    issue: Option<Issue>,
    pr: Option<u64>,
    workflow: &'a str,
}

/// The issue of a request as it is written into a run. Refuses an issue or a pull request that no run can be about: its
/// `run.yaml` would be one that flow refuses.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn checked_work(issue: Option<&Issue>, pr: Option<u64>) -> Result<Option<Issue>> {
    let issue = issue.map(Issue::checked).transpose().map_err(|bad| Error::Usage(bad.to_string()))?;
    match pr {
        Some(number) if !(1..=limits::COUNTER).contains(&number) => Err(Error::Usage(format!(
            "{number} is not a pull request: give a whole number from 1 to {}",
            limits::COUNTER
        ))),
        _ => Ok(issue),
    }
}

impl<'a> SameWork<'a> {
    /// The work of a new run.
    pub(crate) fn new(issue: Option<Issue>, pr: Option<u64>, workflow: &'a WorkflowId) -> Self {
        Self { issue, pr, workflow: workflow.as_str() }
    }

    /// The issue and pull request of a run.
    pub(crate) fn of(run: &'a RunDocument) -> Self {
        Self { issue: run.issue(), pr: run.context_number("pr"), workflow: run.workflow.as_str() }
    }

    /// The keys by which a store that several machines share tells it. `keys` makes that of the issue.
    pub(crate) fn keys(&self, keys: &IssueKeys<'_>) -> Vec<WorkKey> {
        let issue = self.issue.as_ref().map(|issue| format!("issue {}", keys.key(issue)));
        let pr = self.pr.map(|pr| format!("pull request {pr} in {}", self.workflow));
        issue.into_iter().chain(pr).map(WorkKey).collect()
    }

    /// How what an open run is about changes between these two documents of it.
    pub(crate) fn change(project: &OpenedProject, before: &RunDocument, after: &RunDocument) -> WorkChange {
        let is_same = before.state.status.is_terminal() == after.state.status.is_terminal()
            && before.issue() == after.issue()
            && before.context_number("pr") == after.context_number("pr");
        if is_same {
            return WorkChange::default();
        }
        let keys = IssueKeys::at(&project.cx, project.root().to_owned());
        let (before, after) = (keys_of(before, &keys), keys_of(after, &keys));
        WorkChange {
            taken: after.iter().filter(|key| !before.contains(key)).cloned().collect(),
            freed: before.into_iter().filter(|key| !after.contains(key)).collect(),
        }
    }

    /// What of it is new to a run that was about `before`.
    pub(crate) fn without(mut self, before: &Self) -> Self {
        self.issue = self.issue.filter(|issue| before.issue.as_ref() != Some(issue));
        self.pr = self.pr.filter(|pr| before.pr != Some(*pr));
        self
    }

    /// A word that is in the text of every run about the same.
    fn word(&self) -> String {
        match (&self.issue, self.pr) {
            (Some(issue), _) if !issue.is_address() => issue.to_string(),
            (_, Some(pr)) => pr.to_string(),
            // Other runs may name the issue by its number, so no text is in all of them.
            _ => String::new(),
        }
    }

    /// Whether a run is open and about the same.
    fn is_taken_by(&self, run: &RunDocument, keys: &IssueKeys<'_>) -> bool {
        let key = self.issue.as_ref().map(|issue| keys.key(issue));
        let is_open = !run.state.status.is_terminal();
        is_open && self.shared_with(&RunSummary::from(run), keys, key.as_deref()).is_some()
    }

    /// What `other` is about as well, such as `issue 42`. `key` is that of the issue here.
    fn shared_with(&self, other: &RunSummary, keys: &IssueKeys<'_>, key: Option<&str>) -> Option<String> {
        if let (Some(key), Some(issue)) = (key, &other.issue)
            && keys.key(issue) == key
        {
            return Some(format!("issue {key}"));
        }
        // Runs of two workflows may be about one pull request, for example its review and its merge.
        let pr = self.pr?;
        let is_same = other.pr == Some(pr) && other.head.workflow.as_str() == self.workflow;
        if is_same { Some(format!("pull request {pr}")) } else { None }
    }
}

/// What a run is about; nothing once it is over.
fn keys_of(run: &RunDocument, keys: &IssueKeys<'_>) -> Vec<WorkKey> {
    if run.state.status.is_terminal() { Vec::new() } else { SameWork::of(run).keys(keys) }
}

/// Refuses `run` if another open run is about the same work. A retry of a start with the same id gets the error that
/// the run exists, not this one.
pub(crate) fn refuse_second_run(project: &OpenedProject, run: Option<&RunId>, work: &SameWork<'_>) -> Result<()> {
    let mut asked = Vec::new();
    while let Some((other, about)) = second_run(project, run, work)? {
        // The copy of a shared run may be behind: it may be over, or about something else by now.
        if asked.contains(&other) || !is_brought_up_to_date(project, &other)? {
            return Err(Error::SecondRun { run: other, about });
        }
        asked.push(other);
    }
    Ok(())
}

/// Refuses a run if another open one about the same work was removed from the checkout at `root`, and git still has it.
pub(crate) fn refuse_work_in_git(cx: &Context, root: &Path, work: &SameWork<'_>) -> Result<()> {
    if work.issue.is_none() && work.pr.is_none() {
        return Ok(());
    }
    let keys = IssueKeys::at(cx, root.to_owned());
    let project = cx.project_if_any()?;
    refuse_removed_run(cx, root, &work.word(), |other| {
        if let Some(project) = &project
            && project.runs().pruned(&other.id).is_ok_and(|run| run.is_some())
        {
            return false;
        }
        work.is_taken_by(other, &keys)
    })
}

/// Another open run about the same work, as it is seen here, and what both are about.
fn second_run(project: &OpenedProject, run: Option<&RunId>, work: &SameWork<'_>) -> Result<Option<(RunId, String)>> {
    if work.issue.is_none() && work.pr.is_none() {
        return Ok(None);
    }
    let runs = Runs::read_open(project)?;
    let keys = IssueKeys::at(&project.cx, project.root().to_owned());
    let key = work.issue.as_ref().map(|issue| keys.key(issue));
    refuse_left_out_run(project, run, &work.word(), |other| work.is_taken_by(other, &keys))?;
    for other in runs.open() {
        if Some(&other.head.run_id) != run
            && let Some(about) = work.shared_with(other, &keys, key.as_deref())
        {
            return Ok(Some((other.head.run_id.clone(), about)));
        }
    }
    for unreadable in &runs.unreadable {
        let Ok(id) = RunId::new(unreadable.run_id.as_str()) else { continue };
        if Some(&id) == run {
            continue;
        }
        match begun_as(project, &id) {
            Some(other) if other.state.status.is_terminal() => {}
            Some(other) => {
                if let Some(about) = work.shared_with(&RunSummary::from(&other), &keys, key.as_deref()) {
                    return Ok(Some((id, about)));
                }
            }
            None => {
                let message = format!("{}, so it may be about the same", unreadable.reason);
                let help = Help::from("make it readable: ") + Suggestion::flow("doctor").value(&id);
                return Err(Problem::new(Kind::Damaged, "run_unreadable", message)
                    .help(help + "; or have two with --another")
                    .into());
            }
        }
    }
    Ok(None)
}

/// Brings the copy of a shared run up to date. Whether that could change anything.
fn is_brought_up_to_date(project: &OpenedProject, id: &RunId) -> Result<bool> {
    if project.cx.options.is_offline || !project.runs().shared().has(id) {
        return Ok(false);
    }
    match project.runs().open(id)?.catch_up(&request_to_read(project)?) {
        Ok(_) => Ok(true),
        // What the store has lost is open as far as anyone can tell.
        Err(StoreError::Lost { .. } | StoreError::NotALog { .. } | StoreError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A run that cannot be read, as its log alone has it.
fn begun_as(project: &OpenedProject, run: &RunId) -> Option<RunDocument> {
    let log = project.runs().open(run).ok()?.log().ok()?;
    Some(RunState::fold(log.events())?.into_document())
}

/// Whether another open run is about the same work as this one.
pub(crate) fn has_second_run(project: &OpenedProject, run: &RunDocument) -> bool {
    matches!(second_run(project, Some(&run.id), &SameWork::of(run)), Ok(Some(_)))
}

/// Passes the marks that `run` has freed in a shared store on to another open run about the same: of two, the store marks one.
/// A mark that cannot be set now is found by the doctor.
pub(crate) fn pass_on(project: &OpenedProject, run: &RunId, freed: &[WorkKey]) {
    let Some(shared) = project.runs().shared().with(run) else { return };
    if freed.is_empty() {
        return;
    }
    let (Ok(runs), Ok(wait)) = (Runs::read_open(project), project.commit_wait()) else { return };
    let keys = IssueKeys::at(&project.cx, project.root().to_owned());
    for other in runs.open() {
        let id = &other.head.run_id;
        let mut work = SameWork::new(other.issue.clone(), other.pr, &other.head.workflow).keys(&keys);
        work.retain(|key| freed.contains(key));
        if id != run && !work.is_empty() && shared.copies_with(id).is_some() {
            let _ = shared.put_again(id, work, &project.cx.write_request(project.cx.now(), wait));
        }
    }
}

/// What an open run is about, by which a store that several machines share tells it.
pub(crate) fn work_of(project: &OpenedProject, run: &dyn StoredRun) -> Result<Vec<WorkKey>> {
    if for_listing(project, run)?.summary.head.status.is_terminal() {
        return Ok(Vec::new());
    }
    let view = for_reading(project, run)?;
    let keys = IssueKeys::at(&project.cx, project.root().to_owned());
    Ok(SameWork::of(view.history.state().document()).keys(&keys))
}
