//! Whether what was seen of a command still holds: whether the files are those that it was run on.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Execution, IgnoreRules, TreeSnapshot, named};

/// How many paths that changed are named.
const CHANGED: usize = 1000;
/// How many paths are compared with a commit at once, which are words of one command.
const COMPARED: usize = 200;
/// How many times at most.
const PARTS: usize = 20;

named! {
    /// Whether evidence still holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
    pub enum Freshness {
        /// The tracked and untracked files are those on which the command was run.
        Fresh = "fresh",
        /// They are others.
        Stale = "stale",
        /// It cannot be told.
        Unknown = "unknown",
        /// What the command wrote is gone, or is not what was recorded.
        Gone = "gone",
    }
}

/// Whether evidence still holds, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceState {
    /// Whether it still holds.
    pub freshness: Freshness,
    /// Why it is not fresh.
    pub why: Option<String>,
    /// What changed since, at most a thousand paths; empty if that is not known.
    pub changed: Vec<String>,
    /// Whether more changed.
    pub more_changed: bool,
    /// Whether the files are those that the command left behind.
    #[serde(skip)]
    pub(crate) by_itself: bool,
    /// Whether only inputs were looked at: outside of git nothing lists the other files.
    #[serde(skip)]
    pub(crate) only_inputs: bool,
}

impl EvidenceState {
    fn fresh() -> Self {
        let (freshness, changed) = (Freshness::Fresh, Vec::new());
        Self { freshness, why: None, changed, more_changed: false, by_itself: false, only_inputs: false }
    }

    /// The files are others than those on which it was run: these, and perhaps more.
    fn stale(why: String, (changed, more_changed): (Vec<String>, bool)) -> Self {
        Self { freshness: Freshness::Stale, why: Some(why), changed, more_changed, ..Self::fresh() }
    }

    /// What is the same if all of these are fresh, as a part of a sentence.
    pub(crate) fn what_is_the_same<'s>(all: impl IntoIterator<Item = &'s Self>) -> &'static str {
        if all.into_iter().any(|state| state.only_inputs) {
            return "the inputs are the same; outside of git nothing else is looked at";
        }
        "the tracked and untracked files are the same"
    }

    /// It cannot be told, because of `why`.
    #[must_use]
    pub fn unknown(why: impl Into<String>) -> Self {
        Self { freshness: Freshness::Unknown, why: Some(why.into()), ..Self::fresh() }
    }

    /// What was recorded is gone, because of `why`.
    #[must_use]
    pub fn gone(why: impl Into<String>) -> Self {
        Self { freshness: Freshness::Gone, why: Some(why.into()), ..Self::fresh() }
    }
}

/// The files as they are now, and what can be asked of them.
pub trait CheckoutFiles {
    /// The digest of the files, which is all that is asked of most.
    ///
    /// # Errors
    /// Why they are not known.
    fn sha256(&self) -> Result<&str, String>;

    /// The files, and how they differ from the commit.
    ///
    /// # Errors
    /// Why that is not known.
    fn snapshot(&self) -> Result<&TreeSnapshot, String>;

    /// Which checkout on which machine this is, if it is known.
    fn place(&self) -> Option<String>;

    /// By what git leaves files out, if that is known.
    fn ignore_rules(&self) -> Option<&IgnoreRules>;

    /// What tells the content of a path from another one, as in [`TreeSnapshot::changed`].
    fn mark(&self, path: &str) -> String;

    /// The paths, without those of flow, in which two commits differ; `None` if that is not known.
    fn between(&self, one: &str, other: &str) -> Option<Vec<String>>;

    /// Those of `paths` whose files are as this commit has them; `None` if that is not known.
    fn as_in(&self, commit: &str, paths: &[&str]) -> Option<BTreeSet<String>>;
}

/// The files for which what was seen of `exec` holds.
///
/// # Errors
/// Why there are none, in words.
pub(crate) fn files_before(exec: &Execution) -> Result<&TreeSnapshot, &str> {
    match &exec.before {
        None => Err(exec.no_tree.as_deref().unwrap_or("the files on which it was run are not known")),
        // git ignores every file of the commit, or outside of a repository the inputs name none.
        Some(before) if before.is_of_nothing() => Err("there was no file that counts when it was run"),
        Some(before) => Ok(before),
    }
}

/// Whether what was seen of `exec` holds for the files as they are now.
#[must_use]
pub fn evidence_state(exec: &Execution, now: &dyn CheckoutFiles) -> EvidenceState {
    let mut state = state_of_files(exec, now);
    // It holds for the files on which it began, and may have read others as well.
    if state.freshness == Freshness::Fresh && exec.saw_changes() {
        state.why = Some("files changed while it ran, and were put back".to_owned());
    }
    state
}

fn state_of_files(exec: &Execution, now: &dyn CheckoutFiles) -> EvidenceState {
    let before = match files_before(exec) {
        Ok(before) => before,
        Err(why) => return EvidenceState::unknown(why),
    };
    match now.sha256() {
        Ok(present) if before.sha256 == present => return same_files(before, now),
        Ok(_) => {}
        Err(why) => return EvidenceState::unknown(why),
    }
    let present = match now.snapshot() {
        Ok(present) => present,
        Err(why) => return EvidenceState::unknown(why),
    };
    if before.place != present.place {
        return elsewhere(before, present, now);
    }
    let by_itself = exec.end.as_ref().filter(|end| end.after.as_ref() == Some(&present.sha256));
    if let Some(end) = by_itself {
        let why = "the command itself changed files, and was run on those before; those that it changes each time are for git \
                   to ignore";
        let stale = EvidenceState::stale(why.to_owned(), (end.changed.clone(), end.more_changed));
        return EvidenceState { by_itself: true, ..stale };
    }
    let (changed, more_changed) = changed(before, present, now);
    let is_told = more_changed || !changed.is_empty();
    let unknown = if is_told { "" } else { ", and git does not tell which" };
    EvidenceState::stale(format!("the files changed since it was run{unknown}"), (changed, more_changed))
}

/// All files that git lists are the same. Here others may have been hidden from it since; in another checkout other rules are in force
/// anyway.
fn same_files(before: &TreeSnapshot, now: &dyn CheckoutFiles) -> EvidenceState {
    let (Some(then), Some(here)) = (&before.ignore_rules, now.ignore_rules()) else { return EvidenceState::fresh() };
    let differing = then.differing(here);
    if differing.is_empty() || now.place().as_ref() != Some(&before.place) {
        return EvidenceState::fresh();
    }
    let what = differing.join(" and ");
    EvidenceState::unknown(format!(
        "what git ignores here has changed since it was run: look at {what}, and run it again"
    ))
}

/// Evidence from another checkout: filters and line ends may differ there, so its files are compared by their commits.
fn elsewhere(before: &TreeSnapshot, present: &TreeSnapshot, now: &dyn CheckoutFiles) -> EvidenceState {
    let (Some(then), Some(here)) = (&before.commit, &present.commit) else {
        return EvidenceState::unknown("it was run in another place, on files that are in no commit");
    };
    let again = "run `git status` there, and the command again";
    for (tree, which, mend) in [(before, "that one", again), (present, "this one", "run `git status` here")] {
        if tree.clean {
            continue;
        }
        let why = if tree.needs_filter {
            format!(
                "whether {which} has changes cannot be told without the filter that its repository configures: {mend}"
            )
        } else {
            format!("{which} has changes that are in no commit")
        };
        return EvidenceState::unknown(format!("it was run in another checkout, and {why}"));
    }
    match now.between(then, here) {
        Some(paths) if paths.is_empty() => EvidenceState::fresh(),
        Some(_) => EvidenceState::unknown("it was run in another checkout, on another commit"),
        None => EvidenceState::unknown("it was run in another checkout, on a commit that is not here"),
    }
}

/// The paths whose content is another one than it was, and whether there may be more.
fn changed(before: &TreeSnapshot, present: &TreeSnapshot, now: &dyn CheckoutFiles) -> (Vec<String>, bool) {
    let mut more = before.more_changed || present.more_changed;
    let mut paths: BTreeSet<String> = before.changed.keys().cloned().collect();
    // Of more files than were noted, those that differ now may have differed then, and be the same.
    if !before.more_changed {
        paths.extend(present.changed.keys().cloned());
    }
    // So may those that were committed since.
    if !before.more_changed && before.commit != present.commit {
        let between = match (&before.commit, &present.commit) {
            (Some(then), Some(here)) => now.between(then, here),
            _ => None,
        };
        match between {
            Some(between) => paths.extend(between),
            None => more = true,
        }
    }
    // What was dirty may be committed now, and the same. A name that is not UTF-8 is known by its mark alone.
    for (path, then) in &before.changed {
        let mark = present.changed.get(path).cloned().unwrap_or_else(|| now.mark(path));
        if mark == *then {
            paths.remove(path);
        }
    }
    // The other files were then as the commit has them. They may be so again, or still be so and only the index be another one.
    if let Some(then) = before.commit.as_ref().filter(|_| !before.more_changed) {
        let (dirty, clean) = paths.into_iter().partition(|path| before.changed.contains_key(path));
        let (differing, is_cut) = differing_from(then, clean, now);
        paths = dirty;
        paths.extend(differing);
        more |= is_cut;
    }
    more |= paths.len() > CHANGED;
    (paths.into_iter().take(CHANGED).collect(), more)
}

/// Those of `paths` whose files are not as the commit has them, and whether some were not looked at, which are not named.
fn differing_from(commit: &str, paths: BTreeSet<String>, now: &dyn CheckoutFiles) -> (Vec<String>, bool) {
    let paths = Vec::from_iter(paths);
    let (mut differing, mut is_cut) = (Vec::new(), paths.len() > COMPARED * PARTS);
    for part in paths.chunks(COMPARED).take(PARTS) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        let Some(same) = now.as_in(commit, &part) else {
            is_cut = true;
            continue;
        };
        for path in part {
            if !same.contains(path) {
                differing.push(path.to_owned());
            }
        }
    }
    (differing, is_cut)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A checkout with these files, in which git ignores by these rules.
    struct Checkout {
        now: TreeSnapshot,
        rules: Option<IgnoreRules>,
    }

    impl CheckoutFiles for Checkout {
        fn sha256(&self) -> Result<&str, String> {
            Ok(&self.now.sha256)
        }

        fn snapshot(&self) -> Result<&TreeSnapshot, String> {
            Ok(&self.now)
        }

        fn place(&self) -> Option<String> {
            Some(self.now.place.clone())
        }

        fn ignore_rules(&self) -> Option<&IgnoreRules> {
            self.rules.as_ref()
        }

        fn mark(&self, _path: &str) -> String {
            String::new()
        }

        fn between(&self, _one: &str, _other: &str) -> Option<Vec<String>> {
            Some(Vec::new())
        }

        fn as_in(&self, _commit: &str, _paths: &[&str]) -> Option<BTreeSet<String>> {
            None
        }
    }

    /// What is told of a command that was run on `before`, where the files are `now`.
    fn told(before: &Value, now: &Value) -> (Freshness, String) {
        let exec = json!({
            "argv": ["true"], "dir": ".", "started_at": "2026-12-01T00:00:00Z", "before": before,
        });
        let exec: Execution = serde_json::from_value(exec).unwrap();
        let now: TreeSnapshot = serde_json::from_value(now.clone()).unwrap();
        let state = evidence_state(&exec, &Checkout { rules: now.ignore_rules.clone(), now });
        (state.freshness, state.why.unwrap_or_default())
    }

    #[test]
    fn rules_by_which_git_ignores_are_compared_in_one_checkout_and_where_they_were_noted() {
        let of = |place: &str, rules: Value| {
            let mut tree = json!({ "sha256": "a", "files": 1, "place": place });
            if !rules.is_null() {
                tree["ignore_rules"] = rules;
            }
            tree
        };
        let (none, some) = (json!({}), json!({ "info_exclude": "x", "gitignore": "y" }));
        let here = |rules: &Value| of("here", rules.clone());
        let (freshness, why) = told(&here(&none), &here(&some));
        assert_eq!(freshness, Freshness::Unknown);
        assert!(why.contains("look at .git/info/exclude and a .gitignore that git does not list, and"), "{why}");
        assert_eq!(told(&here(&some), &here(&none)).0, Freshness::Unknown);
        for (before, now) in [
            (here(&some), here(&some)),
            (here(&none), here(&none)),
            // An earlier version noted none; in another checkout others are in force.
            (here(&Value::Null), here(&some)),
            (here(&some), of("there", none.clone())),
        ] {
            assert_eq!(told(&before, &now), (Freshness::Fresh, String::new()), "{before} {now}");
        }
    }
}
