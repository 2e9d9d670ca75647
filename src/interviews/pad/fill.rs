//! The end of an interview: the answers go into the sections, and the scratch pad is removed.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::interviews::pad::document::InterviewDocument;
use crate::interviews::pad::edit::{EditError, Result};
use crate::interviews::pad::escape::{heading, moved};
use crate::interviews::pad::gaps::{COMPLETE, Fill, SectionView, fill_of, without_blanks};
use crate::interviews::pad::question::folded;
use crate::interviews::pad::scratch::Pad;
use crate::interviews::pad::script::Script;
use crate::model::named;

named! {
    /// How a section changed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum FillOutcome {
        /// It was a gap, and now has a text.
        Written = "written",
        /// The answers were added below its text.
        Extended = "extended",
        /// It did not change.
        Kept = "kept",
    }
}

/// A section, and how it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionChange {
    /// The heading of the section.
    pub heading: String,
    /// How it changed.
    pub how: FillOutcome,
}

/// An answer, ready for its section.
struct SectionAnswer<'d> {
    number: u32,
    topic: &'d str,
    /// The id of its section; none if its topic is not about a section of the script.
    section: Option<&'d str>,
    text: String,
}

/// The future text of a section.
struct Target {
    /// The id in the script; none for a section with a topic as its heading.
    id: Option<String>,
    heading: String,
    /// The range of the section below its heading; none if the section does not exist yet.
    range: Option<Range<usize>>,
    /// The part of the old text that stays before the new one, byte for byte.
    kept: String,
    text: String,
    how: FillOutcome,
    /// The questions whose answers are in the text.
    questions: Vec<u32>,
}

impl Target {
    /// The complete future content. Lines of the new text end in `newline`.
    fn body(&self, newline: &str) -> String {
        let text = self.text.replace("\r\n", "\n").replace('\n', newline);
        if self.kept.trim().is_empty() {
            return text;
        }
        format!("{}{newline}{newline}{text}", without_blank_lines(&self.kept))
    }

    /// Whether an agent's text with this key is for it.
    fn is_called(&self, key: &str) -> bool {
        match &self.id {
            Some(id) => id == key,
            None => folded(&self.heading) == folded(key),
        }
    }

    /// Whether its text is new.
    fn is_written(&self) -> bool {
        self.how != FillOutcome::Kept
    }
}

/// `text` without blank lines at its end. Only the blanks of Markdown count, which are fewer than Unicode's, and blanks
/// at the end of the last line stay.
fn without_blank_lines(text: &str) -> &str {
    let words = text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    let rest = text[words..].find(['\r', '\n']).unwrap_or(text.len() - words);
    &text[..words + rest]
}

impl InterviewDocument<'_> {
    /// The finished document: the answers are in their sections, and the pad is gone. An answer that is not about a
    /// section of the script gets a section of its own, with its topic as the heading. A text in `content`, by section
    /// id or by such a topic, replaces the answers.
    ///
    /// # Errors
    /// [`EditError`], also for a text in `content` without a section, or one that would change more than its section.
    pub fn finish(
        &self,
        script: &Script,
        content: Option<&Map<String, Value>>,
    ) -> Result<(String, Vec<SectionChange>)> {
        let pad = self.only_pad()?;
        if !pad.faults.is_empty() {
            return Err(EditError::Faults { faults: pad.faults.clone() });
        }
        let given = self.given(script, pad);
        // The places of the sections are those in the text without the pad.
        let bare = self.without_pad()?;
        let bare = InterviewDocument::among(self.known, &bare);
        let sections = bare.sections(script);
        let mut targets = covered(&sections, &given);
        targets.extend(uncovered(&given));
        if let Some(content) = content {
            write_content(&mut targets, &sections, content, bare.newline())?;
        }
        for target in &mut targets {
            // A section with a short answer is marked as complete, so that it is not asked about again.
            let is_section = target.id.is_some() && target.is_written();
            if is_section && fill_of(&target.body(bare.newline()), script) == Fill::Short {
                target.text.push_str(&format!("\n\n<!-- {COMPLETE} -->"));
            }
        }
        // Do not report sections that neither exist nor are created.
        targets.retain(|target| target.range.is_some() || target.is_written());
        let made = bare.filled(script, &sections, &targets)?;
        let changes = targets.into_iter().map(|Target { heading, how, .. }| SectionChange { heading, how });
        Ok((made, changes.collect()))
    }

    /// The future content of sections from the answers, as Markdown, by section id.
    #[must_use]
    pub fn content(&self, script: &Script) -> Map<String, Value> {
        let (Some(pad), Ok(bare)) = (self.pad(), self.without_pad()) else { return Map::new() };
        let sections = InterviewDocument::read(&bare).sections(script);
        let mut content = Map::new();
        for target in covered(&sections, &self.given(script, pad)) {
            if !target.is_written() {
                continue;
            }
            let text = without_blanks(&target.body(self.newline())).to_owned();
            if let Some(id) = target.id {
                content.insert(id, text.into());
            }
        }
        content
    }

    /// All answers, ready for their sections.
    fn given<'d>(&'d self, script: &'d Script, pad: &'d Pad) -> Vec<SectionAnswer<'d>> {
        let mut answers = Vec::new();
        for (entry, section) in pad.entries.iter().zip(script.subjects(pad)) {
            if entry.answer.given().is_none() {
                continue;
            }
            // As it is written in the pad: Markdown that a person put there stays Markdown.
            let written = &self.text[entry.words.clone()];
            let is_behind_label = !self.text[entry.place.start..entry.words.start].contains(['\n', '\r']);
            let text = moved(written, is_behind_label);
            answers.push(SectionAnswer { number: entry.number, topic: &entry.topic, section, text });
        }
        answers
    }

    /// This document, whose pad was removed, with the texts of `targets`. New sections are added at the end.
    fn filled(&self, script: &Script, sections: &[SectionView], targets: &[Target]) -> Result {
        let newline = self.newline();
        let mut made = String::new();
        let mut at = 0;
        let written = targets.iter().filter(|target| target.is_written());
        let (mut there, missing): (Vec<_>, Vec<_>) = written.partition(|target| target.range.is_some());
        // In the order of the document, which need not be the script's.
        there.sort_by_key(|target| target.range.as_ref().map(|range| range.start));
        for target in there {
            let Some(range) = &target.range else { continue };
            made.push_str(&self.text[at..range.start]);
            end_line(&mut made, newline);
            if target.kept.trim().is_empty() {
                made.push_str(newline);
            }
            made.push_str(&target.body(newline));
            made.push_str(newline);
            if range.end < self.text.len() {
                made.push_str(newline);
            }
            at = range.end;
        }
        made.push_str(&self.text[at..]);
        let level = sections.iter().filter_map(|section| section.level).min().unwrap_or(2);
        let mut added = Vec::new();
        for target in missing {
            end_line(&mut made, newline);
            if has_lines(&made) {
                made.push_str(newline);
            }
            added.push((made.len(), target));
            let heading = heading(level, &target.heading);
            made.push_str(&format!("{heading}{newline}{newline}{}{newline}", target.body(newline)));
        }
        self.check_filled(&made, script, sections, targets, &added)?;
        Ok(made)
    }

    /// Parses the finished text and checks it: each section in `targets` has exactly its new text, all others have
    /// their old text, and each section in `added` begins and ends where it should.
    fn check_filled(
        &self,
        made: &str,
        script: &Script,
        before: &[SectionView],
        targets: &[Target],
        added: &[(usize, &Target)],
    ) -> Result<()> {
        let read = InterviewDocument::among(self.known, made);
        // A text or a heading could look like the beginning of a pad.
        if read.pad().is_some() || read.lost().is_some() {
            let why = "a text or a heading would be a scratch pad again".to_owned();
            return Err(EditError::Unsound { line: None, why });
        }
        for (was, is) in before.iter().zip(read.sections(script)) {
            let target = targets.iter().find(|target| target.id.as_ref() == Some(&was.id) && target.is_written());
            let is_right = match target {
                Some(target) => is.text == without_blanks(&target.body(self.newline())),
                None => is.text == was.text,
            };
            if !is_right {
                return Err(unfit(target, &was.heading));
            }
        }
        for (nth, (at, target)) in added.iter().enumerate() {
            let mut from = read.outline.headings.iter().skip_while(|heading| heading.range.start < *at);
            let own = match from.next() {
                Some(own) if own.range.start == *at => own,
                _ => return Err(unfit(None, &target.heading)),
            };
            let next = from.find(|other| other.level <= own.level || script.has_section(&other.title));
            let end = next.map_or(made.len(), |next| next.range.start);
            if end != added.get(nth + 1).map_or(made.len(), |(next, _)| *next) {
                return Err(unfit(Some(target), &target.heading));
            }
        }
        let is_unclosed = read.outline.unclosed.is_some() && self.outline.unclosed.is_none();
        let is_conflict = read.outline.conflict.is_some() && self.outline.conflict.is_none();
        // An unclosed block can only come from the text that was written last.
        match targets.iter().rfind(|target| target.is_written()) {
            Some(target) if is_unclosed || is_conflict => Err(unfit(Some(target), &target.heading)),
            _ => Ok(()),
        }
    }
}

/// Whether a text has lines that something new has to be separated from. A byte order mark does not count as a line.
fn has_lines(made: &str) -> bool {
    !made.trim_start_matches('\u{feff}').is_empty()
}

fn end_line(made: &mut String, newline: &str) {
    if has_lines(made) && !made.ends_with('\n') {
        made.push_str(newline);
    }
}

/// The error for a text that would not be parsed as intended.
fn unfit(target: Option<&Target>, heading: &str) -> EditError {
    let numbers = target.map(|target| target.questions.as_slice()).unwrap_or_default();
    let what = match (target, numbers) {
        (Some(_), []) => format!("the text for the section `{heading}`"),
        (Some(_), [number]) => format!("the answer to question {number}"),
        (Some(_), _) => {
            let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
            format!("what the questions {} were answered", numbers.join(" and "))
        }
        (None, _) => format!("what stands before the section `{heading}`"),
    };
    EditError::Unfit { what }
}

/// The future text of the script's sections, from the answers.
fn covered(sections: &[SectionView], given: &[SectionAnswer<'_>]) -> Vec<Target> {
    let mut targets = Vec::with_capacity(sections.len());
    for section in sections {
        let (mut texts, mut questions) = (Vec::new(), Vec::new());
        for answer in given {
            if answer.section == Some(section.id.as_str()) {
                texts.push(answer.text.as_str());
                questions.push(answer.number);
            }
        }
        let how = match section.kept.trim() {
            _ if texts.is_empty() => FillOutcome::Kept,
            "" => FillOutcome::Written,
            _ => FillOutcome::Extended,
        };
        targets.push(Target {
            id: Some(section.id.clone()),
            heading: section.heading.clone(),
            range: section.range.clone(),
            kept: section.kept.clone(),
            text: texts.join("\n\n"),
            how,
            questions,
        });
    }
    targets
}

/// Sections for answers that are not about a section of the script.
fn uncovered(given: &[SectionAnswer<'_>]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for given in given.iter().filter(|given| given.section.is_none()) {
        match targets.iter_mut().find(|target| folded(&target.heading) == folded(given.topic)) {
            Some(target) => {
                target.text = format!("{}\n\n{}", target.text, given.text);
                target.questions.push(given.number);
            }
            None => targets.push(Target {
                id: None,
                heading: given.topic.to_owned(),
                range: None,
                kept: String::new(),
                text: given.text.clone(),
                how: FillOutcome::Written,
                questions: vec![given.number],
            }),
        }
    }
    targets
}

/// Replaces answers by an agent's texts. Sections without such a text keep the answers.
fn write_content(
    targets: &mut [Target],
    sections: &[SectionView],
    content: &Map<String, Value>,
    newline: &str,
) -> Result<()> {
    for (key, text) in content {
        let text = text.as_str().unwrap_or_default().trim();
        // An empty text is no text: the answers are used.
        if text.is_empty() {
            continue;
        }
        let Some(nth) = targets.iter().position(|target| target.is_called(key)) else {
            let known = targets.iter().map(|target| target.id.as_ref().unwrap_or(&target.heading).clone()).collect();
            return Err(EditError::UnknownSection { id: key.clone(), known });
        };
        let target = &mut targets[nth];
        if let Some(section) = sections.iter().find(|section| Some(&section.id) == target.id.as_ref()) {
            // Keep a text that a person wrote and about which nothing was asked.
            let is_own = !section.fill.is_gap() && !target.is_written();
            if is_own || same_lines(text, section.text.trim()) {
                continue;
            }
        }
        // If the answers give the same text anyway, keep the old part byte for byte.
        if same_lines(text, target.body(newline).trim()) {
            continue;
        }
        (target.text, target.how) = (text.to_owned(), FillOutcome::Written);
        target.kept.clear();
        target.questions.clear();
    }
    Ok(())
}

/// Whether two texts are the same apart from their line breaks.
fn same_lines(one: &str, other: &str) -> bool {
    one.lines().eq(other.lines())
}
