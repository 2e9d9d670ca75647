//! `mode clear | cancel`: they work whatever else is broken.

use serde_json::Value;

use crate::engine::{Draft, ModeState};
use crate::model::{MODE_FILE, ModeName, RunId, Scope, VISIBLE};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::mode::load::{ModeScope, board, mode, names, read};
use crate::ops::mode::say;
use crate::policy::Policy;
use crate::report::{EndedMode, ModeEndReport, ScopeReport};
use crate::store::{Project, StateDir, StoreError};

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

    fn end_modes(&self, word: Option<&str>, asked: &ModeScope, all: bool, end: End) -> Result<ModeEndReport> {
        let project = self.project()?;
        let mut report = ModeEndReport { ended: Vec::new(), active: Vec::new(), changed: false, warnings: Vec::new() };
        let Some(state) = project.state()? else { return Ok(report) };
        let scope = if all { Scope::Root } else { self.scope(asked)? };
        let mut scopes = if all { state.everybody()? } else { vec![scope.clone()] };
        if all {
            // One session's broken directory is no reason to keep the others.
            scopes.retain(|scope| match state.names(std::slice::from_ref(scope), MODE_FILE) {
                Ok(_) => true,
                Err(why) => {
                    report.warnings.push(format!("the modes of {scope} stay as they are: {}", why.in_words()));
                    false
                }
            });
        }
        let (policy, warning) = self.policy_to_end(&project, &state, &scopes)?;
        report.warnings.extend(warning);
        let one = word.map(|word| mode(&policy, word)).transpose()?;
        let named = policy.modes().iter().filter(|mode| one.is_none_or(|one| one.name == mode.name));
        let modes: Vec<&ModeName> = named.map(|mode| &mode.name).collect();
        // A session that nobody knows has nothing to end, and gets no directory for that.
        if all || state.has(&scope)? {
            self.end_each(&project, &policy, &scopes, &modes, end, &mut report)?;
        }
        let seen = state.read(Some(&[Scope::Root, scope.clone()]), &names(&policy))?;
        let (active, unknown) = board(&policy, &seen).known_active(&policy, &scope);
        report.warnings.extend(say::unknown(&unknown));
        report.warnings.extend(say::everybodys(&active, &scope));
        report.active = active.into_iter().map(|active| active.mode).collect();
        Ok(report)
    }

    /// Ends modes in `scopes`, in one commit when its line is not too long.
    fn end_each(
        &self,
        project: &Project,
        policy: &Policy,
        scopes: &[Scope],
        modes: &[&ModeName],
        end: End,
        report: &mut ModeEndReport,
    ) -> Result<()> {
        let concerned = if let [one] = scopes { one.clone() } else { Scope::Root };
        let done = self.change_modes(project, policy, &concerned, "workflow-transition", |draft| {
            let mut ended = Vec::new();
            for scope in scopes {
                for mode in modes {
                    if end(draft, scope, mode) {
                        let scope = ScopeReport(scope.session().cloned());
                        ended.push(EndedMode { mode: (*mode).clone(), scope });
                    }
                }
            }
            Ok(ended)
        });
        match done {
            Err(Error::Store(StoreError::TooLong { .. })) if scopes.len() > 1 => {
                let (some, others) = scopes.split_at(scopes.len() / 2);
                self.end_each(project, policy, some, modes, end, report)?;
                self.end_each(project, policy, others, modes, end, report)
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

    /// The policy with the modes that it does not know and that have a file in `scopes` all the same. When it cannot be
    /// used, there are only these, and a warning.
    pub(super) fn policy_to_end(
        &self,
        project: &Project,
        state: &StateDir,
        scopes: &[Scope],
    ) -> Result<(Policy, Option<String>)> {
        let (policy, warning) = match self.catalog(Some(project)).policy() {
            Ok((policy, _)) => (policy, None),
            Err(why) => (Policy::default(), Some(format!("{why}; the names of the files were used"))),
        };
        let files = state.read(Some(scopes), &state.names(scopes, MODE_FILE)?)?;
        let mut found = Vec::new();
        for ((_, name), file) in &files {
            let Some(mode) = name.strip_suffix(MODE_FILE).filter(|_| name != VISIBLE) else { continue };
            // Other programs may have files that are called like that.
            let is_mode = match read(file) {
                ModeState::Known(fields) => fields.contains_key("active"),
                ModeState::Broken(_) => warning.is_some(),
            };
            if is_mode && let Ok(mode) = ModeName::new(mode) {
                found.push(mode);
            }
        }
        Ok((policy.and_unruled(found), warning))
    }

    /// The active modes that work on `run`, each with the command that ends it.
    pub(crate) fn modes_on(&self, project: &Project, run: &RunId) -> Vec<String> {
        let modes = || -> Result<Vec<String>> {
            let Some(state) = project.state()? else { return Ok(Vec::new()) };
            let (policy, _) = self.policy_to_end(project, &state, &state.everybody()?)?;
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
        modes().unwrap_or_else(|why| vec![format!("nobody knows whether a mode is still active for this run: {why}")])
    }
}

/// How a mode is ended in a scope; whether there was anything to end.
type End = fn(&mut Draft<'_>, &Scope, &ModeName) -> bool;
