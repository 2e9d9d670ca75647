//! What a page may do, if the server was started with `--allow-actions`: cancel and unblock runs, decide at gates, and answer
//! questions.
//! The verbs of the command line do it, for a person without a session, and not if something happened that the person
//! has not seen.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::interviews::pad::{InterviewAnswer, InterviewQuestion};
use crate::interviews::{self, AnswerRequest, Replaces};
use crate::model::{DecidedAt, EventId, LastSeen, Question, StateName, Unit};
use crate::runs::{self, ApproveRequest, EmitRequest, StatusRequest, StatusVerb};
use crate::runs::{read_request, request_schema};
use crate::web::server::answer::{WebResult, failed};
use crate::web::server::live::{Live, ServedProject};
use crate::web::server::places::awaited_interview;
use crate::web::server::respond::{BelowProject, ServerState, id_of, project_of, report_act, unreadable, with_run};

/// How long an action waits for another writer. Pages are made meanwhile.
const WAIT: Duration = Duration::from_secs(2);

/// The content of an action.
fn content<T: DeserializeOwned + JsonSchema>(body: &Bytes) -> WebResult<T> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => read_request(&fields, request_schema::<T>)
            .map_err(|why| unreadable(&format!("the content of the action does not fit: {why}"))),
        Ok(_) => Err(unreadable("the content of the action is not a JSON object")),
        Err(error) => Err(unreadable(&format!("the content of the action is not valid JSON: {error}"))),
    }
}

/// The project of a run that exists. Verbs would also take the beginning of a run's id.
fn existing<'l>(live: &'l Live, project: &str, run: &str) -> WebResult<&'l ServedProject> {
    let served = project_of(live, project)?;
    served.keeper().feed.run(&id_of(run)?).map_err(failed)?;
    Ok(served)
}

/// A change of a run's status.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Names the operation, so that a retry has no further effect.
    id: EventId,
    /// How far the person had seen the run.
    seen: LastSeen,
    #[serde(default)]
    reason: String,
}

/// A reason, if one was typed.
fn given(reason: &str) -> Option<String> {
    let reason = reason.trim();
    if reason.is_empty() { None } else { Some(reason.to_owned()) }
}

async fn change(live: Arc<Live>, verb: StatusVerb, (project, run): (String, String), body: Bytes) -> Response {
    report_act(live, move |live| {
        let project = existing(live, &project, &run)?;
        let Change { id, seen, reason } = content(&body)?;
        let request = StatusRequest {
            run: Some(run),
            reason: given(&reason),
            id: Some(id),
            seen: Some(seen),
            ..StatusRequest::new(verb)
        };
        runs::change_status(&project.cx.for_a_person(WAIT), &request).map_err(failed)
    })
    .await
}

pub(super) async fn cancel(State(live): ServerState, Path(run): BelowProject, body: Bytes) -> Response {
    change(live, StatusVerb::Cancel, run, body).await
}

pub(super) async fn unblock(State(live): ServerState, Path(run): BelowProject, body: Bytes) -> Response {
    change(live, StatusVerb::Unblock, run, body).await
}

async fn decide(live: Arc<Live>, approves: bool, (project, run): (String, String), body: Bytes) -> Response {
    report_act(live, move |live| {
        let project = existing(live, &project, &run)?;
        let Change { id, seen, reason } = content(&body)?;
        let reason = given(&reason);
        let request = ApproveRequest { run: Some(run), approves, reason, id: Some(id), seen, how: DecidedAt::Page };
        runs::approve(&project.cx.for_a_person(WAIT), &request).map_err(failed)
    })
    .await
}

pub(super) async fn approve(State(live): ServerState, Path(run): BelowProject, body: Bytes) -> Response {
    decide(live, true, run, body).await
}

pub(super) async fn reject(State(live): ServerState, Path(run): BelowProject, body: Bytes) -> Response {
    decide(live, false, run, body).await
}

/// An answer to a question of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunAnswer {
    /// Names the operation, so that a retry has no further effect.
    id: EventId,
    /// How far the person had seen the run.
    seen: LastSeen,
    step: StateName,
    #[serde(default)]
    unit: Option<Unit>,
    answer: String,
}

pub(super) async fn answer(State(live): ServerState, Path((project, run)): BelowProject, body: Bytes) -> Response {
    report_act(live, move |live| {
        let workflow = with_run(live, &project, &run, |found, _| Ok(found.workflow().clone()))?;
        let project = project_of(live, &project)?;
        let RunAnswer { id, seen, step, unit, answer } = content(&body)?;
        let question = Question { step, unit, prompt: String::new() };
        let answered = EmitRequest::answering(&id_of(&run)?, &workflow, &question, &answer, seen);
        let request = EmitRequest { id: Some(id), ..answered };
        runs::emit(&project.cx.for_a_person(WAIT), &request).map_err(failed)
    })
    .await
}

/// An answer to a question of an interview. It replaces no other one, and the same one again has no further effect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InterviewReply {
    document: String,
    /// The number of the question that the person saw.
    question: u32,
    /// The question itself, as they saw it.
    #[serde(default)]
    asked: Option<InterviewQuestion>,
    answer: String,
}

pub(super) async fn answer_interview(State(live): ServerState, Path(project): Path<String>, body: Bytes) -> Response {
    report_act(live, move |live| {
        let project = project_of(live, &project)?;
        let InterviewReply { document, question, asked, answer } = content(&body)?;
        let request = AnswerRequest {
            // Only a document that a run waits for: an address can name any file.
            document: awaited_interview(project, &live.hide, &document)?.document,
            question: Some(question),
            asked,
            answer: InterviewAnswer::Given(answer),
            replaces: Replaces::Nothing,
        };
        interviews::answer(&project.cx.for_a_person(WAIT), &request).map_err(failed)
    })
    .await
}
