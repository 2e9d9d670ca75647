//! Why a run cannot be read or written, as the engine finds it, in the words of this room.

use crate::engine::Fault;
use crate::runs::checkout::{elsewhere, rewound};
use crate::runs::context::Context;
use crate::runs::error::Error;
use crate::store::{Project, RunDir, layout};

/// The error of a command that cannot go on because of `fault`.
pub(crate) fn refusal(cx: &Context, project: &Project, run: &RunDir, fault: Fault) -> Error {
    let path = run.file_path(layout::RUN_FILE);
    match fault {
        Fault::Unreadable(error) | Fault::Fixed(error) => Error::RunFile { path, error },
        Fault::ConflictMarkers { line } => {
            let what = format!("{}:{line}:1 is a conflict marker", path.display());
            Error::Joined { run: run.id().clone(), what }
        }
        Fault::Schema(violations) | Fault::ForeignSchema(violations) => Error::RunSchema { path, violations },
        Fault::Edit { fault, place } => Error::Edit { path, place, fault },
        Fault::Rewound { last, noted } => rewound(cx, project, run, last, noted),
        Fault::Joined(what) => Error::Joined { run: run.id().clone(), what },
        Fault::Empty if run.is_leftover() => elsewhere(cx, project, run),
        Fault::Empty | Fault::Unread | Fault::Line(_) | Fault::Gap(_) | Fault::EndLost(_) | Fault::Double(_) => {
            Error::EmptyRun { path: run.path().to_owned() }
        }
    }
}
