//! The states in the modes' files, and which modes they make active in which scope.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{ModeName, Scope, Timestamp};
use crate::modes::policy::Policy;
use crate::modes::state::ModeRefusal;
use crate::modes::state::over::note_end;

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
    /// The mode.
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

    /// The file that counts for `mode` in `scope`: the session's own, otherwise that of the root scope.
    #[must_use]
    pub fn seen(&self, scope: &Scope, mode: &ModeName) -> Option<(Scope, &ModeState)> {
        let own = self.file(scope, mode).map(|file| (scope.clone(), file));
        own.or_else(|| Some((Scope::Root, self.file(&Scope::Root, mode)?)))
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
        match unknown.into_iter().next() {
            None => Ok(active),
            Some(Active { mode, scope }) => {
                let why = match self.file(&scope, &mode) {
                    Some(ModeState::Broken(why)) => why.clone(),
                    _ => String::new(),
                };
                Err(ModeRefusal::Unreadable { mode, scope, why })
            }
        }
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
                ModeState::Known(state) if is_active(state) => known.push((began(state), active)),
                ModeState::Known(_) => {}
                ModeState::Broken(_) => unknown.push(active),
            }
        }
        known.sort_by(|(a, _), (b, _)| a.cmp(b));
        (known.into_iter().map(|(_, active)| active).collect(), unknown)
    }

    /// The modes that files in `scope` itself make active. Files that cannot be read are ignored.
    #[must_use]
    pub fn own_active(&self, policy: &Policy, scope: &Scope) -> Vec<(ModeName, Map<String, Value>)> {
        let mut own: Vec<_> = policy
            .modes()
            .iter()
            .filter_map(|mode| match self.file(scope, &mode.name) {
                Some(ModeState::Known(state)) if is_active(state) => Some((mode.name.clone(), state.clone())),
                _ => None,
            })
            .collect();
        own.sort_by_key(|(_, state)| began(state));
        own
    }
}

fn is_active(state: &Map<String, Value>) -> bool {
    state.get("active") == Some(&Value::Bool(true))
}

fn began(state: &Map<String, Value>) -> String {
    state.get("started_at").and_then(Value::as_str).unwrap_or_default().to_owned()
}
