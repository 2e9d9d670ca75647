//! `.flow/config.yaml`: a project's directories of definitions, and its types of states.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::CatalogError;
use crate::catalog::folder::Folder;
use crate::codec;
use crate::disk::Disk;
use crate::machine::StateTypes;
use crate::model::ActivityId;

/// The name of the file.
pub(crate) const CONFIG_FILE: &str = "config.yaml";

/// The configuration of a project; empty if the file is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Config {
    /// Directories with definitions, relative to the project.
    pub(super) definitions: Vec<PathBuf>,
    /// Types of states that graphs may use besides the built-in ones.
    pub(super) state_types: Vec<String>,
    /// The store that machines share.
    pub(super) store: Option<String>,
    /// Whether each issue has a decision journal.
    pub(super) journal: bool,
    /// Commands by their names, each a line or a list of words. Read when one is wanted: a mistake in it concerns nothing else.
    pub(super) commands: Value,
    /// Keys that mean nothing to flow, in their order.
    #[serde(flatten)]
    pub(super) others: Map<String, Value>,
}

/// The keys that mean something.
const KEYS: [&str; 5] = ["definitions", "state_types", STORE_KEY, "journal", "commands"];
/// The key of the store that machines share.
pub(crate) const STORE_KEY: &str = "store";

/// A command that a project names: the program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedCommand {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
}

/// The commands in the configuration of the project whose `.flow` directory is `flow_dir`, in their order.
///
/// # Errors
/// When what it says of a command is none.
pub(super) fn named_commands(commands: Value, flow_dir: &Path) -> Result<Vec<NamedCommand>, CatalogError> {
    let invalid = |message: String| CatalogError::Config { path: flow_dir.join(CONFIG_FILE), message };
    let commands = match commands {
        Value::Null => return Ok(Vec::new()),
        Value::Object(commands) => commands,
        _ => return Err(invalid("`commands` is no mapping of names to commands".to_owned())),
    };
    let mut named = Vec::new();
    for (name, value) in commands {
        // A command's name is the id of its records.
        if ActivityId::new(&name).is_err() {
            return Err(invalid(format!("`commands`: `{name}` is not a name; use a-z, 0-9, - and _")));
        }
        let argv = words(&value).map_err(|why| invalid(format!("`commands`: `{name}` {why}")))?;
        named.push(NamedCommand { name, argv });
    }
    Ok(named)
}

/// What a shell would act on in a line, and a program would get as a part of its words.
fn sign_of_shell(line: &str) -> Option<char> {
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => drop(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            ('$', _) if chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || "_{(".contains(*next)) => {
                return Some(c);
            }
            ('`', _) | (';' | '&' | '|' | '<' | '>' | '\n', None) => return Some(c),
            _ => {}
        }
    }
    None
}

/// The words of a command; a line is split as a shell does it, and nothing in it is replaced. Otherwise what is wrong, as the
/// end of a sentence.
fn words(value: &Value) -> Result<Vec<String>, String> {
    let words = match value {
        Value::String(line) => {
            // A block of YAML ends with a line break.
            let line = line.trim();
            let words = shlex::split(line).ok_or("has a quote that is not closed")?;
            let found = match sign_of_shell(line) {
                Some('\n') => Some("is more than one line".to_owned()),
                sign => sign.map(|sign| format!("has `{sign}` in it")),
            };
            if let Some(found) = found {
                let how = "no shell reads the line; write `[sh, -c, '…']` where one has to, or quote it";
                return Err(format!("{found}, and {how}"));
            }
            words
        }
        Value::Array(words) => {
            let mut texts = Vec::new();
            for (at, word) in words.iter().enumerate() {
                let text =
                    word.as_str().ok_or_else(|| format!("has a word that is not a text; quote word {}", at + 1))?;
                texts.push(text.to_owned());
            }
            texts
        }
        _ => return Err("is neither a line nor a list of words".to_owned()),
    };
    match words.first() {
        None => Err("names no program".to_owned()),
        Some(first) if first.is_empty() => Err("names no program".to_owned()),
        Some(first) if is_setting(first) => {
            Err(format!("begins with `{first}`; write `env {first}` before the program"))
        }
        Some(_) => Ok(words),
    }
}

/// Whether a word would set a variable of a shell: `NAME=value`.
fn is_setting(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What is wrong with the value of the first key that does not fit, behind the line of the key. None is required, so each
/// can be read alone.
fn misfit(text: &str, fields: Map<String, Value>) -> Option<String> {
    let root = codec::parse(text).ok()?;
    for (key, value) in fields {
        let alone = Map::from_iter([(key.clone(), value)]);
        if let Err(why) = codec::read_request::<Config>(&alone, codec::request_schema::<Config>) {
            return Some(format!("line {}: {why}", root.get(&key)?.place.line));
        }
    }
    None
}

impl Config {
    /// Reads the file of the project whose `.flow` directory is `flow_dir`.
    pub(super) fn read(disk: &Arc<dyn Disk>, flow_dir: &Path) -> Result<Self, CatalogError> {
        let Some(folder) = Folder::open(disk, flow_dir, false)? else { return Ok(Self::default()) };
        let text = match folder.read(CONFIG_FILE) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            // The error would speak of a workflow, and this is the configuration.
            Err(error @ CatalogError::Invalid { .. }) => {
                return Err(CatalogError::Config { path: folder.join(CONFIG_FILE), message: error.in_list() });
            }
            Err(error) => return Err(error),
        };
        let message = match codec::parse_value(&text) {
            // An empty file, or one with comments only.
            Ok(Value::Null) => return Ok(Self::default()),
            Ok(Value::Object(fields)) => match codec::read_request(&fields, codec::request_schema::<Self>) {
                Ok(config) => return Ok(config),
                Err(why) => misfit(&text, fields).unwrap_or(why),
            },
            Ok(_) => "it is not a mapping of keys to values".to_owned(),
            Err(error) => match error.place {
                Some(place) => format!("line {}, column {}: {error}", place.line, place.column),
                None => error.to_string(),
            },
        };
        Err(CatalogError::Config { path: folder.join(CONFIG_FILE), message })
    }

    /// What is said of the keys that mean nothing.
    pub(crate) fn unknown_keys(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for key in self.others.keys() {
            let meant = codec::similar(key, KEYS.into_iter());
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            warnings.push(format!("{CONFIG_FILE}: the key `{key}` means nothing to flow{meant}"));
        }
        warnings
    }

    /// The types of states that graphs may use.
    pub(super) fn types(&self) -> StateTypes {
        StateTypes::with(self.state_types.iter().cloned())
    }
}
