//! Sentences about modes.

use std::path::Path;

use crate::engine::ModeRefusal;
use crate::ops::mode::clear_command;
use crate::ops::problem::new;
use crate::policy::{LifecycleFault, PhaseFault};
use crate::report::{Kind, Problem};

/// Why a rule about modes forbids something.
pub(super) fn refused(refusal: &ModeRefusal, path: Option<&Path>, message: Option<&str>) -> Problem {
    match refusal {
        ModeRefusal::Denied { requested, .. } => {
            let message = message.map_or_else(|| format!("{requested} cannot begin now"), str::to_owned);
            new(
                Kind::Refused,
                "mode_denied",
                message,
                Some("`flow mode policy --table` shows what goes together".into()),
            )
        }
        ModeRefusal::Unreadable { mode, scope, why } => {
            let file = path.map_or_else(|| format!("the file of {mode}"), |path| path.display().to_string());
            let message = format!("{file} cannot be read, so nobody knows whether {mode} is active: {why}");
            let help =
                format!("repair it, or clear it: `{}`; its bytes are kept in quarantine", clear_command(mode, scope));
            new(Kind::Damaged, "unreadable_state", message, Some(help))
        }
        ModeRefusal::Lifecycle { mode, fault } => lifecycle(mode.as_str(), fault),
        ModeRefusal::Field { mode, fault } => field(mode.as_str(), fault),
    }
}

fn lifecycle(mode: &str, fault: &LifecycleFault) -> Problem {
    match fault {
        LifecycleFault::UnknownOutcome { field, value } => {
            let value: String = value.chars().take(60).collect();
            let message = format!("{mode}: {field} cannot be {value:?}");
            let help =
                "it must be one of finished, blocked, failed, userinterlude, askuserQuestion; nothing was written";
            new(Kind::Refused, "invalid_lifecycle_outcome", message, Some(help.into()))
        }
        LifecycleFault::EndedButActive { outcome, source } => {
            let outcome = outcome.as_str();
            let message = format!(
                "{mode} cannot be active: {source} says that it ended ({outcome}), which requires active=false"
            );
            let help = "write active=false with it, or a phase in which it is at work; nothing was written";
            new(Kind::Refused, "terminal_requires_inactive", message, Some(help.into()))
        }
        LifecycleFault::GoesOnInactive => {
            let message = format!("{mode} cannot be inactive: run_outcome says that it goes on");
            let help = "write active=true with it, or the outcome with which it ended; nothing was written";
            new(Kind::Refused, "running_requires_active", message, Some(help.into()))
        }
    }
}

fn field(mode: &str, fault: &PhaseFault) -> Problem {
    match fault {
        PhaseFault::Unknown { phase, known } => {
            let near = crate::codec::similar(phase, known.iter().map(String::as_str));
            let meant = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let phase: String = phase.chars().take(60).collect();
            let help = format!("{meant}Its phases are {}; nothing was written", known.join(", "));
            new(Kind::Refused, "invalid_phase", format!("{mode} has no phase {phase:?}"), Some(help))
        }
        PhaseFault::Value { field, takes } => {
            let message = format!("{mode}: {field} takes {takes}");
            new(Kind::Refused, "invalid_field", message, Some("nothing was written".into()))
        }
    }
}
