//! Work that was begun and whose outcome is not recorded.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::History;
use crate::model::{ActivityStatus, Execution, Number, RunId, StateName, Timestamp};

/// Work that began and whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InDoubt {
    /// Its number; absent for a reported step.
    pub number: Option<Number>,
    /// The id of the activity, or the name of the step.
    pub id: String,
    /// The phase in which it began.
    pub phase: Option<StateName>,
    /// Its status.
    pub status: ActivityStatus,
    /// The exit code of the command that it was.
    pub exit_code: Option<i64>,
    /// When the status was recorded.
    pub at: Option<Timestamp>,
    /// A summary of the work.
    pub summary: Option<String>,
    /// Whether a process still runs that was noted when the work began without a session; none if none was noted, or if it
    /// cannot be seen from here.
    pub alive: Option<bool>,
    /// A process of its command, if that still runs although the flow that began it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The command that it is, if flow ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Box<Execution>>,
    /// The noted processes.
    #[serde(skip)]
    pub(crate) by: Vec<String>,
    /// The run in which it began, if this one is a fork and took it over.
    #[serde(skip)]
    pub(crate) of: Option<RunId>,
}

impl InDoubt {
    /// Whether its end is to be waited for: any other word of a command at work is refused.
    #[must_use]
    pub fn is_command_at_work(&self) -> bool {
        self.process.is_some() || self.exec.is_some() && self.alive == Some(true)
    }

    /// The name of the command that it is, if the project names it.
    #[must_use]
    pub fn names(&self) -> Option<&str> {
        self.exec.as_ref()?.name.as_deref()
    }
}

/// Work whose outcome is not recorded: running activities, and steps that were reported as running. Steps that the run
/// is in come before those that it left.
pub(crate) fn in_doubt(history: &History) -> Vec<InDoubt> {
    let mut doubts = Vec::new();
    for attempt in history.latest() {
        if attempt.status == ActivityStatus::Running {
            doubts.push(InDoubt {
                number: Some(attempt.number),
                id: attempt.id.clone(),
                phase: attempt.phase.clone(),
                status: attempt.status,
                exit_code: attempt.exit_code,
                at: attempt.at,
                summary: attempt.summary.clone(),
                alive: None,
                process: None,
                exec: attempt.exec.clone(),
                by: history.began_activity(attempt.number).to_vec(),
                of: attempt.of.clone(),
            });
        }
    }
    let run = &history.state().document().state;
    let (here, left): (Vec<_>, Vec<_>) = run.running_steps().partition(|step| run.is_in(step));
    for step in here.into_iter().chain(left) {
        doubts.push(InDoubt {
            // No record is made when a step begins, because its end will be one.
            number: None,
            id: step.to_string(),
            phase: Some(step.clone()),
            status: ActivityStatus::Running,
            exit_code: None,
            at: history.reported_at(step),
            summary: history.message(step).map(str::to_owned),
            alive: None,
            process: None,
            exec: None,
            by: history.began_step(step, None).by,
            of: None,
        });
    }
    doubts
}
