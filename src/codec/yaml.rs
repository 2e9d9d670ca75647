//! Reads and writes YAML. All options of the YAML crate are set here.

use std::ops::Range;

use memchr::memmem;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use serde_yaml::{MessageFormatter, Spanned, UserMessageFormatter};
use smol_str::SmolStr;
use thiserror::Error;

use crate::codec::Place;
use crate::model::{beginning, limits};

/// Why a text is not YAML that flow reads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct YamlError {
    /// The rule that it breaks.
    pub fault: YamlFault,
    /// What is wrong, as a sentence fragment.
    pub message: String,
    /// The place, if the parser gives it.
    pub place: Option<Place>,
}

/// The rule that a text breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlFault {
    /// It is not YAML, or uses what flow does not read: anchors, aliases, merge keys, too many or too deeply nested
    /// values.
    Syntax,
    /// It holds more than one document.
    Documents,
    /// An apostrophe ends a text in single quotes.
    Apostrophe,
    /// It has a tag that asks for something other than plain data.
    Tag,
}

impl YamlError {
    /// An error with a place.
    pub(crate) fn at(place: Place, message: impl Into<String>) -> Self {
        Self { fault: YamlFault::Syntax, message: message.into(), place: Some(place) }
    }

    fn from_parser(text: &str, error: &serde_yaml::Error) -> Self {
        // First: whatever the parser says about such a text is a consequence.
        if let Some(marker) = conflict_marker(text) {
            return Self::at(
                marker,
                "the file has git conflict markers: `flow doctor --repair` joins both sides of a run; resolve the merge of any other file",
            );
        }
        let error = error.without_snippet();
        let fault = match error {
            serde_yaml::Error::MultipleDocuments { .. } => YamlFault::Documents,
            serde_yaml::Error::Budget { breach: serde_yaml::budget::BudgetBreach::Documents { .. }, .. } => {
                YamlFault::Documents
            }
            serde_yaml::Error::UnsupportedTag { .. } => YamlFault::Tag,
            _ => YamlFault::Syntax,
        };
        let mut place = None;
        // Line 0 stands for an unknown one.
        if let Some(at) = error.location()
            && at.line() > 0
        {
            place = Some(Place { line: to_usize(at.line()), column: to_usize(at.column()).max(1) });
        }
        if fault == YamlFault::Syntax
            && let Some(word) = place.and_then(|place| apostrophe(text, place))
        {
            let doubled = word.replace('\'', "''");
            let message =
                format!("the apostrophe in `{word}` ends a text in single quotes; write it twice (`{doubled}`)");
            return Self { fault: YamlFault::Apostrophe, message, place };
        }
        let parsers = UserMessageFormatter.format_message(error).into_owned();
        let colon = place.filter(|_| COLONS.iter().any(|words| parsers.contains(words)));
        let message = colon.and_then(|place| unquoted_colon(text, place)).unwrap_or_else(|| in_words(parsers));
        Self { fault, message, place }
    }
}

/// The word whose apostrophe ended a text in single quotes, if the parser stopped behind such a one.
fn apostrophe(text: &str, place: Place) -> Option<String> {
    let line = text.lines().nth(place.line - 1)?;
    let at = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
    let (before, after) = (line[..at].strip_suffix('\'')?, &line[at..]);
    let begin = &before[before.trim_end_matches(char::is_alphanumeric).len()..];
    let end = &after[..after.len() - after.trim_start_matches(char::is_alphanumeric).len()];
    // A text that begins or ends here has no letters on one side.
    if begin.is_empty() || end.is_empty() || begin.len() + end.len() > MESSAGE / 4 {
        return None;
    }
    Some(format!("{begin}'{end}"))
}

/// What the parser says of a colon in a text.
const COLONS: [&str; 2] = ["mapping values are not allowed", "did not find expected ',' or '}'"];

/// What is said of a colon in a text without quotation marks, if the parser stopped at such a one.
fn unquoted_colon(text: &str, place: Place) -> Option<String> {
    let line = text.lines().nth(place.line - 1)?;
    let at = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
    // The first colon belongs to the key.
    let (_, words) = line[..at].rsplit_once(": ")?;
    let words = words.trim();
    if !line[at..].starts_with(':') || words.is_empty() || words.starts_with(['"', '\'']) || words.len() > MESSAGE / 4 {
        return None;
    }
    Some(format!("the text `{words}: …` has a colon and a blank in it; write it in quotation marks"))
}

/// The parser's message, or a clearer one where that is cryptic.
fn in_words(message: String) -> String {
    let limits = [
        ("Anchors", "anchors (`&name`) are not allowed here; write the value out"),
        ("Aliases", "aliases (`*name`) are not allowed here; write the value out"),
        ("MergeKeys", "merge keys (`<<`) are not allowed here; write the values out"),
        ("Documents", "the file holds more than one document; only one is read"),
        ("Depth", "the values are nested too deeply"),
        ("Nodes", "the file holds too many values"),
        ("Events", "the file holds too many values"),
    ];
    if message.contains("limits breached") {
        for (limit, words) in limits {
            if message.contains(limit) {
                return words.to_owned();
            }
        }
    }
    if message.contains("found a tab") || message.contains("tabs disallowed") {
        return "a tab stands where only spaces may; indent with spaces".to_owned();
    }
    // The message may quote a whole file.
    beginning(&message, MESSAGE).into_owned()
}

/// The longest message of the parser to pass on, in characters.
const MESSAGE: usize = 300;

/// The place of a `<<<<<<< ` line, which is legal YAML in unlucky spots and a cryptic error elsewhere.
fn conflict_marker(text: &str) -> Option<Place> {
    let at = line_with(text, "<<<<<<< ")?;
    Some(Place { line: line_at(text, at), column: 1 })
}

/// Where the first line that begins with `beginning` is in a text, which may be long: it is searched for and not split.
pub(crate) fn line_with(text: impl AsRef<[u8]>, beginning: &str) -> Option<usize> {
    let text = text.as_ref();
    memmem::find_iter(text, beginning).find(|&at| at == 0 || text[at - 1] == b'\n')
}

/// The number of the line that begins at an offset.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

fn options(duplicate_keys: serde_yaml::DuplicateKeyPolicy, max_nodes: usize) -> serde_yaml::Options {
    serde_yaml::options! {
        duplicate_keys: duplicate_keys,
        budget: serde_yaml::budget! {
            max_depth: limits::YAML_DEPTH,
            max_nodes: max_nodes,
            max_events: 2 * max_nodes,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
            max_merge_keys: 0,
        },
        strict_booleans: true,
        // Otherwise a short commit id such as 0123 or 123e456 would be read as a number.
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: serde_yaml::NonFiniteFloatPolicy::AsString,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    from_str_with(text, serde_yaml::DuplicateKeyPolicy::Error, limits::YAML_NODES)
}

fn from_str_with<T: DeserializeOwned>(
    text: &str,
    repeats: serde_yaml::DuplicateKeyPolicy,
    max_nodes: usize,
) -> Result<T, YamlError> {
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        return Err(YamlError::at(Place::of(text, at), "the file contains a NUL byte"));
    }
    serde_yaml::from_str_with_options(text, options(repeats, max_nodes))
        .map_err(|error| YamlError::from_parser(text, &error))
}

/// Reads `text` as plain data.
///
/// # Errors
/// [`YamlError`] if the text is not one YAML document within the budget.
pub fn parse_value(text: &str) -> Result<Value, YamlError> {
    from_str(text)
}

/// Reads `text` as nodes with their places.
///
/// # Errors
/// As [`parse_value`].
pub fn parse(text: &str) -> Result<Node, YamlError> {
    Ok(from_str::<Spanned<Tree>>(text)?.into())
}

/// As [`parse`], for a `run.yaml`, whose list of what is completed may be long.
///
/// # Errors
/// As [`parse_value`].
pub fn parse_run(text: &str) -> Result<Node, YamlError> {
    Ok(from_str_with::<Spanned<Tree>>(text, serde_yaml::DuplicateKeyPolicy::Error, limits::RUN_NODES)?.into())
}

/// As [`parse`], but keeps a repeated key as a further entry. For definitions, whose problems are reported all at once.
///
/// # Errors
/// As [`parse_value`], apart from repeated keys.
pub fn parse_with_repeats(text: &str) -> Result<Node, YamlError> {
    let repeats = serde_yaml::DuplicateKeyPolicy::PassThrough;
    Ok(from_str_with::<Spanned<Tree>>(text, repeats, limits::YAML_NODES)?.into())
}

/// Writes `document` as YAML that other parsers read the same way (text that looks like a number, a date or a boolean
/// in any YAML version is quoted).
///
/// # Panics
/// Never for flow's documents: they have string keys and no byte strings.
#[must_use]
pub fn emit(document: &impl Serialize) -> String {
    let options = serde_yaml::ser_options! { prefer_block_scalars: false };
    serde_yaml::to_string_with_options(document, options).expect("BUG: a document that cannot be written as YAML")
}

/// A YAML value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub tree: Tree,
    /// The place of its first byte; of a block collection, the place of its first entry.
    pub place: Place,
    /// Its range of bytes; empty for block collections and absent values.
    pub span: Range<usize>,
}

/// A YAML value without its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// `null`, `~` or an absent value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(SmolStr),
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping in the order of the file; keys are always [`Tree::Text`].
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// The value of `key`, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        let (_, value) = self.entries().iter().find(|(name, _)| name.text() == Some(key))?;
        Some(value)
    }

    /// The entries of a mapping; empty for other values.
    #[must_use]
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.tree {
            Tree::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a sequence; empty for other values.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.tree {
            Tree::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The text, if this is a text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether `other` has the same value, with keys in the same order. Ignores places.
    #[must_use]
    pub fn same_value(&self, other: &Self) -> bool {
        match (&self.tree, &other.tree) {
            (Tree::Sequence(a), Tree::Sequence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b))
            }
            (Tree::Mapping(a), Tree::Mapping(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|((key, a), (other, b))| key.same_value(other) && a.same_value(b))
            }
            (a, b) => a == b,
        }
    }

    /// The value as plain data.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(yes) => Value::Bool(*yes),
            Tree::Number(number) => Value::Number(number.clone()),
            Tree::Text(text) => Value::String(text.as_str().to_owned()),
            Tree::Sequence(items) => items.iter().map(Self::to_value).collect(),
            Tree::Mapping(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(key.text().unwrap_or_default().to_owned(), value.to_value());
                }
                Value::Object(map)
            }
        }
    }

    /// The node at a JSON pointer (`/state/status`), or the nearest enclosing node that exists.
    #[must_use]
    pub fn nearest(&self, pointer: &str) -> &Node {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let child = match &node.tree {
                Tree::Sequence(items) => items.get(step.parse().unwrap_or(usize::MAX)),
                _ => node.get(&step),
            };
            let Some(child) = child else { break };
            node = child;
        }
        node
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Tree>> From<Spanned<T>> for Node {
    fn from(read: Spanned<T>) -> Self {
        let at = read.referenced;
        let start = to_usize(at.span().byte_offset().unwrap_or(0));
        let len = to_usize(at.span().byte_len().unwrap_or(0));
        let place = Place { line: to_usize(at.line()), column: to_usize(at.column()) };
        Self { tree: read.value.into(), place, span: start..start + len }
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Tree, D::Error> {
        Tree::deserialize(from)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Tree, E> {
        Number::from_f64(number).map(Tree::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element::<Spanned<Tree>>()? {
            items.push(item.into());
        }
        Ok(Tree::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = from.next_entry::<Spanned<String>, Spanned<Tree>>()? {
            entries.push((key.into(), value.into()));
        }
        Ok(Tree::Mapping(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_knows_its_place() {
        let root = parse("state:\n  status: active # note\n  list: [a, é, b]\n").unwrap();
        assert_eq!(root.nearest("/state/status").place, Place { line: 2, column: 11 });
        assert_eq!(root.nearest("/state/list/2").place, Place { line: 3, column: 16 });
        assert_eq!(root.nearest("/state/missing").place, root.get("state").unwrap().place);
        assert_eq!(root.to_value(), parse_value("{state: {status: active, list: [a, é, b]}}").unwrap());
    }

    #[test]
    fn bombs_and_ambiguities_are_refused_with_a_place() {
        let anchors = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(1000), "*a,".repeat(1000));
        for (text, line) in [
            ("a: 1\na: 2\n", 2),
            ("a: 1\n<<<<<<< HEAD\nb: 2\n", 2),
            ("a: &x 1\nb: 2\n", 1),
            ("a: 1\n\tb: 2\n", 1),
            ("a: \"x\0\"\n", 1),
            (anchors.as_str(), 1),
        ] {
            let error = parse_value(text).unwrap_err();
            assert_eq!(error.place.map(|at| at.line), Some(line), "{text:.40} {error}");
        }
        for text in ["a: 1\n---\nb: 2\n", &"[".repeat(100_000), &"- ".repeat(50_000)] {
            assert!(parse_value(text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn an_apostrophe_inside_single_quotes_is_told_with_how_to_write_it() {
        for text in [
            "summary: 'it's done'\n",
            "a: 1\nb:\n  summary: 'it's done, isn't it'\n",
            "- 'it's done'\n",
            "a: ['it's', b]\n",
            "{a: 'it's', b: 1}\n",
            "a: 'of two lines,\n  it's done'\nb: 1\n",
            "'it's': 1\n",
            "a: 'it's\nb: 2\n",
        ] {
            let told = parse_value(text).unwrap_err();
            assert_eq!(
                told.message, "the apostrophe in `it's` ends a text in single quotes; write it twice (`it''s`)",
                "{text}"
            );
        }
        for text in ["a: 'it' s'\n", "a: [b\n", "a: 'open\n", "a: \"it\"s\"\n"] {
            let told = parse_value(text).unwrap_err();
            assert!(!told.message.contains("apostrophe"), "{text}: {told}");
        }
        assert_eq!(parse_value("a: 'it''s done'").unwrap()["a"], "it's done");
    }

    #[test]
    fn a_colon_in_a_text_without_quotation_marks_is_told_with_what_to_do() {
        for text in [
            "description: Use when: x\n",
            "a: 1\nb:\n  - c: Use when: x\n",
            "{a: {type: b, description: Use when: x}}\n",
            "description: Use when:\na: b\n",
        ] {
            let told = parse_value(text).unwrap_err();
            let message = "the text `Use when: …` has a colon and a blank in it; write it in quotation marks";
            assert_eq!(told.message, message, "{text}");
        }
        for text in ["a: b\n  c: d\n", "a: \"x\": y\n", "a: 'x': y\n"] {
            let told = parse_value(text).unwrap_err();
            assert!(!told.message.contains("quotation"), "{text}: {told}");
        }
    }

    #[test]
    fn text_that_looks_like_something_else_stays_text() {
        let value = parse_value("a: yes\nb: 2026-05-20T14:30:00Z\nc: 123e456\nd: 0123\ne: 1_000\n").unwrap();
        for key in ["a", "b", "c", "d", "e"] {
            assert!(value[key].is_string(), "{key}: {}", value[key]);
        }
        for nasty in ["yes", "null", "1:30", "2026-05-20", "123e456", "a: b", "# x", "", "- x", "é\u{7}", "\ttab"] {
            let text = emit(&serde_json::json!({ "k": nasty }));
            assert_eq!(parse_value(&text).unwrap()["k"], nasty, "{text}");
        }
    }
}
