//! Completion in a shell: the script that asks flow, and the answer to it.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::cli::args::Cli;
use crate::cli::{complete, topics};
use crate::runs::completed_word;

/// The variable with which a script asks flow to complete a command line. Its value is the name of the shell.
const VARIABLE: &str = "FLOW_COMPLETE";

/// Completes the command line `args`, if a script asks for it. Returns whether it did.
pub(super) fn complete(args: &[OsString]) -> bool {
    // A script puts the whole line behind two hyphens; another command is not parsed twice.
    if args.get(1).is_some_and(|arg| arg == "--")
        && let Ok(line) = Cli::command().ignore_errors(true).try_get_matches_from(before_cursor(&args[2..]))
    {
        complete::keep_line(line);
    }
    let env = CompleteEnv::with_factory(tree).var(VARIABLE).bin("flow");
    // The variable may be set for something else; then the command runs.
    env.try_complete(args, Some(Path::new("."))).unwrap_or(false)
}

/// The words of a line before the one that is completed, flow's own name first.
fn before_cursor(words: &[OsString]) -> &[OsString] {
    // Bash and zsh say which word it is; elsewhere it is the last one.
    let end = completed_word().unwrap_or(words.len().saturating_sub(1));
    words.get(..end).unwrap_or(words)
}

/// The tree of commands, in which `help` has topics as well.
fn tree() -> Command {
    let mut tree = Cli::command();
    // Makes `help`. What is added to it then has to say everything of itself.
    tree.build();
    let topic =
        Arg::new("topic").index(1).action(ArgAction::Set).num_args(1).add(ArgValueCandidates::new(topics_of_help));
    tree.mut_subcommand("help", |help| help.arg(topic))
}

/// What `help` takes besides commands.
fn topics_of_help() -> Vec<CompletionCandidate> {
    let tree = Cli::command();
    let mut candidates = Vec::new();
    for (name, about) in topics::names(|word| tree.find_subcommand(word).is_some()) {
        candidates.push(CompletionCandidate::new(name).help(Some(about.into())).display_order(Some(candidates.len())));
    }
    candidates
}

/// Writes the script that makes `shell` ask flow.
pub(super) fn write_script(shell: Shell, to: &mut Vec<u8>) -> io::Result<()> {
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    known.write_registration(VARIABLE, "flow", "flow", "flow", to)
}
