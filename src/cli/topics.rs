//! The pages that `flow help TOPIC` prints: the documentation of this version, which a user of the binary has not.

use std::ffi::OsString;

use crate::cli::verbs;
use crate::runs::similar;

macro_rules! topics {
    ($($name:literal $about:literal),* $(,)?) => {
        /// The topics, in the order of the alphabet: name, what the page is about, its text.
        pub(super) const TOPICS: &[(&str, &str, &str)] =
            &[$(($name, $about, include_str!(concat!("../../docs/", $name, ".md")))),*];

        /// The list in `flow help`.
        pub(super) const LIST: &str = concat!(
            "Topics, for `flow help TOPIC`:\n",
            $("  ", $name, ": ", $about, "\n"),*
        );
    };
}
topics!(
    "cookbook" "recipes: claude-code, codex, ci, todo, make, worktrees, old-runs, first-workflow",
    "dashboard" "runs in the browser and in the terminal",
    "doctor" "finding and repairing damage (`flow help doctor.md`)",
    "drive" "an agent's loop through a graph (`flow help drive.md`)",
    "durability" "what is promised when things go wrong",
    "errors" "error codes and exit statuses",
    "evidence" "commands that flow ran, and whether that still holds (`flow help evidence.md`)",
    "export" "runs for other programs (`flow help export.md`)",
    "format" "every file, key and byte",
    "git" "runs in git, and what flow does when git moves them",
    "glossary" "the words, one line each",
    "hosts" "sessions, and hooks of Claude Code and Codex",
    "interviews" "interviews that keep their answers safe",
    "json" "the keys of a run in what `--json` prints",
    "mcp" "runs as tools of agents' hosts (`flow help mcp.md`)",
    "modes" "skills that are active in a session",
    "performance" "what it costs, measured",
    "remote" "runs that several machines share (`flow help remote.md`)",
    "reports" "agents that report step by step, with `flow emit`",
    "sources" "the systems that flow succeeds",
    "tutorial" "a run from its start to its end",
    "workflows" "the shipped workflows, and how to write your own",
);

/// The recipes of the cookbook that are topics of their own: names and headings.
const RECIPES: [(&str, &str); 8] = [
    ("claude-code", "Claude Code in two minutes"),
    ("codex", "Codex in two minutes"),
    ("ci", "CI"),
    ("todo", "From TODO.md or beads"),
    ("make", "Tests that were seen, with make or just"),
    ("worktrees", "Several worktrees"),
    ("old-runs", "Old runs"),
    ("first-workflow", "Your first workflow"),
];

/// The recipe of this name, with its heading.
fn recipe(name: &str) -> Option<&'static str> {
    let (_, heading) = RECIPES.iter().find(|(known, _)| *known == name)?;
    let (_, _, cookbook) = TOPICS.iter().find(|(known, ..)| *known == "cookbook")?;
    let from = cookbook.find(&format!("\n## {heading}\n"))? + 1;
    let end = cookbook[from..].find("\n## ").map_or(cookbook.len(), |length| from + length + 1);
    Some(cookbook[from..end].trim_end_matches('\n'))
}

/// What `flow help` takes for a topic, with what the page is about. One that has the name of a command is named by its file.
pub(super) fn names(is_command: impl Fn(&str) -> bool) -> Vec<(String, &'static str)> {
    let mut names = Vec::new();
    for &(name, about, _) in TOPICS {
        names.push((if is_command(name) { format!("{name}.md") } else { name.to_owned() }, about));
    }
    names.extend(RECIPES.map(|(name, heading)| (name.to_owned(), heading)));
    names
}

/// The page that a command line asks for: `flow help workflows`. A command with the name of a topic comes first; with
/// `.md` behind it, as pages name each other, the topic is meant.
pub(super) fn asked(args: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<String> {
    let mut words = args.get(verbs::position(args)?..)?.to_vec();
    // A page is a text for programs, too, as that of a command is.
    words.retain(|word| word != "--json");
    let [help, word] = &words[..] else { return None };
    let word = word.to_str()?;
    if help != "help" || is_command(word) {
        return None;
    }
    page_of(word)
}

/// The page of the topic that is called so.
fn page_of(word: &str) -> Option<String> {
    // Pages name each other by their files.
    let name = word.strip_prefix("docs/").unwrap_or(word);
    let name = name.strip_suffix(".md").unwrap_or(name);
    match TOPICS.iter().find(|(known, ..)| *known == name) {
        Some((_, _, text)) => Some((*text).to_owned()),
        None => Some(format!("{}\n", recipe(name)?)),
    }
}

/// The pages about commands that have other names. One that has the name of a command is named by its file.
const PAGES: [(&str, &str); 23] = [
    ("exec", "evidence.md"),
    ("replay", "evidence.md"),
    ("verify", "evidence.md"),
    ("trust", "evidence.md"),
    ("emit", "reports"),
    ("next", "drive.md"),
    ("advance", "drive.md"),
    ("mode", "modes"),
    ("interview", "interviews"),
    ("serve", "dashboard"),
    ("watch", "dashboard"),
    ("attention", "dashboard"),
    ("setup", "hosts"),
    ("hooks", "hosts"),
    ("hook", "hosts"),
    ("hud", "hosts"),
    ("sessions", "hosts"),
    ("session-end", "hosts"),
    ("workflow", "workflows"),
    ("fork", "workflows"),
    ("approve", "workflows"),
    ("reject", "workflows"),
    ("prune", "old-runs"),
];

/// What prints the page about this command or its group.
pub(super) fn about(command: &str) -> Option<String> {
    let first = command.split(' ').next()?;
    if TOPICS.iter().any(|(known, ..)| *known == first) {
        // Without the ending, `flow help` prints the page of the command.
        return Some(format!("flow help {first}.md"));
    }
    let (_, page) = PAGES.iter().find(|(known, _)| *known == first)?;
    Some(format!("flow help {page}"))
}

/// The recipe whose heading has this word, such as the name of a tool.
fn recipe_about(word: &str) -> Option<&'static str> {
    // `or` and `in` are in headings, too.
    let has_it =
        |heading: &str| word.len() > 3 && heading.split_whitespace().any(|part| part.eq_ignore_ascii_case(word));
    RECIPES.iter().find(|(_, heading)| has_it(heading)).map(|(name, _)| *name)
}

/// That a word which is no command is a topic.
pub(super) fn told(word: &str) -> Option<String> {
    page_of(word)?;
    Some(format!("it is a topic: `flow help {word}`"))
}

/// What to do about a word that is neither a command below `help` nor a topic.
pub(super) fn near(word: &str, help: &clap::Command) -> String {
    let commands = help.get_subcommands().map(clap::Command::get_name);
    let topics = TOPICS.iter().map(|(name, ..)| *name).chain(RECIPES.iter().map(|(name, _)| *name));
    let known = commands.chain(topics);
    match recipe_about(word).or_else(|| similar(word, known)) {
        Some(name) => format!("did you mean `flow help {name}`?"),
        None => "`flow help` lists all commands and topics".to_owned(),
    }
}
