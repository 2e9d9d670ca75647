//! The verb behind `flow hook`: what a host is answered at each of its events.

use std::time::{Duration, Instant};

use crate::hooks::brief;
use crate::hooks::output::{context, continuation, plain};
use crate::hooks::payload::{Event, HostInput, Payload, host};
use crate::model::{Explain, SessionId};
use crate::modes::{self, ModePromptRequest, ModeScope};
use crate::runs::{
    self, AgentHost, BriefRequest, Context, Error, HookInput, OpenWork, Overview, SessionEndRequest, StopOptions,
};

/// How long a hook or a status line reads runs, however many there are.
pub(super) const READING: Duration = Duration::from_millis(500);
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
    /// Why the session may go on by itself after its turn.
    pub stop: StopOptions,
}

/// Handles an event of a host, whose payload is `given`. Gives what the host reads on standard output; empty when there
/// is nothing to say, also after an error.
///
/// Unknown hosts and events are trouble, not errors: a host that is newer than flow must not be disturbed.
#[must_use]
pub fn hook(cx: &Context, call: Call<'_>, given: &HostInput) -> String {
    match answer(cx, call, given) {
        Ok(text) => text,
        Err(why) => {
            runs::log_hook(cx, &format!("{} {}: {why}", call.host, call.event));
            String::new()
        }
    }
}

fn answer(cx: &Context, call: Call<'_>, given: &HostInput) -> Result<String, String> {
    let event: Event = call.event.parse().map_err(|()| "flow does not know this event".to_owned())?;
    let payload = match (event, given) {
        // A host that ends writes late or not at all.
        (Event::SessionEnd, HostInput::Absent | HostInput::Late) => {
            Payload { session: cx.named_session(), ..Payload::default() }
        }
        _ => Payload::of(given)?,
    };
    let host = host(call.host, &cx.env.signs, payload.session.as_ref())?;
    // A sub-agent works under its parent's run, and never takes it over.
    if payload.is_subagent {
        return Ok(String::new());
    }
    // Kiro CLI names no session, so there is no way to say whose a run is.
    if payload.session.is_none() && event == Event::SessionStart && !host.hooks().names_session {
        return Ok(sessionless(cx, host, &payload));
    }
    let Some(session) = &payload.session else { return Err("the payload names no session".to_owned()) };
    // A conversation has one project, wherever the commands of its agent go.
    let noted = runs::noted_project(cx, session);
    let cx = cx.clone().at_work(noted.as_deref(), payload.project.as_deref(), payload.cwd.as_deref());
    let cx = cx.reading_for(Some(session), READING);
    let patient = &cx.waiting_for(WAIT_FOR_MODES);
    let cx = &cx.waiting_for(WAIT);
    runs::note_project(cx, session, noted.as_deref());
    runs::note_call(cx, host, call.event);
    let answer = match event {
        Event::SessionStart => session_start(cx, host, session, &payload),
        Event::UserPromptSubmit => prompt(cx, patient, host, session, &payload),
        Event::PreCompact if host == AgentHost::ClaudeCode => compaction(cx, session),
        // A host that goes on already, or will be woken up, must not be sent on twice.
        Event::Stop if call.stop.any() && !payload.must_stop => stop(cx, host, session, call.stop),
        Event::SessionEnd => session_end(cx, host, session, payload.reason.clone()),
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
    let Some(work) = logged(cx, OpenWork::find(cx)) else { return String::new() };
    let Some(news) = logged(cx, brief(cx, work.as_ref(), None)) else { return String::new() };
    match with_files(cx, work.as_ref(), news.overview, None) {
        Some(text) => context(host, "SessionStart", &text),
        None => String::new(),
    }
}

/// What a session is told of the work.
struct SessionNews {
    overview: Overview,
    /// The brief without what changes from call to call, for telling it once.
    gist: Option<String>,
}

fn brief(cx: &Context, work: Option<&OpenWork>, session: Option<&SessionId>) -> runs::Result<SessionNews> {
    let mut overview = runs::overview(cx, work, session)?;
    let passed_over = std::mem::take(&mut overview.passed_over);
    let gist = brief::text(&overview, session);
    overview.passed_over = passed_over;
    Ok(SessionNews { overview, gist })
}

/// The brief by the files as they are: the verdict, and whether what was seen in the run still holds. Only the brief of a
/// session that begins has that: it is not told again when files change.
fn with_files(
    cx: &Context,
    work: Option<&OpenWork>,
    mut overview: Overview,
    session: Option<&SessionId>,
) -> Option<String> {
    let began = Instant::now();
    if let Some(work) = work
        && overview.asks_for_files
        && let Some(looked) = logged(cx, runs::brief_with_files(work, session, READING))
    {
        overview.run = looked;
    }
    let text = brief::text(&overview, session)?;
    let Some(report) = &overview.run else { return Some(text) };
    let Some(seen) = logged(cx, runs::seen_commands(cx, &report.position.run_id)) else { return Some(text) };
    Some(brief::with_seen(text, &seen, &seen.states_within(READING.saturating_sub(began.elapsed()))))
}

/// The value, or nothing and a line in the log.
pub(super) fn logged<T, E: Explain>(cx: &Context, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| runs::log_hook(cx, &error.one_line())).ok()
}

fn session_start(cx: &Context, host: AgentHost, session: &SessionId, payload: &Payload) -> runs::Result<String> {
    // Asked before the session is noted as begun.
    let is_new = matches!(runs::has_begun(cx, host, session), Ok(false));
    logged(cx, runs::begin_session(cx, host, session, payload.beginning));
    let mut work = OpenWork::find(cx)?;
    if let Some(work) = &mut work {
        // Runs change hands before the brief says who holds them.
        for warning in logged(cx, runs::give_runs(work, host, session)).unwrap_or_default() {
            runs::log_hook(cx, &format!("session-start: {warning}"));
        }
    }
    let SessionNews { overview, gist } = brief(cx, work.as_ref(), Some(session))?;
    // Without the note the next prompt shows the same once more.
    logged(cx, runs::note_shown(cx, host, session, gist.as_deref()));
    let mut text = with_files(cx, work.as_ref(), overview, Some(session));
    if text.is_none() && is_new {
        let store = cx.project().ok().and_then(|project| Some(project.runs().shared().address()?.to_string()));
        text = Some(brief::how_to_begin(&runs::workflow_list(cx)?.workflows, store.as_deref()));
    }
    let Some(text) = text else { return Ok(String::new()) };
    Ok(context(host, "SessionStart", &text))
}

/// What is said once where a prompt names a mode and there is no project.
const NO_PROJECT: &str = "There is no .flow here, so the prompt began no mode of flow: `flow init` makes one. \
                          Only then does flow keep modes and runs in this project.";

/// What the prompt did to the modes, and where the run stands if that has changed since it was told. `patient` waits longer
/// for another writer.
fn prompt(
    cx: &Context,
    patient: &Context,
    host: AgentHost,
    session: &SessionId,
    payload: &Payload,
) -> runs::Result<String> {
    let text = payload.prompt.as_deref();
    // Qwen Code reports an empty prompt after each call of a tool, and the Gemini CLI one with the words that let it go on.
    // Neither is a person's, so neither lets the session go on once more.
    if let Some(text) = text
        && (text.trim().is_empty() || brief::is_of_run(text))
    {
        return Ok(String::new());
    }
    let mut parts = Vec::new();
    let has_project = !matches!(cx.project(), Err(Error::NoProject { .. }));
    if let Some(text) = text
        && modes::concerns_modes(cx, text)
    {
        if has_project {
            parts.extend(prompt_modes(cx, patient, session, text));
        } else if logged(cx, modes::asks_for_modes(cx, text)) == Some(true) && runs::note_told_of_init(cx, session) {
            // Hooks of a user run everywhere, and make nothing there.
            parts.push(NO_PROJECT.to_owned());
        }
    }
    // What the modes did is reported even when the runs cannot be read.
    if has_project && let Some(mut work) = logged(cx, OpenWork::read(cx)) {
        for warning in logged(cx, runs::prompt_session(&mut work, host, session)).unwrap_or_default() {
            runs::log_hook(cx, &format!("user-prompt-submit: {warning}"));
        }
        if let Some(SessionNews { overview, gist }) = logged(cx, brief(cx, Some(&work), Some(session)))
            && let Some(text) = brief::text(&overview, Some(session))
            && logged(cx, runs::note_shown(cx, host, session, gist.as_deref())) == Some(true)
        {
            parts.push(text);
        }
    }
    Ok(if parts.is_empty() { String::new() } else { context(host, "UserPromptSubmit", &parts.join("\n\n")) })
}

/// Gives a prompt to the modes, and returns what they have to say to it.
fn prompt_modes(cx: &Context, patient: &Context, session: &SessionId, text: &str) -> Vec<String> {
    let scope = ModeScope { session: Some(session.clone()), ..ModeScope::default() };
    let error = match modes::prompt(patient, &ModePromptRequest { text: text.to_owned(), scope }) {
        Ok(report) => return report.messages,
        Err(error) => error.one_line(),
    };
    runs::log_hook(cx, &error);
    // A project that is refused is reported in the log alone.
    if cx.project().is_ok() && modes::names_skill(text) {
        return vec![format!("flow did not do what the prompt asks of its modes: {error}")];
    }
    Vec::new()
}

fn stop(cx: &Context, host: AgentHost, session: &SessionId, wanted: StopOptions) -> runs::Result<String> {
    let Some(going_on) = runs::going_on(cx, host, session, wanted)? else { return Ok(String::new()) };
    let text = brief::of_run(&going_on.report, Some(session));
    Ok(continuation(host, &brief::with_requirements(text, &going_on)))
}

/// Claude Code adds this line to its request for a summary. The hook at the start after the compaction brings the rest.
fn compaction(cx: &Context, session: &SessionId) -> runs::Result<String> {
    let Some(report) = runs::brief(cx, &BriefRequest { session: Some(session.clone()) })? else {
        return Ok(String::new());
    };
    Ok(plain(&brief::line(&report.position)))
}

fn session_end(cx: &Context, host: AgentHost, session: &SessionId, reason: Option<String>) -> runs::Result<String> {
    // One that goes on elsewhere keeps its runs.
    if logged(cx, runs::is_elsewhere(cx, host, session)) == Some(true) {
        runs::log_hook(cx, "session-end: the session goes on in another process");
        return Ok(String::new());
    }
    let hook = HookInput { session: Some(session.clone()), reason: reason.clone(), cwd: None };
    let report = runs::session_end(cx, &SessionEndRequest { session: None, hook, unowned: false })?;
    logged(cx, runs::note_end(cx, host, session, &report.persisted, reason.as_deref()));
    for warning in report.warnings {
        runs::log_hook(cx, &format!("session-end: {warning}"));
    }
    Ok(String::new())
}
