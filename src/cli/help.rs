//! Pages of help: the commands in groups on that of the program, and examples on that of each command.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use crate::cli::args::{Cli, Command};
use crate::cli::page::in_lines;
use crate::cli::{examples, topics, usage};
use crate::runs::columns;

/// The widest line, as of the parser's own pages.
const WIDEST: usize = 100;
/// From this width on the names of commands have a column.
const WIDE: usize = 60;
/// Width of the column with the names of commands.
const NAMES: usize = 17;

/// The page that `rendered` is for the command that `args` name, with what the parser does not know.
pub(super) fn page(rendered: &str, args: &[std::ffi::OsString]) -> String {
    let path = usage::path(args);
    if path.is_empty() {
        return grouped(rendered, columns().unwrap_or(WIDEST).min(WIDEST));
    }
    with_examples(rendered, &path.join(" "))
}

/// The page with the commands in their groups.
fn grouped(rendered: &str, width: usize) -> String {
    let (Some((head, _)), Some((_, tail))) =
        (rendered.split_once("\nCommands:\n"), rendered.split_once("\nOptions:\n"))
    else {
        return rendered.to_owned();
    };
    format!("{head}\n{}\nOptions:\n{tail}", groups(width))
}

fn groups(width: usize) -> String {
    let mut text = String::new();
    for (title, _, augment) in Command::GROUPS {
        let _ = writeln!(text, "{}{title}:", if text.is_empty() { "" } else { "\n" });
        for command in augment(clap::Command::new("flow")).get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            if width < WIDE {
                let _ = writeln!(text, "  {}\n      {}", command.get_name(), in_lines(&about, width, 6));
            } else {
                let _ = writeln!(text, "  {:<NAMES$}{}", command.get_name(), in_lines(&about, width, NAMES + 2));
            }
        }
    }
    text
}

/// The page of a command, with examples before the options of every command.
fn with_examples(rendered: &str, path: &str) -> String {
    let Some(lines) = examples::of(path) else { return rendered.to_owned() };
    let mut shown = "Examples:\n".to_owned();
    for line in lines {
        let _ = writeln!(shown, "  {line}");
    }
    if let Some(more) = topics::about(path) {
        let _ = writeln!(shown, "\nMore: {more}");
    }
    match rendered.split_once("\nOptions of every command:") {
        Some((head, tail)) => format!("{head}\n{shown}\nOptions of every command:{tail}"),
        None => format!("{rendered}\n{shown}"),
    }
}

/// The manual page of the command with this path; that of the program for an empty one. `None` if there is no such command.
pub(super) fn manual(path: &[String]) -> std::io::Result<Option<String>> {
    let mut command = Cli::command();
    command.build();
    for name in path {
        let Some(below) = command.find_subcommand(name) else { return Ok(None) };
        command = below.clone();
    }
    manual_of(&command, &path.join(" ")).map(Some)
}

fn manual_of(command: &clap::Command, path: &str) -> std::io::Result<String> {
    let mut page = Vec::new();
    let source = concat!("flow ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).source(source).render(&mut page)?;
    let text = String::from_utf8_lossy(&page);
    let mut text = with_values(&text, command);
    // Its lines stay as they are.
    if let Some((head, extra)) = text.split_once(".SH EXTRA\n") {
        text = format!("{head}.SH EXTRA\n.nf\n{}\n.fi\n", extra.trim_end());
    }
    if let Some(lines) = examples::of(path) {
        text += ".SH EXAMPLES\n.nf\n";
        for line in lines {
            let line = line.replace('\\', "\\\\").replace('-', "\\-").replace('\'', "\\(aq");
            let _ = writeln!(text, "{line}");
        }
        text += ".fi\n";
    }
    Ok(text)
}

/// The page with the names of the values behind the options of its synopsis, which the generator leaves out.
fn with_values(page: &str, command: &clap::Command) -> String {
    let Some((head, rest)) = page.split_once(".SH SYNOPSIS\n") else { return page.to_owned() };
    let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut line = line.to_owned();
    for argument in command.get_arguments() {
        let (Some(long), Some(values)) = (argument.get_long(), argument.get_value_names()) else { continue };
        if !argument.get_action().takes_values() {
            continue;
        }
        let option = format!("\\fB\\-\\-{}\\fR", long.replace('-', "\\-"));
        for end in [']', '>'] {
            let values: Vec<_> =
                values.iter().map(|value| format!("\\fI<{}>\\fR", value.replace('-', "\\-"))).collect();
            line = line.replace(&format!("{option}{end}"), &format!("{option} {}{end}", values.join(" ")));
        }
    }
    format!("{head}.SH SYNOPSIS\n{line}\n{rest}")
}

/// All manual pages: the names of their files, and their texts.
pub(super) fn manuals() -> std::io::Result<Vec<(String, String)>> {
    let mut tree = Cli::command();
    tree.build();
    let mut pages = vec![("flow.1".to_owned(), manual_of(&tree, "")?)];
    add_manuals(&tree, "", &mut pages)?;
    Ok(pages)
}

fn add_manuals(above: &clap::Command, path: &str, pages: &mut Vec<(String, String)>) -> std::io::Result<()> {
    for command in above.get_subcommands() {
        let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
        // The pages of `help` are those of the commands.
        if command.get_name() == "help" {
            continue;
        }
        pages.push((format!("flow-{}.1", path.replace(' ', "-")), manual_of(command, &path)?));
        add_manuals(command, &path, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_needs_a_second_line_on_a_terminal_of_eighty_columns() {
        for (_, _, augment) in Command::GROUPS {
            for command in augment(clap::Command::new("flow")).get_subcommands() {
                let about = command.get_about().unwrap().to_string();
                assert!(about.len() + NAMES + 2 <= 80, "{}: {about}", command.get_name());
            }
        }
        assert!(groups(40).lines().all(|line| line.len() <= 40), "{}", groups(40));
    }
}
