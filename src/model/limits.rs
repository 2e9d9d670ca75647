//! Limits for everything that is read or written. Exceeding a limit is an error; buffers never grow beyond it.

/// Largest `run.yaml` to which work is added, in bytes.
pub const FULL_RUN_BYTES: usize = 4 << 20;
/// Largest `run.yaml`, in bytes. A run that is full can still be blocked, handed over, and ended.
pub const RUN_BYTES: usize = FULL_RUN_BYTES + (64 << 10);
/// Largest activity document, in bytes. Larger outputs belong into `evidence/`.
pub const ACTIVITY_BYTES: usize = 1 << 20;
/// Largest file of evidence whose digest is recorded and which is kept where several machines share the run, in bytes.
pub const EVIDENCE_BYTES: usize = 8 << 20;
/// Largest line of `events.jsonl`, in bytes. It can hold a whole escaped `run.yaml`, because a hand edit is logged with
/// its text.
pub const LINE_BYTES: usize = 2 * RUN_BYTES + ACTIVITY_BYTES;
/// Largest `events.jsonl` that a command reads as a whole, in bytes.
pub const LOG_BYTES: usize = 1 << 30;
/// How much of a log may follow each other without an event, in bytes, beside one line, which may be torn and as long as a
/// line may be: notes of other programs. If there is more, the log is not read any further.
pub const GAP_BYTES: usize = 4 << 20;
/// The same in lines. Many short lines take longer than a long one.
pub const GAP_LINES: usize = 1 << 16;
/// Longest name of a file, in bytes: no file system has longer ones.
pub const NAME_BYTES: usize = 255;
/// Largest workflow definition, in bytes.
pub const WORKFLOW_BYTES: usize = 1 << 20;
/// Largest Markdown document with a workflow in it, in bytes: finding the diagram costs more than reading it.
pub const MARKDOWN_BYTES: usize = 512 << 10;
/// Maximum number of states of a workflow.
pub const STATES: usize = 10_000;
/// Maximum number of transitions of a workflow.
pub const TRANSITIONS: usize = 40_000;
/// Largest decision journal, in bytes.
pub const JOURNAL_BYTES: usize = 4 << 20;
/// Largest document of an interview with its scratch pad, in bytes.
pub const INTERVIEW_BYTES: usize = 1 << 20;
/// Largest answer to a question of an interview, in bytes.
pub const ANSWER_BYTES: usize = 256 << 10;
/// Maximum number of questions of an interview.
pub const QUESTIONS: u32 = 100;
/// Largest payload of a hook on standard input, in bytes.
pub const HOOK_BYTES: usize = 1 << 20;
/// Largest file of a host's settings, in bytes.
pub const SETTINGS_BYTES: usize = 1 << 20;
/// Maximum size of the file that an export replaces, and of the export, in bytes.
pub const EXPORT_BYTES: usize = 1 << 30;
/// Largest message of a client of `flow mcp`, in bytes.
pub const MESSAGE_BYTES: usize = 1 << 20;
/// Maximum nesting depth of such a message.
pub const MESSAGE_DEPTH: usize = 64;
/// Largest file of a mode, in bytes.
pub const MODE_BYTES: usize = 1 << 20;
/// Maximum number of sessions in the visible set of the root scope.
pub const SHOWN_SESSIONS: usize = 100;
/// Largest file of the cache, in bytes. A larger one is ignored.
pub const CACHE_BYTES: usize = 64 << 20;
/// Largest file of the ids of pruned runs, in bytes: some 500,000 runs.
pub const PRUNED_BYTES: usize = 64 << 20;
/// How much of a log's end to look at, at least, in bytes. More is read if necessary.
pub const TAIL_BYTES: usize = 8 << 10;
/// Maximum nesting depth of a YAML document.
pub const YAML_DEPTH: usize = 64;
/// Maximum number of nodes in a YAML document other than a `run.yaml`.
pub const YAML_NODES: usize = 50_000;
/// Maximum number of nodes in a `run.yaml`: as many entries of `completed_activities` as fit into its size.
pub const RUN_NODES: usize = RUN_BYTES / 8;
/// Largest counter (position, number, epoch) that is accepted. Every JSON reader represents such numbers exactly.
pub const COUNTER: u64 = 1 << 48;
/// Maximum number of violations to report for one document.
pub const VIOLATIONS: usize = 100;
/// Maximum number of lines of a log to report that are not events. Further ones are only counted.
pub const SKIPPED: usize = 10_000;
