//! Runs commands in a shell, each printed before it runs.

use std::io;
use std::path::Path;

use crate::host::{CommandEnd, Script};
use crate::model::{Kind, Problem, quoted};

/// What a demonstration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoLine<'a> {
    /// What happens next.
    Heading(&'a str),
    /// A line of a command that is about to run.
    Command(&'a str),
    /// A line that a command prints.
    Output(&'a str),
}

/// Stands before a command that is run and not shown.
pub(super) const UNSHOWN: char = '\u{2}';
/// Marks the lines of commands among those of a shell. No command prints it.
const MARK: char = '\u{1}';

/// Runs the scenes of a demonstration, one shell for each.
pub(super) struct Player<'a> {
    /// The project.
    pub(super) dir: &'a Path,
    /// What stands before the commands of each scene, so that `flow` means this program; shown before the first scene.
    pub(super) before: Option<String>,
    /// Whether a scene was played.
    pub(super) is_begun: bool,
    /// Whether only commands are shown, and not what they print.
    pub(super) is_brief: bool,
    /// Called with everything that is to be shown.
    pub(super) tell: &'a mut dyn FnMut(DemoLine<'_>),
}

impl Player<'_> {
    /// Runs `commands` in a shell of their own. Returns the lines that they print.
    ///
    /// # Errors
    /// If there is no shell, or a signal came.
    pub(super) fn play(&mut self, heading: &str, commands: &[&str]) -> Result<Vec<String>, Problem> {
        self.run(heading, commands, None)
    }

    /// As [`Self::play`]; when the line `last` is printed, the shell is killed.
    ///
    /// # Errors
    /// As [`Self::play`].
    pub(super) fn play_and_kill(
        &mut self,
        heading: &str,
        commands: &[&str],
        last: &str,
    ) -> Result<Vec<String>, Problem> {
        self.run(heading, commands, Some(last))
    }

    fn run(&mut self, heading: &str, commands: &[&str], last: Option<&str>) -> Result<Vec<String>, Problem> {
        (self.tell)(DemoLine::Heading(heading));
        let mut text = String::new();
        if !self.is_begun {
            text += &shown_and_run(&format!("cd {}", quoted(&self.dir.to_string_lossy())));
        }
        match &self.before {
            Some(before) if self.is_begun => text += &format!("{before}\n"),
            Some(before) => text += &shown_and_run(before),
            None => {}
        }
        self.is_begun = true;
        for command in commands {
            match command.strip_prefix(UNSHOWN) {
                Some(command) => text += &format!("{command}\n"),
                None => text += &shown_and_run(command),
            }
        }
        let mut printed = Vec::new();
        let mut killed = Ok(());
        let ended = Script { text: &text, dir: self.dir }.run(&mut |line, process| {
            if let Some(command) = line.strip_prefix(MARK) {
                (self.tell)(DemoLine::Command(command));
                return;
            }
            if !self.is_brief {
                (self.tell)(DemoLine::Output(line));
            }
            printed.push(line.to_owned());
            if last == Some(line) {
                killed = kill(process, self.dir, self.tell);
            }
        });
        killed?;
        match ended {
            Ok(CommandEnd::Interrupted(signal)) => {
                let message = format!("the demonstration was interrupted by signal {signal}");
                let help = format!("its files are in {}", self.dir.display());
                Err(Problem::new(Kind::Io, "demo_failed", message).help(help))
            }
            Ok(_) => Ok(printed),
            Err(error) => Err(no_shell(&error)),
        }
    }
}

/// Kills a process by a command in another shell.
fn kill(process: u32, dir: &Path, tell: &mut dyn FnMut(DemoLine<'_>)) -> Result<(), Problem> {
    let command = format!("kill -9 {process}");
    tell(DemoLine::Heading(
        "Elsewhere, something kills the agent. The number is that of this demonstration's shell; by hand, take your own:",
    ));
    tell(DemoLine::Command(&format!("$ {command}")));
    match (Script { text: &command, dir }).run(&mut |line, _| tell(DemoLine::Output(line))) {
        Ok(_) => Ok(()),
        Err(error) => Err(no_shell(&error)),
    }
}

/// Whether the shell finds the program `name`.
///
/// # Errors
/// If no shell runs, or a signal came.
pub(super) fn is_there(name: &str) -> Result<bool, Problem> {
    let text = format!("command -v {name}");
    match (Script { text: &text, dir: Path::new("/") }).run(&mut |_, _| {}) {
        Ok(CommandEnd::Interrupted(signal)) => Err(Problem::new(
            Kind::Io,
            "demo_failed",
            format!("the demonstration was interrupted by signal {signal}, and nothing was made"),
        )),
        Ok(ended) => Ok(matches!(ended, CommandEnd::Exited(status) if status.success())),
        Err(error) => Err(no_shell(&error)),
    }
}

fn no_shell(error: &io::Error) -> Problem {
    Problem::new(Kind::Io, "io_error", "cannot run the commands in a shell")
        .help("make sure that `sh` is on the PATH")
        .caused_by(error)
}

/// The lines of a script that print a command as a terminal would have it, and run it.
fn shown_and_run(command: &str) -> String {
    let mut text = "printf '%s\\n'".to_owned();
    for (at, line) in command.lines().enumerate() {
        let prompt = if at == 0 { "$ " } else { "> " };
        text += &format!(" {}", quoted(&format!("{MARK}{prompt}{line}")));
    }
    format!("{text}\n{command}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_printed_before_it_runs() {
        assert_eq!(shown_and_run("echo a"), "printf '%s\\n' '\u{1}$ echo a'\necho a\n");
        assert_eq!(
            shown_and_run("cat <<E\nx\nE"),
            "printf '%s\\n' '\u{1}$ cat <<E' '\u{1}> x' '\u{1}> E'\ncat <<E\nx\nE\n"
        );
    }
}
