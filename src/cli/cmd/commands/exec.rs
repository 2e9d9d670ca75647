//! `exec`.

use crate::cli::args::ExecArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::model::{ExecutionEnd, counted};
use crate::runs::{self, Context, Error, ExecReport, ExecRequest, PassOn};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ExecArgs, out: &mut Out) -> CliResult {
    let request = request(args, out)?;
    let report = runs::exec(cx, &request)?;
    out.committed(format!("the end of the command is recorded as event {} ({})", report.seq, report.number));
    out.warnings(&report.warnings);
    if out.is_json() {
        return Ok(out.json(&report).then(Exit::Command(report.exit_code)));
    }
    // Standard output is the command's.
    out.aside(&outcome_line(&report));
    Ok(Exit::Command(report.exit_code))
}

fn outcome_line(report: &ExecReport) -> String {
    let ExecReport { number, activity, run_id, phase, exec, .. } = report;
    let status = report.status.with_exit_code(Some(i64::from(report.exit_code)));
    let verb = if report.repeated { "already run:" } else { "recorded" };
    let mut line = format!("flow: {verb} {number} {activity} ({status}) in {phase} of {run_id}");
    if let Some(trouble) = exec.end.as_ref().and_then(ExecutionEnd::trouble) {
        line += &format!(": {trouble}");
    }
    let changed = exec.end.as_ref().map_or(0, |end| end.changed.len());
    if changed > 0 {
        let files = counted(changed, "file");
        line += &format!("; {files} changed while it ran, and it holds for the files as they were before");
    }
    line + "\n"
}

fn request(args: ExecArgs, out: &Out) -> Result<ExecRequest, Error> {
    let mut argv = Vec::new();
    for word in args.argv {
        match word.into_string() {
            Ok(word) => argv.push(word),
            Err(word) => {
                return Err(Error::Usage(format!("the argument {word:?} of the command is not valid UTF-8")));
            }
        }
    }
    Ok(ExecRequest {
        run: args.run_id,
        id: args.id,
        phase: args.phase,
        name: args.name,
        argv,
        again: args.again,
        limit: args.timeout,
        inputs: args.inputs,
        usage: args.usage.usage(),
        drops_output: args.no_output,
        may_have_terminal: !args.no_tty,
        output: if out.is_json() { PassOn::ToStderr } else { PassOn::Through },
        session: args.caller.session,
        epoch: args.caller.epoch,
    })
}
