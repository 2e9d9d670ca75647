//! `flow_interview`: one tool for the verbs of an interview.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::interviews::pad::{InterviewAnswer as Given, InterviewQuestion};
use crate::interviews::{self, AnswerRequest, FinishRequest, InterviewRequest, Replaces, document_in_project};
use crate::mcp::server::answer::{commands_of_step, no_commands};
use crate::mcp::server::call::{Answer, Call};
use crate::model::{Explain as _, SessionId};

/// The verbs, the usual one first.
pub(super) const VERBS: &[&str] = &["next", "start", "answer", "skip", "status", "finish"];
/// The arguments.
pub(super) const ARGUMENTS: &[&str] = &[
    "verb", "document", "script", "run_id", "question", "asked", "topic", "answer", "replace", "reason", "content",
    "early", "session",
];

/// The arguments of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InterviewCall {
    /// What to do.
    verb: InterviewVerb,
    /// The document that the interview writes: a Markdown file in the project.
    document: PathBuf,
    /// start: the script; otherwise the document's, or the charter.
    script: Option<String>,
    /// start: the run that the interview belongs to.
    run_id: Option<String>,
    /// answer, skip: the number of the question; otherwise the next one.
    question: Option<u32>,
    /// answer: a question of your own, with its `topic`.
    asked: Option<String>,
    /// answer: what the question of your own is about.
    topic: Option<String>,
    /// answer: what the person said.
    answer: Option<String>,
    /// answer: replace the answer that is there.
    #[serde(default)]
    replace: bool,
    /// skip: why.
    reason: Option<String>,
    /// finish: texts for sections, by section id, in place of the answers.
    content: Option<Map<String, Value>>,
    /// finish: even if questions are open.
    #[serde(default)]
    early: bool,
    /// The session that calls.
    session: Option<SessionId>,
}

/// What to do.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum InterviewVerb {
    Next,
    Start,
    Answer,
    Skip,
    Status,
    Finish,
}

/// Calls the verb.
pub(super) fn call(mut call: Call<'_>) -> Answer {
    let mut asked: InterviewCall = call.request()?;
    // The verbs of an interview take no session; it belongs to the context of the call.
    if let Some(session) = asked.session.take() {
        call.cx = call.cx.for_call(Some(session), call.cx.options.command.clone());
    }
    let (cx, question) = (&call.cx, asked.question);
    // Hosts call this without asking, so it must not write their settings, or anything outside of the project.
    let document = document_in_project(cx, &asked.document).map_err(|error| error.problem())?;
    match asked.verb {
        InterviewVerb::Next => call.shown(interviews::next(cx, &document), |next| commands_of_step("", next)),
        InterviewVerb::Status => {
            call.shown(interviews::status(cx, &document), |status| commands_of_step("/next", &status.next))
        }
        InterviewVerb::Start => {
            let request = InterviewRequest { document, script: asked.script, run: asked.run_id, force: false };
            call.shown(interviews::start(cx, &request), |report| commands_of_step("/next", &report.next))
        }
        InterviewVerb::Answer => {
            let Some(text) = asked.answer else { return Err(call.wrong("`answer` is missing")) };
            // The document keeps a question with its topic.
            let own = match (asked.topic, asked.asked) {
                (Some(topic), Some(asked)) => Some(InterviewQuestion { topic, asked }),
                (None, None) => None,
                _ => return Err(call.wrong("a question of your own has both `asked` and `topic`")),
            };
            let replaces = if asked.replace { Replaces::Anything } else { Replaces::Nothing };
            let request = AnswerRequest { document, question, asked: own, answer: Given::Given(text), replaces };
            call.shown(interviews::answer(cx, &request), |report| commands_of_step("/next", &report.next))
        }
        InterviewVerb::Skip => {
            let answer = Given::Skipped(asked.reason.unwrap_or_default());
            let request = AnswerRequest { document, question, asked: None, answer, replaces: Replaces::Nothing };
            call.shown(interviews::answer(cx, &request), |report| commands_of_step("/next", &report.next))
        }
        InterviewVerb::Finish => {
            let request = FinishRequest { document, content: asked.content, early: asked.early, seen: None };
            call.shown(interviews::finish(cx, &request), no_commands)
        }
    }
}
