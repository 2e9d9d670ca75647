//! `prune`: takes runs that are over out of the project.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::{DiskError, Errno, Operation};
use crate::engine::Attempt;
use crate::model::{Explain as _, RunId, RunStatus, RunSummary, Timestamp, is_terminal_control};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::holder::process_of;
use crate::runs::host_note::is_alive;
use crate::runs::left_out::ATTRIBUTES;
use crate::runs::open::fault::refusal;
use crate::runs::open::listing::head_of;
use crate::runs::open::reading::{Unreadable, read_all};
use crate::runs::open::shared::{brings_news, not_accepted};
use crate::runs::open::view::for_reading;
use crate::runs::write::begun::has_command_at_work;
use crate::store::{RefreshScope, StoreError, StoredRun};

/// Which runs to take out of the project, and where they go.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PruneRequest {
    /// Only runs that ended before then; otherwise those that ended 90 days ago.
    pub ended_before: Option<Timestamp>,
    /// How many of the runs that ended last stay, whenever that was.
    pub keep: Option<usize>,
    /// The directory like `.flow` that they are moved into; otherwise they are removed.
    pub to: Option<PathBuf>,
    /// Of these runs only those that are named here, because a person saw them and agreed.
    pub only: Option<Vec<RunId>>,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// How old a run is that is pruned, in days, if nothing else is asked for.
const DAYS: i64 = 90;

/// The report of `prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PruneReport {
    /// The runs that were taken out, or would be; those that ended first come first.
    pub pruned: Vec<ListedPrune>,
    /// All others.
    pub kept: Vec<KeptRun>,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// A run that is pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedPrune {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub status: RunStatus,
    /// When it was changed last.
    pub ended_at: Timestamp,
    /// The size of its files.
    pub bytes: u64,
    /// The directory like `.flow` to which it goes, relative to the project if it is inside; none if it is removed.
    pub to: Option<String>,
}

/// A run that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptRun {
    /// The name of its directory.
    pub run_id: String,
    /// Why it stays.
    pub why: String,
    /// Whether it is over and old enough, and stays anyway.
    #[serde(skip)]
    pub is_due: bool,
}

impl KeptRun {
    /// One that the request does not ask to prune.
    fn not_asked_for(run_id: &str, why: impl Into<String>) -> Self {
        Self { run_id: run_id.to_owned(), why: why.into(), is_due: false }
    }

    /// One that stays although it is over and old enough.
    fn although_due(run_id: &str, why: impl Into<String>) -> Self {
        Self { run_id: run_id.to_owned(), why: why.into(), is_due: true }
    }
}

/// Takes runs that are over out of the project: moves them into another directory, or removes them.
///
/// # Errors
/// `usage` for a directory inside of `.flow`, `other_file_system` for one to which runs cannot be renamed; those of writing.
/// Each run is in one place then, and the same command goes on.
pub fn prune(cx: &Context, request: &PruneRequest) -> Result<PruneReport> {
    let project = cx.project()?;
    let to = request.to.as_deref().map(|to| Destination::of(&project, to)).transpose()?;
    let unseen = unseen_forks(&project);
    let (runs, unreadable) = read_all(&project, Some)?;
    let needed = EvidenceUsers { open_forks: needed_by_forks(&project, &runs)?, unseen };
    let mut report = plan(&project, request, runs, &needed, to.as_ref().map(Destination::noted));
    for Unreadable { run_id, reason } in unreadable {
        report.kept.push(KeptRun::although_due(&run_id, format!("it cannot be read: {reason}")));
    }
    if let Some(only) = &request.only {
        report.pruned.retain(|run| only.contains(&run.run_id));
    }
    if let Some(to) = &to
        && !report.pruned.is_empty()
    {
        report.warnings.extend(to.counts_in_checkout(&project));
    }
    if request.dry_run {
        return Ok(report);
    }
    // A prune adds a line to it.
    cx.refuse_left_out(project.root(), ATTRIBUTES)?;
    if let Some(to) = &to {
        cx.refuse_left_out_path(&to.flow)?;
    }
    let ids: Vec<_> = report.pruned.iter().map(|run| run.run_id.clone()).collect();
    let write = cx.write_request(cx.now(), project.commit_wait()?);
    let place = match &to {
        Some(to) if ids.is_empty() => {
            project.flush_pruned(&*cx.disk, &to.flow)?;
            None
        }
        Some(to) => Some(project.prune_place(&*cx.disk, &to.flow, &to.noted, &write)?),
        None => None,
    };
    let mut by_open_forks = None;
    let pruning =
        project.prune(&ids, place.as_ref(), &write, &mut |run| match needed_now(&project, &mut by_open_forks) {
            Ok(needed) => why_it_stays(&project, run, needed),
            Err(error) => Some(format!("it cannot be read whether an open fork needs it: {}", error.one_line())),
        })?;
    report.warnings.extend(pruning.warnings);
    for stay in pruning.stay {
        report.pruned.retain(|run| run.run_id != stay.run_id);
        report.kept.push(KeptRun::although_due(stay.run_id.as_str(), stay.why));
    }
    report.dry_run = false;
    Ok(report)
}

/// Where pruned runs are moved.
struct Destination {
    /// The directory.
    flow: PathBuf,
    /// As notes and reports name it.
    noted: PathBuf,
    /// As the caller names it.
    given: PathBuf,
}

impl Destination {
    fn of(project: &OpenedProject, given: &Path) -> Result<Self> {
        let cx = &project.cx;
        let path: PathBuf = cx.absolute(given)?.components().collect();
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Err(Error::Usage(format!("--to: {} does not name a directory", given.display())));
        };
        // The directory itself need not be there yet.
        let flow = match canonical(cx, &path)? {
            Some(there) => there,
            None => match canonical(cx, parent)? {
                Some(parent) => parent.join(name),
                None => return Err(Error::Usage(format!("--to: there is no directory {}", parent.display()))),
            },
        };
        if cx.disk.is_file(&flow) {
            return Err(Error::Usage(format!("--to: {} is a file, not a directory", given.display())));
        }
        let own = canonical(cx, project.path())?.unwrap_or_else(|| project.path().to_owned());
        if flow.starts_with(&own) {
            return Err(Error::Usage(format!("--to: {} is inside of the .flow that is pruned", given.display())));
        }
        // Some file systems take `.GIT` for `.git`.
        if flow.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            let why = "is inside of .git, which holds nothing but what git writes";
            return Err(Error::Usage(format!("--to: {} {why}", given.display())));
        }
        if flow.to_str().is_none() {
            return Err(Error::Usage(format!("--to: the path {} is not valid UTF-8", flow.display())));
        }
        let root = canonical(cx, project.root())?.unwrap_or_else(|| project.root().to_owned());
        let noted = flow.strip_prefix(root).unwrap_or(&flow).to_owned();
        // Pages leave it out, and the command that they print to read there would name another directory.
        if noted.to_string_lossy().contains(is_terminal_control) {
            let why = "has a control character in its name, such as a line break; choose another directory";
            return Err(Error::Usage(format!("--to: {} {why}", noted.to_string_lossy().escape_debug())));
        }
        Ok(Self { flow, noted, given: given.to_owned() })
    }

    /// Warns of a directory in the checkout: what is moved there counts as files of it.
    fn counts_in_checkout(&self, project: &OpenedProject) -> Option<String> {
        let top = project.cx.git.top(project.root())?;
        let top = canonical(&project.cx, &top).ok().flatten()?;
        if !self.flow.starts_with(top) {
            return None;
        }
        let given = self.given.display();
        Some(format!("{given} is in the checkout: unless git ignores it, what is moved there makes evidence stale"))
    }

    fn noted(&self) -> String {
        self.noted.display().to_string()
    }
}

/// The path without links; `None` if there is nothing.
fn canonical(cx: &Context, path: &Path) -> Result<Option<PathBuf>> {
    match cx.disk.canonical(path) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(StoreError::from(DiskError::io(Operation::Inspect, path.to_owned(), errno)).into()),
    }
}

/// Which runs would go, and why the others stay.
fn plan(
    project: &OpenedProject,
    request: &PruneRequest,
    mut runs: Vec<RunSummary>,
    needed: &EvidenceUsers,
    to: Option<String>,
) -> PruneReport {
    let before = request.ended_before.unwrap_or_else(|| project.cx.now().later(-DAYS * 24 * 60 * 60 * 1000));
    runs.sort_by_cached_key(|run| Reverse((run.head.updated_at, run.head.run_id.clone())));
    let mut report = PruneReport { pruned: Vec::new(), kept: Vec::new(), dry_run: true, warnings: Vec::new() };
    let mut over = 0;
    for run in runs {
        let id = run.head.run_id.clone();
        over += usize::from(run.head.is_over());
        if let Some(stays) = why_by_summary(project, request, &run, over, before) {
            report.kept.push(stays);
            continue;
        }
        match size_if_it_may_go(project, &id, needed) {
            Ok(bytes) => {
                let (status, ended_at) = (run.head.status, run.head.updated_at);
                report.pruned.push(ListedPrune { run_id: id, status, ended_at, bytes, to: to.clone() });
            }
            Err(why) => report.kept.push(KeptRun::although_due(id.as_str(), why)),
        }
    }
    report.pruned.reverse();
    report
}

/// Who may need the evidence of a run that is over.
#[derive(Default)]
struct EvidenceUsers {
    /// Runs with evidence that an open fork took over and did not copy, each with such a fork.
    open_forks: BTreeMap<RunId, RunId>,
    /// Why the forks that machines share are not known, if they are not.
    unseen: Option<String>,
}

/// Brings the open forks that machines share; why they are not known, if they are not.
fn unseen_forks(project: &OpenedProject) -> Option<String> {
    if let Some(why) = not_accepted(project) {
        return Some(why);
    }
    brings_news(project, RefreshScope::Open).err().map(|error| error.one_line())
}

fn needed_by_forks(project: &OpenedProject, runs: &[RunSummary]) -> Result<BTreeMap<RunId, RunId>> {
    let mut needed = BTreeMap::new();
    for fork in runs {
        let Some(from) = fork.forked_from.as_ref().filter(|_| !fork.head.status.is_terminal()) else { continue };
        let id = &fork.head.run_id;
        let Ok(view) = for_reading(project, &*project.runs().open(id)?) else {
            // What it took over cannot be known.
            needed.insert(from.run_id.clone(), id.clone());
            continue;
        };
        for attempt in view.history.attempts() {
            if let Some(of) = &attempt.of
                && has_evidence(attempt)
            {
                needed.insert(of.clone(), id.clone());
            }
        }
    }
    Ok(needed)
}

fn has_evidence(attempt: &Attempt) -> bool {
    !(attempt.evidence.is_empty() && attempt.kept.is_empty())
}

/// What open forks need, found when it is first asked: while the project is locked no run can begin, and before that a person
/// may have taken time to agree.
fn needed_now<'n>(project: &OpenedProject, found: &'n mut Option<EvidenceUsers>) -> Result<&'n EvidenceUsers> {
    if found.is_none() {
        let unseen = unseen_forks(project);
        let (runs, _) = read_all(project, Some)?;
        *found = Some(EvidenceUsers { open_forks: needed_by_forks(project, &runs)?, unseen });
    }
    Ok(found.get_or_insert_default())
}

/// Why a run stays, as far as its summary shows. It is the `nth` of those that are over, the one that ended last first.
fn why_by_summary(
    project: &OpenedProject,
    request: &PruneRequest,
    run: &RunSummary,
    nth: usize,
    before: Timestamp,
) -> Option<KeptRun> {
    let id = run.head.run_id.as_str();
    if !run.head.is_over() {
        return Some(KeptRun::not_asked_for(id, "it is open"));
    }
    if run.head.updated_at > before {
        return Some(KeptRun::not_asked_for(id, "it is not old enough"));
    }
    if nth <= request.keep.unwrap_or_default() {
        return Some(KeptRun::not_asked_for(id, "it is among those that ended last"));
    }
    if project.runs().shared().has(&run.head.run_id) {
        return Some(KeptRun::although_due(id, "several machines share it"));
    }
    None
}

/// The size of a run, or why it stays.
fn size_if_it_may_go(project: &OpenedProject, id: &RunId, needed: &EvidenceUsers) -> std::result::Result<u64, String> {
    let unread = |error: StoreError| format!("it cannot be read: {}", error.one_line());
    let run = project.local_runs().open(id).map_err(unread)?;
    match why_it_stays(project, &*run, needed) {
        Some(why) => Err(why),
        None => project.size_of_run(id).map_err(unread),
    }
}

/// Why a run that is over and old enough stays; `None` if it may go. Every such rule is here. Asked before a person sees the
/// list, and again while the run is locked.
fn why_it_stays(project: &OpenedProject, run: &dyn StoredRun, needed: &EvidenceUsers) -> Option<String> {
    if let Some(fork) = needed.open_forks.get(run.id()) {
        return Some(format!("the open fork {fork} refers to its evidence"));
    }
    let view = match for_reading(project, run) {
        Ok(view) => view,
        Err(error) => return Some(format!("it cannot be read: {}", error.one_line())),
    };
    if let Some(fault) = view.faults.first() {
        return Some(format!("it is damaged: {}", refusal(project, run, fault.clone()).one_line()));
    }
    let state = view.history.state();
    if !head_of(&view).is_over() {
        return Some("it is open".to_owned());
    }
    if let Some(why) = &needed.unseen
        && view.history.attempts().iter().any(|attempt| attempt.of.is_none() && has_evidence(attempt))
    {
        return Some(format!("an open fork on another machine may refer to its evidence: {why}"));
    }
    if let Some(session) = &state.document().state.session {
        let holder = view.history.hold().and_then(process_of);
        if is_alive(project, session, holder.as_ref()) {
            return Some(format!("session {session} holds it and is alive"));
        }
    }
    // A cancelled run may still have one, which writes into its directory.
    if has_command_at_work(project, &view.history) {
        return Some("a command of it runs".to_owned());
    }
    if view.has_unlogged_status {
        return Some(
            "only an edit of run.yaml by hand ended it; the next command that writes the run records that".to_owned(),
        );
    }
    None
}
