//! The hooks of agents' hosts: a host's payload in, a verb, the host's output out. No rule lives here.
//!
//! A hook may never disturb its host. So it always succeeds, and trouble goes to `.flow/.cache/hooks.log`. The facts about
//! hosts come from Claude Code 2.1.330 and Codex 0.169.0; see `docs/hosts.md`.

mod brief;
mod note;
mod output;
mod payload;
pub mod settings;

use crate::hooks::note::Note;
use crate::hooks::output::{context, plain};
use crate::hooks::payload::{Event, Host, Payload};
use crate::model::Explain;
use crate::modes::{self, ModePromptRequest, ModeScope};
use crate::runs::{self, BriefRequest, Context, Error, HookInput, SessionEndRequest};

/// Handles the event `event` of the host `host`, whose payload is `input`. Gives what the host reads on standard output;
/// empty when there is nothing to say, also after an error.
///
/// `host` is `claude-code`, `codex` or `auto`, and `event` one of `session-start`, `user-prompt-submit`, `pre-compact`,
/// `stop`, `subagent-start`, `subagent-stop` and `session-end`. Other words are trouble, not errors: a host that is newer
/// than flow must not be disturbed.
#[must_use]
pub fn hook(cx: &Context, host: &str, event: &str, input: &str) -> String {
    answer(cx, host, event, input).unwrap_or_else(|why| {
        runs::log_hook(cx, &format!("{host} {event}: {why}"));
        String::new()
    })
}

fn answer(cx: &Context, host: &str, event: &str, input: &str) -> Result<String, String> {
    let event: Event = event.parse()?;
    let payload = Payload::read(input)?;
    let host = Host::named(host, cx.claude_session().as_ref(), payload.session.as_ref())?;
    // A sub-agent works under its parent's run, and never takes it over.
    if payload.is_subagent {
        return Ok(String::new());
    }
    // A host may run its hooks elsewhere; it names the directory in which the session works.
    let there = match (cx.project(), &payload.cwd) {
        (Err(Error::NoProject { .. }), Some(cwd)) => Some(cx.in_project(cwd)),
        _ => None,
    };
    let cx = there.as_ref().unwrap_or(cx);
    let answer = match event {
        Event::SessionStart => session_start(cx, host, &payload),
        Event::UserPromptSubmit => prompt(cx, host, &payload),
        Event::PreCompact if host == Host::ClaudeCode => compaction(cx, &payload),
        Event::SessionEnd => session_end(cx, payload),
        Event::PreCompact | Event::Stop | Event::SubagentStart | Event::SubagentStop => Ok(String::new()),
    };
    match answer {
        // Without a project there are no runs to tell about.
        Err(Error::NoProject { .. }) => Ok(String::new()),
        answer => answer.map_err(|error| error.one_line()),
    }
}

fn brief(cx: &Context, payload: &Payload) -> runs::Result<Option<String>> {
    let report = runs::brief(cx, &BriefRequest { session: payload.session.clone() })?;
    Ok(report.map(|report| brief::text(&report, payload.session.as_ref())))
}

/// The value, or nothing and a line in the log.
fn logged<T, E: Explain>(cx: &Context, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| runs::log_hook(cx, &error.one_line())).ok()
}

fn session_start(cx: &Context, host: Host, payload: &Payload) -> runs::Result<String> {
    let brief = brief(cx, payload)?;
    if let Some(session) = &payload.session {
        // Without the note the next prompt shows the same once more.
        logged(cx, Note::of(cx, host, session).showing(brief.as_deref()).keep(cx));
    }
    Ok(brief.map(|brief| context("SessionStart", &brief)).unwrap_or_default())
}

/// What the prompt did to the modes, and where the run stands if that has changed since it was told.
fn prompt(cx: &Context, host: Host, payload: &Payload) -> runs::Result<String> {
    let mut parts = Vec::new();
    if let Some(text) = &payload.prompt {
        let scope = ModeScope { session: payload.session.clone(), ..ModeScope::default() };
        let report = logged(cx, modes::prompt(cx, &ModePromptRequest { text: text.clone(), scope }));
        parts.extend(report.into_iter().flat_map(|report| report.messages));
    }
    // What the modes did is told even when the run cannot be read.
    if let (Some(session), Some(Some(brief))) = (&payload.session, logged(cx, brief(cx, payload))) {
        let note = Note::of(cx, host, session);
        // A brief that cannot be noted would come with every prompt.
        if !note.shows(&brief) && logged(cx, note.showing(Some(&brief)).keep(cx)).is_some() {
            parts.push(brief);
        }
    }
    Ok(if parts.is_empty() { String::new() } else { context("UserPromptSubmit", &parts.join("\n\n")) })
}

/// Claude Code adds this line to its request for a summary. The hook at the start after the compaction brings the rest.
fn compaction(cx: &Context, payload: &Payload) -> runs::Result<String> {
    let report = runs::brief(cx, &BriefRequest { session: payload.session.clone() })?;
    Ok(report.map(|report| plain(&brief::line(&report))).unwrap_or_default())
}

fn session_end(cx: &Context, payload: Payload) -> runs::Result<String> {
    let Payload { session, reason, cwd, .. } = payload;
    let report = runs::session_end(cx, &SessionEndRequest { session: None, hook: HookInput { session, reason, cwd } })?;
    for warning in report.warnings {
        runs::log_hook(cx, &format!("session-end: {warning}"));
    }
    Ok(String::new())
}
