//! The statuses by which `list` filters runs.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::model::{Doing, RunStatus};
use crate::runs::ListStatus;

impl ValueEnum for ListStatus {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Run(RunStatus::Active) => "Active",
            Self::Run(RunStatus::Blocked) => "Blocked: waits for a person",
            Self::Doing(Doing::Asking) => "Has an open question",
            Self::Doing(Doing::Waiting) => "The run's current step is waiting",
            Self::Doing(Doing::Conflict) => "A merge joined two histories of the run",
            Self::Doing(Doing::Failing) => "A step or an activity of the run failed",
            Self::Run(RunStatus::Failed) => "The run failed",
            Self::Run(RunStatus::Completed) => "Completed: its work is done",
            Self::Run(RunStatus::Cancelled) => "Cancelled",
        };
        Some(PossibleValue::new(self.as_str()).help(help))
    }
}
