//! An interviewer without memory: it gets the state of the document, and replies with one JSON object. So the same
//! state can have the same reply, and recorded replies can be replayed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::codec::violations::all;
use crate::codec::{DocumentKind, parse_json, validate};
use crate::disk::{Disk, append_line, read_named};
use crate::host::Job;
use crate::interviews::document_file::DocumentFile;
use crate::interviews::error::{Error, Result};
use crate::interviews::pad::{
    InterviewAnswer, InterviewDocument, Metadata, Pad, PadEntry, PadMode, Reply, Script, SectionView,
};
use crate::model::{Kind, Problem, Suggestion, bare_reply, limits};
use crate::runs;
use crate::runs::write::answer::answer_of;

/// An interviewer that is a command, or a recording of its replies.
pub(super) struct Interviewer<'r> {
    disk: &'r dyn Disk,
    /// The command; none when all replies are replayed.
    pub(super) command: Option<&'r str>,
    /// The time limit for one reply.
    pub(super) timeout: Duration,
    /// The file to which replies are appended.
    pub(super) record: Option<PathBuf>,
    /// Recorded calls: states and replies.
    played: Vec<(Value, Value)>,
}

impl<'r> Interviewer<'r> {
    /// An agent with the recorded calls in `replay`.
    pub(super) fn new(
        disk: &'r dyn Disk,
        command: Option<&'r str>,
        timeout: Duration,
        record: Option<PathBuf>,
        replay: Option<PathBuf>,
    ) -> Result<Self> {
        let played = match &replay {
            Some(path) => recorded(disk, path)?,
            None => Vec::new(),
        };
        Ok(Self { disk, command, timeout, record, played })
    }

    /// The reply to `state`: a recorded one if there is one, otherwise the command's. New replies are recorded.
    pub(super) fn ask(&self, file: &DocumentFile, state: &Value, tell: &mut dyn FnMut(&str)) -> Result<Reply> {
        let played = self.played.iter().find(|(before, _)| before == state);
        let reply = match (played, self.command) {
            (Some((_, reply)), _) => reply.clone(),
            (None, Some(command)) => self.call(command, state, tell)?,
            (None, None) => {
                let message = format!("no recorded call fits the state of {}", file.named.display());
                return Err(Problem::new(Kind::NotFound, "not_recorded", message)
                    .help("give the agent with --agent as well, and --record to keep what it answers")
                    .into());
            }
        };
        // Only a reply that can be used is recorded: a replay would stop at another one for ever.
        let understood = understand(&reply)?;
        if let Some(path) = &self.record
            && played.is_none()
        {
            let line = json!({ "state": state, "reply": reply }).to_string();
            append_line(self.disk, path, &line).map_err(|error| runs::Error::input(path.display(), &error))?;
        }
        Ok(understood)
    }

    fn call(&self, command: &str, state: &Value, tell: &mut dyn FnMut(&str)) -> Result<Value> {
        let input = state.to_string();
        let job = Job {
            command,
            dir: None,
            input: input.as_bytes(),
            env: Vec::new(),
            limit: self.timeout,
            most: limits::INTERVIEW_BYTES,
        };
        let text = answer_of(&job, tell).map_err(failed)?;
        parse_json(bare_reply(&text)).map_err(|error| {
            let shown: String = text.trim().chars().take(80).collect();
            failed(format!("its command did not print a JSON object, but {shown:?} ({error})"))
        })
    }
}

/// What to do about an agent that made a mistake.
pub(super) const CORRECT_AGENT: &str =
    "correct the agent and repeat the command; all answers so far are in the document";

/// The error for an agent that did not reply.
fn failed(why: String) -> Error {
    Problem::new(Kind::Refused, "agent_failed", format!("the interviewer gave no answer: {why}"))
        .help(CORRECT_AGENT)
        .into()
}

/// Validates a reply.
fn understand(value: &Value) -> Result<Reply> {
    let violations = validate(DocumentKind::InterviewReply, value, None);
    if let Some(first) = violations.first() {
        let message = format!("the interviewer's reply is not valid: {}", first.message);
        let help = Suggestion::flow("schema interview-reply") + " prints the schema of a reply; ";
        return Err(Problem::new(Kind::Refused, "invalid_reply", message)
            .help(help + "all answers so far are in the document")
            .because(all(&violations))
            .into());
    }
    // A field that is null counts as missing.
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
        // flow computes `metadata` itself.
        object.shift_remove("metadata");
    }
    for (name, other) in TWO_NAMES {
        if value.get(name).is_some() && value.get(other).is_some() {
            let why = format!("its reply has `{name}` and `{other}`, which are the same; it can have one of them");
            return Err(failed(why));
        }
    }
    serde_json::from_value(value).map_err(|_| failed("its reply does not fit the schema".to_owned()))
}

/// Fields of a reply that have two names.
const TWO_NAMES: [(&str, &str); 2] = [("complete", "charter_complete"), ("content", "charter_content")];

/// Reads a file of recorded calls. Skips lines that are not calls, such as one that a power cut tore.
fn recorded(disk: &dyn Disk, path: &Path) -> Result<Vec<(Value, Value)>> {
    let bytes = read_named(disk, path, RECORDED_BYTES).map_err(|error| runs::Error::input(path.display(), &error))?;
    let mut calls = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(Value::Object(mut call)) = serde_json::from_slice(line) else { continue };
        if let (Some(state), Some(reply)) = (call.shift_remove("state"), call.shift_remove("reply")) {
            calls.push((state, reply));
        }
    }
    Ok(calls)
}

/// The largest file of recorded calls, in bytes.
const RECORDED_BYTES: usize = 64 << 20;

/// The state of a document as an interviewer gets it. It does not depend on time or place, so that recorded replies can
/// be found by it.
pub(super) fn state(
    file: &DocumentFile,
    script: &Script,
    document: &InterviewDocument<'_>,
    metadata: Metadata,
) -> Value {
    let pad = document.pad();
    let text = document.without_pad().unwrap_or_else(|_| document.text().to_owned());
    let mut sections = Vec::new();
    for SectionView { id, heading, fill, text, .. } in document.sections(script) {
        sections.push(json!({ "id": id, "heading": heading, "fill": fill, "text": text }));
    }
    json!({
        "apiVersion": "flow.synapti.ai/v1",
        "kind": "FlowInterviewState",
        "document": file.named.file_name().map(|name| name.to_string_lossy()),
        // Not `RESUME`: what to ask depends on how the interview began.
        "mode": pad.map_or(PadMode::Update, Pad::mode),
        "script": { "id": script.id(), "max_questions": script.max_questions() },
        "text": text,
        "sections": sections,
        "entries": document.entries().iter().map(entry_state).collect::<Vec<_>>(),
        "problems": pad.map(|pad| pad.faults.clone()).unwrap_or_default(),
        "metadata": metadata,
    })
}

fn entry_state(entry: &PadEntry) -> Value {
    let mut state = json!({ "number": entry.number, "topic": entry.topic, "asked": entry.asked });
    match &entry.answer {
        InterviewAnswer::Given(text) => state["answer"] = text.as_str().into(),
        InterviewAnswer::Skipped(why) => state["skipped"] = why.as_str().into(),
        InterviewAnswer::Open => {}
    }
    state
}
