//! What `exec` is asked, and what it answers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::host::PassOn;
use crate::model::{ActivityId, ActivityStatus, Execution, Number, RunId, Seq, SessionId, StateName, Usage};

/// The command to run.
#[derive(Debug, Clone, Default)]
pub struct ExecRequest {
    /// The run; otherwise the session's or the only active one.
    pub run: Option<String>,
    /// The activity's id, an idempotency key: with `again` unset, the command runs once for it.
    pub id: Option<ActivityId>,
    /// The phase; otherwise the current one.
    pub phase: Option<StateName>,
    /// The name of a command of the project's configuration, which runs at the top of the project.
    pub name: Option<String>,
    /// Without a name, the program and its arguments.
    pub argv: Vec<String>,
    /// Whether to run it although it ran under this id already.
    pub again: bool,
    /// How long it may run.
    pub limit: Option<Duration>,
    /// Globs of files, relative to the top of the project, on which it runs as well: ignored ones, and all of them outside of
    /// a git repository.
    pub inputs: Vec<String>,
    /// What it is known to use; without a duration, the time until its end is taken.
    pub usage: Usage,
    /// Whether no output is kept.
    pub drops_output: bool,
    /// Whether it writes to a terminal where this program does.
    pub may_have_terminal: bool,
    /// Where its output goes as it comes.
    pub output: PassOn,
    /// The session that runs it.
    pub session: Option<SessionId>,
    /// The epoch under which the session holds the run.
    pub epoch: Option<u64>,
}

/// The report of `exec`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExecReport {
    /// The run.
    pub run_id: RunId,
    /// The position of the event that has the end.
    pub seq: Seq,
    /// The number of the record of the end.
    pub number: Number,
    /// The activity's id.
    pub activity: String,
    /// The phase in which it began.
    pub phase: StateName,
    /// Its status.
    pub status: ActivityStatus,
    /// The command's exit status, 128 and the number of a signal that ended it.
    pub exit_code: i32,
    /// The file with the end of its output.
    pub evidence: Option<String>,
    /// The end of its output, in which secrets are masked; none if no output is kept, or if it ran already.
    pub output: Option<String>,
    /// The command as it was seen.
    pub exec: Execution,
    /// Whether it ran already under this id, so that nothing was run.
    pub repeated: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}
