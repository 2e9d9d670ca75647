//! Why a workflow cannot be had.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::codec::Violation;
use crate::machine::Diagnostic;

/// Why a workflow cannot be had.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// Nothing has this name.
    #[error("there is no workflow `{}`", shown(.name))]
    Unknown {
        /// The name as given.
        name: String,
        /// All names there are, sorted.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// A skill or an agent has this name, and defines no state machine.
    #[error("{} has no section `## STATE-MACHINE`", .path.display())]
    NoMachine {
        /// Its file.
        path: PathBuf,
    },
    /// The definition is there and breaks the rules.
    #[error("the workflow in {} cannot be used: {}", .path.display(), summary(.diagnostics))]
    Invalid {
        /// Its file.
        path: PathBuf,
        /// Its text, for excerpts.
        text: String,
        /// All problems, warnings included.
        diagnostics: Vec<Diagnostic>,
    },
    /// The policy of modes is there and breaks the rules.
    #[error("the policy in {} cannot be used: {}", .path.display(), first(.violations))]
    Policy {
        /// Its file.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
    /// No script of an interview has this name.
    #[error("there is no interview `{}`", shown(.name))]
    UnknownScript {
        /// The name as given.
        name: String,
        /// All names there are, sorted.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// The script of an interview is there and breaks the rules.
    #[error("the interview in {} cannot be used: {}", .path.display(), first(.violations))]
    Script {
        /// Its file.
        path: PathBuf,
        /// All problems.
        violations: Vec<Violation>,
    },
    /// `.flow/config.yaml` cannot be understood.
    #[error("{} cannot be used: {message}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        message: String,
    },
    /// The path leads to something that flow does not open.
    #[error("{} {reason}", .path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// What it is, as the end of a sentence.
        reason: &'static str,
    },
    /// The system refused.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl CatalogError {
    /// The same for a list in which the file is named already.
    pub(super) fn in_list(self) -> String {
        match self {
            Self::Invalid { diagnostics, .. } => summary(&diagnostics),
            Self::Io { source, .. } => source.to_string(),
            Self::Refused { reason, .. } => reason.to_owned(),
            Self::Unknown { .. }
            | Self::UnknownScript { .. }
            | Self::NoMachine { .. }
            | Self::Policy { .. }
            | Self::Script { .. }
            | Self::Config { .. } => self.to_string(),
        }
    }
}

/// The first error, and how many others there are.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|one| one.is_error());
    let Some(first) = errors.next() else {
        return "it has no errors".into();
    };
    let line = first.place.line;
    match errors.count() {
        0 => format!("line {line}: {}", first.message),
        1 => format!("line {line}: {} (and 1 more error)", first.message),
        more => format!("line {line}: {} (and {more} more errors)", first.message),
    }
}

fn first(violations: &[Violation]) -> String {
    let Some(first) = violations.first() else { return "it has no errors".into() };
    let line = first.place.map(|place| format!("line {}: ", place.line)).unwrap_or_default();
    let more = match violations.len() {
        1 => String::new(),
        2 => " (and 1 more error)".to_owned(),
        all => format!(" (and {} more errors)", all - 1),
    };
    format!("{line}{}{more}", first.message)
}

/// A name from the command line, short enough for a sentence.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}
