//! The command line: arguments in, a verb, text or JSON out. No rule lives here.

mod args;
mod cmd;
mod exit;
mod out;
mod page;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

pub use args::Cli;
pub use exit::Exit;

use crate::cli::out::Out;
use crate::ops::{Flow, Options};
use crate::report::{Kind, Problem};

/// Runs the program with the arguments, environment and clock of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // Known before the arguments are understood, so that their errors come in the right shape too.
    let json = args.iter().any(|arg| arg == "--json");
    let mut out = Out::new(json);
    let exit = match Cli::command().try_get_matches_from(args) {
        Ok(matches) => match Cli::from_arg_matches(&matches) {
            Ok(cli) => run(cli, &mut out),
            Err(error) => usage(&error, &mut out),
        },
        Err(error) => usage(&error, &mut out),
    };
    exit.into()
}

fn usage(error: &clap::Error, out: &mut Out) -> Exit {
    if !error.use_stderr() {
        // Help and version are what was asked for.
        return out.plain(&error.render().to_string());
    }
    if !out.is_json() {
        return match error.print() {
            Ok(()) | Err(_) => Exit::Usage,
        };
    }
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let help = Some("see `flow help`".to_owned());
    out.problem(&Problem { code: "usage", message, help, causes: Vec::new(), kind: Kind::Usage })
}

fn run(cli: Cli, out: &mut Out) -> Exit {
    let options = Options {
        project: cli.project,
        lock_wait: cli.lock_timeout,
        command: format!("flow {}", cli.command.name()),
        holder_pid: None,
    };
    match Flow::of_this_process(options) {
        Ok(flow) => cmd::run(&flow, cli.command, out),
        Err(error) => out.error(&error),
    }
}
