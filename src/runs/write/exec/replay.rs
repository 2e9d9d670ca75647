//! `replay`: runs recorded commands again, and compares.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::Attempt;
use crate::host::{CommitCopy, CutShort, Execute, KnownTree, PassOn, read_tree};
use crate::model::{
    ActivityStatus, ActivityType, Execution, ExecutionEnd, Explain as _, Kind, Number, Problem, RunId, SessionId,
    command_line, quoted,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::open::own_files::{below_top, own_directories};
use crate::runs::open::select::select_run;
use crate::runs::open::tree::{leave_out_others, present_tree};
use crate::runs::open::view::for_reading;
use crate::runs::user_state::git_state;
use crate::runs::write::exec::trust::trusted;
use crate::runs::write::exec::verb::end_of;
use crate::runs::write::record::{RecordRequest, record_replay};

/// Which commands to run again.
#[derive(Debug, Clone, Default)]
pub struct ReplayRequest {
    /// The run; otherwise the session's or the only active one.
    pub run: Option<String>,
    /// The number or the id of a record; otherwise the last record of each command.
    pub activity: Option<String>,
    /// Whether they run on the commit that they ran on, checked out in a temporary directory.
    pub clean: bool,
    /// Which of the commands run.
    pub consent: ReplayConsent,
    /// Where their output goes as it comes.
    pub output: PassOn,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// Which commands a caller may run again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReplayConsent {
    /// None: they are only shown.
    #[default]
    Show,
    /// Those that the project names and that were accepted on this machine.
    AcceptedOnly,
    /// All of them: a person saw them and agreed.
    Agreed,
}

/// The report of `replay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayReport {
    /// The run.
    pub run_id: RunId,
    /// Whether every command ran again, and ended with the same status as it was recorded.
    pub ok: bool,
    /// The commands.
    pub commands: Vec<ReplayedCommand>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// A command that was recorded, and how it ran now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayedCommand {
    /// The number of its record.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// The command, as a line for a shell.
    pub command: String,
    /// Where it ran, relative to the top of the checkout.
    pub dir: String,
    /// The commit on which it ran.
    pub commit: Option<String>,
    /// Its exit status then.
    pub exit_code: i32,
    /// Why it does not run again.
    pub why_not: Option<String>,
    /// How it ended now; none if it did not run.
    pub again: Option<ReplayComparison>,
}

/// How a command ended now, compared with how it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayComparison {
    /// Its exit status.
    pub exit_code: i32,
    /// Whether that is the same.
    pub same_status: bool,
    /// Whether it wrote the same.
    pub same_output: bool,
    /// Whether the files were the same when it began; absent if that is not known.
    pub same_tree: Option<bool>,
    /// The number of the record of the comparison; none in a run that is over.
    pub number: Option<Number>,
}

/// Shows the commands of a run, or runs them again and records how that compares.
///
/// # Errors
/// `no_such_command` if no such record is there; those of reading a run; those of a record.
pub fn replay(cx: &Context, request: &ReplayRequest) -> Result<ReplayReport> {
    let project = cx.project()?;
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let view = for_reading(&project, &*run)?;
    let runs_them = request.consent != ReplayConsent::Show;
    let is_over = view.history.state().status().is_terminal();
    let chosen = chosen(run.id(), view.history.attempts(), request.activity.as_deref())?;
    let warnings = if request.activity.is_none() { unseen(view.history.attempts()) } else { Vec::new() };
    let mut report = ReplayReport { run_id: run.id().clone(), ok: true, commands: Vec::new(), warnings };
    // The signal that came meanwhile.
    let mut ended_by = None;
    for attempt in chosen {
        let Some(exec) = &attempt.exec else { continue };
        let Some(end) = &exec.end else { continue };
        let argv = may_run(&project, request, exec);
        let mut command = ReplayedCommand {
            number: attempt.number,
            id: attempt.id.clone(),
            command: command_line(&exec.argv),
            dir: exec.dir.clone(),
            commit: exec.before.as_ref().and_then(|before| before.commit.clone()),
            exit_code: end.exit_code(),
            why_not: argv.as_ref().err().cloned(),
            again: None,
        };
        if runs_them && let Ok(argv) = argv {
            match ended_by {
                Some(signal) => command.why_not = Some(came(signal)),
                None => match run_again(cx, &project, request, (exec, end), argv) {
                    Ok(ReplayOutcome::Compared(comparison)) => command.again = Some(comparison),
                    Ok(ReplayOutcome::EndedBy(signal)) => {
                        ended_by = Some(signal);
                        command.why_not = Some(came(signal));
                    }
                    Err(why) => command.why_not = Some(why),
                },
            }
        }
        if !is_over && let Some(again) = &mut command.again {
            again.number = Some(note(cx, request, run.id(), attempt, again)?);
        }
        report.ok &= command.again.as_ref().is_some_and(|again| again.same_status);
        report.commands.push(command);
    }
    if is_over && runs_them {
        report.warnings.push("the run is over, so the comparison is not recorded in it".to_owned());
    }
    Ok(report)
}

/// The records that are meant: the one that is named, or the last one of each id of which the end was seen.
fn chosen<'a>(run: &RunId, attempts: &'a [Attempt], named: Option<&str>) -> Result<Vec<&'a Attempt>> {
    let mut chosen: Vec<&Attempt> = Vec::new();
    for attempt in attempts.iter().filter(|attempt| attempt.is_seen()) {
        if named.is_none_or(|named| attempt.id == named || attempt.number.to_string() == named) {
            chosen.retain(|other| other.id != attempt.id);
            chosen.push(attempt);
        }
    }
    if chosen.is_empty()
        && let Some(named) = named
    {
        let message = format!("run {run} has no command {} of which the end was seen", quoted(named));
        return Err(Problem::new(Kind::NotFound, "no_such_command", message)
            .help("`flow evidence` has the numbers and ids of those that were seen")
            .into());
    }
    Ok(chosen)
}

/// What to say of commands of which no end was seen.
fn unseen(attempts: &[Attempt]) -> Vec<String> {
    let mut warnings = Vec::new();
    for attempt in attempts.iter().filter(|attempt| attempt.exec.is_some() && !attempt.is_seen()) {
        if !attempts.iter().any(|other| other.id == attempt.id && other.is_seen()) {
            let Attempt { number, id, .. } = attempt;
            warnings.push(format!("the end of {number} {id} was not seen, so there is nothing to compare"));
        }
    }
    warnings
}

/// The words of the command, if it may run here; otherwise why not.
fn may_run(
    project: &OpenedProject,
    request: &ReplayRequest,
    exec: &Execution,
) -> std::result::Result<Vec<String>, String> {
    if exec.masked {
        return Err("something in it was masked, so what is recorded is not what was run".to_owned());
    }
    if request.clean {
        commit_of(exec)?;
    }
    if let Some(name) = &exec.name {
        let argv = trusted(project, name).map_err(|error| error.problem().message)?;
        if argv != exec.argv {
            return Err(format!("the project names another command {name} now"));
        }
        return Ok(argv);
    }
    // Anyone who may push to the repository could have written the record.
    if request.consent == ReplayConsent::AcceptedOnly {
        return Err("the project does not name it, so it runs only after a person saw it and agreed".to_owned());
    }
    Ok(exec.argv.clone())
}

/// Where a command runs again.
struct ReplayPlace {
    top: PathBuf,
    /// Kept until the command has ended.
    _copy: Option<CommitCopy>,
}

/// How a command that ran again ended.
enum ReplayOutcome {
    Compared(ReplayComparison),
    /// This program got a signal and passed it on, so the end of the command shows nothing.
    EndedBy(i32),
}

fn came(signal: i32) -> String {
    format!("signal {signal} came, which ends a replay")
}

fn run_again(
    cx: &Context,
    project: &OpenedProject,
    request: &ReplayRequest,
    (exec, end): (&Execution, &ExecutionEnd),
    argv: Vec<String>,
) -> std::result::Result<ReplayOutcome, String> {
    let place = place(project, request, exec)?;
    let dir = directory(project, &place, exec)?;
    let tree = if request.clean {
        digest_of_copy(cx, project, &place.top)
    } else {
        present_tree(project, &exec.inputs).ok().map(|tree| tree.snapshot.sha256)
    };
    let argv: Vec<OsString> = argv.into_iter().map(OsString::from).collect();
    let limit = exec.limit_ms.map(Duration::from_millis);
    let command = Execute {
        argv: &argv,
        // Nothing that was masked runs again.
        shown: &exec.argv[0],
        dir: &dir,
        env: Vec::new(),
        limit,
        may_have_terminal: false,
        output: request.output,
    };
    let executed = command.run().map_err(|error| error.to_string())?;
    let now = end_of(cx, &executed, None, None);
    if let Some(why) = &now.not_started {
        return Err(format!("it cannot be run: {why}"));
    }
    if let Some(CutShort::Signal(signal)) = executed.cut_short {
        return Ok(ReplayOutcome::EndedBy(signal));
    }
    let then = exec.before.as_ref().map(|before| &before.sha256);
    Ok(ReplayOutcome::Compared(ReplayComparison {
        exit_code: now.exit_code(),
        same_status: now.exit_code() == end.exit_code(),
        same_output: now.stdout_sha256 == end.stdout_sha256 && now.stderr_sha256 == end.stderr_sha256,
        same_tree: tree.as_ref().zip(then).map(|(tree, then)| tree == then),
        number: None,
    }))
}

fn place(
    project: &OpenedProject,
    request: &ReplayRequest,
    exec: &Execution,
) -> std::result::Result<ReplayPlace, String> {
    let root = project.root();
    if !request.clean {
        let top = project.cx.git.top(root).unwrap_or_else(|| root.to_owned());
        return Ok(ReplayPlace { top, _copy: None });
    }
    let commit = commit_of(exec)?;
    let copy = project.cx.git.copy_of(root, commit)?;
    Ok(ReplayPlace { top: copy.top().to_owned(), _copy: Some(copy) })
}

/// The commit on which it ran.
fn commit_of(exec: &Execution) -> std::result::Result<&str, String> {
    let commit = exec.before.as_ref().and_then(|before| before.commit.as_deref());
    commit.ok_or_else(|| "it ran before the first commit, or outside of a git repository".to_owned())
}

/// The directory in which it runs again.
fn directory(project: &OpenedProject, place: &ReplayPlace, exec: &Execution) -> std::result::Result<PathBuf, String> {
    let cx = &project.cx;
    let within = match &exec.name {
        // As `exec` runs it, whatever the record says: it may come from others.
        Some(_) => below_top(cx, project.root()),
        None => PathBuf::from(&exec.dir),
    };
    match (cx.disk.canonical(&place.top), cx.disk.canonical(&place.top.join(within))) {
        (Ok(top), Ok(dir)) if dir.starts_with(&top) => Ok(dir),
        (Ok(_), Ok(_)) => Err("it ran outside of this checkout".to_owned()),
        _ => Err(format!("the directory {} does not exist here", exec.dir)),
    }
}

/// The digest of the files of a copy, without those of flow.
fn digest_of_copy(cx: &Context, project: &OpenedProject, top: &Path) -> Option<String> {
    let own = own_directories(project);
    let mut listed = cx.git.ask_for_files(top, &own, || git_state(cx, project.root())).ok()??.answer().ok()?;
    leave_out_others(project, &mut listed, &own);
    let (files, _) = read_tree(&listed, &KnownTree::default(), None);
    Some(files.sha256())
}

/// Records how the command compares.
fn note(
    cx: &Context,
    request: &ReplayRequest,
    run: &RunId,
    attempt: &Attempt,
    again: &ReplayComparison,
) -> Result<Number> {
    let status = if again.same_status { ActivityStatus::Passed } else { ActivityStatus::Failed };
    let same = |yes: bool| if yes { "same" } else { "other" };
    let tree = again.same_tree.map_or("unknown", same);
    let summary = format!(
        "{} {} once more{}: {} exit status ({}), {} output, {tree} files",
        attempt.number,
        attempt.id,
        if request.clean { " on its commit alone" } else { "" },
        same(again.same_status),
        again.exit_code,
        same(again.same_output),
    );
    let recorded = record_replay(
        cx,
        &RecordRequest {
            run: Some(run.to_string()),
            kind: Some(ActivityType::Evaluation),
            status: Some(status),
            name: Some(format!("replay of {}", attempt.id)),
            summary: Some(summary),
            session: request.session.clone(),
            epoch: request.epoch,
            ..RecordRequest::default()
        },
        attempt.number,
    )?;
    Ok(recorded.number)
}
