//! `mode clear | cancel`: they work whatever else is broken.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::engine::{Draft, ModeState};
use crate::model::{MODE_FILE, ModeName, RunId, Scope, VISIBLE};
use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::ops::mode::load::{ModeScope, board, mode, names, read};
use crate::ops::mode::say;
use crate::policy::Policy;
use crate::report::{EndedMode, ModeEndReport, ScopeReport};
use crate::store::{Project, StateDir};

impl Flow {
    /// Takes the files of modes away: of one, or of all that the scope has. `all` means every session as well.
    ///
    /// # Errors
    /// When nothing can be written; a file that cannot be read is no reason.
    pub fn mode_clear(&self, word: Option<&str>, scope: &ModeScope, all: bool) -> Result<ModeEndReport> {
        self.end_modes(word, scope, all, |draft, scope, mode| draft.clear(scope, mode))
    }

    /// Gives modes up: one, or all that are active. Their files stay and say so.
    ///
    /// # Errors
    /// As [`Self::mode_clear`].
    pub fn mode_cancel(&self, word: Option<&str>, scope: &ModeScope, all: bool) -> Result<ModeEndReport> {
        self.end_modes(word, scope, all, |draft, scope, mode| draft.cancel(scope, mode))
    }

    fn end_modes(
        &self,
        word: Option<&str>,
        scope: &ModeScope,
        all: bool,
        end: fn(&mut Draft<'_>, &Scope, &ModeName) -> bool,
    ) -> Result<ModeEndReport> {
        let project = self.project()?;
        let scope = self.scope(scope)?;
        let mut nothing = ModeEndReport { ended: Vec::new(), active: Vec::new(), changed: false, warnings: Vec::new() };
        let Some(state) = project.state()? else { return Ok(nothing) };
        let (policy, broken) = match self.catalog(Some(&project)).policy() {
            Ok((policy, _)) => (policy, None),
            Err(why) => (Policy::unruled(found(&state)?), Some(format!("{why}; the names of the files were used"))),
        };
        nothing.warnings.extend(broken);
        let one = word.map(|word| mode(&policy, word)).transpose()?;
        let scopes = if all { state.everybody()? } else { vec![scope.clone()] };
        // A session that nobody knows has nothing to end, and gets no directory for that.
        if !all && !state.has(&scope)? {
            let board = board(&policy, &state.read(Some(&[Scope::Root]), &names(&policy))?);
            let active = board.active(&policy, &scope).unwrap_or_default();
            nothing.warnings.extend(say::everybodys(&active, &scope));
            nothing.active = active.into_iter().map(|active| active.mode).collect();
            return Ok(nothing);
        }
        let concerned = if all { Scope::Root } else { scope.clone() };
        let done = self.change_modes(&project, &policy, &concerned, "workflow-transition", |draft| {
            let mut ended = Vec::new();
            for scope in &scopes {
                for mode in policy.modes().iter().filter(|mode| one.is_none_or(|one| one.name == mode.name)) {
                    if end(draft, scope, &mode.name) {
                        let scope = ScopeReport(scope.session().cloned());
                        ended.push(EndedMode { mode: mode.name.clone(), scope });
                    }
                }
            }
            // Whatever else is broken is no reason to keep this from happening.
            let active = draft.board().active(&policy, &scope).unwrap_or_default();
            let everybodys = say::everybodys(&active, &scope);
            Ok((ended, active.into_iter().map(|active| active.mode).collect(), everybodys))
        })?;
        let (ended, active, everybodys) = done.answer;
        let warnings = nothing.warnings.into_iter().chain(done.warnings).chain(everybodys).collect();
        Ok(ModeEndReport { ended, active, changed: done.changed, warnings })
    }

    /// The active modes that work on `run`, each with the command that ends it.
    pub(crate) fn modes_on(&self, project: &Project, run: &RunId) -> Vec<String> {
        let modes = || -> Result<Vec<String>> {
            let Some(state) = project.state()? else { return Ok(Vec::new()) };
            let (policy, _) = self.catalog(Some(project)).policy()?;
            let board = board(&policy, &state.read(None, &names(&policy))?);
            let mut found = Vec::new();
            for scope in &board.scopes() {
                for (mode, fields) in board.own_active(&policy, scope) {
                    if fields.get("run_id").and_then(Value::as_str) == Some(run.as_str()) {
                        let command = say::clear_command(&mode, scope);
                        found.push(format!("{mode} is still active for this run: `{command}` ends it"));
                    }
                }
            }
            Ok(found)
        };
        // A run ends whatever its modes are.
        modes().unwrap_or_default()
    }
}

/// The modes whose files are there, for one whose policy cannot be used: what says whether it is active, or cannot be
/// read. Files of other programs are neither.
fn found(state: &StateDir) -> Result<BTreeSet<ModeName>> {
    let scopes = state.everybody()?;
    let files = state.read(Some(&scopes), &state.names(&scopes, MODE_FILE)?)?;
    let is_mode = |bytes: &[u8]| match read(bytes) {
        ModeState::Known(fields) => fields.contains_key("active"),
        ModeState::Broken(_) => true,
    };
    let modes = files.iter().filter(|((_, name), bytes)| name != VISIBLE && is_mode(bytes));
    Ok(modes.filter_map(|((_, name), _)| ModeName::new(name.strip_suffix(MODE_FILE)?).ok()).collect())
}
