//! The interviews that a run waits for. What a document says of them, the run does not know: it has their activities and
//! their questions.

use std::path::Path;

use crate::engine::{Attempt, History};
use crate::model::{ActivityStatus, BadName, INTERVIEW, Question, StateName, Unit, slug};

/// What the summary of the activity begins with while the interview goes on; the document's path follows.
const ABOUT: &str = "interview about ";
/// Marks a path that was too long for a unit; its end follows.
const CUT: char = '…';
/// How many bytes of a path a unit has at most.
const UNIT_BYTES: usize = 150;

/// An interview that a run waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BegunInterview<'h> {
    /// Its activity.
    pub(crate) attempt: &'h Attempt,
    /// The path of its document in the project.
    pub(crate) document: &'h str,
    /// Its open question; none between two questions, and in a run that was over since it was asked.
    pub(crate) question: Option<&'h Question>,
}

/// The summary of the activity while the interview goes on.
pub(crate) fn begun_about(document: &str) -> String {
    format!("{ABOUT}{document}")
}

/// What the run waits for once all questions of an interview have answers.
pub(crate) fn all_asked(document: &str) -> String {
    format!("all questions about {document} are asked; it is to be finished")
}

/// Whether the interview about `document` has all its answers, as far as the run was told.
pub(crate) fn is_all_asked(question: &Question, document: &str) -> bool {
    question.is_of_interview() && question.asks(&all_asked(document))
}

/// The name of the activity for the first interview about a document in a run; a number follows for further ones.
pub(crate) fn interview_activity(document: &str) -> String {
    let path = Path::new(document).with_extension("");
    slug(&format!("interview {}", path.to_string_lossy()), 100).unwrap_or_else(|| "interview".to_owned())
}

/// Whether an activity with this id can be that of an interview. The log, which knows, may be long.
pub(crate) fn may_be_interview(id: &str) -> bool {
    id.starts_with("interview")
}

/// The unit of an interview about a document.
///
/// # Errors
/// When the path makes no unit.
pub(crate) fn interview_unit(document: &str) -> Result<Unit, BadName> {
    // A unit has a maximum length; keep the end of a long path, which says more than the beginning.
    let mut cut = document.len().saturating_sub(UNIT_BYTES);
    while !document.is_char_boundary(cut) {
        cut += 1;
    }
    let mut unit = INTERVIEW.to_owned();
    if cut > 0 {
        unit.push(CUT);
    }
    unit.extend(document[cut..].chars().filter(|c| !c.is_control()));
    Unit::new(unit)
}

impl Attempt {
    /// The document of the interview that this record begins.
    fn interview(&self) -> Option<&str> {
        let document = self.summary.as_deref()?.strip_prefix(ABOUT)?;
        let rest = self.id.strip_prefix(&interview_activity(document))?;
        // Anyone may give their work such a summary.
        let is_own = rest.is_empty() || rest.starts_with('-');
        (self.status == ActivityStatus::Running && is_own).then_some(document)
    }
}

impl History {
    /// The interviews that the run waits for, in the order in which they began.
    pub(crate) fn begun_interviews(&self) -> Vec<BegunInterview<'_>> {
        let questions = &self.state.document().state.questions;
        let mut begun = Vec::new();
        for attempt in self.latest() {
            let Some(document) = attempt.interview() else { continue };
            let unit = interview_unit(document).ok();
            let question = questions.iter().find(|question| question.unit == unit);
            begun.push(BegunInterview { attempt, document, question });
        }
        begun
    }

    /// The interview with this activity, if the run waits for it.
    pub(crate) fn begun_interview(&self, id: &str) -> Option<BegunInterview<'_>> {
        self.begun_interviews().into_iter().find(|begun| begun.attempt.id == id)
    }

    /// The document of the interview that began under this id, whatever became of it.
    pub(crate) fn interview_under(&self, id: &str) -> Option<&str> {
        if !may_be_interview(id) {
            return None;
        }
        self.attempts.iter().rev().filter(|attempt| attempt.id == id).find_map(Attempt::interview)
    }

    /// The document of the interview that was given up, and whose activity is the last one that is open in `phase`.
    pub(crate) fn given_up_interview(&self, phase: &StateName) -> Option<&str> {
        let work = self.work(phase);
        let last = work.open.last().filter(|last| last.status != ActivityStatus::Running)?;
        self.interview_under(&last.id)
    }

    /// Leaves out the interviews that go on, since a document has one run; gives their documents. A fork begins with the
    /// rest.
    pub(crate) fn leave_interviews(&mut self) -> Vec<String> {
        let mut documents = Vec::new();
        let mut activities = Vec::new();
        for BegunInterview { attempt, document, .. } in self.begun_interviews() {
            documents.push(document.to_owned());
            activities.push((attempt.id.clone(), attempt.number));
        }
        let mut questions = self.state.document().state.questions.clone();
        questions.retain(|question| !question.is_of_interview() || self.document_of(question).is_none());
        let state = &mut self.state.run.state;
        state.questions = questions;
        for (id, number) in activities {
            self.attempts.retain(|attempt| attempt.number != number);
            state.open_activities.remove(&id);
            state.current_activity.take_if(|current| *current == id);
        }
        documents
    }
}
