//! `mode list | show | outcome`: they write nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{MODE_FILE, ModeName, Scope, VISIBLE, mode_file};
use crate::modes::change::is_dead;
use crate::modes::error::{Result, refused};
use crate::modes::load::{
    ModeScope, ScopeReport, board, mode, names, policy_for_command, read, read_state, refuse_left_out, scope_of,
};
use crate::modes::policy::{ModeOutcome, OutcomeSource, Policy, Reading, read_outcome, says_active, text_of};
use crate::modes::state::{Board, ModeRefusal, ModeState, says_ended, why_over};
use crate::modes::state_dir::StateDir;
use crate::modes::{definition, late, say};
use crate::runs;
use crate::runs::context::Context;
use crate::store::Project;

/// Which modes to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModeListRequest {
    /// The scope.
    pub scope: ModeScope,
    /// Whether to include the modes of every session.
    pub all: bool,
}

/// The file that decides whether a mode is active.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DecidedBy {
    /// The scope of the file.
    pub scope: ScopeReport,
    /// Its path.
    pub path: std::path::PathBuf,
    /// Whether the file says that the mode is active; null if it cannot be read.
    pub active: Option<bool>,
    /// Why this file decides.
    pub why: String,
    /// The file in the root scope that it hides.
    pub hides: Option<std::path::PathBuf>,
}

/// A mode in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListedMode {
    /// Its name.
    pub mode: ModeName,
    /// Whether it is active.
    pub active: bool,
    /// Its phase.
    pub current_phase: Option<String>,
    /// The scope of the file that decides.
    pub scope: ScopeReport,
    /// How it ended.
    pub outcome: Option<ModeOutcome>,
    /// The run that it works on.
    pub run_id: Option<String>,
    /// Why its file cannot be read.
    pub error: Option<String>,
    /// The file that decides, and why.
    pub decided_by: DecidedBy,
    /// Whether its session is known to be over although it is active, so that it keeps no other session from a mode.
    pub session_over: bool,
    /// Whether its session ended as it should, and did not lose its process.
    #[serde(skip)]
    pub session_ended: bool,
    /// Problems in its file.
    pub notes: Vec<String>,
}

impl ListedMode {
    /// Its state in one word: active, how it ended, or that its file cannot be read.
    pub(crate) fn state(&self) -> &'static str {
        if self.error.is_some() {
            return "unreadable";
        }
        if self.active {
            return "active";
        }
        self.outcome.map_or("inactive", ModeOutcome::as_str)
    }
}

/// The report of `mode list`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeListReport {
    /// The scope that sees these modes. With `all`, the root scope; then each mode is listed with its own scope.
    pub scope: ScopeReport,
    /// The active modes, in the order in which they began.
    pub active: Vec<ModeName>,
    /// All modes that have a file.
    pub modes: Vec<ListedMode>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The report of `mode show`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeShowReport {
    /// The mode.
    pub mode: ModeName,
    /// Whether the file exists.
    pub exists: bool,
    /// The scope of the file.
    pub scope: ScopeReport,
    /// Its path.
    pub path: Option<std::path::PathBuf>,
    /// The content of the file.
    pub state: Option<Map<String, Value>>,
    /// How it ended.
    pub outcome: Option<ModeOutcome>,
    /// The file that decides for requests, and why; none if there is no file.
    pub decided_by: Option<DecidedBy>,
    /// Problems in the file.
    pub notes: Vec<String>,
}

/// The report of `mode outcome`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OutcomeReport {
    /// How the mode ended; null while it is not over.
    pub outcome: Option<ModeOutcome>,
    /// Whether the mode is over.
    pub terminal: bool,
    /// The field that determined the outcome.
    pub source: Option<OutcomeSource>,
    /// Whether the mode waits for a person, in words that only older readers use.
    pub user_wait: bool,
    /// Problems in the file.
    pub notes: Vec<String>,
}

/// Lists the modes of a scope. Writes nothing.
///
/// # Errors
/// When the files cannot be read. A file whose content is invalid is listed with the reason.
pub fn list(cx: &Context, request: &ModeListRequest) -> Result<ModeListReport> {
    refuse_left_out(&cx.project()?)?;
    list_here(cx, request)
}

/// As [`list`], of the files that are in the checkout: a status line has no time to ask git for others.
pub(crate) fn list_here(cx: &Context, request: &ModeListRequest) -> Result<ModeListReport> {
    let project = cx.project()?;
    let scope = if request.all { Scope::Root } else { scope_of(cx, &request.scope)? };
    let (active, modes, warnings) = (Vec::new(), Vec::new(), Vec::new());
    let seen_by = ScopeReport(scope.session().cloned());
    let mut report = ModeListReport { scope: seen_by, active, modes, warnings };
    let (catalog, state) = (project.catalog(), project.state()?);
    // A status line is drawn often, mostly where no mode was ever begun; the shipped policy need not be read for that.
    if state.is_none() && !definition::is_own(&catalog)? {
        return Ok(report);
    }
    let (policy, _) = definition::policy_of(&catalog)?;
    let Some(state) = state else { return Ok(report) };
    if request.all {
        report.warnings.extend(say::closed(&state.sessions()?));
        report.warnings.extend(strangers(&state, &policy)?);
    }
    // The scopes on which a request in this scope depends.
    let concerned = [Scope::Root, scope.clone()];
    let scopes = if request.all { None } else { Some(&concerned[..]) };
    let mut board = board(&policy, &state.read(scopes, &names(&policy))?);
    // As the next change of modes will write them.
    late::show(&mut board, &policy, &late::all(&project));
    let views: Vec<Scope> = if request.all { board.scopes() } else { vec![scope] };
    for view in &views {
        for mode in policy.modes() {
            let Some((owner, file)) = board.seen(view, &mode.name) else { continue };
            // For all scopes, list each file once, in its own scope.
            if request.all && owner != *view {
                continue;
            }
            let Some(decided) = decided(&project, &state, &board, view, &mode.name) else { continue };
            report.modes.push(listed(&mode.name, &owner, file, decided));
        }
        let (mut active, mut unknown) = board.known_active(&policy, view);
        if request.all {
            active.retain(|one| one.scope == *view);
            unknown.retain(|one| one.scope == *view);
        }
        report.active.extend(active.into_iter().map(|one| one.mode));
        report.warnings.extend(say::unknown(&unknown));
    }
    Ok(report)
}

/// Warnings about modes that their files say are active, and that the policy does not have.
fn strangers(state: &StateDir, policy: &Policy) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for ((scope, name), file) in &state.read(None, &state.names(&state.all_scopes()?, MODE_FILE)?)? {
        let Some(Ok(mode)) = name.strip_suffix(MODE_FILE).map(ModeName::new) else { continue };
        let is_active = matches!(read(file), ModeState::Known(fields) if says_active(&fields));
        if is_active && name != VISIBLE && policy.mode(&mode).is_none() {
            warnings.push(say::stranger(&mode, scope));
        }
    }
    Ok(warnings)
}

/// Which mode to show.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeShowRequest {
    /// The mode, by its name or a word that stands for it.
    pub mode: String,
    /// Whose.
    #[serde(default)]
    pub scope: ModeScope,
}

/// Shows a mode's file. Writes nothing.
///
/// # Errors
/// `unreadable_state` when the file cannot be read.
pub fn show(cx: &Context, request: &ModeShowRequest) -> Result<ModeShowReport> {
    let scope = &request.scope;
    let project = cx.project()?;
    let (policy, _) = policy_for_command(cx)?;
    let mode = mode(&policy, &request.mode)?;
    let view = scope_of(cx, scope)?;
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
    // Of a session that the caller names and that has a directory, only its own file is read (RCS, "Session
    // precedence"). The report also has the file that counts for requests.
    let alone = scope.session.is_some() && !scope.root && state.has(&view)?;
    let Some((owner, file)) = board.seen(&view, &mode.name) else { return Ok(absent) };
    if alone && owner != view {
        return Ok(absent);
    }
    let path = state.file_path(&owner, &mode_file(&mode.name));
    match file {
        ModeState::Broken(why) => {
            let refusal = ModeRefusal::Unreadable { mode: mode.name.clone(), scope: owner, why: why.clone() };
            Err(refused(&state, &board, &refusal).into())
        }
        ModeState::Known(fields) => {
            let Reading { outcome, notes, .. } = read_outcome(fields);
            Ok(ModeShowReport {
                exists: true,
                scope: ScopeReport(owner.session().cloned()),
                path: Some(project.relative(&path)),
                state: Some(fields.clone()),
                outcome,
                notes,
                ..absent
            })
        }
    }
}

/// Determines how the mode of a file ended, whichever program wrote the file.
///
/// # Errors
/// `invalid_document` when it is not a JSON object.
pub fn outcome(origin: &str, bytes: &[u8]) -> Result<OutcomeReport> {
    let fields: Map<String, Value> = match read_state(bytes) {
        ModeState::Known(fields) => fields,
        ModeState::Broken(why) => return Err(runs::Error::input_json(origin, why).into()),
    };
    let Reading { outcome, source, user_wait, notes } = read_outcome(&fields);
    Ok(OutcomeReport { outcome, terminal: outcome.is_some(), source, user_wait, notes })
}

/// The file that decides for `mode` in `view`, and why.
fn decided(project: &Project, state: &StateDir, board: &Board, view: &Scope, mode: &ModeName) -> Option<DecidedBy> {
    let (owner, file) = board.seen(view, mode)?;
    let hides_root = owner != Scope::Root && board.file(&Scope::Root, mode).is_some();
    let why = match (view, &owner) {
        (Scope::Root, _) => "it is the root's own file".to_owned(),
        (Scope::Session(session), Scope::Root) => {
            format!("session {session} has no file of its own for it, so the root's counts")
        }
        (Scope::Session(_), _) if hides_root => "the session's own file goes before the root's".to_owned(),
        (Scope::Session(_), _) => "it is the session's own file".to_owned(),
    };
    let active = match file {
        ModeState::Known(fields) => Some(says_active(fields)),
        ModeState::Broken(_) => None,
    };
    let name = mode_file(mode);
    let path = project.relative(&state.file_path(&owner, &name));
    let hides = if hides_root { Some(project.relative(&state.file_path(&Scope::Root, &name))) } else { None };
    Some(DecidedBy { scope: ScopeReport(owner.session().cloned()), path, active, why, hides })
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
        session_over: false,
        session_ended: false,
        decided_by,
        notes: Vec::new(),
    };
    match file {
        ModeState::Broken(why) => listed.error = Some(why.clone()),
        ModeState::Known(fields) => {
            listed.active = says_active(fields);
            listed.current_phase = text_of(fields, "current_phase").map(str::to_owned);
            Reading { outcome: listed.outcome, notes: listed.notes, .. } = read_outcome(fields);
            listed.run_id = text_of(fields, "run_id").map(str::to_owned);
            if listed.active
                && let Some(why) = why_over(fields, &is_dead)
            {
                listed.session_over = true;
                listed.session_ended = says_ended(fields);
                listed.notes.push(format!("its session {why}, so it does not keep other sessions from a mode"));
            }
        }
    }
    listed
}
