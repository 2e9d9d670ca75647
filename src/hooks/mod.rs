//! The hooks of agents' hosts: a host's payload in, a verb, the host's output out. No rule lives here.
//!
//! A hook may never disturb its host. So it always succeeds, and trouble goes to `.flow/.cache/hooks.log`, or to the user's own log. The facts about
//! hosts come from Claude Code 2.1.330 and Codex 0.169.0; see `docs/hosts.md`.

mod brief;
mod hud;
mod output;
mod payload;
pub mod settings;

pub use hud::{HudReport, HudRequest, hud};

use std::time::Duration;

use crate::hooks::output::{context, go_on, plain};
pub use crate::hooks::payload::Given;
use crate::hooks::payload::{Event, Payload, host};
use crate::model::Explain;
use crate::modes::{self, ModePromptRequest, ModeScope};
use crate::runs::{self, AgentHost, BriefRequest, Context, Error, HookInput, OpenWork, Overview, SessionEndRequest};

/// How long a hook or a status line reads runs, however many there are.
const READING: Duration = Duration::from_millis(500);
/// How long a hook waits for another writer: its host waits with it.
const WAIT: Duration = Duration::from_millis(100);
/// How long a prompt that names a skill waits for the modes: who asked for one would rather wait than not get it.
const WAIT_FOR_MODES: Duration = Duration::from_secs(1);

/// What a host calls a hook for, as its command line says it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// `auto`, or the name of a host, such as `claude-code`.
    pub host: &'a str,
    /// `session-start`, `user-prompt-submit`, `pre-compact`, `stop`, `subagent-start`, `subagent-stop` or `session-end`.
    pub event: &'a str,
    /// Whether the session may go on by itself after its turn.
    pub may_go_on: bool,
}

/// Handles an event of a host, whose payload is `given`. Gives what the host reads on standard output; empty when there
/// is nothing to say, also after an error.
///
/// Unknown hosts and events are trouble, not errors: a host that is newer than flow must not be disturbed.
#[must_use]
pub fn hook(cx: &Context, call: Call<'_>, given: &Given) -> String {
    answer(cx, call, given).unwrap_or_else(|why| {
        runs::log_hook(cx, &format!("{} {}: {why}", call.host, call.event));
        String::new()
    })
}

fn answer(cx: &Context, call: Call<'_>, given: &Given) -> Result<String, String> {
    let event: Event = call.event.parse()?;
    let payload = match (event, given) {
        // A host that ends writes late or not at all.
        (Event::SessionEnd, Given::Nobody | Given::Late) => {
            Payload { session: cx.named_session(), ..Payload::default() }
        }
        _ => Payload::of(given)?,
    };
    let host = host(call.host, &cx.env.signs, payload.session.as_ref())?;
    // A sub-agent works under its parent's run, and never takes it over.
    if payload.is_subagent {
        return Ok(String::new());
    }
    if payload.session.is_none() && event == Event::SessionStart && !host.hooks().names_session {
        return Ok(sessionless(cx, host, &payload));
    }
    let Some(session) = payload.session.as_ref() else { return Err("the payload names no session".to_owned()) };
    let noted = runs::noted_project(cx, session);
    let cx = cx.clone().at_work(noted.as_deref(), payload.project.as_deref(), payload.cwd.as_deref());
    let cx = cx.reading_for(Some(session), READING);
    let patient = &cx.waiting_for(WAIT_FOR_MODES);
    let cx = &cx.waiting_for(WAIT);
    runs::note_project(cx, session, noted.as_deref());
    runs::note_call(cx, host, call.event);
    let answer = match event {
        Event::SessionStart => session_start(cx, host, &payload),
        Event::UserPromptSubmit => prompt(cx, patient, host, &payload),
        Event::PreCompact if host == AgentHost::ClaudeCode => compaction(cx, &payload),
        Event::Stop if call.may_go_on => stop(cx, host, &payload),
        Event::SessionEnd => session_end(cx, host, payload),
        Event::PreCompact | Event::Stop | Event::SubagentStart | Event::SubagentStop => Ok(String::new()),
    };
    match answer {
        // Without a project there are no runs to tell about.
        Err(Error::NoProject { .. }) => Ok(String::new()),
        Err(error) => {
            // Logged here: the payload may name another project than the one in which the host called.
            runs::log_hook(cx, &format!("{} {}: {}", call.host, call.event, error.one_line()));
            Ok(String::new())
        }
        Ok(text) => Ok(text),
    }
}

/// What a host that names no session is told: where the run stands. Nothing begins, and nothing is noted.
fn sessionless(cx: &Context, host: AgentHost, payload: &Payload) -> String {
    let cx = cx.clone().at_work(None, payload.project.as_deref(), payload.cwd.as_deref());
    let cx = &cx.reading_for(None, READING);
    let told = OpenWork::find(cx).and_then(|work| brief(cx, work.as_ref(), payload));
    let text = logged(cx, told).and_then(|told| told.text);
    text.map(|text| context(host, "SessionStart", &text)).unwrap_or_default()
}

/// What a session is told of the work.
struct Told {
    text: Option<String>,
    /// The same without what changes from call to call, for telling it once.
    gist: Option<String>,
}

fn brief(cx: &Context, work: Option<&OpenWork>, payload: &Payload) -> runs::Result<Told> {
    let overview = runs::overview(cx, work, payload.session.as_ref())?;
    let text = brief::text(&overview, payload.session.as_ref());
    let gist = brief::text(&Overview { passed_over: 0, ..overview }, payload.session.as_ref());
    Ok(Told { text, gist })
}

/// The value, or nothing and a line in the log.
fn logged<T, E: Explain>(cx: &Context, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| runs::log_hook(cx, &error.one_line())).ok()
}

fn session_start(cx: &Context, host: AgentHost, payload: &Payload) -> runs::Result<String> {
    let is_new =
        payload.session.as_ref().is_some_and(|session| runs::has_begun(cx, host, session).is_ok_and(|has| !has));
    if let Some(session) = &payload.session {
        logged(cx, runs::begin_session(cx, host, session, payload.beginning));
    }
    let mut work = OpenWork::find(cx)?;
    if let (Some(session), Some(work)) = (&payload.session, &mut work) {
        // Runs change hands before the brief says who holds them.
        for warning in logged(cx, runs::give_runs(cx, work, host, session)).unwrap_or_default() {
            runs::log_hook(cx, &format!("session-start: {warning}"));
        }
    }
    let Told { text, gist } = brief(cx, work.as_ref(), payload)?;
    if let Some(session) = &payload.session {
        // Without the note the next prompt shows the same once more.
        logged(cx, runs::note_shown(cx, host, session, gist.as_deref()));
    }
    let text = match text {
        None if is_new => Some(brief::how_to_begin(&runs::workflow_list(cx)?.workflows)),
        text => text,
    };
    Ok(text.map(|text| context(host, "SessionStart", &text)).unwrap_or_default())
}

/// What is told once where a prompt names a mode and there is no project.
const NO_PROJECT: &str = "There is no .flow here, so the prompt began no mode of flow: `flow init` makes one. \
                          Only then does flow keep modes and runs in this project.";

/// What the prompt did to the modes, and where the run stands if that has changed since it was told. `patient` waits longer
/// for another writer.
fn prompt(cx: &Context, patient: &Context, host: AgentHost, payload: &Payload) -> runs::Result<String> {
    // Qwen Code reports an empty prompt after each call of a tool, and the Gemini CLI one with the words that let it go on.
    // Neither is a person's, so neither lets the session go on once more.
    if payload.prompt.as_ref().is_some_and(|text| text.trim().is_empty() || brief::is_of_run(text)) {
        return Ok(String::new());
    }
    let mut parts = Vec::new();
    let has_project = !matches!(cx.project(), Err(Error::NoProject { .. }));
    if let Some(text) = payload.prompt.as_ref().filter(|_| !has_project) {
        // Hooks of a user run everywhere, and make nothing there.
        let asks = logged(cx, modes::asks_for_modes(cx, text)) == Some(true);
        if asks && payload.session.as_ref().is_some_and(|session| runs::note_told_of_init(cx, session)) {
            parts.push(NO_PROJECT.to_owned());
        }
    } else if let Some(text) = &payload.prompt {
        let scope = ModeScope { session: payload.session.clone(), ..ModeScope::default() };
        match modes::prompt(patient, &ModePromptRequest { text: text.clone(), scope }) {
            Ok(report) => parts.extend(report.messages),
            Err(error) => {
                runs::log_hook(cx, &error.one_line());
                // A project that is refused is told of in the log alone.
                if cx.project().is_ok() && modes::names_skill(text) {
                    parts.push(format!("flow did not do what the prompt asks of its modes: {}", error.one_line()));
                }
            }
        }
    }
    // What the modes did is told even when the runs cannot be read.
    if let Some(session) = payload.session.as_ref().filter(|_| has_project)
        && let Some(mut work) = logged(cx, OpenWork::read(cx))
    {
        for warning in logged(cx, runs::prompt_session(cx, &mut work, host, session)).unwrap_or_default() {
            runs::log_hook(cx, &format!("user-prompt-submit: {warning}"));
        }
        if let Some(Told { text: Some(text), gist }) = logged(cx, brief(cx, Some(&work), payload))
            && logged(cx, runs::note_shown(cx, host, session, gist.as_deref())) == Some(true)
        {
            parts.push(text);
        }
    }
    Ok(if parts.is_empty() { String::new() } else { context(host, "UserPromptSubmit", &parts.join("\n\n")) })
}

fn stop(cx: &Context, host: AgentHost, payload: &Payload) -> runs::Result<String> {
    let Some(session) = payload.session.as_ref().filter(|_| !payload.must_stop) else { return Ok(String::new()) };
    let report = runs::going_on(cx, host, session)?;
    Ok(report.map(|report| go_on(host, &brief::of_run(&report, Some(session)))).unwrap_or_default())
}

/// Claude Code adds this line to its request for a summary. The hook at the start after the compaction brings the rest.
fn compaction(cx: &Context, payload: &Payload) -> runs::Result<String> {
    let report = runs::brief(cx, &BriefRequest { session: payload.session.clone() })?;
    Ok(report.map(|report| plain(&brief::line(&report.position))).unwrap_or_default())
}

fn session_end(cx: &Context, host: AgentHost, payload: Payload) -> runs::Result<String> {
    let Payload { session: Some(session), reason, .. } = payload else { return Ok(String::new()) };
    // One that goes on elsewhere keeps its runs.
    if logged(cx, runs::is_elsewhere(cx, host, &session)) == Some(true) {
        runs::log_hook(cx, "session-end: the session goes on in another process");
        return Ok(String::new());
    }
    let hook = HookInput { session: Some(session.clone()), reason: reason.clone(), cwd: None };
    let report = runs::session_end(cx, &SessionEndRequest { session: None, hook, unowned: false })?;
    logged(cx, runs::note_end(cx, host, &session, &report.persisted, reason.as_deref()));
    for warning in report.warnings {
        runs::log_hook(cx, &format!("session-end: {warning}"));
    }
    Ok(String::new())
}
