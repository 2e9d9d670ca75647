//! Errors of the verbs over hosts' settings.

use std::path::PathBuf;

use thiserror::Error;

use crate::codec::Place;
use crate::disk::{DocumentError, DocumentFault};
use crate::hooks::settings::AgentHost;

use crate::model::{Explain, Kind, Problem, Suggestion};
use crate::runs;

/// Why settings could not be changed. Their file has its old text.
#[derive(Debug, Error)]
pub enum Error {
    /// An error that other verbs have too.
    #[error(transparent)]
    Run(runs::Error),
    /// The file cannot be read or replaced.
    #[error(transparent)]
    Document(#[from] DocumentFault),
    /// The text of the file is not what its host reads.
    #[error("{}:{place}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong there.
        reason: String,
    },
    /// Hooks are configured in another file, which the host reads as well.
    #[error("{}:{place}: Codex has hooks here as well as in hooks.json, and reads both", path.display())]
    HooksInConfig {
        /// The other file.
        path: PathBuf,
        /// Where in it.
        place: Place,
    },
    /// The plugin is installed and brings the hooks.
    #[error("the plugin `{plugin}` is installed in {}, and brings these hooks: each event would be answered twice", host.title())]
    PluginPresent {
        /// The host.
        host: AgentHost,
        /// The plugin's name.
        plugin: String,
    },
    /// A file that is to be written exists, and has another text.
    #[error("{} exists and has another text", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

/// The result of a verb over hosts' settings.
pub type Result<T> = std::result::Result<T, Error>;

/// A text that cannot be edited: where, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub(super) struct EditFault {
    pub(super) place: Place,
    pub(super) reason: String,
}

impl<E: Into<runs::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

impl From<DocumentError<Self>> for Error {
    fn from(error: DocumentError<Self>) -> Self {
        match error {
            DocumentError::Edit { source, .. } => source,
            DocumentError::Fault(fault) => Self::Document(fault),
        }
    }
}

impl Explain for Error {
    fn problem(&self) -> Problem {
        let new = |kind, code| Problem::new(kind, code, self);
        match self {
            Self::Run(error) => error.problem(),
            Self::Document(fault) => fault.problem(),
            Self::Invalid { .. } => new(Kind::Refused, "invalid_settings")
                .help("correct it; hosts read strict JSON without comments and repeated keys. Nothing was written"),
            Self::HooksInConfig { .. } => new(Kind::Refused, "hooks_in_config")
                .help("move those hooks into hooks.json, or add flow's to them by hand. Nothing was written"),
            Self::PluginPresent { .. } => new(Kind::Refused, "plugin_present")
                .help("keep the plugin, or remove it in the host first. Nothing was written"),
            Self::Exists { .. } => new(Kind::Refused, "file_exists")
                .help("name another directory, or replace it with --replace. Nothing was written"),
        }
    }
}

/// `flow hooks VERB`.
pub(super) fn suggest(verb: &str) -> Suggestion {
    Suggestion::flow(format!("hooks {verb}"))
}
