//! Bytes ↔ documents: YAML, sealed lines, schemas. Only this module uses the YAML and JSON Schema crates.
//!
//! YAML from disk is untrusted, because it may come with a clone. So it is read within an explicit budget: no anchors,
//! no aliases, no merge keys, one document, bounded depth and size. Errors have a line and a column.

mod edits;
mod journal;
mod journal_edit;
mod json;
mod json_text;
mod lines;
mod log;
mod place;
mod plain;
mod reading;
mod request;
mod run_document;
mod run_error;
mod run_text;
mod run_versions;
mod schema;
mod seal;
mod splice;
mod toml;
pub(crate) mod violations;
mod yaml;

pub use journal::{Artifact, JournalError, JournalFault, JournalHead, append_artifact, coerce, has_artifact_of_run};
pub(crate) use json::{parse_foreign_json, parse_json, parse_json_values};
pub(crate) use json_text::{JsonFault, JsonLayout, JsonNode, JsonText, Rest, json_fault};
pub(crate) use lines::line_break;
pub use log::{FaultyLine, LogEnd, LogLine, LogScan};
pub(crate) use log::{LogLines, is_lfs_pointer, sealed_event};
pub use place::Place;
pub use request::{field_names, read_request, request_schema};
pub use run_error::RunTextError;
pub use run_text::RunText;
pub(crate) use run_versions::RunVersions;
pub(crate) use schema::SCHEMAS;
pub use schema::{DocumentKind, Violation, schema_text, validate};
pub(crate) use schema::{is_typing_error, mistyped_keys, similar};
pub use seal::{LINE_START, LineFault, SEAL_BYTES, digest, is_of_another_program, seal, unseal};
pub(crate) use toml::TomlText;
pub use yaml::{Node, Tree, YamlError, YamlFault, emit, parse, parse_run, parse_value};
pub(crate) use yaml::{line_at, line_with, parse_with_repeats};
