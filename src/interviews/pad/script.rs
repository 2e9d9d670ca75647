//! The script of an interview: the sections of a document, the questions that fill them, and what is required.

use serde::{Deserialize, Deserializer};

use crate::interviews::pad::entry::PadEntry;
use crate::interviews::pad::question::{InterviewQuestion, folded};
use crate::interviews::pad::scratch::{HEADING, Pad, PadMode};
use crate::model::{Flaw, limits};

/// The content of `<id>.interview.yaml`, after its schema was checked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScriptDocument {
    /// Its name and description.
    pub metadata: ScriptMetadata,
    /// The shape of a new document.
    #[serde(default)]
    pub document: NewDocument,
    /// The highest number of questions.
    #[serde(default, deserialize_with = "up_to_100")]
    pub max_questions: Option<u8>,
    /// The sections that must be present or answered; all if none are named.
    #[serde(default)]
    pub complete_when: Vec<String>,
    /// The sections, in the order of the document.
    pub sections: Vec<SectionEntry>,
    /// The questions, in the order in which they are asked.
    pub questions: Vec<QuestionEntry>,
}

/// The name of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScriptMetadata {
    /// Its id, which is its name.
    pub id: String,
}

/// The shape of a new document, and what counts as a gap in any document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct NewDocument {
    /// Its first heading.
    pub title: Option<String>,
    /// The text of a section that is not written yet.
    pub placeholder: Option<String>,
    /// How many sentences a complete section has.
    #[serde(default, deserialize_with = "up_to_100")]
    pub min_sentences: Option<u8>,
}

/// Reads a number that the schema bounds. To the schema `5.0` is a whole number as well.
fn up_to_100<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
    let given = Option::<f64>::deserialize(from)?;
    Ok(given.and_then(|given| (0..=100).find(|whole| f64::from(*whole) == given)))
}

/// A section of the document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SectionEntry {
    /// Its id in scripts and in `content`.
    pub id: String,
    /// Its heading in documents that flow begins.
    pub heading: String,
    /// Other headings for the same section.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// A question of a script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QuestionEntry {
    /// Its topic, in a few words, by which an entry of the pad is recognised.
    pub topic: String,
    /// The question itself.
    pub ask: String,
    /// The section that its answer fills.
    pub fills: String,
    /// The mode in which it is asked; if none is named, in every mode.
    pub mode: Option<QuestionMode>,
}

/// A mode in which a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum QuestionMode {
    /// In new documents.
    Create,
    /// In existing documents.
    Update,
}

/// A valid script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    document: ScriptDocument,
    /// Names as [`folded`], each with the index of its section: topics of questions first, then headings, aliases and
    /// ids.
    names: Vec<(String, usize)>,
}

impl Script {
    /// Checks that every name that a script refers to exists, and exists once.
    ///
    /// # Errors
    /// All problems of the script.
    pub fn build(document: ScriptDocument) -> Result<Self, Vec<Flaw>> {
        let mut flaws = flaws_of_sections(&document);
        flaws.extend(flaws_of_questions(&document));
        for (nth, id) in document.complete_when.iter().enumerate() {
            if document.index_of(id).is_none() {
                flaws.push(Flaw::at(format!("/complete_when/{nth}"), format!("there is no section `{id}`")));
            }
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let mut names = Vec::new();
        // Topics first: an entry is about the section that its question fills, even if another one has that name.
        for question in &document.questions {
            if let Some(at) = document.index_of(&question.fills) {
                names.push((folded(&question.topic), at));
            }
        }
        for (at, section) in document.sections.iter().enumerate() {
            for name in std::iter::once(&section.heading).chain(&section.aliases).chain([&section.id]) {
                names.push((folded(name), at));
            }
        }
        Ok(Self { document, names })
    }

    /// The name by which documents refer to it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.document.metadata.id
    }

    /// Its sections, in the order of the document.
    #[must_use]
    pub fn sections(&self) -> &[SectionEntry] {
        &self.document.sections
    }

    /// The highest number of questions.
    #[must_use]
    pub fn max_questions(&self) -> u32 {
        self.document.max_questions.map_or(limits::QUESTIONS, u32::from)
    }

    /// How many sentences a complete section has.
    pub(super) fn min_sentences(&self) -> usize {
        self.document.document.min_sentences.map_or(1, usize::from)
    }

    /// The text of a section that is not written yet.
    pub(super) fn placeholder(&self) -> &str {
        self.document.document.placeholder.as_deref().unwrap_or("_TBD_")
    }

    /// Whether this section must be present or answered.
    pub(super) fn is_needed(&self, section: &str) -> bool {
        // Without any names, all sections are needed.
        self.document.complete_when.is_empty() || self.document.complete_when.iter().any(|id| id == section)
    }

    /// The questions for `mode` in their order, with the ids of the sections that they fill.
    pub(super) fn questions(&self, mode: PadMode) -> Vec<(InterviewQuestion, &str)> {
        let mut questions = Vec::new();
        for question in &self.document.questions {
            let is_asked = match question.mode {
                None => true,
                Some(QuestionMode::Create) => mode == PadMode::Create,
                Some(QuestionMode::Update) => mode != PadMode::Create,
            };
            if is_asked {
                let words = InterviewQuestion { topic: question.topic.clone(), asked: question.ask.trim().to_owned() };
                questions.push((words, question.fills.as_str()));
            }
        }
        questions
    }

    /// The section for an entry with this topic: by a question of the script, or by a name of the section.
    #[must_use]
    pub fn section_of(&self, topic: &str) -> Option<&SectionEntry> {
        let topic = folded(topic);
        let (_, at) = self.names.iter().find(|(name, _)| *name == topic)?;
        self.document.sections.get(*at)
    }

    /// How many entries of `pad` have a topic of this script, and how many are a question of it word for word.
    #[must_use]
    pub fn knows(&self, pad: &Pad) -> (usize, usize) {
        let (mut topics, mut questions) = (0, 0);
        for entry in &pad.entries {
            topics += usize::from(self.section_of(&entry.topic).is_some());
            questions += usize::from(self.document.questions.iter().any(|question| question.is_asked_by(entry)));
        }
        (topics, questions)
    }

    /// The id of the section for each entry of `pad`.
    #[must_use]
    pub fn subjects(&self, pad: &Pad) -> Vec<Option<&str>> {
        pad.entries.iter().map(|entry| Some(self.section_of(&entry.topic)?.id.as_str())).collect()
    }

    /// Whether a heading belongs to a section.
    pub(super) fn has_section(&self, heading: &str) -> bool {
        let heading = folded(heading);
        self.document.sections.iter().any(|section| section.is_headed(&heading))
    }

    /// A new document, without a scratch pad.
    #[must_use]
    pub fn skeleton(&self) -> String {
        let mut text = String::new();
        if let Some(title) = &self.document.document.title {
            text.push_str(&format!("# {title}\n"));
        }
        for section in &self.document.sections {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}## {}\n\n{}\n", section.heading, self.placeholder()));
        }
        text
    }
}

impl ScriptDocument {
    /// The index of the section with this id.
    fn index_of(&self, id: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.id == id)
    }
}

impl QuestionEntry {
    /// Whether an entry is this question word for word.
    fn is_asked_by(&self, entry: &PadEntry) -> bool {
        let words = InterviewQuestion { topic: self.topic.clone(), asked: self.ask.clone() };
        entry.asks(&words) && folded(&entry.topic) == folded(&words.topic)
    }
}

impl SectionEntry {
    /// Whether a heading, compared as [`folded`], belongs to this section.
    pub(super) fn is_headed(&self, heading: &str) -> bool {
        folded(&self.heading) == heading || self.aliases.iter().any(|alias| folded(alias) == heading)
    }
}

fn flaws_of_sections(document: &ScriptDocument) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    // The pad's heading ends every section, so none can have it.
    let mut names: Vec<String> = vec![folded(HEADING)];
    for (nth, section) in document.sections.iter().enumerate() {
        if document.sections[..nth].iter().any(|other| other.id == section.id) {
            flaws.push(Flaw::at(format!("/sections/{nth}/id"), format!("there is a section `{}` already", section.id)));
        }
        let mut headings = vec![("heading".to_owned(), &section.heading)];
        headings.extend(section.aliases.iter().enumerate().map(|(at, alias)| (format!("aliases/{at}"), alias)));
        for (at, heading) in headings {
            // Two sections with one heading could not be told apart in a document.
            if names.contains(&folded(heading)) {
                let message = format!("the heading `{heading}` has another meaning already");
                flaws.push(Flaw::at(format!("/sections/{nth}/{at}"), message));
            }
            names.push(folded(heading));
        }
        if !document.questions.iter().any(|question| question.fills == section.id) {
            flaws.push(Flaw::at(format!("/sections/{nth}"), format!("no question fills the section `{}`", section.id)));
        }
    }
    flaws
}

fn flaws_of_questions(document: &ScriptDocument) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (nth, question) in document.questions.iter().enumerate() {
        let earlier = &document.questions[..nth];
        // The topic of an entry says which question it was.
        if earlier.iter().any(|other| folded(&other.topic) == folded(&question.topic)) {
            let message = format!("there is a question about `{}` already", question.topic);
            flaws.push(Flaw::at(format!("/questions/{nth}/topic"), message));
        }
        if document.index_of(&question.fills).is_none() {
            let message = format!("there is no section `{}`", question.fills);
            flaws.push(Flaw::at(format!("/questions/{nth}/fills"), message));
        }
    }
    flaws
}
