//! `hooks status`: what is installed where.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::TomlText;
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::command::Call;
use crate::hooks::settings::file::{SettingsFile, files};
use crate::hooks::settings::host::{HostChoice, SettingsScope};
use crate::hooks::settings::look::{FoundHandler, InstalledHooks, installed_hooks};
use crate::hooks::settings::obstacle;
use crate::hooks::settings::script::PluginScript;
use crate::host::Trust;
use crate::model::Explain;
use crate::runs::{Context, Result};

/// Which hosts to look at.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HooksStatusRequest {
    /// The hosts; all unless one is given.
    pub host: HostChoice,
    /// The only scope to look at; all unless it is given.
    pub scope: Option<SettingsScope>,
}

/// What is installed where.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HooksStatusReport {
    /// The files of settings, whether they exist or not.
    pub files: Vec<SettingsStatus>,
    /// Hosts that have flow's plugin, which brings the hooks.
    pub plugins: Vec<PluginStatus>,
}

/// A host that has flow's plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PluginStatus {
    /// The host.
    pub host: AgentHost,
    /// The name of the plugin.
    pub plugin: String,
}

/// What a file of settings has of flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingsStatus {
    /// The host.
    pub host: AgentHost,
    /// Where the settings apply.
    pub scope: SettingsScope,
    /// The file.
    pub path: PathBuf,
    /// How much is installed.
    pub installed: InstallState,
    /// Why the host cannot read the file; none if it can, or if the file is missing.
    pub problem: Option<String>,
    /// The handlers that call flow.
    pub handlers: Vec<HandlerStatus>,
    /// Events that have no handler of flow; empty if none has one.
    pub missing: Vec<String>,
    /// Whether the event `stop` continues a run.
    #[serde(rename = "continue")]
    pub continues: bool,
    /// Whether the event `stop` keeps a session from stopping before it ran what its phase requires.
    #[serde(rename = "gate")]
    pub gates: bool,
    /// Whether flow writes the status line.
    #[serde(rename = "statusline")]
    pub status_line: bool,
}

/// How much is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstallState {
    /// Nothing.
    No,
    /// Something, but not what `flow hooks install` of this version writes.
    Partly,
    /// Everything.
    Yes,
    /// The file cannot be read.
    Unknown,
}

/// A handler that calls flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HandlerStatus {
    /// The event.
    pub event: String,
    /// Its command line.
    pub command: String,
    /// Its time limit in seconds.
    pub timeout: Option<f64>,
    /// Whose command line it is.
    pub version: HandlerVersion,
    /// Whether the host runs it.
    pub trust: HandlerTrust,
}

/// Whose command line a handler has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandlerVersion {
    /// This version of flow writes it.
    Current,
    /// Another version of flow wrote it; `flow hooks install` brings it up to date.
    Other,
    /// It is someone's own, and stays.
    Foreign,
}

/// Whether a host trusts a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Trust")]
pub enum HandlerTrust {
    /// The host does not ask.
    NotNeeded,
    /// The host noted that a person trusts a handler at this position. Whether it is this one, `flow hooks doctor` asks it.
    Noted,
    /// The host noted nothing.
    NotNoted,
}

/// Reports what is installed where. Asks no other program.
///
/// # Errors
/// If the files cannot be found. One that cannot be read has a problem in the report.
pub fn status(cx: &Context, request: &HooksStatusRequest) -> Result<HooksStatusReport> {
    let config = obstacle::codex_config(cx);
    let mut report = HooksStatusReport { files: Vec::new(), plugins: Vec::new() };
    let hosts = request.host.hosts_with_files(cx);
    for settings in &all(cx, &hosts, request.scope)? {
        report.files.push(of_file(settings, config.as_ref()));
    }
    for host in hosts {
        if let Some(plugin) = obstacle::plugin(cx, host) {
            report.plugins.push(PluginStatus { host, plugin });
        }
    }
    Ok(report)
}

/// The files of all scopes, or of one.
pub(super) fn all(cx: &Context, hosts: &[AgentHost], scope: Option<SettingsScope>) -> Result<Vec<SettingsFile>> {
    if let Some(scope) = scope {
        return files(cx, hosts, scope);
    }
    let mut found = files(cx, hosts, SettingsScope::User)?;
    found.extend(files(cx, hosts, SettingsScope::Project)?);
    // Only some hosts have such a file, and asking for it alone is an error.
    let mut local = hosts.to_vec();
    local.retain(|host| host.hooks().local_file.is_some());
    found.extend(files(cx, &local, SettingsScope::Local)?);
    found.sort_by_key(|file| (file.host, file.scope));
    Ok(found)
}

fn of_file(settings: &SettingsFile, config: Option<&TomlText>) -> SettingsStatus {
    let (found, problem) = match settings.file.read() {
        Err(error) => (InstalledHooks::default(), Some(error.problem().message)),
        Ok(text) => match installed_hooks(settings, &text.unwrap_or_default()) {
            Ok(found) => (found, None),
            Err(fault) => (InstalledHooks::default(), Some(format!("{}: {}", fault.place, fault.reason))),
        },
    };
    let (host, scope) = (settings.host, settings.scope);
    let mut missing = found.missing_events(host);
    let is_whole = missing.is_empty() && found.ours().all(|handler| handler.is_current(host));
    let installed = match (&problem, found.script, found.ours().next()) {
        (Some(_), ..) => InstallState::Unknown,
        (None, Some(PluginScript::Current), _) => InstallState::Yes,
        (None, Some(PluginScript::Other), _) => InstallState::Partly,
        (None, None, None) => InstallState::No,
        (None, None, Some(_)) if is_whole => InstallState::Yes,
        (None, None, Some(_)) => InstallState::Partly,
    };
    // Where nothing is installed, no event counts as missing.
    if installed != InstallState::Partly {
        missing.clear();
    }
    let mut stops = Vec::new();
    for handler in &found.handlers {
        if let Some(Call::Hook(stop)) = handler.call {
            stops.push(stop);
        }
    }
    SettingsStatus {
        host,
        scope,
        path: settings.file.path.clone(),
        installed,
        problem,
        continues: stops.iter().any(|stop| stop.continues),
        gates: stops.iter().any(|stop| stop.gates),
        missing: missing.into_iter().map(str::to_owned).collect(),
        status_line: found.status_line,
        handlers: found.handlers.iter().map(|handler| shown(settings, handler, config)).collect(),
    }
}

fn shown(settings: &SettingsFile, handler: &FoundHandler, config: Option<&TomlText>) -> HandlerStatus {
    let is_current = handler.is_current(settings.host);
    HandlerStatus {
        event: handler.event.clone(),
        command: handler.command.clone(),
        timeout: handler.timeout,
        version: match handler.call {
            None => HandlerVersion::Foreign,
            Some(_) if is_current => HandlerVersion::Current,
            Some(_) => HandlerVersion::Other,
        },
        trust: match settings.host.hooks().trust {
            Trust::Folder(_) => HandlerTrust::NotNeeded,
            Trust::Hook if is_noted(settings, handler, config) => HandlerTrust::Noted,
            Trust::Hook => HandlerTrust::NotNoted,
        },
    }
}

/// Whether Codex has a note of trust for a handler at this position.
fn is_noted(settings: &SettingsFile, handler: &FoundHandler, config: Option<&TomlText>) -> bool {
    let Some(config) = config else { return false };
    !config.keys(&["hooks", "state", &trust_key(settings, handler)]).is_empty()
}

/// The name under which Codex notes its trust in a handler.
fn trust_key(settings: &SettingsFile, handler: &FoundHandler) -> String {
    // Codex writes events in its settings as `SessionStart`, and in its notes as `session_start`.
    let mut event = String::new();
    for c in handler.event.chars() {
        if c.is_ascii_uppercase() && !event.is_empty() {
            event.push('_');
        }
        event.push(c.to_ascii_lowercase());
    }
    format!("{}:{event}:{}:{}", settings.file.path.display(), handler.group, handler.position)
}
