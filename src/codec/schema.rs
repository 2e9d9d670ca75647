//! Checks documents against the JSON Schemas in `schemas/`.
//!
//! A macro compiles the schemas into the program, so that a check does not have to parse or compile them. The validator
//! returns errors as data, and [`sentence`] turns them into messages.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::codec::{Node, Place};
use crate::model::limits;

#[jsonschema::validator(path = "schemas/v1/run.schema.json")]
struct RunSchema;
#[jsonschema::validator(path = "schemas/v1/activity.schema.json")]
struct ActivitySchema;
#[jsonschema::validator(path = "schemas/v1/workflow.schema.json")]
struct WorkflowSchema;
#[jsonschema::validator(path = "schemas/v1/modes.schema.json")]
struct ModesSchema;
#[jsonschema::validator(path = "schemas/v1/interview.schema.json")]
struct InterviewSchema;
#[jsonschema::validator(path = "schemas/v1/interview-reply.schema.json")]
struct ReplySchema;
#[jsonschema::validator(
    path = "schemas/v1/event.schema.json",
    resources = {
        "https://flow.synapti.ai/schemas/v1/activity.schema.json" => { path = "schemas/v1/activity.schema.json" }
    }
)]
struct EventSchema;

/// The longest excerpt of a value in a message, in characters.
const EXCERPT: usize = 60;

/// A kind of document that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `run.yaml`.
    Run,
    /// A file in `activities/`.
    Activity,
    /// `<id>.workflow.yaml`, the phases notation.
    Workflow,
    /// `modes.yaml`, the policy of modes.
    Modes,
    /// `<id>.interview.yaml`, the script of an interview.
    Interview,
    /// The reply of an interviewing agent.
    InterviewReply,
    /// A sealed line of `events.jsonl`, including its `crc`.
    Event,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Run, Self::Activity, Self::Workflow, Self::Modes, Self::Interview, Self::InterviewReply, Self::Event];
}

/// The schemas, for editors too: the name of each file and its text, in the order of [`DocumentKind`].
pub(crate) const SCHEMAS: [(&str, &str); DocumentKind::ALL.len()] = [
    ("run.schema.json", include_str!("../../schemas/v1/run.schema.json")),
    ("activity.schema.json", include_str!("../../schemas/v1/activity.schema.json")),
    ("workflow.schema.json", include_str!("../../schemas/v1/workflow.schema.json")),
    ("modes.schema.json", include_str!("../../schemas/v1/modes.schema.json")),
    ("interview.schema.json", include_str!("../../schemas/v1/interview.schema.json")),
    ("interview-reply.schema.json", include_str!("../../schemas/v1/interview-reply.schema.json")),
    ("event.schema.json", include_str!("../../schemas/v1/event.schema.json")),
];

/// The JSON Schema of a kind of document.
#[must_use]
pub fn schema_text(kind: DocumentKind) -> &'static str {
    SCHEMAS[kind as usize].1
}

/// A place where a document violates its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer to the value, `/state/status`; for a missing key, to the object that should have it.
    pub pointer: String,
    /// What is wrong: a sentence fragment that names the value.
    pub message: String,
    /// The place in the text, if [`validate`] was given the positions.
    pub place: Option<Place>,
}

/// Checks `value` and returns the violations, at most [`limits::VIOLATIONS`]; in the order of the document if
/// `positions` are given.
#[must_use]
pub fn validate(kind: DocumentKind, value: &Value, positions: Option<&Node>) -> Vec<Violation> {
    let (valid, errors) = match kind {
        DocumentKind::Run => (RunSchema::is_valid(value), RunSchema::iter_errors as Errors),
        DocumentKind::Activity => (ActivitySchema::is_valid(value), ActivitySchema::iter_errors as Errors),
        DocumentKind::Workflow => (WorkflowSchema::is_valid(value), WorkflowSchema::iter_errors as Errors),
        DocumentKind::Modes => (ModesSchema::is_valid(value), ModesSchema::iter_errors as Errors),
        DocumentKind::Interview => (InterviewSchema::is_valid(value), InterviewSchema::iter_errors as Errors),
        DocumentKind::InterviewReply => (ReplySchema::is_valid(value), ReplySchema::iter_errors as Errors),
        DocumentKind::Event => (EventSchema::is_valid(value), EventSchema::iter_errors as Errors),
    };
    if valid {
        return Vec::new();
    }
    // Parse the schema only for an invalid document: it has the wording and the known keys.
    let schema = serde_json::from_str(schema_text(kind)).unwrap_or(Value::Null);
    let mut violations = Vec::new();
    for error in errors(value) {
        explain(&error, &schema, positions, &mut violations);
        if violations.len() >= limits::VIOLATIONS {
            break;
        }
    }
    violations.truncate(limits::VIOLATIONS);
    violations.sort_by_key(|violation| violation.place);
    violations
}

type Errors = for<'a> fn(&'a Value) -> jsonschema::ErrorIterator<'a>;

/// Adds the violations for an error: one, or one for each unknown key.
fn explain(error: &ValidationError<'_>, schema: &Value, positions: Option<&Node>, violations: &mut Vec<Violation>) {
    let pointer = error.instance_path().as_str();
    let rules = rules(schema, error.schema_path().as_str());
    let node = positions.map(|root| root.nearest(pointer));
    if let Kind::AdditionalProperties { unexpected } = error.kind() {
        // Limit the number here too, because finding the place of a key takes time linear in the number of keys.
        for key in unexpected.iter().take(limits::VIOLATIONS) {
            violations.push(unknown_key(pointer, key, rules, node));
        }
        return;
    }
    let message = sentence(error, &path(pointer), rules);
    violations.push(Violation { pointer: pointer.to_owned(), message, place: node.map(|node| node.place) });
}

/// The subschema with the keyword at `schema_path`.
fn rules<'a>(schema: &'a Value, schema_path: &str) -> Option<&'a Value> {
    schema.pointer(schema_path.rsplit_once('/')?.0)
}

fn unknown_key(pointer: &str, key: &str, rules: Option<&Value>, parent: Option<&Node>) -> Violation {
    let escaped = key.replace('~', "~0").replace('/', "~1");
    let mut message = format!("the key `{}` is not known here", excerpt(key));
    if let Some(known) = rules.and_then(|rules| rules["properties"].as_object())
        && let Some(meant) = similar(key, known.keys().map(String::as_str))
    {
        let _ = write!(message, "; did you mean `{meant}`?");
    }
    let mut place = None;
    if let Some(parent) = parent {
        let entry = parent.entries().iter().find(|(name, _)| name.text() == Some(key));
        place = Some(entry.map_or(parent.place, |(name, _)| name.place));
    }
    Violation { pointer: format!("{pointer}/{escaped}"), message, place }
}

/// The message for `error`. `path` names the value; `rules` is the subschema that it violates.
fn sentence(error: &ValidationError<'_>, path: &str, rules: Option<&Value>) -> String {
    let value = error.instance().as_ref();
    let found = describe(value);
    match error.kind() {
        Kind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            if path == DOCUMENT {
                format!("`{key}` is missing")
            } else {
                format!("`{}.{key}` is missing", path.trim_matches('`'))
            }
        }
        Kind::Type { kind } => {
            let quoting = match value {
                Value::Number(_) | Value::Bool(_) if kinds_of(kind).contains(&JsonType::String) => "; put it in quotes",
                _ => "",
            };
            format!("{path} must be {}, not {found}{quoting}", expected(kind))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let list: Vec<_> = options.iter().map(describe).collect();
            let list = list.join(", ");
            let known = options.iter().filter_map(Value::as_str);
            match value.as_str().and_then(|text| similar(text, known)) {
                Some(meant) => format!("{path} is {found}; did you mean `{meant}`? It can be {list}"),
                None => format!("{path} is {found}; it can be {list}"),
            }
        }
        Kind::Constant { expected_value } => format!("{path} must be {}, not {found}", describe(expected_value)),
        Kind::Pattern { pattern } => match rules.and_then(|rules| rules["patternErrorMessage"].as_str()) {
            Some(rule) => format!("{path} is {found}; {rule}"),
            None => format!("{path} is {found}; it must match `{pattern}`"),
        },
        Kind::Minimum { limit } => format!("{path} is {found}; the least is {limit}"),
        Kind::Maximum { limit } => format!("{path} is {found}; the most is {limit}"),
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => format!("{path} is empty"),
        Kind::MinLength { limit } => format!("{path} is shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("{path} is longer than {limit} characters"),
        Kind::MinItems { limit } => format!("{path} has fewer than {limit} items"),
        other => format!("{path} does not fit the schema ({})", other.keyword()),
    }
}

const DOCUMENT: &str = "the document";

/// `/phases/0/id` as people write it: `` `phases[0].id` ``.
fn path(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            let _ = write!(path, "[{step}]");
        } else {
            let dot = if path.is_empty() { "" } else { "." };
            let _ = write!(path, "{dot}{}", excerpt(&step));
        }
    }
    if path.is_empty() { DOCUMENT.into() } else { format!("`{path}`") }
}

/// A value as part of a sentence.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(yes) => format!("`{yes}`"),
        Value::Number(number) => excerpt(&number.to_string()),
        Value::String(text) if text.is_empty() => "an empty text".into(),
        Value::String(text) => format!("`{}`", excerpt(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a mapping".into(),
    }
}

/// The first [`EXCERPT`] characters of `text`, with control characters escaped.
fn excerpt(text: &str) -> String {
    let mut shown = Vec::new();
    for c in text.chars().take(EXCERPT + 1) {
        if c.is_control() {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    // An escaped character is several, so that the excerpt may end inside of one.
    if shown.len() > EXCERPT {
        shown.truncate(EXCERPT - 1);
        shown.push('…');
    }
    shown.into_iter().collect()
}

fn expected(kind: &TypeKind) -> String {
    let mut kinds = kinds_of(kind);
    // A value is nearly never meant to be null.
    kinds.sort_by_key(|kind| *kind == JsonType::Null);
    let names: Vec<_> = kinds.into_iter().map(type_name).collect();
    names.join(" or ")
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "`true` or `false`",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "a mapping",
        JsonType::String => "text",
    }
}

fn kinds_of(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(kind) => vec![*kind],
        TypeKind::Multiple(kinds) => kinds.iter().collect(),
    }
}

/// The keys of `value` that mean nothing to flow and look like one that is not there: a sentence fragment for each.
///
/// For documents that may have other keys as well: there, a mistyped key breaks no rule.
pub(crate) fn mistyped_keys(kind: DocumentKind, value: &Value) -> Vec<String> {
    let schema = serde_json::from_str(schema_text(kind)).unwrap_or(Value::Null);
    let mut hints = Vec::new();
    add_mistyped_keys(&schema, value, "", &mut hints);
    hints
}

fn add_mistyped_keys(rules: &Value, value: &Value, pointer: &str, hints: &mut Vec<String>) {
    let (Some(known), Some(fields)) = (rules["properties"].as_object(), value.as_object()) else { return };
    for (key, value) in fields {
        if hints.len() >= limits::VIOLATIONS {
            return;
        }
        let pointer = format!("{pointer}/{key}");
        if let Some(rules) = known.get(key) {
            add_mistyped_keys(rules, value, &pointer, hints);
            continue;
        }
        let absent = known.keys().map(String::as_str).filter(|name| !fields.contains_key(*name));
        if let Some(meant) = similar(key, absent)
            && is_typing_error(key, meant)
        {
            hints.push(format!("{} means nothing to flow; did you mean `{meant}`?", path(&pointer)));
        }
    }
}

/// The known name that is most similar to `given`, if one is similar enough.
pub(crate) fn similar<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The comparison takes time that grows with both lengths, and the text may be hostile.
    if given.len() > EXCERPT {
        return None;
    }
    let given = given.to_lowercase();
    let (mut best, mut most) = (None, 0.85);
    for name in known {
        let likeness = strsim::jaro_winkler(&given, &name.to_lowercase());
        // Of several that are equally similar, the last one.
        if likeness > most || best.is_some() && likeness >= most {
            (best, most) = (Some(name), likeness);
        }
    }
    best
}

/// Whether `given` is `meant` with at most two typing errors.
pub(crate) fn is_typing_error(given: &str, meant: &str) -> bool {
    strsim::osa_distance(given, meant) <= 2
}

#[cfg(test)]
mod tests;
