//! `hooks install` and `hooks uninstall`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::JsonText;
use crate::hooks::settings::AgentHost;
use crate::hooks::settings::diff::unified;
use crate::hooks::settings::edit::{self, EditedSettings, StatusLineOutcome, WantedHooks};
use crate::hooks::settings::error::{SettingsFault, suggest};
use crate::hooks::settings::file::{SettingsFile, files};
use crate::hooks::settings::host::{HostChoice, SettingsScope};
use crate::hooks::settings::look::installed_hooks;
use crate::hooks::settings::obstacle;
use crate::hooks::settings::rules;
use crate::hooks::settings::status::PluginStatus;
use crate::model::{Help, Kind, Problem};
use crate::runs::{Context, Result, StopOptions};

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
    /// Whether the event `stop` keeps a session from stopping before it ran what its phase requires.
    #[serde(rename = "gate")]
    pub gates: bool,
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

/// The files of settings that a command changed, or would change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HooksChangeReport {
    /// Whether the change was shown only.
    pub dry_run: bool,
    /// The files.
    pub files: Vec<SettingsChange>,
    /// Hosts that were left out, because flow's plugin brings their hooks; of several hosts only.
    pub skipped: Vec<PluginStatus>,
}

/// A file of settings that a command changed, or would change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingsChange {
    /// The host.
    pub host: AgentHost,
    /// Where the settings apply.
    pub scope: SettingsScope,
    /// The file.
    pub path: PathBuf,
    /// What was done to the file; with `dry_run`, what would be done.
    pub outcome: ChangeOutcome,
    /// The events whose handlers of flow were added, changed or removed.
    pub events: Vec<String>,
    /// What was done to the status line; none if it was not asked for.
    pub status_line: Option<StatusLineOutcome>,
    /// The change as a unified diff; with `dry_run` only.
    pub diff: Option<String>,
    /// What a person has to do before the host runs the hooks; after an installation only.
    pub trust: Option<String>,
    /// Rules by which the agent may call flow without asking, to be added by a person; after an installation only.
    pub allow: Vec<String>,
}

/// What was done to a file.
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

impl ChangeOutcome {
    /// What becomes of a file with the text `old` that gets the text `new`; `None` stands for no file.
    pub(super) fn between(old: Option<&str>, new: Option<&str>) -> Self {
        match (old, new) {
            (None, Some(_)) => Self::Created,
            (Some(_), None) => Self::Removed,
            _ if old == new => Self::Unchanged,
            _ => Self::Changed,
        }
    }
}

/// Adds flow's handlers to the settings of hosts, or brings them up to date.
///
/// # Errors
/// If settings cannot be read or edited, would run hooks twice, or no host is there. Nothing is written then.
pub fn install(cx: &Context, request: &HooksInstallRequest) -> Result<HooksChangeReport> {
    let (mut hosts, mut skipped) = (Vec::new(), Vec::new());
    for host in request.host.hosts(cx)? {
        // A host that was named gets its refusal below; of all of them, those with a plugin are only left out.
        match obstacle::plugin(cx, host) {
            Some(plugin) if request.host == HostChoice::All => skipped.push(PluginStatus { host, plugin }),
            _ => hosts.push(host),
        }
    }
    let files = files(cx, &hosts, request.scope)?;
    for file in &files {
        obstacle::refuse(cx, file)?;
        refuse_second(cx, file)?;
    }
    let mut report = change(cx, &files, request.dry_run, &|file: &SettingsFile, text: Option<&str>| {
        let stop = StopOptions { continues: request.continues, gates: request.gates };
        let wanted = WantedHooks { host: file.host, stop, status_line: request.status_line };
        checked(file, text, edit::install(text, &wanted))
    })?;
    report.skipped = skipped;
    for file in &mut report.files {
        file.trust = Some(rules::trust(file.host, file.scope));
        file.allow = rules::allow(file.host);
    }
    Ok(report)
}

/// Refuses hooks beside those of another scope, from `flow setup` for instance: the host would run both.
fn refuse_second(cx: &Context, wanted: &SettingsFile) -> Result<()> {
    // What is there already is brought up to date, and nothing is added.
    if has_hooks(wanted) {
        return Ok(());
    }
    for scope in SettingsScope::ALL {
        // Without a project there is only the user's file; not every host has all scopes.
        let Ok(others) = files(cx, &[wanted.host], scope) else { continue };
        for other in others {
            if other.file.path == wanted.file.path || !has_hooks(&other) {
                continue;
            }
            let (path, title) = (other.file.path.display(), other.host.title());
            let message = format!("{path}: {title} has flow's hooks here already, and would run both");
            let remove = suggest("uninstall").option("host", other.host.as_str()).option("scope", scope.as_str());
            let help = Help::from("they are enough here; for those of another scope take these out first: ") + remove;
            return Err(Problem::new(Kind::Refused, "hooks_present", message)
                .help(help + ". Nothing was written")
                .into());
        }
    }
    Ok(())
}

/// Whether flow's hooks are in a file of settings, as far as it can be read.
fn has_hooks(settings: &SettingsFile) -> bool {
    let text = settings.file.read().ok().flatten();
    let found = text.and_then(|text| installed_hooks(settings, &text).ok());
    found.is_some_and(|found| found.script.is_some() || found.ours().next().is_some())
}

/// Takes flow's handlers and its status line out of the settings of hosts.
///
/// # Errors
/// If settings cannot be read or edited. Nothing is written then.
pub fn uninstall(cx: &Context, request: &HooksUninstallRequest) -> Result<HooksChangeReport> {
    let files = files(cx, &request.host.hosts_with_files(cx), request.scope)?;
    change(cx, &files, request.dry_run, &|file: &SettingsFile, text: Option<&str>| match text {
        Some(text) => checked(file, Some(text), edit::uninstall(file.host, text)),
        None => Ok(EditedSettings::default()),
    })
}

/// The edit, if its result is JSON as well.
fn checked(
    file: &SettingsFile,
    old: Option<&str>,
    edited: std::result::Result<EditedSettings, SettingsFault>,
) -> Result<EditedSettings> {
    let edited = edited.map_err(|fault| file.file.invalid(fault))?;
    // A host without handlers has a script there, which is written whole.
    if file.host.handler().is_none() {
        return Ok(edited);
    }
    if let Some(text) = edited.text.as_deref()
        && Some(text) != old
    {
        let (_, body) = edit::unmarked(file.host, text).map_err(|fault| file.file.invalid(fault))?;
        if !edit::is_blank(body) {
            JsonText::parse(body).map_err(|fault| file.file.invalid(fault.into()))?;
        }
    }
    Ok(edited)
}

type SettingsEdit<'e> = &'e dyn Fn(&SettingsFile, Option<&str>) -> Result<EditedSettings>;

/// Plans the change of every file before it writes any.
fn change(cx: &Context, files: &[SettingsFile], dry_run: bool, edit: SettingsEdit<'_>) -> Result<HooksChangeReport> {
    let mut changes = Vec::new();
    for file in files {
        let old = file.file.read()?;
        let edited = edit(file, old.as_deref())?;
        changes.push(shown(file, old.as_deref(), &edited, dry_run));
    }
    if dry_run {
        return Ok(HooksChangeReport { dry_run, files: changes, skipped: Vec::new() });
    }
    for (file, change) in files.iter().zip(&mut changes) {
        // A file that is as it should be is not written: hosts watch their settings and read them again.
        if change.outcome == ChangeOutcome::Unchanged {
            file.file.settle();
            continue;
        }
        file.file.note_directory(cx);
        let is_new = change.outcome == ChangeOutcome::Created;
        // The file is read again under the lock, so what is reported is what was written.
        let written = file.file.edit(&mut |old| {
            let edited = edit(file, old)?;
            *change = shown(file, old, &edited, false);
            Ok(edited.text)
        });
        if is_new && written.is_err() {
            // Its directory may have been made before the disk was full.
            file.file.remove_own_directories(cx);
        }
        written?;
        // flow had created the file, and perhaps the directory in which nothing else is.
        if change.outcome == ChangeOutcome::Removed {
            file.file.remove_own_directories(cx);
        }
    }
    Ok(HooksChangeReport { dry_run, files: changes, skipped: Vec::new() })
}

fn shown(file: &SettingsFile, old: Option<&str>, edited: &EditedSettings, dry_run: bool) -> SettingsChange {
    let new = edited.text.as_deref();
    let outcome = ChangeOutcome::between(old, new);
    let is_shown = dry_run && outcome != ChangeOutcome::Unchanged;
    SettingsChange {
        host: file.host,
        scope: file.scope,
        path: file.file.path.clone(),
        outcome,
        events: edited.entries.clone(),
        status_line: edited.status_line,
        diff: if is_shown { Some(unified(&file.file.path, old, new)) } else { None },
        trust: None,
        allow: Vec::new(),
    }
}
