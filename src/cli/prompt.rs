//! Questions to whoever called: at a terminal with editing, history and answers of several lines, from a pipe line by line.

use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler, Helper, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount,
};

use crate::cli::out::Out;
use crate::model::limits;
use crate::ops::{Error, discard_typed};

/// Asks on standard error and reads standard input.
pub(super) struct Prompt<'a> {
    out: &'a Out,
    /// Made when the first answer is read from a terminal.
    editor: Option<Editor<Lines, MemHistory>>,
    /// Whether the last answer was edited key by key.
    edited: Arc<AtomicBool>,
}

/// What stands before each answer.
const MARK: &str = "> ";

impl<'a> Prompt<'a> {
    pub(super) fn new(out: &'a Out) -> Self {
        Self { out, editor: None, edited: Arc::default() }
    }

    /// Shows the person what is asked.
    pub(super) fn show(&self, text: &str) {
        self.out.show(text);
    }

    /// Tells something on the way.
    pub(super) fn tell(&self, text: &str) {
        self.out.aside(text);
    }

    /// Whether a person at the terminal says yes; nobody there does.
    pub(super) fn agrees(&mut self, question: &str) -> bool {
        if !io::stdin().is_terminal() {
            return false;
        }
        self.out.show(&format!("{question} "));
        let answer = read_line().ok().flatten().map(|line| line.trim().to_lowercase());
        matches!(answer.as_deref(), Some("y" | "yes"))
    }

    /// An answer of one line, from the person at the terminal; none when nobody is there. Ctrl-C ends the program here.
    /// A person answers what they can read, so what they typed before is none, and neither is an empty line.
    pub(super) fn read_here(&mut self, question: &str) -> Option<String> {
        if !io::stdin().is_terminal() {
            return None;
        }
        if discard_typed() {
            self.out.show("(what was typed before the question is left out)\n");
        }
        self.out.show(&format!("{question}\n"));
        loop {
            self.out.show(MARK);
            let answer = read_line().ok().flatten()?;
            if !answer.trim().is_empty() {
                return Some(answer);
            }
        }
    }

    /// An answer, which may have several lines; none when nobody answers any more. `before` are earlier answers, to be
    /// taken up again, and `there` is what stands there to be changed.
    ///
    /// # Errors
    /// [`Error::Input`] for what cannot be read, or is no text.
    pub(super) fn read(&mut self, before: &[String], there: &str) -> Result<Option<String>, Error> {
        let text = if io::stdin().is_terminal() { self.edit(before, there) } else { self.read_plainly() };
        let text = text.map_err(|source| Error::Input { origin: "standard input".to_owned(), source })?;
        let is_edited = self.edited.swap(false, Ordering::Relaxed);
        let edited = |text: &str| text.replace(&format!("\\{GOES_ON}"), "\n").replace(GOES_ON, "\n");
        Ok(text.map(|text| if is_edited { edited(&text) } else { joined(&text) }))
    }

    fn edit(&mut self, before: &[String], there: &str) -> io::Result<Option<String>> {
        if self.editor.is_none() {
            self.editor = editor(&self.edited).ok();
        }
        let Some(editor) = &mut self.editor else {
            // A terminal that cannot be steered is read like a pipe.
            return self.read_plainly();
        };
        let _ = editor.clear_history();
        for answer in before {
            let _ = editor.add_history_entry(answer.as_str());
        }
        match editor.readline_with_initial(MARK, (there, "")) {
            Ok(text) => Ok(Some(text)),
            // Both mean the same here: enough for now.
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn read_plainly(&self) -> io::Result<Option<String>> {
        let mut text = String::new();
        loop {
            if io::stdin().is_terminal() {
                self.out.show(MARK);
            }
            let Some(line) = read_line()? else { return Ok(Some(text).filter(|text| !text.is_empty())) };
            text.push_str(&line);
            if !goes_on(&line) || text.len() > limits::ANSWER_BYTES {
                return Ok(Some(text));
            }
            text.push('\n');
        }
    }
}

/// A line of standard input without its line break; none at its end. What was typed at a terminal and not sent is no line:
/// whoever presses Ctrl-D twice, or whose terminal is gone, has not answered.
fn read_line() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    // One byte more than an answer may have tells that it is too long.
    let bound = u64::try_from(limits::ANSWER_BYTES).unwrap_or(u64::MAX) + 2;
    let read = io::Read::take(io::stdin().lock(), bound).read_until(b'\n', &mut line)?;
    let line = match String::from_utf8(line) {
        // The bound may cut a character, of an answer that is too long anyway.
        Err(error) if error.utf8_error().error_len().is_none() && read > limits::ANSWER_BYTES => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        line => line.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))?,
    };
    let is_sent = line.ends_with('\n') || read > limits::ANSWER_BYTES || !io::stdin().is_terminal();
    Ok((read > 0 && is_sent).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Whether an answer goes on in the next line: when this one ends in an odd number of backslashes.
fn goes_on(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// The answer, without the backslashes that only say that it goes on.
fn joined(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        if goes_on(line) {
            *line = &line[..line.len() - 1];
        }
    }
    lines.join("\n")
}

fn editor(edited: &Arc<AtomicBool>) -> rustyline::Result<Editor<Lines, MemHistory>> {
    // What is typed goes to the terminal, whatever standard output is for.
    let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(false).build();
    let mut editor = Editor::with_history(config, MemHistory::new())?;
    editor.set_helper(Some(Lines));
    let enter = EventHandler::Conditional(Box::new(Enter { edited: Arc::clone(edited) }));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), enter);
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    editor.bind_sequence(KeyEvent(KeyCode::Char('M'), Modifiers::CTRL_ALT), Cmd::Newline);
    Ok(editor)
}

/// What Enter puts behind a backslash at the end: a mark that no terminal shows, by which this backslash differs from
/// those in what was pasted, and the end of the line.
const GOES_ON: &str = "\u{2060}\n";

/// What Enter does: behind a backslash at the end it goes on in the next line.
struct Enter {
    edited: Arc<AtomicBool>,
}

impl ConditionalEventHandler for Enter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        self.edited.store(true, Ordering::Relaxed);
        let is_at_end = context.pos() == context.line().len();
        match goes_on(context.line()) {
            false => None,
            true if is_at_end => Some(Cmd::Insert(1, GOES_ON.to_owned())),
            true => Some(Cmd::Move(Movement::EndOfBuffer)),
        }
    }
}

/// Lets an answer have several lines where a terminal cannot be steered, and is read line by line.
struct Lines;

impl Validator for Lines {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let last = context.input().rsplit('\n').next().unwrap_or_default();
        Ok(if goes_on(last) { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Lines {
    type Candidate = String;
}

impl Hinter for Lines {
    type Hint = String;
}

impl Highlighter for Lines {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Helper for Lines {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_goes_on_in_the_next_line() {
        for (text, answer) in [
            ("one", "one"),
            ("one\\\ntwo", "one\ntwo"),
            ("pasted\nlines", "pasted\nlines"),
            ("C:\\\\\nrest", "C:\\\\\nrest"),
            ("end\\\\", "end\\\\"),
        ] {
            assert_eq!(joined(text), answer);
        }
        assert!(goes_on("a\\") && !goes_on("a\\\\") && goes_on("\\\\\\") && !goes_on(""));
    }
}
