//! Every file name below `.flow`, in one place.

/// The directory that holds everything.
pub const FLOW: &str = ".flow";
/// Below [`FLOW`]: one directory a run.
pub const RUNS: &str = "runs";
/// Below [`FLOW`]: workflow definitions of the project.
pub const WORKFLOWS: &str = "workflows";
/// Below [`FLOW`]: scripts of interviews of the project.
pub const INTERVIEWS: &str = "interviews";
/// Below [`FLOW`]: schemas for editors, written by `flow init`.
pub const SCHEMAS: &str = "schemas";
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
/// Where recovery puts what it does not understand.
pub const QUARANTINE: &str = ".quarantine";
/// Below [`FLOW`]: what can be found out again.
pub const CACHE: &str = ".cache";
/// Below [`CACHE`]: the runs that were not over.
pub const OPEN_RUNS: &str = "open-runs.json";
/// Below [`CACHE`]: the runs that are over.
pub const FINISHED_RUNS: &str = "finished-runs";
/// A file of the cache on its way.
pub const CACHE_TMP: &str = ".cache.tmp";
/// A file of `init` on its way.
pub const INIT_TMP: &str = ".init.tmp";
/// Below [`FLOW`]: the modes.
pub const STATE: &str = "state";
/// Below [`STATE`]: one directory a session.
pub const SESSIONS: &str = "sessions";
/// Name prefix of a run that is being created.
pub const NEW_RUN: &str = ".new-";

/// Contents of `.flow/.gitignore`. It ignores itself, so it stays in the checkout when a branch without `.flow` is checked
/// out, and what flow leaves there stays ignored.
pub const GITIGNORE: &str = "\
# Written by flow. Runs are committed or not as the project decides; these never are.
/.gitignore
.lock
.*.tmp
.quarantine/
.new-*
";

/// Contents of `.flow/.gitattributes`: logs merge line by line, and no tool may change a line end.
pub const GITATTRIBUTES: &str = "\
# Written by flow.
runs/*/events.jsonl merge=union -text
runs/*/run.yaml -text
runs/*/activities/*.yaml -text
state/**/events.jsonl merge=union -text
";
