//! The words for which runs to list.

use clap::ValueEnum;

use crate::model::{Doing, RunStatus};
use crate::runs::ListStatus;

/// A status by which runs are listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListStatusArg {
    /// Work goes on
    Active,
    /// Waits for a person
    Blocked,
    /// A question is open
    Asking,
    /// The step where the run stands waits
    Waiting,
    /// A merge joined two histories of the run
    Conflict,
    /// The run failed, or the step where it stands did
    Failed,
    /// Ended with its work done
    Completed,
    /// Given up
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
            ListStatusArg::Failed => Self::AnyFailed,
            ListStatusArg::Completed => Self::Run(RunStatus::Completed),
            ListStatusArg::Cancelled => Self::Run(RunStatus::Cancelled),
        }
    }
}
