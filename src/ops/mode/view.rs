//! `mode list | show | outcome`.

use serde_json::{Map, Value};

use crate::engine::ModeState;
use crate::model::{Scope, mode_file};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::mode::load::{ModeScope, board, mode, names, parse};
use crate::ops::mode::say;
use crate::policy::read_outcome;
use crate::report::{ListedMode, ModeListReport, ModeShowReport, OutcomeReport, ScopeReport};
use crate::store::StateDir;

/// Which modes to list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModeListRequest {
    /// Whose.
    pub scope: ModeScope,
    /// Whether every session's as well.
    pub all: bool,
}

impl Flow {
    /// The modes of a scope. Never writes.
    ///
    /// # Errors
    /// When the files cannot be looked at; one that makes no sense is listed with the reason.
    pub fn mode_list(&self, request: &ModeListRequest) -> Result<ModeListReport> {
        let project = self.project()?;
        let (policy, _) = self.catalog(Some(&project)).policy()?;
        let scope = if request.all { Scope::Root } else { self.scope(&request.scope)? };
        let mut report = ModeListReport { active: Vec::new(), modes: Vec::new(), warnings: Vec::new() };
        let Some(state) = project.state()? else { return Ok(report) };
        let scopes = match request.all {
            true => None,
            false => Some(looked_at(&state, &request.scope, &scope)?),
        };
        if request.all {
            report.warnings.extend(say::closed(&state.sessions()?));
        }
        let board = board(&policy, &state.read(scopes.as_deref(), &names(&policy))?);
        let views: Vec<Scope> = if request.all { board.scopes() } else { vec![scope] };
        for view in &views {
            // Of all scopes, each file is listed once, with its own scope.
            let lists = |owner: &Scope| !request.all || owner == view;
            for mode in policy.modes() {
                let Some((owner, file)) = board.seen(view, &mode.name).filter(|(owner, _)| lists(owner)) else {
                    continue;
                };
                report.modes.push(listed(&mode.name, &owner, file));
            }
            let (active, unknown) = board.known_active(&policy, view);
            report.active.extend(active.into_iter().filter(|one| lists(&one.scope)).map(|one| one.mode));
            let unknown: Vec<_> = unknown.into_iter().filter(|one| lists(&one.scope)).collect();
            report.warnings.extend(say::unknown(&unknown));
        }
        Ok(report)
    }

    /// A mode's file. Never writes.
    ///
    /// # Errors
    /// [`Error::Mode`] when it cannot be read.
    pub fn mode_show(&self, word: &str, scope: &ModeScope) -> Result<ModeShowReport> {
        let project = self.project()?;
        let (policy, _) = self.catalog(Some(&project)).policy()?;
        let mode = mode(&policy, word)?;
        let view = self.scope(scope)?;
        let absent = ModeShowReport {
            mode: mode.name.clone(),
            exists: false,
            scope: ScopeReport(view.session().cloned()),
            path: None,
            state: None,
            outcome: None,
            notes: Vec::new(),
        };
        let Some(state) = project.state()? else { return Ok(absent) };
        let scopes = looked_at(&state, scope, &view)?;
        let board = board(&policy, &state.read(Some(&scopes), &[mode_file(&mode.name)])?);
        let Some((owner, file)) = board.seen(&view, &mode.name) else { return Ok(absent) };
        let path = state.file_path(&owner, &mode_file(&mode.name));
        match file {
            ModeState::Broken(why) => {
                let refusal =
                    crate::engine::ModeRefusal::Unreadable { mode: mode.name.clone(), scope: owner, why: why.clone() };
                Err(Error::Mode { refusal: Box::new(refusal), path: Some(path), message: None })
            }
            ModeState::Known(fields) => {
                let reading = read_outcome(fields);
                Ok(ModeShowReport {
                    exists: true,
                    scope: ScopeReport(owner.session().cloned()),
                    path: Some(Self::relative(&project, &path)),
                    state: Some(fields.clone()),
                    outcome: reading.outcome,
                    notes: reading.notes,
                    ..absent
                })
            }
        }
    }

    /// How the mode of a file ended, whatever program wrote the file.
    ///
    /// # Errors
    /// [`Error::Usage`] when it is no JSON object.
    pub fn mode_outcome(&self, origin: &str, bytes: &[u8]) -> Result<OutcomeReport> {
        let fields: Map<String, Value> = match parse(bytes) {
            ModeState::Known(fields) => fields,
            ModeState::Broken(why) => return Err(Error::InputJson { origin: origin.to_owned(), why }),
        };
        let reading = read_outcome(&fields);
        Ok(OutcomeReport {
            outcome: reading.outcome,
            terminal: reading.outcome.is_some(),
            source: reading.source,
            user_wait: reading.user_wait,
            notes: reading.notes,
        })
    }
}

/// The scopes to read: a session that was named and has a directory speaks for itself alone (seed 001, "Session
/// precedence"); otherwise the root's files count where a session has none.
fn looked_at(state: &StateDir, asked: &ModeScope, scope: &Scope) -> Result<Vec<Scope>> {
    let alone = asked.session.is_some() && !asked.root && state.has(scope)?;
    Ok(match scope {
        Scope::Session(_) if alone => vec![scope.clone()],
        Scope::Session(_) => vec![Scope::Root, scope.clone()],
        Scope::Root => vec![Scope::Root],
    })
}

fn listed(mode: &crate::model::ModeName, owner: &Scope, file: &ModeState) -> ListedMode {
    let mut listed = ListedMode {
        mode: mode.clone(),
        active: false,
        current_phase: None,
        scope: ScopeReport(owner.session().cloned()),
        outcome: None,
        run_id: None,
        error: None,
        notes: Vec::new(),
    };
    match file {
        ModeState::Broken(why) => listed.error = Some(why.clone()),
        ModeState::Known(fields) => {
            let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
            listed.active = fields.get("active") == Some(&Value::Bool(true));
            listed.current_phase = text("current_phase");
            let reading = read_outcome(fields);
            (listed.outcome, listed.notes) = (reading.outcome, reading.notes);
            listed.run_id = text("run_id");
        }
    }
    listed
}
