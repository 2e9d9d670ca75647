//! Errors of the verbs over modes.

use std::path::PathBuf;

use thiserror::Error;

use crate::codec::violations::{all, first_with_line};
use crate::codec::{Violation, similar};
use crate::model::{Explain, Help, Kind, Problem, Suggestion, did_you_mean, mode_file};
use crate::modes::policy::{LifecycleFault, PhaseFault};
use crate::modes::say;
use crate::modes::state::{Board, MERGE, ModeRefusal};
use crate::modes::state_dir::StateDir;
use crate::runs;

/// Why a verb over modes failed.
#[derive(Debug, Error)]
pub enum Error {
    /// An error that verbs over runs have too: the project, files, settings.
    #[error(transparent)]
    Run(runs::Error),
    /// The policy of the project is invalid. The shipped policy is not used instead.
    #[error("the policy in {} cannot be used: {}", .path.display(), first_with_line(.violations))]
    Policy {
        /// The file of the policy.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
}

/// The result of a verb over modes.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        match self {
            Self::Run(error) => error.problem(),
            Self::Policy { path, violations } => Problem::new(Kind::Refused, "invalid_policy", self)
                .help(Suggestion::flow("validate").value(path.display()) + " shows everything that is wrong")
                .because(all(violations)),
        }
    }
}

/// The error for a change that is refused: a rule about modes forbids it, or a mode's file cannot be read.
pub(super) fn refused(state: &StateDir, board: &Board, refusal: &ModeRefusal) -> Problem {
    match refusal {
        ModeRefusal::Denied { requested, scope, denial } => {
            let table = Suggestion::flow("mode policy").flag("table");
            let message = say::denied(board, scope, requested.as_str(), denial, "write");
            Problem::new(Kind::Refused, "mode_denied", message)
                .help(say::room(board, scope, denial) + "; " + table + " shows what goes together")
        }
        ModeRefusal::Unreadable { mode, scope, why } => {
            let file = state.file_path(scope, &mode_file(mode));
            let file = file.display();
            let message = format!("{file} cannot be read, so flow cannot tell whether {mode} is active: {why}");
            let first = if why == MERGE { "settle the merge in it" } else { "repair it" };
            let help = Help::from(format!("{first}, or clear it: ")) + say::clear_command(mode, scope);
            Problem::new(Kind::Damaged, "unreadable_state", message).help(help + "; its bytes are kept in quarantine")
        }
        ModeRefusal::Lifecycle { mode, fault: LifecycleFault::UnknownOutcome { field, value } } => {
            let message = format!("{mode}: {field} cannot be {:?}", short(value));
            Problem::new(Kind::Refused, "invalid_lifecycle_outcome", message).help(
                "it must be one of finished, blocked, failed, userinterlude, askuserQuestion; nothing was written",
            )
        }
        ModeRefusal::Lifecycle { mode, fault: LifecycleFault::EndedButActive { outcome, source } } => {
            let message = format!(
                "{mode} cannot be active: {source} says that it ended ({}), which requires active=false",
                outcome.as_str()
            );
            Problem::new(Kind::Refused, "terminal_requires_inactive", message)
                .help("write active=false with it, or a phase in which it is at work; nothing was written")
        }
        ModeRefusal::Lifecycle { mode, fault: LifecycleFault::GoesOnInactive } => {
            let message = format!("{mode} cannot be inactive: run_outcome says that it goes on");
            Problem::new(Kind::Refused, "running_requires_active", message)
                .help("write active=true with it, or the outcome with which it ended; nothing was written")
        }
        ModeRefusal::Field { mode, fault: PhaseFault::Unknown { phase, known } } => {
            let message = format!("{mode} has no phase {:?}", short(phase));
            let meant = did_you_mean(similar(phase, known.iter().map(String::as_str)));
            Problem::new(Kind::Refused, "invalid_phase", message)
                .help(format!("{meant}Its phases are {}; nothing was written", known.join(", ")))
        }
        ModeRefusal::Field { mode, fault: PhaseFault::Value { field, takes } } => {
            Problem::new(Kind::Refused, "invalid_field", format!("{mode}: {field} takes {takes}"))
                .help("nothing was written")
        }
    }
}

/// A word from a file, cut for a message.
pub(super) fn short(word: &str) -> String {
    word.chars().take(60).collect()
}
