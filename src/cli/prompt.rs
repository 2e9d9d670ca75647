//! Questions to the caller: at a terminal with editing, history and answers of several lines, from a pipe line by line.
//!
//! At a terminal, only what is typed after a question is shown can answer it; what was typed before is shown and
//! discarded. Lines that arrive at once are one answer, even if the terminal does not tell a paste from keys.

use std::io::{self, BufRead, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustyline::completion::Completer;
use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::line_buffer::LineBuffer;
use rustyline::validate::Validator;
use rustyline::{
    Changeset, Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};

use crate::cli::out::Out;
use crate::cli::terminal::{EditedLine, Terminal};
use crate::model::limits;
use crate::runs::Error;

/// Asks on standard error, and reads answers from standard input.
pub(super) struct Prompt<'a> {
    out: &'a Out,
    /// None if standard input is not a terminal.
    terminal: Option<Arc<Terminal>>,
    /// Created when the first answer is read from a terminal.
    editor: Option<Editor<Lookahead, MemHistory>>,
    keys: Keys,
}

/// The prompt before each answer.
const MARK: &str = "> ";
/// Shorter than the time between two typed keys, and long enough for a whole paste to arrive.
const GAP: Duration = Duration::from_millis(25);
/// The highest number of characters that are shown of what was typed too early.
const SHOWN: usize = 400;

impl<'a> Prompt<'a> {
    pub(super) fn new(out: &'a Out) -> Self {
        let terminal = Terminal::here().map(Arc::new);
        Self { out, keys: Keys::of(terminal.clone()), terminal, editor: None }
    }

    /// Shows a question to the person. What was typed before is shown and discarded.
    pub(super) fn ask(&self, question: &str) {
        let typed = self.terminal.as_ref().map(|terminal| terminal.typed(GAP)).unwrap_or_default();
        let typed = String::from_utf8_lossy(&typed).replace(char::is_control, " ");
        let typed = typed.split_whitespace().collect::<Vec<_>>().join(" ");
        if !typed.is_empty() {
            let shown: String = typed.chars().take(SHOWN).collect();
            let more = match typed.chars().count() - shown.chars().count() {
                0 => String::new(),
                more => format!(" and {more} more characters"),
            };
            self.show(&format!(
                "\n(typed before the question was shown, so it is not taken for an answer: {shown}{more})\n"
            ));
        }
        self.show(question);
    }

    /// Shows text to the person.
    pub(super) fn show(&self, text: &str) {
        self.out.show(text);
    }

    /// Shows a note, except with `--json`.
    pub(super) fn tell(&self, text: &str) {
        self.out.aside(text);
    }

    /// Whether the person at the terminal agrees; false without a terminal.
    pub(super) fn agrees(&mut self, question: &str) -> bool {
        if !io::stdin().is_terminal() {
            return false;
        }
        self.ask(&format!("{question} (y/N) "));
        let answer = read_line().ok().flatten().map(|line| line.trim().to_lowercase());
        matches!(answer.as_deref(), Some("y" | "yes"))
    }

    /// A one-line answer from the person at the terminal; none without a terminal, or at the end of input. Ctrl-C ends
    /// the program. What was typed before the question is discarded, and an empty line asks again.
    pub(super) fn read_here(&mut self, question: &str) -> Option<String> {
        if !io::stdin().is_terminal() {
            return None;
        }
        self.ask(&format!("{question}\n"));
        loop {
            self.out.show(MARK);
            let answer = read_line().ok().flatten()?;
            if !answer.trim().is_empty() {
                return Some(answer);
            }
        }
    }

    /// Whether the person can bring back an earlier answer to change it.
    pub(super) fn brings_back(&mut self) -> bool {
        if self.editor.is_none() && self.terminal.is_some() {
            self.editor = editor(&self.keys).ok();
        }
        self.editor.is_some()
    }

    /// An answer, which may have several lines; none at the end of input. `before` are earlier answers that can be
    /// brought back, the latest one first.
    ///
    /// # Errors
    /// `input_unreadable` if standard input cannot be read, or is not UTF-8 text.
    pub(super) fn read(&mut self, before: &[String]) -> Result<Option<String>, Error> {
        if std::mem::take(&mut self.keys.state().is_over) {
            return Ok(None);
        }
        let text = if self.brings_back() { self.edit(before) } else { self.read_plainly() };
        let text = text.map_err(|error| Error::input("standard input", &error))?;
        if let Some(text) = &text
            && std::mem::take(&mut self.keys.state().came_at_once)
        {
            let lines = text.trim().lines().count();
            self.show(&format!("({lines} lines came at once, so they are one answer)\n"));
        }
        Ok(text)
    }

    fn edit(&mut self, before: &[String]) -> io::Result<Option<String>> {
        let Some(editor) = &mut self.editor else { return Ok(None) };
        let _ = editor.clear_history();
        for answer in before {
            let _ = editor.add_history_entry(answer.as_str());
        }
        let mut there = String::new();
        loop {
            let edited = self.terminal.as_ref().map(EditedLine::begin);
            let read = editor.readline_with_initial(MARK, (&there, ""));
            drop(edited);
            let (sent, goes_on) = self.keys.state().sent();
            return match (read, sent) {
                // The rest of a paste was still on its way.
                (Err(ReadlineError::Eof), Some(line)) if self.keys.comes(GAP) => {
                    self.keys.state().came_at_once = true;
                    there = line + "\n";
                    continue;
                }
                // Nothing came, so the backslash was typed to continue on the next line.
                (Err(ReadlineError::Eof), Some(mut line)) if goes_on => {
                    self.keys.erase(&line);
                    line.pop();
                    there = line + "\n";
                    continue;
                }
                (Err(ReadlineError::Eof | ReadlineError::Interrupted), Some(line)) => Ok(Some(line)),
                (Ok(text), _) => Ok(Some(text)),
                // Ctrl-C and Ctrl-D mean the same here: stop.
                (Err(ReadlineError::Eof | ReadlineError::Interrupted), _) => Ok(None),
                (Err(ReadlineError::Io(error)), _) => Err(error),
                (Err(error), _) => Err(io::Error::other(error)),
            };
        }
    }

    /// Reads from a pipe, or from a terminal without line editing.
    fn read_plainly(&self) -> io::Result<Option<String>> {
        let mut text = String::new();
        loop {
            if self.terminal.is_some() {
                self.out.show(MARK);
            }
            let Some(mut line) = read_line()? else { return Ok(if text.is_empty() { None } else { Some(text) }) };
            // In a paste, a backslash is text.
            let goes_on = !self.read_rest(&mut line)? && goes_on(&line);
            if goes_on {
                line.pop();
            }
            text.push_str(&line);
            if !goes_on || text.len() > limits::ANSWER_BYTES {
                return Ok(Some(text));
            }
            text.push('\n');
        }
    }

    /// Adds lines that arrived at once with the line that was read. Returns whether there were any.
    fn read_rest(&self, text: &mut String) -> io::Result<bool> {
        let Some(terminal) = &self.terminal else { return Ok(false) };
        let mut typed = terminal.typed(GAP);
        // The byte with which a terminal keeps a line that was ended with Ctrl-D.
        let over = typed.iter().position(|byte| matches!(byte, 0 | 4));
        typed.truncate(over.unwrap_or(typed.len()));
        self.keys.state().is_over = over.is_some();
        if typed.is_empty() {
            return Ok(false);
        }
        self.keys.state().came_at_once = true;
        let more = String::from_utf8(typed).map_err(|_| not_text())?;
        text.push('\n');
        text.push_str(more.strip_suffix('\n').unwrap_or(&more));
        // The last line of the paste is not sent yet.
        if !more.ends_with('\n') && over.is_none() {
            text.push_str(&read_line()?.unwrap_or_default());
        }
        Ok(true)
    }
}

/// A line of standard input without its line break; none at the end. At a terminal, a line without a line break does
/// not count: after Ctrl-D pressed twice, or when the terminal is gone, the person has not sent it.
fn read_line() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    // One byte more than an answer may have shows that the answer is too long.
    let bound = u64::try_from(limits::ANSWER_BYTES).unwrap_or(u64::MAX) + 2;
    let read = io::Read::take(io::stdin().lock(), bound).read_until(b'\n', &mut line)?;
    let line = match String::from_utf8(line) {
        // The bound may cut a character in two, but then the answer is too long anyway.
        Err(error) if error.utf8_error().error_len().is_none() && read > limits::ANSWER_BYTES => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        line => line.map_err(|_| not_text())?,
    };
    let is_sent = line.ends_with('\n') || read > limits::ANSWER_BYTES || !io::stdin().is_terminal();
    if read == 0 || !is_sent {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

fn not_text() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text")
}

/// Whether an answer continues on the next line: true when the line ends in an odd number of backslashes.
fn goes_on(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

fn editor(keys: &Keys) -> rustyline::Result<Editor<Lookahead, MemHistory>> {
    // Echo what is typed to the terminal, wherever standard output goes.
    let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(false).build();
    let mut editor = Editor::with_history(config, MemHistory::new())?;
    // Fails for a terminal without line editing, which is then read like a pipe.
    drop(editor.create_external_printer()?);
    editor.set_helper(Some(Lookahead(keys.clone())));
    let bound = || EventHandler::Conditional(Box::new(keys.clone()));
    for enter in [KeyEvent(KeyCode::Enter, Modifiers::NONE), KeyEvent::ctrl('J')] {
        editor.bind_sequence(enter, bound());
    }
    editor.bind_sequence(Event::Any, bound());
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    editor.bind_sequence(KeyEvent(KeyCode::Char('M'), Modifiers::CTRL_ALT), Cmd::Newline);
    Ok(editor)
}

/// Key bindings that differ from the editor's own.
///
/// A terminal that does not tell a paste from keys sends all pasted lines at once, and the editor would lose what it
/// has read ahead beyond the first line break. So Enter sends a line only when nothing follows it at once. The editor
/// looks ahead only where it completes words, so Enter asks for a completion.
#[derive(Clone)]
struct Keys {
    state: Arc<Mutex<EnteredLine>>,
    terminal: Option<Arc<Terminal>>,
}

#[derive(Default)]
struct EnteredLine {
    /// The line as it was when Enter was pressed, as long as nothing has followed.
    sent: Option<String>,
    /// Whether that line ends in a typed backslash, so that the answer continues on the next line.
    goes_on: bool,
    /// How many times Enter was pressed since then.
    breaks: usize,
    /// Whether more input followed Enter at once.
    came_at_once: bool,
    /// Whether Ctrl-C or Ctrl-D followed an answer at once; the answer still counts, and is the last one.
    is_over: bool,
    /// Whether the end of the line was pasted or brought back, not typed.
    is_foreign: bool,
}

impl EnteredLine {
    /// The line that Enter sent, and whether the answer continues on the next one.
    fn sent(&mut self) -> (Option<String>, bool) {
        (self.breaks, self.is_foreign) = (0, false);
        (self.sent.take(), self.goes_on)
    }
}

impl Keys {
    fn of(terminal: Option<Arc<Terminal>>) -> Self {
        Self { state: Arc::default(), terminal }
    }

    fn state(&self) -> MutexGuard<'_, EnteredLine> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn comes(&self, gap: Duration) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.comes(gap))
    }

    /// Takes `answer` off the screen, where it is about to be shown again.
    fn erase(&self, answer: &str) {
        if let Some(terminal) = &self.terminal {
            terminal.erase(&format!("{MARK}{answer}"));
        }
    }

    fn answers_at_once(&self, answers: bool) {
        if let Some(terminal) = &self.terminal {
            terminal.answers_at_once(answers);
        }
    }

    /// Sends the line, or continues on the next line after a typed backslash. Which of the two is known only when nothing
    /// follows Enter at once: in a paste, a backslash is text.
    fn enter(&self, context: &EventContext<'_>) -> Cmd {
        let mut typed = self.state();
        let is_typed = typed.sent.is_none() && !typed.is_foreign && !typed.came_at_once;
        typed.goes_on = is_typed && goes_on(context.line());
        if typed.goes_on && context.pos() != context.line().len() {
            return Cmd::Move(Movement::EndOfBuffer);
        }
        typed.sent = Some(context.line().to_owned());
        typed.breaks += 1;
        Cmd::Complete
    }
}

impl ConditionalEventHandler for Keys {
    fn handle(&self, event: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let KeyEvent(code, modifiers) = *event.get(0)?;
        if code == KeyCode::Enter || (code, modifiers) == (KeyCode::Char('J'), Modifiers::CTRL) {
            return Some(self.enter(context));
        }
        let mut typed = self.state();
        let breaks = std::mem::take(&mut typed.breaks);
        let is_at_end = context.pos() == context.line().len();
        match code {
            KeyCode::Char(_) if !modifiers.contains(Modifiers::CTRL) && is_at_end => typed.is_foreign = false,
            KeyCode::BracketedPasteStart if is_at_end => typed.is_foreign = true,
            KeyCode::Up | KeyCode::Down if !context.line().contains('\n') => typed.is_foreign = true,
            KeyCode::Char('P' | 'N' | 'R') if modifiers.contains(Modifiers::CTRL) => typed.is_foreign = true,
            _ => {}
        }
        let sent = typed.sent.take()?;
        self.answers_at_once(false);
        let c = match code {
            KeyCode::Char(c) if modifiers == Modifiers::NONE => c,
            KeyCode::Tab => '\t',
            KeyCode::Char('C' | 'D') if modifiers == Modifiers::CTRL => {
                (typed.sent, typed.is_over) = (Some(sent), true);
                return Some(Cmd::Interrupt);
            }
            // Any other key edits the line, which is not sent then.
            _ => return None,
        };
        typed.came_at_once = true;
        Some(Cmd::Insert(1, format!("{}{c}", "\n".repeat(breaks))))
    }
}

/// Completes no words. It makes the editor look for input after Enter, and end the line when there is none.
struct Lookahead(Keys);

impl Completer for Lookahead {
    type Candidate = String;

    fn complete(&self, line: &str, _: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        if self.0.state().sent.is_none() {
            return Ok((0, Vec::new()));
        }
        self.0.answers_at_once(true);
        Ok((line.len(), vec![String::new()]))
    }

    fn update(&self, line: &mut LineBuffer, _: usize, _: &str, _: &mut Changeset) {
        line.move_buffer_end();
    }
}

impl Validator for Lookahead {}

impl Hinter for Lookahead {
    type Hint = String;
}

impl Highlighter for Lookahead {}

impl Helper for Lookahead {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_number_of_backslashes_at_the_end_goes_on_in_the_next_line() {
        assert!(goes_on("a\\") && !goes_on("a\\\\") && goes_on("\\\\\\") && !goes_on(""));
    }
}
