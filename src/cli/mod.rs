//! The command line: arguments in, a verb, text or JSON out. No rule lives here.

mod args;
mod cmd;
mod exit;
mod out;
mod page;
mod person;
mod prompt;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser as _;

pub use args::Cli;
pub use exit::Exit;

use crate::cli::out::{Kept, Out};
use crate::model::{Help, Kind, Problem, Suggestion};
use crate::modes::ModesObserver;
use crate::runs::{Context, Options, Result};

/// Runs the program with the arguments, environment and clock of this process.
#[must_use]
pub fn main() -> ExitCode {
    outlive_file_size_limit();
    let args: Vec<_> = std::env::args_os().collect();
    // Known before the arguments are understood, so that their errors come in the right shape too.
    let json = args.iter().any(|arg| arg == "--json");
    let mut out = Out::new(json);
    answer(&args, &mut out, Context::of_this_process).into()
}

/// What a command line that is not a process of its own came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// How a process would have ended.
    pub exit: Exit,
    /// What it would have written to standard output.
    pub stdout: String,
    /// What it would have written to standard error.
    pub stderr: String,
}

/// Runs a command line, the program's name first, within this process: with the clock, the environment and the file system
/// that `context` brings. Standard input is this process's.
pub fn within(args: &[OsString], context: impl FnOnce(Options) -> Result<Context>) -> Answered {
    let mut out = Out::keeping(args.iter().any(|arg| arg == "--json"));
    let exit = answer(args, &mut out, context);
    let Kept { stdout, stderr } = out.kept();
    Answered { exit, stdout, stderr }
}

fn answer(args: &[OsString], out: &mut Out, context: impl FnOnce(Options) -> Result<Context>) -> Exit {
    match Cli::try_parse_from(args) {
        Ok(cli) => run(cli, out, context),
        Err(error) => usage(&error, out),
    }
}

/// Lets a write beyond the limit on file sizes fail with an error instead of ending the program in the middle of it.
fn outlive_file_size_limit() {
    // Without the handler the program is still safe to kill, only less polite.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Not among the names of the library, but 25 on Linux, macOS and the BSDs.
const SIGXFSZ: i32 = 25;

fn usage(error: &clap::Error, out: &mut Out) -> Exit {
    if !error.use_stderr() {
        // Help and version are what was asked for.
        return out.plain(&error.render().to_string());
    }
    let text = error.render().to_string();
    if !out.is_json() {
        // What was typed is quoted in it.
        return out.usage(&text);
    }
    let said: Vec<_> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let said = said.join(" ");
    let message = said.strip_prefix("error: ").unwrap_or(&said).to_owned();
    out.problem(&Problem::of_message(Kind::Usage, "usage", message).help(Help::from("see ") + Suggestion::flow("help")))
}

fn run(cli: Cli, out: &mut Out, context: impl FnOnce(Options) -> Result<Context>) -> Exit {
    out.runs(cli.command.name());
    let options = Options {
        project: cli.everywhere.project,
        lock_wait: cli.everywhere.lock_timeout,
        command: format!("flow {}", cli.command.name()),
        // A driver holds its run for as long as it lives itself.
        holder_pid: cli.command.is_driver().then(std::process::id),
        boot: None,
    };
    match context(options) {
        Ok(cx) => {
            out.runs_for(&cx);
            cmd::run(&cx.observed_by(Arc::new(ModesObserver)), cli.command, out)
        }
        Err(error) => out.error(&error),
    }
}
