//! The interviewee of the command line: a person at the terminal, or answers from a pipe.

use std::io::{self, IsTerminal};

use crate::cli::out::Out;
use crate::cli::prompt::Prompt;
use crate::interviews::pad::InterviewAnswer;
use crate::interviews::{
    AnswerConflict, AskedQuestion, EntryStatus, InterviewEntry, Interviewee, Resolution, Response, Result, Review,
};
use crate::runs;

/// The interviewee of the command line.
pub(super) struct Person<'a> {
    prompt: Prompt<'a>,
    /// Whether the keys were explained already.
    knows_keys: bool,
}

/// The keys and commands for an answer.
const KEYS: &str =
    "(Enter sends, \\ at the end goes on in the next line, /back, /skip REASON, /help, /quit or Ctrl-D)\n";
/// What a person can do at a question that they went back to.
const KEEPS: &str = "(Enter keeps your answer, typing replaces it";
const BRINGS_BACK: &str = "; arrow up brings it back to edit";
/// The highest number of characters of each answer in the review of all answers.
const SHOWN: usize = 60;

/// A line that a person typed.
#[derive(Debug, PartialEq, Eq)]
enum TypedLine<'t> {
    /// An empty line.
    Blank,
    Answer(&'t str),
    Skip(&'t str),
    Back,
    Stop,
    Help,
    /// It has the form of a command, but its name is unknown.
    Unknown(&'t str),
}

impl<'t> TypedLine<'t> {
    /// Parses a line. A command is one line that begins with a slash and a word of letters; a space before the slash
    /// makes it an answer.
    fn read(text: &'t str) -> Self {
        let answer = text.trim();
        if answer.is_empty() {
            return Self::Blank;
        }
        let Some(command) = text.strip_prefix('/') else { return Self::Answer(answer) };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
        match (name.to_ascii_lowercase().as_str(), rest.trim()) {
            ("skip", why) => Self::Skip(why),
            _ if !is_name || answer.contains('\n') => Self::Answer(answer),
            ("quit" | "exit", "") => Self::Stop,
            ("back", "") => Self::Back,
            ("help", "") => Self::Help,
            _ => Self::Unknown(&text[..=name.len()]),
        }
    }
}

impl<'a> Person<'a> {
    pub(super) fn new(out: &'a Out) -> Self {
        Self { prompt: Prompt::new(out), knows_keys: false }
    }

    /// Refuses an unknown command. In a pipe that is an error: the lines after it would answer the wrong questions.
    fn refuse(&self, word: &str) -> Result<()> {
        let why = format!("`{word}` is not a command here");
        if !is_there() {
            let message = format!("{why}; an answer that begins with a slash needs a space before it");
            return Err(runs::Error::Usage(message).into());
        }
        self.prompt.show(&format!("{why}; to send it as an answer, put a space before it\n{KEYS}"));
        Ok(())
    }
}

impl Interviewee for Person<'_> {
    fn ask(&mut self, asked: &AskedQuestion) -> Result<Response> {
        let AskedQuestion { number, total, topic, question, before, now, has_before } = asked;
        self.prompt.ask(&format!("\nQuestion {number} of {total}: {topic}\n{question}\n"));
        let mut before = before.clone();
        match now {
            Some(InterviewAnswer::Given(text)) => {
                self.prompt.show(&format!("(it was answered: {text})\n"));
                before.push(text.clone());
            }
            Some(InterviewAnswer::Skipped(why)) => self.prompt.show(&format!("(it was skipped: {why})\n")),
            Some(InterviewAnswer::Open) | None => {}
        }
        if is_there() {
            if !std::mem::replace(&mut self.knows_keys, true) {
                self.prompt.show(KEYS);
            }
            if now.is_some() {
                let back = if self.prompt.brings_back() { BRINGS_BACK } else { "" };
                self.prompt.show(&format!("{KEEPS}{back})\n"));
            }
        }
        loop {
            let Some(answer) = self.prompt.read(&before)? else { return Ok(Response::Stop) };
            let is_same = matches!(now, Some(InterviewAnswer::Given(there)) if there.trim() == answer.trim());
            match TypedLine::read(&answer) {
                TypedLine::Stop => return Ok(Response::Stop),
                TypedLine::Back if *has_before => return Ok(Response::Back),
                TypedLine::Back => self.prompt.show("(there is no question before this one)\n"),
                // A blank line in a pipe answers nothing.
                TypedLine::Blank if !is_there() => {}
                TypedLine::Blank if now.is_some() => return Ok(Response::Keep),
                TypedLine::Blank | TypedLine::Help => self.prompt.show(KEYS),
                // An earlier answer that was brought back may look like a command.
                _ if is_same => return Ok(Response::Keep),
                TypedLine::Answer(answer) => return Ok(Response::Answer(answer.to_owned())),
                TypedLine::Skip(why) => return Ok(Response::Skip(why.to_owned())),
                TypedLine::Unknown(word) => self.refuse(word)?,
            }
        }
    }

    fn settle(&mut self, clash: &AnswerConflict) -> Result<Resolution> {
        let AnswerConflict { number, theirs, mine } = clash;
        if !is_there() {
            return Ok(Resolution::Later);
        }
        let theirs = match theirs {
            InterviewAnswer::Given(text) => format!("was answered meanwhile:\n{text}"),
            InterviewAnswer::Skipped(why) => format!("was skipped meanwhile: {why}"),
            InterviewAnswer::Open => "is open".to_owned(),
        };
        self.prompt.ask(&format!("\nQuestion {number} {theirs}\n\nYours:\n{mine}\n"));
        loop {
            self.prompt.show("Which one counts: mine, theirs or both?\n");
            let Some(word) = self.prompt.read(&[])? else { return Ok(Resolution::Later) };
            match word.trim().to_lowercase().as_str() {
                "m" | "mine" => return Ok(Resolution::Mine),
                "t" | "theirs" => return Ok(Resolution::Theirs),
                "b" | "both" => return Ok(Resolution::Both),
                "/quit" | "/exit" => return Ok(Resolution::Later),
                _ => {}
            }
        }
    }

    fn review(&mut self, entries: &[InterviewEntry]) -> Result<Review> {
        if !is_there() || entries.is_empty() {
            return Ok(Review::Finish);
        }
        self.prompt.ask("\nAll questions are asked.\n");
        for entry in entries {
            let InterviewEntry { number, topic, .. } = entry;
            self.prompt.show(&format!("  {number}  {topic}: {}\n", shown(entry)));
        }
        loop {
            self.prompt
                .show("(Enter writes the document, a number goes back to that question, /quit or Ctrl-D stops)\n");
            let Some(text) = self.prompt.read(&[])? else { return Ok(Review::Stop) };
            match (TypedLine::read(&text), entries.last()) {
                (TypedLine::Blank, _) => return Ok(Review::Finish),
                (TypedLine::Stop, _) => return Ok(Review::Stop),
                (TypedLine::Back, Some(last)) => return Ok(Review::Back(last.number)),
                (TypedLine::Answer(word), _) => {
                    if let Some(entry) = entries.iter().find(|entry| entry.number.to_string() == word) {
                        return Ok(Review::Back(entry.number));
                    }
                }
                _ => {}
            }
        }
    }

    fn tell(&mut self, line: &str) {
        self.prompt.tell(&format!("{line}\n"));
    }
}

/// Whether there is a person who could agree. With `--json` a program reads the answer, and it cannot say yes.
pub(super) fn can_be_asked(out: &Out) -> bool {
    !out.is_json() && is_there() && io::stderr().is_terminal()
}

/// Whether standard input is a terminal.
fn is_there() -> bool {
    io::stdin().is_terminal()
}

/// The answer to a question, in one short line.
fn shown(entry: &InterviewEntry) -> String {
    let said = entry.answer.as_deref().unwrap_or_default();
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = if line.chars().count() > SHOWN { "…" } else { "" };
    let line: String = line.chars().take(SHOWN).collect();
    match entry.status {
        EntryStatus::Open => "(open)".to_owned(),
        EntryStatus::Answered => format!("{line}{more}"),
        EntryStatus::Skipped => format!("(skipped) {line}{more}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_no_answer_and_an_answer_is_no_command() {
        for (text, line) in [
            ("/quit", TypedLine::Stop),
            ("/Exit ", TypedLine::Stop),
            ("/back", TypedLine::Back),
            ("/HELP", TypedLine::Help),
            ("/skip", TypedLine::Skip("")),
            ("/Skip no idea\nyet", TypedLine::Skip("no idea\nyet")),
            ("/quti", TypedLine::Unknown("/quti")),
            ("/quit now", TypedLine::Unknown("/quit")),
            ("/usr is full", TypedLine::Unknown("/usr")),
            (" /usr is full", TypedLine::Answer("/usr is full")),
            ("/etc/hosts has it", TypedLine::Answer("/etc/hosts has it")),
            ("// a comment", TypedLine::Answer("// a comment")),
            ("/", TypedLine::Answer("/")),
            ("/exit\npasted", TypedLine::Answer("/exit\npasted")),
            ("- one\n- two", TypedLine::Answer("- one\n- two")),
            (" \n", TypedLine::Blank),
        ] {
            assert_eq!(TypedLine::read(text), line, "{text:?}");
        }
    }
}
