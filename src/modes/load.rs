//! The scope of a command about modes, and the modes' files in it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::catalog::Origin;
use crate::codec::{digest, line_with};
use crate::host::Ids;
use crate::model::{
    Event, EventKind, Kind, ModeFile, ModesChanged, Problem, Scope, SessionId, TextDigest, Timestamp, VISIBLE,
    did_you_mean, limits, mode_file,
};
use crate::modes::definition;
use crate::modes::error::{Result, short};
use crate::modes::policy::{Mode, Policy};
use crate::modes::state::{Board, ChangedFile, MERGE, ModeDraft, ModeState, Visible};
use crate::modes::state_dir::{LockedState, StateFile, StateFiles};
use crate::runs::context::{Context, OpenedProject};

/// The scope that the caller names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModeScope {
    /// The session that the caller names.
    pub session: Option<SessionId>,
    /// Whether the root scope is meant, even if a session calls.
    pub root: bool,
}

/// A scope in reports: `root` or `session ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeReport(pub Option<SessionId>);

impl Serialize for ScopeReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for ScopeReport {
    fn schema_name() -> Cow<'static, str> {
        "ScopeReport".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(root|session .+)$", "description": "Whose modes: `root` or `session ID`." })
    }
}

impl std::fmt::Display for ScopeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            None => f.pad("root"),
            Some(session) => write!(f, "session {session}"),
        }
    }
}

/// Refuses to take the modes' files or their policy for missing where a sparse checkout leaves them out.
pub(super) fn refuse_left_out(project: &OpenedProject) -> Result<()> {
    for path in [".flow/state", ".flow/modes.yaml"] {
        project.cx.refuse_left_out(project.root(), path)?;
    }
    Ok(())
}

/// The policy for a command about modes, and its origin.
pub(super) fn policy_for_command(cx: &Context) -> Result<(Policy, Origin)> {
    let project = cx.project();
    if let Ok(project) = &project {
        refuse_left_out(project)?;
    }
    definition::policy_of(&cx.catalog(project.as_ref().ok()))
}

/// The scope of a command: the one that the caller names, otherwise the session in the environment, otherwise the root
/// scope.
pub(super) fn scope_of(cx: &Context, scope: &ModeScope) -> Result<Scope> {
    if scope.root {
        return Ok(Scope::Root);
    }
    Ok(Scope::of(match &scope.session {
        Some(session) => Some(session.clone()),
        None => cx.session()?,
    }))
}

/// The mode with this name or alias.
pub(super) fn mode<'a>(policy: &'a Policy, word: &str) -> Result<&'a Mode> {
    if let Some(mode) = policy.named(word) {
        return Ok(mode);
    }
    let known: Vec<String> = policy.modes().iter().map(|mode| mode.name.to_string()).collect();
    let meant = did_you_mean(crate::codec::similar(word, known.iter().map(String::as_str)));
    Err(Problem::new(Kind::Usage, "unknown_mode", format!("there is no mode `{}`", short(word)))
        .help(format!("{meant}The modes are {}", known.join(", ")))
        .into())
}

/// The files that matter for a change in `scope`. For a session: its own files, those of the root scope, and, as far as
/// they can be read, those of other sessions, which the new visible set of the root scope shows. For the root scope:
/// all files.
///
/// # Errors
/// When a file cannot be read. For the root scope that includes a session whose directory is closed, unless modes only
/// end (`ends`).
pub(super) fn concerned(locked: &LockedState<'_>, scope: &Scope, names: &[String], ends: bool) -> Result<StateFiles> {
    let state = locked.state();
    if *scope == Scope::Root {
        // A session that cannot be read may have a mode that forbids the request; to end modes needs no permission.
        let sessions = state.sessions()?;
        if !ends && let Some((_, why)) = sessions.closed.into_iter().next() {
            return Err(why.into());
        }
        return Ok(locked.read(&state.all_scopes()?, names)?);
    }
    let mut files = locked.read(&[Scope::Root, scope.clone()], names)?;
    let shown = match files.get(&(Scope::Root, VISIBLE.to_owned())).map(read) {
        // The visible set of another program does not say reliably which sessions have active modes.
        Some(ModeState::Known(set)) if set.contains_key(MARK) => Visible::read(&set).sessions,
        _ => state.sessions()?.readable,
    };
    for shown in shown.into_iter().map(Scope::Session).filter(|shown| shown != scope) {
        // The others are only shown; one that cannot be read must not prevent this session's change.
        files.extend(locked.read(&[shown], names).unwrap_or_default());
    }
    Ok(files)
}

/// The field in the visible set of the root scope that holds the position of the log which the files show.
const MARK: &str = "flow";

/// The names of the files of all modes, and of the visible set.
pub(super) fn names(policy: &Policy) -> Vec<String> {
    let mut names: Vec<String> = policy.modes().iter().map(|mode| mode_file(&mode.name)).collect();
    names.push(VISIBLE.to_owned());
    names
}

/// The states of modes in `files`.
pub(super) fn board(policy: &Policy, files: &StateFiles) -> Board {
    let mut board = Board::default();
    for ((scope, name), file) in files {
        let Some(mode) = policy.modes().iter().find(|mode| mode_file(&mode.name) == *name) else { continue };
        board.set(scope, &mode.name, Some(read(file)));
    }
    board
}

/// The state in one file.
pub(super) fn read(file: &StateFile) -> ModeState {
    match file {
        StateFile::Text(bytes) => read_state(bytes),
        StateFile::Unreadable(why) => ModeState::Broken(why.clone()),
    }
}

/// The state in the text of a file.
pub(crate) fn read_state(bytes: &[u8]) -> ModeState {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(state)) => ModeState::Known(state),
        Ok(_) => ModeState::Broken("it is not a JSON object".to_owned()),
        Err(_) if line_with(bytes, "<<<<<<< ").is_some() => ModeState::Broken(MERGE.to_owned()),
        Err(error) => ModeState::Broken(format!("it is not JSON: {error}")),
    }
}

/// Writes the changes of `draft` as one commit. Gives warnings.
pub(super) fn commit(
    locked: &mut LockedState<'_>,
    draft: ModeDraft<'_>,
    files: &StateFiles,
    summary: String,
    now: Timestamp,
    ids: &Ids,
) -> Result<Vec<String>> {
    let seq = locked.next_seq();
    let changed = draft.finish(&|scope| match files.get(&(scope.clone(), VISIBLE.to_owned())).map(read) {
        Some(ModeState::Known(set)) => Visible::read(&set),
        _ => Visible::default(),
    });
    let mut new_files = Vec::new();
    for ChangedFile { scope, name, mut value, aside } in changed {
        // The position that the files show from now on.
        if scope == Scope::Root
            && name == VISIBLE
            && let Some(set) = &mut value
        {
            set.insert(MARK.into(), serde_json::json!({ "seq": seq }));
        }
        let session = scope.session().cloned();
        let key = (scope, name);
        // An edit after this commit is distinguished from the old content by its digest.
        let was = files.get(&key).map(|old| TextDigest(digest(old.as_bytes())));
        new_files.push(ModeFile { session, name: key.1, was, text: value.as_ref().map(text), aside });
    }
    let kind = EventKind::ModesChanged(Box::new(ModesChanged { summary, files: new_files }));
    let event = Event { seq, id: ids.next(now), at: now, kind, run: None, recap: None };
    let committed = locked.commit(&event)?;
    let mut warnings = locked.take_notes();
    warnings.extend(committed.lagging.map(|why| format!("the change is recorded, but not shown yet: {why}")));
    Ok(warnings)
}

/// The text of a file.
fn text(value: &Map<String, Value>) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("BUG: plain data cannot be written");
    if text.len() >= limits::MODE_BYTES {
        // Blanks from pretty-printing must not make a file too large.
        text = serde_json::to_string(value).expect("BUG: plain data cannot be written");
    }
    text.push('\n');
    text
}
