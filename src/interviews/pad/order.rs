//! The next step of an interview: a question, or the end.

use std::collections::HashSet;

use crate::interviews::pad::document::InterviewDocument;
use crate::interviews::pad::entry::InterviewAnswer;
use crate::interviews::pad::question::InterviewQuestion;
use crate::interviews::pad::reply::Metadata;
use crate::interviews::pad::scratch::Pad;
use crate::interviews::pad::script::Script;

/// The next step of an interview, and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterviewProgress {
    /// The next step.
    pub step: Step,
    /// The progress.
    pub metadata: Metadata,
    /// Whether everything that the script requires is present or answered.
    pub is_enough: bool,
}

/// The next step of an interview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A question in the pad without an answer.
    Open {
        /// Its number in the pad, from 1.
        number: u32,
        /// What is asked, and about what.
        question: InterviewQuestion,
    },
    /// A question that is not in the pad yet.
    Ask {
        /// The number that it will have.
        number: u32,
        /// What the script asks next.
        question: InterviewQuestion,
    },
    /// All questions are asked.
    Complete,
    /// The document has no gaps, and nothing was asked.
    Nothing,
}

impl Script {
    /// The next step for `document` with this pad.
    ///
    /// Questions come in the script's order. A section is asked about when it is a gap in the document and no entry of the
    /// pad is about it, answered or skipped: never twice.
    #[must_use]
    pub fn outlook(&self, document: &InterviewDocument<'_>, pad: &Pad) -> InterviewProgress {
        let sections = document.sections(self);
        let (mut asked, mut answered) = (HashSet::new(), HashSet::new());
        for (entry, section) in pad.entries.iter().zip(self.subjects(pad)) {
            let Some(section) = section else { continue };
            asked.insert(section);
            if matches!(entry.answer, InterviewAnswer::Given(_)) {
                answered.insert(section);
            }
        }
        let mut gaps = Vec::new();
        for section in &sections {
            if section.fill.is_gap() && !answered.contains(section.id.as_str()) {
                gaps.push(section.id.as_str());
            }
        }
        let is_enough = !gaps.iter().any(|gap| self.is_needed(gap));
        let entries = u32::try_from(pad.entries.len()).unwrap_or(u32::MAX);
        let left = usize::try_from(self.max_questions().saturating_sub(entries)).unwrap_or(usize::MAX);
        let questions = if is_enough { Vec::new() } else { self.questions(pad.mode()) };
        let mut planned = Vec::new();
        for (question, fills) in questions {
            // A planned question counts as asked: of several that fill one section, the first one is asked.
            if gaps.contains(&fills) && planned.len() < left && asked.insert(fills) {
                planned.push(question);
            }
        }
        let next = pad.next_number();
        let total_questions = (next - 1).saturating_add(u32::try_from(planned.len()).unwrap_or(u32::MAX));
        let (step, question_number) = if let Some(open) = pad.open() {
            let question = InterviewQuestion { topic: open.topic.clone(), asked: open.asked.clone() };
            (Step::Open { number: open.number, question }, open.number)
        } else if let Some(question) = planned.into_iter().next() {
            (Step::Ask { number: next, question }, next)
        } else if pad.entries.is_empty() {
            (Step::Nothing, 0)
        } else {
            (Step::Complete, next - 1)
        };
        let gaps_remaining = u32::try_from(gaps.len()).unwrap_or(u32::MAX);
        InterviewProgress { step, metadata: Metadata { question_number, total_questions, gaps_remaining }, is_enough }
    }
}
