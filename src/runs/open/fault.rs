//! Turns faults that the engine finds in a run into errors of this room.

use crate::engine::Fault;
use crate::runs::context::Context;
use crate::runs::error::Error;
use crate::runs::open::checkout::{elsewhere, rewound};
use crate::store::{Document, Presence, Project, StoredRun};

/// The error of a command that cannot continue because of `fault`.
pub(crate) fn refusal(cx: &Context, project: &Project, run: &dyn StoredRun, fault: Fault) -> Error {
    let at = run.address(Document::Text);
    match fault {
        Fault::Unreadable(error) | Fault::Fixed(error) => Error::RunFile { at, error },
        Fault::ConflictMarkers { line } => {
            let what = format!("{at}:{line}:1 is a conflict marker");
            Error::Joined { run: run.id().clone(), what }
        }
        Fault::Schema(violations) => Error::RunSchema { at, violations },
        Fault::Edit { fault, place } => Error::Edit { at, place, fault },
        Fault::Rewound { last, noted } => rewound(cx, project, run, last, noted),
        Fault::Joined(what) => Error::Joined { run: run.id().clone(), what },
        // Git does not know flow's own files, so they keep the directory of a run that it removed.
        Fault::Empty if run.presence() == Presence::Away => elsewhere(cx, project, run),
        Fault::Empty | Fault::Unread | Fault::Line(_) | Fault::Gap(_) | Fault::EndLost(_) | Fault::Double(_) => {
            Error::EmptyRun { at: run.address(Document::Run) }
        }
    }
}
