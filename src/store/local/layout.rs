//! The names of all files below `.flow`.

use crate::model::Seq;

/// The directory that holds everything.
pub const FLOW: &str = ".flow";
/// Below [`FLOW`]: one directory for each run.
pub const RUNS: &str = "runs";
/// Below [`FLOW`]: the project's workflow definitions.
pub const WORKFLOWS: &str = "workflows";
/// Below [`FLOW`]: the project's interview scripts.
pub const INTERVIEWS: &str = "interviews";
/// Below [`FLOW`]: schemas for editors, written by `flow init`.
pub const SCHEMAS: &str = "schemas";
/// Below [`FLOW`]: copies of runs that several machines share, as a project of their own.
pub const SHARED: &str = "shared";
/// A run's document.
pub const RUN_FILE: &str = "run.yaml";
/// A run's log, the only commit point.
pub const LOG: &str = "events.jsonl";
/// The lock file of a run or of `.flow`; never deleted, renamed or truncated.
pub const LOCK: &str = ".lock";
/// A run's activity documents.
pub const ACTIVITIES: &str = "activities";
/// Files that activities refer to.
pub const EVIDENCE: &str = "evidence";
/// The next `run.yaml`; a leftover of this name belongs to a dead writer.
pub const RUN_TMP: &str = ".run.tmp";
/// A `run.yaml` merged with what a person saved during a commit; a leftover may hold what they saved after that.
pub const RUN_MERGE_TMP: &str = ".run.merge.tmp";
/// The log's copy during recovery.
pub const LOG_TMP: &str = ".events.tmp";
/// The next activity file, inside [`ACTIVITIES`].
pub const ACTIVITY_TMP: &str = ".act.tmp";
/// Where recovery moves files that may hold a person's work.
pub const QUARANTINE: &str = ".quarantine";
/// Below [`FLOW`]: files that can be made again at any time.
pub const CACHE: &str = ".cache";
/// Below [`CACHE`]: the runs that were open.
pub const OPEN_RUNS: &str = "open-runs.json";
/// Below [`CACHE`]: the runs that are being reopened.
pub const REOPENING_RUNS: &str = "reopening";
/// Below [`CACHE`]: summaries of finished runs.
pub const FINISHED_RUNS: &str = "finished-runs";
/// Below [`CACHE`]: one file for each session of an agent's host, written by hooks.
pub const HOSTS: &str = "hosts";
/// Below [`CACHE`]: a recap of each run that is long enough for one.
pub const RECAPS: &str = "recaps";
/// Below [`CACHE`] of the copies of shared runs: what was seen when the store that has them was last asked.
pub const SEEN_AT_CARRIER: &str = "seen.json";
/// Below [`CACHE`] of the copies of shared runs: which store they are from.
pub const STORE_OF_COPIES: &str = "store";
/// In the cache beside copies: the directory with a note for each that goes into the store and may not be there yet.
pub const PUSHING: &str = "pushing";
/// In the cache beside copies: the directory with a note for each that is whole.
pub const WHOLE_COPIES: &str = "whole";
/// Below [`CACHE`]: the digests of the checkout's files.
pub const TREE: &str = "tree";
/// The same, of looks at files that `exec --input` names.
pub const INPUTS: &str = "inputs";
/// Below [`CACHE`]: an empty file that is made again to tell the time by the file system's clock.
pub const TREE_CLOCK: &str = "tree-clock";
/// Below [`CACHE`]: the trouble that hooks had.
pub const HOOK_LOG: &str = "hooks.log";
/// Below [`CACHE`]: the documents in which interviews began.
pub const INTERVIEW_NOTE: &str = "interviews.json";
/// Temporary name of a file that `init` writes.
pub const INIT_TMP: &str = ".init.tmp";
/// Below [`FLOW`]: the state of modes.
pub const STATE: &str = "state";
/// Below [`STATE`]: one directory for each session.
pub const SESSIONS: &str = "sessions";
/// Below [`FLOW`]: a line for each run that was pruned.
pub const PRUNED: &str = "pruned.jsonl";
/// Below [`FLOW`]: pruned runs that are about to be deleted. git ignores the name.
pub const PRUNING: &str = ".prune.tmp";
/// Name prefix of a run that is being created.
pub const NEW_RUN: &str = ".new-";

/// The next `run.yaml` of the writer that appended the event at position `seq`, while other writers go on: `.run.18.tmp`.
#[must_use]
pub fn run_tmp_of(seq: Seq) -> String {
    format!(".run.{seq}.tmp")
}

/// Whether a file in a run's directory has a name of [`run_tmp_of`].
#[must_use]
pub fn is_run_tmp_of_one(name: &str) -> bool {
    let seq = name.strip_prefix(".run.").and_then(|rest| rest.strip_suffix(".tmp")).unwrap_or_default();
    !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit())
}

/// What flow and the original scripts call files and directories in [`FLOW`], besides runs that are being created.
pub const OWN_NAMES: [&str; 19] = [
    CACHE, RUNS, WORKFLOWS, INTERVIEWS, SCHEMAS, LOCK, INIT_TMP, QUARANTINE, STATE, "goals", "triggers", "config.yaml",
    SHARED, PRUNED, PRUNING, "modes.yaml", GITIGNORE_FILE, GITATTRIBUTES_FILE, "README.md",
];

/// The name of the file with [`GITIGNORE`].
pub const GITIGNORE_FILE: &str = ".gitignore";

/// Contents of `.flow/.gitignore`. It ignores itself: so it survives a checkout of a branch without `.flow`, and the
/// locks that stay behind there are still ignored. Evidence is part of a run, also where a project ignores `*.log`.
pub const GITIGNORE: &str = "\
# Written by flow. Runs are committed or not as the project decides, each as a whole; the rest never is.
!/runs/*/evidence/*
/.gitignore
.lock
.*.tmp
.quarantine/
.new-*
";

/// The name of the file with [`GITATTRIBUTES`].
pub const GITATTRIBUTES_FILE: &str = ".gitattributes";

/// What [`GITATTRIBUTES_FILE`] has besides, once a run was pruned.
pub const PRUNED_ATTRIBUTES: &str = "pruned.jsonl merge=union -text";

/// Contents of `.flow/.gitattributes`: git merges logs line by line and never converts line endings.
pub const GITATTRIBUTES: &str = "\
# Written by flow.
runs/*/events.jsonl merge=union -text
runs/*/run.yaml -text
runs/*/activities/*.yaml -text
runs/*/evidence/* -text
state/**/events.jsonl merge=union -text
";

/// What [`GITATTRIBUTES_FILE`] has besides where the project gives such files to Git LFS: git would merge the pointers, and a
/// clone without LFS would have no runs.
pub const OUT_OF_LFS: &str = "\
runs/*/events.jsonl -filter
runs/*/run.yaml -filter
runs/*/activities/*.yaml -filter
state/**/events.jsonl -filter
pruned.jsonl -filter
";
