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
        /// What to do about it.
        help: &'static str,
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
    /// The file changed after the change of it was shown.
    #[error("{} changed since its change was shown", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A file that is to be written exists, and has another text.
    #[error("{} exists and differs", path.display())]
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
    pub(super) help: &'static str,
}

/// What to do about a text that is not JSON.
pub(super) const STRICT: &str = "correct it; hosts read strict JSON without comments and repeated keys";
/// What to do about hooks that are something else.
pub(super) const SHAPE: &str = "correct it; an event is a list of objects with `hooks`";
/// What to do about a value that the host does not take.
pub(super) const WHOLE: &str = "correct it";
/// What is wrong with a link in a project that may come from a clone.
pub(super) const LEADS_OUT: &str = "leads out of the project";

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
            Self::Document(fault) => match fault {
                DocumentFault::Unsafe { why: LEADS_OUT, .. } => {
                    fault.problem().help("replace the link or file, or use `--scope user`")
                }
                DocumentFault::Unsafe { .. } => fault.problem().help("replace the link or file"),
                _ => fault.problem(),
            },
            Self::Invalid { help, .. } => {
                new(Kind::Refused, "invalid_settings").help(format!("{help}. Nothing was written"))
            }
            Self::HooksInConfig { .. } => new(Kind::Refused, "hooks_in_config")
                .help("move those hooks into hooks.json, or add flow's to them by hand. Nothing was written"),
            Self::PluginPresent { .. } => new(Kind::Refused, "plugin_present")
                .help("keep the plugin, or remove it in the host first. Nothing was written"),
            Self::ChangedMeanwhile { .. } => {
                new(Kind::Held, "changed_meanwhile").help("give the command again to see the change of now")
            }
            Self::Exists { .. } => new(Kind::Refused, "file_exists")
                .help("name another directory, or replace it with --replace. Nothing was written"),
        }
    }
}

/// `flow hooks VERB`.
pub(super) fn suggest(verb: &str) -> Suggestion {
    Suggestion::flow(format!("hooks {verb}"))
}
