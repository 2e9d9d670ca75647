//! An interviewer without memory: it gets the state of the document, and replies with one JSON object. So the same
//! state can have the same reply, and recorded replies can be replayed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::codec::{DocumentKind, parse_json, validate};
use crate::disk::{Disk, append_line, read_named};
use crate::host::Job;
use crate::interviews::document_file::DocumentFile;
use crate::interviews::error::{InterviewFault, Result};
use crate::interviews::pad::{Answer, Document, Entry, Metadata, Mode, Pad, Reply, Script};
use crate::model::{bare_reply, limits};
use crate::runs;
use crate::runs::write::answer::answer_of;

/// An interviewer that is a command, or a recording of its replies.
pub(super) struct Agent<'r> {
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

impl<'r> Agent<'r> {
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
        let reply = match (self.played.iter().find(|(before, _)| before == state), self.command) {
            (Some((_, reply)), _) => reply.clone(),
            (None, Some(command)) => self.call(command, state, tell).map_err(|fault| file.fault(fault))?,
            (None, None) => return Err(file.fault(InterviewFault::NotRecorded)),
        };
        let understood = understand(&reply).map_err(|fault| file.fault(fault))?;
        if let Some(path) = &self.record
            && !self.played.iter().any(|(before, _)| before == state)
        {
            let line = json!({ "state": state, "reply": reply }).to_string();
            append_line(self.disk, path, &line)
                .map_err(|source| runs::Error::Input { origin: path.display().to_string(), source })?;
        }
        Ok(understood)
    }

    fn call(
        &self,
        command: &str,
        state: &Value,
        tell: &mut dyn FnMut(&str),
    ) -> std::result::Result<Value, InterviewFault> {
        let input = state.to_string();
        let job = Job {
            command,
            dir: None,
            input: input.as_bytes(),
            env: Vec::new(),
            limit: self.timeout,
            most: limits::INTERVIEW_BYTES,
        };
        let text = answer_of(&job, tell).map_err(|why| InterviewFault::Agent { why })?;
        parse_json(bare_reply(&text)).map_err(|error| {
            let shown: String = text.trim().chars().take(80).collect();
            InterviewFault::Agent { why: format!("its command did not print a JSON object, but {shown:?} ({error})") }
        })
    }
}

/// Validates a reply.
fn understand(value: &Value) -> std::result::Result<Reply, InterviewFault> {
    let violations = validate(DocumentKind::InterviewReply, value, None);
    if !violations.is_empty() {
        return Err(InterviewFault::Reply { violations });
    }
    // A field that is null counts as missing.
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
        // flow computes `metadata` itself.
        object.shift_remove("metadata");
    }
    serde_json::from_value(value)
        .map_err(|error| InterviewFault::Agent { why: format!("its reply cannot be used: {error}") })
}

/// Reads a file of recorded calls. Skips lines that are not calls, such as one that a power cut tore.
fn recorded(disk: &dyn Disk, path: &Path) -> Result<Vec<(Value, Value)>> {
    let fault = |source| runs::Error::Input { origin: path.display().to_string(), source };
    let bytes = read_named(disk, path, RECORDED_BYTES).map_err(fault)?;
    let calls = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
        let Value::Object(mut call) = serde_json::from_slice(line).ok()? else { return None };
        Some((call.shift_remove("state")?, call.shift_remove("reply")?))
    });
    Ok(calls.collect())
}

/// The largest file of recorded calls, in bytes.
const RECORDED_BYTES: usize = 64 << 20;

/// The state of a document as an interviewer gets it. It does not depend on time or place, so that recorded replies can
/// be found by it.
pub(super) fn state(file: &DocumentFile, script: &Script, document: &Document<'_>, metadata: Metadata) -> Value {
    let pad = document.pad();
    let text = document.without_pad().unwrap_or_else(|_| document.text().to_owned());
    let sections = document.sections(script).into_iter().map(
        |section| json!({ "id": section.id, "heading": section.heading, "fill": section.fill, "text": section.text }),
    );
    let entries = pad.into_iter().flat_map(|pad| &pad.entries);
    json!({
        "apiVersion": "flow.synapti.ai/v1",
        "kind": "FlowInterviewState",
        "document": file.named.file_name().map(|name| name.to_string_lossy()),
        "mode": pad.map_or(Mode::Update, Pad::mode),
        "script": { "id": script.id(), "max_questions": script.max_questions() },
        "text": text,
        "sections": sections.collect::<Vec<_>>(),
        "entries": entries.map(told).collect::<Vec<_>>(),
        "problems": pad.map(|pad| pad.faults.clone()).unwrap_or_default(),
        "metadata": metadata,
    })
}

fn told(entry: &Entry) -> Value {
    let mut told = Map::new();
    told.insert("number".to_owned(), entry.number.into());
    told.insert("topic".to_owned(), entry.topic.as_str().into());
    told.insert("asked".to_owned(), entry.asked.as_str().into());
    match &entry.answer {
        Answer::Given(text) => told.insert("answer".to_owned(), text.as_str().into()),
        Answer::Skipped(why) => told.insert("skipped".to_owned(), why.as_str().into()),
        Answer::Open => None,
    };
    Value::Object(told)
}
