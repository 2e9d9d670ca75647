//! By what a process can tell that an agent calls it: variables that hosts of agents set for their commands, and the names of
//! hosts among its ancestors.
//!
//! What is decided wrongly for an agent opens a gate, so in doubt it is an agent. Settings that people export, such as the
//! name of a model, and an editor's terminal with a person in it say nothing. No variable makes a caller a person.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use crate::host::known::{ANY, AgentHost, HOSTS, Host, Sign, all_hooks};
use crate::host::process::{Holder, holders_of, nearest};
use crate::host::setting::Setting;
use crate::model::SessionId;

impl Host {
    /// Its process: the one with this number, an ancestor with a name of it, or the nearest ancestor that is not a shell or
    /// launcher.
    fn process(&self, pid: Option<u32>) -> Option<Holder> {
        if let Some((_, process)) = nearest(&[(pid, self.programs)])
            && let Some(named) = holders_of([process]).pop()
        {
            return Some(named);
        }
        Holder::current(pid)
    }
}

/// Variables of flow's own: a driver's commands and sessions belong to agents.
const OWN: &[&str] = &["FLOW_DRIVEN_RUN", "FLOW_SESSION", "FLOW_RUN_TOKEN"];

/// Variables that an editor's terminal has as well, each with another that only its agent sets.
const PAIRS: &[(&str, &str)] = &[("TERM_PROGRAM=zed", "PAGER=cat"), ("TERM_PROGRAM=vscode", "GIT_PAGER=cat")];
const EXACTLY: &[&str] = &["CURSOR_EXTENSION_HOST_ROLE=agent-exec", "REPLIT_MODE=assistant"];
/// Cursor's agent pages through a pipe.
const CURSOR: (&str, &str) = ("CURSOR_TRACE_ID", "PAGER=head -n 10000 | cat");

/// An agent that calls, as the environment shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The host as which it was recognised.
    pub host: &'static Host,
    /// The variable that shows it, or its process.
    pub sign: String,
    /// The session that its host names.
    pub session: Option<Setting>,
    /// The process that its host names.
    pub pid: Option<Setting>,
}

impl Agent {
    /// The agent that the variables show, if there is one.
    pub fn shown_by(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<Self> {
        let mut shown: Vec<Self> = Vec::new();
        for host in HOSTS {
            let Some(sign) = first_set(host.variables, lookup) else { continue };
            // Ids are used only if they are valid, because flow did not define them.
            let session = first_valid::<SessionId>(&host.variables[..host.ids], lookup);
            let pid = first_valid::<u32>(host.pid.as_slice(), lookup);
            shown.push(Self { host, sign, session, pid });
        }
        if shown.is_empty() {
            let sign = convention(lookup)?;
            return Some(Self { host: &ANY, sign, session: None, pid: None });
        }
        if shown.len() == 1 {
            return shown.pop();
        }
        let processes: Vec<_> = shown.iter().map(|agent| (agent.pid(), agent.host.programs)).collect();
        // In Codex's sandbox none of these processes is visible; it comes first in the table.
        let nearest = nearest(&processes).map_or(0, |(at, _)| at);
        Some(shown.swap_remove(nearest))
    }

    /// The host of agents among the ancestors of this process, if there is one.
    #[must_use]
    pub fn above() -> Option<Self> {
        let processes: Vec<_> = HOSTS.iter().map(|host| (None, host.programs)).collect();
        let (at, process) = nearest(&processes)?;
        let host = &HOSTS[at];
        Some(Self { host, sign: format!("{} (process {})", host.name, process.pid), session: None, pid: None })
    }

    /// The process of its host: the one that it names, an ancestor with a name of it, or the nearest ancestor that is not a
    /// shell or launcher.
    #[must_use]
    pub fn process(&self) -> Option<Holder> {
        self.host.process(self.pid())
    }

    /// The process of the host whose program has this name: an ancestor with a name of it, or the nearest ancestor that is not
    /// a shell or launcher.
    #[must_use]
    pub fn process_of(name: &str) -> Option<Holder> {
        HOSTS.iter().find(|host| host.name == name)?.process(None)
    }

    fn pid(&self) -> Option<u32> {
        self.pid.as_ref()?.parse().ok()
    }
}

/// What hosts show to their hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSigns {
    /// The hosts that name a session.
    pub sessions: Vec<(AgentHost, SessionId)>,
    /// The hosts that show without one.
    pub others: Vec<AgentHost>,
}

impl HostSigns {
    pub(super) fn shown_by(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Self {
        let mut signs = Self::default();
        for hooks in all_hooks() {
            match hooks.sign {
                Sign::Variable(name) if Setting::of(name, lookup).is_some() => signs.others.push(hooks.host),
                Sign::Nothing | Sign::Variable(_) => {}
                Sign::Session(name) => {
                    if let Some(id) = Setting::of(name, lookup)
                        && let Ok(session) = id.parse()
                    {
                        signs.sessions.push((hooks.host, session));
                    }
                }
            }
        }
        signs
    }

    /// The host that calls a hook about `session`, as far as it shows.
    #[must_use]
    pub fn host(&self, session: Option<&SessionId>) -> Option<AgentHost> {
        match self.sessions.iter().find(|(_, named)| Some(named) == session) {
            Some((host, _)) => Some(*host),
            None => self.others.first().copied(),
        }
    }
}

/// The project that a host names to its hooks.
pub(super) fn project_of_host(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<PathBuf> {
    let dir = all_hooks().find_map(|hooks| Setting::of(hooks.project?, lookup))?;
    Some(dir.raw.into())
}

/// The directories of settings that variables of hosts name.
pub(super) fn homes(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Vec<(AgentHost, PathBuf)> {
    let mut homes = Vec::new();
    for hooks in all_hooks() {
        let Some((name, below)) = hooks.home.variable else { continue };
        let Some(dir) = Setting::of(name, lookup) else { continue };
        let dir = PathBuf::from(dir.raw);
        // Joining nothing would end the path in a slash.
        homes.push((hooks.host, if below.is_empty() { dir } else { dir.join(below) }));
    }
    homes
}

/// The variable by which a process shows that an agent began it, if there is one.
pub fn sign(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<String> {
    match Agent::shown_by(lookup) {
        Some(agent) => Some(agent.sign),
        None => first_set(OWN, lookup),
    }
}

/// What an agent shows by that has no variable of its own.
fn convention(lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<String> {
    if let Some(name) = first_set(ANY.variables, lookup) {
        return Some(name);
    }
    if let Some(pair) = EXACTLY.iter().find(|pair| is_exactly(pair, lookup)) {
        return Some((*pair).to_owned());
    }
    for (editor, pager) in PAIRS {
        if is_exactly(editor, lookup) && is_exactly(pager, lookup) {
            return Some(format!("{editor} with {pager}"));
        }
    }
    let (cursor, pager) = CURSOR;
    if is_exactly(pager, lookup) { first_set(&[cursor], lookup) } else { None }
}

/// Whether a variable has the value in `pair`, such as `PAGER=cat`.
fn is_exactly(pair: &'static str, lookup: &impl Fn(&'static str) -> Option<OsString>) -> bool {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    lookup(name).is_some_and(|given| given == value)
}

/// The first of these variables that is set.
fn first_set(names: &[&'static str], lookup: &impl Fn(&'static str) -> Option<OsString>) -> Option<String> {
    let name = names.iter().find(|name| Setting::of(name, lookup).is_some())?;
    Some((*name).to_owned())
}

/// The first of these variables that is set to a `T`.
fn first_valid<T: FromStr<Err: Display>>(
    names: &[&'static str],
    lookup: &impl Fn(&'static str) -> Option<OsString>,
) -> Option<Setting> {
    let mut set = names.iter().filter_map(|name| Setting::of(name, lookup));
    set.find(|setting| setting.parse::<T>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(variables: &[(&str, &str)]) -> Option<String> {
        super::sign(&|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn every_host_shows_by_its_own_variable() {
        for name in HOSTS.iter().chain([&ANY]).flat_map(|host| host.variables).chain(OWN) {
            assert_eq!(sign(&[(name, "1")]).as_deref(), Some(*name));
            assert_eq!(sign(&[(name, "")]), None, "{name}");
        }
        for variables in [
            &[("CURSOR_EXTENSION_HOST_ROLE", "agent-exec")][..],
            &[("CURSOR_TRACE_ID", "x"), ("PAGER", "head -n 10000 | cat")],
            &[("TERM_PROGRAM", "zed"), ("PAGER", "cat")],
            &[("TERM_PROGRAM", "vscode"), ("GIT_PAGER", "cat")],
            &[("REPL_ID", "x"), ("REPLIT_MODE", "assistant")],
        ] {
            assert!(sign(variables).is_some(), "{variables:?}");
        }
    }

    #[test]
    fn settings_of_people_and_terminals_of_editors_say_nothing() {
        for variables in [
            &[][..],
            &[("TERM_PROGRAM", "zed")],
            &[("TERM_PROGRAM", "vscode")],
            &[("PAGER", "cat"), ("GIT_PAGER", "cat")],
            &[("CURSOR_TRACE_ID", "x"), ("PAGER", "less")],
            &[("REPL_ID", "x"), ("REPLIT_MODE", "workspace")],
            &[("COPILOT_MODEL", "x"), ("COPILOT_ALLOW_ALL", "1")],
            &[("ANTHROPIC_API_KEY", "x"), ("OPENAI_API_KEY", "x"), ("FLOW_RUN", "r")],
        ] {
            assert_eq!(sign(variables), None, "{variables:?}");
        }
    }
}
