//! Finds workflow definitions by name; also reads the policy of modes and the scripts of interviews.
//!
//! A name is looked up in `.flow/workflows/`, then among the skills and agents of the coding agents (`.claude/`,
//! `.codex/`), then in the directories that `.flow/config.yaml` names, then among the shipped workflows. The first
//! definition wins even if it is broken: to follow another workflow than the one in the repository would be worse than
//! an error. A skill without a state machine does not count as a definition.
//!
//! The files come with a clone, so they are untrusted: no symbolic link is followed below `.flow`, and only regular
//! files of bounded size are read.

mod config;
mod error;
mod find;
mod folder;
mod place;
mod proved;
mod shipped;
mod unused;

pub(crate) use config::{CONFIG_FILE, NamedCommand, STORE_KEY};
pub use error::CatalogError;
pub(crate) use error::{known_names, shown};
pub(crate) use find::OwnDefinition;
pub use find::{Catalog, FoundWorkflow, ListedWorkflow, Origin};
pub(crate) use folder::Folder;
pub(crate) use folder::{definition_text, too_large};
pub(crate) use place::{AGENTS, SKILL_FILE, names_a_file};
pub(crate) use proved::{flaws_of_file, read_proved};
