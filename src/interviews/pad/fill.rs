//! The end of an interview: the answers go into the sections, and the scratch pad is removed.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::interviews::pad::document::Document;
use crate::interviews::pad::edit::EditError;
use crate::interviews::pad::escape::{heading, moved};
use crate::interviews::pad::gaps::{COMPLETE, Fill, SectionView, judge, without_blanks};
use crate::interviews::pad::outline::Heading;
use crate::interviews::pad::scratch::{Answer, Entry, Pad};
use crate::interviews::pad::script::{Script, folded};

/// How a section changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filled {
    /// It was a gap, and now has a text.
    Written,
    /// The answers were added below its text.
    Extended,
    /// It did not change.
    Kept,
}

impl Filled {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Extended => "extended",
            Self::Kept => "kept",
        }
    }
}

/// A section, and how it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionChange {
    /// The heading of the section.
    pub heading: String,
    /// How it changed.
    pub how: Filled,
}

/// An answer, ready for its section.
struct Given<'d> {
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
    how: Filled,
    /// The questions whose answers are in the text.
    questions: Vec<u32>,
}

impl Target {
    /// The complete future content. Lines of the new text end in `newline`.
    fn body(&self, newline: &str) -> String {
        let text = self.text.replace("\r\n", "\n").replace('\n', newline);
        match self.kept.trim().is_empty() {
            true => text,
            false => format!("{}{newline}{newline}{text}", without_blank_lines(&self.kept)),
        }
    }
}

/// `text` without blank lines at its end. Only the blanks of Markdown count, which are fewer than Unicode's, and blanks
/// at the end of the last line stay.
fn without_blank_lines(text: &str) -> &str {
    let words = text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    let rest = text[words..].find(['\r', '\n']).unwrap_or(text.len() - words);
    &text[..words + rest]
}

impl Document<'_> {
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
    ) -> Result<(String, Vec<SectionChange>), EditError> {
        let pad = self.only_pad()?;
        if !pad.faults.is_empty() {
            return Err(EditError::Faults { faults: pad.faults.clone() });
        }
        let given = self.given(script, pad);
        let bare = self.without_pad()?;
        let bare = Document::among(self.known, &bare);
        let sections = bare.sections(script);
        let mut targets = covered(&sections, &given);
        targets.extend(uncovered(&given));
        if let Some(content) = content {
            write_content(&mut targets, &sections, content, bare.newline())?;
        }
        // A section with a short answer is marked as complete, so that it is not asked about again.
        for target in targets.iter_mut().filter(|target| target.id.is_some() && target.how != Filled::Kept) {
            if judge(&target.body(bare.newline()), script) == Fill::Short {
                target.text.push_str(&format!("\n\n<!-- {COMPLETE} -->"));
            }
        }
        // Do not report sections that neither exist nor are created.
        targets.retain(|target| target.range.is_some() || target.how != Filled::Kept);
        let made = bare.filled(script, &sections, &targets)?;
        let changes = targets.into_iter().map(|target| SectionChange { heading: target.heading, how: target.how });
        Ok((made, changes.collect()))
    }

    /// The future content of sections from the answers, as Markdown, by section id.
    #[must_use]
    pub fn content(&self, script: &Script) -> Map<String, Value> {
        let (Some(pad), Ok(bare)) = (self.pad(), self.without_pad()) else { return Map::new() };
        let sections = Document::read(&bare).sections(script);
        let targets = covered(&sections, &self.given(script, pad)).into_iter();
        let content = |target: Target| {
            let text = without_blanks(&target.body(self.newline())).to_owned();
            Some((target.id?, text.into()))
        };
        targets.filter(|target| target.how != Filled::Kept).filter_map(content).collect()
    }

    /// All answers, ready for their sections.
    fn given<'d>(&'d self, script: &'d Script, pad: &'d Pad) -> Vec<Given<'d>> {
        let given = |(entry, section): (&'d Entry, Option<&'d str>)| {
            let Answer::Given(_) = entry.answer else { return None };
            let written = &self.text[entry.words.clone()];
            let is_behind_label = !self.text[entry.place.start..entry.words.start].contains(['\n', '\r']);
            Some(Given { number: entry.number, topic: &entry.topic, section, text: moved(written, is_behind_label) })
        };
        pad.entries.iter().zip(script.subjects(pad)).filter_map(given).collect()
    }

    /// This document, whose pad was removed, with the texts of `targets`. New sections are added at the end.
    fn filled(&self, script: &Script, sections: &[SectionView], targets: &[Target]) -> Result<String, EditError> {
        let newline = self.newline();
        // A byte order mark does not count as a line.
        let has_lines = |made: &str| !made.trim_start_matches('\u{feff}').is_empty();
        let end_line = |made: &mut String| {
            if has_lines(made) && !made.ends_with('\n') {
                made.push_str(newline);
            }
        };
        let mut made = String::new();
        let mut at = 0;
        let written = targets.iter().filter(|target| target.how != Filled::Kept);
        let (mut there, missing): (Vec<_>, Vec<_>) = written.partition(|target| target.range.is_some());
        there.sort_by_key(|target| target.range.as_ref().map(|range| range.start));
        for target in there {
            let Some(range) = &target.range else { continue };
            made.push_str(&self.text[at..range.start]);
            end_line(&mut made);
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
            end_line(&mut made);
            if has_lines(&made) {
                made.push_str(newline);
            }
            added.push((made.len(), target));
            let heading = heading(level, &target.heading);
            made.push_str(&format!("{heading}{newline}{newline}{}{newline}", target.body(newline)));
        }
        self.prove(&made, script, sections, targets, &added)?;
        Ok(made)
    }
    /// Parses the finished text and checks it: each section in `targets` has exactly its new text, all others have
    /// their old text, and each section in `added` begins and ends where it should.
    fn prove(
        &self,
        made: &str,
        script: &Script,
        before: &[SectionView],
        targets: &[Target],
        added: &[(usize, &Target)],
    ) -> Result<(), EditError> {
        let read = Document::among(self.known, made);
        if let Some(line) = read.pad().map(|pad| pad.line).or(read.lost()) {
            let why = "it would be a scratch pad again".to_owned();
            return Err(EditError::Unsound { line, why });
        }
        for (was, is) in before.iter().zip(read.sections(script)) {
            let target =
                targets.iter().find(|target| target.id.as_ref() == Some(&was.id) && target.how != Filled::Kept);
            let body = target.map(|target| target.body(self.newline()));
            if is.text != body.as_deref().map_or(was.text.as_str(), without_blanks) {
                return Err(unfit(target, &was.heading));
            }
        }
        for (nth, (at, target)) in added.iter().enumerate() {
            let mut from = read.outline.headings.iter().skip_while(|heading| heading.range.start < *at);
            let Some(own) = from.next().filter(|own| own.range.start == *at) else {
                return Err(unfit(None, &target.heading));
            };
            let ends = |other: &&Heading| other.level <= own.level || script.has_section(&other.title);
            let end = from.find(ends).map_or(made.len(), |other| other.range.start);
            if end != added.get(nth + 1).map_or(made.len(), |(next, _)| *next) {
                return Err(unfit(Some(target), &target.heading));
            }
        }
        // An unclosed block can only come from the text that was written last.
        let is_worse = |is: Option<usize>, was: Option<usize>| is.is_some() && was.is_none();
        let (is, was) = (&read.outline, &self.outline);
        let written = || targets.iter().rfind(|target| target.how != Filled::Kept);
        match (is_worse(is.unclosed, was.unclosed) || is_worse(is.conflict, was.conflict)).then(written).flatten() {
            Some(target) => Err(unfit(Some(target), &target.heading)),
            None => Ok(()),
        }
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
fn covered(sections: &[SectionView], given: &[Given<'_>]) -> Vec<Target> {
    let target = |section: &SectionView| {
        let about = || given.iter().filter(|given| given.section == Some(section.id.as_str()));
        let how = match (about().next(), section.kept.trim()) {
            (None, _) => Filled::Kept,
            (Some(_), "") => Filled::Written,
            (Some(_), _) => Filled::Extended,
        };
        Target {
            id: Some(section.id.clone()),
            heading: section.heading.clone(),
            range: section.range.clone(),
            kept: section.kept.clone(),
            text: about().map(|given| given.text.as_str()).collect::<Vec<_>>().join("\n\n"),
            how,
            questions: about().map(|given| given.number).collect(),
        }
    };
    sections.iter().map(target).collect()
}

/// Sections for answers that are not about a section of the script.
fn uncovered(given: &[Given<'_>]) -> Vec<Target> {
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
                how: Filled::Written,
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
) -> Result<(), EditError> {
    let same = |one: &str, other: &str| one.lines().eq(other.lines());
    for (key, text) in content {
        let Some(text) = text.as_str().map(str::trim).filter(|text| !text.is_empty()) else { continue };
        let is_meant = |target: &Target| match &target.id {
            Some(id) => id == key,
            None => folded(&target.heading) == folded(key),
        };
        let known = || targets.iter().map(|target| target.id.clone().unwrap_or(target.heading.clone())).collect();
        let Some(nth) = targets.iter().position(is_meant) else {
            return Err(EditError::UnknownSection { id: key.clone(), known: known() });
        };
        let target = &mut targets[nth];
        if let Some(section) = sections.iter().find(|section| Some(&section.id) == target.id.as_ref()) {
            // Keep a text that a person wrote and about which nothing was asked.
            let is_own = !section.fill.is_gap() && target.how == Filled::Kept;
            if is_own || same(text, section.text.trim()) {
                continue;
            }
        }
        // If the answers give the same text anyway, keep the old part byte for byte.
        if same(text, target.body(newline).trim()) {
            continue;
        }
        (target.text, target.how) = (text.to_owned(), Filled::Written);
        target.kept.clear();
        target.questions.clear();
    }
    Ok(())
}
