//! `resume`: finds the next safe action.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Action, CompletedActivity, History, InDoubt, LeftUndone, Plan, RECENT, Verdict, joined};
use crate::host::is_commit_id;
use crate::host::{AskedForChanges, WorkingTree};
use crate::model::{
    Doing, LastSeen, RunDocument, RunHead, RunId, RunStatus, SessionId, StateName, Suggestion, Timestamp, WorkflowId,
    counted,
};
use crate::runs::advice::join;
use crate::runs::alternative::Alternative;
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::here::place_of_caller;
use crate::runs::look::in_time::unproved_within;
use crate::runs::look::outlook::{
    Definitions, NextReport, NextSteps, OpenedRun, next_steps, outlook, plan_for, plan_for_person,
};
use crate::runs::look::report::ReportedQuestion;
use crate::runs::look::seen::{SeenEvidence, no_longer_shown, seen_evidence, unproved_now};
use crate::runs::look::show::ShownUnit;
use crate::runs::open::damage::see_committed;
use crate::runs::open::listing::{for_listing, head_of};
use crate::runs::open::name::Purpose;
use crate::runs::open::own_files::{below_top, own_directories, own_of_others};
use crate::runs::open::reading::{Runs, Unreadable};
use crate::runs::open::recap::for_deciding;
use crate::runs::open::select::{Candidates, SelectedRun, named_run};
use crate::runs::open::shared::{Sharing, UnseenStore, ask_store};
use crate::runs::open::view::{View, for_reading, nearly_full};
use crate::runs::open::work::OpenWork;
use crate::runs::open::worktrees::{OtherWorktree, other_worktrees};
use crate::runs::path::{path_argument, quoted_path};
use crate::runs::user_state::git_state;
use crate::runs::write::claim::{ClaimReport, ClaimRequest, claim, hold_state};
use crate::runs::write::journal;
use crate::store::{Project, RefreshScope, StoredRun};

/// Which run to resume.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResumeRequest {
    /// The run; otherwise the session's, the newest of the branch that is checked out, or the newest.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// Whether to claim the run.
    pub claim: Option<ClaimRequest>,
    /// All completed activities; otherwise the last 20.
    pub all: bool,
    /// With `claim`: the last event for the caller; if another one is by now, the run is not claimed.
    pub seen: Option<LastSeen>,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// Whether to name the open runs of the repository's other worktrees; otherwise they are counted.
    pub worktrees: bool,
}

/// The highest number of other worktrees among the alternatives.
const WORKTREES: usize = 5;

/// The report of `resume`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ResumeReport {
    /// The verdict.
    pub verdict: Verdict,
    /// The run; none when there is nothing to resume.
    pub run_id: Option<RunId>,
    /// Its workflow.
    pub workflow: Option<WorkflowId>,
    /// Its status.
    pub status: Option<RunStatus>,
    /// The current phase.
    pub phase: Option<StateName>,
    /// What an active run is doing, if that says more than its status.
    pub doing: Option<Doing>,
    /// The branch that the run is about, if another one is checked out.
    pub other_branch: Option<String>,
    /// The reason for the verdict.
    pub reason: String,
    /// The next action.
    pub next: NextReport,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// The latest of them, in order; with `all`, every one.
    pub completed: Vec<CompletedActivity>,
    /// Work that was begun and has no known outcome.
    pub in_doubt: Vec<InDoubt>,
    /// Questions that wait for an answer; the last one is to be answered first.
    pub questions: Vec<ReportedQuestion>,
    /// Commands of which flow saw the end, and whether that still holds: the last one of each name in each phase, and of the 20
    /// ids that ended last. Hooks do not look.
    pub evidence: Vec<SeenEvidence>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// When the work began that the verdict is about, if the process that began it still runs.
    pub begun_at: Option<Timestamp>,
    /// The units of its work, and the work of sub-agents: each with its latest status and step.
    pub units: Vec<ShownUnit>,
    /// Why the run is blocked.
    pub blocked_reason: Option<String>,
    /// Uncommitted changes outside flow's own files.
    pub working_tree: WorkingTreeReport,
    /// Other runs that could be resumed, newest first.
    pub candidates: Vec<RunHead>,
    /// Runs that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Notes to read before going on.
    pub notes: Vec<String>,
    /// The claim, if it was requested.
    pub claim: Option<ClaimReport>,
    /// Other worktrees of the repository in which runs are open.
    pub worktrees: Vec<OtherWorktree>,
    /// Where it is shared, and as of when; nothing if it is of this checkout alone.
    #[serde(flatten)]
    pub sharing: Option<Sharing>,
}

/// Uncommitted changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WorkingTreeReport {
    /// Whether there are uncommitted changes.
    pub state: TreeState,
    /// The changed files.
    pub paths: Vec<String>,
    /// Why it is unknown whether there are changes.
    pub reason: Option<String>,
}

/// Whether there are uncommitted changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeState {
    /// No changes outside flow's own files.
    Clean,
    /// Uncommitted changes.
    Dirty,
    /// Git could not be asked.
    #[default]
    Unknown,
}

/// Finds the next safe action. Writes nothing, except a claim if the request has one.
///
/// # Errors
/// [`Error::NoSuchRun`] for a run that does not exist; `run_file_invalid` and the like when the named run cannot be
/// read; [`Error::Refused`] when a claim is refused.
pub fn resume(cx: &Context, request: &ResumeRequest) -> Result<ResumeReport> {
    let mut unseen = None;
    let mut report = match cx.project() {
        Ok(project) => {
            // git takes longer than everything else here, so it begins before the runs are read.
            let asked = ask_for_changes(cx, &project);
            let notes = ask_store(&project, RefreshScope::Open);
            unseen = UnseenStore::of(&project);
            let mut report = resume_here(&OpenWork::of(project)?, request, Looking::All(Box::new(asked)))?.0;
            // A run that the store has lost is what the verdict is about.
            report.notes.extend(notes.into_iter().filter(|note| *note != report.reason));
            report
        }
        Err(ref error @ Error::NoProject { ref around, .. }) if request.run.is_none() && cx.env.run.is_none() => {
            if let Some(in_git) = cx.project_in_git() {
                return Err(in_git);
            }
            let mut report = ResumeReport { reason: error.to_string(), ..nothing(Vec::new()) };
            // The project of the repository around this one may be meant.
            report.next.alternatives.extend(around.as_deref().map(in_place));
            report
        }
        Err(error) => return Err(error),
    };
    report.worktrees = other_worktrees(cx, if request.worktrees { usize::MAX } else { 0 });
    if report.verdict == Verdict::None {
        for other in report.worktrees.iter().take(WORKTREES) {
            let there = in_place(&other.path);
            // A worktree inside of another one has been found from here already.
            if !report.next.alternatives.iter().any(|found| found.command == there.command) {
                report.next.alternatives.push(there);
            }
        }
        // What is open elsewhere is probably meant.
        if report.next.alternatives.is_empty() {
            report.next.alternatives = ways_to_begin(unseen.as_ref());
        }
    }
    Ok(report)
}

/// How a run begins where none is open: one may be open in a store whose runs are not seen.
fn ways_to_begin(unseen: Option<&UnseenStore>) -> Vec<Alternative> {
    let begin = Suggestion::flow("start").value("WORKFLOW");
    let Some(unseen) = unseen else { return vec![Alternative::new("there is something to begin", begin)] };
    let mut ways = Vec::new();
    if unseen.acceptable {
        let accept = Suggestion::flow("remote use").value(&unseen.store);
        ways.push(Alternative::new(format!("the user accepts {} for the runs of this project", unseen.store), accept));
    }
    ways.push(Alternative::new("there is something to begin in this checkout alone", begin.flag("local")));
    ways
}

/// What is looked at beside the runs.
pub(in crate::runs) enum Looking<'a> {
    /// Nothing: a hook has some milliseconds.
    Nothing,
    /// Whether what was seen of commands still holds for the files, if that can be told in this time.
    Files(Duration),
    /// The files, and git, which was asked for this.
    All(Box<AskedForChanges<'a>>),
}

/// As [`resume`] of this work, without other worktrees. Returns the report, and the run as it was read, if it could be.
pub(in crate::runs) fn resume_here(
    work: &OpenWork,
    request: &ResumeRequest,
    looking: Looking<'_>,
) -> Result<(ResumeReport, Option<View>)> {
    let OpenWork { project, runs, .. } = work;
    let caller = project.cx.caller(request.session.clone(), None)?;
    let session = caller.session.as_ref();
    let purpose = if request.claim.is_some() { Purpose::Write } else { Purpose::Read };
    let (run, doubt) = match named_run(project, request.run.as_deref(), purpose)? {
        Some(run) => (run, None),
        None => match Candidates::among(project, runs, session).newest(session) {
            Some(SelectedRun { run, doubt }) => (project.runs().open(&run.head.run_id)?, doubt),
            None => return Ok((nothing_readable(project, runs)?, None)),
        },
    };
    let claim = match request.claim {
        // A run that is over has no holder.
        Some(_) if for_listing(project, &*run).is_ok_and(|run| run.summary.head.status.is_terminal()) => None,
        Some(how) => Some(claim(project, &*run, request.session.clone(), how, request.seen.as_ref())?),
        None => None,
    };
    // After the claim, which writes an event.
    let view = if request.all { for_reading(project, &*run) } else { for_deciding(project, &*run) };
    let mut view = match view {
        Ok(view) => view,
        Err(error) => {
            let mut report = conflict(project, &*run, error)?;
            report.candidates = candidates(runs, run.id().as_str());
            return Ok((report, None));
        }
    };
    if matches!(looking, Looking::All(_)) {
        see_committed(project, &*run, &mut view);
    }
    let hold_state = match claim {
        // The caller has just claimed the run, so no other holder is in the way.
        Some(_) => engine::HoldState::Free,
        None => hold_state(project, view.history.hold(), &caller)?,
    };
    let opened = OpenedRun { project, run: &*run, view: &view };
    let is_person = caller.session.is_none() && caller.shown_by.is_none();
    let mut report = report_of(opened, hold_state, is_person, looking, runs);
    if let Some(doubt) = doubt {
        report.notes.push(format!("{doubt}; name another one to resume it"));
    }
    if !request.all {
        report.completed.drain(..report.completed.len().saturating_sub(RECENT));
    }
    report.claim = claim;
    report.unreadable.clone_from(&runs.unreadable);
    Ok((report, Some(view)))
}

/// The report about a run that can be read. `is_person`: the caller is not an agent.
fn report_of(
    opened: OpenedRun<'_>,
    hold_state: engine::HoldState,
    is_person: bool,
    looking: Looking<'_>,
    runs: &Runs,
) -> ResumeReport {
    let OpenedRun { project, run, view } = opened;
    let mut outlook = outlook(opened, hold_state, &Definitions::default());
    let (mut evidence, mut asked) = (Vec::new(), None);
    match looking {
        Looking::Nothing => {}
        Looking::Files(time) => {
            if let Some(unproved) = unproved_within(&project.cx, view, time) {
                outlook.unproved = Some(unproved);
            }
        }
        Looking::All(changes) => {
            // A file that cannot be read must not hide how the run stands.
            evidence = seen_evidence(project, run, &view.history, &view.history.seen_last()).unwrap_or_default();
            outlook.unproved = Some(unproved_now(project, view, &evidence));
            asked = Some(changes);
        }
    }
    let plan = if is_person { plan_for_person(opened, &mut outlook) } else { plan_for(opened, &outlook) };
    let NextSteps { next, mut notes } = next_steps(opened, &outlook, &plan);
    // What is still asked for is the verdict's.
    let is_asked = outlook.unproved.as_ref().is_some_and(|unproved| !unproved.is_empty());
    if asked.is_some() {
        if !is_asked && !view.history.state().status().is_terminal() {
            notes.extend(no_longer_shown(opened, &outlook, &plan, &evidence));
        }
        notes.extend(more_seen(run.id(), &view.history));
    }
    let document = view.history.state().document();
    notes.extend(nearly_full(&view.text).filter(|_| !document.state.status.is_terminal()));
    if hold_state == engine::HoldState::HeldByOther
        && plan.verdict == Verdict::NeedsHuman
        && let Some(session) = &document.state.session
    {
        notes.push(format!("session {session} holds the run"));
    }
    let Plan { verdict, mut reason, completed, in_doubt, left_undone, begun_at, .. } = plan;
    let mut other_branch = None;
    if verdict != Verdict::Done
        && let Some((branch, here)) = other_branch_of(project, document)
    {
        reason = format!("the run is about branch {branch}, and {here} is checked out; {reason}");
        other_branch = Some(branch);
    }
    // Last, because git takes longest.
    let working_tree = match asked {
        Some(asked) => without_journals(project, without_others(project, asked.answer()), document, runs),
        None => WorkingTreeReport::default(),
    };
    ResumeReport {
        verdict,
        reason,
        next,
        run_id: Some(run.id().clone()),
        workflow: Some(document.workflow.clone()),
        status: Some(document.state.status),
        phase: document.state.current_phase.clone(),
        doing: head_of(view).doing,
        other_branch,
        completed_activities: view.history.completed_count(),
        completed,
        in_doubt,
        questions: document.state.questions.iter().map(ReportedQuestion::of).collect(),
        evidence: evidence.into_iter().filter(|seen| seen.latest).collect(),
        left_undone,
        begun_at,
        units: view.history.units().iter().map(ShownUnit::of).collect(),
        blocked_reason: document.state.blocked_reason.clone(),
        working_tree,
        candidates: candidates(runs, run.id().as_str()),
        notes,
        sharing: Sharing::of(project.runs().shared(), run),
        ..ResumeReport::default()
    }
}

/// A note on the commands of which flow saw the end before those that the report has, if it may not have all ids.
fn more_seen(run: &RunId, history: &History) -> Option<String> {
    let before = history.seen_before();
    if before == 0 || history.seen_last().len() < RECENT {
        return None;
    }
    let all = Suggestion::flow("evidence").value(run);
    Some(format!("flow saw the end of {} before these: `{all}`", counted(before, "command")))
}

/// The report about a run that cannot be read because a merge left conflict markers or two histories; for another
/// reason, the error.
fn conflict(project: &OpenedProject, run: &dyn StoredRun, error: Error) -> Result<ResumeReport> {
    let what = match &error {
        Error::Joined { what, .. } => what.clone(),
        _ => match joined(&run.log()?) {
            Some(what) => what,
            None => return Err(error),
        },
    };
    let reason = format!("a merge joined two histories of the run: {what}");
    let advice = join(run.id()).in_project(place_of_caller(project).as_deref());
    let next = NextReport {
        action: Action::Join,
        command: advice.command,
        alternatives: advice.alternatives,
        ..NextReport::default()
    };
    let run_id = Some(run.id().clone());
    Ok(ResumeReport { verdict: Verdict::Conflict, reason, next, run_id, ..ResumeReport::default() })
}

/// The report when no readable run is open. If there are unreadable runs, the verdict is not `none`.
fn nothing_readable(project: &OpenedProject, runs: &Runs) -> Result<ResumeReport> {
    if let [only] = runs.unreadable.as_slice() {
        let run = project.runs().open(&RunId::new(only.run_id.as_str())?)?;
        // Two histories that a merge joined are not a broken file: resume says how to join them.
        if let Err(error) = for_reading(project, &*run)
            && let Ok(report) = conflict(project, &*run, error)
        {
            return Ok(report);
        }
    }
    Ok(nothing(runs.unreadable.clone()))
}

/// The branch that a run is about, and what is checked out instead.
fn other_branch_of(project: &OpenedProject, run: &RunDocument) -> Option<(String, String)> {
    let branch = run.context_text("branch")?;
    let head = project.cx.git.head(project.root())?;
    // A commit that was checked out without a branch, as CI does it, does not say where the work goes on.
    if head.is_at(branch) || is_commit_id(branch) {
        return None;
    }
    Some((branch.to_owned(), head.name()?))
}

/// Asks git for uncommitted changes, without the files in flow's own directories.
fn ask_for_changes<'a>(cx: &'a Context, project: &OpenedProject) -> AskedForChanges<'a> {
    let root = project.root();
    cx.git.ask_for_changes(root, own_directories(project), || git_state(cx, root))
}

/// These changes without what flow writes for the other projects of the checkout.
fn without_others(project: &OpenedProject, tree: WorkingTree) -> WorkingTree {
    let (WorkingTree::Dirty(paths), Some(top)) = (&tree, project.cx.git.top(project.root())) else { return tree };
    let (cx, mut own) = (&project.cx, own_directories(project));
    let others = own_of_others(project, &top, &own, paths.iter().map(String::as_bytes));
    if others.is_empty() {
        return tree;
    }
    // git lists no more than so many paths, so those of others can have hidden some.
    own.extend(others);
    cx.git.ask_for_changes(project.root(), own, || git_state(cx, project.root())).answer()
}

/// The report of these changes, without the journals of `runs` and of `run`.
fn without_journals(project: &OpenedProject, tree: WorkingTree, run: &RunDocument, runs: &Runs) -> WorkingTreeReport {
    let mut paths = match tree {
        WorkingTree::Clean => Vec::new(),
        WorkingTree::Dirty(paths) => paths,
        WorkingTree::Unknown(why) => {
            return WorkingTreeReport { state: TreeState::Unknown, paths: Vec::new(), reason: Some(why) };
        }
    };
    let below = below_top(&project.cx, project.root());
    // flow itself writes into the journals of all open runs, so what changed there is not someone's unfinished work.
    let mut own = Vec::new();
    for journal in runs.open().map(|run| run.journal.as_deref()).chain([run.context_text("journal")]).flatten() {
        own.extend(own_journal(project, journal, &below));
    }
    paths.retain(|path| !own.contains(path));
    let state = if paths.is_empty() { TreeState::Clean } else { TreeState::Dirty };
    WorkingTreeReport { state, paths, reason: None }
}

/// The journal of a run, and the lock that its writers may leave beside it, relative to the top of the checkout.
fn own_journal(project: &Project, journal: &str, below: &Path) -> Vec<String> {
    let journal = Path::new(journal).strip_prefix(project.root()).unwrap_or(Path::new(journal));
    // `run.yaml` may name any file as the journal: one that flow would not write is someone's own.
    if journal::refuse_path(journal).is_some() {
        return Vec::new();
    }
    let journal = below.join(journal).components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
    let journal = journal.to_string_lossy().into_owned();
    vec![format!("{journal}.lock"), journal]
}

fn candidates(runs: &Runs, but: &str) -> Vec<RunHead> {
    runs.open().filter(|run| run.head.run_id.as_str() != but).map(|run| run.head.clone()).collect()
}

/// The alternative to resume in another worktree, or in the project of the repository around this one.
fn in_place(path: &Path) -> Alternative {
    let command = Suggestion::flow("resume").in_project(Some(&path_argument(path)));
    Alternative::new(format!("the work in {} is meant", quoted_path(path)), command)
}

fn nothing(unreadable: Vec<Unreadable>) -> ResumeReport {
    if unreadable.is_empty() {
        let command = Some(Suggestion::flow("workflow list"));
        let next = NextReport { action: Action::Start, command, ..NextReport::default() };
        let reason = "no run is open".to_owned();
        return ResumeReport { verdict: Verdict::None, reason, next, ..ResumeReport::default() };
    }
    let reason = format!("no readable run is open, and {} cannot be read", counted(unreadable.len(), "run"));
    let next =
        NextReport { action: Action::Repair, command: Some(Suggestion::flow("doctor")), ..NextReport::default() };
    ResumeReport { verdict: Verdict::Unreadable, reason, next, unreadable, ..ResumeReport::default() }
}
