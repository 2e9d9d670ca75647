//! The statuses by which `list` filters runs.

use clap::ValueEnum;

use crate::model::{Doing, RunStatus};
use crate::runs::ListStatus;

/// A status by which `list` filters runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListStatusArg {
    /// Active
    Active,
    /// Blocked: waits for a person
    Blocked,
    /// Has an open question
    Asking,
    /// The run's current step is waiting
    Waiting,
    /// A merge joined two histories of the run
    Conflict,
    /// A step or an activity of the run failed
    Failing,
    /// The run failed
    Failed,
    /// Completed: its work is done
    Completed,
    /// Cancelled
    Cancelled,
}

impl From<ListStatusArg> for ListStatus {
    fn from(arg: ListStatusArg) -> Self {
        match arg {
            ListStatusArg::Active => Self::Run(RunStatus::Active),
            ListStatusArg::Blocked => Self::Run(RunStatus::Blocked),
            ListStatusArg::Asking => Self::Doing(Doing::Asking),
            ListStatusArg::Waiting => Self::Doing(Doing::Waiting),
            ListStatusArg::Conflict => Self::Doing(Doing::Conflict),
            ListStatusArg::Failing => Self::Doing(Doing::Failing),
            ListStatusArg::Failed => Self::Run(RunStatus::Failed),
            ListStatusArg::Completed => Self::Run(RunStatus::Completed),
            ListStatusArg::Cancelled => Self::Run(RunStatus::Cancelled),
        }
    }
}
