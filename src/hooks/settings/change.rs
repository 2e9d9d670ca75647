//! `hooks install` and `hooks uninstall`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::JsonText;
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::diff::unified;
use crate::hooks::settings::edit::{self, Edited, StatusLine, Wanted};
use crate::hooks::settings::error::{EditFault, Result};
use crate::hooks::settings::file::{SettingsFile, files};
use crate::hooks::settings::host::{HostChoice, SettingsScope};
use crate::hooks::settings::obstacle;
use crate::hooks::settings::rules;
use crate::hooks::settings::status::PluginStatus;
use crate::runs::Context;

/// What to install.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HooksInstallRequest {
    /// The hosts; all unless one is given.
    pub host: HostChoice,
    /// Where the settings apply; for the user unless it is given.
    pub scope: SettingsScope,
    /// Whether to show the change only.
    pub dry_run: bool,
    /// Whether the event `stop` continues a run.
    #[serde(rename = "continue")]
    pub continues: bool,
    /// Whether flow writes Claude Code's status line, unless another program does.
    #[serde(rename = "statusline")]
    pub status_line: bool,
}

/// What to uninstall.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HooksUninstallRequest {
    /// The hosts; all unless one is given.
    pub host: HostChoice,
    /// Where the settings apply; for the user unless it is given.
    pub scope: SettingsScope,
    /// Whether to show the change only.
    pub dry_run: bool,
}

/// What became of the settings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HooksChangeReport {
    /// Whether the change was shown only.
    pub dry_run: bool,
    /// The files.
    pub files: Vec<SettingsChange>,
    /// Hosts that were left out, because flow's plugin brings their hooks; of several hosts only.
    pub skipped: Vec<PluginStatus>,
}

/// What became of a file of settings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingsChange {
    /// The host.
    pub host: AgentHost,
    /// Where the settings apply.
    pub scope: SettingsScope,
    /// The file.
    pub path: PathBuf,
    /// What became of it, or would.
    pub outcome: ChangeOutcome,
    /// The events whose handlers of flow were added, changed or removed.
    pub events: Vec<String>,
    /// What became of the status line; none if it was not asked for.
    pub status_line: Option<StatusLineOutcome>,
    /// The change as a unified diff; with `dry_run` only.
    pub diff: Option<String>,
    /// What a person has to do before the host runs the hooks; after an installation only.
    pub trust: Option<String>,
    /// Rules by which the agent may call flow without asking, to be added by a person; after an installation only.
    pub allow: Vec<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOutcome {
    /// It was created.
    Created,
    /// It was changed.
    Changed,
    /// It was as it should be.
    Unchanged,
    /// It was removed, as flow had created it.
    Removed,
}

/// What became of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusLineOutcome {
    /// flow writes it.
    Installed,
    /// Another program writes it, and stays.
    Kept,
    /// flow does not write it any more.
    Removed,
}

/// Adds flow's handlers to the settings of hosts, or brings them up to date.
///
/// # Errors
/// If settings cannot be read or edited, would run hooks twice, or no host is there. Nothing is written then.
pub fn install(cx: &Context, request: &HooksInstallRequest) -> Result<HooksChangeReport> {
    let mut hosts = request.host.hosts(cx)?;
    let mut skipped = Vec::new();
    if request.host == HostChoice::All {
        skipped.extend(
            hosts
                .iter()
                .filter_map(|host| obstacle::plugin(cx, *host).map(|plugin| PluginStatus { host: *host, plugin })),
        );
        hosts.retain(|host| !skipped.iter().any(|other| other.host == *host));
    }
    let files = files(cx, &hosts, request.scope)?;
    for file in &files {
        obstacle::refuse(cx, file)?;
    }
    let edit = |file: &SettingsFile, text: Option<&str>| {
        let wanted = Wanted { host: file.host, continues: request.continues, status_line: request.status_line };
        checked(file, text, edit::install(text, &wanted))
    };
    let mut report = change(&files, request.dry_run, &edit)?;
    report.skipped = skipped;
    for file in &mut report.files {
        file.trust = Some(rules::trust(file.host, file.scope));
        file.allow = rules::allow(file.host);
    }
    Ok(report)
}

/// Takes flow's handlers and its status line out of the settings of hosts.
///
/// # Errors
/// If settings cannot be read or edited. Nothing is written then.
pub fn uninstall(cx: &Context, request: &HooksUninstallRequest) -> Result<HooksChangeReport> {
    let files = files(cx, &request.host.hosts_with_files(cx), request.scope)?;
    let edit = |file: &SettingsFile, text: Option<&str>| match text {
        Some(text) => checked(file, Some(text), edit::uninstall(file.host, text)),
        None => Ok(Edited { text: None, events: Vec::new(), status_line: None }),
    };
    let mut report = change(&files, request.dry_run, &edit)?;
    for file in &mut report.files {
        file.status_line = file.status_line.map(|_| StatusLineOutcome::Removed);
    }
    Ok(report)
}

/// The edit, if its result is JSON as well.
fn checked(file: &SettingsFile, old: Option<&str>, edited: std::result::Result<Edited, EditFault>) -> Result<Edited> {
    let edited = edited.map_err(|fault| file.invalid(fault))?;
    if file.host.handler().is_none() {
        return Ok(edited);
    }
    if let Some(text) = edited.text.as_deref().filter(|text| Some(*text) != old) {
        let (_, body) = edit::unmarked(file.host, text).map_err(|fault| file.invalid(fault))?;
        if !edit::is_blank(body) {
            JsonText::parse(body).map_err(|fault| file.invalid(fault.into()))?;
        }
    }
    Ok(edited)
}

type Edit<'e> = &'e dyn Fn(&SettingsFile, Option<&str>) -> Result<Edited>;

/// Plans the change of every file before it writes any.
fn change(files: &[SettingsFile], dry_run: bool, edit: Edit<'_>) -> Result<HooksChangeReport> {
    let mut changes = Vec::new();
    for file in files {
        let old = file.file.read()?;
        let edited = edit(file, old.as_deref())?;
        changes.push(shown(file, old.as_deref(), &edited, dry_run));
    }
    if !dry_run {
        for (file, change) in files.iter().zip(&mut changes) {
            if change.outcome == ChangeOutcome::Unchanged {
                file.file.sweep();
                continue;
            }
            // The file is read again under the lock, so what is reported is what was written.
            file.file.edit(&mut |old| {
                let edited = edit(file, old)?;
                *change = shown(file, old, &edited, false);
                Ok(edited.text)
            })?;
        }
    }
    Ok(HooksChangeReport { dry_run, files: changes, skipped: Vec::new() })
}

fn shown(file: &SettingsFile, old: Option<&str>, edited: &Edited, dry_run: bool) -> SettingsChange {
    let new = edited.text.as_deref();
    let outcome = match (old, new) {
        (None, Some(_)) => ChangeOutcome::Created,
        (Some(_), None) => ChangeOutcome::Removed,
        _ if old == new => ChangeOutcome::Unchanged,
        _ => ChangeOutcome::Changed,
    };
    let diff = (dry_run && outcome != ChangeOutcome::Unchanged).then(|| unified(&file.file.path, old, new));
    SettingsChange {
        host: file.host,
        scope: file.scope,
        path: file.file.path.clone(),
        outcome,
        events: edited.events.clone(),
        status_line: edited.status_line.map(|line| match line {
            StatusLine::Ours => StatusLineOutcome::Installed,
            StatusLine::Other => StatusLineOutcome::Kept,
        }),
        diff,
        trust: None,
        allow: Vec::new(),
    }
}
