//! Turns faults that the engine finds in a run into errors of this room.

use crate::codec::violations::{all, first, located, suffix};
use crate::engine::{EditFault, Fault, state_names};
use crate::model::{Help, Kind, Problem, RunId, Seq, Suggestion};
use crate::runs::context::OpenedProject;
use crate::runs::error::Error;
use crate::runs::open::checkout::{elsewhere, empty, may_be_elsewhere, rewound};
use crate::store::{Document, StoredRun};

/// The error of a command that cannot continue because of `fault`.
pub(crate) fn refusal(project: &OpenedProject, run: &dyn StoredRun, fault: Fault) -> Error {
    let at = run.address(Document::Text);
    match fault {
        Fault::Unreadable(error) | Fault::Fixed(error) => {
            let has_log = run.log().is_ok_and(|log| log.last_seq() > Seq(0));
            Error::run_file(&at, &error, has_log)
        }
        Fault::ConflictMarkers { line } => {
            let what = format!("{at}:{line}:1 is a conflict marker");
            Error::Joined { run: run.id().clone(), what }
        }
        Fault::Schema(violations) => {
            let message = format!("{} is not a valid run: {}", located(at, &violations), first(&violations));
            let help = Help::from("correct the file by hand; ") + Suggestion::flow("validate").value(run.id());
            Problem::new(Kind::Damaged, "run_file_invalid", message)
                .help(help + " shows everything that is wrong; nothing was written")
                .because(all(&violations))
                .into()
        }
        Fault::Edit { fault, place } => {
            let message = format!("{at}{}: {fault}", suffix(place));
            Problem::new(Kind::Damaged, "edit_refused", message).help(edit_help(&fault)).into()
        }
        Fault::OtherRun(of) => {
            let message = format!("{}{}", run.address(Document::Run), has_other_run(&of));
            Problem::new(Kind::Damaged, "run_misplaced", message).help(put_back(project, &of)).into()
        }
        Fault::Rewound { last, noted } => rewound(project, run, last, noted),
        Fault::Joined(what) => Error::Joined { run: run.id().clone(), what },
        // Files that git does not know keep the directory of a run that it removed.
        Fault::Empty if may_be_elsewhere(project, run) => elsewhere(project, run),
        Fault::Line(line) => damaged(run, &format!(":{}:1 is damaged: {}", line.line, line.fault)),
        Fault::Gap(lost) | Fault::EndLost(lost) => damaged(run, &format!(" is damaged: it lacks {}", lost.in_words())),
        Fault::Double(seq) => damaged(run, &format!(" is damaged: event {seq} is in it twice")),
        Fault::Empty | Fault::Unread => empty(project, run),
    }
}

/// The error of a command that needs every event of a log. `what` goes behind the log's name.
fn damaged(run: &dyn StoredRun, what: &str) -> Error {
    let message = format!("{}{what}", run.address(Document::Log));
    let repair = Suggestion::flow("doctor").value(run.id()).flag("repair");
    Problem::new(Kind::Damaged, "log_damaged", message)
        .help(repair + " notes in it what is lost; nothing was written")
        .into()
}

/// What is wrong with a directory that has the run `of`, behind its name.
pub(crate) fn has_other_run(of: &RunId) -> String {
    format!(" has the run `{of}`: a run cannot be copied or renamed by hand")
}

/// What to do with a directory that has the run `of` under another name.
pub(crate) fn put_back(project: &OpenedProject, of: &RunId) -> Help {
    if project.runs().open(of).is_err() {
        return Help::from(format!("give the directory its name `{of}` back"));
    }
    // The copy may have more than the run itself, so it is not for flow to say that it may be deleted.
    Help::from("move the copy out of .flow/runs; ")
        + Suggestion::flow("fork").value(of)
        + " begins a run that goes on from the other"
}

fn edit_help(fault: &EditFault) -> String {
    match fault {
        EditFault::Id { .. } => "put the id back; a run cannot be renamed".to_owned(),
        EditFault::Workflow { .. } => "put the workflow back; start another run for another workflow".to_owned(),
        EditFault::Phase { known, suggestion: Some(near), .. } => {
            format!("did you mean `{near}`? The phases are {}", state_names(known))
        }
        EditFault::Phase { known, suggestion: None, .. } => format!("the phases are {}", state_names(known)),
    }
}
