//! Standard output and standard error. Only this file writes to them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::cli::exit::Exit;
use crate::cli::page::{self, TextPage};
use crate::cli::usage;
use crate::model::{Explain, Help, Kind, Problem, Suggestion};
use crate::picture::in_ascii;
use crate::runs::{self, Context, columns, wants_ascii};

/// Writes the answers, warnings and errors of a command.
#[derive(Debug)]
pub(super) struct Out {
    json: bool,
    /// Output that is kept instead of written to the standard streams; none in a process of its own.
    kept: Option<RefCell<KeptOutput>>,
    /// What is already safe on disk, to be reported when the answer cannot be written.
    done: Option<String>,
    /// The word before an error message; some callers expect another one than `error`.
    pub(super) error_word: &'static str,
    /// The name of the command that runs; a usage error refers to its help.
    pub(super) command: Option<String>,
    /// The command line. A run that is not found may be a part of a text that was not quoted.
    pub(super) args: Vec<OsString>,
    /// The context of the caller: a command in an error names the project where the caller would not find it.
    pub(super) caller: Option<Context>,
}

/// How a command ends: with an exit status, or with an error that is still to be printed.
pub(super) type CliResult = Result<Exit, Failure>;

/// The error of a command, whichever room it comes from.
#[derive(Debug)]
pub(super) struct Failure(Problem);

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.problem())
    }
}

/// What a process would have written to standard output and standard error, without colours.
#[derive(Debug, Default)]
pub(super) struct KeptOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Out {
    pub(super) fn new(json: bool) -> Self {
        Self { json, kept: None, done: None, error_word: "error", command: None, args: Vec::new(), caller: None }
    }

    /// An `Out` that keeps all output and writes nothing; see [`Self::kept`].
    pub(super) fn keeping(json: bool) -> Self {
        Self { kept: Some(RefCell::default()), ..Self::new(json) }
    }

    /// The output that was kept.
    pub(super) fn kept(self) -> KeptOutput {
        self.kept.map(RefCell::into_inner).unwrap_or_default()
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether standard output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.kept.is_none() && io::stdout().is_terminal()
    }

    /// Whether standard output shows colours.
    pub(super) fn colour(&self) -> bool {
        self.kept.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never
    }

    /// Notes what is safe on disk, for the error message when the answer cannot be written.
    pub(super) fn committed(&mut self, what: String) {
        self.done = Some(what);
    }

    /// Standard output as it is, for a protocol that takes it over.
    pub(super) fn stream(&self) -> Box<dyn Write + Send> {
        if self.kept.is_some() { Box::new(io::sink()) } else { Box::new(io::stdout()) }
    }

    /// The answer: `report` as one JSON object, or the page that `fill` writes for people.
    pub(super) fn answer(&mut self, report: &impl Serialize, fill: impl FnOnce(&mut TextPage)) -> Exit {
        if self.json {
            return self.json(report);
        }
        let text = self.filled(fill);
        let exit = self.page(&text);
        self.say_flow_dir(&text);
        exit
    }

    /// The page that `fill` writes, in the columns that there are. Kept output has no terminal.
    fn filled(&self, fill: impl FnOnce(&mut TextPage)) -> String {
        TextPage::of(|page| {
            page.within(if self.kept.is_none() { columns() } else { None });
            fill(page);
        })
    }

    /// Writes a page to standard output.
    pub(super) fn page(&mut self, text: &str) -> Exit {
        // Also where a program reads it: it has the same locale.
        if self.kept.is_none() && wants_ascii() { self.plain(&in_ascii(text)) } else { self.plain(text) }
    }

    /// The answer as JSON, even without `--json`.
    pub(super) fn json(&mut self, report: &impl Serialize) -> Exit {
        match serde_json::to_string(report) {
            Ok(text) => self.plain(&format!("{text}\n")),
            Err(error) => self.undelivered(&io::Error::other(error)),
        }
    }

    /// Writes text to standard output.
    pub(super) fn plain(&mut self, text: &str) -> Exit {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().stdout.push_str(&strip_str(text).to_string());
            return Exit::Done;
        }
        // Most answers have no colours to strip, and looking for them takes long in a list of many runs.
        let colour = if text.contains('\x1b') { ColorChoice::Auto } else { ColorChoice::AlwaysAnsi };
        let mut stream = AutoStream::new(io::stdout(), colour);
        match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Ok(()) => Exit::Done,
            // `flow log | head` is not a failure, as long as the command wrote nothing to the run.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.done.is_none() => Exit::Done,
            Err(error) => self.undelivered(&error),
        }
    }

    fn undelivered(&self, error: &io::Error) -> Exit {
        // The caller must not repeat what is safe on disk already.
        let done = page::or_empty(self.done.as_ref().map(|done| format!("; {done}")));
        let message = format!("cannot write to standard output: {error}{done}");
        self.problem(&Problem::new(Kind::Io, "io_error", message))
    }

    /// Prints warnings to standard error, except with `--json`, where the report has them.
    pub(super) fn warnings(&self, warnings: &[String]) {
        if self.json {
            return;
        }
        for warning in warnings {
            self.stderr(&self.filled(|page| page.told(page::CARE, "warning", warning)));
        }
    }

    /// Prints a note to standard error, for people only.
    pub(super) fn aside(&self, text: &str) {
        if self.json {
            return;
        }
        self.show(text);
    }

    /// Prints the page that `fill` writes to standard error, for people only.
    pub(super) fn aside_page(&self, fill: impl FnOnce(&mut TextPage)) {
        if !self.json {
            // A page has cleaned what it shows; its colours are its own.
            self.stderr(&self.filled(fill));
        }
    }

    /// Prints to standard error in every case, for questions to a person.
    pub(super) fn show(&self, text: &str) {
        // What is behind the last line break is a prompt, behind which a person types.
        let (lines, prompt) = text.rsplit_once('\n').unwrap_or(("", text));
        let mut shown = self.filled(|page| lines.lines().for_each(|line| page.line(line)));
        shown += &page::clean(prompt);
        self.stderr(&shown);
    }

    /// The exit status of a command that showed what it would do, for a caller who cannot be asked whether to do it.
    pub(super) fn only_shown(&self, shown: Exit, said: &str) -> Exit {
        if shown != Exit::Done {
            return shown;
        }
        self.aside(said);
        Exit::Usage
    }

    /// The exit status of a command, whose error is printed if it failed.
    pub(super) fn exit_of(&self, ended: CliResult) -> Exit {
        match ended {
            Ok(exit) => exit,
            Err(Failure(problem)) => self.explained(problem),
        }
    }

    /// Prints an error, and gives its exit status.
    pub(super) fn error(&self, error: &dyn Explain) -> Exit {
        self.explained(error.problem())
    }

    fn explained(&self, mut problem: Problem) -> Exit {
        let says_only_help = problem.help == Some(Help::from("see ") + Suggestion::flow("help"));
        if says_only_help && let Some(command) = &self.command {
            problem = problem.help(Help::from("see ") + Suggestion::flow(format!("help {command}")));
        }
        if ["run_not_found", "invalid_name"].contains(&problem.code) {
            problem.help = usage::help_without_run(&self.args, problem.help);
        }
        if problem.code == "no_project"
            && let Some(elsewhere) = self.caller.as_ref().and_then(Context::project_elsewhere)
        {
            problem = elsewhere.problem();
        }
        // A command in the help must work where the caller is.
        let place = self.caller.as_ref().and_then(runs::place_of_project);
        self.problem(&problem.in_project(place.as_deref()))
    }

    /// Explains a command line that cannot be parsed.
    pub(super) fn usage(&self, text: &str) -> Exit {
        self.stderr(&TextPage::of(|page| page.lines(text)));
        Exit::Usage
    }

    /// Prints a problem as text or JSON, and gives its exit status.
    pub(super) fn problem(&self, problem: &Problem) -> Exit {
        if self.json {
            let object = serde_json::json!({ "error": problem });
            self.stderr(&format!("{object}\n"));
        } else {
            let text = self.filled(|page| {
                page.told(page::BAD, self.error_word, &problem.message);
                for cause in &problem.causes {
                    page.line(&format!("  cause: {cause}"));
                }
                if let Some(help) = &problem.help {
                    page.line(&format!("  help: {help}"));
                }
            });
            self.stderr(&text);
            self.say_flow_dir(&text);
        }
        problem.kind.into()
    }

    /// Says once that the commands in `text` need `FLOW_DIR` as well. A reader of JSON runs them with the same variables.
    fn say_flow_dir(&self, text: &str) {
        let text = strip_str(text).to_string();
        let has_command =
            text.starts_with("flow ") || ["`flow ", "  flow ", "\nflow "].iter().any(|at| text.contains(at));
        if !has_command {
            return;
        }
        if let Some(dir) = self.caller.as_ref().and_then(runs::flow_dir_of_caller) {
            self.aside(&format!("flow: give FLOW_DIR={dir} with these commands as well, unless it is exported\n"));
        }
    }

    fn stderr(&self, text: &str) {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().stderr.push_str(&strip_str(text).to_string());
            return;
        }
        // A failure to write to standard error cannot be reported anywhere.
        let _ = AutoStream::auto(io::stderr()).write_all(text.as_bytes());
    }
}
