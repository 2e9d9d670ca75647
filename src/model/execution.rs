//! A command that flow ran itself, and the files on which it ran, as an event has them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// A command that flow ran: what it was, and, once it ended, how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// The program and its arguments. What looks like a secret is masked.
    pub argv: Vec<String>,
    /// Whether something in `argv` is masked, so that it is not the command that ran.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub masked: bool,
    /// The name of the command in the project's configuration, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The directory in which it ran, relative to the top of the checkout, `.` at the top; relative to the project's without
    /// one.
    pub dir: String,
    /// Globs of files, relative to the top of the project, that the files on which it ran include: ignored ones, and all of
    /// them outside of a git repository.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(default)]
    pub inputs: Vec<String>,
    /// The limit of its time, in milliseconds; none without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_ms: Option<u64>,
    /// Whether its output was not to be kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_output: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// The files on which it began; none if they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<TreeSnapshot>,
    /// Why they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub no_tree: Option<String>,
    /// How it ended; none while it runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<ExecutionEnd>,
}

/// How a command ended that flow ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionEnd {
    /// When.
    pub at: Timestamp,
    /// Its exit status, if it ended by itself. 127 if there is no such program, 126 if it could not be run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal: Option<i32>,
    /// Whether it exceeded its time limit, and was ended.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub timed_out: bool,
    /// Why it was not started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_started: Option<String>,
    /// The SHA-256 of everything that it wrote to standard output; with a terminal, also to standard error.
    pub stdout_sha256: String,
    /// The SHA-256 of what it wrote to standard error.
    pub stderr_sha256: String,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// The digest of the files behind it; none if they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
    /// The files that changed while it ran, at most a thousand: its result holds for the files before.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changed: Vec<String>,
    /// Whether more changed than `changed` names.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more_changed: bool,
}

impl Execution {
    /// Whether files changed while it ran, so that it may have seen others than those on which it began.
    #[must_use]
    pub fn saw_changes(&self) -> bool {
        let after = self.end.as_ref().and_then(|end| end.after.as_ref());
        matches!((&self.before, after), (Some(before), Some(after)) if before.sha256 != *after)
    }
}

impl ExecutionEnd {
    /// Whether the command did what it was to do.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.status == Some(0) && !self.timed_out
    }

    /// What the exit status alone does not say.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        match (&self.not_started, self.signal) {
            (Some(why), _) => Some(format!("not started: {why}")),
            (None, _) if self.timed_out => Some("exceeded its time limit, and was ended".to_owned()),
            (None, Some(signal)) => Some(format!("ended by signal {signal}")),
            (None, None) => None,
        }
    }

    /// The status with which a shell would report it: 128 and the signal, if one ended it. 124, as of `timeout`, if it was
    /// ended by its time limit and says that all is well.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match (self.status, self.signal) {
            (Some(0), _) if self.timed_out => 124,
            (Some(status), _) => status,
            (None, Some(signal)) => 128 + signal,
            (None, None) => 126,
        }
    }
}

impl TreeSnapshot {
    /// Whether it has no file, and is of no commit or of one whose files are not in it. Such a snapshot is the same everywhere, so
    /// it identifies nothing.
    #[must_use]
    pub fn is_of_nothing(&self) -> bool {
        self.files == 0 && (self.commit.is_none() || !self.changed.is_empty())
    }
}

/// What the files of a checkout were at one moment: tracked and untracked ones, without ignored ones and without `.flow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeSnapshot {
    /// The digest of all files: their paths, kinds and bytes. Two trees with the same one have the same files.
    pub sha256: String,
    /// How many files it covers.
    pub files: u64,
    /// The commit that was checked out; none before the first one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Whether the files were exactly those of the commit, so that another checkout can compare commits.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub clean: bool,
    /// Whether that cannot be told: only files differ that a filter of the repository converts, and flow runs none.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub needs_filter: bool,
    /// Which checkout on which machine this was, as a digest.
    pub place: String,
    /// What differed from the commit: the beginning of each file's digest, empty for one that was gone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub changed: BTreeMap<String, String>,
    /// Whether more differed than `changed` names.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more_changed: bool,
    /// What the digest names and does not cover.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<NotCovered>,
    /// By what git left files out; none outside of git, and in evidence of versions that did not note it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ignore_rules: Option<IgnoreRules>,
}

/// The rules by which git ignores files and that are in none of the files that a tree's digest covers: a digest of each kind, none
/// without rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IgnoreRules {
    /// Those of `info/exclude`, of the repository and its submodules.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub info_exclude: Option<String>,
    /// Those of the file that `core.excludesFile` names, or of the one that git reads otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excludes_file: Option<String>,
    /// Those of each `.gitignore` that is ignored itself, or that only the index has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gitignore: Option<String>,
}

impl IgnoreRules {
    /// Which kinds differ in `other`, in words.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let kinds = [
            (&self.info_exclude, &other.info_exclude, ".git/info/exclude"),
            (&self.excludes_file, &other.excludes_file, "the file of core.excludesFile"),
            (&self.gitignore, &other.gitignore, "a .gitignore that git does not list"),
        ];
        kinds.into_iter().filter(|(one, other, _)| one != other).map(|(_, _, name)| name).collect()
    }
}

/// A path whose content a tree's digest does not cover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCovered {
    /// The path, relative to the top of the checkout.
    pub path: String,
    /// Why.
    pub why: String,
}
