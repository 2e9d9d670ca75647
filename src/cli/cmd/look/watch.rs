//! `watch`.

use crate::cli::args::WatchArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::progress::while_waiting;
use crate::model::{Kind, Problem};
use crate::runs::{Context, wants_ascii};
use crate::watch::{self, Watching};

pub(in crate::cli::cmd) fn run(cx: &Context, args: WatchArgs, out: &mut Out) -> CliResult {
    let WatchArgs { dir, run_id: run, once, search, workflow, poll, notify } = args;
    let watching = Watching { dir, run, search, workflow, poll, ascii: wants_ascii(), colour: out.colour(), notify };
    if once && out.is_json() {
        let snapshot = while_waiting("reading the runs", || watch::snapshot(cx, &watching))?;
        return Ok(out.json(&snapshot));
    }
    if once {
        let (page, notes) = while_waiting("reading the runs", || watch::once(cx, &watching))?;
        out.warnings(&notes);
        return Ok(out.plain(&page));
    }
    if out.is_json() {
        let mut exit = Exit::Done;
        watch::follow(cx, &watching, |message| {
            exit = out.json(message);
            exit == Exit::Done
        })?;
        return Ok(exit);
    }
    if !out.is_terminal() {
        let message = "`flow watch` draws on a terminal, and standard output is not one: use `--once` or `--json`";
        return Err(Problem::new(Kind::Usage, "no_terminal", message)
            .help("`--once` prints the runs as they are, `--json` a line for each change")
            .into());
    }
    watch::screen(cx, &watching)?;
    Ok(Exit::Done)
}
