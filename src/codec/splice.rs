//! Replacing values of one mapping inside a YAML text, located by the parser, and nothing else.
//!
//! Callers read the result back and compare: what is done here has to be right for the texts that people write, and
//! needs not be for every text that YAML allows.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::codec::yaml::{Node, Tree, emit};
use crate::model::IdList;

/// A value that is put into the text.
#[derive(Debug, Clone)]
pub(super) enum Field {
    /// `null`.
    Null,
    /// Text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// A list of ids. When the list in the text continues with more entries, only those are written.
    List(IdList),
}

impl Field {
    pub(super) fn text(text: Option<impl ToString>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.to_string()))
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::List(list) => list.iter().collect(),
        }
    }

    /// Whether `node` has this value.
    pub(super) fn is_said_by(&self, node: &Node) -> bool {
        match (self, &node.tree) {
            (Self::Null, Tree::Null) => true,
            (Self::Text(text), Tree::Text(said)) => text == said.as_str(),
            (Self::Number(number), Tree::Number(said)) => said.as_u64() == Some(*number),
            (Self::List(list), Tree::Sequence(items)) => {
                list.len() == items.len() && list.iter().zip(items).all(|(id, item)| item.text() == Some(id))
            }
            _ => false,
        }
    }

    pub(super) fn is_empty_list(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }
}

/// A replacement of some bytes.
type Edit = (Range<usize>, String);

/// Puts `changes` into `mapping` of `text`.
///
/// # Errors
/// A sentence fragment when the text is written in a way that is not understood here.
pub(super) fn splice(text: &str, mapping: &Node, changes: &[(&str, Field)]) -> Result<String, String> {
    let target = Target::new(text, mapping)?;
    let mut edits = Vec::new();
    let mut added = String::new();
    for (key, field) in changes {
        let entry = mapping.entries().iter().find(|(name, _)| name.text() == Some(key));
        match (entry, field) {
            (Some((name, value)), Field::List(list)) => edits.push(target.list(name, value, list)?),
            (Some((name, value)), field) => edits.push(target.scalar(name, value, field)?),
            (None, field) => added.push_str(&target.new_entry(key, field)),
        }
    }
    if !added.is_empty() {
        edits.push(target.place_for(added));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut spliced = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (range, new) in edits {
        let before = text.get(at..range.start).ok_or("two values share the same bytes")?;
        spliced.push_str(before);
        spliced.push_str(&new);
        at = range.end;
    }
    spliced.push_str(&text[at..]);
    Ok(spliced)
}

/// A mapping in its text.
struct Target<'a> {
    text: &'a str,
    mapping: &'a Node,
    /// `{…}` instead of a line for each key.
    flow: bool,
    /// White space before the keys of a block mapping.
    indent: &'a str,
    newline: &'static str,
}

impl<'a> Target<'a> {
    fn new(text: &'a str, mapping: &'a Node) -> Result<Self, String> {
        let (first, _) = mapping.entries().first().ok_or("the mapping is empty")?;
        let flow = text[mapping.span.start..].starts_with('{') && !mapping.span.is_empty();
        let line = line_start(text, first.span.start);
        let indent = &text[line..first.span.start];
        if !flow && !indent.bytes().all(|byte| byte == b' ') {
            return Err("the mapping does not begin on a line of its own".to_owned());
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Ok(Self { text, mapping, flow, indent, newline })
    }

    /// A scalar as it stands in this mapping.
    fn render(&self, field: &Field) -> String {
        match field {
            Field::Null => "null".to_owned(),
            Field::Number(number) => number.to_string(),
            Field::Text(text) => self.render_text(text),
            Field::List(list) => {
                let items: Vec<_> = list.iter().map(|id| self.render_text(id)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    fn render_text(&self, text: &str) -> String {
        let plain = emit(&text);
        let plain = plain.trim_end_matches('\n');
        let in_flow = plain.contains([',', '[', ']', '{', '}']) && !plain.starts_with('"');
        if plain.contains('\n') || in_flow {
            // JSON's notation means the same in YAML, wherever it stands.
            return Value::from(text).to_string();
        }
        plain.to_owned()
    }

    /// The bytes behind the colon of `key`.
    fn after_colon(&self, key: &Node) -> Result<usize, String> {
        let rest = &self.text[key.span.end..];
        let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if !rest[gap..].starts_with(':') {
            return Err(format!("no colon follows the key on line {}", key.place.line));
        }
        Ok(key.span.end + gap + 1)
    }

    fn scalar(&self, key: &Node, value: &Node, field: &Field) -> Result<Edit, String> {
        let rendered = self.render(field);
        let colon = self.after_colon(key)?;
        match &value.tree {
            Tree::Sequence(_) | Tree::Mapping(_) => {
                Err(format!("the value on line {} is not a single value", value.place.line))
            }
            _ if value.span.is_empty() => Ok((colon..colon, format!(" {rendered}"))),
            _ if value.place.line == key.place.line => Ok((value.span.clone(), rendered)),
            _ => Ok(self.scalar_below(colon, value, &rendered)),
        }
    }

    /// A value that begins below its key. What a person noted between the two stays.
    fn scalar_below(&self, colon: usize, value: &Node, rendered: &str) -> Edit {
        let head = &self.text[colon..value.span.start.max(colon)];
        let comment = head.find(" #").unwrap_or(head.len());
        if !head[..comment].contains(['|', '>']) {
            return (value.span.clone(), rendered.to_owned());
        }
        // A block of lines (`|`, `>`): its indicator goes as well. What the parser calls its end is the next key.
        let end = value.span.start + self.text[value.span.clone()].trim_end().len();
        (colon..end, format!(" {rendered}{}", head[comment..].trim_end()))
    }

    fn list(&self, key: &Node, value: &Node, list: &IdList) -> Result<Edit, String> {
        let items = value.items();
        let old: IdList = items.iter().filter_map(Node::text).collect();
        let in_flow = !value.span.is_empty() && self.text[value.span.start..].starts_with('[');
        let colon = self.after_colon(key)?;
        let appended = list.after(&old);
        match (items.last(), appended) {
            (Some(last), Some(new)) if in_flow => {
                let new: String = new.map(|id| format!(", {}", self.render_text(id))).collect();
                Ok((last.span.end..last.span.end, new))
            }
            (Some(last), Some(new)) => {
                let start = line_start(self.text, last.span.start);
                let line = &self.text[start..last.span.start];
                let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
                if !line[indent.len()..].starts_with('-') {
                    return Err(format!("line {} is not a plain list entry", last.place.line));
                }
                let new: String = new.map(|id| self.item(indent, id)).collect();
                Ok(self.behind_line(last.span.end, new))
            }
            (None, _) => Ok((colon..self.end_of_nothing(value, colon)?, self.fresh_list(list))),
            (Some(_), None) if in_flow => {
                Ok((value.span.start..self.closing_bracket(items, value)?, self.render(&Field::List(list.clone()))))
            }
            (Some(last), None) => Ok((colon..last.span.end, self.kept_lines(colon, items, list)?)),
        }
    }

    /// A block list without some of its entries: everything but their lines stays as it is.
    fn kept_lines(&self, colon: usize, items: &[Node], list: &IdList) -> Result<String, String> {
        let end = items.last().map_or(colon, |last| last.span.end);
        let wanted: HashSet<&str> = list.iter().collect();
        let is_kept = |item: &Node| item.text().is_some_and(|id| wanted.contains(id));
        let only_removed = items.iter().filter(|item| is_kept(item)).filter_map(Node::text).eq(list.iter());
        let mut text = String::new();
        let mut at = colon;
        for item in items.iter().filter(|item| !only_removed || !is_kept(item)) {
            let line = line_start(self.text, item.span.start);
            text.push_str(self.text.get(at..line).ok_or("two entries of a list share a line")?);
            at = self.text[item.span.end..end].find('\n').map_or(end, |newline| item.span.end + newline + 1);
        }
        text.push_str(&self.text[at..end]);
        let text = text.trim_end();
        Ok(match (list.is_empty(), only_removed) {
            (true, _) => format!("{}{text}", self.fresh_list(list)),
            (false, true) => text.to_owned(),
            (false, false) => format!("{text}{}", self.fresh_list(list)),
        })
    }

    fn item(&self, indent: &str, id: &str) -> String {
        format!("{indent}- {}{}", self.render_text(id), self.newline)
    }

    /// A list that was not there, behind its key's colon.
    fn fresh_list(&self, list: &IdList) -> String {
        if self.flow || list.is_empty() {
            return format!(" {}", self.render(&Field::List(list.clone())));
        }
        let items = list.iter().map(|id| format!("{}{}  - {}", self.newline, self.indent, self.render_text(id)));
        items.collect()
    }

    /// The end of `[]`, `null` or nothing at all.
    fn end_of_nothing(&self, value: &Node, colon: usize) -> Result<usize, String> {
        match &value.tree {
            Tree::Sequence(_) => self.closing_bracket(&[], value),
            Tree::Null => Ok(value.span.end.max(colon)),
            _ => Err(format!("the value on line {} is not a list", value.place.line)),
        }
    }

    fn closing_bracket(&self, items: &[Node], value: &Node) -> Result<usize, String> {
        let from = items.last().map_or(value.span.end, |last| last.span.end);
        let rest = &self.text[from..];
        let gap = rest.len() - rest.trim_start_matches([' ', ',', '\t', '\r', '\n']).len();
        if rest[gap..].starts_with(']') {
            return Ok(from + gap + 1);
        }
        Err(format!("the end of the list on line {} was not found", value.place.line))
    }

    fn new_entry(&self, key: &str, field: &Field) -> String {
        if self.flow {
            return format!("{key}: {}, ", self.render(field));
        }
        let value = match field {
            Field::List(list) => self.fresh_list(list),
            field => format!(" {}", self.render(field)),
        };
        format!("{}{key}:{value}{}", self.indent, self.newline)
    }

    /// Where new entries go: behind the last entry when its end is certain, otherwise before the first one.
    fn place_for(&self, entries: String) -> Edit {
        let first = self.mapping.entries()[0].0.span.start;
        if self.flow {
            return (first..first, entries);
        }
        match self.mapping.entries().last().and_then(|(key, value)| self.end_of(key, value)) {
            Some(end) => self.behind_line(end, entries),
            None => {
                let line = line_start(self.text, first);
                (line..line, entries)
            }
        }
    }

    /// The last byte of an entry; `None` when the parser does not say.
    fn end_of(&self, key: &Node, value: &Node) -> Option<usize> {
        match &value.tree {
            Tree::Sequence(_) | Tree::Mapping(_) if !value.span.is_empty() => None,
            Tree::Sequence(items) => items.last().and_then(|last| self.end_of(key, last)),
            Tree::Mapping(entries) => entries.last().and_then(|(key, value)| self.end_of(key, value)),
            _ => Some(value.span.end.max(key.span.end)),
        }
    }

    /// Whole lines behind the line that holds the byte before `end`.
    fn behind_line(&self, end: usize, lines: String) -> Edit {
        if end > 0 && self.text[..end].ends_with('\n') {
            return (end..end, lines);
        }
        match self.text[end..].find('\n') {
            Some(newline) => (end + newline + 1..end + newline + 1, lines),
            None => {
                let end = self.text.len();
                (end..end, format!("{}{}", self.newline, lines.trim_end_matches(['\r', '\n'])))
            }
        }
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}
