//! `mode request | write`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codec::{RunText, parse_json};
use crate::host::{Holder, Liveness};
use crate::model::{ModeName, RunId, Scope, SessionId, Suggestion, Timestamp, mode_file, named};
use crate::modes::error::{Error, Result, refused};
use crate::modes::load::{
    ModeScope, ScopeReport, board, commit, concerned, mode, names, policy_for_command, refuse_left_out, scope_of,
};
use crate::modes::policy::{Admission, DenialKind, ModeOutcome, Policy, read_outcome, says_inactive, text_of};
use crate::modes::state::{Board, ModeDraft, ModeEnd, ModeRefusal, RequestDetails, why_over};
use crate::modes::state_dir::LockedState;
use crate::modes::{definition, late, say};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::open::name::{Purpose, open_run};
use crate::runs::{self, Source, place_of_caller};
use crate::store::StoreError;

/// A request for a mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeRequest {
    /// Its name or an alias.
    pub mode: String,
    /// The scope of the mode.
    #[serde(default)]
    pub scope: ModeScope,
    /// Whether the review of the mode that would hand over is clean; otherwise its file says so.
    pub review_clean: Option<bool>,
    /// The run that the mode works on: its id, a prefix of its id, or `@latest`.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
}

/// Fields to write into a mode's file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeWriteRequest {
    /// The mode.
    pub mode: String,
    /// The scope of the file.
    #[serde(default)]
    pub scope: ModeScope,
    /// The fields; null removes a field.
    pub fields: Map<String, Value>,
    /// Whether the review of the mode that would hand over is clean.
    pub review_clean: Option<bool>,
}

impl ModeWriteRequest {
    /// Reads fields from a JSON object.
    ///
    /// # Errors
    /// `invalid_document` when the text is not a JSON object, or has a key twice.
    pub fn read_fields(Source { origin, text }: Source) -> Result<Map<String, Value>> {
        match parse_json(&text) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(runs::Error::input_json(origin, "it is not a JSON object").into()),
            Err(error) if error.is_data() => Err(runs::Error::input_json(origin, error).into()),
            Err(error) => Err(runs::Error::input_json(origin, format!("it is not JSON: {error}")).into()),
        }
    }
}

/// Why modes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A request for a mode.
    Request,
    /// A write of fields.
    Write,
    /// A `clear` or `cancel`.
    End,
    /// The end of a session.
    SessionEnd,
    /// The skills of a prompt.
    Prompt,
}

impl Cause {
    /// The value of the audit field `transition_source` (RCS).
    fn source(self) -> &'static str {
        match self {
            Self::Request | Self::End | Self::SessionEnd => "workflow-transition",
            Self::Write => "state-operations",
            Self::Prompt => "keyword-detector",
        }
    }
}

/// How long the hook at the end of a session waits for the lock of the modes.
const HOOK_WAIT: Duration = Duration::from_millis(100);

/// Whether the process that this evidence describes is known to be dead.
pub(super) fn is_dead(evidence: &str) -> bool {
    matches!(evidence.parse::<Holder>(), Ok(holder) if holder.liveness() == Liveness::Dead)
}

/// The result of a change under the lock.
pub(super) struct ChangeResult<T> {
    pub(super) answer: T,
    pub(super) changed: bool,
    pub(super) warnings: Vec<String>,
}

named! {
    /// The rule that decided a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum ModeDecision {
        /// No mode was active; it began.
        Start = "start",
        /// It was active already.
        NoChange = "no_change",
        /// It began beside the active modes.
        Overlap = "overlap",
        /// It began, and modes that hand over to it were completed.
        AutoComplete = "auto_complete",
        /// It did not begin.
        Deny = "deny",
    }
}

/// The report of `mode request`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeRequestReport {
    /// The rule that decided.
    pub decision: ModeDecision,
    /// For a denial: the kind of conflict.
    pub kind: Option<DenialKind>,
    /// The requested mode.
    pub requested: ModeName,
    /// Modes that were completed.
    pub completed: Vec<ModeName>,
    /// Modes that are active now, in the order in which they began.
    pub active: Vec<ModeName>,
    /// What happened; for a denial also what to do.
    pub message: String,
    /// The scope of the request.
    pub scope: ScopeReport,
    /// Whether anything was written.
    pub changed: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// The report of `mode write`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeWriteReport {
    /// The mode.
    pub mode: ModeName,
    /// The scope of the file.
    pub scope: ScopeReport,
    /// Its path.
    pub path: std::path::PathBuf,
    /// The content of the file now.
    pub state: Map<String, Value>,
    /// How it ended.
    pub outcome: Option<ModeOutcome>,
    /// The rule by which it became active; none if it did not.
    pub decision: Option<ModeDecision>,
    /// Modes that were completed.
    pub completed: Vec<ModeName>,
    /// Whether anything was written.
    pub changed: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Requests a mode.
///
/// # Errors
/// `unreadable_state` when the file of a mode in the scope cannot be read. A denial is not an error: it is in the
/// report.
pub fn request(cx: &Context, request: &ModeRequest) -> Result<ModeRequestReport> {
    let (policy, _) = policy_for_command(cx)?;
    let mode = mode(&policy, &request.mode)?;
    let scope = scope_of(cx, &request.scope)?;
    let run = run_meant(cx, request.run.as_deref())?;
    // Only now: a refused request leaves no `.flow` behind.
    let project = cx.project_or_init()?;
    let details = RequestDetails { review_clean: request.review_clean, run };
    let called = say::named(&mode.name, &request.mode);
    let done = change_modes(&project, &policy, &scope, Cause::Request, |draft| {
        match draft.request(&scope, mode, &details) {
            Ok(answer) => Ok(Ok(answer)),
            // A denial is an answer, and writes nothing: not even that the session is at work.
            Err(ModeRefusal::Denied { scope: of, denial, .. }) => {
                let message = say::denial(draft.board(), &of, &called, &denial, "activate");
                draft.discard();
                Ok(Err((denial, message)))
            }
            Err(refusal) => Err(refusal),
        }
    })?;
    let requested = mode.name.clone();
    let (decision, kind, completed, active, message) = match done.answer {
        Err((denial, message)) => (ModeDecision::Deny, Some(denial.kind), Vec::new(), denial.active, message),
        Ok(answer) => {
            let (decision, completed) = decision(&answer.admission);
            let message = match decision {
                ModeDecision::NoChange => format!("{called} is active already"),
                ModeDecision::AutoComplete => {
                    let sources: Vec<&str> = completed.iter().map(ModeName::as_str).collect();
                    format!("mode transiting: {} -> {called}", sources.join(" + "))
                }
                ModeDecision::Overlap => {
                    let mut others = answer.active.clone();
                    others.retain(|mode| *mode != requested);
                    format!("{called} is active beside {}", say::in_one_phrase(&others))
                }
                ModeDecision::Start | ModeDecision::Deny => format!("{called} is active"),
            };
            (decision, None, completed, answer.active, message)
        }
    };
    Ok(ModeRequestReport {
        decision,
        kind,
        requested,
        completed,
        active,
        message,
        scope: ScopeReport(scope.session().cloned()),
        changed: done.changed,
        warnings: done.warnings,
    })
}

/// Writes fields into a mode's file. If the mode becomes active by that, the policy decides first.
///
/// # Errors
/// `mode_denied`, or the code of another rule that forbids it; then nothing is written.
pub fn write(cx: &Context, request: &ModeWriteRequest) -> Result<ModeWriteReport> {
    let (policy, _) = policy_for_command(cx)?;
    let mode = mode(&policy, &request.mode)?;
    let scope = scope_of(cx, &request.scope)?;
    let mut fields = request.fields.clone();
    if let Some(run) = run_meant(cx, text_of(&fields, "run_id"))? {
        fields.insert("run_id".to_owned(), run.as_str().into());
    }
    // Only now: a refused request leaves no `.flow` behind.
    let project = cx.project_or_init()?;
    let details = RequestDetails { review_clean: request.review_clean, run: None };
    let done = change_modes(&project, &policy, &scope, Cause::Write, |draft| {
        let is_new = draft.board().file(&scope, &mode.name).is_none();
        let admission = draft.write(&scope, mode, &fields, &details)?;
        let state = draft.board().fields(&scope, &mode.name).cloned().unwrap_or_default();
        let mut hidden = Vec::new();
        // A new file that says inactive hides the root's file from this session, and ends nothing there.
        if is_new && says_inactive(&state) {
            hidden = draft.board().known_active(&policy, &Scope::Root).0;
            hidden.retain(|one| one.mode == mode.name);
        }
        Ok((admission, state, say::active_for_all(&hidden, &scope)))
    })?;
    let (admission, state, hidden) = done.answer;
    let (decision, completed) = admission.as_ref().map(decision).unzip();
    let mut warnings = done.warnings;
    warnings.extend(hidden);
    let state_dir = project.make_state()?;
    Ok(ModeWriteReport {
        mode: mode.name.clone(),
        path: project.relative(&state_dir.file_path(&scope, &mode_file(&mode.name))),
        scope: ScopeReport(scope.session().cloned()),
        outcome: read_outcome(&state).outcome,
        state,
        decision,
        completed: completed.unwrap_or_default(),
        changed: done.changed,
        warnings,
    })
}

/// Runs `act` under the lock of the modes, and commits its changes.
pub(super) fn change_modes<T>(
    project: &OpenedProject,
    policy: &Policy,
    scope: &Scope,
    cause: Cause,
    act: impl FnOnce(&mut ModeDraft<'_>) -> Result<T, ModeRefusal>,
) -> Result<ChangeResult<T>> {
    let now = project.cx.now();
    let wait = if cause == Cause::SessionEnd { HOOK_WAIT } else { project.cx.lock_wait()? };
    let request = project.cx.write_request(now, wait);
    refuse_left_out(project)?;
    project.keep_out_of_git(&request)?;
    let state = project.make_state()?;
    if cause != Cause::SessionEnd
        && let Some(session) = scope.session()
    {
        // It is at work again, if it ever ended.
        late::forget(project, session);
    }
    let mut locked = state.lock(&request)?;
    if cause != Cause::SessionEnd {
        write_late_ends(project, policy, &mut locked, now);
    }
    let ends = matches!(cause, Cause::End | Cause::SessionEnd);
    let files = concerned(&locked, scope, &names(policy), ends)?;
    let mut draft = ModeDraft::new(policy, board(policy, &files), now, cause.source()).knowing(&is_dead);
    if !ends {
        draft = draft.asked_by(scope, project.sure_holder(scope.session())?);
    }
    let answer = act(&mut draft).map_err(|refusal| refused(&state, draft.board(), &refusal))?;
    let place = place_of_caller(project);
    let in_place = draft.warnings().iter().map(|warning| warning.clone().in_project(place.as_deref()).to_string());
    let mut warnings: Vec<String> = in_place.collect();
    warnings.extend(draft.ended().iter().filter_map(|ended| run_goes_on(project, ended)));
    let changed = !draft.is_empty();
    if changed {
        let summary = summary(&draft);
        warnings.extend(commit(&mut locked, draft, &files, summary, now, &project.cx.ids)?);
    }
    Ok(ChangeResult { answer, changed, warnings })
}

/// Writes the ends of sessions that their modes do not say yet. What cannot be written stays noted.
fn write_late_ends(project: &OpenedProject, policy: &Policy, locked: &mut LockedState<'_>, now: Timestamp) {
    for late in late::all(project) {
        let scope = Scope::Session(late.session.clone());
        let Ok(files) = concerned(locked, &scope, &names(policy), true) else { continue };
        let mut draft = ModeDraft::new(policy, board(policy, &files), now, Cause::SessionEnd.source());
        draft.end_session(&scope, late.at);
        if !draft.is_empty() {
            let summary = summary(&draft);
            if commit(locked, draft, &files, summary, now, &project.cx.ids).is_err() {
                continue;
            }
        }
        late::forget(project, &late.session);
    }
}

/// Marks the active modes of a session as belonging to a session that has ended; does nothing if there are none. Another
/// writer may have the modes for longer than a host waits: then the end is noted, and written later.
pub(super) fn end_session_of_modes(project: &OpenedProject, session: &SessionId) -> Result<()> {
    let scope = Scope::Session(session.clone());
    let Some(state) = project.state()? else { return Ok(()) };
    let (policy, _) = definition::policy_of(&project.catalog())?;
    let seen = board(&policy, &state.read(Some(std::slice::from_ref(&scope)), &names(&policy))?);
    if seen.own_active(&policy, &scope).is_empty() {
        return Ok(());
    }
    let at = project.cx.now();
    let noted = late::note(project, session, at);
    let done = change_modes(project, &policy, &scope, Cause::SessionEnd, |draft| {
        draft.end_session(&scope, at);
        Ok(())
    });
    match done {
        Ok(_) => late::forget(project, session),
        // The next writer writes the end that is noted.
        Err(Error::Run(runs::Error::Store(StoreError::Held { .. }))) if noted.is_ok() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Removes that mark if the session is active again.
pub(super) fn wake_modes(project: &OpenedProject, policy: &Policy, scope: &Scope, board: &Board) -> Result<()> {
    if let Some(session) = scope.session() {
        late::forget(project, session);
    }
    let own = board.own_active(policy, scope);
    // Without a mark there is nothing to remove, and a prompt must not wait for the lock.
    if *scope != Scope::Root && own.iter().any(|(_, fields)| why_over(fields, &is_dead).is_some()) {
        change_modes(project, policy, scope, Cause::Prompt, |_| Ok(()))?;
    }
    Ok(())
}

/// Finds the run that a mode is to work on; it must exist.
fn run_meant(cx: &Context, run: Option<&str>) -> Result<Option<RunId>> {
    let Some(run) = run else { return Ok(None) };
    Ok(Some(open_run(&cx.project()?, run, Purpose::Write)?.id().clone()))
}

/// A warning about the run of a mode that ended, because the run does not end with it.
fn run_goes_on(project: &OpenedProject, ended: &ModeEnd) -> Option<String> {
    // The field may hold any text; what is not an id names no run.
    let (id, mode) = (RunId::new(ended.run.as_deref()?).ok()?, &ended.mode);
    let worked = format!("{mode} worked on run {id}, which");
    let Ok(run) = project.runs().open(&id) else { return Some(format!("{worked} is not there")) };
    let place = place_of_caller(project);
    if let Ok(Some(text)) = run.text()
        && let Ok(run) = RunText::parse(&text)
    {
        let status = run.document().state.status;
        if status.is_terminal() {
            return None;
        }
        let resume = Suggestion::flow("resume").value(&id).in_project(place.as_deref());
        return Some(format!("{worked} is still {status}: `{resume}` says what is next"));
    }
    let doctor = Suggestion::flow("doctor").value(&id).in_project(place.as_deref());
    Some(format!("{worked} cannot be read: `{doctor}` says why"))
}

/// The rule, and the modes that were completed by it.
pub(super) fn decision(admission: &Admission) -> (ModeDecision, Vec<ModeName>) {
    match admission {
        Admission::Start => (ModeDecision::Start, Vec::new()),
        Admission::NoChange => (ModeDecision::NoChange, Vec::new()),
        Admission::Overlap => (ModeDecision::Overlap, Vec::new()),
        Admission::AutoComplete(completed) => (ModeDecision::AutoComplete, completed.clone()),
        Admission::Deny(_) => (ModeDecision::Deny, Vec::new()),
    }
}

/// The summary of a commit, for the log.
fn summary(draft: &ModeDraft<'_>) -> String {
    let mut sentences = draft.messages().to_vec();
    for ModeEnd { mode, scope, broken, .. } in draft.ended() {
        sentences.push(match broken {
            Some(why) => format!("{mode} of {scope} was put aside: {why}"),
            None => format!("{mode} of {scope} ended"),
        });
    }
    if sentences.is_empty() { "modes began or were written".to_owned() } else { sentences.join("; ") }
}
