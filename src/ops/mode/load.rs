//! Whose modes a command is about, and what their files say.

use serde_json::{Map, Value};

use crate::codec::digest;
use crate::engine::{Board, Changed, Draft, ModeState, Visible};
use crate::host::Ids;
use crate::model::{
    Event, EventKind, ModeFile, ModeName, ModesChanged, Scope, SessionId, TextDigest, Timestamp, VISIBLE, limits,
    mode_file,
};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::policy::{Mode, Policy};
use crate::store::{LockedState, StateFiles};

/// Whose modes: as the caller says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModeScope {
    /// The session that was named.
    pub session: Option<SessionId>,
    /// Whether everybody's are meant, whatever session calls.
    pub root: bool,
}

impl Flow {
    /// The scope that the caller means: the one named, or the session of the environment, or the root's.
    pub(super) fn scope(&self, scope: &ModeScope) -> Result<Scope> {
        if scope.root {
            return Ok(Scope::Root);
        }
        Ok(Scope::of(match &scope.session {
            Some(session) => Some(session.clone()),
            None => self.env.session_id()?,
        }))
    }
}

/// The mode that a word means.
pub(super) fn mode<'a>(policy: &'a Policy, word: &str) -> Result<&'a Mode> {
    policy.named(word).ok_or_else(|| {
        let known: Vec<String> = policy.modes().iter().map(|mode| mode.name.to_string()).collect();
        let suggestion = crate::codec::similar(word, known.iter().map(String::as_str)).map(str::to_owned);
        Error::UnknownMode { word: word.chars().take(60).collect(), known, suggestion }
    })
}

/// The scopes whose files a change in `scope` has to know: a session's own and the root's, and of the root's everybody's.
/// Those whom the root's visible set shows are read for the next one.
pub(super) fn concerned(locked: &LockedState<'_>, scope: &Scope) -> Result<Vec<Scope>> {
    let set = locked.read(&[Scope::Root], &[VISIBLE.to_owned()])?;
    // One of another program tells nothing of who is active.
    let own = |bytes: &Vec<u8>| matches!(read(bytes), ModeState::Known(set) if set.contains_key(MARK));
    let shown = set.values().next().filter(|bytes| own(bytes)).and_then(|bytes| shown(bytes));
    Ok(match (scope, shown) {
        (Scope::Session(_), Some(shown)) => {
            let shown = shown.sessions.into_iter().map(Scope::Session);
            [Scope::Root, scope.clone()].into_iter().chain(shown.filter(|shown| shown != scope)).collect()
        }
        (Scope::Session(_), None) => {
            let mut everybody = locked.state().everybody()?;
            everybody.push(scope.clone());
            everybody
        }
        (Scope::Root, _) => locked.state().everybody()?,
    })
}

/// The field of the root's visible set by which the store knows how far the files are.
const MARK: &str = "flow";

/// What a visible set shows; none when it cannot be read.
fn shown(bytes: &[u8]) -> Option<Visible> {
    match read(bytes) {
        ModeState::Known(value) => Some(Visible::read(&value)),
        ModeState::Broken(_) => None,
    }
}

/// The names of the files of all modes, and of the visible set.
pub(super) fn names(policy: &Policy) -> Vec<String> {
    policy.modes().iter().map(|mode| mode_file(&mode.name)).chain([VISIBLE.to_owned()]).collect()
}

/// What the files of modes say.
pub(super) fn board(policy: &Policy, files: &StateFiles) -> Board {
    let mut board = Board::default();
    for ((scope, name), bytes) in files {
        let Some(mode) = policy.modes().iter().find(|mode| mode_file(&mode.name) == *name) else { continue };
        board.set(scope, &mode.name, Some(read(bytes)));
    }
    board
}

/// What one file says.
pub(crate) fn read(bytes: &[u8]) -> ModeState {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(state)) => ModeState::Known(state),
        Ok(_) => ModeState::Broken("it is not a JSON object".to_owned()),
        Err(error) => ModeState::Broken(format!("it is not JSON: {error}")),
    }
}

/// Writes what `draft` decided, as one commit. Gives warnings.
pub(super) fn commit(
    locked: &mut LockedState<'_>,
    draft: Draft<'_>,
    files: &StateFiles,
    summary: String,
    now: Timestamp,
    ids: &Ids,
) -> Result<Vec<String>> {
    let before = |scope: &Scope| {
        let set = files.get(&(scope.clone(), VISIBLE.to_owned()));
        set.and_then(|bytes| shown(bytes)).unwrap_or_default()
    };
    let seq = locked.next_seq();
    let changed = draft.finish(&before);
    let files = changed.into_iter().map(|file| {
        let was = files.get(&(file.scope.clone(), file.name.clone())).map(|bytes| TextDigest(digest(bytes)));
        let Changed { scope, name, value, aside } = file;
        let value = value.map(|mut value| {
            if scope == Scope::Root && name == VISIBLE {
                value.insert(MARK.into(), serde_json::json!({ "seq": seq }));
            }
            value
        });
        ModeFile { session: scope.session().cloned(), name, was, text: value.as_ref().map(text), aside }
    });
    let changed = ModesChanged { summary, files: files.collect() };
    let event = Event { seq, id: ids.next(now), at: now, kind: EventKind::ModesChanged(Box::new(changed)), run: None };
    let committed = locked.commit(&event)?;
    let mut warnings = locked.take_notes();
    warnings.extend(committed.lagging.map(|why| format!("the change is recorded, but not shown yet: {why}")));
    Ok(warnings)
}

fn text(value: &Map<String, Value>) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("BUG: plain data cannot be written");
    if text.len() >= limits::MODE_BYTES {
        // What somebody wrote without blanks is not to become too large by them.
        text = serde_json::to_string(value).expect("BUG: plain data cannot be written");
    }
    text.push('\n');
    text
}

/// The modes as words.
pub(super) fn list(modes: &[ModeName]) -> String {
    let names: Vec<&str> = modes.iter().map(ModeName::as_str).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}
