//! `mode clear | cancel`: they work even if files or the policy are broken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Explain as _, MODE_FILE, ModeName, RunId, Scope, SessionId, VISIBLE, mode_file};
use crate::modes::change::{Cause, change_modes, end_session_of_modes};
use crate::modes::error::{Error, Result};
use crate::modes::load::{ModeScope, ScopeReport, board, mode, names, read, refuse_left_out, scope_of};
use crate::modes::policy::{Policy, text_of};
use crate::modes::state::{ModeDraft, ModeState};
use crate::modes::state_dir::StateDir;
use crate::modes::{definition, say};
use crate::runs::{self, Context, Observer, OpenedProject};
use crate::store::StoreError;

/// The report of `mode clear` and `mode cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeEndReport {
    /// The modes whose files changed.
    pub ended: Vec<EndedMode>,
    /// Modes that are still active.
    pub active: Vec<ModeName>,
    /// Whether anything was written.
    pub changed: bool,
    /// Problems that did not stop the command: files in quarantine, runs that are still open.
    pub warnings: Vec<String>,
}

/// A mode that was ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndedMode {
    /// The mode.
    pub mode: ModeName,
    /// The scope of its file.
    pub scope: ScopeReport,
}

/// Which modes to end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModeEndRequest {
    /// One mode, by its name or a word that stands for it; otherwise all that the scope has.
    pub mode: Option<String>,
    /// Whose.
    pub scope: ModeScope,
    /// The modes of every session instead.
    pub all: bool,
}

/// Removes the file of one mode, or the files of all modes in the scope.
///
/// # Errors
/// When nothing can be written. A file that cannot be read is not an error.
pub fn clear(cx: &Context, request: &ModeEndRequest) -> Result<ModeEndReport> {
    end_modes(cx, request, |draft, scope, mode| draft.clear(scope, mode))
}

/// Cancels one mode, or all active modes in the scope. Their files stay, with the outcome.
///
/// # Errors
/// As [`clear`].
pub fn cancel(cx: &Context, request: &ModeEndRequest) -> Result<ModeEndReport> {
    end_modes(cx, request, |draft, scope, mode| draft.cancel(scope, mode))
}

fn end_modes(cx: &Context, request: &ModeEndRequest, end: End) -> Result<ModeEndReport> {
    let ModeEndRequest { mode: word, scope: asked, all } = request;
    let (word, all) = (word.as_deref(), *all);
    let mut report = ModeEndReport { ended: Vec::new(), active: Vec::new(), changed: false, warnings: Vec::new() };
    // Without a project no mode is active, as in one that has none yet.
    let Some(project) = cx.project_if_any()? else { return Ok(report) };
    refuse_left_out(&project)?;
    let Some(state) = project.state()? else { return Ok(report) };
    let scope = if all { Scope::Root } else { scope_of(cx, asked)? };
    let scopes = if all { state.all_scopes()? } else { vec![scope.clone()] };
    if all {
        report.warnings.extend(say::closed(&state.sessions()?));
    }
    let (policy, warning) = policy_to_end(&project, &state, &scopes, word)?;
    report.warnings.extend(warning);
    let modes: Vec<&ModeName> = match word {
        Some(word) => vec![&mode(&policy, word)?.name],
        None => policy.modes().iter().map(|mode| &mode.name).collect(),
    };
    // A session without a directory has nothing to end; do not create one for it.
    if all || state.has(&scope)? {
        end_each(&project, &policy, &scopes, &ModesToEnd { modes, end, all }, &mut report)?;
    }
    let seen = state.read(Some(&[Scope::Root, scope.clone()]), &names(&policy))?;
    let (active, unknown) = board(&policy, &seen).known_active(&policy, &scope);
    report.warnings.extend(say::unknown(&unknown));
    report.warnings.extend(say::active_for_all(&active, &scope));
    report.active = active.into_iter().map(|active| active.mode).collect();
    Ok(report)
}

/// Ends modes in `scopes`, in one commit if its line in the log is not too long.
fn end_each(
    project: &OpenedProject,
    policy: &Policy,
    scopes: &[Scope],
    ending: &ModesToEnd<'_>,
    report: &mut ModeEndReport,
) -> Result<()> {
    let concerned = if let [one] = scopes { one.clone() } else { Scope::Root };
    let done = change_modes(project, policy, &concerned, Cause::End, |draft| {
        let mut ended = Vec::new();
        for scope in scopes {
            for &mode in &ending.modes {
                if (ending.end)(draft, scope, mode) {
                    let scope = ScopeReport(scope.session().cloned());
                    ended.push(EndedMode { mode: mode.clone(), scope });
                }
            }
        }
        Ok(ended)
    });
    match done {
        // Half of the scopes may fit into a line, and one that may not be written must not keep the others.
        Err(Error::Run(runs::Error::Store(why))) if scopes.len() > 1 && is_of_one(&why) => {
            let (some, others) = scopes.split_at(scopes.len() / 2);
            end_each(project, policy, some, ending, report)?;
            end_each(project, policy, others, ending, report)
        }
        Err(Error::Run(runs::Error::Store(why))) if ending.all && scopes[0] != Scope::Root && is_of_one(&why) => {
            report.warnings.push(format!("the modes of {} stay as they are: {}", scopes[0], why.one_line()));
            Ok(())
        }
        done => {
            let done = done?;
            report.ended.extend(done.answer);
            report.changed |= done.changed;
            report.warnings.extend(done.warnings);
            Ok(())
        }
    }
}

/// The policy, extended by the mode `word` if only a file in `scopes` has that name. If the policy is invalid, the
/// modes are those that have files, and there is a warning.
pub(super) fn policy_to_end(
    project: &OpenedProject,
    state: &StateDir,
    scopes: &[Scope],
    word: Option<&str>,
) -> Result<(Policy, Option<String>)> {
    let named = word.and_then(|word| ModeName::new(word).ok());
    match definition::policy_of(&project.catalog()) {
        Ok((policy, _)) => {
            let files = state.names(scopes, MODE_FILE)?;
            // An earlier policy may have had the mode; what it left can still be ended.
            if let Some(mode) = named
                && policy.named(mode.as_str()).is_none()
                && mode_file(&mode) != VISIBLE
                && files.contains(&mode_file(&mode))
            {
                return Ok((policy.and_unruled([mode]), None));
            }
            Ok((policy, None))
        }
        Err(why) => {
            let mut modes = modes_with_files(state)?;
            modes.extend(named);
            let policy = Policy::default().and_unruled(modes);
            Ok((policy, Some(format!("{why}; the names of the files were used"))))
        }
    }
}

/// The active modes that work on `run`, each with the command that ends it.
fn modes_on(project: &OpenedProject, run: &RunId) -> Result<Vec<String>> {
    let Some(state) = project.state()? else { return Ok(Vec::new()) };
    let (policy, _) = policy_to_end(project, &state, &[], None)?;
    let board = board(&policy, &state.read(None, &names(&policy))?);
    let mut found = Vec::new();
    for scope in &board.scopes() {
        for (mode, fields) in board.own_active(&policy, scope) {
            if text_of(&fields, "run_id") == Some(run.as_str()) {
                let command = say::clear_command(&mode, scope);
                found.push(format!("{mode} is still active for this run: `{command}` ends it"));
            }
        }
    }
    Ok(found)
}

/// Warns of modes that are active when their run ends, and marks the modes of a session that ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModesObserver;

impl Observer for ModesObserver {
    fn run_ended(&self, project: &OpenedProject, run: &RunId) -> Vec<String> {
        match modes_on(project, run) {
            Ok(warnings) => warnings,
            // A run ends even if its modes cannot be read.
            Err(why) => vec![format!("cannot tell whether a mode is still active for this run: {why}")],
        }
    }

    fn session_ended(&self, project: &OpenedProject, session: &SessionId) -> Vec<String> {
        match end_session_of_modes(project, session) {
            Ok(()) => Vec::new(),
            Err(error) => {
                vec![format!("could not note at the modes of session {session} that it is over: {}", error.one_line())]
            }
        }
    }
}

/// The modes to end, and how.
struct ModesToEnd<'a> {
    modes: Vec<&'a ModeName>,
    end: End,
    /// Whether all scopes are meant; then a scope that cannot be written does not prevent the others.
    all: bool,
}

/// Ends a mode in a scope; false if there was nothing to end.
type End = fn(&mut ModeDraft<'_>, &Scope, &ModeName) -> bool;

/// Whether a commit for fewer scopes could succeed: the line was too long, or one scope may not be written.
fn is_of_one(why: &StoreError) -> bool {
    matches!(why, StoreError::TooLong { .. }) || why.is_forbidden()
}

/// The modes that have files: files that name their mode, and files that cannot be read. Other files may belong to
/// other programs.
fn modes_with_files(state: &StateDir) -> Result<Vec<ModeName>> {
    let scopes = state.all_scopes()?;
    let files = state.read(Some(&scopes), &state.names(&scopes, MODE_FILE)?)?;
    let mut modes = Vec::new();
    for ((_, name), file) in &files {
        let Some(mode) = name.strip_suffix(MODE_FILE).filter(|_| name != VISIBLE) else { continue };
        let is_foreign = matches!(read(file), ModeState::Known(fields) if text_of(&fields, "mode") != Some(mode));
        if !is_foreign {
            modes.extend(ModeName::new(mode));
        }
    }
    Ok(modes)
}
