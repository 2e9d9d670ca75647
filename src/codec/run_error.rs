//! Why a `run.yaml` cannot be read or changed.

use thiserror::Error;

use crate::codec::place::Place;
use crate::codec::schema::Violation;
use crate::codec::yaml::YamlError;

/// Why a `run.yaml` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunTextError {
    /// The file is not YAML that flow reads.
    #[error("is not valid YAML: {0}")]
    Yaml(YamlError),
    /// The file is YAML, but not a FlowRun document; the first violation.
    #[error("is not a FlowRun document: {}", .0.message)]
    Document(Violation),
    /// The text is too unusual to be changed safely.
    #[error("cannot be updated without touching what a person wrote: {0}")]
    Edit(String),
}

impl RunTextError {
    /// Where in the file.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Yaml(error) => error.place,
            Self::Document(violation) => violation.place,
            Self::Edit(_) => None,
        }
    }
}

impl From<YamlError> for RunTextError {
    fn from(error: YamlError) -> Self {
        Self::Yaml(error)
    }
}
