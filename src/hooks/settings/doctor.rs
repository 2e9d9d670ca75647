//! `hooks doctor`: why a hook may not run, or run twice.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::DocumentFault;
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::ask::{LoginFlow, codex_hooks, login_flow};
use crate::hooks::settings::command::{self, Call};
use crate::hooks::settings::error::{STRICT, WHOLE, suggest};
use crate::hooks::settings::file::{SettingsFile, text_of};
use crate::hooks::settings::host::{HostChoice, SettingsScope};
use crate::hooks::settings::look::{FoundHandler, InstalledHooks, installed_hooks};
use crate::hooks::settings::managed;
use crate::hooks::settings::obstacle;
use crate::hooks::settings::rules;
use crate::hooks::settings::script::PluginScript;
use crate::hooks::settings::status::all;
use crate::model::{Explain, Help, Suggestion, Timestamp};
use crate::runs::{self, Context, Error, Result};

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
        Examination { cx, findings: Vec::new(), asked_codex: false, is_installed: false, asks_login: false };
    for host in request.host.hosts_with_files(cx) {
        examined.host(host, all(cx, &[host], None)?);
    }
    if !examined.is_installed {
        examined.add("not_installed", None, "no host has hooks of flow", Suggestion::flow("setup").into());
    }
    // There hooks say nothing, and cannot even write into their log.
    if let Err(error @ Error::Store(_)) = cx.project() {
        let help = error.problem().help.unwrap_or_default();
        examined.add("project_refused", None, error.one_line(), help);
    }
    // Asked once, and last: a shell may take as long as its profile likes.
    if examined.asks_login
        && let Some(found) = login_flow(cx, &examined.directory())
    {
        examined.login(&found);
    }
    let Examination { findings, asked_codex, .. } = examined;
    let last_calls = last_calls(cx, request.host);
    Ok(HooksDoctorReport { ok: findings.is_empty(), findings, last_calls, asked_codex })
}

struct Examination<'c> {
    cx: &'c Context,
    findings: Vec<HooksFinding>,
    asked_codex: bool,
    is_installed: bool,
    /// Whether hooks of flow run in a login shell.
    asks_login: bool,
}

/// A file with its handlers.
type SettingsWithHooks = (SettingsFile, InstalledHooks);

impl Examination<'_> {
    fn add(
        &mut self,
        code: &'static str,
        host: Option<AgentHost>,
        message: impl Into<String>,
        help: Help,
    ) -> &mut HooksFinding {
        self.findings.push(HooksFinding { code, host, path: None, line: None, message: message.into(), help });
        self.findings.last_mut().expect("just added")
    }

    fn add_to_file(&mut self, code: &'static str, settings: &SettingsFile, message: impl Into<String>, help: Help) {
        self.add(code, Some(settings.host), message, help).path = Some(settings.file.path.clone());
    }

    fn add_to_handler(&mut self, code: &'static str, place: (&SettingsFile, &FoundHandler), what: &str, help: Help) {
        let (settings, handler) = place;
        let message = format!("the handler of {} {what}", handler.event);
        let finding = self.add(code, Some(settings.host), message, help);
        finding.path = Some(settings.file.path.clone());
        finding.line = Some(handler.place.line);
    }

    /// Where other programs are asked: hooks of the project count there as well.
    fn directory(&self) -> PathBuf {
        match self.cx.root() {
            Ok(root) => root,
            Err(_) => self.cx.env.cwd.clone().unwrap_or_else(|| "/".into()),
        }
    }

    fn host(&mut self, host: AgentHost, files: Vec<SettingsFile>) {
        let mut looked: Vec<SettingsWithHooks> = Vec::new();
        for settings in files {
            if let Some(found) = self.read(&settings) {
                looked.push((settings, found));
            }
        }
        let has_hooks = looked.iter().any(|(_, found)| found.has_hooks()) || obstacle::plugin(self.cx, host).is_some();
        self.is_installed |= has_hooks;
        // Codex runs its hooks in a login shell, the others in the environment that they have.
        self.asks_login |= has_hooks && host == AgentHost::Codex;
        self.turned_off(host, &looked);
        // Without hooks of flow, what an administrator forbids changes nothing.
        if has_hooks {
            self.managed(host);
        }
        for (settings, found) in &looked {
            self.handlers(settings, found);
            if found.script == Some(PluginScript::Other) {
                let message = "the script was written by another version of flow";
                self.add_to_file("other_command", settings, message, bring_up_to_date(settings));
            }
        }
        self.twice(host, &looked);
        if host == AgentHost::Codex {
            self.codex(&looked);
        }
    }

    /// What the file has, or a finding why its host does not read it.
    fn read(&mut self, settings: &SettingsFile) -> Option<InstalledHooks> {
        let (code, line, message, help) = match settings.file.read() {
            Ok(text) => {
                let fault = match installed_hooks(settings, &text?) {
                    Ok(found) => return Some(found),
                    Err(fault) => fault,
                };
                let is_whole = [STRICT, WHOLE].contains(&fault.help);
                let more = if is_whole { "; the host ignores the whole file" } else { "" };
                let help = Help::from(format!("{}{more}", fault.help));
                let line = Some(fault.place.line);
                ("invalid_settings", line, settings.file.invalid(fault).problem().message, help)
            }
            Err(error) => {
                let problem = error.problem();
                let help = match error {
                    // Here nothing would be written anyway.
                    Error::Document(DocumentFault::NotText { .. }) => "save it as UTF-8".into(),
                    _ => problem.help.unwrap_or_else(|| "make it a plain file that you can read".into()),
                };
                ("unreadable_settings", None, problem.message, help)
            }
        };
        let finding = self.add(code, Some(settings.host), message, help);
        (finding.path, finding.line) = (Some(settings.file.path.clone()), line);
        None
    }

    fn turned_off(&mut self, host: AgentHost, looked: &[SettingsWithHooks]) {
        for (settings, found) in looked {
            if found.all_off {
                let message = "\"disableAllHooks\" turns all hooks off";
                self.add_to_file("hooks_disabled", settings, message, "remove it from the settings".into());
            }
        }
        if host == AgentHost::Codex
            && let Some(config) = obstacle::codex_config(self.cx)
            && config.flag(&["features", "hooks"]) == Some(false)
        {
            let message = "`hooks = false` in config.toml turns all hooks off";
            self.add("hooks_disabled", Some(host), message, "remove it from `[features]`".into());
        }
    }

    /// What an administrator has decided about hooks.
    fn managed(&mut self, host: AgentHost) {
        for path in host.hooks().managed {
            let path = Path::new(path);
            let Some(text) = text_of(self.cx, path) else { continue };
            let Some((code, message)) = managed::verdict(path, &text) else { continue };
            let finding = self.add(code, Some(host), message, "ask who administers this machine".into());
            finding.path = Some(path.to_owned());
        }
    }

    fn handlers(&mut self, settings: &SettingsFile, found: &InstalledHooks) {
        for handler in &found.handlers {
            // What its author wrote is not flow's to bring up to date.
            let Some(call) = &handler.call else { continue };
            let here = (settings, handler);
            let again = bring_up_to_date(settings);
            if let Some(program) = command::missing_program(self.cx, &handler.command) {
                let what = format!("calls {program}, which is not there");
                self.add_to_handler("program_missing", here, &what, "correct the path to flow by hand".into());
            }
            if *call == Call::SessionEnd {
                self.add_to_handler("old_handler", here, "calls `flow session-end`, as earlier versions did", again);
            } else if !handler.is_answered(settings.host) {
                let what = "calls flow, which does nothing at this event";
                self.add_to_handler("other_event", here, what, "remove this handler by hand".into());
            } else if !handler.has_timeout(settings.host) {
                self.add_to_handler("other_timeout", here, "has another time limit than 3 seconds", again);
            } else if !handler.is_current(settings.host) {
                let what = "has another command line than this version of flow writes";
                self.add_to_handler("other_command", here, what, again);
            }
            // Codex recognises the handlers that it trusts by their position.
            if settings.host == AgentHost::Codex && handler.is_before_others {
                let help = "put it behind the others, and trust them again".into();
                let why = "stands before others: Codex loses its trust in those when it goes";
                self.add_to_handler("before_others", here, why, help);
            }
        }
        self.missing(settings, found);
    }

    fn missing(&mut self, settings: &SettingsFile, found: &InstalledHooks) {
        let mut missing = Vec::new();
        for event in found.missing_events(settings.host) {
            let partly = found.ours().find(|handler| handler.event == event);
            missing.push(match partly {
                Some(handler) => {
                    format!("{event} (only with the matcher {:?})", handler.matcher.as_deref().unwrap_or_default())
                }
                None => event.to_owned(),
            });
        }
        // A file in which flow has nothing lacks nothing: the hooks may be in another scope.
        if found.ours().next().is_some() && !missing.is_empty() {
            let message = format!("no handler of flow for {}", missing.join(", "));
            self.add_to_file("handler_missing", settings, message, Help::from("add it: ") + install(settings));
        }
    }

    /// Events that flow would answer more than once.
    fn twice(&mut self, host: AgentHost, looked: &[SettingsWithHooks]) {
        let plugin = obstacle::plugin(self.cx, host);
        // Hosts run the handlers of all scopes, so a handler of one file may meet one of another.
        let mut seen: Vec<&FoundHandler> = Vec::new();
        for (settings, found) in looked {
            for handler in &found.handlers {
                let by_plugin = plugin.is_some() && host.hooks().events.iter().any(|event| event.name == handler.event);
                let other = seen.iter().find(|other| other.meets(handler));
                if by_plugin || other.is_some() {
                    let help = keep_one(settings, handler, other.copied());
                    let other = if by_plugin { "the plugin" } else { "another handler" };
                    let what = format!("calls flow, and so does {other}");
                    self.add_to_handler("twice", (settings, handler), &what, help);
                }
                seen.push(handler);
            }
        }
    }

    fn codex(&mut self, looked: &[SettingsWithHooks]) {
        let mut has_any = false;
        for (settings, found) in looked {
            if found.handlers.is_empty() {
                continue;
            }
            has_any = true;
            if let Some((path, place)) = obstacle::hooks_in_config(self.cx, settings) {
                let message = "hooks are configured here as well as in hooks.json";
                let help = "move them into hooks.json".into();
                let finding = self.add("hooks_in_config", Some(AgentHost::Codex), message, help);
                (finding.path, finding.line) = (Some(path), Some(place.line));
            }
        }
        if !has_any && obstacle::plugin(self.cx, AgentHost::Codex).is_none() {
            return;
        }
        // Only Codex can compute whether it trusts a hook.
        let Some(hooks) = codex_hooks(&self.directory()) else { return };
        self.asked_codex = true;
        for hook in hooks {
            if command::call(&hook.command).is_none() {
                continue;
            }
            let trust = match hook.trust.as_str() {
                "trusted" | "managed" if hook.is_on => continue,
                "trusted" | "managed" => "is turned off",
                "modified" => "was changed since it was trusted, so Codex skips it",
                _ => "is not trusted, so Codex skips it",
            };
            let message = format!("the hook {} {trust}", hook.key);
            let help = rules::trust(AgentHost::Codex, SettingsScope::User);
            self.add("not_trusted", Some(AgentHost::Codex), message, Help::from(help));
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
        self.add(code, Some(AgentHost::Codex), message, help);
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

fn install(settings: &SettingsFile) -> Suggestion {
    suggest("install").option("host", settings.host.as_str()).option("scope", settings.scope.as_str())
}

fn bring_up_to_date(settings: &SettingsFile) -> Help {
    Help::from("bring it up to date: ") + install(settings)
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
            if let Some(at) = runs::last_call(cx, host, event) {
                calls.push(LastCall { host, event: event.to_owned(), at });
            }
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
