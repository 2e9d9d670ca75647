//! A call of the program: its arguments are parsed, and one command runs.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::args::Cli;
use crate::cli::cmd::dispatch;
use crate::cli::exit::Exit;
use crate::cli::out::{KeptOutput, Out};
use crate::cli::usage::UsageProblem;
use crate::cli::{document, help, shell, topics, usage, verbs};
use crate::model::{Help, Kind, Problem, Suggestion};
use crate::modes::ModesObserver;
use crate::runs::{Context, Options, Result};
use crate::sharing::SharedStores;

/// Runs the program with the arguments, environment and clock of this process.
#[must_use]
pub fn main() -> ExitCode {
    outlive_file_size_limit();
    let args: Vec<_> = std::env::args_os().collect();
    if shell::complete(&args) {
        return ExitCode::SUCCESS;
    }
    // Looked up before the arguments are parsed, so that parse errors are printed as JSON too.
    let json = args.iter().any(|arg| arg == "--json");
    let mut out = Out::new(json);
    answer(&args, &mut out, Context::of_this_process).into()
}

/// The result of a command line that ran within this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    /// The exit status that a process would have ended with.
    pub exit: Exit,
    /// What a process would have written to standard output.
    pub stdout: String,
    /// What a process would have written to standard error.
    pub stderr: String,
}

/// Runs a command line, the program's name first, within this process: with the clock, the environment and the file system
/// that `context` brings. Standard input is this process's.
pub fn within(args: &[OsString], context: impl FnOnce(Options) -> Result<Context>) -> ProgramResult {
    let mut out = Out::keeping(args.iter().any(|arg| arg == "--json"));
    let exit = answer(args, &mut out, context);
    let KeptOutput { stdout, stderr } = out.kept();
    ProgramResult { exit, stdout, stderr }
}

fn answer(args: &[OsString], out: &mut Out, context: impl FnOnce(Options) -> Result<Context>) -> Exit {
    let args = &verbs::full(args);
    if let Some(page) = topics::asked(args, |word| Cli::command().find_subcommand(word).is_some()) {
        return out.page(&document::shown(&page));
    }
    let is_bare = is_bare(args);
    let line = if is_bare { &[args, &["attention".into()][..]].concat() } else { args };
    match parsed(line) {
        Ok((name, cli)) => {
            // Kept for errors: a run that is not found may be a part of a text without quotation marks.
            out.args.clone_from(args);
            let exit = run_command(&name, cli, out, context);
            if is_bare {
                out.aside(BEGIN);
            }
            exit
        }
        Err(error) => match refuse(&error, args, out) {
            // To hosts another status means that what their user wanted is refused, and a newer flow may have written the line.
            Exit::Usage if is_hook(args) => Exit::Done,
            exit => exit,
        },
    }
}

/// What `flow` alone says behind the runs that need a person.
const BEGIN: &str =
    "`flow start` lists what can be begun, `flow demo` shows flow at work, `flow --help` has all commands\n";

/// Whether a line names no command and asks for nothing else: it asks what there is to do.
fn is_bare(args: &[OsString]) -> bool {
    verbs::position(args).is_none()
        && !["-h", "--help", "-V", "--version"].iter().any(|one| args.iter().any(|arg| arg == one))
}

/// Whether a host calls, with an event.
fn is_hook(args: &[OsString]) -> bool {
    verbs::position(args).is_some_and(|at| args[at] == "hook")
}

/// The name of the command, and all arguments.
fn parsed(args: &[OsString]) -> std::result::Result<(String, Cli), clap::Error> {
    let word = verbs::position(args).map(|at| args[at].to_string_lossy()).unwrap_or_default();
    // A part of the tree is built faster than the whole, whose messages name all commands.
    match parsed_by(Cli::part(&word), args) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => parsed_by(Cli::command(), args),
        parsed => parsed,
    }
}

fn parsed_by(tree: clap::Command, args: &[OsString]) -> std::result::Result<(String, Cli), clap::Error> {
    let mut matches = tree.try_get_matches_from(args)?;
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    Ok((name, Cli::from_arg_matches_mut(&mut matches)?))
}

/// Makes a write beyond the limit on file sizes fail with an error; by default the signal would kill the program.
fn outlive_file_size_limit() {
    // If the handler cannot be set, a write beyond the limit kills the program; that loses no data.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// `SIGXFSZ` has no name in the library; its number is 25 on Linux, macOS and the BSDs.
const SIGXFSZ: i32 = 25;

fn refuse(error: &clap::Error, args: &[OsString], out: &mut Out) -> Exit {
    if !error.use_stderr() {
        // Help and version go to standard output: they are not errors.
        let rendered = error.render().to_string();
        let is_help = error.kind() == ErrorKind::DisplayHelp;
        return out.plain(&if is_help { help::page(&rendered, args) } else { rendered });
    }
    let UsageProblem { text, message, tip, help } = usage::explained(error, args);
    if !out.is_json() {
        // The message quotes what was typed.
        return out.usage(&text);
    }
    let tip = tip.map(|tip| tip + " ").unwrap_or_default();
    let help = Help::from(tip) + "see " + Suggestion::flow(help);
    out.problem(&Problem::new(Kind::Usage, "usage", message).help(help))
}

fn run_command(name: &str, cli: Cli, out: &mut Out, context: impl FnOnce(Options) -> Result<Context>) -> Exit {
    out.command = Some(name.to_owned());
    let options = Options {
        project: cli.everywhere.project,
        lock_wait: cli.everywhere.lock_timeout,
        command: format!("flow {name}"),
        // A driver holds its run exactly as long as its own process lives.
        holder_pid: if cli.command.is_driver() { Some(std::process::id()) } else { None },
        ..Options::default()
    };
    let cx = match context(options) {
        Ok(cx) => cx.choosing_stores_by(Arc::new(SharedStores)),
        Err(error) => return out.error(&error),
    };
    // What sets flow up is about this directory, even without a `.flow`.
    let (cx, project) = if cli.command.begins_here() { (cx, None) } else { cx.in_project_of_session() };
    if let Some(project) = project {
        out.aside(&format!("no .flow here: this is about {}, the project of the session\n", project.display()));
    }
    out.caller = Some(cx.clone());
    dispatch::run(&cx.observed_by(Arc::new(ModesObserver)), cli.command, out)
}
