//! Why a workflow cannot be found or used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::catalog::place::names_a_file;
use crate::machine::Diagnostic;
use crate::model::{Explain, Help, Kind, Problem, Suggestion, counted, did_you_mean};

/// Why a workflow cannot be found or used.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// No workflow has this name.
    #[error("there is no workflow `{}`", shown(.name))]
    Unknown {
        /// The name as given.
        name: String,
        /// The names of all workflows, sorted.
        known: Vec<String>,
        /// The most similar name, if one is similar enough.
        suggestion: Option<String>,
        /// What is said of a file of this name that flow does not read.
        unread: Option<String>,
    },
    /// The skill or agent of this name has no state machine.
    #[error("{} has no section `## STATE-MACHINE`", .path.display())]
    NoMachine {
        /// Its file.
        path: PathBuf,
        /// The line of a state diagram in it that flow does not read.
        diagram: Option<usize>,
    },
    /// The definition breaks rules.
    #[error("the workflow in {} cannot be used: {}", .path.display(), summary(.diagnostics))]
    Invalid {
        /// Its file.
        path: PathBuf,
        /// Its text, for excerpts.
        text: String,
        /// All problems, warnings included.
        diagnostics: Vec<Diagnostic>,
    },
    /// `.flow/config.yaml` cannot be understood.
    #[error("{} cannot be used: {message}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        message: String,
    },
    /// The path leads to something that flow does not read.
    #[error("{} {reason}", .path.display())]
    Refused {
        /// What was found where a definition was looked for.
        path: PathBuf,
        /// What it is, as the end of a sentence.
        reason: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The file or directory that the system does not let flow read.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CatalogError {
    /// The error as a line of a list that names the file already.
    pub(crate) fn in_list(self) -> String {
        match self {
            Self::Invalid { diagnostics, .. } => summary(&diagnostics),
            Self::Io { source, .. } => source.to_string(),
            Self::Refused { reason, .. } => reason.to_owned(),
            Self::Unknown { .. } | Self::NoMachine { .. } | Self::Config { .. } => self.to_string(),
        }
    }

    /// That a diagram is not read, so that the shipped workflow called `id` takes its place.
    pub(super) fn unread_diagram(&self, id: &str) -> Option<String> {
        let Self::NoMachine { path, diagram: Some(line) } = self else { return None };
        Some(format!(
            "the state diagram in {}, line {line}, is not read, since it stands below no heading `## STATE-MACHINE`: \
             the shipped workflow {id} is used",
            path.display()
        ))
    }

    /// Whether the file does not try to define a workflow.
    pub(super) fn is_of_another_kind(&self) -> bool {
        match self {
            Self::NoMachine { .. } => true,
            Self::Invalid { diagnostics, .. } => diagnostics.iter().any(Diagnostic::is_of_another_kind),
            _ => false,
        }
    }
}

/// The first error, and the number of further ones.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|one| one.is_error());
    let Some(first) = errors.next() else {
        return "it has no errors".into();
    };
    let line = first.place.line;
    match errors.count() {
        0 => format!("line {line}: {}", first.message),
        more => format!("line {line}: {} (and {})", first.message, counted(more, "more error")),
    }
}

/// A name from the command line, short enough for a sentence.
pub(crate) fn shown(name: &str) -> String {
    // Escaped: a name may have come from a file, and must not move the cursor of a terminal.
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

impl Explain for CatalogError {
    fn problem(&self) -> Problem {
        match self {
            Self::Unknown { name, suggestion, unread, .. } => {
                let mut help = Help::from(did_you_mean(suggestion.as_deref()));
                if let Some(unread) = unread {
                    help = Help::from(format!("{unread}; "));
                } else if names_a_file(name) && suggestion.is_none() {
                    help = Help::from("to start it, put it into .flow/workflows/ and name it without its ending; ")
                        + Suggestion::flow("workflow check").value(name)
                        + " looks at a file anywhere; ";
                }
                Problem::new(Kind::NotFound, "unknown_workflow", self)
                    .help(help + Suggestion::flow("workflow list") + " shows all")
            }
            Self::Invalid { path, diagnostics, .. } => {
                let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
                // A file that does not try to be a workflow has no line to look at.
                let other = diagnostics.iter().find(|one| one.is_of_another_kind());
                let help = match other.and_then(|other| other.help.clone()) {
                    Some(help) => Help::from(help),
                    None => Suggestion::flow("workflow check").value(path.display()) + " shows where",
                };
                Problem::new(Kind::Refused, "invalid_workflow", self)
                    .help(help)
                    // The sentence has the first one.
                    .because(errors.skip(1).map(|error| format!("{} {}", error.place, error.message)))
            }
            Self::NoMachine { .. } => Problem::new(Kind::Refused, "no_state_machine", self).help(
                Help::from("give it the section with a state diagram (")
                    + Suggestion::flow("help workflows")
                    + "), or name another workflow; only "
                    + Suggestion::flow("emit")
                    + " reports steps of a run without one",
            ),
            Self::Config { .. } => Problem::new(Kind::Refused, "invalid_config", self)
                .help(Suggestion::flow("help workflows") + " says what it can have"),
            Self::Refused { .. } => Problem::new(Kind::Unsafe, "unsafe_path", self)
                .help("flow follows no links below .flow; put a plain file or directory in its place"),
            Self::Io { source, .. } => Problem::new(Kind::Io, "io_error", self).caused_by(source),
        }
    }
}

/// A help that lists the known names, after the most similar one.
pub(crate) fn known_names(known: &[String], suggestion: Option<&str>) -> String {
    format!("{}Known are {}", did_you_mean(suggestion), known.join(", "))
}
