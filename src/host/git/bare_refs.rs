//! The references of a bare repository of flow's own.

use std::fs;

use crate::host::git::bare::{BareRepository, RefChange};
use crate::host::git::running::LIMIT;

/// From how many references with a file each on they are put into one file.
const LOOSE_REFS: usize = 256;

/// A reference, and what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedObject {
    /// The whole name of the reference.
    pub name: String,
    /// The id of the object.
    pub id: String,
    /// Whether that is a commit.
    pub is_commit: bool,
}

impl BareRepository {
    /// Puts all references into one file if there are more than a few below `place` that have a file each. With ten thousand
    /// files the next fetch reads each of them four times.
    ///
    /// # Errors
    /// Why git did not do so. Nothing depends on it.
    pub fn pack_refs(&self, place: &str) -> Result<(), String> {
        let Ok(files) = fs::read_dir(self.dir.join(place)) else { return Ok(()) };
        if files.take(LOOSE_REFS).count() < LOOSE_REFS {
            return Ok(());
        }
        let mut command = self.command();
        command.args(["pack-refs", "--all"]);
        self.run(command, None, LIMIT).map(drop)
    }

    /// The references that match a pattern and name a commit, each with it. Other ones were not made by flow.
    ///
    /// # Errors
    /// Why git did not list them.
    pub fn refs(&self, patterns: &[&str]) -> Result<Vec<(String, String)>, String> {
        let found = self.all_refs(patterns)?;
        Ok(found.into_iter().filter(|one| one.is_commit).map(|one| (one.name, one.id)).collect())
    }

    /// The references that match a pattern, whatever they name.
    ///
    /// # Errors
    /// Why git did not list them.
    pub fn all_refs(&self, patterns: &[&str]) -> Result<Vec<NamedObject>, String> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(objecttype) %(refname) %(objectname)"]).args(patterns);
        let mut found = Vec::new();
        for line in String::from_utf8_lossy(&self.run(command, None, LIMIT)?).lines() {
            let mut words = line.split(' ').map(str::to_owned);
            if let (Some(kind), Some(name), Some(id)) = (words.next(), words.next(), words.next()) {
                found.push(NamedObject { name, id, is_commit: kind == "commit" });
            }
        }
        Ok(found)
    }

    /// Whether `commit` is `later` or one of the commits before it.
    ///
    /// # Errors
    /// Why git did not say so.
    pub fn is_before(&self, commit: &str, later: &str) -> Result<bool, String> {
        let mut command = self.command();
        command.args(["merge-base", "--is-ancestor", commit, later]);
        let answer = self.answer(command, None, LIMIT)?;
        match answer.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(self.complaint(&answer)),
        }
    }

    /// Changes references here, as a push has done elsewhere.
    ///
    /// # Errors
    /// Why git did not change them.
    pub fn set_refs(&self, changes: &[RefChange]) -> Result<(), String> {
        let mut command = self.command();
        command.args(["update-ref", "--stdin"]);
        let mut lines = String::new();
        for change in changes {
            match &change.to {
                Some(to) => lines.push_str(&format!("update {} {to}\n", change.name)),
                None => lines.push_str(&format!("delete {}\n", change.name)),
            }
        }
        self.run(command, Some(lines.as_bytes()), LIMIT).map(drop)
    }
}
