//! A bound for everything that is read or written. Beyond a bound there is an error, never a bigger buffer.

/// Largest `run.yaml` in bytes.
pub const RUN_BYTES: usize = 4 << 20;
/// Largest activity document in bytes; a bigger output belongs into `evidence/`.
pub const ACTIVITY_BYTES: usize = 1 << 20;
/// Largest line of `events.jsonl` in bytes. It can hold a whole escaped `run.yaml` (a hand edit is logged with its text).
pub const LINE_BYTES: usize = 2 * RUN_BYTES + ACTIVITY_BYTES;
/// Largest `events.jsonl` in bytes that a command reads as a whole.
pub const LOG_BYTES: usize = 1 << 30;
/// Largest workflow definition in bytes.
pub const WORKFLOW_BYTES: usize = 1 << 20;
/// Largest Markdown document with a workflow in it, in bytes: finding the diagram costs more than reading it.
pub const MARKDOWN_BYTES: usize = 512 << 10;
/// Most states of a workflow.
pub const STATES: usize = 10_000;
/// Most transitions of a workflow.
pub const TRANSITIONS: usize = 40_000;
/// Largest decision journal in bytes.
pub const JOURNAL_BYTES: usize = 4 << 20;
/// Largest document of an interview in bytes, with its scratch pad.
pub const INTERVIEW_BYTES: usize = 1 << 20;
/// Largest answer to a question of an interview in bytes.
pub const ANSWER_BYTES: usize = 256 << 10;
/// Most questions of an interview.
pub const QUESTIONS: u32 = 100;
/// Largest payload of a hook on standard input in bytes.
pub const HOOK_BYTES: usize = 1 << 20;
/// Largest file of a mode in bytes.
pub const MODE_BYTES: usize = 1 << 20;
/// Most sessions in the visible set of the root scope.
pub const SHOWN_SESSIONS: usize = 100;
/// Largest file of the cache in bytes; what is larger is not believed.
pub const CACHE_BYTES: usize = 64 << 20;
/// How much of a log's end is read at first to find the last sealed line, in bytes; it grows when that is not enough.
pub const TAIL_BYTES: usize = 8 << 10;
/// Deepest nesting of a YAML document.
pub const YAML_DEPTH: usize = 64;
/// Most nodes in a YAML document that is not elided (see `codec::run_text`).
pub const YAML_NODES: usize = 50_000;
/// Largest counter (position, number, epoch) that is read; every JSON reader keeps such numbers exactly.
pub const COUNTER: u64 = 1 << 48;
/// How many violations of one document are reported.
pub const VIOLATIONS: usize = 100;
/// How many lines of a log that are no events are reported; the others are counted.
pub const SKIPPED: usize = 10_000;
