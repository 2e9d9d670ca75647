//! The commands' names, and other words that people try for them.

use std::ffi::OsString;

/// Short forms of commands. They are only understood: help, advice and completions name the commands, as the rules of
/// hosts do that allow them.
const ALIASES: [(&str, &str); 3] = [("ls", "list"), ("record", "record-activity"), ("status", "resume")];

/// Words of other tools, and the command that is meant. They change runs, so a guess is named and not carried out.
const OTHERS: [(&str, &str); 28] = [
    ("answer", "interview answer"),
    ("archive", "prune"),
    ("checks", "validate"),
    ("tail", "log --follow"),
    ("undo", "reopen"),
    ("comment", "record-activity"),
    ("note", "record-activity"),
    ("new", "start"),
    ("begin", "start"),
    ("run", "start"),
    ("create", "start"),
    ("done", "complete"),
    ("finish", "complete"),
    ("end", "complete"),
    ("abort", "cancel"),
    ("stop", "cancel"),
    ("delete", "prune"),
    ("remove", "prune"),
    ("rm", "prune"),
    ("clean", "prune"),
    ("continue", "resume"),
    ("pause", "block"),
    ("test", "exec"),
    ("check", "validate"),
    ("rename", "set"),
    ("history", "log"),
    ("info", "show"),
    ("ps", "list"),
];

/// The same for the commands below another one.
const OTHERS_BELOW: [(&str, &str, &str); 18] = [
    ("hooks", "list", "status"),
    ("hooks", "show", "status"),
    ("hooks", "add", "install"),
    ("hooks", "remove", "uninstall"),
    ("hooks", "check", "doctor"),
    ("interview", "new", "start"),
    ("interview", "begin", "start"),
    ("interview", "show", "status"),
    ("mode", "start", "request"),
    ("mode", "status", "show"),
    ("mode", "stop", "cancel"),
    ("mode", "end", "cancel"),
    ("remote", "add", "use"),
    ("remote", "show", "status"),
    ("remote", "pull", "fetch"),
    ("workflow", "create", "new"),
    ("workflow", "validate", "check"),
    ("workflow", "draw", "graph"),
];

/// Options of every command that take a value.
const WITH_VALUE: [&str; 3] = ["-C", "--project", "--lock-timeout"];

/// The arguments with the full name of the command.
pub(super) fn full(args: &[OsString]) -> Vec<OsString> {
    let mut args = args.to_vec();
    let Some(mut at) = position(&args) else { return args };
    // `flow help ls` names a command as well.
    if args[at] == "help" {
        at += 1;
    }
    if let Some(word) = args.get_mut(at)
        && let Some((_, name)) = ALIASES.iter().find(|(alias, _)| *word == **alias)
    {
        *word = (*name).into();
    }
    if let Some(word) = args.get(at)
        && word == "setup"
    {
        drop_scope(&mut args, at);
    }
    args
}

/// Drops a `--project` without a directory behind `setup`: there it names the scope, as `--user` does, and is the default.
fn drop_scope(args: &mut Vec<OsString>, setup: usize) {
    for at in setup + 1..args.len() {
        let has_directory = matches!(args.get(at + 1), Some(next) if !next.to_string_lossy().starts_with('-'));
        if args[at] == "--project" && !has_directory {
            args.remove(at);
            return;
        }
    }
}

/// Where the command stands among the arguments.
pub(super) fn position(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        let arg = arg.to_string_lossy();
        if !arg.starts_with('-') {
            return Some(at);
        }
        at += if WITH_VALUE.contains(&arg.as_ref()) { 2 } else { 1 };
    }
    None
}

/// The command below `path` that is meant by a word of another tool.
pub(super) fn meant(path: &[String], word: &str) -> Option<&'static str> {
    let found = match path {
        [] => OTHERS.iter().find(|(other, _)| *other == word)?.1,
        [above] => OTHERS_BELOW.iter().find(|(name, other, _)| name == above && *other == word)?.2,
        _ => return None,
    };
    Some(found)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn short_forms_become_the_full_names() {
        for (line, expected) in [
            ("flow ls --json", "flow list --json"),
            ("flow -C ls status r1", "flow -C ls resume r1"),
            ("flow --json --lock-timeout 3 record --id a", "flow --json --lock-timeout 3 record-activity --id a"),
            ("flow help ls", "flow help list"),
            ("flow show ls", "flow show ls"),
            ("flow", "flow"),
        ] {
            assert_eq!(full(&words(line)), words(expected), "{line}");
        }
    }

    #[test]
    fn every_word_leads_to_a_command_and_is_none_itself() {
        let tree = Cli::command();
        for (word, name) in ALIASES.iter().chain(&OTHERS) {
            let name = name.split(' ').next().unwrap();
            assert!(tree.find_subcommand(name).is_some() && tree.find_subcommand(word).is_none(), "{word}");
        }
        for (above, word, name) in &OTHERS_BELOW {
            let tree = tree.find_subcommand(above).unwrap();
            assert!(tree.find_subcommand(name).is_some() && tree.find_subcommand(word).is_none(), "{above} {word}");
        }
    }
}
