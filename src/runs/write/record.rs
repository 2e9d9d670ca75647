//! `record-activity`: records a piece of work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::codec::violations::{all, first, located, suffix};
use crate::codec::{DocumentKind, Violation, YamlFault, digest, mistyped_keys, parse, validate};
use crate::engine::{Advance, Command, Record, Refusal, Retry, is_retry_of, retry, taken_over};
use crate::model::{
    Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, Confidence, Event, EventKind, Explain as _,
    Help, Kind, Number, Problem, RunId, Seq, SessionId, StateName, Suggestion, TextDigest, Timestamp, Usage,
    begun_document, fill, slug,
};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::select::select_run_to_write;
use crate::runs::write::begun::command_at_work;
use crate::runs::write::kept::KeptFiles;
use crate::runs::write::missing::missing;
use crate::runs::write::questions::{append_and_warn, close_interview};
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::attempts::transact;
use crate::store::Document;

/// The activity to record.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// A FlowActivity document; the fields below override it.
    pub source: Option<Source>,
    /// The activity's id. If it is given, it is an idempotency key: the same request is recorded only once.
    pub id: Option<ActivityId>,
    /// The phase; otherwise the current one.
    pub phase: Option<StateName>,
    /// The kind of work; `task` if the document does not have one.
    #[serde(rename = "type")]
    pub kind: Option<ActivityType>,
    /// The status; otherwise the document's, or what the exit code says: `failed` unless it is 0. One that the exit code
    /// contradicts needs a summary.
    pub status: Option<ActivityStatus>,
    /// A title for people.
    pub name: Option<String>,
    /// The result.
    pub summary: Option<String>,
    /// How sure the result is.
    pub confidence: Option<Confidence>,
    /// References to evidence: files of the run's `evidence/` or of the project, web addresses, or other text. A path at
    /// which nothing is is warned of.
    pub evidence: Vec<String>,
    /// Changed files.
    pub files: Vec<String>,
    /// Exit status of a command.
    pub exit_code: Option<i64>,
    /// tokens_in, tokens_out, cost, model, duration. What is left out is not known, and is not 0.
    // Without its fields: each byte of a tool's schema costs context, and the verb names what is wrong.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub usage: Option<Usage>,
    /// When the work began.
    pub started_at: Option<String>,
    /// Where the run moves then.
    pub advance: Option<Advance>,
    /// Ids that this settles.
    #[schemars(with = "Vec<String>")]
    pub settles: Vec<ActivityId>,
    /// Why a phase may be left undone.
    pub skip_reason: Option<String>,
    /// The session that records.
    pub session: Option<SessionId>,
    /// The epoch under which the session holds the run.
    pub epoch: Option<u64>,
}

/// A document of the caller's.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its path, or `standard input`.
    pub origin: String,
    /// Its text.
    pub text: String,
}

/// The report of `record-activity`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecordReport {
    /// The run.
    pub run_id: RunId,
    /// The position of the event.
    pub seq: Seq,
    /// Its number in the run.
    pub number: Number,
    /// Its id.
    pub activity: String,
    /// Its file, relative to the project.
    pub path: String,
    /// The current phase of the run.
    pub phase: StateName,
    /// The status of the activity.
    pub status: ActivityStatus,
    /// The exit code of the command that the activity was.
    pub exit_code: Option<i64>,
    /// How many activities of the run are completed.
    pub completed_activities: usize,
    /// Whether the request is a retry, so that nothing was written.
    pub repeated: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Records a piece of work: activity file, event and `run.yaml` in one commit.
///
/// # Errors
/// `invalid_document` for a document that is not YAML or does not match its schema, [`Error::Refused`] when a rule
/// forbids it, [`Error::Store`] when it cannot be written. Then nothing is recorded, except after
/// [`crate::store::StoreError::Unconfirmed`], where a retry with the same id is safe.
pub fn record_activity(cx: &Context, request: &RecordRequest) -> Result<RecordReport> {
    record(cx, request, RecordOf::Work)
}

/// Records how an interview begins or ends.
///
/// # Errors
/// As [`record_activity`].
pub(crate) fn record_interview(cx: &Context, request: &RecordRequest) -> Result<RecordReport> {
    record(cx, request, RecordOf::Interview)
}

/// Records how a replay of the command of the record `replayed` compared.
///
/// # Errors
/// As [`record_activity`].
pub(in crate::runs) fn record_replay(cx: &Context, request: &RecordRequest, replayed: Number) -> Result<RecordReport> {
    record(cx, request, RecordOf::Replay(replayed))
}

/// What a record is of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RecordOf {
    /// Work of the caller.
    Work,
    /// The replay of the command of this record.
    Replay(Number),
    /// An interview, which tells of itself.
    Interview,
}

fn record(cx: &Context, request: &RecordRequest, of: RecordOf) -> Result<RecordReport> {
    refuse_empty(request)?;
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let mut document = document(request)?;
    let run_id = request.run.clone().or_else(|| text_of(&document, "metadata", "run_id"));
    let now = cx.now();
    let run = select_run_to_write(&project, run_id.as_deref(), caller.session.as_ref())?;
    // Before the defaults: a retry comes at another time and must have the same digest.
    let asked =
        request.id.as_ref().map(|_| TextDigest(digest(&canonical(&document, request, request.advance.as_ref()))));
    let stays = TextDigest(digest(&canonical(&document, request, None)));
    // And so that a key which a default stands for is still missed.
    let mistyped = if request.source.is_some() { mistyped(&document) } else { Vec::new() };
    fill_defaults(&mut document, request, run.id().as_str(), now);
    check(&document, request)?;
    let settles = settles_of(&document)?;
    let activity = Activity::new(document)?;
    let missing = missing(&project, &*run, &activity);
    let kept = KeptFiles::of(&project, &*run, &activity)?;
    let key = request.id.as_ref().map(ActivityId::as_str);
    let (id, advance, skip) = (activity.id(), request.advance.clone(), request.skip_reason.clone());
    let evidence = kept.digests();
    let of_interview = of == RecordOf::Interview;
    let replay = if let RecordOf::Replay(replayed) = of { Some(replayed) } else { None };
    let begun = Record::new(activity, Number(0));
    let record = Record { advance, skip, settles, evidence, replay, of_interview, request: asked, ..begun };
    transact(&project, &*run, caller, now, |tx| {
        let mut record = record.clone();
        tx.warnings.extend(missing.iter().chain(&kept.warnings).cloned());
        let is_open = tx.state.document().state.open_activities.contains(id.as_str());
        let before = match key {
            Some(_) => recorded_before(tx, &id, &|earlier| is_retry_of(earlier, &record))?,
            None if is_open => Vec::from_iter(latest_before(tx, &id)?),
            None => Vec::new(),
        };
        if key.is_some() {
            let counts = tx.state.document().state.completed_activities.contains(id.as_str());
            let verdict = retry(before.iter().map(|earlier| &earlier.record), &record, counts);
            match verdict.map_err(|refusal| reused(tx, request, &stays, before.first(), refusal))? {
                Retry::Same(at) => return recorded_already(tx, &before[at]),
                Retry::Another => {}
            }
        }
        refuse_at_work(tx, before.first())?;
        for settled in &record.settles {
            refuse_at_work(tx, latest_before(tx, settled)?.as_ref())?;
        }
        // Only now: what is recorded already is not judged again.
        refuse_contradiction(&record.activity, request).map_err(|refusal| tx.refused(refusal))?;
        tx.warnings.extend(doubts(&record.activity, request));
        tx.warnings.extend(mistyped.iter().cloned());
        record.number = tx.next_number(None, &id)?;
        let recorded = tx.decide_record(Command::Record(Box::new(record)))?;
        if request.skip_reason.is_some() && recorded.skipped.is_none() {
            tx.warnings.push("--skip-reason was not needed: nothing is left undone".to_owned());
        }
        check_size(&recorded)?;
        // A record is work, so from here on its session holds the run.
        tx.claim_for_work()?;
        for (file, bytes) in &kept.files {
            tx.writer.put_evidence(&file.name, bytes, now)?;
        }
        if is_open && !of_interview {
            close_interview(tx, &recorded)?;
        }
        append_and_warn(tx, EventKind::ActivityRecorded(recorded.clone()), key)?;
        let seq = tx.commit()?;
        Ok(report_of(tx, seq, &recorded))
    })
}

/// The refusal of an id that has other content: where only the move to the next phase is missing, with the command for that.
/// `stays` is the request without the move.
fn reused(
    tx: &Transaction<'_>,
    request: &RecordRequest,
    stays: &TextDigest,
    latest: Option<&Earlier>,
    refusal: Refusal,
) -> Error {
    let error = tx.refused(refusal);
    let (Some(advance), Some(latest)) = (&request.advance, latest) else { return error };
    let is_recorded = latest.record.request.as_ref().is_some_and(|earlier| earlier.begins(stays));
    let is_here = latest.record.activity.phase().as_ref() == tx.state.phase();
    if !is_recorded || !is_here {
        return error;
    }
    let to = if let Advance::To(phase) = advance { Some(phase) } else { None };
    let move_on = Suggestion::flow("advance").value(tx.state.id()).maybe("to", to);
    let help = Help::from("only --advance differs: the work is recorded, and ") + move_on + " moves the run on";
    error.problem().help(help).into()
}

/// Refuses a request that says nothing of the work: it would be recorded as passed, and no one would notice the mistake.
fn refuse_empty(request: &RecordRequest) -> Result<()> {
    let RecordRequest { source, id, phase, name, summary, status, .. } = request;
    let has_words = name.is_some() || summary.is_some() || status.is_some();
    if source.is_some() || id.is_some() || phase.is_some() || has_words {
        return Ok(());
    }
    let message = "there is nothing to record: give at least --id, --phase, --name, --summary or --status";
    Err(Error::Usage(message.to_owned()))
}

/// The document of the caller, with the single fields of the request on top.
fn document(request: &RecordRequest) -> Result<Map<String, Value>> {
    let Some(source) = &request.source else {
        let mut document = begun_document();
        overlay(&mut document, request);
        return Ok(document);
    };
    let root = parse(&source.text).map_err(|error| {
        let message = format!("{}{} is not valid YAML: {error}", source.origin, suffix(error.place));
        Problem::new(Kind::Refused, "invalid_document", message).help(match error.fault {
            // An option needs no quotation marks of YAML.
            YamlFault::Apostrophe => "or give the text with --summary; nothing was recorded",
            _ => "nothing was recorded",
        })
    })?;
    let violations = validate(DocumentKind::Activity, &with_any_run(root.to_value()), Some(&root));
    match root.to_value() {
        Value::Object(mut document) if violations.is_empty() => {
            overlay(&mut document, request);
            Ok(document)
        }
        _ => Err(invalid(source, &violations)),
    }
}

/// A document with a run id: the schema requires one, and the request selects the run, so the caller may leave it out.
pub(crate) fn with_any_run(mut document: Value) -> Value {
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("run_id").or_insert_with(|| "any".into());
    }
    document
}

/// Warnings about keys of the caller's document that are almost known ones. It may have keys of its own.
fn mistyped(document: &Map<String, Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for key in mistyped_keys(DocumentKind::Activity, &Value::Object(document.clone())) {
        warnings.push(format!("in the document, {key}"));
    }
    warnings
}

/// The error for a document that does not match its schema.
fn invalid(source: &Source, violations: &[Violation]) -> Error {
    let at = located(&source.origin, violations);
    let message = format!("{at} is not a valid FlowActivity document: {}", first(violations));
    Problem::new(Kind::Refused, "invalid_document", message)
        .help(Suggestion::flow("schema activity") + " prints the schema; nothing was recorded")
        .because(all(violations))
        .into()
}

/// The ids that the document says its work settles.
fn settles_of(document: &Map<String, Value>) -> Result<Vec<ActivityId>> {
    let mut settles = Vec::new();
    if let Some(Value::Array(listed)) = document.get("metadata").and_then(|metadata| metadata.get("settles")) {
        for id in listed {
            settles.push(ActivityId::new(id.as_str().unwrap_or_default())?);
        }
    }
    Ok(settles)
}

fn text_of(document: &Map<String, Value>, section: &str, key: &str) -> Option<String> {
    document.get(section)?.get(key)?.as_str().map(str::to_owned)
}

/// Writes the single fields of the request over the document.
fn overlay(document: &mut Map<String, Value>, request: &RecordRequest) {
    let settles: Vec<_> = request.settles.iter().map(ToString::to_string).collect();
    set(document, "metadata", "id", request.id.as_ref().map(ActivityId::as_str));
    set(document, "metadata", "phase", request.phase.as_ref().map(StateName::as_str));
    set(document, "metadata", "settles", list(&settles));
    set(document, "activity", "type", request.kind.map(ActivityType::as_str));
    set(document, "activity", "name", request.name.as_deref());
    set(document, "activity", "status", request.status.map(ActivityStatus::as_str));
    set(document, "activity", "started_at", request.started_at.as_deref());
    set(document, "outputs", "evidence_refs", list(&request.evidence));
    set(document, "outputs", "files_changed", list(&request.files));
    set(document, "outputs", "command_exit_code", request.exit_code);
    if let Some(usage) = &request.usage {
        overlay_usage(document, usage);
    }
    set(document, "result", "summary", request.summary.as_deref());
    set(document, "result", "confidence", request.confidence.map(Confidence::as_str));
}

/// Writes what the caller says of usage over what the document says, field by field.
fn overlay_usage(document: &mut Map<String, Value>, usage: &Usage) {
    let outputs = document.entry("outputs").or_insert_with(|| Value::Object(Map::new()));
    let Some(outputs) = outputs.as_object_mut() else { return };
    let known = outputs.entry("usage").or_insert(Value::Null);
    if !known.is_object() {
        *known = Value::Object(Map::new());
    }
    if let Some(known) = known.as_object_mut() {
        known.extend(usage.fields());
    }
}

/// Sets a field in a section of the document, if there is a value.
fn set(document: &mut Map<String, Value>, section: &str, key: &str, value: Option<impl Into<Value>>) {
    let Some(value) = value else { return };
    let section = document.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if let Some(section) = section.as_object_mut() {
        section.insert(key.to_owned(), value.into());
    }
}

/// The items; none if the caller gives none, so that those of the document stay.
fn list(items: &[String]) -> Option<Value> {
    if items.is_empty() { None } else { Some(json!(items)) }
}

/// The request without defaults: the same bytes on every retry.
fn canonical(document: &Map<String, Value>, request: &RecordRequest, advance: Option<&Advance>) -> Vec<u8> {
    let advance = match advance {
        None => Value::Null,
        Some(Advance::Next) => true.into(),
        Some(Advance::To(phase)) => phase.as_str().into(),
    };
    let mut asked = vec![json!(document), advance];
    asked.extend(request.skip_reason.as_deref().map(Value::from));
    Value::Array(asked).to_string().into_bytes()
}

fn fill_defaults(document: &mut Map<String, Value>, request: &RecordRequest, run_id: &str, now: Timestamp) {
    fill(document, "metadata", "run_id", run_id);
    // The schema has made sure that a file has the rest.
    if request.source.is_some() {
        return;
    }
    let phase = text_of(document, "metadata", "phase");
    let named = request.name.as_deref().and_then(|name| slug(name, 80));
    let id = named.or_else(|| slug(&phase?, 80)).unwrap_or_else(|| "activity".to_owned());
    fill(document, "metadata", "id", id);
    fill(document, "activity", "type", ActivityType::Task.as_str());
    let status = request.status.unwrap_or_else(|| ActivityStatus::by_exit_code(request.exit_code));
    fill(document, "activity", "status", status.as_str());
    let when = if status.is_settled() { "completed_at" } else { "started_at" };
    fill(document, "activity", when, now.to_string());
}

/// Validates the document again, with everything that flow added. A document made only from the request's fields is
/// valid by their types; validating it would cost a quarter of a record's time.
fn check(document: &Map<String, Value>, request: &RecordRequest) -> Result<()> {
    let Some(source) = &request.source else {
        debug_assert_eq!(validate(DocumentKind::Activity, &json!(document), None), [], "{document:?}");
        return Ok(());
    };
    let violations = validate(DocumentKind::Activity, &json!(document), None);
    if violations.is_empty() { Ok(()) } else { Err(invalid(source, &violations)) }
}

fn check_size(recorded: &ActivityRecorded) -> Result<()> {
    let limit = crate::model::limits::ACTIVITY_BYTES;
    // Readers pass over the file of a larger one.
    let len = serde_json::to_vec(&recorded.activity).map_or(0, |bytes| bytes.len());
    if len <= limit {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the activity is {len} bytes long; {limit} are allowed. Put long output into a file and refer to it as evidence"
    )))
}

fn report_of(tx: &Transaction<'_>, seq: Seq, recorded: &ActivityRecorded) -> RecordReport {
    let state = tx.state.document();
    let phase = recorded.advanced_to.as_ref().unwrap_or(&recorded.phase);
    RecordReport {
        run_id: state.id.clone(),
        seq,
        number: recorded.number,
        activity: recorded.id().to_string(),
        path: tx.path_of(recorded),
        phase: state.state.current_phase.as_ref().unwrap_or(phase).clone(),
        status: recorded.activity.status(),
        exit_code: recorded.activity.exit_code(),
        completed_activities: state.state.completed_activities.len(),
        repeated: false,
        warnings: tx.warnings.clone(),
    }
}

/// The report of a retry. Warns if the record belongs to an earlier round, because the caller may mean new work.
fn recorded_already(tx: &mut Transaction<'_>, earlier: &Earlier) -> Result<RecordReport> {
    let Earlier { seq, record, of } = earlier;
    tx.answer_stands();
    if tx.history()?.is_some_and(|history| history.is_of_earlier_round(&record.phase, record.number)) {
        let (number, id) = (record.number, record.id());
        tx.warnings
            .push(format!("{number} {id} is a record of an earlier round; work of this round needs another --id"));
    }
    let mut report = RecordReport { repeated: true, ..report_of(tx, *seq, record) };
    if let Some(of) = of
        && let Ok(run) = open_run_exactly(tx.project, of.as_str())
    {
        let name = record.number.file_name(&record.id());
        report.path = run.address(Document::Activity(&name)).from(tx.project.root());
    }
    Ok(report)
}

/// An earlier record with the same id, which the caller may be repeating.
pub(in crate::runs) struct Earlier {
    /// The position of its event, in a fork that of the event that took it over.
    pub(in crate::runs) seq: Seq,
    pub(in crate::runs) record: ActivityRecorded,
    /// The run in which it was made, if this one is a fork and took it over.
    pub(in crate::runs) of: Option<RunId>,
}

/// The latest record with this id.
pub(in crate::runs) fn latest_before(tx: &Transaction<'_>, id: &ActivityId) -> Result<Option<Earlier>> {
    // If only commits of this checkout have changed the log, the last one in the file is the latest.
    let is_in_order = tx.writer.is_as_left();
    Ok(recorded_before(tx, id, &|_| is_in_order)?.into_iter().next())
}

/// The records with this id, latest first, up to one that is `enough`. Reads the log only if the state says that there are
/// some, because the log can be long.
fn recorded_before(
    tx: &Transaction<'_>,
    id: &ActivityId,
    enough: &dyn Fn(&ActivityRecorded) -> bool,
) -> Result<Vec<Earlier>> {
    let state = &tx.state.document().state;
    if !state.open_activities.contains(id.as_str()) && !state.completed_activities.contains(id.as_str()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let named = tx.events_naming(id.as_str(), &|event: &Event| {
        event.kind.records().iter().any(|record| record.id() == *id && enough(record))
    })?;
    for event in named {
        for record in event.kind.records() {
            if record.id() == *id {
                found.push(Earlier { seq: event.seq, record: record.clone(), of: None });
            }
        }
        if let EventKind::RunForked(forked) = &event.kind {
            for (record, of) in taken_over(forked, id) {
                found.push(Earlier { seq: event.seq, record, of: Some(of) });
            }
        }
    }
    Ok(found)
}

/// Refuses to say how a command ended that flow runs at this moment: flow sees its end, and records it.
fn refuse_at_work(tx: &Transaction<'_>, latest: Option<&Earlier>) -> Result<()> {
    if let Some(Earlier { record, of, .. }) = latest
        && let Some(at_work) = command_at_work(tx.project, of.as_ref().unwrap_or(tx.state.id()), record)
    {
        let help = match of {
            None => "flow records how it ends; to give it up, end its process first. Nothing was recorded".to_owned(),
            Some(parent) => format!(
                "its end is recorded in run {parent} alone: see there how it ended, and record that here. Nothing was recorded"
            ),
        };
        return Err(at_work.refusal(help).into());
    }
    Ok(())
}

/// Refuses a status that the exit code contradicts, if the caller gives one of them and does not say why. Work may be done
/// well although a command fails, such as a test that is expected to fail; the summary says so to later readers.
///
/// # Errors
/// [`Refusal::ExitCode`].
fn refuse_contradiction(activity: &Activity, request: &RecordRequest) -> std::result::Result<(), Refusal> {
    let Some(exit_code) = contradiction(activity) else { return Ok(()) };
    let is_explained = request.summary.as_ref().is_some_and(|summary| !summary.trim().is_empty());
    if is_explained || is_of_document(request) {
        return Ok(());
    }
    Err(Refusal::ExitCode { status: activity.status(), exit_code })
}

/// Warnings about what cannot be true in a document that someone else wrote. It is recorded as it stands.
fn doubts(activity: &Activity, request: &RecordRequest) -> Vec<String> {
    let mut doubts = Vec::new();
    let is_own = is_of_document(request);
    if is_own && let Some(exit_code) = contradiction(activity) {
        let status = activity.status();
        doubts.push(format!("the document contradicts itself: its status is {status}, and its exit code {exit_code}"));
    }
    for (key, text) in activity.mistyped_times() {
        doubts.push(format!("{key} is `{text}`, which is not a time such as 2026-05-20T14:30:00Z"));
    }
    if let Some((started, completed)) = activity.ends_before_it_began() {
        doubts.push(format!("the work ends at {completed}, before it began at {started}"));
    }
    doubts
}

/// The exit code, if the status contradicts it.
fn contradiction(activity: &Activity) -> Option<i64> {
    activity.exit_code().filter(|&code| activity.status().contradicts(code))
}

/// Whether status and exit code are those of the caller's document, so that no option could be left out.
fn is_of_document(request: &RecordRequest) -> bool {
    request.source.is_some() && request.status.is_none() && request.exit_code.is_none()
}
