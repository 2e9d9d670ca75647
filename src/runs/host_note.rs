//! Notes about the sessions of agents' hosts, in the project's cache. Hooks keep them; nothing depends on them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::codec::digest;
use crate::host::{AgentHost, Holder, Liveness};
use crate::model::{RunId, Seq, SessionId, Timestamp};
use crate::runs::error::Result;
use crate::store::Project;

/// A note about a session: `.flow/.cache/hosts/<host>-<digest of the session>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HostNote {
    #[serde(skip)]
    pub(in crate::runs) name: String,
    pub(in crate::runs) session: String,
    /// The process that lives as long as the session, as a [`Holder`].
    pub(in crate::runs) process: Option<String>,
    /// When the session began, was prompted, or ended last.
    pub(in crate::runs) at: Option<Timestamp>,
    /// The runs that the session held when it ended.
    pub(in crate::runs) left: Vec<RunId>,
    /// Whose runs the session is to get besides those that it left, and has not got yet: those of the one before it, or only
    /// its own when it is resumed.
    pub(in crate::runs) follows: Option<String>,
    /// How it ended, if it did.
    pub(in crate::runs) over: Option<Over>,
    /// The digest of the brief that was shown last.
    pub(in crate::runs) shown: Option<String>,
    /// The runs that the session was seen to hold at its last prompt.
    pub(in crate::runs) held: Vec<RunId>,
    /// The runs that the session held at its last prompt, with their positions. None before the first prompt.
    pub(in crate::runs) prompt: Option<BTreeMap<RunId, Seq>>,
    /// Whether the session has gone on by itself since the last prompt.
    pub(in crate::runs) went_on: bool,
    /// How often it has gone on by itself.
    pub(in crate::runs) times: u32,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::runs) enum Over {
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
pub(in crate::runs) const RUNS: usize = 16;
/// The highest number of notes. The oldest are deleted when a session begins.
const NOTES: usize = 100;

impl HostNote {
    /// The note about `session`; an empty one if there is none, or if it is about another session.
    pub(crate) fn of(project: &Project, host: AgentHost, session: &SessionId) -> Self {
        let name = format!("{}-{}{ENDS}", host.as_str(), digest(session.as_str().as_bytes()));
        let kept = match project.host_note(&name).and_then(|text| Self::read(&name, &text)) {
            Some(note) if note.session == session.as_str() => note,
            _ => Self::default(),
        };
        Self { name, session: session.to_string(), ..kept }
    }

    pub(in crate::runs) fn read(name: &str, text: &str) -> Option<Self> {
        Some(Self { name: name.to_owned(), ..serde_json::from_str(text).ok()? })
    }

    pub(in crate::runs) fn keep(&self, project: &Project) -> Result<()> {
        Ok(project.keep_host_note(&self.name, &self.text())?)
    }

    pub(in crate::runs) fn holder(&self) -> Option<Holder> {
        self.process.as_ref()?.parse().ok()
    }

    pub(in crate::runs) fn session(&self) -> Option<SessionId> {
        SessionId::new(self.session.as_str()).ok()
    }

    /// The session whose conversation was cleared before this one began.
    ///
    /// Claude Code has one session at a time in a process. A process of Codex may have several. If the end of the cleared
    /// one was not reported, as Codex 0.169.0 does not, it is known only if one session is left that could be it.
    pub(in crate::runs) fn predecessor(&self, project: &Project, host: AgentHost) -> Option<Self> {
        let mut others = notes(project);
        others.retain(|note| note.process.is_some() && note.process == self.process && note.name != self.name);
        // One that another session has followed, or is to follow, is not the last: the clock may have been put back.
        let mut followed = Vec::new();
        for note in &others {
            // A session that is resumed follows only itself.
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
    pub(in crate::runs) fn end(self, project: &Project, over: Over) -> Result<()> {
        Self { over: Some(over), ..self }.keep(project)
    }

    pub(in crate::runs) fn by_age(&self, other: &Self) -> Ordering {
        (self.at, &self.name).cmp(&(other.at, &other.name))
    }

    pub(in crate::runs) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Deletes what killed hooks left, and the oldest notes if there are too many, but none about a session that may be alive: its
/// process is not dead, and no other session has followed it there.
pub(in crate::runs) fn prune(project: &Project, now: Timestamp) {
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

pub(in crate::runs) fn notes(project: &Project) -> Vec<HostNote> {
    AgentHost::ALL.into_iter().flat_map(|host| notes_of(project, host)).collect()
}

fn notes_of(project: &Project, host: AgentHost) -> Vec<HostNote> {
    let mut names = project.host_note_names(ENDS);
    let beginning = format!("{}-", host.as_str());
    names.retain(|name| name.starts_with(&beginning));
    names.iter().filter_map(|name| HostNote::read(name, &project.host_note(name)?)).collect()
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

/// The process to which a hook has bound `session`, unless it has ended. A session's commands may run in a sandbox from
/// which that process is not visible; hooks run outside of it.
pub(in crate::runs) fn bound_process(project: &Project, session: &SessionId) -> Option<Holder> {
    let bound = AgentHost::ALL.into_iter().filter_map(|host| HostNote::of(project, host, session).holder());
    bound.into_iter().find(|holder| holder.liveness() != Liveness::Dead)
}

/// The session that a hook of the host with this program has bound to `process` last, unless it is over.
pub(in crate::runs) fn session_of_process(project: &Project, program: &str, process: &Holder) -> Option<SessionId> {
    let host = AgentHost::ALL.into_iter().find(|host| host.program() == program)?;
    let mut own = notes_of(project, host);
    own.retain(|note| note.over.is_none() && note.holder().as_ref() == Some(process));
    own.into_iter().max_by(HostNote::by_age)?.session()
}

/// Whether `session`, which claimed a run in the process `holder`, is known to be dead. It may have gone on in another
/// process since then, and its process may live longer than it.
pub(in crate::runs) fn is_dead(project: &Project, session: &SessionId, holder: Option<&Holder>) -> bool {
    if holder.is_some_and(|holder| holder.liveness() == Liveness::Dead) {
        return bound_process(project, session).is_none();
    }
    is_over(project, session)
}

/// Whether a hook has noted that `session` is over, and none since that it goes on. Its end may be missing in the log of a run
/// that another process was writing then.
fn is_over(project: &Project, session: &SessionId) -> bool {
    let mut notes = AgentHost::ALL.map(|host| HostNote::of(project, host, session)).to_vec();
    notes.retain(|note| note.process.is_some() || note.over.is_some());
    !notes.is_empty() && notes.iter().all(|note| note.over.is_some())
}

/// Whether `session`, which claimed a run in the process `holder`, is known to live. It may have gone on in another process
/// since then.
pub(in crate::runs) fn is_alive(project: &Project, session: &SessionId, holder: Option<&Holder>) -> bool {
    let bound = bound_process(project, session);
    [holder, bound.as_ref()].into_iter().flatten().any(|process| process.liveness() == Liveness::Alive)
}
