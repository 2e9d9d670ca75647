//! What the hooks of agents' hosts note about their sessions, and ask of these notes.

use std::collections::BTreeMap;

use crate::codec::digest;
use crate::host::{Agent, AgentHost, Holder, Liveness};
use crate::model::{Explain as _, SessionId, Timestamp};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
#[cfg(feature = "mcp")]
use crate::runs::host_note::notes;
use crate::runs::host_note::{HostNote, Over, RUNS};
use crate::runs::open::work::OpenWork;
use crate::runs::sessions::end::EndedRun;
use crate::runs::user_state::log_once;

impl AgentHost {
    /// The process that lives as long as the session whose hook this process is.
    fn process(self, cx: &Context) -> Result<Option<Holder>> {
        match self {
            Self::ClaudeCode => cx.holder(),
            // A Codex that runs inside Claude Code inherits the variable that names Claude Code's process.
            Self::Codex => Ok(Holder::current(cx.holder_given_to_flow()?)),
            // The process that its commands find as well.
            _ => match cx.holder_given_to_flow()? {
                Some(pid) => Ok(Holder::current(Some(pid))),
                None => Ok(Agent::process_of(self.program())),
            },
        }
    }
}

impl HostNote {
    /// Notes that the session goes on by itself. With `counts`, this uses up one of the times that it may continue its work.
    /// Returns `false`, and notes nothing, if another hook has changed the note since it was read.
    pub(in crate::runs) fn spend(&self, project: &OpenedProject, counts: bool) -> Result<bool> {
        let request = project.cx.write_request(project.cx.now(), project.cx.lock_wait()?);
        let text = Self { went_on: true, times: self.times + u32::from(counts), ..self.clone() }.text();
        Ok(project.change_host_note(&request, &self.name, &mut |now| {
            let now = match now {
                Some(text) => Self::read(&self.name, &text)?,
                // Nothing was noted of the session before.
                None => Self { name: self.name.clone(), session: self.session.clone(), ..Self::default() },
            };
            if now == *self { Some(text.clone()) } else { None }
        })?)
    }

    /// Binds the session to the process of its host. What it left and whom it follows stay noted: they are forgotten when it
    /// has got everything.
    pub(in crate::runs) fn bound(self, cx: &Context, host: AgentHost) -> Result<Self> {
        let process = host.process(cx)?.map(|holder| holder.to_string());
        Ok(Self { process, at: Some(cx.now()), over: None, ..self })
    }
}

/// Notes that `session` was shown `brief`, or nothing. Returns whether that is another one than before.
///
/// # Errors
/// When it cannot be noted. Then it must not be shown with a prompt, or every prompt would show it.
pub(crate) fn note_shown(cx: &Context, host: AgentHost, session: &SessionId, brief: Option<&str>) -> Result<bool> {
    let project = cx.project()?;
    let note = HostNote::of(&project, host, session);
    let shown = brief.map(|brief| digest(brief.as_bytes()));
    let is_news = note.shown != shown;
    if is_news {
        HostNote { shown, ..note }.keep(&project)?;
    }
    Ok(is_news)
}

/// Notes a new prompt of `session`, and by which process the session lives: it may go on by itself once more.
///
/// # Errors
/// When it cannot be noted.
pub(in crate::runs) fn note_prompt(work: &OpenWork, host: AgentHost, session: &SessionId) -> Result<()> {
    let OpenWork { project, runs, .. } = work;
    let mut held = BTreeMap::new();
    for run in runs.open() {
        if run.session.as_ref() == Some(session) {
            held.insert(run.head.run_id.clone(), run.last_seq.unwrap_or_default());
        }
    }
    let seen = held.keys().take(RUNS).cloned().collect();
    let note = HostNote::of(project, host, session);
    // Without all of them the session does not go on by itself.
    let prompt = Some(held).filter(|held| held.len() <= RUNS && runs.passed_over == 0);
    // When the session began there may have been no project yet.
    let process = host.process(&project.cx)?.map(|holder| holder.to_string());
    let at = Some(project.cx.now());
    HostNote { at, process, over: None, held: seen, prompt, went_on: false, ..note }.keep(project)
}

/// Notes that `session` has ended, for a session that follows it.
///
/// # Errors
/// When it cannot be noted.
pub(crate) fn note_end(
    cx: &Context,
    host: AgentHost,
    session: &SessionId,
    left: &[EndedRun],
    reason: Option<&str>,
) -> Result<()> {
    let project = cx.project()?;
    let note = HostNote::of(&project, host, session);
    let mut left: Vec<_> = left.iter().map(|run| run.run_id.clone()).collect();
    // What it was to get back and did not get is still its own, and so is what it left if its end is reported twice.
    if note.follows.is_some() || note.over.is_some() {
        let mut owed = note.left.clone();
        owed.retain(|run| !left.contains(run));
        left.append(&mut owed);
    }
    left.truncate(RUNS);
    let over = if reason == Some("clear") { Over::Cleared } else { Over::Ended };
    HostNote { at: Some(cx.now()), left, ..note }.end(&project, over)
}

/// Whether a hook has noted before that `session` began.
pub(crate) fn has_begun(cx: &Context, host: AgentHost, session: &SessionId) -> Result<bool> {
    Ok(HostNote::of(&*cx.project()?, host, session).at.is_some())
}

/// Whether `session` is at work in another process than that of this hook: it was resumed there.
pub(crate) fn is_elsewhere(cx: &Context, host: AgentHost, session: &SessionId) -> Result<bool> {
    match HostNote::of(&*cx.project()?, host, session).holder() {
        Some(bound) if bound.liveness() == Liveness::Alive => Ok(host.process(cx)?.as_ref() != Some(&bound)),
        _ => Ok(false),
    }
}

/// Notes that a host has called a hook for `event`. Without a project, or when it cannot be noted, nothing happens.
pub(crate) fn note_call(cx: &Context, host: AgentHost, event: &str) {
    if let Ok(project) = cx.project() {
        let _ = project.overwrite_host_note(&call_note(host, event), &cx.now().to_string());
    }
}

/// When a host last called a hook for `event` in this project, as far as that is noted.
pub(crate) fn last_call(cx: &Context, host: AgentHost, event: &str) -> Option<Timestamp> {
    cx.project().ok()?.host_note(&call_note(host, event))?.trim().parse().ok()
}

fn call_note(host: AgentHost, event: &str) -> String {
    format!("last-{}-{event}.txt", host.as_str())
}

/// The session of the host that started this process, as the host's hooks noted it; `None` if no hook noted one, or if
/// `FLOW_SESSION` names one.
///
/// A server that lives longer than a session needs it: the variables of its environment name the session in which it was
/// started.
#[cfg(feature = "mcp")]
#[must_use]
pub(crate) fn session_of_host(cx: &Context) -> Option<SessionId> {
    if cx.env.names_session() {
        return None;
    }
    // A process of Codex may have several sessions; Codex names the session with each call.
    let mut notes = notes(&*cx.project().ok()?);
    notes.retain(|note| note.name.starts_with(AgentHost::ClaudeCode.as_str()));
    // The nearest host: it may itself run inside another one.
    Holder::ancestors().into_iter().find_map(|ancestor| {
        let own = notes.iter().filter(|note| note.holder().as_ref() == Some(&ancestor));
        own.max_by(|a, b| a.by_age(b))?.session()
    })
}

/// Adds a line to the log of trouble that hooks had. Where the project's own log cannot be written, because flow refuses the
/// project for instance, the user's log says so once. Without a project, or when neither can be written, nothing happens.
pub(crate) fn log_hook(cx: &Context, what: &str) {
    let project = match cx.project() {
        Ok(project) => project,
        Err(Error::NoProject { .. }) => return,
        Err(error) => {
            let place = cx.search_from().unwrap_or_default();
            let why = format!("hooks say nothing in {}: {}", place.display(), error.one_line());
            return log_once(cx, &in_a_line(&why));
        }
    };
    let what = in_a_line(what);
    if let Err(error) = project.log_hook(&format!("{} {what}\n", cx.now())) {
        let why = format!("{}: {what}; its own log cannot be written: {}", project.root().display(), error.one_line());
        log_once(cx, &in_a_line(&why));
    }
}

fn in_a_line(what: &str) -> String {
    what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE).collect()
}

/// Longest line of the log, in characters.
const LINE: usize = 500;
