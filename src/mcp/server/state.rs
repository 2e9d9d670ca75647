//! The five state tools of RCS, over the verbs about modes: the same names, arguments and answers. The policy decides here
//! as everywhere.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::mcp::server::call::{Answer, Call};
use crate::mcp::server::tool::{ToolRow, Writes};
use crate::model::{Explain, Problem, SessionId};
use crate::modes::{
    self, ModeEndRequest, ModeListRequest, ModeScope, ModeShowReport, ModeShowRequest, ModeWriteRequest,
};
use crate::runs::request_schema as of;

/// Arguments that say whose state is meant; the others describe it, and become fields of its file.
const ABOUT: [&str; 4] = ["mode", "state", "session_id", "workingDirectory"];

/// The arguments of the five tools. Fields that a file may have and those of `state` are judged by the policy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the fields of a mode's file are taken as they are given")]
struct StateCall {
    /// The mode, or a word that stands for it.
    mode: Option<String>,
    /// Whether the mode is active.
    active: Option<bool>,
    /// The number of iterations so far.
    iteration: Option<u64>,
    /// The greatest number of iterations that is allowed.
    max_iterations: Option<u64>,
    /// Its phase.
    current_phase: Option<String>,
    /// What it works on.
    task_description: Option<String>,
    /// When it began (RFC 3339).
    started_at: Option<String>,
    /// When it ended (RFC 3339).
    completed_at: Option<String>,
    /// The outcome, in the words of older versions.
    run_outcome: Option<String>,
    /// finished, blocked, failed, userinterlude or askuserQuestion.
    lifecycle_outcome: Option<String>,
    /// The same as `lifecycle_outcome`, in the words of older versions.
    terminal_outcome: Option<String>,
    /// What went wrong.
    error: Option<String>,
    /// Other fields; null removes one.
    state: Option<Map<String, Value>>,
    /// The session.
    session_id: Option<SessionId>,
    /// The modes of every session.
    #[serde(default)]
    all_sessions: bool,
    /// A directory in the project.
    #[serde(rename = "workingDirectory")]
    working_directory: Option<PathBuf>,
}

/// The tools.
pub(super) const ROWS: [ToolRow; 5] = [
    ToolRow {
        needs: &["mode"],
        ..row(
            "state_read",
            "Read a mode",
            "The state of a mode.",
            Writes::Never,
            &["mode", "session_id", "workingDirectory"],
            read,
        )
    },
    ToolRow {
        name: "state_write",
        title: "Change a mode",
        about: "Change the state of a mode. The policy decides whether it may become active.",
        writes: Writes::Always,
        request: of::<StateCall>,
        arguments: &[
            "mode", "active", "iteration", "max_iterations", "current_phase", "task_description", "started_at",
            "completed_at", "run_outcome", "lifecycle_outcome", "terminal_outcome", "error", "state", "session_id",
            "workingDirectory",
        ],
        needs: &["mode"],
        verbs: &[],
        commands: &[],
        call: write,
    },
    ToolRow {
        needs: &["mode"],
        commands: &[("mode clear", &["mode"])],
        ..row(
            "state_clear",
            "Clear a mode",
            "Remove the state of a mode.",
            Writes::Always,
            &["mode", "all_sessions", "session_id", "workingDirectory"],
            clear,
        )
    },
    row(
        "state_list_active",
        "Active modes",
        "The active modes.",
        Writes::Never,
        &["session_id", "workingDirectory"],
        list_active,
    ),
    row(
        "state_get_status",
        "State of modes",
        "Phase and state of modes.",
        Writes::Never,
        &["mode", "session_id", "workingDirectory"],
        status,
    ),
];

const fn row(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    writes: Writes,
    arguments: &'static [&'static str],
    call: fn(Call<'_>) -> Answer,
) -> ToolRow {
    let request = of::<StateCall>;
    ToolRow { name, title, about, writes, request, arguments, needs: &[], verbs: &[], commands: &[], call }
}

/// The arguments, in a project that is the server's own.
fn asked(call: &Call<'_>) -> Result<(StateCall, ModeScope), Problem> {
    let asked: StateCall = call.request()?;
    if let Some(there) = &asked.working_directory {
        let own = call.cx.project().map_err(|error| error.problem())?;
        // The server serves one project, whatever its caller names.
        match call.cx.in_project(there).project() {
            Ok(named) if named.root() == own.root() => {}
            _ => return Err(call.wrong("`workingDirectory` is not in the project of this server")),
        }
    }
    let scope = ModeScope { session: asked.session_id.clone(), root: false };
    Ok((asked, scope))
}

/// The arguments of a tool that is about one mode.
fn asked_of(call: &Call<'_>) -> Result<(StateCall, String, ModeScope), Problem> {
    let (asked, scope) = asked(call)?;
    let mode = asked.mode.clone().ok_or_else(|| call.wrong("`mode` is missing"))?;
    Ok((asked, mode, scope))
}

fn problem(error: modes::Error) -> Problem {
    error.problem()
}

fn read(call: Call<'_>) -> Answer {
    let (_, mode, scope) = asked_of(&call)?;
    let shown = modes::show(&call.cx, &ModeShowRequest { mode, scope }).map_err(problem)?;
    Ok(match shown {
        ModeShowReport { state: Some(state), .. } => told(state).into(),
        ModeShowReport { mode, .. } => json!({ "exists": false, "mode": mode }),
    })
}

/// A state without the process that holds it, which says where it runs.
fn told(mut state: Map<String, Value>) -> Map<String, Value> {
    state.shift_remove("session_holder");
    state
}

fn write(call: Call<'_>) -> Answer {
    let (asked, mode, scope) = asked_of(&call)?;
    // An argument of the tool counts more than the same field in `state`.
    let mut fields = asked.state.unwrap_or_default();
    for (name, value) in &call.arguments {
        if !ABOUT.contains(&name.as_str()) {
            fields.insert(name.clone(), value.clone());
        }
    }
    let request = ModeWriteRequest { mode, scope, fields, review_clean: None };
    let report = modes::write(&call.cx, &request).map_err(problem)?;
    let mut answer =
        json!({ "success": true, "mode": report.mode, "state": told(report.state), "warnings": report.warnings });
    if !report.completed.is_empty() {
        let sources: Vec<_> = report.completed.iter().map(ToString::to_string).collect();
        answer["transition"] = format!("mode transiting: {} -> {}", sources.join(" + "), report.mode).into();
    }
    Ok(answer)
}

fn clear(call: Call<'_>) -> Answer {
    let (asked, mode, scope) = asked_of(&call)?;
    let all = asked.all_sessions;
    let request = ModeEndRequest { mode: Some(mode.clone()), scope, all };
    let report = modes::clear(&call.cx, &request).map_err(problem)?;
    let mut answer = json!({ "cleared": true, "mode": mode, "warnings": report.warnings });
    if all {
        answer["all_sessions"] = true.into();
        answer["removed"] = report.ended.len().into();
        answer["ended"] = json!(report.ended);
    }
    Ok(answer)
}

fn list_active(call: Call<'_>) -> Answer {
    let (_, scope) = asked(&call)?;
    let report = modes::list(&call.cx, &ModeListRequest { scope, all: false }).map_err(problem)?;
    Ok(json!({ "active_modes": report.active, "warnings": report.warnings }))
}

fn status(call: Call<'_>) -> Answer {
    let (asked, scope) = asked(&call)?;
    let wanted = match &asked.mode {
        // The verb knows the words that stand for a mode.
        Some(mode) => {
            let request = ModeShowRequest { mode: mode.clone(), scope: scope.clone() };
            Some(modes::show(&call.cx, &request).map_err(problem)?.mode)
        }
        None => None,
    };
    let report = modes::list(&call.cx, &ModeListRequest { scope: scope.clone(), all: false }).map_err(problem)?;
    let mut statuses = Map::new();
    for listed in &report.modes {
        if wanted.as_ref().is_some_and(|wanted| *wanted != listed.mode) {
            continue;
        }
        // One unreadable file of a mode leaves the others readable.
        let request = ModeShowRequest { mode: listed.mode.to_string(), scope: scope.clone() };
        let status = match (&listed.error, modes::show(&call.cx, &request)) {
            (None, Ok(shown)) => {
                json!({ "active": listed.active, "phase": listed.current_phase, "data": shown.state.map(told) })
            }
            (error, _) => json!({ "error": error.as_deref().unwrap_or("the file cannot be read") }),
        };
        statuses.insert(listed.mode.to_string(), status);
    }
    Ok(json!({ "statuses": statuses, "warnings": report.warnings }))
}
