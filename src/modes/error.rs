//! Errors of the verbs over modes.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::codec::Violation;
use crate::codec::violations::{all, first_with_line};
use crate::model::{Explain, Help, Kind, Problem, Suggestion};
use crate::modes::policy::{LifecycleFault, PhaseFault};
use crate::modes::say::clear_command;
use crate::modes::state::ModeRefusal;
use crate::runs;

/// Why a verb over modes failed.
#[derive(Debug, Error)]
pub enum Error {
    /// An error that verbs over runs have too: the project, files, settings.
    #[error(transparent)]
    Run(runs::Error),
    /// The policy has no such mode.
    #[error("there is no mode `{word}`")]
    UnknownMode {
        /// The word as given.
        word: String,
        /// All modes.
        known: Vec<String>,
        /// The similar name that was probably meant.
        suggestion: Option<String>,
    },
    /// The policy of the project is invalid. The shipped policy is not used instead.
    #[error("the policy in {} cannot be used: {}", .path.display(), first_with_line(.violations))]
    Policy {
        /// The file of the policy.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
    /// A rule about modes forbids the change, or a mode's file cannot be read. Nothing was written.
    #[error("{}", sentence(.refusal, .path.as_deref(), .message.as_deref()))]
    Refused {
        /// The reason.
        refusal: Box<ModeRefusal>,
        /// The file that prevents it.
        path: Option<PathBuf>,
        /// The sentence for a denial.
        message: Option<String>,
    },
}

/// The result of a verb over modes.
pub type Result<T> = std::result::Result<T, Error>;

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        match self {
            Self::Run(error) => error.problem(),
            Self::UnknownMode { known, suggestion, .. } => Problem::new(Kind::Usage, "unknown_mode", self)
                .help(format!("{}The modes are {}", did_you_mean(suggestion.as_deref()), known.join(", "))),
            Self::Policy { path, violations } => Problem::new(Kind::Refused, "invalid_policy", self)
                .help(Suggestion::flow("validate").value(path.display()) + " shows everything that is wrong")
                .because(all(violations)),
            Self::Refused { refusal, .. } => match &**refusal {
                ModeRefusal::Denied { .. } => {
                    let table = Suggestion::flow("mode policy").flag("table");
                    Problem::new(Kind::Refused, "mode_denied", self).help(table + " shows what goes together")
                }
                ModeRefusal::Unreadable { mode, scope, .. } => {
                    let help = Help::from("repair it, or clear it: ") + clear_command(mode, scope);
                    Problem::new(Kind::Damaged, "unreadable_state", self)
                        .help(help + "; its bytes are kept in quarantine")
                }
                ModeRefusal::Lifecycle { fault, .. } => {
                    let (kind, code, help) = lifecycle_help(fault);
                    Problem::new(kind, code, self).help(help)
                }
                ModeRefusal::Field { fault: PhaseFault::Unknown { phase, known }, .. } => {
                    let near = crate::codec::similar(phase, known.iter().map(String::as_str));
                    let phases = known.join(", ");
                    Problem::new(Kind::Refused, "invalid_phase", self)
                        .help(format!("{}Its phases are {phases}; nothing was written", did_you_mean(near)))
                }
                ModeRefusal::Field { fault: PhaseFault::Value { .. }, .. } => {
                    Problem::new(Kind::Refused, "invalid_field", self).help("nothing was written")
                }
            },
        }
    }
}

/// The question before a list of names; nothing without a name that is similar enough.
fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

/// The sentence for a refusal.
fn sentence(refusal: &ModeRefusal, path: Option<&Path>, message: Option<&str>) -> String {
    match refusal {
        ModeRefusal::Denied { requested, .. } => match message {
            Some(message) => message.to_owned(),
            None => format!("{requested} cannot begin now"),
        },
        ModeRefusal::Unreadable { mode, why, .. } => {
            let file = match path {
                Some(path) => path.display().to_string(),
                None => format!("the file of {mode}"),
            };
            format!("{file} cannot be read, so flow cannot tell whether {mode} is active: {why}")
        }
        ModeRefusal::Lifecycle { mode, fault } => lifecycle(mode.as_str(), fault),
        ModeRefusal::Field { mode, fault: PhaseFault::Unknown { phase, .. } } => {
            format!("{mode} has no phase {:?}", short(phase))
        }
        ModeRefusal::Field { mode, fault: PhaseFault::Value { field, takes } } => {
            format!("{mode}: {field} takes {takes}")
        }
    }
}

fn lifecycle(mode: &str, fault: &LifecycleFault) -> String {
    match fault {
        LifecycleFault::UnknownOutcome { field, value } => format!("{mode}: {field} cannot be {:?}", short(value)),
        LifecycleFault::EndedButActive { outcome, source } => format!(
            "{mode} cannot be active: {source} says that it ended ({}), which requires active=false",
            outcome.as_str()
        ),
        LifecycleFault::GoesOnInactive => format!("{mode} cannot be inactive: run_outcome says that it goes on"),
    }
}

fn lifecycle_help(fault: &LifecycleFault) -> (Kind, &'static str, &'static str) {
    match fault {
        LifecycleFault::UnknownOutcome { .. } => (
            Kind::Refused,
            "invalid_lifecycle_outcome",
            "it must be one of finished, blocked, failed, userinterlude, askuserQuestion; nothing was written",
        ),
        LifecycleFault::EndedButActive { .. } => (
            Kind::Refused,
            "terminal_requires_inactive",
            "write active=false with it, or a phase in which it is at work; nothing was written",
        ),
        LifecycleFault::GoesOnInactive => (
            Kind::Refused,
            "running_requires_active",
            "write active=true with it, or the outcome with which it ended; nothing was written",
        ),
    }
}

/// A word from a file, cut for a message.
fn short(word: &str) -> String {
    word.chars().take(60).collect()
}
