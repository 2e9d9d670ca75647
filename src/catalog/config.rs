//! `.flow/config.yaml`: a project's directories of definitions, and its types of states.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::CatalogError;
use crate::catalog::folder::Folder;
use crate::codec;
use crate::disk::Disk;
use crate::machine::StateTypes;

/// The name of the file.
pub(crate) const FILE: &str = "config.yaml";

/// The configuration of a project; empty if the file is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    /// Directories with definitions, relative to the project.
    pub(super) definitions: Vec<PathBuf>,
    /// Types of states that graphs may use besides the built-in ones.
    pub(super) state_types: Vec<String>,
    /// The store that machines share.
    pub(super) store: Option<String>,
    /// Whether each issue has a decision journal.
    pub(super) journal: bool,
    /// Keys that mean nothing to flow, in their order.
    #[serde(flatten)]
    pub(super) others: Map<String, Value>,
}

/// The keys that mean something.
const KEYS: [&str; 4] = ["definitions", "state_types", STORE, "journal"];
/// The key of the store that machines share.
pub(crate) const STORE: &str = "store";

/// The store that the project whose `.flow` directory is `flow_dir` names for its runs.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn named_store(disk: &Arc<dyn Disk>, flow_dir: &Path) -> Result<Option<String>, CatalogError> {
    Ok(Config::read(disk, flow_dir)?.store)
}

/// Whether the project whose `.flow` directory is `flow_dir` asks for a decision journal of each issue.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn keeps_journals(disk: &Arc<dyn Disk>, flow_dir: &Path) -> Result<bool, CatalogError> {
    Ok(Config::read(disk, flow_dir)?.journal)
}

impl Config {
    /// Reads the file of the project whose `.flow` directory is `flow_dir`.
    pub(super) fn read(disk: &Arc<dyn Disk>, flow_dir: &Path) -> Result<Self, CatalogError> {
        let Some(folder) = Folder::open(disk, flow_dir, false)? else { return Ok(Self::default()) };
        let Some(text) = folder.read(FILE)? else { return Ok(Self::default()) };
        let message = match codec::parse_value(&text) {
            // An empty file, or one with comments only.
            Ok(Value::Null) => return Ok(Self::default()),
            Ok(value) => match serde_json::from_value(value) {
                Ok(config) => return Ok(config),
                Err(error) => error.to_string(),
            },
            Err(error) => match error.place {
                Some(place) => format!("line {}, column {}: {error}", place.line, place.column),
                None => error.to_string(),
            },
        };
        Err(CatalogError::Config { path: folder.join(FILE), message })
    }

    /// What is odd about it, and changes nothing.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for key in self.others.keys() {
            let meant = codec::similar(key, KEYS.into_iter());
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            warnings.push(format!("{FILE}: the key `{key}` means nothing to flow{meant}"));
        }
        warnings
    }

    /// The types of states that graphs may use.
    pub(super) fn types(&self) -> StateTypes {
        StateTypes::with(self.state_types.iter().cloned())
    }
}
