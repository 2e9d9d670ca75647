//! `hooks doctor`: why a hook may not run, or run twice.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::ask::{LoginFlow, codex_hooks, login_flow};
use crate::hooks::settings::command::{self, Call};
use crate::hooks::settings::error::{Error, Result, STRICT, WHOLE, suggest};
use crate::hooks::settings::file::{SettingsFile, text_of};
use crate::hooks::settings::host::{HostChoice, SettingsScope, project_root};
use crate::hooks::settings::look::{Found, FoundHandler, look};
use crate::hooks::settings::managed;
use crate::hooks::settings::obstacle;
use crate::hooks::settings::rules;
use crate::hooks::settings::script::Script;
use crate::hooks::settings::status::all;
use crate::model::{Explain, Help, Timestamp};
use crate::runs::{self, Context};

/// What to examine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HooksDoctorRequest {
    /// The hosts; all unless one is given.
    pub host: HostChoice,
}

/// What is wrong with flow's hooks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HooksDoctorReport {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// What is wrong.
    pub findings: Vec<HooksFinding>,
    /// When hosts reported their last events in this project, as far as it is known.
    pub last_calls: Vec<LastCall>,
    /// Whether Codex was asked which hooks it trusts; false if it is not installed or did not answer.
    pub asked_codex: bool,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HooksFinding {
    /// Stable code, documented in `docs/hosts.md`.
    pub code: &'static str,
    /// The host; none if it concerns all of them.
    pub host: Option<AgentHost>,
    /// The file; none if it is about no file.
    pub path: Option<PathBuf>,
    /// Line, from 1, when it is known.
    pub line: Option<usize>,
    /// One sentence: what is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Help,
}

/// The last time at which a host reported an event.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LastCall {
    /// The host.
    pub host: AgentHost,
    /// The event, as `flow hook` names it.
    pub event: String,
    /// When.
    pub at: Timestamp,
}

/// Examines flow's hooks in the settings of hosts. Asks a login shell for flow, and Codex for the hooks that it trusts;
/// changes nothing.
///
/// # Errors
/// If the files cannot be found. One that cannot be read is a finding.
pub fn doctor(cx: &Context, request: &HooksDoctorRequest) -> Result<HooksDoctorReport> {
    let mut examined =
        Examined { cx, findings: Vec::new(), asked_codex: false, is_installed: false, asks_login: false };
    for host in request.host.hosts_with_files(cx) {
        examined.host(host, all(cx, &[host], None)?);
    }
    if !examined.is_installed {
        examined.nothing();
    }
    // There hooks say nothing, and cannot even write into their log.
    if let Err(error @ runs::Error::Store(_)) = cx.project() {
        let (message, help) = (error.one_line(), error.problem().help.unwrap_or_default());
        examined.findings.push(HooksFinding {
            code: "project_refused",
            host: None,
            path: None,
            line: None,
            message,
            help,
        });
    }
    if examined.asks_login
        && let Some(found) = login_flow(cx, &examined.directory())
    {
        examined.login(&found);
    }
    let Examined { findings, asked_codex, .. } = examined;
    let last_calls = last_calls(cx, request.host);
    Ok(HooksDoctorReport { ok: findings.is_empty(), findings, last_calls, asked_codex })
}

struct Examined<'c> {
    cx: &'c Context,
    findings: Vec<HooksFinding>,
    asked_codex: bool,
    is_installed: bool,
    /// Whether hooks of flow run in a login shell.
    asks_login: bool,
}

/// A file with its handlers.
type Looked = (SettingsFile, Found);

impl Examined<'_> {
    fn add(
        &mut self,
        code: &'static str,
        host: AgentHost,
        message: impl Into<String>,
        help: Help,
    ) -> &mut HooksFinding {
        let finding = HooksFinding { code, host: Some(host), path: None, line: None, message: message.into(), help };
        self.findings.push(finding);
        self.findings.last_mut().expect("just added")
    }

    fn at(&mut self, code: &'static str, place: (&SettingsFile, &FoundHandler), message: &str, help: Help) {
        let (settings, handler) = place;
        let message = format!("the handler of {} {message}", handler.event);
        let finding = self.add(code, settings.host, message, help);
        finding.path = Some(settings.file.path.clone());
        finding.line = Some(handler.place.line);
    }

    fn directory(&self) -> PathBuf {
        project_root(self.cx).ok().or_else(|| self.cx.env.cwd.clone()).unwrap_or_else(|| "/".into())
    }

    fn host(&mut self, host: AgentHost, files: Vec<SettingsFile>) {
        let mut looked: Vec<Looked> = Vec::new();
        for settings in files {
            if let Some(found) = self.read(&settings) {
                looked.push((settings, found));
            }
        }
        let has_hooks = looked.iter().any(|(_, found)| found.has_hooks()) || obstacle::plugin(self.cx, host).is_some();
        self.is_installed |= has_hooks;
        self.asks_login |= has_hooks && host == AgentHost::Codex;
        self.turned_off(host, &looked);
        if has_hooks {
            self.managed(host);
        }
        for (settings, found) in &looked {
            self.handlers(settings, found);
            if found.script == Some(Script::Other) {
                let message = "the script was written by another version of flow";
                let finding =
                    self.add("other_command", host, message, Help::from("bring it up to date: ") + install(settings));
                finding.path = Some(settings.file.path.clone());
            }
        }
        self.twice(host, &looked);
        if host == AgentHost::Codex {
            self.codex(&looked);
        }
    }

    /// What the file has, or a finding why its host does not read it.
    fn read(&mut self, settings: &SettingsFile) -> Option<Found> {
        let (code, line, message, help) = match settings.file.read() {
            Ok(text) => {
                let fault = match look(settings, &text?) {
                    Ok(found) => return Some(found),
                    Err(fault) => fault,
                };
                let is_whole = [STRICT, WHOLE].contains(&fault.help);
                let more = if is_whole { "; the host ignores the whole file" } else { "" };
                let help = Help::from(format!("{}{more}", fault.help));
                let line = Some(fault.place.line);
                ("invalid_settings", line, settings.invalid(fault).problem().message, help)
            }
            Err(error) => {
                let problem = error.problem();
                let help = problem.help.unwrap_or_else(|| "make it a plain file that you can read".into());
                ("unreadable_settings", None, problem.message, help)
            }
        };
        let finding = self.add(code, settings.host, message, help);
        (finding.path, finding.line) = (Some(settings.file.path.clone()), line);
        None
    }

    fn nothing(&mut self) {
        let (message, help) = ("no host has hooks of flow".to_owned(), suggest("install").into());
        self.findings.push(HooksFinding { code: "not_installed", host: None, path: None, line: None, message, help });
    }

    fn turned_off(&mut self, host: AgentHost, looked: &[Looked]) {
        for (settings, _) in looked.iter().filter(|(_, found)| found.all_off) {
            let message = "\"disableAllHooks\" turns all hooks off".to_owned();
            let finding = self.add("hooks_disabled", host, message, "remove it from the settings".into());
            finding.path = Some(settings.file.path.clone());
        }
        let is_off = |config: crate::codec::TomlText| config.flag(&["features", "hooks"]) == Some(false);
        if host == AgentHost::Codex && obstacle::codex_config(self.cx).is_some_and(is_off) {
            let message = "`hooks = false` in config.toml turns all hooks off";
            self.add("hooks_disabled", host, message, "remove it from `[features]`".into());
        }
    }

    /// What an administrator has decided about hooks.
    fn managed(&mut self, host: AgentHost) {
        for path in host.hooks().managed {
            let path = Path::new(path);
            let Some(text) = text_of(self.cx, path) else { continue };
            let Some((code, message)) = managed::verdict(path, &text) else { continue };
            let finding = self.add(code, host, message, "ask who administers this machine".into());
            finding.path = Some(path.to_owned());
        }
    }

    fn handlers(&mut self, settings: &SettingsFile, found: &Found) {
        let again = || Help::from("bring it up to date: ") + install(settings);
        for handler in found.handlers.iter().filter(|handler| handler.call.is_some()) {
            let here = (settings, handler);
            if handler.call == Some(Call::SessionEnd) {
                self.at("old_handler", here, "calls `flow session-end`, as earlier versions did", again());
            } else if !handler.has_timeout(settings.host) {
                self.at("other_timeout", here, "has another time limit than 3 seconds", again());
            } else if !handler.is_current(settings.host) {
                self.at("other_command", here, "has a command line of another version of flow", again());
            }
            if settings.host == AgentHost::Codex && handler.is_before_others {
                let help = "put it behind the others, and trust them again".into();
                let why = "stands before others: Codex loses its trust in those when it goes";
                self.at("before_others", here, why, help);
            }
        }
        self.missing(settings, found);
    }

    fn missing(&mut self, settings: &SettingsFile, found: &Found) {
        let ours = || found.handlers.iter().filter(|handler| handler.call.is_some());
        let events = settings.host.hooks().events.iter().map(|event| event.0);
        let missing = events.filter(|event| !ours().any(|handler| handler.serves(event)));
        let shown = missing.map(|event| match ours().find(|handler| handler.event == event) {
            Some(handler) => {
                format!("{event} (only with the matcher {:?})", handler.matcher.as_deref().unwrap_or_default())
            }
            None => event.to_owned(),
        });
        let missing: Vec<_> = shown.collect();
        if ours().next().is_some() && !missing.is_empty() {
            let message = format!("no handler of flow for {}", missing.join(", "));
            let help = Help::from("add it: ") + install(settings);
            self.add("handler_missing", settings.host, message, help).path = Some(settings.file.path.clone());
        }
    }

    /// Events that flow would answer more than once.
    fn twice(&mut self, host: AgentHost, looked: &[Looked]) {
        let every: Vec<_> = looked
            .iter()
            .flat_map(|(settings, found)| found.handlers.iter().map(move |handler| (settings, handler)))
            .collect();
        let plugin = obstacle::plugin(self.cx, host);
        let mut seen: Vec<&FoundHandler> = Vec::new();
        for (settings, handler) in every {
            let by_plugin = plugin.is_some() && host.hooks().events.iter().any(|event| event.0 == handler.event);
            let other = seen.iter().find(|other| other.meets(handler));
            if by_plugin || other.is_some() {
                let help = keep_one(settings, handler, other.copied());
                let other = if by_plugin { "the plugin" } else { "another handler" };
                self.at("twice", (settings, handler), &format!("calls flow, and so does {other}"), help);
            }
            seen.push(handler);
        }
    }

    fn codex(&mut self, looked: &[Looked]) {
        let has_any = looked.iter().any(|(_, found)| !found.handlers.is_empty());
        for (settings, found) in looked.iter().filter(|(_, found)| !found.handlers.is_empty()) {
            if let Some(Error::HooksInConfig { path, place }) = obstacle::hooks_in_config(self.cx, settings)
                && !found.handlers.is_empty()
            {
                let message = "hooks are configured here as well as in hooks.json".to_owned();
                let help = "move them into hooks.json".into();
                let finding = self.add("hooks_in_config", AgentHost::Codex, message, help);
                (finding.path, finding.line) = (Some(path), Some(place.line));
            }
        }
        if !has_any && obstacle::plugin(self.cx, AgentHost::Codex).is_none() {
            return;
        }
        let Some(hooks) = codex_hooks(&self.directory()) else { return };
        self.asked_codex = true;
        for hook in hooks.iter().filter(|hook| command::call(&hook.command).is_some()) {
            let trust = match hook.trust.as_str() {
                "trusted" | "managed" if hook.is_on => continue,
                "trusted" | "managed" => "is turned off".to_owned(),
                "modified" => "was changed since it was trusted, so Codex skips it".to_owned(),
                _ => "is not trusted, so Codex skips it".to_owned(),
            };
            let message = format!("the hook {} {trust}", hook.key);
            let help = rules::trust(AgentHost::Codex, SettingsScope::User);
            self.add("not_trusted", AgentHost::Codex, message, Help::from(help));
        }
    }

    fn login(&mut self, found: &LoginFlow) {
        let own = env!("CARGO_PKG_VERSION");
        let (code, message) = match found {
            LoginFlow::Missing => ("flow_missing", "a login shell does not find flow".to_owned()),
            LoginFlow::Version(Some(version)) if numbers(version) < numbers(own) => {
                ("flow_older", format!("a login shell finds flow {version}, and this is {own}"))
            }
            LoginFlow::Version(_) => return,
        };
        let help =
            Help::from("correct PATH in the profile of the shell; Codex runs hooks and commands in a login shell");
        self.add(code, AgentHost::Codex, message, help);
    }
}

/// How to get rid of one of two handlers. `flow hooks uninstall` leaves those that flow did not write.
fn keep_one(settings: &SettingsFile, handler: &FoundHandler, other: Option<&FoundHandler>) -> Help {
    if handler.call.is_none() {
        return "remove this handler by hand".into();
    }
    match other {
        Some(other) if other.call.is_none() => "remove the other handler by hand".into(),
        Some(other) if other.matcher != handler.matcher => "remove the handler with the matcher by hand".into(),
        _ => {
            let remove = suggest("uninstall").option("host", settings.host.as_str());
            Help::from("keep one of them: ") + remove.option("scope", settings.scope.as_str())
        }
    }
}

fn install(settings: &SettingsFile) -> crate::model::Suggestion {
    suggest("install").option("host", settings.host.as_str()).option("scope", settings.scope.as_str())
}

/// The numbers of a version, for comparison.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// The events that flow answers, as its command line names them.
const EVENTS: [&str; 5] = ["session-start", "user-prompt-submit", "session-end", "pre-compact", "stop"];

fn last_calls(cx: &Context, hosts: HostChoice) -> Vec<LastCall> {
    let mut calls = Vec::new();
    for host in hosts.hosts_with_files(cx) {
        for event in EVENTS {
            let at = runs::last_call(cx, host, event);
            calls.extend(at.map(|at| LastCall { host, event: event.to_owned(), at }));
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("0.9.0") < numbers("0.10.0") && numbers("0.1.0-rc.1") == numbers("0.1.0"));
    }
}
