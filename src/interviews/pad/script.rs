//! The script of an interview: which sections a document has, which questions fill them, and when that is enough.

use serde::Deserialize;

use crate::interviews::pad::edit::Question;
use crate::interviews::pad::scratch::{Entry, HEADING, Mode, Pad};
use crate::model::{Flaw, limits};

/// `<id>.interview.yaml`, behind its schema.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScriptDocument {
    /// Who it is.
    pub metadata: ScriptMetadata,
    /// What a new document looks like.
    #[serde(default)]
    pub document: NewDocument,
    /// Most questions that are asked.
    #[serde(default)]
    pub max_questions: Option<u32>,
    /// The sections whose answers are enough; all, when none are named.
    #[serde(default)]
    pub complete_when: Vec<String>,
    /// The sections, in the order of the document.
    pub sections: Vec<SectionEntry>,
    /// The questions, in the order in which they are asked.
    pub questions: Vec<QuestionEntry>,
}

/// Who a script is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScriptMetadata {
    /// Its name.
    pub id: String,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
}

/// What a new document looks like, and what counts as a gap in any.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct NewDocument {
    /// Its first heading.
    #[serde(default)]
    pub title: Option<String>,
    /// What stands in a section that nobody wrote yet.
    #[serde(default)]
    pub placeholder: Option<String>,
    /// How many sentences make a section.
    #[serde(default)]
    pub min_sentences: Option<usize>,
}

/// A section of the document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SectionEntry {
    /// Its name in scripts and answers.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// Other headings that mean the same.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QuestionEntry {
    /// What it is about, in a few words; by it an entry of the pad is recognised.
    pub topic: String,
    /// The question itself.
    pub ask: String,
    /// The section that its answer fills.
    pub fills: String,
    /// In which mode it is asked; in any, when none is named.
    #[serde(default)]
    pub mode: Option<QuestionMode>,
}

/// In which mode a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum QuestionMode {
    /// For new documents.
    Create,
    /// For documents that were there.
    Update,
}

/// A script that was found sound.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    document: ScriptDocument,
    /// What topics and headings are compared with: names as [`folded`], and the sections that they mean. Questions go first.
    names: Vec<(String, usize)>,
}

/// How a heading, a topic or an id is compared.
pub(super) fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(':').to_lowercase()
}

impl Script {
    /// Proves that all that a script names is there and is named once.
    ///
    /// # Errors
    /// Everything that is wrong with it.
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

    /// Most questions that are asked.
    #[must_use]
    pub fn max_questions(&self) -> u32 {
        self.document.max_questions.unwrap_or(limits::QUESTIONS)
    }

    /// How many sentences make a section.
    pub(super) fn min_sentences(&self) -> usize {
        self.document.document.min_sentences.unwrap_or(1)
    }

    /// What stands in a section that nobody wrote yet.
    pub(super) fn placeholder(&self) -> &str {
        self.document.document.placeholder.as_deref().unwrap_or("_TBD_")
    }

    /// Whether the answers to these sections are enough.
    pub(super) fn is_needed(&self, section: &str) -> bool {
        self.document.complete_when.is_empty() || self.document.complete_when.iter().any(|id| id == section)
    }

    /// The questions that are asked in `mode`, in their order, with the sections that they fill.
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

    /// The section that an entry of this topic is about: by a question of the script, or by the section's own names.
    #[must_use]
    pub fn section_of(&self, topic: &str) -> Option<&SectionEntry> {
        let topic = folded(topic);
        let (_, at) = self.names.iter().find(|(name, _)| *name == topic)?;
        self.document.sections.get(*at)
    }

    /// How many entries of `pad` are about a topic of this script, and how many ask one of its questions word for word.
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

    /// For each entry of `pad`, the id of the section that it is about.
    #[must_use]
    pub fn subjects(&self, pad: &Pad) -> Vec<Option<&str>> {
        let subject = |entry: &Entry| Some(self.section_of(&entry.topic)?.id.as_str());
        pad.entries.iter().map(subject).collect()
    }

    /// Whether a heading is that of a section.
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
    /// Whether a heading, compared as [`folded`], is this section's.
    pub(super) fn is_headed(&self, heading: &str) -> bool {
        folded(&self.heading) == heading || self.aliases.iter().any(|alias| folded(alias) == heading)
    }
}
