//! `session-end`: a session ends, but its runs do not.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::parse_foreign_json;
use crate::engine::{Caller, Command, Decision, NoTrail, decide};
use crate::model::{Explain as _, RunId, RunStatus, RunSummary, SESSION_ENDED, Seq, SessionId, Suggestion, Timestamp};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::open::reading::{Runs, passed_over_in_words};
use crate::runs::sessions::conversation::noted_project;
use crate::runs::write::transaction::attempts::transact_as;

/// The session that ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionEndRequest {
    /// The session; otherwise the hook's, otherwise the environment's.
    pub session: Option<SessionId>,
    /// The payload of the host's hook.
    pub hook: HookInput,
    /// Whether to mark the runs without a holder if the session is not known.
    pub unowned: bool,
}

/// The payload of a host's hook at the end of a session, on standard input: `{"session_id": …, "reason": …}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookInput {
    /// The session that ends.
    #[serde(rename = "session_id")]
    pub session: Option<SessionId>,
    /// The host's reason.
    pub reason: Option<String>,
    /// The directory in which the session worked.
    pub cwd: Option<std::path::PathBuf>,
}

impl HookInput {
    /// Parses a hook's payload. Ignores what it does not know: a hook must not fail because its host has changed.
    ///
    /// # Errors
    /// Why the text does not say which session ended: it is not a JSON object, or names something else as the session.
    pub fn read(text: &str) -> std::result::Result<Self, &'static str> {
        let Ok(payload @ Value::Object(_)) = parse_foreign_json(text) else { return Err("it is not a JSON object") };
        let session = match &payload["session_id"] {
            Value::Null => return Err("it names no session"),
            Value::String(id) => SessionId::new(id.as_str()).ok(),
            _ => None,
        };
        if session.is_none() {
            return Err("its session_id is not the id of a session");
        }
        let reason = payload["reason"].as_str().map(str::to_owned);
        Ok(Self { session, reason, cwd: payload["cwd"].as_str().map(Into::into) })
    }
}

/// The time for all runs: hosts wait about that long for their hooks.
pub(in crate::runs) const TIME: Duration = Duration::from_millis(500);
/// The time for all runs together with the wait for the host's payload. What is begun then ends within a second.
const TIME_IN_ALL: Duration = Duration::from_millis(750);
/// The wait for the lock of one run: a process that holds it longer is recording, and so continues the run itself.
const LOCK_WAIT: Duration = Duration::from_millis(100);

/// The warning when it is not known whose session ended.
const UNKNOWN_SESSION: &str =
    "it is not known which session ended, so nothing is marked; --unowned marks the runs without a holder";

/// The report of `session-end`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionEndReport {
    /// The session, if it is known.
    pub session: Option<SessionId>,
    /// The runs that were marked.
    pub persisted: Vec<EndedRun>,
    /// Runs that could not be read or marked.
    pub warnings: Vec<String>,
}

/// A run whose session ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndedRun {
    /// The run.
    pub run_id: RunId,
    /// The position of the event.
    pub seq: Seq,
}

/// Marks the runs that the session holds, so that the next session finds them. A host may report an end late, when other
/// sessions already work, so runs of others and runs without a holder stay as they are. Without a session, marks the
/// runs without a holder if the request says so, and otherwise nothing. Takes less than a second.
///
/// # Errors
/// When the project cannot be used. A failure for a single run is a warning.
pub fn session_end(cx: &Context, request: &SessionEndRequest) -> Result<SessionEndReport> {
    let started = Instant::now();
    // The host's patience includes the wait for its payload.
    let time = TIME.min(TIME_IN_ALL.saturating_sub(cx.options.waited));
    let session = request.session.clone().or_else(|| request.hook.session.clone()).or_else(|| cx.named_session());
    let noted = session.as_ref().and_then(|session| noted_project(cx, session));
    let cx = cx.clone().at_work(noted.as_deref(), None, request.hook.cwd.as_deref());
    let cx = &cx.reading_for(session.as_ref(), time);
    let project = cx.project()?;
    let caller = cx.caller(session, None)?;
    let now = cx.now();
    let mut report = SessionEndReport { session: caller.session.clone(), persisted: Vec::new(), warnings: Vec::new() };
    if caller.session.is_none() && !request.unowned {
        report.warnings.push(UNKNOWN_SESSION.to_owned());
        return Ok(report);
    }
    if let Some(session) = &caller.session {
        // Before the runs, of which there may be more than there is time for.
        for observer in &cx.observers {
            report.warnings.extend(observer.session_ended(&project, session));
        }
    }
    let runs = Runs::read_open_and_remember(&project)?;
    report.warnings.extend(passed_over_in_words(runs.passed_over));
    for unreadable in runs.unreadable {
        report.warnings.push(format!("run {} cannot be read: {}", unreadable.run_id, unreadable.reason));
    }
    for run in &runs.summaries {
        if !is_left_behind(run, caller.session.as_ref()) {
            continue;
        }
        if started.elapsed() >= time {
            report.warnings.push(unmarked(run, "no time was left to mark it"));
            continue;
        }
        let left = time.saturating_sub(started.elapsed());
        match end_in(&project, &run.head.run_id, caller.clone(), request.hook.reason.as_deref(), now, left) {
            Ok(Some(ended)) => report.persisted.push(ended),
            Ok(None) => {}
            Err(error) => report.warnings.push(unmarked(run, &error.one_line())),
        }
    }
    Ok(report)
}

/// That the end of the session is not in the log of a run, and what takes the run over.
fn unmarked(run: &RunSummary, why: &str) -> String {
    let id = &run.head.run_id;
    if run.session.is_none() {
        return format!("run {id}: {why}");
    }
    let take = Suggestion::flow("resume").value(id).flag("take-over");
    format!("run {id}: {why}; the session still holds it, and `{take}` takes it over")
}

/// Marks one run. None if it needs no mark. A run that machines share may take as long as is `left`.
pub(crate) fn end_in(
    project: &OpenedProject,
    id: &RunId,
    caller: Caller,
    reason: Option<&str>,
    now: Timestamp,
    left: Duration,
) -> Result<Option<EndedRun>> {
    let run = project.runs().open(id)?;
    let wait = if run.as_of().is_some() { left } else { LOCK_WAIT };
    transact_as(project, &*run, caller, &project.cx.write_request(now, wait), |tx| {
        let command = Command::EndSession { reason: reason.map(str::to_owned) };
        match decide(&tx.state, None, &tx.caller, command, &NoTrail) {
            Ok(Decision::Commit(kind)) => {
                tx.append(kind, None)?;
                Ok(Some(EndedRun { run_id: id.clone(), seq: tx.commit()? }))
            }
            // Another session may have claimed the run since it was listed.
            Ok(Decision::Already) | Err(_) => Ok(None),
        }
    })
}

/// Whether a run needs a mark at the end of the session, or, without a session, if no session holds it.
fn is_left_behind(run: &RunSummary, session: Option<&SessionId>) -> bool {
    let marked = run.session.is_none() && run.head.blocked_reason.as_deref() == Some(SESSION_ENDED);
    run.head.status == RunStatus::Active && run.session.as_ref() == session && !marked
}
