//! Standard output and standard error. The only place that writes to them.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::cli::exit::Exit;
use crate::cli::page::{self, Page};
use crate::model::{Explain, Help, Kind, Problem, Suggestion};
use crate::runs::{self, Context};

/// Where answers go.
#[derive(Debug)]
pub(super) struct Out {
    json: bool,
    /// What was said instead of being written to the standard streams; none in a process of its own.
    kept: Option<RefCell<Kept>>,
    /// What is already safe when the answer cannot be delivered.
    done: Option<String>,
    /// The word before an error.
    error: &'static str,
    /// The command that runs, for those who used it in a wrong way.
    command: Option<String>,
    /// For whom it runs: commands in an error name the project where they do not find it.
    caller: Option<Context>,
}

/// What would have been on standard output and standard error, without colours.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Out {
    pub(super) fn new(json: bool) -> Self {
        Self { json, kept: None, done: None, error: "error", command: None, caller: None }
    }

    /// Writes to no stream, but keeps what is said.
    pub(super) fn keeping(json: bool) -> Self {
        Self { kept: Some(RefCell::default()), ..Self::new(json) }
    }

    /// What was said to [`Self::keeping`].
    pub(super) fn kept(self) -> Kept {
        self.kept.map(RefCell::into_inner).unwrap_or_default()
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// The word before an error, for callers that know it from elsewhere.
    pub(super) fn errors_begin_with(&mut self, word: &'static str) {
        self.error = word;
    }

    /// Notes for whom a command runs.
    pub(super) fn runs_for(&mut self, caller: &Context) {
        self.caller = Some(caller.clone());
    }

    /// Notes which command runs.
    pub(super) fn runs(&mut self, command: &str) {
        self.command = Some(command.to_owned());
    }

    /// Whether a person looks at standard output.
    pub(super) fn is_terminal(&self) -> bool {
        self.kept.is_none() && io::stdout().is_terminal()
    }

    /// Whether people see colours on standard output.
    pub(super) fn colour(&self) -> bool {
        self.kept.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never
    }

    /// Notes what has been done, for the case that the answer cannot be written.
    pub(super) fn committed(&mut self, what: String) {
        self.done = Some(what);
    }

    /// The answer: `report` as one JSON object, or `page` for people.
    pub(super) fn answer(&mut self, report: &impl Serialize, page: impl FnOnce() -> String) -> Exit {
        if !self.json {
            return self.plain(&page());
        }
        self.json(report)
    }

    /// The answer as JSON, whatever was asked for.
    pub(super) fn json(&mut self, report: &impl Serialize) -> Exit {
        match serde_json::to_string(report) {
            Ok(text) => self.plain(&format!("{text}\n")),
            Err(error) => self.undelivered(&io::Error::other(error)),
        }
    }

    /// Text as it is.
    pub(super) fn plain(&mut self, text: &str) -> Exit {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().stdout.push_str(&strip_str(text).to_string());
            return Exit::Done;
        }
        // Most answers have nothing to strip, and looking for it takes long in a list of many runs.
        let colour = if text.contains('\x1b') { ColorChoice::Auto } else { ColorChoice::AlwaysAnsi };
        let mut stream = AutoStream::new(io::stdout(), colour);
        match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Ok(()) => Exit::Done,
            // `flow log | head` is no failure, as long as nothing was written to the run.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.done.is_none() => Exit::Done,
            Err(error) => self.undelivered(&error),
        }
    }

    fn undelivered(&self, error: &io::Error) -> Exit {
        let done = self.done.as_ref().map(|done| format!("; {done}")).unwrap_or_default();
        let message = format!("cannot write to standard output: {error}{done}");
        self.problem(&Problem::of_message(Kind::Io, "io_error", message))
    }

    /// Things that went wrong beside the work itself.
    pub(super) fn warnings(&self, warnings: &[String]) {
        if self.json {
            return;
        }
        for warning in warnings {
            self.stderr(&format!("{}warning{:#}: {}\n", page::CARE, page::CARE, page::clean(warning)));
        }
    }

    /// Something on the way, for people alone.
    pub(super) fn aside(&self, text: &str) {
        if self.json {
            return;
        }
        let (line, end) = text.strip_suffix('\n').map_or((text, ""), |line| (line, "\n"));
        let lines: Vec<_> = line.split('\n').map(page::clean).collect();
        self.stderr(&format!("{}{end}", lines.join("\n")));
    }

    /// Something that a person has to see, whatever standard output is for.
    pub(super) fn show(&self, text: &str) {
        let lines: Vec<_> = text.split('\n').map(page::clean).collect();
        self.stderr(&lines.join("\n"));
    }

    /// An error.
    pub(super) fn error(&self, error: &dyn Explain) -> Exit {
        let mut problem = error.problem();
        if let ("usage", Some(command)) = (problem.code, &self.command) {
            problem = problem.help(Help::from("see ") + Suggestion::flow(format!("help {command}")));
        }
        let place = self.caller.as_ref().and_then(runs::place_of_project);
        self.problem(&problem.in_project(place.as_deref()))
    }

    /// A command line that is not understood, explained.
    pub(super) fn usage(&self, text: &str) -> Exit {
        let mut page = Page::default();
        text.lines().for_each(|line| page.line(line));
        self.stderr(&page.finish());
        Exit::Usage
    }

    /// An error as callers see it.
    pub(super) fn problem(&self, problem: &Problem) -> Exit {
        if self.json {
            let object = serde_json::json!({ "error": problem });
            self.stderr(&format!("{object}\n"));
        } else {
            let mut page = Page::default();
            for cause in &problem.causes {
                page.line(&format!("  cause: {cause}"));
            }
            if let Some(help) = &problem.help {
                page.line(&format!("  help: {help}"));
            }
            let message = page::clean(&problem.message);
            let word = self.error;
            self.stderr(&format!("{}{word}{:#}: {message}\n{}", page::BAD, page::BAD, page.finish()));
        }
        problem.kind.into()
    }

    fn stderr(&self, text: &str) {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().stderr.push_str(&strip_str(text).to_string());
            return;
        }
        // Nobody is left to be told when this fails.
        let _ = AutoStream::auto(io::stderr()).write_all(text.as_bytes());
    }
}
