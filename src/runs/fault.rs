//! Why a run cannot be read or written, as the engine finds it, in the words of this room.

use crate::engine::Fault;
use crate::runs::context::Flow;
use crate::runs::error::Error;
use crate::store::{Project, RunDir, layout};

impl Flow {
    /// The error of a command that cannot go on because of `fault`.
    pub(crate) fn refusal(&self, project: &Project, run: &RunDir, fault: Fault) -> Error {
        let path = run.file_path(layout::RUN_FILE);
        match fault {
            Fault::Unreadable(error) | Fault::Fixed(error) => Error::RunFile { path, error },
            Fault::ConflictMarkers { line } => {
                let what = format!("{}:{line}:1 is a conflict marker", path.display());
                Error::Joined { run: run.id().clone(), what }
            }
            Fault::Schema(violations) | Fault::ForeignSchema(violations) => Error::RunSchema { path, violations },
            Fault::Edit { fault, place } => Error::Edit { path, place, fault },
            Fault::Rewound { last, noted } => self.rewound(project, run, last, noted),
            Fault::Joined(what) => Error::Joined { run: run.id().clone(), what },
            Fault::Empty if run.is_leftover() => self.elsewhere(project, run),
            Fault::Empty | Fault::Unread | Fault::Line(_) | Fault::Gap(_) | Fault::EndLost(_) | Fault::Double(_) => {
                Error::EmptyRun { path: run.path().to_owned() }
            }
        }
    }
}
