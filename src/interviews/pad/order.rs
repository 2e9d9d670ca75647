//! The next step of an interview: a question, or the end.

use std::collections::HashSet;

use crate::interviews::pad::document::Document;
use crate::interviews::pad::edit::Question;
use crate::interviews::pad::gaps::SectionView;
use crate::interviews::pad::reply::Metadata;
use crate::interviews::pad::scratch::{Answer, Pad};
use crate::interviews::pad::script::Script;

/// The next step of an interview, and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
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
        /// Its number.
        number: u32,
        /// The question.
        question: Question,
    },
    /// A question that is not in the pad yet.
    Ask {
        /// The number that it will have.
        number: u32,
        /// The question.
        question: Question,
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
    pub fn outlook(&self, document: &Document<'_>, pad: &Pad) -> Outlook {
        let sections = document.sections(self);
        let mode = pad.mode();
        let subjects = self.subjects(pad);
        let asked: HashSet<&str> = subjects.iter().copied().flatten().collect();
        let given = pad.entries.iter().zip(&subjects).filter(|(entry, _)| matches!(entry.answer, Answer::Given(_)));
        let answered: HashSet<&str> = given.filter_map(|(_, subject)| *subject).collect();
        let gaps: Vec<&SectionView> = sections
            .iter()
            .filter(|section| section.fill.is_gap() && !answered.contains(section.id.as_str()))
            .collect();
        let is_enough = !gaps.iter().any(|gap| self.is_needed(&gap.id));
        let entries = u32::try_from(pad.entries.len()).unwrap_or(u32::MAX);
        let left = usize::try_from(self.max_questions().saturating_sub(entries)).unwrap_or(usize::MAX);
        let mut planned: Vec<(Question, &str)> = Vec::new();
        for (question, fills) in self.questions(mode).filter(|_| !is_enough) {
            let is_gap = gaps.iter().any(|gap| gap.id == fills) && !asked.contains(fills);
            if is_gap && planned.len() < left && !planned.iter().any(|(_, section)| *section == fills) {
                planned.push((question, fills));
            }
        }
        let next = pad.next_number();
        let metadata = |number: u32| Metadata {
            question_number: number,
            total_questions: (next - 1).saturating_add(u32::try_from(planned.len()).unwrap_or(u32::MAX)),
            gaps_remaining: u32::try_from(gaps.len()).unwrap_or(u32::MAX),
        };
        let outlook = |step, number| Outlook { step, metadata: metadata(number), is_enough };
        if let Some(open) = pad.open() {
            let question = Question { topic: open.topic.clone(), asked: open.asked.clone() };
            return outlook(Step::Open { number: open.number, question }, open.number);
        }
        match planned.first() {
            Some((question, _)) => outlook(Step::Ask { number: next, question: question.clone() }, next),
            None if pad.entries.is_empty() => outlook(Step::Nothing, 0),
            None => outlook(Step::Complete, next - 1),
        }
    }
}
