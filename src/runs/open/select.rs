//! Selects the run that a command is about: the one that is named, and otherwise the one that can only be meant.

use crate::host::is_commit_id;
use crate::model::{Explain as _, Help, Kind, Problem, RunId, RunStatus, RunSummary, SessionId, Suggestion};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::name::{Purpose, find_run, latest_run, open_run};
use crate::runs::open::reading::{Runs, is_own, reasons};
use crate::runs::open::shared::brings_news;
use crate::store::{RefreshScope, StoredRun};

/// The run that a reading command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeantRun {
    /// The run that is meant.
    pub run_id: RunId,
    /// Whether it is named, or the only open run that can be meant.
    pub is_sure: bool,
    /// Why it was selected, if none was named.
    pub why: Option<String>,
}

/// An open run that was selected without a name.
pub(crate) struct SelectedRun<'a> {
    pub(crate) run: &'a RunSummary,
    /// Why it is not the only one that can be meant, as a sentence.
    pub(crate) doubt: Option<String>,
}

/// The open runs among which the one is that is meant, and what they have in common.
pub(crate) struct Candidates<'a> {
    runs: Vec<&'a RunSummary>,
    /// As the end of "N runs are open".
    of: String,
    /// The branch that is checked out, of which none of them is, and one of them whose own branch is gone.
    renamed: Option<(String, &'a RunSummary)>,
}

impl<'a> Candidates<'a> {
    /// Those of the session; without any, those of the branch that is checked out; without any, all.
    pub(crate) fn among(project: &OpenedProject, runs: &'a Runs, session: Option<&SessionId>) -> Self {
        let own: Vec<_> = runs.open().filter(|run| is_own(run, session)).collect();
        if !own.is_empty() {
            return Self { runs: own, of: " in this session".to_owned(), renamed: None };
        }
        let all: Vec<_> = runs.open().collect();
        let Some(head) = project.cx.git.head(project.root()) else {
            return Self { runs: all, of: String::new(), renamed: None };
        };
        let mut here = all.clone();
        here.retain(|run| matches!(&run.branch, Some(at) if head.is_at(at)));
        if !here.is_empty() {
            let of = format!(" on branch {}", head.name().unwrap_or_default());
            return Self { runs: here, of, renamed: None };
        }
        let is_gone =
            |branch: &String| !is_commit_id(branch) && project.cx.git.has_branch(project.root(), branch) == Some(false);
        let renamed = all.iter().find(|run| run.branch.as_ref().is_some_and(is_gone)).copied();
        Self { renamed: head.branch.zip(renamed), runs: all, of: String::new() }
    }

    /// The only one.
    fn only(&self, runs: &Runs) -> Result<&'a RunSummary> {
        match self.runs.as_slice() {
            [only] => Ok(only),
            [] => Err(Error::no_active_run(reasons(&runs.unreadable))),
            several => {
                let error = Error::several_runs(&several.iter().map(|run| &run.head.run_id).collect::<Vec<_>>());
                let Some((branch, run)) = &self.renamed else { return Err(error) };
                let problem = error.problem();
                let set = Suggestion::flow("set").value(&run.head.run_id).option("branch", branch);
                let old = run.branch.as_deref().unwrap_or_default();
                let help =
                    problem.help.clone().unwrap_or_default() + format!("; if branch {old} is {branch} now: ") + set;
                Err(problem.help(help).into())
            }
        }
    }

    /// The one to go on with: an active run before a blocked one, one that no other session holds before one that is held, and then
    /// the one that changed last.
    pub(crate) fn newest(&self, session: Option<&SessionId>) -> Option<SelectedRun<'a>> {
        let run = *self.runs.iter().max_by_key(|run| {
            let is_free = run.session.is_none() || is_own(run, session);
            let head = &run.head;
            // Runs of the same moment come as lists have them.
            (head.status == RunStatus::Active, is_free, head.updated_at, head.created_at, &head.run_id)
        })?;
        let doubt = match self.runs.len() {
            1 => None,
            n => Some(format!("{n} runs are open{}; {} {}", self.of, run.head.run_id, self.why_this(run))),
        };
        Some(SelectedRun { run, doubt })
    }

    /// Why this one of several is the one to go on with, as the end of a sentence about it.
    fn why_this(&self, chosen: &RunSummary) -> &'static str {
        let (mut is_last, mut unblocked, mut is_last_unblocked) = (true, 0, true);
        for other in &self.runs {
            let changed_later = other.head.updated_at > chosen.head.updated_at;
            is_last &= !changed_later;
            if other.head.status == RunStatus::Active {
                unblocked += 1;
                is_last_unblocked &= !changed_later;
            }
        }
        if is_last {
            "is the one that changed last"
        } else if unblocked == 1 {
            "is the only one that is not blocked"
        } else if is_last_unblocked {
            "changed last of those that are not blocked"
        } else {
            "changed last of those that no other session holds"
        }
    }
}

/// The run that `named` or `FLOW_RUN` names.
pub(crate) fn named_run(
    project: &OpenedProject,
    named: Option<&str>,
    purpose: Purpose,
) -> Result<Option<Box<dyn StoredRun>>> {
    if let Some(given) = named {
        return Ok(Some(open_run(project, given, purpose)?));
    }
    let Some(given) = project.cx.env.run_name()? else { return Ok(None) };
    match find_run(project, &given, purpose) {
        // The caller did not type this name, so the error says where it comes from.
        Err(error @ Error::NoSuchRun { .. }) => {
            let message = format!("FLOW_RUN names the run: {}", error.one_line());
            Err(Problem::new(Kind::NotFound, "run_not_found", message)
                .help(Help::from("correct or unset FLOW_RUN; ") + Suggestion::flow("list") + " shows all runs")
                .into())
        }
        Err(Error::Name(bad)) => Err(Error::Usage(format!("FLOW_RUN cannot name a run: {bad}; correct or unset it"))),
        found => found.map(Some),
    }
}

/// The run that `FLOW_RUN` names.
///
/// # Errors
/// `run_not_found` if there is no such run.
pub(crate) fn run_in_environment(cx: &Context) -> Result<Option<RunId>> {
    if cx.env.run.is_none() {
        return Ok(None);
    }
    Ok(named_run(&cx.project()?, None, Purpose::Write)?.map(|run| run.id().clone()))
}

/// This context without `FLOW_RUN` if that names no run of the project. Hosts start their hooks and servers in an environment
/// that may be about another project.
pub(crate) fn heeding_own_run_only(cx: &Context) -> Context {
    let mut cx = cx.clone();
    if cx.env.run.is_some() && !is_named_in_environment(&cx) {
        cx.env.run = None;
    }
    cx
}

/// Whether `FLOW_RUN` names a run of the project, or several.
fn is_named_in_environment(cx: &Context) -> bool {
    let Ok(project) = cx.project() else { return false };
    match named_run(&project, None, Purpose::Read) {
        Ok(run) => run.is_some(),
        Err(error) => error.problem().code == "ambiguous_run",
    }
}

/// The run that a reading command is about: the one that is named; otherwise the session's, the newest of the branch that is
/// checked out, the newest open one, or the latest if all are over.
///
/// # Errors
/// [`Error::NoSuchRun`] and `ambiguous_run` for a name; `no_active_run` when there are no runs.
pub fn meant_run(cx: &Context, named: Option<&str>, session: Option<SessionId>) -> Result<MeantRun> {
    meant_in(&cx.project()?, named, session)
}

fn meant_in(project: &OpenedProject, named: Option<&str>, session: Option<SessionId>) -> Result<MeantRun> {
    let caller = project.cx.caller(session, None)?;
    let session = caller.session.as_ref();
    if let Some(run) = named_run(project, named, Purpose::Read)? {
        return Ok(MeantRun { run_id: run.id().clone(), is_sure: true, why: None });
    }
    let runs = Runs::read_open(project)?;
    if let Some(SelectedRun { run, doubt }) = Candidates::among(project, &runs, session).newest(session) {
        let (run_id, is_sure) = (run.head.run_id.clone(), doubt.is_none());
        return Ok(MeantRun { run_id, is_sure, why: doubt.or_else(|| Some("the open run".to_owned())) });
    }
    // One of these may be open, and then the latest run is not the one that is meant.
    if !runs.unreadable.is_empty() {
        return Err(Error::no_active_run(reasons(&runs.unreadable)));
    }
    let run_id = match latest_run(project) {
        // That there is none is not known before the store was asked.
        Err(_) if brings_news(project, RefreshScope::All)? => latest_run(project)?,
        found => found?,
    };
    Ok(MeantRun { run_id, is_sure: false, why: Some("no run is open; this one is the latest".to_owned()) })
}

/// The run that a reading verb is about; see [`meant_run`].
pub(crate) fn select_run(
    project: &OpenedProject,
    named: Option<&str>,
    session: Option<SessionId>,
) -> Result<Box<dyn StoredRun>> {
    Ok(project.runs().open(&meant_in(project, named, session)?.run_id)?)
}

/// The run that a writing verb is about: the one that is named, the session's, the only open one of the branch that is
/// checked out, or the only open one. Refuses to guess, also if a run that cannot be read may be the one that is meant.
pub(crate) fn select_run_to_write(
    project: &OpenedProject,
    named: Option<&str>,
    session: Option<&SessionId>,
) -> Result<Box<dyn StoredRun>> {
    if let Some(run) = named_run(project, named, Purpose::Write)? {
        return Ok(run);
    }
    let mut runs = Runs::read_open_and_remember(project)?;
    // Which one is meant may depend on runs that began elsewhere.
    if !runs.open().any(|run| is_own(run, session)) && brings_news(project, RefreshScope::Open)? {
        runs = Runs::read_open_and_remember(project)?;
    }
    let run = Candidates::among(project, &runs, session).only(&runs)?;
    // What the session holds is meant in any case.
    match runs.unreadable.first() {
        Some(unreadable) if !is_own(run, session) => {
            let (candidate, other) = (&run.head.run_id, &unreadable.run_id);
            let message = format!("{candidate} is active, but {other} cannot be read and may be the one that is meant");
            let help = Help::from("name the run with --run-id; ") + Suggestion::flow("resume").value(other);
            Err(Problem::new(Kind::Usage, "several_runs", message)
                .help(help + " says what is wrong with the other")
                .into())
        }
        _ => Ok(project.runs().open(&run.head.run_id)?),
    }
}
