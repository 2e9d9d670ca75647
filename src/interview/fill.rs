//! The end of an interview: what was answered goes into the sections, and the scratch pad goes.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::interview::document::Document;
use crate::interview::edit::EditError;
use crate::interview::escape::write_topic;
use crate::interview::gaps::SectionView;
use crate::interview::pad::{Entry, Pad};
use crate::interview::script::Script;

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Filled {
    /// It was a gap, and is written now.
    Written,
    /// What was answered stands below what was there.
    Extended,
    /// It stays as it was.
    Kept,
}

impl Filled {
    /// As in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Extended => "extended",
            Self::Kept => "kept",
        }
    }
}

/// What became of a section, and of which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionChange {
    /// Its heading.
    pub heading: String,
    /// What became of it.
    pub how: Filled,
}

/// An answer as it stands in the document.
struct Given<'d> {
    topic: &'d str,
    /// The id of the section that it is about.
    section: Option<&'d str>,
    text: &'d str,
}

/// A section's text to be.
struct Target {
    /// Its id in the script; empty for one that is not in it.
    id: String,
    heading: String,
    range: Option<Range<usize>>,
    text: String,
    how: Filled,
}

impl Document<'_> {
    /// The finished document: the answers, or an agent's `content` by the ids of sections, stand in their sections, and
    /// the pad is gone. An answer about no section of the script becomes a section of its own, headed by its topic.
    ///
    /// # Errors
    /// [`EditError`], also for content that would change more than its section.
    pub fn finish(
        &self,
        script: &Script,
        content: Option<&Map<String, Value>>,
    ) -> Result<(String, Vec<SectionChange>), EditError> {
        let pad = self.only_pad()?;
        if !pad.faults.is_empty() {
            return Err(EditError::Faults { faults: pad.faults.clone() });
        }
        let sections = self.sections(script);
        let given = self.given(script, pad);
        let mut targets = covered(&sections, &given);
        match content {
            Some(content) => write_content(&mut targets, &sections, &given, content),
            None => targets.extend(uncovered(&given)),
        }
        let newline = self.newline();
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut added = String::new();
        for target in targets.iter().filter(|target| target.how != Filled::Kept) {
            let text = target.text.replace("\r\n", "\n").replace('\n', newline);
            match &target.range {
                Some(range) => {
                    let last = range.end == self.before(pad) || range.end == pad.range.start;
                    let end = if last { "" } else { newline };
                    // The blank line before the pad goes with the pad.
                    let range = range.start..range.end.min(self.before(pad).max(range.start));
                    edits.push((range, format!("{newline}{text}{newline}{end}")));
                }
                None => added.push_str(&format!(
                    "{newline}## {}{newline}{newline}{text}{newline}",
                    write_topic(&target.heading)
                )),
            }
        }
        edits.push((self.before(pad)..self.before(pad), added));
        edits.push((self.before(pad)..pad.range.end, String::new()));
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut made = String::new();
        let mut at = 0;
        for (range, text) in &edits {
            made.push_str(&self.text[at..range.start.max(at)]);
            made.push_str(text);
            at = range.end.max(at);
        }
        made.push_str(&self.text[at..]);
        self.prove(&made, script, &sections, &targets)?;
        let changes = targets.into_iter().map(|target| SectionChange { heading: target.heading, how: target.how });
        Ok((made, changes.collect()))
    }

    /// The answers that were given.
    fn given<'d>(&'d self, script: &'d Script, pad: &'d Pad) -> Vec<Given<'d>> {
        let subjects = script.subjects(pad);
        let given = |(entry, section): (&'d Entry, Option<&'d str>)| {
            Some(Given { topic: &entry.topic, section, text: self.written_answer(entry)? })
        };
        pad.entries.iter().zip(subjects).filter_map(given).collect()
    }

    /// Reads the finished text back: each section that was written says exactly that, and all others what they said.
    fn prove(&self, made: &str, script: &Script, before: &[SectionView], targets: &[Target]) -> Result<(), EditError> {
        let read = Document::read(made);
        let unsound = |at: usize, why: String| EditError::Unsound { line: read.outline.line_of(at), why };
        if let Some(pad) = read.pad() {
            return Err(unsound(pad.range.start, "it would be a scratch pad again".to_owned()));
        }
        for (was, is) in before.iter().zip(read.sections(script)) {
            let target = targets.iter().find(|target| target.id == was.id && target.how != Filled::Kept);
            let wanted = target.map_or(was.text.as_str(), |target| target.text.trim()).replace("\r\n", "\n");
            if is.text.replace("\r\n", "\n") != wanted {
                let at = is.range.map_or(made.len(), |range| range.start);
                let why = format!(
                    "the section `{}` would end early or swallow what follows: use deeper headings, and close code blocks",
                    was.heading
                );
                return Err(unsound(at, why));
            }
        }
        Ok(())
    }
}

/// What the sections of the script come to by the answers alone.
fn covered(sections: &[SectionView], given: &[Given<'_>]) -> Vec<Target> {
    let target = |section: &SectionView| {
        let about = given.iter().filter(|given| given.section == Some(section.id.as_str()));
        let mut texts: Vec<&str> = about.map(|given| given.text).collect();
        let how = match (texts.is_empty(), section.is_untouched) {
            (true, _) if section.range.is_none() => return None,
            (true, _) => Filled::Kept,
            (false, true) => Filled::Written,
            (false, false) => {
                texts.insert(0, &section.text);
                Filled::Extended
            }
        };
        let (id, heading, range) = (section.id.clone(), section.heading.clone(), section.range.clone());
        Some(Target { id, heading, range, text: texts.join("\n\n"), how })
    };
    sections.iter().filter_map(target).collect()
}

/// Answers about no section become sections of their own.
fn uncovered(given: &[Given<'_>]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for given in given.iter().filter(|given| given.section.is_none()) {
        match targets.iter_mut().find(|target| target.heading == given.topic) {
            Some(target) => target.text = format!("{}\n\n{}", target.text, given.text),
            None => targets.push(Target {
                id: String::new(),
                heading: given.topic.to_owned(),
                range: None,
                text: given.text.to_owned(),
                how: Filled::Written,
            }),
        }
    }
    targets
}

/// Puts an agent's texts in the place of answers. What it leaves out stays what the answers make of it.
fn write_content(
    targets: &mut Vec<Target>,
    sections: &[SectionView],
    given: &[Given<'_>],
    content: &Map<String, Value>,
) {
    for section in sections {
        let text = content.get(&section.id).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let Some(text) = text.filter(|text| *text != section.text) else { continue };
        let is_asked = given.iter().any(|given| given.section == Some(section.id.as_str()));
        // What a person wrote, and nobody was asked about, is not an agent's to change.
        if !section.fill.is_gap() && !is_asked {
            continue;
        }
        let (id, heading, range) = (section.id.clone(), section.heading.clone(), section.range.clone());
        let written = Target { id, heading, range, text: text.to_owned(), how: Filled::Written };
        match targets.iter_mut().find(|target| target.id == section.id) {
            Some(target) => *target = written,
            None => targets.push(written),
        }
    }
}
