//! The script of an interview: the sections of a document, the questions that fill them, and what is required.

use serde::Deserialize;

use crate::interviews::pad::edit::Question;
use crate::interviews::pad::scratch::{Entry, HEADING, Mode, Pad};
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
    #[serde(default)]
    pub max_questions: Option<u32>,
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
    /// Its purpose.
    #[serde(default)]
    pub description: Option<String>,
}

/// The shape of a new document, and what counts as a gap in any document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct NewDocument {
    /// Its first heading.
    #[serde(default)]
    pub title: Option<String>,
    /// The text of a section that is not written yet.
    #[serde(default)]
    pub placeholder: Option<String>,
    /// How many sentences a complete section has.
    #[serde(default)]
    pub min_sentences: Option<usize>,
}

/// A section of the document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SectionEntry {
    /// Its id in scripts and in `content`.
    pub id: String,
    /// Its heading.
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
    #[serde(default)]
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

/// The form in which headings, topics and ids are compared.
pub(super) fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(':').to_lowercase()
}

impl Script {
    /// Checks that every name that a script refers to exists, and exists once.
    ///
    /// # Errors
    /// All problems of the script.
    pub fn build(document: ScriptDocument) -> Result<Self, Vec<Flaw>> {
        let mut flaws = Vec::new();
        let mut flaw = |pointer: String, message: String| flaws.push(Flaw { pointer, message });
        let mut names: Vec<String> = vec![folded(HEADING)];
        for (nth, section) in document.sections.iter().enumerate() {
            if document.sections[..nth].iter().any(|other| other.id == section.id) {
                flaw(format!("/sections/{nth}/id"), format!("there is a section `{}` already", section.id));
            }
            let headings = std::iter::once(("heading".to_owned(), &section.heading));
            let aliases = section.aliases.iter().enumerate().map(|(at, alias)| (format!("aliases/{at}"), alias));
            for (at, heading) in headings.chain(aliases) {
                if names.contains(&folded(heading)) {
                    flaw(
                        format!("/sections/{nth}/{at}"),
                        format!("the heading `{heading}` has another meaning already"),
                    );
                }
                names.push(folded(heading));
            }
            if !document.questions.iter().any(|question| question.fills == section.id) {
                flaw(format!("/sections/{nth}"), format!("no question fills the section `{}`", section.id));
            }
        }
        for (nth, question) in document.questions.iter().enumerate() {
            let same = |other: &QuestionEntry| folded(&other.topic) == folded(&question.topic);
            if document.questions[..nth].iter().any(same) {
                let message = format!("there is a question about `{}` already", question.topic);
                flaw(format!("/questions/{nth}/topic"), message);
            }
            if !document.sections.iter().any(|section| section.id == question.fills) {
                flaw(format!("/questions/{nth}/fills"), format!("there is no section `{}`", question.fills));
            }
        }
        for (nth, id) in document.complete_when.iter().enumerate() {
            if !document.sections.iter().any(|section| section.id == *id) {
                flaw(format!("/complete_when/{nth}"), format!("there is no section `{id}`"));
            }
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let at = |id: &str| document.sections.iter().position(|section| section.id == id);
        let topics =
            document.questions.iter().filter_map(|question| Some((folded(&question.topic), at(&question.fills)?)));
        let headings = document.sections.iter().enumerate().flat_map(|(at, section)| {
            let names = std::iter::once(&section.heading).chain(&section.aliases).chain([&section.id]);
            names.map(move |name| (folded(name), at))
        });
        let names = topics.chain(headings).collect();
        Ok(Self { document, names })
    }

    /// Its name.
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
        self.document.max_questions.unwrap_or(limits::QUESTIONS)
    }

    /// How many sentences a complete section has.
    pub(super) fn min_sentences(&self) -> usize {
        self.document.document.min_sentences.unwrap_or(1)
    }

    /// The text of a section that is not written yet.
    pub(super) fn placeholder(&self) -> &str {
        self.document.document.placeholder.as_deref().unwrap_or("_TBD_")
    }

    /// Whether this section must be present or answered.
    pub(super) fn is_needed(&self, section: &str) -> bool {
        self.document.complete_when.is_empty() || self.document.complete_when.iter().any(|id| id == section)
    }

    /// The questions for `mode` in their order, with the ids of the sections that they fill.
    pub(super) fn questions(&self, mode: Mode) -> impl Iterator<Item = (Question, &str)> {
        let asked = move |question: &&QuestionEntry| match question.mode {
            None => true,
            Some(QuestionMode::Create) => mode == Mode::Create,
            Some(QuestionMode::Update) => mode != Mode::Create,
        };
        self.document.questions.iter().filter(asked).map(|question| {
            let words = Question { topic: question.topic.clone(), asked: question.ask.trim().to_owned() };
            (words, question.fills.as_str())
        })
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
        let asks = |entry: &&Entry| {
            let is_like = |question: &QuestionEntry| {
                let words = Question { topic: question.topic.clone(), asked: question.ask.clone() };
                entry.asks(&words) && folded(&entry.topic) == folded(&words.topic)
            };
            self.document.questions.iter().any(is_like)
        };
        let topics = pad.entries.iter().filter(|entry| self.section_of(&entry.topic).is_some()).count();
        (topics, pad.entries.iter().filter(asks).count())
    }

    /// The id of the section for each entry of `pad`.
    #[must_use]
    pub fn subjects(&self, pad: &Pad) -> Vec<Option<&str>> {
        let subject = |entry: &Entry| Some(self.section_of(&entry.topic)?.id.as_str());
        pad.entries.iter().map(subject).collect()
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

impl SectionEntry {
    /// Whether a heading, compared as [`folded`], belongs to this section.
    pub(super) fn is_headed(&self, heading: &str) -> bool {
        folded(&self.heading) == heading || self.aliases.iter().any(|alias| folded(alias) == heading)
    }
}
