//! The states in the modes' files, and which modes they make active in which scope.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{ModeName, Scope, Timestamp};
use crate::modes::policy::{Policy, says_active, text_of};
use crate::modes::state::over::{IsDead, note_end, why_over};
use crate::modes::state::refusal::ModeRefusal;

/// Why a file in which git left both sides of a merge says nothing.
pub(crate) const MERGE: &str = "it has the conflict markers of a merge, which a person has to settle";

/// The state in a mode's file.
#[derive(Debug, Clone, PartialEq)]
pub enum ModeState {
    /// The fields.
    Known(Map<String, Value>),
    /// The file cannot be read, for this reason.
    Broken(String),
}

/// The mode files of some scopes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Board {
    files: BTreeMap<(Scope, ModeName), ModeState>,
}

/// An active mode, and the scope of the file that makes it active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The mode that is active.
    pub mode: ModeName,
    /// The scope of its file.
    pub scope: Scope,
}

impl Board {
    /// The file of `mode` in `scope` itself.
    #[must_use]
    pub fn file(&self, scope: &Scope, mode: &ModeName) -> Option<&ModeState> {
        self.files.get(&(scope.clone(), mode.clone()))
    }

    /// The fields in the file of `mode` in `scope` itself; none if there is no file, or it cannot be read.
    #[must_use]
    pub fn fields(&self, scope: &Scope, mode: &ModeName) -> Option<&Map<String, Value>> {
        match self.file(scope, mode)? {
            ModeState::Known(fields) => Some(fields),
            ModeState::Broken(_) => None,
        }
    }

    /// The file that counts for `mode` in `scope`: the session's own, otherwise that of the root scope.
    #[must_use]
    pub fn seen(&self, scope: &Scope, mode: &ModeName) -> Option<(Scope, &ModeState)> {
        if let Some(own) = self.file(scope, mode) {
            return Some((scope.clone(), own));
        }
        Some((Scope::Root, self.file(&Scope::Root, mode)?))
    }

    /// Replaces a file, or removes it.
    pub fn set(&mut self, scope: &Scope, mode: &ModeName, file: Option<ModeState>) {
        let key = (scope.clone(), mode.clone());
        match file {
            Some(file) => drop(self.files.insert(key, file)),
            None => drop(self.files.remove(&key)),
        }
    }

    /// Marks the active modes of a session as belonging to one that ended at `at`. Gives the modes that had no such mark.
    pub fn end_session(&mut self, policy: &Policy, scope: &Scope, at: Timestamp) -> Vec<ModeName> {
        let mut marked = Vec::new();
        if *scope == Scope::Root {
            return marked;
        }
        for (mode, mut state) in self.own_active(policy, scope) {
            if note_end(&mut state, at) {
                self.set(scope, &mode, Some(ModeState::Known(state)));
                marked.push(mode);
            }
        }
        marked
    }

    /// The scopes with a file, the root scope first.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = self.files.keys().map(|(scope, _)| scope.clone()).collect();
        // The files are sorted by their scopes.
        scopes.dedup();
        scopes
    }

    /// The modes that are active in `scope`, in the order in which they began. A session sees the modes of the root
    /// scope, except those for which it has a file of its own.
    ///
    /// # Errors
    /// [`ModeRefusal::Unreadable`] when a file that counts cannot be read.
    pub fn active(&self, policy: &Policy, scope: &Scope) -> Result<Vec<Active>, ModeRefusal> {
        let (active, unknown) = self.known_active(policy, scope);
        let Some(Active { mode, scope }) = unknown.into_iter().next() else { return Ok(active) };
        let why = match self.file(&scope, &mode) {
            Some(ModeState::Broken(why)) => why.clone(),
            _ => String::new(),
        };
        Err(ModeRefusal::Unreadable { mode, scope, why })
    }

    /// As [`Self::active`], without an error: gives the modes that are known to be active, and those whose file cannot
    /// be read.
    #[must_use]
    pub fn known_active(&self, policy: &Policy, scope: &Scope) -> (Vec<Active>, Vec<Active>) {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for mode in policy.modes() {
            let Some((owner, file)) = self.seen(scope, &mode.name) else { continue };
            let active = Active { mode: mode.name.clone(), scope: owner };
            match file {
                ModeState::Known(state) if says_active(state) => known.push((began(state), active)),
                ModeState::Known(_) => {}
                ModeState::Broken(_) => unknown.push(active),
            }
        }
        // Stable: modes that began at the same time stay in the order of the policy.
        known.sort_by_key(|(began, _)| *began);
        (known.into_iter().map(|(_, active)| active).collect(), unknown)
    }

    /// The modes that files in `scope` itself make active. Files that cannot be read are ignored.
    #[must_use]
    pub fn own_active(&self, policy: &Policy, scope: &Scope) -> Vec<(ModeName, Map<String, Value>)> {
        let mut own = Vec::new();
        for mode in policy.modes() {
            if let Some(state) = self.fields(scope, &mode.name).filter(|state| says_active(state)) {
                own.push((mode.name.clone(), state.clone()));
            }
        }
        own.sort_by(|(_, a), (_, b)| began(a).cmp(began(b)));
        own
    }

    /// How it is known that the session of `scope` is over: all of its active modes must say so. A mode that began later
    /// shows that the session came back.
    pub(super) fn why_session_over(&self, policy: &Policy, scope: &Scope, is_dead: IsDead<'_>) -> Option<String> {
        // Everyone shares the root scope, so it is never over.
        if *scope == Scope::Root {
            return None;
        }
        let mut newest = None;
        for (_, state) in self.own_active(policy, scope) {
            newest = Some(why_over(&state, is_dead)?);
        }
        newest
    }
}

fn began(state: &Map<String, Value>) -> &str {
    text_of(state, "started_at").unwrap_or_default()
}
