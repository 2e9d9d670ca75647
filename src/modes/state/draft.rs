//! A set of changes to modes: all of them happen, or none.

mod ending;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::{Help, ModeName, RunId, Scope, Timestamp, VISIBLE, mode_file};
use crate::modes::policy::{
    Admission, Condition, Denial, DenialKind, Mode, Policy, drop_stale, read_outcome, says_active, says_inactive,
    settle, text_of,
};
use crate::modes::state::board::{Active, Board, ModeState};
use crate::modes::state::change::{ChangedFile, ModeEnd, RequestDetails, RequestResult};
use crate::modes::state::over::{IsDead, note_life};
use crate::modes::state::refusal::ModeRefusal;
use crate::modes::state::visible::{Visible, visible_set};

/// The changes so far.
#[derive(Debug)]
pub struct ModeDraft<'a> {
    policy: &'a Policy,
    board: Board,
    now: Timestamp,
    /// The source of the request, for the audit fields.
    source: &'static str,
    changed: BTreeSet<(Scope, ModeName)>,
    aside: BTreeSet<(Scope, ModeName)>,
    ended: Vec<ModeEnd>,
    warnings: Vec<Help>,
    messages: Vec<String>,
    begun: i64,
    /// Sessions that are known to be over, with the reason.
    over: Vec<(Scope, String)>,
    /// The process that lives as long as the requesting session.
    holder: Option<String>,
}

impl<'a> ModeDraft<'a> {
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
        for scope in self.board.scopes() {
            let why = self.board.why_session_over(self.policy, &scope, is_dead);
            self.over.extend(why.map(|why| (scope, why)));
        }
        self
    }

    /// Sets the requester: the session of `scope` is alive, in the process `holder` if that is known.
    #[must_use]
    pub fn asked_by(mut self, scope: &Scope, holder: Option<String>) -> Self {
        if *scope == Scope::Root {
            return self;
        }
        self.holder = holder;
        // A request proves that its session is at work, whatever its files say.
        self.over.retain(|(over, _)| over != scope);
        for (mode, mut state) in self.board.own_active(self.policy, scope) {
            if note_life(&mut state, self.holder.as_deref()) {
                self.put(scope, &mode, Some(state));
            }
        }
        self
    }

    /// Marks the active modes of a session as belonging to a session that ended at `at`.
    pub fn end_session(&mut self, scope: &Scope, at: Timestamp) {
        for mode in self.board.end_session(self.policy, scope, at) {
            self.changed.insert((scope.clone(), mode));
        }
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
    pub fn ended(&self) -> &[ModeEnd] {
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
    pub fn request(
        &mut self,
        scope: &Scope,
        mode: &Mode,
        details: &RequestDetails,
    ) -> Result<RequestResult, ModeRefusal> {
        let admission = self.admit(scope, mode, details)?;
        if admission == Admission::NoChange {
            self.take_run(scope, &mode.name, details.run.as_ref());
        } else {
            let begun = self.begin(scope, mode, details);
            self.put(scope, &mode.name, Some(begun));
        }
        let active = self.board.active(self.policy, scope)?.into_iter().map(|active| active.mode).collect();
        Ok(RequestResult { admission, active })
    }

    /// Notes `run` as the run of an active mode.
    fn take_run(&mut self, scope: &Scope, mode: &ModeName, run: Option<&RunId>) {
        let Some(run) = run else { return };
        let Some(state) = self.board.fields(scope, mode) else {
            // The root's file makes it active, and one session does not write for all.
            self.warnings.push(format!("{mode} is active for every session, so run {run} is not noted").into());
            return;
        };
        if text_of(state, "run_id") == Some(run.as_str()) {
            return;
        }
        let mut state = state.clone();
        self.warn_of_other_run(mode, &state, run.as_str());
        state.insert("run_id".into(), run.as_str().into());
        state.insert("updated_at".into(), self.now.to_string().into());
        self.put(scope, mode, Some(state));
    }

    /// Warns if the mode worked on another run before.
    fn warn_of_other_run(&mut self, mode: &ModeName, state: &Map<String, Value>, run: &str) {
        if let Some(other) = text_of(state, "run_id").filter(|other| *other != run) {
            self.warnings.push(format!("{mode} worked on run {other} until now").into());
        }
    }

    /// Decides on `mode`, and completes the modes that hand over to it. A request in the root scope concerns every
    /// session.
    fn admit(&mut self, scope: &Scope, mode: &Mode, details: &RequestDetails) -> Result<Admission, ModeRefusal> {
        let mut views = vec![scope.clone()];
        if *scope == Scope::Root {
            views.extend(self.board.scopes().into_iter().filter(|other| *other != Scope::Root));
        }
        let mut own = None;
        let mut sources: Vec<Active> = Vec::new();
        let mut aside: Vec<(Active, String)> = Vec::new();
        // All views are decided before anything changes: a refusal must leave the draft as it was.
        for view in views {
            if view != *scope && self.board.file(&view, &mode.name).is_some() {
                // The session's own file hides the mode that begins here.
                continue;
            }
            let active = self.board.active(self.policy, &view)?;
            let mut admission = self.decide(scope, &view, mode, &active, &[], details);
            let left = self.left_behind(&view, &active, &admission);
            if !left.is_empty() {
                // The same decision, as it will be once they are put aside.
                admission = self.decide(scope, &view, mode, &active, &left, details);
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
            // The first view is the requested scope.
            own.get_or_insert(admission);
        }
        for (Active { mode: left, scope: of }, why) in aside {
            self.put_aside(&of, &left, &mode.name, &why);
        }
        let mut completed: Vec<ModeName> = Vec::new();
        for source in sources {
            self.complete(&source.scope, &source.mode, &mode.name);
            // A stale file in the root scope would become visible again once the session's file is gone.
            self.complete(&Scope::Root, &source.mode, &mode.name);
            if !completed.contains(&source.mode) {
                completed.push(source.mode);
            }
        }
        if completed.is_empty() {
            return Ok(own.unwrap_or(Admission::Start));
        }
        let names: Vec<&str> = completed.iter().map(ModeName::as_str).collect();
        self.messages.push(format!("mode transiting: {} -> {}", names.join(" + "), mode.name));
        Ok(Admission::AutoComplete(completed))
    }

    /// What a request in `scope` comes to for `view`, when the modes in `active` are active there, without those that
    /// were `left` behind.
    fn decide(
        &self,
        scope: &Scope,
        view: &Scope,
        mode: &Mode,
        active: &[Active],
        left: &[(Active, String)],
        details: &RequestDetails,
    ) -> Admission {
        let mut names: Vec<ModeName> = active.iter().map(|one| one.mode.clone()).collect();
        names.retain(|name| left.iter().all(|(left, _)| left.mode != *name));
        let admission =
            self.policy.admit(&names, &mode.name, &|name, condition| self.holds(view, name, condition, details));
        if view == scope { admission } else { spare(view, active, admission) }
    }

    /// Active modes of other sessions that prevent a request, if their session is known to be over; with the reason.
    fn left_behind(&self, view: &Scope, active: &[Active], admission: &Admission) -> Vec<(Active, String)> {
        let Admission::Deny(denial) = admission else { return Vec::new() };
        let Some((_, why)) = self.over.iter().find(|(over, _)| over == view) else { return Vec::new() };
        let left = active.iter().filter(|one| one.scope == *view && denial.blockers.contains(&one.mode));
        left.map(|one| (one.clone(), why.clone())).collect()
    }

    fn holds(&self, view: &Scope, mode: &ModeName, condition: Condition, details: &RequestDetails) -> bool {
        let Condition::ReviewClean = condition;
        if let Some(is_clean) = details.review_clean {
            return is_clean;
        }
        // A review whose result is unknown does not count as clean.
        match self.board.seen(view, mode) {
            Some((_, ModeState::Known(state))) => state.get("review_clean") == Some(&Value::Bool(true)),
            _ => false,
        }
    }

    /// The file of a mode that begins. Start times of modes that begin together differ by a millisecond, to keep their
    /// order.
    fn begin(&mut self, scope: &Scope, mode: &Mode, details: &RequestDetails) -> Map<String, Value> {
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
        if let Some(run) = &details.run {
            state.insert("run_id".into(), run.as_str().into());
        }
        state.insert("run_outcome".into(), "continue".into());
        state
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
        details: &RequestDetails,
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
        let ends = says_inactive(given) || read_outcome(given).outcome.is_some();
        let mut state = match &before {
            Some(state) => state.clone(),
            None if ends => Map::from_iter([("mode".to_owned(), Value::from(name.as_str()))]),
            None => self.begin(scope, mode, details),
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
        mode.check_fields(&mut state).map_err(|fault| ModeRefusal::Field { mode: name.clone(), fault })?;
        mode.end_by_phase(&mut state, given);
        let warnings =
            settle(&mut state, self.now).map_err(|fault| ModeRefusal::Lifecycle { mode: name.clone(), fault })?;
        let was_active = matches!(&before, Some(state) if says_active(state));
        let is_active = says_active(&state);
        // The mode may be active already by the file in the root scope.
        let admission = if is_active && !was_active { Some(self.admit(scope, mode, details)?) } else { None };
        self.warnings.extend(warnings.into_iter().map(Help::from));
        if was_active
            && let Some(before) = &before
            && let Some(run) = text_of(given, "run_id")
        {
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

    fn put(&mut self, scope: &Scope, mode: &ModeName, state: Option<Map<String, Value>>) {
        self.board.set(scope, mode, state.map(ModeState::Known));
        self.changed.insert((scope.clone(), mode.clone()));
    }

    /// The files to write, in this order: modes that ended, modes that began, visible sets. The visible set of the root
    /// scope is the last one. `before` gives the current visible set of a scope.
    #[must_use]
    pub fn finish(self, before: &dyn Fn(&Scope) -> Visible) -> Vec<ChangedFile> {
        let (mut files, mut begun) = (Vec::new(), Vec::new());
        let mut scopes = BTreeSet::new();
        for key in &self.changed {
            let (scope, mode) = key;
            scopes.insert(scope);
            let value = self.board.fields(scope, mode).cloned();
            let is_active = matches!(&value, Some(state) if says_active(state));
            let aside = self.aside.contains(key);
            let file = ChangedFile { scope: scope.clone(), name: mode_file(mode), value, aside };
            // Another program that reads the files in between must not see two modes that exclude each other.
            if is_active { begun.push(file) } else { files.push(file) }
        }
        files.append(&mut begun);
        // The set of the root scope has the position of the log, so it is put into place behind all other files.
        scopes.remove(&Scope::Root);
        for scope in scopes.into_iter().chain([&Scope::Root]) {
            let message = self.messages.last();
            let set = visible_set(&self.board, self.policy, scope, &before(scope), self.now, message);
            files.push(ChangedFile { scope: scope.clone(), name: VISIBLE.into(), value: Some(set), aside: false });
        }
        files
    }
}

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
