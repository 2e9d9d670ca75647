//! Suggested commands, as data.

use std::fmt;

use crate::model::as_text::as_text;
use crate::model::text::is_terminal_control;

/// A command that the user may run next. Each user interface shows it in its own way; `Display`, which reports use as
/// well, gives a line for a POSIX shell. Pages leave control characters out, so `{:#}` writes them as escapes, which bash and
/// zsh read: who reads the line reads the whole command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suggestion {
    /// A command of flow.
    Flow(Invocation),
    /// A command line of another program: `git switch main`.
    Shell(String),
}

/// A command of flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The project's directory; `None` if the command finds it from the caller's directory.
    pub project: Option<String>,
    /// The subcommand: `resume`, `workflow adopt`, …
    pub verb: String,
    /// Its arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A positional argument: a run, a file, a name.
    Value(String),
    /// A positional argument that is only an example: the caller has to replace it.
    ValueExample(String),
    /// An option without a value: `repair` for `--repair`.
    Flag(String),
    /// An option with its value: `("run-id", "r1")`.
    Option(String, String),
    /// An option whose value is only an example.
    OptionExample(String, String),
}

impl Suggestion {
    /// A command of flow.
    #[must_use]
    pub fn flow(verb: impl Into<String>) -> Self {
        Self::Flow(Invocation { project: None, verb: verb.into(), arguments: Vec::new() })
    }

    fn with(mut self, argument: Argument) -> Self {
        if let Self::Flow(invocation) = &mut self {
            invocation.arguments.push(argument);
        }
        self
    }

    /// Adds a positional argument.
    #[must_use]
    pub fn value(self, value: impl fmt::Display) -> Self {
        self.with(Argument::Value(value.to_string()))
    }

    /// Adds a flag.
    #[must_use]
    pub fn flag(self, name: &str) -> Self {
        self.with(Argument::Flag(name.to_owned()))
    }

    /// Adds an option.
    #[must_use]
    pub fn option(self, name: &str, value: impl fmt::Display) -> Self {
        self.with(Argument::Option(name.to_owned(), value.to_string()))
    }

    /// Adds an option if there is a value for it.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.option(name, value),
            None => self,
        }
    }

    /// Adds an option whose value the caller has to choose.
    #[must_use]
    pub fn example(self, name: &str, value: impl fmt::Display) -> Self {
        self.with(Argument::OptionExample(name.to_owned(), value.to_string()))
    }

    /// Adds a positional argument that the caller has to choose.
    #[must_use]
    pub fn example_value(self, value: impl fmt::Display) -> Self {
        self.with(Argument::ValueExample(value.to_string()))
    }

    /// Adds the project for a caller who has to name it. Does not change a command that names a project already or does
    /// not need one.
    #[must_use]
    pub fn in_project(mut self, project: Option<&str>) -> Self {
        // They need no project, or make one.
        const WITHOUT: [&str; 3] = ["help", "schema", "init"];
        if let Self::Flow(invocation) = &mut self
            && invocation.project.is_none()
            && !WITHOUT.iter().any(|verb| invocation.verb.starts_with(verb))
        {
            invocation.project = project.map(str::to_owned);
        }
        self
    }

    /// Leaves out the project where it is this one, for a caller that works in it.
    #[must_use]
    pub fn without_project(mut self, own: Option<&str>) -> Self {
        if let Self::Flow(invocation) = &mut self
            && invocation.project.as_deref() == own
        {
            invocation.project = None;
        }
        self
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow(invocation) => invocation.write_to(f, if f.alternate() { shown } else { quoted }),
            Self::Shell(line) => f.write_str(line),
        }
    }
}

impl Invocation {
    fn write_to(&self, f: &mut fmt::Formatter<'_>, quoted: fn(&str) -> String) -> fmt::Result {
        f.write_str("flow ")?;
        if let Some(project) = &self.project {
            write!(f, "-C {} ", quoted(project))?;
        }
        f.write_str(&self.verb)?;
        for argument in &self.arguments {
            match argument {
                Argument::Value(value) => write!(f, " {}", quoted(value)),
                Argument::ValueExample(value) => write!(f, " {}", in_quotes(value)),
                Argument::Flag(name) => write!(f, " --{name}"),
                // After a blank, the value would be taken for an option.
                Argument::Option(name, value) if value.starts_with('-') => write!(f, " --{name}={}", quoted(value)),
                Argument::Option(name, value) => write!(f, " --{name} {}", quoted(value)),
                Argument::OptionExample(name, value) => write!(f, " --{name} {}", in_quotes(value)),
            }?;
        }
        Ok(())
    }
}

as_text!(Serialize for Suggestion);
as_text!(JsonSchema for Suggestion, { "type": "string", "description": "A command to give next: a line for a POSIX shell." });

/// Quotes a word for a shell if necessary.
#[must_use]
pub fn quoted(word: &str) -> String {
    // Some shells replace a word that begins with `=` by the path of a program.
    let plain = !word.is_empty() && !word.starts_with('=');
    let plain = plain && word.chars().all(|c| c.is_alphanumeric() || "_-.:/=".contains(c));
    if plain { word.to_owned() } else { in_quotes(word) }
}

/// A program and its arguments, as a line for a page: what would not be seen is written as escapes.
#[must_use]
pub fn command_line(argv: &[String]) -> String {
    let words: Vec<_> = argv.iter().map(|word| shown(word)).collect();
    words.join(" ")
}

/// Whether a page leaves the character out, or shows nothing for it.
fn is_unseen(c: char) -> bool {
    is_terminal_control(c) || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// A word as [`quoted`], with characters that would not be seen as escapes.
fn shown(word: &str) -> String {
    if word.contains(is_unseen) { escaped(word) } else { quoted(word) }
}

/// A word in the quotes of shells that know escapes: `$'a\nb'`.
fn escaped(word: &str) -> String {
    let mut text = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if is_unseen(c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text + "'"
}

fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_on_a_page_hides_no_part_of_the_command() {
        let argv = ["sh", "-c", "echo 'a' \ntouch b\r\u{1b}\\"].map(str::to_owned);
        assert_eq!(command_line(&["/x\u{202e}y\u{200b}".to_owned()]), r"$'/x\u202ey\u200b'");
        let line = r"sh -c $'echo \'a\' \ntouch b\r\u001b\\'";
        assert_eq!(command_line(&argv), line);
        let again = argv.iter().fold(Suggestion::flow("exec").value("--"), Suggestion::value);
        assert_eq!(format!("{again:#}"), format!("flow exec -- {line}"));
        assert_eq!(again.to_string(), "flow exec -- sh -c 'echo '\\''a'\\'' \ntouch b\r\u{1b}\\'");
    }

    #[test]
    fn a_suggestion_is_a_line_that_a_shell_reads_back() {
        let suggestion = Suggestion::flow("record-activity")
            .option("run-id", "r1")
            .option("phase", "it's here")
            .example("summary", "why")
            .flag("advance")
            .value("a b")
            .in_project(Some("/home/me/my project"));
        let line = suggestion.to_string();
        assert_eq!(
            line,
            r"flow -C '/home/me/my project' record-activity --run-id r1 --phase 'it'\''s here' --summary 'why' --advance 'a b'"
        );
        assert_eq!(
            shlex::split(&line).unwrap(),
            [
                "flow",
                "-C",
                "/home/me/my project",
                "record-activity",
                "--run-id",
                "r1",
                "--phase",
                "it's here",
                "--summary",
                "why",
                "--advance",
                "a b"
            ]
        );
    }
}
