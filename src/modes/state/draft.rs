//! A set of changes to modes: all of them happen, or none.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::model::{Help, ModeName, RunId, Scope, Suggestion, Timestamp, VISIBLE, limits, mode_file};
use crate::modes::policy::{
    Admission, Condition, Denial, DenialKind, Mode, Policy, clear_audit, drop_stale, read_outcome, settle,
};
use crate::modes::state::ModeRefusal;
use crate::modes::state::board::{Active, Board, ModeState};
use crate::modes::state::over::{IsDead, note_life, session_over};
use crate::modes::state::visible::{Visible, visible_set};

/// The details of a request for a mode.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// Whether the review of the mode that would hand over is clean; otherwise its file says so.
    pub review_clean: Option<bool>,
    /// The run that the mode works on.
    pub run: Option<RunId>,
}

/// The result of a request that was not denied.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// The rule; never a denial.
    pub admission: Admission,
    /// The modes that are active afterwards, in the order in which they began.
    pub active: Vec<ModeName>,
}

/// A mode that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The mode.
    pub mode: ModeName,
    /// The scope of its file.
    pub scope: Scope,
    /// The run that it worked on.
    pub run: Option<String>,
    /// Why its old file goes to quarantine; none if it could be read.
    pub broken: Option<String>,
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The scope of the file.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// The content; none if the file is removed.
    pub value: Option<Map<String, Value>>,
    /// Whether the old file is kept in quarantine.
    pub aside: bool,
}

/// The changes so far.
#[derive(Debug)]
pub struct Draft<'a> {
    policy: &'a Policy,
    board: Board,
    now: Timestamp,
    /// The source of the request, for the audit fields.
    source: &'static str,
    changed: BTreeSet<(Scope, ModeName)>,
    aside: BTreeSet<(Scope, ModeName)>,
    ended: Vec<Ended>,
    warnings: Vec<Help>,
    messages: Vec<String>,
    begun: i64,
    /// Sessions that are known to be over, with the reason.
    over: Vec<(Scope, String)>,
    /// The process that lives as long as the requesting session.
    holder: Option<String>,
}

impl<'a> Draft<'a> {
    /// A draft without changes. `source` goes into the audit fields: `workflow-transition`, `keyword-detector`, …
    #[must_use]
    pub fn new(policy: &'a Policy, board: Board, now: Timestamp, source: &'static str) -> Self {
        Self {
            policy,
            board,
            now,
            source,
            changed: BTreeSet::new(),
            aside: BTreeSet::new(),
            ended: Vec::new(),
            warnings: Vec::new(),
            messages: Vec::new(),
            begun: 0,
            over: Vec::new(),
            holder: None,
        }
    }

    /// Determines which sessions are over. `is_dead` tells from its evidence whether a process is known to be dead.
    #[must_use]
    pub fn knowing(mut self, is_dead: IsDead<'_>) -> Self {
        let scopes = self.board.scopes().into_iter();
        let over = scopes.filter_map(|scope| {
            let why = session_over(&self.board, self.policy, &scope, is_dead)?;
            Some((scope, why))
        });
        self.over = over.collect();
        self
    }

    /// Sets the requester: the session of `scope` is alive, in the process `holder` if that is known.
    #[must_use]
    pub fn asked_by(mut self, scope: &Scope, holder: Option<String>) -> Self {
        self.holder = holder.filter(|_| *scope != Scope::Root);
        self.over.retain(|(over, _)| over != scope);
        for (mode, mut state) in self.board.own_active(self.policy, scope) {
            if *scope != Scope::Root && note_life(&mut state, self.holder.as_deref()) {
                self.put(scope, &mode, Some(state));
            }
        }
        self
    }

    /// Marks the active modes of a session as belonging to a session that ended at `at`.
    pub fn end_session(&mut self, scope: &Scope, at: Timestamp) {
        let marked = self.board.end_session(self.policy, scope, at);
        self.changed.extend(marked.into_iter().map(|mode| (scope.clone(), mode)));
    }

    /// The states after the changes so far.
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Drops all changes, so that nothing is written.
    pub fn discard(&mut self) {
        self.changed.clear();
        self.aside.clear();
        self.ended.clear();
        self.messages.clear();
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Modes that were ended, in order.
    #[must_use]
    pub fn ended(&self) -> &[Ended] {
        &self.ended
    }

    /// What happened, one sentence each.
    #[must_use]
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Warnings, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[Help] {
        &self.warnings
    }

    /// Requests `mode`. A mode that is active already stays as it is; modes that hand over are completed before the
    /// destination begins.
    ///
    /// # Errors
    /// [`ModeRefusal::Denied`] and [`ModeRefusal::Unreadable`]; then the draft is unchanged.
    pub fn request(&mut self, scope: &Scope, mode: &Mode, wanted: &Wanted) -> Result<Requested, ModeRefusal> {
        let admission = self.admit(scope, mode, wanted)?;
        if admission == Admission::NoChange {
            self.take_run(scope, &mode.name, wanted.run.as_ref());
        } else {
            let begun = self.begin(scope, mode, wanted);
            self.put(scope, &mode.name, Some(begun));
        }
        Ok(Requested { admission, active: self.active_names(scope)? })
    }

    /// Notes `run` as the run of an active mode.
    fn take_run(&mut self, scope: &Scope, mode: &ModeName, run: Option<&RunId>) {
        let Some(run) = run else { return };
        let Some(ModeState::Known(state)) = self.board.file(scope, mode) else {
            self.warnings.push(format!("{mode} is active for every session, so run {run} is not noted").into());
            return;
        };
        let mut state = state.clone();
        if state.get("run_id").and_then(Value::as_str) == Some(run.as_str()) {
            return;
        }
        self.warn_of_other_run(mode, &state, run.as_str());
        state.insert("run_id".into(), run.as_str().into());
        state.insert("updated_at".into(), self.now.to_string().into());
        self.put(scope, mode, Some(state));
    }

    /// Warns if the mode worked on another run before.
    fn warn_of_other_run(&mut self, mode: &ModeName, state: &Map<String, Value>, run: &str) {
        if let Some(other) = state.get("run_id").and_then(Value::as_str).filter(|other| *other != run) {
            self.warnings.push(format!("{mode} worked on run {other} until now").into());
        }
    }

    /// Decides on `mode`, and completes the modes that hand over to it. A request in the root scope concerns every
    /// session.
    fn admit(&mut self, scope: &Scope, mode: &Mode, wanted: &Wanted) -> Result<Admission, ModeRefusal> {
        let mut views = vec![scope.clone()];
        if *scope == Scope::Root {
            views.extend(self.board.scopes().into_iter().filter(|other| *other != Scope::Root));
        }
        let mut own = None;
        let mut sources: Vec<Active> = Vec::new();
        let mut aside: Vec<(Active, String)> = Vec::new();
        for view in views {
            if view != *scope && self.board.file(&view, &mode.name).is_some() {
                // The session's own file hides the mode that begins here.
                continue;
            }
            let active = self.board.active(self.policy, &view)?;
            let names: Vec<ModeName> = active.iter().map(|active| active.mode.clone()).collect();
            let holds = |name: &ModeName, condition: Condition| self.holds(&view, name, condition, wanted);
            let decide = |names: &[ModeName]| {
                let admission = self.policy.admit(names, &mode.name, &holds);
                if view == *scope { admission } else { spare(&view, &active, admission) }
            };
            let mut admission = decide(&names);
            let left = self.left_behind(&view, &active, &admission);
            if !left.is_empty() {
                let stays = |name: &&ModeName| !left.iter().any(|(one, _)| one.mode == **name);
                let names: Vec<ModeName> = names.iter().filter(stays).cloned().collect();
                admission = decide(&names);
                aside.extend(left);
            }
            if view == *scope && admission == Admission::NoChange {
                return Ok(admission);
            }
            match &admission {
                Admission::Deny(denial) => {
                    let denial = denial.clone();
                    return Err(ModeRefusal::Denied { requested: mode.name.clone(), scope: view, denial });
                }
                Admission::AutoComplete(completed) => {
                    sources.extend(active.into_iter().filter(|active| completed.contains(&active.mode)));
                }
                Admission::Start | Admission::NoChange | Admission::Overlap => {}
            }
            own.get_or_insert(admission);
        }
        for (Active { mode: left, scope: of }, why) in aside {
            self.put_aside(&of, &left, &mode.name, &why);
        }
        let own = own.unwrap_or(Admission::Start);
        let mut completed: Vec<ModeName> = Vec::new();
        for source in &sources {
            if !completed.contains(&source.mode) {
                completed.push(source.mode.clone());
            }
            self.complete(&source.scope, &source.mode, &mode.name);
            // A stale file in the root scope would become visible again once the session's file is gone.
            self.complete(&Scope::Root, &source.mode, &mode.name);
        }
        if !completed.is_empty() {
            let names: Vec<&str> = completed.iter().map(ModeName::as_str).collect();
            self.messages.push(format!("mode transiting: {} -> {}", names.join(" + "), mode.name));
        }
        Ok(if completed.is_empty() { own } else { Admission::AutoComplete(completed) })
    }

    /// Active modes of other sessions that prevent a request, if their session is known to be over; with the reason.
    fn left_behind(&self, view: &Scope, active: &[Active], admission: &Admission) -> Vec<(Active, String)> {
        let Admission::Deny(denial) = admission else { return Vec::new() };
        let Some((_, why)) = self.over.iter().find(|(over, _)| over == view) else { return Vec::new() };
        let is_left = |one: &&Active| one.scope == *view && denial.blockers.contains(&one.mode);
        active.iter().filter(is_left).map(|one| (one.clone(), why.clone())).collect()
    }

    /// Cancels a mode of a session that is over.
    fn put_aside(&mut self, scope: &Scope, mode: &ModeName, target: &ModeName, why: &str) {
        let Some(session) = scope.session() else { return };
        if !self.cancel(scope, mode) {
            return;
        }
        let note = format!("{mode} was put aside for {target}, since session {session} {why}");
        if let Some(ModeState::Known(state)) = self.board.file(scope, mode) {
            let mut state = state.clone();
            state.insert("completion_note".into(), note.clone().into());
            self.put(scope, mode, Some(state));
        }
        let request = Suggestion::flow("mode request").value(mode).option("session", session);
        self.warnings.push(Help::from(format!("{note}; ")) + request + " starts it again there");
    }

    fn active_names(&self, scope: &Scope) -> Result<Vec<ModeName>, ModeRefusal> {
        Ok(self.board.active(self.policy, scope)?.into_iter().map(|active| active.mode).collect())
    }

    fn holds(&self, view: &Scope, mode: &ModeName, condition: Condition, wanted: &Wanted) -> bool {
        match condition {
            Condition::ReviewClean => wanted.review_clean.unwrap_or_else(|| {
                let said = self.board.seen(view, mode);
                matches!(said, Some((_, ModeState::Known(state))) if state.get("review_clean") == Some(&Value::Bool(true)))
            }),
        }
    }

    /// The file of a mode that begins. Start times of modes that begin together differ by a millisecond, to keep their
    /// order.
    fn begin(&mut self, scope: &Scope, mode: &Mode, wanted: &Wanted) -> Map<String, Value> {
        let at = self.now.later(self.begun).to_string();
        self.begun += 1;
        let mut state = Map::new();
        state.insert("mode".into(), mode.name.as_str().into());
        state.insert("active".into(), true.into());
        state.extend(mode.start.clone());
        state.insert("started_at".into(), at.clone().into());
        state.insert("updated_at".into(), at.into());
        if let Some(session) = scope.session() {
            state.insert("session_id".into(), session.as_str().into());
        }
        if let Some(holder) = &self.holder {
            state.insert("session_holder".into(), holder.as_str().into());
        }
        if let Some(run) = &wanted.run {
            state.insert("run_id".into(), run.as_str().into());
        }
        state.insert("run_outcome".into(), "continue".into());
        state
    }

    /// Completes an active mode that hands over, with the audit fields of RCS.
    fn complete(&mut self, scope: &Scope, mode: &ModeName, target: &ModeName) {
        let Some(ModeState::Known(state)) = self.board.file(scope, mode) else { return };
        if state.get("active") != Some(&Value::Bool(true)) {
            return;
        }
        let mut state = state.clone();
        let now = self.now.to_string();
        clear_audit(&mut state);
        ["terminal_outcome", "lifecycle_outcome", "run_outcome", "error"]
            .iter()
            .for_each(|field| drop(state.shift_remove(*field)));
        state.insert("active".into(), false.into());
        state.insert("current_phase".into(), crate::modes::policy::COMPLETED.into());
        if !state.get("completed_at").is_some_and(Value::is_string) {
            state.insert("completed_at".into(), now.clone().into());
        }
        state.insert("updated_at".into(), now.clone().into());
        state.insert("auto_completed_reason".into(), format!("mode transiting: {mode} -> {target}").into());
        let note = format!("{mode} was completed because it handed over to {target}");
        state.insert("completion_note".into(), note.into());
        state.insert("transition_source".into(), self.source.into());
        state.insert("transition_target_mode".into(), target.as_str().into());
        close_question(&mut state, "handoff", &now);
        state.insert("lifecycle_outcome".into(), "finished".into());
        state.insert("run_outcome".into(), "finish".into());
        self.note_end(scope, mode, &state, None);
        self.put(scope, mode, Some(state));
    }

    /// Merges `given` into the file of `mode`. If the mode becomes active by that, the policy decides first.
    ///
    /// # Errors
    /// [`ModeRefusal`]; then the caller must discard the draft.
    pub fn write(
        &mut self,
        scope: &Scope,
        mode: &Mode,
        given: &Map<String, Value>,
        wanted: &Wanted,
    ) -> Result<Option<Admission>, ModeRefusal> {
        let name = &mode.name;
        let before = match self.board.file(scope, name) {
            None => None,
            Some(ModeState::Known(state)) => Some(state.clone()),
            Some(ModeState::Broken(why)) => {
                return Err(ModeRefusal::Unreadable { mode: name.clone(), scope: scope.clone(), why: why.clone() });
            }
        };
        // A new file begins the mode, unless `given` says that it has ended.
        let ends = given.get("active") == Some(&Value::Bool(false)) || read_outcome(given).outcome.is_some();
        let mut state = match &before {
            Some(state) => state.clone(),
            None if ends => Map::from_iter([("mode".to_owned(), Value::from(name.as_str()))]),
            None => self.begin(scope, mode, wanted),
        };
        drop_stale(mode, &mut state, given);
        for (field, value) in given {
            match value {
                Value::Null => drop(state.shift_remove(field)),
                value => drop(state.insert(field.clone(), value.clone())),
            }
        }
        state.insert("mode".into(), name.as_str().into());
        match scope.session() {
            Some(session) => drop(state.insert("session_id".into(), session.as_str().into())),
            None => drop(state.shift_remove("session_id")),
        }
        let field = |fault| ModeRefusal::Field { mode: name.clone(), fault };
        let lifecycle = |fault| ModeRefusal::Lifecycle { mode: name.clone(), fault };
        mode.check_fields(&mut state).map_err(field)?;
        mode.end_by_phase(&mut state, given);
        let warnings = settle(&mut state, self.now).map_err(lifecycle)?;
        let was_active = before.as_ref().is_some_and(|state| state.get("active") == Some(&Value::Bool(true)));
        let is_active = state.get("active") == Some(&Value::Bool(true));
        let admission = match is_active && !was_active {
            // The mode may be active already by the file in the root scope.
            true => Some(self.admit(scope, mode, wanted)?),
            false => None,
        };
        self.warnings.extend(warnings.into_iter().map(Help::from));
        if let (true, Some(before), Some(run)) = (was_active, &before, given.get("run_id").and_then(Value::as_str)) {
            self.warn_of_other_run(name, before, run);
        }
        if was_active && !is_active {
            self.note_end(scope, name, &state, None);
        }
        if before.as_ref() != Some(&state) {
            state.insert("updated_at".into(), self.now.to_string().into());
            self.put(scope, name, Some(state));
        }
        Ok(admission)
    }

    /// Removes the file of `mode`. If the root scope has a file too, the session's file stays and only hides that one.
    /// Works even if the file cannot be read.
    pub fn clear(&mut self, scope: &Scope, mode: &ModeName) -> bool {
        let Some(file) = self.board.file(scope, mode).cloned() else { return false };
        let hides = scope.session().is_some() && self.board.file(&Scope::Root, mode).is_some();
        let is_cleared = |state: &Map<String, Value>| {
            state.get("active") == Some(&Value::Bool(false))
                && state.get("current_phase").and_then(Value::as_str) == Some(crate::modes::policy::CLEARED)
        };
        if hides && matches!(&file, ModeState::Known(state) if is_cleared(state)) {
            return false;
        }
        self.end(scope, mode, file);
        let now = self.now.to_string();
        let tombstone = json!({
            "mode": mode, "active": false, "current_phase": crate::modes::policy::CLEARED, "updated_at": now,
            "completed_at": now, "session_id": scope.session(),
            "lifecycle_outcome": "userinterlude", "run_outcome": "cancelled",
        });
        let Value::Object(tombstone) = tombstone else { unreachable!("BUG: an object is no object") };
        self.put(scope, mode, hides.then_some(tombstone));
        true
    }

    /// Cancels `mode` and keeps its file. Works even if the file cannot be read; the file of an inactive mode stays as
    /// it is. A very large file goes to quarantine, so that all modes of a session can be cancelled in one line of the
    /// log.
    pub fn cancel(&mut self, scope: &Scope, mode: &ModeName) -> bool {
        let Some(file) = self.board.file(scope, mode).cloned() else { return false };
        if matches!(&file, ModeState::Known(state) if state.get("active") != Some(&Value::Bool(true))) {
            return false;
        }
        let mut state = self.end(scope, mode, file);
        if Value::from(state.clone()).to_string().len() > CARRIED {
            self.aside.insert((scope.clone(), mode.clone()));
            state.retain(|field, value| {
                matches!(field.as_str(), "run_id" | "session_id" | "started_at")
                    && value.as_str().is_some_and(|text| text.len() < 300)
            });
        }
        let now = self.now.to_string();
        ["terminal_outcome", "completed_at"].iter().for_each(|field| drop(state.shift_remove(*field)));
        state.insert("mode".into(), mode.as_str().into());
        state.insert("active".into(), false.into());
        state.insert("current_phase".into(), crate::modes::policy::CANCELLED.into());
        state.insert("completed_at".into(), now.clone().into());
        state.insert("updated_at".into(), now.clone().into());
        close_question(&mut state, "abort", &now);
        state.insert("lifecycle_outcome".into(), "userinterlude".into());
        state.insert("run_outcome".into(), "cancelled".into());
        self.put(scope, mode, Some(state));
        true
    }

    /// Records the end of a mode, whether its file can be read or not. Gives the fields that are known.
    fn end(&mut self, scope: &Scope, mode: &ModeName, file: ModeState) -> Map<String, Value> {
        match file {
            ModeState::Known(state) => {
                if state.get("active") == Some(&Value::Bool(true)) {
                    self.note_end(scope, mode, &state, None);
                }
                state
            }
            ModeState::Broken(why) => {
                self.note_end(scope, mode, &Map::new(), Some(why));
                self.aside.insert((scope.clone(), mode.clone()));
                Map::new()
            }
        }
    }

    fn note_end(&mut self, scope: &Scope, mode: &ModeName, state: &Map<String, Value>, broken: Option<String>) {
        let run = state.get("run_id").and_then(Value::as_str).map(str::to_owned);
        self.ended.push(Ended { mode: mode.clone(), scope: scope.clone(), run, broken });
    }

    fn put(&mut self, scope: &Scope, mode: &ModeName, state: Option<Map<String, Value>>) {
        self.board.set(scope, mode, state.map(ModeState::Known));
        self.changed.insert((scope.clone(), mode.clone()));
    }

    /// The files to write, in this order: modes that ended, modes that began, visible sets. The visible set of the root
    /// scope is the last one. `before` gives the current visible set of a scope.
    #[must_use]
    pub fn finish(self, before: &dyn Fn(&Scope) -> Visible) -> Vec<Changed> {
        let is_active = |(scope, mode): &(Scope, ModeName)| matches!(self.board.file(scope, mode), Some(ModeState::Known(state)) if state.get("active") == Some(&Value::Bool(true)));
        let (begun, ended): (Vec<_>, Vec<_>) = self.changed.iter().partition(|key| is_active(key));
        let mut files = Vec::new();
        for key in ended.into_iter().chain(begun) {
            let (scope, mode) = key;
            let value = match self.board.file(scope, mode) {
                Some(ModeState::Known(state)) => Some(state.clone()),
                _ => None,
            };
            let aside = self.aside.contains(key);
            files.push(Changed { scope: scope.clone(), name: mode_file(mode), value, aside });
        }
        let mut scopes: BTreeSet<&Scope> = self.changed.iter().map(|(scope, _)| scope).collect();
        scopes.remove(&Scope::Root);
        for scope in scopes.into_iter().chain([&Scope::Root]) {
            let message = self.messages.last();
            let set = visible_set(&self.board, self.policy, scope, &before(scope), self.now, message);
            files.push(Changed { scope: scope.clone(), name: VISIBLE.into(), value: Some(set), aside: false });
        }
        files
    }
}

/// The largest file that is kept when its mode is cancelled, in bytes.
const CARRIED: usize = limits::MODE_BYTES / 4;

/// Only the session itself completes its own modes by a hand-over; for a request in the root scope, they are conflicts.
fn spare(view: &Scope, active: &[Active], admission: Admission) -> Admission {
    let Admission::AutoComplete(completed) = &admission else { return admission };
    let own = active.iter().filter(|one| one.scope == *view && completed.contains(&one.mode));
    let blockers: Vec<_> = own.map(|one| one.mode.clone()).collect();
    if blockers.is_empty() {
        return admission;
    }
    let active = active.iter().map(|one| one.mode.clone()).collect();
    Admission::Deny(Denial { kind: DenialKind::Overlap, active, blockers })
}

/// Closes a pending question, because nobody will answer it any more.
fn close_question(state: &mut Map<String, Value>, why: &str, now: &str) {
    let Some(Value::Object(question)) = state.get_mut("question_enforcement") else { return };
    if question.get("status").and_then(Value::as_str) == Some("pending") {
        question.insert("status".into(), "cleared".into());
        question.insert("clear_reason".into(), why.into());
        question.insert("cleared_at".into(), now.into());
    }
}
