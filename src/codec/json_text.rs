//! Edits of a JSON text that keep every other byte: entries are added at the end of an object or array and taken out again.
//!
//! Taking out what was added restores the bytes from before. An object or array goes when its last entry is taken out,
//! unless it was there, and empty, before flow added to it. flow marks such a one with a blank before its closing bracket,
//! and writes a blank there only for this.

use std::ops::Range;

use serde_json::Value;
use thiserror::Error;

use crate::codec::edits::{TextEdit, with_edits};
use crate::codec::json::parse_json;
use crate::codec::place::Place;

/// A value and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonNode {
    /// The bytes of the value.
    pub(crate) span: Range<usize>,
    /// The entries of an object or array.
    entries: Option<Vec<JsonEntry>>,
    is_object: bool,
}

/// An entry of an object or array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonEntry {
    /// Where the entry begins: its key or its value.
    start: usize,
    /// The key; empty in an array.
    pub(crate) key: String,
    pub(crate) value: JsonNode,
}

impl JsonNode {
    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[JsonEntry]> {
        if self.is_object { self.entries.as_deref() } else { None }
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Option<&[JsonEntry]> {
        if self.is_object { None } else { self.entries.as_deref() }
    }

    /// The value of a member.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let member = self.members()?.iter().find(|member| member.key == key)?;
        Some(&member.value)
    }

    fn entries(&self) -> &[JsonEntry] {
        self.entries.as_deref().unwrap_or_default()
    }
}

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub(crate) struct JsonFault {
    /// Where.
    pub(crate) place: Place,
    /// What is wrong there.
    pub(crate) reason: String,
}

/// How the entries of an object or array are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonLayout {
    /// On one line.
    Line,
    /// On lines of their own, with this indentation.
    Lines(String),
}

/// What is left of an object or array after entries were taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Something, or the empty object or array that was there before.
    Stays,
    /// Nothing: it was made for these entries, and can go.
    Nothing,
}

/// A JSON text that is being edited.
#[derive(Debug)]
pub(crate) struct JsonText<'t> {
    text: &'t str,
    root: JsonNode,
    newline: &'static str,
    /// The indentation of one level.
    unit: String,
    /// Whether a blank follows colons and commas.
    is_spaced: bool,
    edits: Vec<TextEdit>,
}

/// The indentation of a text that shows none.
const UNIT: &str = "  ";
/// Before a closing bracket: the object or array was there before, and empty.
const WAS_EMPTY: &str = " ";

impl<'t> JsonText<'t> {
    /// Reads `text`, which must be JSON without repeated keys.
    ///
    /// # Errors
    /// [`JsonFault`].
    pub(crate) fn parse(text: &'t str) -> Result<Self, JsonFault> {
        parse_json(text).map_err(|error| json_fault(text, &error))?;
        let root = Scanner { text, at: 0 }.value();
        // Behind a single carriage return, a line feed would join it, and could not be told from it later.
        let newline = if text.contains('\r') { "\r\n" } else { "\n" };
        let mut unit = UNIT;
        if let Some(first) = root.entries().first()
            && let Some(indent) = indentation(&text[..first.start])
            && !indent.is_empty()
        {
            unit = indent;
        }
        // A text without members shows neither, and gets the blanks that most texts have.
        let members = root.members().unwrap_or_default();
        let is_packed = members.iter().all(|member| text[..member.value.span.start].ends_with(':'));
        let is_spaced = members.is_empty() || !is_packed;
        Ok(Self { text, root, newline, unit: unit.to_owned(), is_spaced, edits: Vec::new() })
    }

    /// The whole value.
    pub(crate) fn root(&self) -> &JsonNode {
        &self.root
    }

    /// What a node says.
    pub(crate) fn value(&self, node: &JsonNode) -> Value {
        serde_json::from_str(&self.text[node.span.clone()]).unwrap_or_default()
    }

    /// Where a node begins.
    pub(crate) fn place(&self, node: &JsonNode) -> Place {
        Place::of(self.text, node.span.start)
    }

    /// How the entries of `node` are laid out, or would be; `outer` is the layout that `node` itself is part of.
    pub(crate) fn layout(&self, node: &JsonNode, outer: &JsonLayout) -> JsonLayout {
        if let Some(last) = node.entries().last() {
            let before = &self.text[node.span.start + 1..last.start];
            return match indentation(&before[before.trim_end_matches(BLANKS).len()..]) {
                Some(indent) => JsonLayout::Lines(indent.to_owned()),
                None => JsonLayout::Line,
            };
        }
        // What is between the brackets of an empty object or array.
        let inside = self.text.get(node.span.start + 1..node.span.end - 1).unwrap_or_default();
        match outer {
            JsonLayout::Line if inside.contains('\n') => JsonLayout::Lines(self.unit.clone()),
            outer => self.deeper(outer),
        }
    }

    /// Adds entries behind those of `node`; keys are ignored in an array.
    pub(crate) fn append(&mut self, node: &JsonNode, layout: &JsonLayout, entries: &[(&str, Value)]) {
        let gap = match layout {
            JsonLayout::Lines(indent) => format!("{}{indent}", self.newline),
            JsonLayout::Line => String::new(),
        };
        let between = if gap.is_empty() && self.is_spaced { " " } else { &gap };
        let mut texts = Vec::new();
        for (key, value) in entries {
            let value = self.render(value, layout);
            texts.push(if node.is_object { self.member(key, &value) } else { value });
        }
        let texts = texts.join(&format!(",{between}"));
        let (at, added) = match node.entries().last() {
            Some(last) => (last.value.span.end, format!(",{between}{texts}")),
            None => (node.span.end - 1, format!("{gap}{texts}{WAS_EMPTY}")),
        };
        self.edits.push((at..at, added));
    }

    /// Puts `value` in the place of a node without entries.
    pub(crate) fn replace(&mut self, node: &JsonNode, value: &Value) {
        self.edits.push((node.span.clone(), value.to_string()));
    }

    /// Takes the entries out of `node` that `is_gone` names by their position.
    pub(crate) fn take_out(&mut self, node: &JsonNode, is_gone: impl Fn(usize) -> bool) -> Rest {
        let entries = node.entries();
        let kept: Vec<usize> = (0..entries.len()).filter(|at| !is_gone(*at)).collect();
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Rest::Stays };
        let Some(&first_kept) = kept.first() else {
            // Without the sign, flow made it for these entries.
            let (open, close) = (node.span.start + 1, node.span.end - 1);
            if &self.text[last.value.span.end..close] != WAS_EMPTY {
                return Rest::Nothing;
            }
            let before = &self.text[open..first.start];
            let (blank, _) = before.rsplit_once(self.newline).unwrap_or((before, ""));
            self.edits.push((open..close, blank.to_owned()));
            return Rest::Stays;
        };
        if first_kept > 0 {
            self.edits.push((first.start..entries[first_kept].start, String::new()));
        }
        // An entry goes with the comma before it, so that the last one that stays has none behind it.
        for (at, &place) in kept.iter().enumerate() {
            let next = kept.get(at + 1).copied().unwrap_or(entries.len());
            if next > place + 1 {
                let (from, to) = (entries[place].value.span.end, entries[next - 1].value.span.end);
                self.edits.push((from..to, String::new()));
            }
        }
        Rest::Stays
    }

    /// Puts `text` in the place of the whole value.
    pub(crate) fn replace_root(&mut self, text: &str) {
        self.edits = vec![(self.root.span.clone(), text.to_owned())];
    }

    /// What is around the whole value, and its last bytes before the closing bracket.
    pub(crate) fn around(&self) -> (&'t str, &'t str, &'t str) {
        let span = &self.root.span;
        let end = self.root.entries().last().map_or(span.start + 1, |last| last.value.span.end);
        (&self.text[..span.start], &self.text[end..span.end - 1], &self.text[span.end..])
    }

    /// The edited text.
    pub(crate) fn finish(self) -> String {
        with_edits(self.text, self.edits).expect("BUG: two edits share the same bytes")
    }

    fn member(&self, key: &str, value: &str) -> String {
        let colon = if self.is_spaced { ": " } else { ":" };
        format!("{}{colon}{value}", Value::from(key))
    }

    /// A value that begins in a line with the indentation of `layout`.
    fn render(&self, value: &Value, layout: &JsonLayout) -> String {
        let inner = self.deeper(layout);
        let mut parts = Vec::new();
        let (open, close) = match value {
            Value::Object(object) => {
                for (key, value) in object {
                    parts.push(self.member(key, &self.render(value, &inner)));
                }
                ('{', '}')
            }
            Value::Array(items) => {
                parts.extend(items.iter().map(|item| self.render(item, &inner)));
                ('[', ']')
            }
            scalar => return scalar.to_string(),
        };
        match layout {
            JsonLayout::Lines(indent) if !parts.is_empty() => {
                let (newline, unit) = (self.newline, &self.unit);
                let parts = parts.join(&format!(",{newline}{indent}{unit}"));
                format!("{open}{newline}{indent}{unit}{parts}{newline}{indent}{close}")
            }
            _ => format!("{open}{}{close}", parts.join(if self.is_spaced { ", " } else { "," })),
        }
    }

    fn deeper(&self, layout: &JsonLayout) -> JsonLayout {
        match layout {
            JsonLayout::Lines(indent) => JsonLayout::Lines(format!("{indent}{}", self.unit)),
            JsonLayout::Line => JsonLayout::Line,
        }
    }
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// What stands between the last line break of `before` and its end, if that is blank.
fn indentation(before: &str) -> Option<&str> {
    let (_, line) = before.rsplit_once('\n')?;
    line.trim_matches(BLANKS).is_empty().then_some(line)
}

/// Why `text` is not JSON, and where, from the error of its parser.
pub(crate) fn json_fault(text: &str, error: &serde_json::Error) -> JsonFault {
    let place = Place { line: error.line(), column: error.column().max(1) };
    let message = error.to_string();
    // The place is a field of its own.
    let reason = message.split(" at line ").next().unwrap_or(&message).to_owned();
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let here = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let is_comment = ["//", "/*", "#"].iter().any(|sign| here.starts_with(sign));
    JsonFault { place, reason: if is_comment { "comments are not JSON".to_owned() } else { reason } }
}

/// Finds the values of a text that is known to be JSON.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> JsonNode {
        self.skip_blank();
        let start = self.at;
        let is_object = self.peek() == Some(b'{');
        let mut entries = None;
        match self.peek() {
            Some(b'{' | b'[') => entries = Some(self.entries(is_object)),
            Some(b'"') => self.string(),
            // A number or a word ends where something else can begin.
            _ => {
                while !matches!(self.peek(), None | Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n')) {
                    self.at += 1;
                }
            }
        }
        JsonNode { span: start..self.at, entries, is_object }
    }

    fn entries(&mut self, in_object: bool) -> Vec<JsonEntry> {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            self.skip_blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}' | b']') | None => break,
                Some(_) => {
                    let start = self.at;
                    let key = if in_object { self.key() } else { String::new() };
                    entries.push(JsonEntry { start, key, value: self.value() });
                }
            }
        }
        self.at += 1;
        entries
    }

    /// A key and its colon.
    fn key(&mut self) -> String {
        let start = self.at;
        self.string();
        let key = serde_json::from_str(&self.text[start..self.at]).unwrap_or_default();
        self.skip_blank();
        self.at += 1;
        key
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Adds an entry to the object `a`, and takes it out again.
    fn added_and_taken_out(text: &str) -> (String, String) {
        let mut json = JsonText::parse(text).unwrap();
        let root = json.root().clone();
        let outer = json.layout(&root, &JsonLayout::Lines(String::new()));
        let node = root.get("a").unwrap();
        let layout = json.layout(node, &outer);
        json.append(node, &layout, &[("new", json!({ "k": [1] })), ("more", json!(2))]);
        let added = json.finish();
        let mut json = JsonText::parse(&added).unwrap();
        let node = json.root().get("a").unwrap().clone();
        let keys: Vec<_> = node.members().unwrap().iter().map(|member| member.key.clone()).collect();
        assert_eq!(json.take_out(&node, |at| ["new", "more"].contains(&keys[at].as_str())), Rest::Stays);
        (added.clone(), json.finish())
    }

    #[test]
    fn what_is_added_looks_like_what_is_there_and_can_be_taken_out() {
        for (text, wanted) in [
            (r#"{"a":{}}"#, r#"{"a":{"new":{"k":[1]},"more":2 }}"#),
            (r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1, "new": {"k": [1]}, "more": 2}}"#),
            (
                "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n",
                "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"new\": {\n\t\t\t\"k\": [\n\t\t\t\t1\n\t\t\t]\n\t\t},\n\t\t\"more\": 2\n\t}\n}\n",
            ),
            (
                "{\r\n  \"a\": { }\r\n}",
                "{\r\n  \"a\": { \r\n    \"new\": {\r\n      \"k\": [\r\n        1\r\n      ]\r\n    },\r\n    \"more\": 2 }\r\n}",
            ),
        ] {
            let (added, taken_out) = added_and_taken_out(text);
            assert_eq!(added, wanted);
            assert_eq!(taken_out, text);
        }
    }

    #[test]
    fn what_others_added_meanwhile_stays() {
        let mut json = JsonText::parse("[1, 2, 3, 4, 5]").unwrap();
        let root = json.root().clone();
        assert_eq!(json.take_out(&root, |at| [0, 2, 3].contains(&at)), Rest::Stays);
        assert_eq!(json.finish(), "[2, 5]");
        let mut json = JsonText::parse("[1]").unwrap();
        let root = json.root().clone();
        assert_eq!(json.take_out(&root, |_| true), Rest::Nothing);
    }

    #[test]
    fn a_fault_has_a_place_and_a_reason() {
        let told = |text| JsonText::parse(text).map(drop).map_err(|fault| format!("{}: {fault}", fault.place));
        assert_eq!(told("{\n  // mine\n}").unwrap_err(), "2:3: comments are not JSON");
        assert_eq!(told("{\"a\": 1,}").unwrap_err(), "1:9: trailing comma");
        assert_eq!(told("{\"a\": 1, \"a\": 2}").unwrap_err(), "1:12: the key \"a\" is there twice");
        assert!(told("{\"a\": \"\\u00e9\\\\\\\"}]\", \"b\": [1e5, -0.5, true, null]}").is_ok());
    }
}
