//! `mode list | show | outcome`.

use serde_json::{Map, Value};

use crate::engine::{Board, ModeState, why_over};
use crate::model::{ModeName, Scope, mode_file};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::mode::change::is_dead;
use crate::ops::mode::load::{ModeScope, board, mode, names, parse};
use crate::ops::mode::say;
use crate::policy::read_outcome;
use crate::report::{DecidedBy, ListedMode, ModeListReport, ModeShowReport, OutcomeReport, ScopeReport};
use crate::store::{Project, StateDir};

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
        let (active, modes, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let seen_by = ScopeReport(scope.session().cloned());
        let mut report = ModeListReport { scope: seen_by, active, modes, warnings };
        let Some(state) = project.state()? else { return Ok(report) };
        let scopes = match request.all {
            true => None,
            // What a request in this scope is decided on.
            false => Some(vec![Scope::Root, scope.clone()]),
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
                let Some(decided) = decided(&project, &state, &board, view, &mode.name) else { continue };
                report.modes.push(listed(&mode.name, &owner, file, decided));
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
            decided_by: None,
            notes: Vec::new(),
        };
        let Some(state) = project.state()? else { return Ok(absent) };
        let board = board(&policy, &state.read(Some(&[Scope::Root, view.clone()]), &[mode_file(&mode.name)])?);
        let absent = ModeShowReport { decided_by: decided(&project, &state, &board, &view, &mode.name), ..absent };
        let alone = speaks_alone(&state, scope, &view)?;
        let is_shown = |owner: &Scope| *owner == view || !alone;
        let seen = board.seen(&view, &mode.name);
        let Some((owner, file)) = seen.filter(|(owner, _)| is_shown(owner)) else { return Ok(absent) };
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

/// Whether `show` looks at nothing but the session's own file: a session that was named and has a directory speaks for
/// itself alone (seed 001, "Session precedence"). What counts for requests is told beside it.
fn speaks_alone(state: &StateDir, asked: &ModeScope, view: &Scope) -> Result<bool> {
    Ok(asked.session.is_some() && !asked.root && state.has(view)?)
}

/// Which file counts for `mode` in `view`, and why.
fn decided(project: &Project, state: &StateDir, board: &Board, view: &Scope, mode: &ModeName) -> Option<DecidedBy> {
    let (owner, file) = board.seen(view, mode)?;
    let path_of = |scope: &Scope| Flow::relative(project, &state.file_path(scope, &mode_file(mode)));
    let roots = board.file(&Scope::Root, mode).filter(|_| owner != Scope::Root);
    let why = match (view, &owner) {
        (Scope::Root, _) => "it is the root's own file".to_owned(),
        (Scope::Session(session), Scope::Root) => {
            format!("session {session} has no file of its own for it, so the root's counts")
        }
        (Scope::Session(_), _) if roots.is_some() => "the session's own file goes before the root's".to_owned(),
        (Scope::Session(_), _) => "it is the session's own file".to_owned(),
    };
    let active = match file {
        ModeState::Known(fields) => Some(fields.get("active") == Some(&Value::Bool(true))),
        ModeState::Broken(_) => None,
    };
    let hides = roots.map(|_| path_of(&Scope::Root));
    Some(DecidedBy { scope: ScopeReport(owner.session().cloned()), path: path_of(&owner), active, why, hides })
}

fn listed(mode: &ModeName, owner: &Scope, file: &ModeState, decided_by: DecidedBy) -> ListedMode {
    let mut listed = ListedMode {
        mode: mode.clone(),
        active: false,
        current_phase: None,
        scope: ScopeReport(owner.session().cloned()),
        outcome: None,
        run_id: None,
        error: None,
        decided_by,
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
            if let Some(why) = why_over(fields, &is_dead).filter(|_| listed.active) {
                listed.notes.push(format!("its session {why}, so it keeps nobody else from a mode"));
            }
        }
    }
    listed
}
