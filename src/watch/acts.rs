//! What a person can do about a run from the screen. The verbs of the command line do it, for a person without a session
//! (but for a claim), and not if something happened that the person has not seen. Only what was written is reported as done.

use std::time::Duration;

use crate::interviews::pad::InterviewAnswer;
use crate::interviews::{self, AnswerRequest, Replaces};
use crate::model::{DecidedAt, Explain as _, LastSeen, Question, RunId, RunStatus, SessionId, WorkflowId};
use crate::runs::{
    self, ApproveRequest, ClaimRequest, Context, EmitRequest, Need, ResumeRequest, RunReport, StatusRequest, StatusVerb,
};

/// How long an act waits for another writer.
const WAIT: Duration = Duration::from_secs(2);

/// The keys of all acts.
pub(super) const KEYS: [char; 6] = ['a', 'u', 'A', 'R', 'c', 'x'];

/// What can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActKind {
    /// Answer the question that the run asks.
    Answer(Question),
    /// Answer the question with this number in the document of an interview, a path in the project.
    AnswerInterview(String, u32),
    Unblock,
    Approve,
    Reject,
    /// Claim the run, which no session holds, for the session of this terminal.
    Claim,
    /// Take the run from this session, for that of this terminal if it has one.
    TakeOver(SessionId),
    Cancel,
}

/// Something that a person can do about a run, as they see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunAct {
    pub(super) kind: ActKind,
    run: RunId,
    workflow: WorkflowId,
    seen: LastSeen,
}

/// How an act is shown on the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyLabel {
    pub(super) key: char,
    /// What the key does, for the last line of the screen.
    pub(super) word: &'static str,
    /// What is to be typed for it; nothing if it needs no text.
    pub(super) label: Option<&'static str>,
}

impl RunAct {
    /// How it is shown on the screen.
    pub(super) fn shown(&self) -> KeyLabel {
        let (key, word, label) = match self.kind {
            ActKind::Answer(_) | ActKind::AnswerInterview(..) => ('a', "answer", Some("answer")),
            ActKind::Unblock => ('u', "unblock", Some("what was resolved")),
            ActKind::Approve => ('A', "approve", Some("why you agree, if it is not plain")),
            ActKind::Reject => ('R', "reject", Some("what is missing")),
            ActKind::Claim => ('c', "claim", None),
            ActKind::TakeOver(_) => ('c', "take over", None),
            ActKind::Cancel => ('x', "cancel", Some("why it is cancelled")),
        };
        KeyLabel { key, word, label }
    }

    /// Whether it cannot be done without a text.
    pub(super) fn needs_text(&self) -> bool {
        matches!(self.kind, ActKind::Answer(_) | ActKind::AnswerInterview(..) | ActKind::Reject)
    }

    /// What the person is asked before it is done.
    pub(super) fn asks(&self, text: &str) -> String {
        let run = &self.run;
        let what = match &self.kind {
            ActKind::Answer(question) => format!("Send this answer to {} in {run}", question.step),
            ActKind::AnswerInterview(document, number) => {
                format!("Write this answer to question {number} into {document}, for {run}")
            }
            ActKind::Unblock => format!("Unblock {run}"),
            ActKind::Approve => format!("Approve {run}"),
            ActKind::Reject => format!("Reject {run}"),
            ActKind::Claim => format!("Claim {run}"),
            ActKind::TakeOver(session) => format!("Take {run} over from session {session}"),
            ActKind::Cancel => format!("Cancel {run}"),
        };
        if text.is_empty() { format!("{what}?") } else { format!("{what}: {text}") }
    }

    /// Does it, and says what was done, or why not.
    pub(super) fn perform(&self, cx: &Context, text: &str) -> String {
        match self.try_to(cx, text) {
            Ok(true) => format!("done: {} {}", self.shown().word, self.run),
            Ok(false) => "nothing was done: it was so already".to_owned(),
            Err(error) => format!("nothing was done: {}", error.one_line()),
        }
    }

    /// Does it, and says whether anything was written.
    fn try_to(&self, cx: &Context, text: &str) -> interviews::Result<bool> {
        match &self.kind {
            ActKind::Answer(question) => {
                let request = EmitRequest::answering(&self.run, &self.workflow, question, text, self.seen.clone());
                Ok(!runs::emit(&cx.for_a_person(WAIT), &request)?.data.repeated)
            }
            ActKind::AnswerInterview(document, number) => {
                // The document has no events: what the person has not seen is in the run that waits for it.
                runs::refuse_moved_on(cx, &self.run, &self.seen)?;
                answer_interview(cx, document, *number, text)
            }
            ActKind::Unblock => Ok(self.change(cx, StatusVerb::Unblock, text)?),
            ActKind::Approve => Ok(self.decide(cx, true, text)?),
            ActKind::Reject => Ok(self.decide(cx, false, text)?),
            ActKind::Claim => Ok(self.claim(cx, ClaimRequest::Claim)?),
            ActKind::TakeOver(_) => Ok(self.claim(cx, ClaimRequest::TakeOver)?),
            ActKind::Cancel => Ok(self.change(cx, StatusVerb::Cancel, text)?),
        }
    }

    fn change(&self, cx: &Context, verb: StatusVerb, text: &str) -> runs::Result<bool> {
        let (run, reason, seen) = (Some(self.run.to_string()), given(text), Some(self.seen.clone()));
        let request = StatusRequest { run, reason, seen, ..StatusRequest::new(verb) };
        Ok(runs::change_status(&cx.for_a_person(WAIT), &request)?.changed)
    }

    fn decide(&self, cx: &Context, approves: bool, text: &str) -> runs::Result<bool> {
        let (run, reason, seen) = (Some(self.run.to_string()), given(text), self.seen.clone());
        let request = ApproveRequest { run, approves, reason, id: None, seen, how: DecidedAt::Terminal };
        Ok(!runs::approve(&cx.for_a_person(WAIT), &request)?.repeated)
    }

    fn claim(&self, cx: &Context, how: ClaimRequest) -> runs::Result<bool> {
        let (run, seen) = (Some(self.run.to_string()), Some(self.seen.clone()));
        let request = ResumeRequest { run, claim: Some(how), session: cx.session()?, seen, ..ResumeRequest::default() };
        Ok(runs::resume(cx, &request)?.claim.is_some_and(|claim| claim.changed))
    }
}

/// The text, if one was typed.
fn given(text: &str) -> Option<String> {
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// Writes an answer into the document of an interview, and says whether it was not there yet. It replaces no other one.
fn answer_interview(cx: &Context, document: &str, number: u32, text: &str) -> interviews::Result<bool> {
    let request = AnswerRequest {
        document: cx.project()?.root().join(document),
        question: Some(number),
        asked: None,
        answer: InterviewAnswer::Given(text.to_owned()),
        replaces: Replaces::Nothing,
    };
    Ok(!interviews::answer(&cx.for_a_person(WAIT), &request)?.repeated)
}

/// Why the act of a key cannot be done about the run that is shown.
pub(super) fn why_not(key: char) -> &'static str {
    match key {
        'c' => {
            "there is nothing to claim: it takes a session (FLOW_SESSION), and an open run that it does not hold yet"
        }
        _ => "that cannot be done about this run now",
    }
}

/// What a person can do about this run now, at a terminal of this session.
pub(super) fn acts_on(report: &RunReport, session: Option<&SessionId>) -> Vec<RunAct> {
    let card = &report.card;
    let head = &card.run.head;
    let mut kinds = Vec::new();
    // The last question is the one that the run asks first.
    for question in report.questions.iter().rev() {
        match (&question.document, question.number) {
            (None, _) => kinds.push(ActKind::Answer(question.question.clone())),
            // What an interview asks is answered in its document.
            (Some(document), Some(number)) => kinds.push(ActKind::AnswerInterview(document.clone(), number)),
            (Some(_), None) => continue,
        }
        break;
    }
    if head.status == RunStatus::Blocked {
        kinds.push(ActKind::Unblock);
    }
    if card.need == Some(Need::Approval) {
        kinds.extend([ActKind::Approve, ActKind::Reject]);
    }
    if card.group.is_open() {
        match (&card.run.session, session) {
            (Some(holder), own) if Some(holder) != own => kinds.push(ActKind::TakeOver(holder.clone())),
            (None, Some(_)) => kinds.push(ActKind::Claim),
            _ => {}
        }
        kinds.push(ActKind::Cancel);
    }
    let mut acts = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let (run, workflow) = (head.run_id.clone(), head.workflow.clone());
        acts.push(RunAct { kind, run, workflow, seen: report.seen.clone() });
    }
    acts
}
