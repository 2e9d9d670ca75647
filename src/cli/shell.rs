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
    let verbs = ArgValueCandidates::new(verbs);
    tree.mut_subcommand("help", |help| help.arg(topic))
        .mut_subcommand("man", |man| man.mut_arg("command", |arg| arg.add(verbs)))
}

/// Commands, and those below the one that the line names.
fn verbs() -> Vec<CompletionCandidate> {
    let mut above = Cli::command();
    if let Some(name) = complete::named_by_line(&["command"]) {
        let Some(named) = above.find_subcommand(name) else { return Vec::new() };
        above = named.clone();
    }
    let mut candidates = Vec::new();
    for verb in above.get_subcommands() {
        let about = verb.get_about().cloned();
        candidates.push(CompletionCandidate::new(verb.get_name()).help(about).display_order(Some(candidates.len())));
    }
    candidates
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
    let mut script = Vec::new();
    known.write_registration(VARIABLE, "flow", "flow", "flow", &mut script)?;
    let script = String::from_utf8(script).map_err(io::Error::other)?;
    // zsh drops what does not begin with the word that was typed, and runs are named by any part.
    to.extend(script.replace(DESCRIBED, &format!("{DESCRIBED} {ANY_PART}")).into_bytes());
    Ok(())
}

/// What hands the candidates to zsh.
const DESCRIBED: &str = "_describe -V 'values' other";
/// Lets zsh take a candidate that has the word anywhere, also behind `--run-id=`.
const ANY_PART: &str = "-M 'l:[=]|=* l:|=* r:|=*'";

#[cfg(test)]
mod tests {
    use clap::ValueHint;
    use clap_complete::engine::ArgValueCompleter;

    use super::*;

    /// Arguments whose values only the caller knows: numbers, texts, files, names of what is yet to be made.
    const FREE: [&str; 60] = [
        "activity", "after", "agent", "allow_host", "argv", "asked", "at", "batch", "behind", "branch", "choose",
        "choose_url", "cost", "data", "duration", "epoch", "evidence", "exec", "exit_code", "feature", "file",
        "format", "from", "goal", "id", "inputs", "issue", "iteration", "journal", "keep", "limit", "listen",
        "lock_timeout", "max_iter", "model", "name", "older_than", "on", "outcome", "port", "pr", "question", "reason",
        "repo", "search", "seen", "settles", "since", "skip_reason", "slug", "started_at", "store", "summary", "text",
        "timeout", "tokens_in", "tokens_out", "topic", "types", "unit",
    ];

    fn incomplete(command: &Command, path: &str, found: &mut Vec<String>) {
        for arg in command.get_arguments() {
            let name = arg.get_id().as_str();
            // The phase of a mode is any text.
            let is_free = FREE.contains(&name) || (path, name) == ("flow mode write", "phase");
            let is_offered = arg.get::<ArgValueCandidates>().is_some()
                || arg.get::<ArgValueCompleter>().is_some()
                || !arg.get_possible_values().is_empty()
                || arg.get_value_hint() != ValueHint::Unknown;
            if arg.get_action().takes_values() && !is_free && !is_offered {
                found.push(format!("{path} {name}"));
            }
        }
        for below in command.get_subcommands() {
            incomplete(below, &format!("{path} {}", below.get_name()), found);
        }
    }

    #[test]
    fn every_value_that_flow_knows_can_be_completed() {
        let mut found = Vec::new();
        incomplete(&tree(), "flow", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn zsh_takes_a_run_by_any_part_of_its_name() {
        let mut script = Vec::new();
        write_script(Shell::Zsh, &mut script).unwrap();
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains(&format!("{DESCRIBED} {ANY_PART}\n")), "{script}");
    }
}
