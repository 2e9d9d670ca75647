//! Brings what a git remote has although it cannot give all of it: of one run an object may be missing there, or damaged.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::host::{BareRepository, RefChange};
use crate::store::shared::{NoAnswer, left_until};

/// The references that a remote cannot give, by their names below the place of all.
#[derive(Debug, Default)]
pub(super) struct UnreadableRefs {
    known: Mutex<BTreeMap<String, UnreadableRef>>,
}

/// One that it cannot give.
#[derive(Debug, Clone)]
struct UnreadableRef {
    /// The commit that it names there.
    id: String,
    why: String,
}

impl UnreadableRefs {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, UnreadableRef>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the remote cannot give this one, if it cannot.
    pub(super) fn why(&self, name: &str) -> Option<String> {
        self.known().get(name).map(|one| one.why.clone())
    }

    /// Their names, and the commits that they name there.
    pub(super) fn ids(&self) -> Vec<(String, String)> {
        self.known().iter().map(|(name, one)| (name.clone(), one.id.clone())).collect()
    }

    /// Forgets those that match one of these patterns: the remote has given them.
    pub(super) fn forget(&self, patterns: &[String]) {
        self.known().retain(|name, _| !is_of(name, patterns));
    }

    /// Brings the references that match one of the patterns, without those that the remote cannot give. `places` are where they are
    /// there, and here. All of them together could not be brought; `why` says for what reason.
    ///
    /// # Errors
    /// [`NoAnswer`] when the remote does not answer.
    pub(super) fn fetch_others(
        &self,
        repository: &BareRepository,
        places: [&str; 2],
        patterns: &[String],
        why: String,
        deadline: Instant,
    ) -> Result<(), NoAnswer> {
        let [there, here] = places;
        let asked: Vec<_> = patterns.iter().map(|names| format!("{there}{names}")).collect();
        let Ok(listed) = repository.listed(&asked, left_until(deadline)) else { return Err(why.into()) };
        let mut known: BTreeMap<_, _> = repository.refs(&[here])?.into_iter().collect();
        let mut wanted = Vec::new();
        for (name, id) in listed {
            let Some(name) = name.strip_prefix(there).filter(|name| is_of(name, patterns)) else { continue };
            if known.remove(&format!("{here}{name}")).as_ref() != Some(&id) {
                wanted.push((name.to_owned(), id));
            }
        }
        let mut gone = Vec::new();
        for (name, id) in known {
            if name.strip_prefix(here).is_some_and(|name| is_of(name, patterns)) {
                gone.push(RefChange { name, from: Some(id), to: None });
            }
        }
        if !gone.is_empty() {
            repository.set_refs(&gone)?;
        }
        self.forget(patterns);
        let mut parts = vec![wanted];
        while let Some(mut part) = parts.pop().filter(|part| !part.is_empty()) {
            let fetched: Vec<_> = part.iter().map(|(name, _)| format!("+{there}{name}:{here}{name}")).collect();
            let Err(why) = repository.fetch(&fetched, left_until(deadline)) else { continue };
            if !is_about_what_it_has(&why) {
                return Err(why.into());
            }
            let rest = part.split_off(part.len() / 2);
            if part.is_empty() {
                for (name, id) in rest {
                    let why = format!("it cannot give {there}{name}: {why}");
                    self.known().insert(name, UnreadableRef { id, why });
                }
                continue;
            }
            parts.extend([part, rest]);
        }
        Ok(())
    }
}

/// Whether a name matches one of these patterns, which end in `*`.
fn is_of(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| name.starts_with(pattern.trim_end_matches('*')))
}

/// Whether git was reached on the other side, and complains about what the repository there has.
pub(super) fn is_about_what_it_has(why: &str) -> bool {
    let words =
        ["remote: ", "remote error: ", "not our ref", "pack-objects", "bad pack header", "early EOF", "remote side"];
    words.iter().any(|word| why.contains(word))
}
