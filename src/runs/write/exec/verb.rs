//! `exec`.

use std::ffi::OsString;
use std::path::Path;

use crate::engine::Refusal;
use crate::host::{CutShort, Execute, ExecuteEnd, ExecutedCommand, InputGlobs, SignalWatch, secrets};
use crate::model::{
    ActivityId, ActivityRecorded, Execution, ExecutionEnd, Explain as _, Kind, Problem, RunId, Seq, Suggestion,
    is_terminal_control,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::mask::Mask;
use crate::runs::open::select::select_run_to_write;
use crate::runs::open::tree::{CHANGED_BYTES, PresentTree, present_tree, within_bytes};
use crate::runs::processes::of_exec;
use crate::runs::write::exec::begin::{Begin, begin};
use crate::runs::write::exec::finish::FinishedCommand;
use crate::runs::write::exec::request::{ExecReport, ExecRequest};
use crate::runs::write::exec::trust::{nothing_to_run, trusted};
use crate::runs::write::transaction::attempts::transact;
use crate::store::StoreError;

/// How many paths that the command changed are kept.
const CHANGED: usize = 1000;
/// How much of the end of the output is reported, in bytes.
const SHOWN: usize = 4 << 10;
/// The longest command, in bytes of its arguments.
const COMMAND_BYTES: usize = 64 << 10;

/// Runs a command, and records that it began and how it ended.
///
/// # Errors
/// Before the command began: those of a record, and `exec_in_doubt`, `exec_runs`; nothing was run then. `end_not_recorded`
/// when the command ended and that cannot be recorded.
pub fn exec(cx: &Context, request: &ExecRequest) -> Result<ExecReport> {
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let request = &resolve(&project, request)?;
    let run = select_run_to_write(&project, request.run.as_deref(), caller.session.as_ref())?;
    let dir = match (&request.name, &cx.env.cwd) {
        (Some(_), _) => project.root().to_owned(),
        (None, Some(cwd)) => cwd.clone(),
        (None, None) => return Err(cx.no_working_directory("go to one in which the command can run")),
    };
    let mask = Mask::of(secrets());
    let before = files_around(cx, &dir, present_tree(&project, &request.inputs));
    let execution = execution(cx, &dir, request, &mask, &before)?;
    let mut warnings = unmatched_inputs(&before);
    if let Some(name) = &request.name {
        warnings.extend(warnings_of_named(&project, name, execution.masked));
    }
    let mut watch = None;
    let (begin, told) = transact(&project, &*run, caller.clone(), cx.now(), |tx| {
        // A signal between this commit and the end of the command would leave it in doubt. It reaches the command instead.
        watch = Some(SignalWatch::begin().map_err(|error| Error::input(&execution.argv[0], &error))?);
        Ok((begin(tx, request, &execution)?, std::mem::take(&mut tx.warnings)))
    })?;
    warnings.extend(told);
    let (number, id, phase, asked) = match begin {
        Begin::Run { number, id, phase, asked } => (number, id, phase, asked),
        Begin::RanAlready { seq, record } => {
            return Ok(ExecReport { repeated: true, ..report(run.id(), seq, &record, warnings) });
        }
    };
    let argv: Vec<OsString> = request.argv.iter().map(OsString::from).collect();
    let command = Execute {
        argv: &argv,
        shown: &execution.argv[0],
        dir: &dir,
        limit: request.limit,
        env: of_exec(&project, run.id(), number).into(),
        may_have_terminal: request.may_have_terminal,
        output: request.output,
    };
    let executed = command.run().map_err(|error| lost(&id, None, &Error::input(&execution.argv[0], &error)))?;
    // `executed` watches until its end is recorded, and only then waits for the reader of the output.
    drop(watch);
    let after = files_around(cx, &dir, present_tree(&project, &request.inputs));
    let end = end_of(cx, &executed, before.as_ref().ok(), after.as_ref().ok());
    if executed.cut_short == Some(CutShort::AskedTerminal) {
        warnings
            .push("the command was ended, since it asked the terminal, which `flow exec` does not give it".to_owned());
    }
    let code = end.exit_code();
    let finished = FinishedCommand {
        trouble: trouble_of(&executed, &end),
        id: &id,
        phase: &phase,
        execution: Execution { end: Some(end), ..execution },
        output: (!request.drops_output).then(|| executed.output.end(|text| mask.bytes(text))),
        request: Some(asked),
        is_keyed: request.id.is_some(),
        usage: &request.usage,
    };
    let recorded =
        transact(&project, &*run, caller, cx.now(), |tx| Ok((finished.record(tx)?, std::mem::take(&mut tx.warnings))));
    let ((seq, record), told) = recorded.map_err(|error| lost(&id, Some(code), &error))?;
    warnings.extend(told);
    // Both transactions may tell the same.
    warnings.dedup();
    if let Some(error) = executed.passed_on() {
        warnings.push(format!("not all of the output could be written where it was sent: {error}"));
    }
    let output = finished.output.as_deref().map(end_of_output);
    Ok(ExecReport { output, ..report(run.id(), seq, &record, warnings) })
}

/// What the exit status of the command alone does not say.
fn trouble_of(executed: &ExecutedCommand, end: &ExecutionEnd) -> Option<String> {
    match executed.cut_short {
        Some(CutShort::AskedTerminal) => Some("asked the terminal, and was ended".to_owned()),
        _ => end.trouble(),
    }
}

/// The files on which a command in `dir` runs: those of the project's checkout, unless it is in another one.
fn files_around(
    cx: &Context,
    dir: &Path,
    tree: std::result::Result<PresentTree, String>,
) -> std::result::Result<PresentTree, String> {
    let tree = tree?;
    match (cx.disk.canonical(dir), cx.disk.canonical(&tree.top)) {
        (Ok(dir), Ok(top)) if dir.starts_with(&top) => Ok(tree),
        _ => Err("the command ran outside of the checkout of the project".to_owned()),
    }
}

/// The request with the words of the command that it names.
fn resolve(project: &OpenedProject, request: &ExecRequest) -> Result<ExecRequest> {
    let mut resolved = request.clone();
    match &request.name {
        Some(name) => resolved.argv = trusted(project, name)?,
        None if request.argv.is_empty() => return Err(nothing_to_run(project)?.into()),
        None => {}
    }
    if request.again && request.id.is_none() {
        let message =
            "--again needs the --id under which the command is to be run once more; without an id each call runs it";
        return Err(Error::Usage(message.to_owned()));
    }
    check(&resolved)?;
    Ok(resolved)
}

/// Warnings about globs that name nothing.
fn unmatched_inputs(before: &std::result::Result<PresentTree, String>) -> Vec<String> {
    let mut warnings = Vec::new();
    for glob in before.iter().flat_map(|tree| &tree.unmatched) {
        let own = [".git", ".decisions"].into_iter().find(|own| Path::new(glob).starts_with(own));
        warnings.push(match own {
            Some(own) => format!("--input {glob:?} leads into `{own}`, whose files never count"),
            None => format!("--input {glob:?} names no file of the project now"),
        });
    }
    warnings
}

/// Warnings about a command that the project names.
fn warnings_of_named(project: &OpenedProject, name: &str, is_masked: bool) -> Vec<String> {
    let mut warnings: Vec<String> = runs_elsewhere(project, name).into_iter().collect();
    if is_masked {
        warnings.push(format!(
            "{name} has words that look like a secret and are not recorded, so it can prove nothing; give the secret to it in a \
             variable or a file"
        ));
    }
    warnings
}

/// Warns that a command which the project names runs in the project's checkout, if the caller is in another one.
fn runs_elsewhere(project: &OpenedProject, name: &str) -> Option<String> {
    let (cx, root) = (&project.cx, project.root());
    // With -C the caller says where it is.
    if cx.options.project.is_some() {
        return None;
    }
    let here = cx.git.top(cx.env.cwd.as_deref()?)?;
    let is_same = |top: &Path| cx.disk.canonical(top).ok() == cx.disk.canonical(&here).ok();
    if cx.git.top(root).is_some_and(|top| is_same(&top)) {
        return None;
    }
    let (root, here) = (root.display(), here.display());
    Some(format!("{name} runs in {root}, where the project is, and says nothing of the files in {here}"))
}

fn check(request: &ExecRequest) -> Result<()> {
    InputGlobs::parse(&request.inputs).map_err(|why| Error::Usage(format!("--input: {why}")))?;
    let len: usize = request.argv.iter().map(String::len).sum();
    match request.argv.first() {
        None => Err(Error::Usage("the command has no words".to_owned())),
        Some(program) if program.is_empty() => Err(Error::Usage("the name of the program is empty".to_owned())),
        Some(_) if request.argv.iter().any(|word| word.contains('\0')) => {
            Err(Error::Usage("an argument of the command has a zero byte in it".to_owned()))
        }
        Some(_) if len > COMMAND_BYTES => Err(Error::Usage(format!(
            "the command is {len} bytes long, and {COMMAND_BYTES} are allowed; put it into a script"
        ))),
        Some(_) => Ok(()),
    }
}

/// The command as it is recorded.
fn execution(
    cx: &Context,
    at: &Path,
    request: &ExecRequest,
    mask: &Mask,
    before: &std::result::Result<PresentTree, String>,
) -> Result<Execution> {
    let argv = match &request.name {
        // The words of a command that the project names stand in its configuration, whatever a variable has as its value.
        Some(_) => Mask::default().words(&request.argv),
        None => mask.words(&request.argv),
    };
    let cwd = cx.disk.canonical(at).unwrap_or_else(|_| at.to_owned());
    let top = match before {
        Ok(tree) => cx.disk.canonical(&tree.top).unwrap_or_else(|_| tree.top.clone()),
        Err(_) => cx.root()?,
    };
    let dir = match cwd.strip_prefix(&top) {
        Ok(dir) if dir.as_os_str().is_empty() => ".".to_owned(),
        Ok(dir) => dir.to_string_lossy().into_owned(),
        Err(_) => cwd.to_string_lossy().into_owned(),
    };
    Ok(Execution {
        masked: argv != request.argv,
        argv,
        name: request.name.clone(),
        dir,
        inputs: request.inputs.clone(),
        limit_ms: request.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        no_output: request.drops_output,
        started_at: cx.now(),
        before: before.as_ref().ok().map(|tree| tree.snapshot.clone()),
        no_tree: before.as_ref().err().cloned(),
        end: None,
    })
}

/// How the command ended.
pub(super) fn end_of(
    cx: &Context,
    executed: &ExecutedCommand,
    before: Option<&PresentTree>,
    after: Option<&PresentTree>,
) -> ExecutionEnd {
    let (status, signal, not_started) = match &executed.ended {
        ExecuteEnd::Exited(status) => (Some(*status), None, None),
        ExecuteEnd::Signalled(signal) => (None, Some(*signal), None),
        ExecuteEnd::NotFound(why) => (Some(127), None, Some(why.clone())),
        ExecuteEnd::NotStarted(why) => (Some(126), None, Some(why.clone())),
    };
    let mut changed = match (before, after) {
        (Some(before), Some(after)) => before.files.differences(&after.files),
        _ => Vec::new(),
    };
    let found = changed.len();
    changed.truncate(CHANGED);
    let (changed, _) = within_bytes(changed, String::len, CHANGED_BYTES);
    let more_changed = changed.len() < found;
    let [stdout_sha256, stderr_sha256] = executed.output.sha256();
    ExecutionEnd {
        at: cx.now(),
        status,
        signal,
        timed_out: executed.cut_short == Some(CutShort::TooSlow),
        not_started,
        stdout_sha256,
        stderr_sha256,
        output_bytes: executed.output.bytes,
        after: after.map(|tree| tree.snapshot.sha256.clone()),
        changed,
        more_changed,
    }
}

/// The error when the end of a command is not in the log.
fn lost(id: &ActivityId, code: Option<i32>, error: &Error) -> Error {
    let ended = code.map_or_else(|| "was run".to_owned(), |code| format!("ended with exit status {code}"));
    let problem = error.problem();
    let message = format!("the command of {id} {ended}, and that could not be recorded: {}", problem.message);
    let help = match error {
        Error::Refused { run, refusal: Refusal::Terminal { .. }, .. } => {
            Suggestion::flow("reopen").value(run).example("reason", "why")
                + " lets the run go on; then record how it ended, or run it once more with --again"
        }
        Error::Store(StoreError::Pruned { .. }) => problem.help.unwrap_or_default(),
        // Nothing is left to which the record could be added.
        _ if ["run_empty", "run_not_found"].contains(&problem.code) => {
            "the files of the run were removed while it ran; bring them back with git, or begin another run, and run it \
             once more there"
                .into()
        }
        _ => "its outcome is in doubt until it is recorded, or run once more with --again".into(),
    };
    Problem::new(Kind::Io, "end_not_recorded", message).help(help).because(problem.causes).into()
}

/// The end of what is kept of the output, as text.
fn end_of_output(kept: &[u8]) -> String {
    let text = String::from_utf8_lossy(&kept[kept.len().saturating_sub(SHOWN)..]);
    text.replace(|c: char| is_terminal_control(c) && c != '\n' && c != '\t', "")
}

fn report(run: &RunId, seq: Seq, record: &ActivityRecorded, warnings: Vec<String>) -> ExecReport {
    let exec = record.exec.as_deref().cloned();
    let Some(exec) = exec else { unreachable!("BUG: a command without a command") };
    ExecReport {
        run_id: run.clone(),
        seq,
        number: record.number,
        activity: record.id().to_string(),
        phase: record.phase.clone(),
        status: record.activity.status(),
        exit_code: exec.end.as_ref().map_or(0, ExecutionEnd::exit_code),
        evidence: record.evidence.first().map(|kept| kept.name.clone()),
        output: None,
        exec,
        repeated: false,
        warnings,
    }
}
