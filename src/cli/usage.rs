//! Command lines that cannot be parsed: what is wrong, what was probably meant, and where the help is.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::args::Cli;
use crate::cli::{topics, verbs};
use crate::model::{Help, Suggestion, quoted};
use crate::runs::{is_typing_error, similar};

/// The last line of the parser's messages.
const MORE: &str = "For more information, try '--help'.";

/// Options that people try, and the ones that are meant, where a command takes these.
const OPTIONS: [(&[&str], &str); 5] = [
    (&["--format", "--output", "-o", "-j"], "json"),
    (&["--fix"], "repair"),
    (&["-n", "--last", "--count", "--max", "--tail"], "limit"),
    (&["-m", "--message", "--comment"], "summary"),
    (&["-m", "--message", "--comment", "--why"], "reason"),
];

/// Words for values, and the values that are meant, of which an option has one.
const VALUES: [(&[&str], &[&str]); 6] = [
    (
        &["done", "success", "succeeded", "successful", "ok", "pass", "complete", "completed", "finished", "closed"],
        &["passed", "completed"],
    ),
    (&["fail", "failure", "error", "errored"], &["failed"]),
    (&["skip"], &["skipped"]),
    (&["in_progress", "in-progress", "started", "working", "active", "open", "running"], &["running", "active"]),
    (&["todo", "new", "queued"], &["pending"]),
    (&["waiting", "stuck", "paused"], &["blocked"]),
];

/// An error of the parser, for people and for programs.
pub(super) struct UsageProblem {
    /// The whole text.
    pub(super) text: String,
    /// What is wrong, as one sentence.
    pub(super) message: String,
    /// What was probably meant.
    pub(super) tip: Option<String>,
    /// The command whose help says more: `help start`.
    pub(super) help: String,
}

/// Explains `error`, which the parser found in `args`.
pub(super) fn explained(error: &clap::Error, args: &[OsString]) -> UsageProblem {
    let line = UsageLine::of(args);
    let tip = line.tip(error);
    let rendered = error.render().to_string();
    let mut text = String::new();
    let mut is_tip_due = tip.as_ref();
    let mut skips_blank = false;
    for part in rendered.lines() {
        // The parser's own guess is about letters alone, of which two commands share some; and a wrong option is seldom
        // meant as a value.
        let guess = part.trim_start().strip_prefix("tip:");
        let is_dropped = tip.is_some() || error.kind() == ErrorKind::InvalidSubcommand;
        if guess.is_some_and(|guess| is_dropped || guess.starts_with(" to pass ")) {
            // The blank line behind the guess goes with it.
            skips_blank = true;
            continue;
        }
        if std::mem::take(&mut skips_blank) && part.is_empty() {
            continue;
        }
        if (part.starts_with("Usage:") || part == MORE)
            && let Some(tip) = is_tip_due.take()
        {
            text += &format!("  tip: {tip}\n\n");
        }
        text += &part.replace("try '--help'", &format!("try '{}'", line.help_option()));
        text.push('\n');
    }
    let message = rendered.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    UsageProblem { text, message, tip, help: format!("help {}", line.path.join(" ")).trim_end().to_owned() }
}

/// What to do about a word that names no run: it may be a part of a text without quotation marks, or the text or phase that
/// belongs behind an option. `help` says what there is to do otherwise.
pub(super) fn help_without_run(args: &[OsString], help: Option<Help>) -> Option<Help> {
    let line = UsageLine::of(args);
    if let Some(quoted) = line.unquoted() {
        return Some(format!("quote the text if it is a part of it: `{quoted}`").into());
    }
    let words: Vec<_> = line.rest.iter().filter(|word| *word != "--json").collect();
    let ([verb], [word], Some(option)) = (&line.path[..], &words[..], line.option_of_word()) else { return help };
    let before = help.map_or_else(|| Help::from("did you mean "), |help| help + "; or did you mean ");
    Some(before + Suggestion::flow(verb).option(option, word) + "?")
}

/// The command that was probably meant by names of which one is unknown.
pub(super) fn command_meant(names: &[String]) -> Option<String> {
    let mut command = Cli::command();
    let mut path = Vec::new();
    for name in names {
        if let Some(below) = command.find_subcommand(name).cloned() {
            path.push(name.clone());
            command = below;
            continue;
        }
        let near = command.get_subcommands().map(clap::Command::get_name).find(|known| is_near(name, known));
        path.push(verbs::meant(&path, name).or(near)?.to_owned());
        return Some(path.join(" "));
    }
    None
}

/// The names of the command that a line asks help for: those behind `help`, too.
pub(super) fn path(args: &[OsString]) -> Vec<String> {
    let mut path = UsageLine::of(args).path;
    if path.first().is_some_and(|name| name == "help") {
        path.remove(0);
    }
    path
}

/// A command line, as far as it names a command.
struct UsageLine {
    /// The names of the command: `workflow check`.
    path: Vec<String>,
    command: clap::Command,
    /// The arguments behind the names.
    rest: Vec<String>,
}

impl UsageLine {
    fn of(args: &[OsString]) -> Self {
        let mut command = Cli::command();
        command.build();
        let at = verbs::position(args).unwrap_or(args.len());
        let mut rest: Vec<_> =
            args[at.min(args.len())..].iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let mut path = Vec::new();
        while let Some(word) = rest.first()
            && let Some(below) = command.find_subcommand(word).cloned()
        {
            path.push(rest.remove(0));
            command = below;
        }
        Self { path, command, rest }
    }

    fn help_option(&self) -> String {
        let mut words = vec!["flow"];
        words.extend(self.path.iter().map(String::as_str).filter(|word| *word != "help"));
        words.push("--help");
        words.join(" ")
    }

    fn tip(&self, error: &clap::Error) -> Option<String> {
        match error.kind() {
            ErrorKind::InvalidSubcommand if self.path == ["help"] => {
                Some(topics::near(text_of(error, ContextKind::InvalidSubcommand)?, &self.command))
            }
            ErrorKind::InvalidSubcommand => {
                let word = text_of(error, ContextKind::InvalidSubcommand)?;
                if self.path.is_empty() && word == "version" {
                    return Some("did you mean `flow --version`?".to_owned());
                }
                if self.path.is_empty() && ["upgrade", "update"].contains(&word) {
                    return Some(
                        "install the new version as this one was; `flow --version` says which it is".to_owned(),
                    );
                }
                if self.path.is_empty()
                    && let Some(topic) = topics::told(word)
                {
                    return Some(topic);
                }
                let near = nearest(error).filter(|near| is_near(word, near));
                let meant = verbs::meant(&self.path, word).or(near)?;
                let words = ["flow"].into_iter().chain(self.path.iter().map(String::as_str)).chain([meant]);
                Some(format!("did you mean `{}`?", words.collect::<Vec<_>>().join(" ")))
            }
            ErrorKind::InvalidValue => {
                let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue) else { return None };
                let given = text_of(error, ContextKind::InvalidValue)?.to_lowercase();
                let words =
                    VALUES.iter().find(|(words, _)| words.contains(&given.as_str())).map_or(&[][..], |row| row.1);
                // The same word means different values of different options.
                let meant = words.iter().find(|meant| known.iter().any(|known| known == *meant)).copied();
                let meant = meant.or_else(|| known.iter().map(String::as_str).find(|known| is_near(&given, known)))?;
                Some(format!("did you mean `{meant}`?"))
            }
            ErrorKind::MissingRequiredArgument => {
                if let Some(format) = self.rest.iter().find_map(|word| self.format(word)) {
                    return Some(format!("did you mean `--format {format}`?"));
                }
                self.values_of_missing(error)
            }
            ErrorKind::UnknownArgument => {
                let word = text_of(error, ContextKind::InvalidArg)?;
                if word.starts_with('-') {
                    return self.other_option(word);
                }
                if let Some(quoted) = self.unquoted() {
                    return Some(format!("quote the text: `{quoted}`"));
                }
                self.misplaced(word)
            }
            ErrorKind::ArgumentConflict => self.undo_of_hosts(),
            _ => None,
        }
    }

    /// What was probably meant by an option that is none. Of similar letters the parser knows more.
    fn other_option(&self, option: &str) -> Option<String> {
        if self.path == ["exec"] {
            return self.command_to_run();
        }
        if let Some(format) = self.format(option.trim_start_matches('-')) {
            return Some(format!("did you mean `--format {format}`?"));
        }
        for (words, meant) in OPTIONS {
            let takes_it = self.command.get_arguments().any(|argument| argument.get_long() == Some(meant));
            if takes_it && words.contains(&option) && !self.is_given(meant) {
                return Some(format!("did you mean `--{meant}`?"));
            }
        }
        None
    }

    /// The values of the first argument that is missing, if it takes only some.
    fn values_of_missing(&self, error: &clap::Error) -> Option<String> {
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
        let first = missing.first()?;
        let argument = self.command.get_arguments().find(|argument| argument.to_string() == *first)?;
        let values: Vec<_> = argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if values.is_empty() { None } else { Some(format!("{first} is one of {}", values.join(", "))) }
    }

    /// The format of this name, if the command writes formats.
    fn format(&self, name: &str) -> Option<String> {
        let format = self.command.get_arguments().find(|argument| argument.get_long() == Some("format"))?;
        let known = format.get_possible_values();
        known.iter().find(|known| known.get_name() == name).map(|known| known.get_name().to_owned())
    }

    /// The command that `exec` was probably to run.
    fn command_to_run(&self) -> Option<String> {
        if self.rest.first()?.starts_with('-') {
            return None;
        }
        let words: Vec<_> = self.rest.iter().map(|word| quoted(word)).collect();
        Some(format!("did you mean `flow exec -- {}`?", words.join(" ")))
    }

    /// The option that a word without one was probably meant for.
    fn misplaced(&self, word: &str) -> Option<String> {
        if self.takes_host(word) && !self.is_given("host") {
            return Some(format!("did you mean `--host {word}`?"));
        }
        let at = self.rest.iter().position(|one| one == word)?;
        let words = words_at(&self.rest[at..]);
        // Also in `start debug issue 42`.
        let word = if word == "issue" { words.get(1).copied().unwrap_or(word) } else { word };
        let words = quoted(&words.join(" "));
        let is_file = [".yaml", ".yml", ".json"].iter().any(|end| word.ends_with(end));
        let (words, data) = (words.as_str(), quoted(word));
        let meant = match self.path.first()?.as_str() {
            "start" if is_issue(word) => vec![("issue", word.trim_start_matches('#'))],
            "start" => vec![("goal", words)],
            "record-activity" if is_file => vec![("activity-file", word)],
            "record-activity" if words != word => vec![("summary", words), ("run-id", word)],
            "record-activity" => vec![("run-id", word), ("id", word), ("summary", words)],
            "emit" if word.starts_with('{') => vec![("data", data.as_str())],
            "emit" => vec![("run-id", word)],
            "list" => vec![("search", words)],
            "exec" => return self.command_to_run(),
            "fork" if word.bytes().all(|byte| byte.is_ascii_digit()) => vec![("at", word)],
            "fork" => vec![("id", word)],
            _ => vec![(self.option_of_word()?, words)],
        };
        let (option, value) = meant.into_iter().find(|(option, _)| !self.is_given(option))?;
        Some(format!("did you mean `--{option} {value}`?"))
    }

    /// Whether the line has this option, so that a word without one was meant for another.
    fn is_given(&self, option: &str) -> bool {
        let mut given = self.rest.iter().filter_map(|word| word.strip_prefix("--"));
        given.any(|word| word.split('=').next() == Some(option))
    }

    /// Whether the command takes this host behind `--host`.
    fn takes_host(&self, word: &str) -> bool {
        let host = self.command.get_arguments().find(|argument| argument.get_long() == Some("host"));
        host.is_some_and(|host| host.get_possible_values().iter().any(|known| known.get_name() == word))
    }

    /// What takes the setup out of some of the hosts.
    fn undo_of_hosts(&self) -> Option<String> {
        if self.path != ["setup"] || !self.rest.iter().any(|word| word == "--undo") {
            return None;
        }
        let host = self.rest.iter().find(|word| !word.starts_with('-'))?;
        let scope = if self.rest.iter().any(|word| word == "--user") { "user" } else { "project" };
        Some(format!(
            "`flow setup --undo` takes it out of all hosts; `flow hooks uninstall --host {host} --scope {scope}` takes \
             the hooks out of one"
        ))
    }

    /// The option that a bare word belongs to: the phase of `advance`, or the reason of a change.
    fn option_of_word(&self) -> Option<&'static str> {
        match self.path.first()?.as_str() {
            "advance" => Some("to"),
            "block" | "unblock" | "cancel" | "fail" | "reopen" | "approve" | "reject" => Some("reason"),
            _ => None,
        }
    }

    fn unquoted(&self) -> Option<String> {
        for (at, option) in self.rest.iter().enumerate() {
            let Some(name) = option.strip_prefix("--") else { continue };
            let words = words_at(&self.rest[at + 1..]);
            if words.len() > 1 && self.takes_text(name) {
                return Some(format!("{option} {}", quoted(&words.join(" "))));
            }
        }
        None
    }

    fn takes_text(&self, option: &str) -> bool {
        let argument = self.command.get_arguments().find(|argument| argument.get_long() == Some(option));
        match argument.and_then(clap::Arg::get_value_names) {
            Some(names) => names.iter().any(|name| name == "TEXT"),
            None => false,
        }
    }
}

/// Whether a word is the number, the key or the address of an issue.
fn is_issue(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((project, number)) = word.rsplit_once('-')
        && !project.is_empty()
        && project.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    {
        return is_number(number);
    }
    is_number(word.trim_start_matches('#')) || word.starts_with("https://") || word.starts_with("http://")
}

/// The words before the next option.
fn words_at(rest: &[String]) -> Vec<&str> {
    rest.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect()
}

/// Whether a word may be the name of a command, mistyped. The parser also guesses those that only share letters with it.
fn is_near(word: &str, name: &str) -> bool {
    let is_mistyped = word.chars().next() == name.chars().next() && is_typing_error(word, name);
    is_mistyped || similar(word, [name].into_iter()).is_some()
}

/// The last of the parser's guesses, which is the nearest; it names all that share some letters.
fn nearest(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::Strings(guesses) => guesses.last().map(String::as_str),
        _ => None,
    }
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
