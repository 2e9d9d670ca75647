//! What flow remembers about the sessions of agents' hosts, in the project's cache. Hooks keep it; nothing depends on it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::codec::digest;
use crate::host::{Agent, AgentHost, Holder, Liveness};
use crate::model::{Explain as _, RunId, Seq, SessionId, Timestamp};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::work::OpenWork;
use crate::runs::session_end::EndedRun;
use crate::runs::user_state::log_once;
use crate::store::Project;

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

/// A note about a session: `.flow/.cache/hosts/<host>-<digest of the session>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HostNote {
    #[serde(skip)]
    name: String,
    session: String,
    /// The process that lives as long as the session, as a [`Holder`].
    process: Option<String>,
    /// When the session began, was prompted, or ended last.
    pub(super) at: Option<Timestamp>,
    /// The runs that the session held when it ended.
    pub(super) left: Vec<RunId>,
    /// Whose runs the session is to get besides those that it left, and has not got yet: those of the one before it, or only
    /// its own when it is resumed.
    pub(super) follows: Option<String>,
    /// How it ended, if it did.
    over: Option<Over>,
    /// The digest of the brief that was shown last.
    shown: Option<String>,
    /// The runs that the session was seen to hold at its last prompt.
    held: Vec<RunId>,
    /// The runs that the session held at its last prompt, with their positions. None before the first prompt.
    pub(super) prompt: Option<BTreeMap<RunId, Seq>>,
    /// Whether the session has gone on by itself since the last prompt.
    pub(super) went_on: bool,
    /// How often it has gone on by itself.
    pub(super) times: u32,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Over {
    /// Its host said so.
    Ended,
    /// Its host said that the conversation was cleared.
    Cleared,
    /// Another session has followed it, and has its runs.
    Followed,
}

/// What the name of a note about a session ends with.
const ENDS: &str = ".json";
/// The highest number of runs in a note; the file is small.
const RUNS: usize = 16;
/// The highest number of notes. The oldest are deleted when a session begins.
const NOTES: usize = 100;

impl HostNote {
    /// The note about `session`; an empty one if there is none, or if it is about another session.
    pub(crate) fn of(project: &Project, host: AgentHost, session: &SessionId) -> Self {
        let name = format!("{}-{}{ENDS}", host.as_str(), digest(session.as_str().as_bytes()));
        let kept = project.host_note(&name).and_then(|text| Self::read(&name, &text));
        let kept = kept.filter(|note| note.session == session.as_str()).unwrap_or_default();
        Self { name, session: session.to_string(), ..kept }
    }

    fn read(name: &str, text: &str) -> Option<Self> {
        Some(Self { name: name.to_owned(), ..serde_json::from_str(text).ok()? })
    }

    pub(super) fn keep(&self, project: &Project) -> Result<()> {
        Ok(project.keep_host_note(&self.name, &self.text())?)
    }

    /// Notes that the session goes on by itself once more, unless another hook has changed the note since it was read.
    /// Returns whether it was noted.
    pub(super) fn spend(&self, cx: &Context, project: &Project) -> Result<bool> {
        let request = cx.write_request(cx.now(), cx.lock_wait()?);
        let text = Self { went_on: true, times: self.times + 1, ..self.clone() }.text();
        let is_same = |now: Option<String>| now.and_then(|now| Self::read(&self.name, &now)).as_ref() == Some(self);
        Ok(project.change_host_note(&request, &self.name, &mut |now| is_same(now).then(|| text.clone()))?)
    }

    fn holder(&self) -> Option<Holder> {
        self.process.as_ref()?.parse().ok()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        SessionId::new(self.session.as_str()).ok()
    }

    /// Binds the session to the process of its host. What it left and whom it follows stay noted: they are forgotten when it
    /// has got everything.
    pub(super) fn bound(self, cx: &Context, host: AgentHost) -> Result<Self> {
        let process = host.process(cx)?.map(|holder| holder.to_string());
        Ok(Self { process, at: Some(cx.now()), over: None, ..self })
    }

    /// The session whose conversation was cleared before this one began.
    ///
    /// Claude Code has one session at a time in a process. A process of Codex may have several. If the end of the cleared
    /// one was not reported, as Codex 0.169.0 does not, it is known only if one session is left that could be it.
    pub(super) fn predecessor(&self, project: &Project, host: AgentHost) -> Option<Self> {
        let same = |note: &Self| note.process.is_some() && note.process == self.process && note.name != self.name;
        let mut others: Vec<_> = notes(project).into_iter().filter(same).collect();
        // One that another session has followed, or is to follow, is not the last: the clock may have been put back.
        let mut followed = Vec::new();
        for note in &others {
            followed.extend(note.follows.clone().filter(|follows| *follows != note.session));
        }
        others.retain(|note| note.over != Some(Over::Followed) && !followed.contains(&note.session));
        if host == AgentHost::Codex {
            let is_cleared = others.iter().any(|note| note.over == Some(Over::Cleared));
            others.retain(|note| note.over == is_cleared.then_some(Over::Cleared));
            if !is_cleared && others.len() > 1 {
                return None;
            }
        }
        others.into_iter().max_by(Self::by_age)
    }

    /// Notes that the session is over.
    pub(super) fn end(self, project: &Project, over: Over) -> Result<()> {
        Self { over: Some(over), ..self }.keep(project)
    }

    fn by_age(&self, other: &Self) -> Ordering {
        (self.at, &self.name).cmp(&(other.at, &other.name))
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Deletes what killed hooks left, and the oldest notes if there are too many, but none about a session that may be alive: its
/// process is not dead, and no other session has followed it there.
pub(super) fn prune(project: &Project, now: Timestamp) {
    project.sweep_cache(now);
    // Reading all notes takes longer than all else that a hook does.
    if project.host_note_names(ENDS).len() <= NOTES {
        return;
    }
    let mut notes = notes(project);
    notes.sort_by_key(|note| note.at);
    for note in &notes[..notes.len().saturating_sub(NOTES)] {
        let is_followed = note.over == Some(Over::Followed);
        if is_followed || note.holder().is_none_or(|holder| holder.liveness() == Liveness::Dead) {
            project.forget_host_note(&note.name);
        }
    }
}

fn notes(project: &Project) -> Vec<HostNote> {
    AgentHost::ALL.into_iter().flat_map(|host| notes_of(project, host)).collect()
}

fn notes_of(project: &Project, host: AgentHost) -> Vec<HostNote> {
    let mut names = project.host_note_names(ENDS);
    names.retain(|name| name.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with('-')));
    names.iter().filter_map(|name| HostNote::read(name, &project.host_note(name)?)).collect()
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
pub(super) fn note_prompt(cx: &Context, work: &OpenWork, host: AgentHost, session: &SessionId) -> Result<()> {
    let OpenWork { project, runs, .. } = work;
    let held = runs.open().filter(|run| run.session.as_ref() == Some(session));
    let held: BTreeMap<_, _> = held.map(|run| (run.head.run_id.clone(), run.last_seq.unwrap_or_default())).collect();
    let seen = held.keys().take(RUNS).cloned().collect();
    let note = HostNote::of(project, host, session);
    // Without all of them the session does not go on by itself.
    let prompt = Some(held).filter(|held| held.len() <= RUNS && runs.passed_over == 0);
    // When the session began there may have been no project yet.
    let process = host.process(cx)?.map(|holder| holder.to_string());
    let at = Some(cx.now());
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
    let owed = note.left.iter().filter(|_| note.follows.is_some() || note.over.is_some());
    left.extend(owed.filter(|run| !left.contains(run)).cloned().collect::<Vec<_>>());
    left.truncate(RUNS);
    let over = if reason == Some("clear") { Over::Cleared } else { Over::Ended };
    HostNote { at: Some(cx.now()), left, ..note }.end(&project, over)
}

/// The runs that the session held at its last prompt, or when it ended, as far as hooks noted them.
pub(in crate::runs) fn noted_runs(project: &Project, session: &SessionId) -> Vec<RunId> {
    let mut runs = Vec::new();
    for host in AgentHost::ALL {
        let note = HostNote::of(project, host, session);
        runs.extend(note.held);
        runs.extend(note.left);
    }
    runs
}

/// Whether a hook has noted before that `session` began.
pub(crate) fn has_begun(cx: &Context, host: AgentHost, session: &SessionId) -> Result<bool> {
    Ok(HostNote::of(&cx.project()?, host, session).at.is_some())
}

/// The process to which a hook has bound `session`, unless it has ended. A session's commands may run in a sandbox from
/// which that process is not visible; hooks run outside of it.
pub(super) fn bound_process(project: &Project, session: &SessionId) -> Option<Holder> {
    let bound = AgentHost::ALL.into_iter().filter_map(|host| HostNote::of(project, host, session).holder());
    bound.into_iter().find(|holder| holder.liveness() != Liveness::Dead)
}

/// The session that a hook of the host with this program has bound to `process` last, unless it is over.
pub(super) fn session_of_process(project: &Project, program: &str, process: &Holder) -> Option<SessionId> {
    let host = AgentHost::ALL.into_iter().find(|host| host.program() == program)?;
    let mut own = notes_of(project, host);
    own.retain(|note| note.over.is_none() && note.holder().as_ref() == Some(process));
    own.into_iter().max_by(HostNote::by_age)?.session()
}

/// Whether `session`, which claimed a run in the process `holder`, is known to be dead. It may have gone on in another
/// process since then.
pub(super) fn is_dead(project: &Project, session: &SessionId, holder: Option<&Holder>) -> bool {
    holder.is_some_and(|holder| holder.liveness() == Liveness::Dead) && bound_process(project, session).is_none()
}

/// Whether `session` is at work in another process than that of this hook: it was resumed there.
pub(crate) fn is_elsewhere(cx: &Context, host: AgentHost, session: &SessionId) -> Result<bool> {
    let bound = HostNote::of(&cx.project()?, host, session).holder();
    let bound = bound.filter(|bound| bound.liveness() == Liveness::Alive);
    Ok(bound.is_some() && bound != host.process(cx)?)
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
    let mut notes = notes(&cx.project().ok()?);
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
