//! What a setup would change.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::settings::AgentHost;
use crate::hooks::settings::change::ChangeOutcome;
use crate::hooks::settings::diff::unified;
use crate::hooks::settings::doctor::HooksFinding;
use crate::hooks::settings::file::{SettingsFile, UserFile};
use crate::hooks::settings::host::{HostChoice, SettingsScope};
use crate::hooks::settings::obstacle;
use crate::hooks::settings::setup::note::SetupNote;
use crate::hooks::settings::setup::parts::{pieces, top};
use crate::hooks::settings::setup::piece::{Piece, SetupPart};
use crate::runs::{Context, Result};

/// What to set up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetupRequest {
    /// The hosts; those that are there unless some are given.
    pub hosts: Vec<AgentHost>,
    /// Whether to use the user's own settings, for everything that the user does, instead of the project's.
    pub user: bool,
    /// Whether to take out what an earlier setup put in, in all hosts.
    pub undo: bool,
}

/// What a setup changes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SetupReport {
    /// Whether the change was made; otherwise it was shown only.
    pub written: bool,
    /// Whether it takes out what an earlier setup put in.
    pub undo: bool,
    /// The hosts.
    pub hosts: Vec<AgentHost>,
    /// The `.flow` directory, if it is made or removed.
    pub flow: Option<PathBuf>,
    /// The files that change, and those in which something of a person's own is in the way.
    pub files: Vec<SetupFile>,
    /// Hosts that are left as they are.
    pub skipped: Vec<SkippedHost>,
    /// The change as one unified diff.
    pub diff: String,
    /// What a person has to do before the hosts run the hooks.
    pub trust: Vec<String>,
    /// What keeps the hooks from running; once the change was made.
    pub findings: Vec<HooksFinding>,
    /// What to say to the agent to begin.
    pub say: Option<String>,
}

/// A file of a setup.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SetupFile {
    /// The file.
    pub path: PathBuf,
    /// What becomes of it.
    pub outcome: ChangeOutcome,
    /// What flow puts into it or takes out of it.
    pub parts: Vec<SetupPart>,
    /// What stays as it is, since someone changed it.
    pub kept: Vec<SetupPart>,
}

/// A host that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedHost {
    /// The host.
    pub host: AgentHost,
    /// Why.
    pub reason: String,
}

/// A change that was not made yet.
#[derive(Debug)]
pub struct SetupPlan {
    pub(super) report: SetupReport,
    pub(super) scope: SettingsScope,
    pub(super) changes: Vec<Change>,
    /// The files that stay as they are.
    pub(super) unchanged: Vec<UserFile>,
    /// What will be noted.
    pub(super) note: SetupNote,
}

/// The change of a file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) file: UserFile,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl SetupPlan {
    /// The change.
    #[must_use]
    pub fn report(&self) -> &SetupReport {
        &self.report
    }

    /// Whether there is nothing to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.report.flow.is_none()
    }
}

/// Plans a setup, and changes nothing.
///
/// # Errors
/// If no host is there and none is named, or if settings cannot be read or edited.
pub fn plan(cx: &Context, request: &SetupRequest) -> Result<SetupPlan> {
    let scope = if request.user { SettingsScope::User } else { SettingsScope::Project };
    let top = top(cx, scope)?;
    let mut planned = SetupPlanner {
        cx,
        undo: request.undo,
        // A link in a project may come from a clone, so it must not lead out of it.
        within: if request.user { None } else { Some(top.clone()) },
        note: SetupNote::read(cx, &top),
        files: Vec::new(),
        changes: Vec::new(),
        unchanged: Vec::new(),
        diff: String::new(),
    };
    let (hosts, skipped) = hosts(cx, request, scope)?;
    for (path, pieces) in by_file(cx, &hosts, scope)? {
        planned.file(&path, &pieces)?;
    }
    let flow = if request.user { None } else { planned.flow(&top) };
    let SetupPlanner { note, files, changes, unchanged, diff, .. } = planned;
    let report = SetupReport {
        written: false,
        undo: request.undo,
        hosts,
        flow,
        files,
        skipped,
        diff,
        trust: Vec::new(),
        findings: Vec::new(),
        say: None,
    };
    Ok(SetupPlan { report, scope, changes, unchanged, note })
}

/// The hosts to set up, and those that are left as they are.
fn hosts(cx: &Context, request: &SetupRequest, scope: SettingsScope) -> Result<(Vec<AgentHost>, Vec<SkippedHost>)> {
    let mut chosen = match request.hosts.as_slice() {
        // A host may be gone by now, and what it was given is still there.
        _ if request.undo => AgentHost::ALL.to_vec(),
        [] => HostChoice::All.hosts(cx)?,
        named => named.to_vec(),
    };
    chosen.sort_unstable();
    chosen.dedup();
    if request.undo {
        return Ok((chosen, Vec::new()));
    }
    let (mut hosts, mut skipped) = (Vec::new(), Vec::new());
    for host in chosen {
        if let Some(plugin) = obstacle::plugin(cx, host) {
            skipped.push(SkippedHost { host, reason: format!("it has the plugin `{plugin}`, which brings all of it") });
            continue;
        }
        if let Some(path) = host.path(cx, scope)? {
            obstacle::refuse(cx, &SettingsFile { host, scope, file: UserFile::of_path(cx, path, None)? })?;
        }
        hosts.push(host);
    }
    Ok((hosts, skipped))
}

/// The pieces of all hosts, by file.
fn by_file(cx: &Context, hosts: &[AgentHost], scope: SettingsScope) -> Result<Vec<(PathBuf, Vec<Piece>)>> {
    let mut files: Vec<(PathBuf, Vec<Piece>)> = Vec::new();
    for host in hosts {
        for (path, piece) in pieces(cx, *host, scope)? {
            let Some((_, known)) = files.iter_mut().find(|(known, _)| *known == path) else {
                files.push((path, vec![piece]));
                continue;
            };
            // Hosts share files, and then want the same.
            if !known.contains(&piece) {
                known.push(piece);
            }
        }
    }
    Ok(files)
}

struct SetupPlanner<'c> {
    cx: &'c Context,
    undo: bool,
    within: Option<PathBuf>,
    note: SetupNote,
    files: Vec<SetupFile>,
    changes: Vec<Change>,
    unchanged: Vec<UserFile>,
    diff: String,
}

impl SetupPlanner<'_> {
    /// The `.flow` directory, if it is made, or if it is removed again.
    fn flow(&mut self, top: &Path) -> Option<PathBuf> {
        if self.undo {
            // One that was there before setup stays.
            if !self.note.made_flow {
                return None;
            }
            return Some(self.cx.project().ok()?.path().to_owned());
        }
        if self.cx.project().is_ok() {
            return None;
        }
        self.note.made_flow = true;
        Some(top.join(".flow"))
    }

    /// Plans the change of one file.
    fn file(&mut self, path: &Path, pieces: &[Piece]) -> Result<()> {
        let file = UserFile::of_path(self.cx, path.to_owned(), self.within.clone())?;
        let old = file.read()?;
        let mut text = old.clone();
        let mut shown =
            SetupFile { path: path.to_owned(), outcome: ChangeOutcome::Unchanged, parts: Vec::new(), kept: Vec::new() };
        let known = self.note.entries_in(path);
        let mut order: Vec<&Piece> = pieces.iter().collect();
        // Taking out goes the way back.
        if self.undo {
            order.reverse();
        }
        for piece in order {
            let changed =
                if self.undo { piece.take(text.as_deref(), known.as_deref()) } else { piece.put(text.as_deref()) };
            let changed = changed.map_err(|fault| file.invalid(fault))?;
            if changed.is_taken {
                shown.kept.push(piece.part);
            }
            if changed.text != text {
                shown.parts.push(piece.part);
            }
            if !self.undo && piece.is_noted() {
                self.note.entries.entry(path.to_owned()).or_default().extend(changed.entries);
            }
            text = changed.text;
        }
        shown.outcome = ChangeOutcome::between(old.as_deref(), text.as_deref());
        let has_changed = shown.outcome != ChangeOutcome::Unchanged;
        if has_changed {
            self.diff += &unified(path, old.as_deref(), text.as_deref());
            self.changes.push(Change { file, old, new: text });
        } else {
            self.unchanged.push(file);
        }
        if has_changed || !shown.kept.is_empty() {
            self.files.push(shown);
        }
        Ok(())
    }
}
