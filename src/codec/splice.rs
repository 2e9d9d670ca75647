//! Replaces values of one mapping in a YAML text, at the places that the parser gives, and nothing else.
//!
//! Callers read the result back and compare it. So this has to be right for the texts that people write, but not for
//! every text that YAML allows.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::codec::edits::{TextEdit, with_edits};
use crate::codec::lines::{line_start, next_line};
use crate::codec::yaml::{Node, Tree, emit};
use crate::model::IdList;

/// A value to put into the text.
#[derive(Debug, Clone)]
pub(super) enum Field {
    Null,
    Text(String),
    /// A whole number.
    Number(u64),
    /// A list of ids. If the list in the text is a prefix of it, only the new entries are added.
    List(IdList),
    /// A mapping of texts. Only entries that differ are changed.
    Map(Vec<(String, String)>),
    /// The key is absent.
    Absent,
}

impl Field {
    pub(super) fn text(text: Option<impl ToString>) -> Self {
        match text {
            Some(text) => Self::Text(text.to_string()),
            None => Self::Null,
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null | Self::Absent => Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::List(list) => list.iter().collect(),
            Self::Map(map) => {
                Value::Object(map.iter().map(|(key, text)| (key.clone(), text.as_str().into())).collect())
            }
        }
    }

    /// Whether `node` has this value.
    pub(super) fn is_value_of(&self, node: &Node) -> bool {
        match (self, &node.tree) {
            (Self::Null | Self::Absent, Tree::Null) => true,
            (Self::Text(text), Tree::Text(said)) => text == said.as_str(),
            (Self::Number(number), Tree::Number(said)) => said.as_u64() == Some(*number),
            (Self::List(list), Tree::Sequence(items)) => {
                list.len() == items.len() && list.iter().zip(items).all(|(id, item)| item.text() == Some(id))
            }
            (Self::Map(map), Tree::Mapping(entries)) => {
                let mut pairs = entries.iter().zip(map);
                entries.len() == map.len()
                    && pairs.all(|((name, value), (key, text))| name.text() == Some(key) && value.text() == Some(text))
            }
            _ => false,
        }
    }

    /// Whether a text without the key has the same meaning.
    pub(super) fn may_be_absent(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty()) || matches!(self, Self::Absent)
    }
}

/// Puts `changes` into `mapping` of `text`. A new key that is in `ordered` goes after the key before it in that list,
/// others go to the end.
///
/// # Errors
/// A sentence fragment if the text is written in a way that this module does not understand.
pub(super) fn splice(
    text: &str,
    mapping: &Node,
    changes: &[(&str, Field)],
    ordered: &[&str],
) -> Result<String, String> {
    let target = Target::new(text, mapping)?;
    let mut edits = Vec::new();
    let mut added: Vec<(Option<&(Node, Node)>, String)> = Vec::new();
    for (key, field) in changes {
        match (target.entry(key), field) {
            (Some((name, value)), Field::List(list)) => edits.push(target.list(name, value, list)?),
            (Some((name, value)), Field::Map(map)) => edits.extend(target.text_map(name, value, map)?),
            (Some((name, value)), Field::Absent) => edits.extend(target.without(name, value)?),
            (Some((name, value)), field) => edits.push(target.scalar(name, value, field)?),
            (None, field) => {
                let at = ordered.iter().position(|name| name == key).unwrap_or(0);
                let before = ordered[..at].iter().rev().find_map(|name| target.entry(name));
                let new = target.new_entry(key, field);
                // One edit for one place: two of them would have no order.
                match added.last_mut() {
                    Some((last, text)) if last.map(|(key, _)| &key.span) == before.map(|(key, _)| &key.span) => {
                        text.push_str(&new);
                    }
                    _ => added.push((before, new)),
                }
            }
        }
    }
    // What follows a key comes before what is put at the end, also behind the last key: so the order does not depend on
    // which of them was added first.
    added.sort_by_key(|(before, _)| before.is_none());
    for (before, text) in added {
        edits.push(target.place_for(before, text));
    }
    with_edits(text, edits).ok_or("two values share the same bytes".to_owned())
}

/// A mapping and its text.
struct Target<'a> {
    text: &'a str,
    mapping: &'a Node,
    /// Whether it is written as `{…}` instead of one line per key.
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

    fn entry(&self, key: &str) -> Option<&'a (Node, Node)> {
        self.mapping.entries().iter().find(|(name, _)| name.text() == Some(key))
    }

    /// A value on one line, in the notation of this mapping.
    fn render(&self, field: &Field) -> String {
        match field {
            Field::Null | Field::Absent => "null".to_owned(),
            Field::Number(number) => number.to_string(),
            Field::Text(text) => self.render_text(text),
            Field::List(list) => {
                let items: Vec<_> = list.iter().map(|id| self.render_text(id)).collect();
                format!("[{}]", items.join(", "))
            }
            Field::Map(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, text) in map {
                    entries.push(format!("{}: {}", Value::from(key.as_str()), Value::from(text.as_str())));
                }
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    /// A key of a mapping. A text that needs no quotes as a value may need them as a key.
    fn render_key(&self, key: &str) -> String {
        let plain = key.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
        if plain { self.render_text(key) } else { Value::from(key).to_string() }
    }

    fn render_text(&self, text: &str) -> String {
        let plain = emit(&text);
        let plain = plain.trim_end_matches('\n');
        let in_flow = plain.contains([',', '[', ']', '{', '}']) && !plain.starts_with('"');
        if plain.contains('\n') || in_flow {
            // A JSON string means the same in YAML, in every place.
            return Value::from(text).to_string();
        }
        plain.to_owned()
    }

    /// The offset after the colon of `key`.
    fn after_colon(&self, key: &Node) -> Result<usize, String> {
        let rest = &self.text[key.span.end..];
        let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if !rest[gap..].starts_with(':') {
            return Err(format!("no colon follows the key on line {}", key.place.line));
        }
        Ok(key.span.end + gap + 1)
    }

    fn scalar(&self, key: &Node, value: &Node, field: &Field) -> Result<TextEdit, String> {
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

    /// Replaces a value that begins on a line below its key. A person's comment between the two stays.
    fn scalar_below(&self, colon: usize, value: &Node, rendered: &str) -> TextEdit {
        let head = &self.text[colon..value.span.start.max(colon)];
        let comment = head.find(" #").unwrap_or(head.len());
        if !head[..comment].contains(['|', '>']) {
            return (value.span.clone(), rendered.to_owned());
        }
        // A block scalar (`|`, `>`): remove its indicator too. The end of its span is the next key, so trim it.
        let end = value.span.start + self.text[value.span.clone()].trim_end().len();
        (colon..end, format!(" {rendered}{}", head[comment..].trim_end()))
    }

    fn list(&self, key: &Node, value: &Node, list: &IdList) -> Result<TextEdit, String> {
        let items = value.items();
        let old: IdList = items.iter().filter_map(Node::text).collect();
        let in_flow = !value.span.is_empty() && self.text[value.span.start..].starts_with('[');
        let colon = self.after_colon(key)?;
        let appended = list.after(&old);
        // Adding behind the last entry keeps how a person wrote the others. Only what cannot be added to is replaced.
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
                Ok((value.span.start..self.closing(']', value, items.last())?, self.render(&Field::List(list.clone()))))
            }
            (Some(last), None) => Ok((colon..last.span.end, self.kept_lines(colon, items, list)?)),
        }
    }

    /// A block list without some of its entries. Only their lines are removed.
    fn kept_lines(&self, colon: usize, items: &[Node], list: &IdList) -> Result<String, String> {
        let end = items.last().map_or(colon, |last| last.span.end);
        let wanted: HashSet<&str> = list.iter().collect();
        let kept = items.iter().filter_map(Node::text).filter(|id| wanted.contains(id));
        // With another order or new entries, all of them are written again.
        let only_removed = kept.eq(list.iter());
        let mut text = String::new();
        let mut at = colon;
        for item in items {
            if only_removed && wanted.contains(item.text().unwrap_or_default()) {
                continue;
            }
            let line = line_start(self.text, item.span.start);
            text.push_str(self.text.get(at..line).ok_or("two entries of a list share a line")?);
            at = next_line(&self.text[..end], item.span.end);
        }
        text.push_str(&self.text[at..end]);
        let text = text.trim_end();
        if list.is_empty() {
            // `[]` stands behind the colon, before the comments that stay.
            return Ok(format!("{}{text}", self.fresh_list(list)));
        }
        Ok(if only_removed { text.to_owned() } else { format!("{text}{}", self.fresh_list(list)) })
    }

    /// Changes, adds, removes and moves single entries of a mapping of texts.
    fn text_map(&self, key: &Node, value: &Node, map: &[(String, String)]) -> Result<Vec<TextEdit>, String> {
        let colon = self.after_colon(key)?;
        let entries = value.entries();
        let in_flow = !value.span.is_empty() && self.text[value.span.start..].starts_with('{');
        match (&value.tree, entries) {
            (Tree::Null, _) => return Ok(vec![(colon..value.span.end.max(colon), self.fresh_map(map))]),
            (Tree::Mapping(_), []) => return Ok(vec![(colon..self.closing('}', value, None)?, self.fresh_map(map))]),
            (Tree::Mapping(_), [.., (_, last)]) if in_flow => {
                let end = self.closing('}', value, Some(last))?;
                return Ok(vec![(value.span.start..end, self.render(&Field::Map(map.to_vec())))]);
            }
            (Tree::Mapping(_), _) => {}
            _ => return Err(format!("the value on line {} is not a mapping", value.place.line)),
        }
        let inner = Target::new(self.text, value)?;
        // What was written step by step has to equal what is written at once, so entries that are out of order move.
        let kept = entries.iter().filter(|(name, _)| has_key(map, name));
        let stay = kept.zip(map).take_while(|((name, _), (key, _))| name.text() == Some(key)).count();
        let (stay, new) = map.split_at(stay);
        let mut edits = Vec::new();
        for (key, text) in stay {
            let Some((name, old)) = inner.entry(key) else { continue };
            if old.text() != Some(text) {
                edits.push(inner.scalar(name, old, &Field::Text(text.clone()))?);
            }
        }
        for (name, old) in entries {
            if !has_key(stay, name) {
                edits.extend(inner.without(name, old)?);
            }
        }
        let mut added = String::new();
        for (key, text) in new {
            added.push_str(&inner.new_entry(&inner.render_key(key), &Field::Text(text.clone())));
        }
        if !added.is_empty() {
            edits.push(inner.place_for(None, added));
        }
        Ok(edits)
    }

    /// A new mapping, for the place after its key's colon.
    fn fresh_map(&self, map: &[(String, String)]) -> String {
        if self.flow || map.is_empty() {
            return format!(" {}", self.render(&Field::Map(map.to_vec())));
        }
        let mut fresh = String::new();
        for (key, text) in map {
            let (key, text) = (self.render_key(key), self.render_text(text));
            fresh.push_str(&format!("{}{}  {key}: {text}", self.newline, self.indent));
        }
        fresh
    }

    /// Removes an entry with the lines of its value. Lines that only have a person's comment stay.
    fn without(&self, key: &Node, value: &Node) -> Result<Vec<TextEdit>, String> {
        if self.flow {
            let end = match &value.tree {
                Tree::Sequence(items) => self.closing(']', value, items.last())?,
                Tree::Mapping(entries) => self.closing('}', value, entries.last().map(|(_, last)| last))?,
                _ => value.span.end.max(self.after_colon(key)?),
            };
            return Ok(vec![(self.after_colon(key)?..end, " null".to_owned())]);
        }
        let mut lines = vec![key.span.clone()];
        lines_of(value, &mut lines);
        let mut edits: Vec<TextEdit> = Vec::new();
        for span in lines {
            let start = line_start(self.text, span.start);
            let end = next_line(self.text, span.end);
            match edits.last_mut() {
                // A key and its value are usually on one line.
                Some((last, _)) if start < last.end => last.end = last.end.max(end),
                _ => edits.push((start..end, String::new())),
            }
        }
        Ok(edits)
    }

    fn item(&self, indent: &str, id: &str) -> String {
        format!("{indent}- {}{}", self.render_text(id), self.newline)
    }

    /// A new list, for the place after its key's colon.
    fn fresh_list(&self, list: &IdList) -> String {
        if self.flow || list.is_empty() {
            return format!(" {}", self.render(&Field::List(list.clone())));
        }
        list.iter().map(|id| format!("{}{}  - {}", self.newline, self.indent, self.render_text(id))).collect()
    }

    /// The end of `[]`, of `null` or of a missing value.
    fn end_of_nothing(&self, value: &Node, colon: usize) -> Result<usize, String> {
        match &value.tree {
            Tree::Sequence(_) => self.closing(']', value, None),
            Tree::Null => Ok(value.span.end.max(colon)),
            _ => Err(format!("the value on line {} is not a list", value.place.line)),
        }
    }

    /// The end of a collection in brackets, behind its `last` item. The parser gives only its beginning.
    fn closing(&self, bracket: char, value: &Node, last: Option<&Node>) -> Result<usize, String> {
        let from = last.unwrap_or(value).span.end;
        let rest = &self.text[from..];
        let gap = rest.len() - rest.trim_start_matches([' ', ',', '\t', '\r', '\n']).len();
        if rest[gap..].starts_with(bracket) {
            return Ok(from + gap + 1);
        }
        Err(format!("the end of the value on line {} was not found", value.place.line))
    }

    fn new_entry(&self, key: &str, field: &Field) -> String {
        if self.flow {
            return format!("{key}: {}, ", self.render(field));
        }
        let value = match field {
            Field::List(list) => self.fresh_list(list),
            Field::Map(map) => self.fresh_map(map),
            field => format!(" {}", self.render(field)),
        };
        format!("{}{key}:{value}{}", self.indent, self.newline)
    }

    /// Adds new entries after `before` or the last entry if its end is known, otherwise before the first entry.
    fn place_for(&self, before: Option<&(Node, Node)>, entries: String) -> TextEdit {
        let first = self.mapping.entries()[0].0.span.start;
        if self.flow {
            return (first..first, entries);
        }
        if let Some((key, value)) = before.or(self.mapping.entries().last())
            && let Some(end) = self.end_of(key, value)
        {
            return self.behind_line(end, entries);
        }
        let line = line_start(self.text, first);
        (line..line, entries)
    }

    /// The end of an entry; `None` if the parser does not give it.
    fn end_of(&self, key: &Node, value: &Node) -> Option<usize> {
        match &value.tree {
            Tree::Sequence(_) | Tree::Mapping(_) if !value.span.is_empty() => None,
            Tree::Sequence(items) => self.end_of(key, items.last()?),
            Tree::Mapping(entries) => {
                let (key, value) = entries.last()?;
                self.end_of(key, value)
            }
            _ => Some(value.span.end.max(key.span.end)),
        }
    }

    /// Inserts whole lines after the line with the byte before `end`.
    fn behind_line(&self, end: usize, lines: String) -> TextEdit {
        if end > 0 && self.text[..end].ends_with('\n') {
            return (end..end, lines);
        }
        let at = next_line(self.text, end);
        if self.text[..at].ends_with('\n') {
            return (at..at, lines);
        }
        // The file ends without a line break, and stays so.
        (at..at, format!("{}{}", self.newline, lines.trim_end_matches(['\r', '\n'])))
    }
}

/// Whether `map` has this key.
fn has_key(map: &[(String, String)], name: &Node) -> bool {
    map.iter().any(|(key, _)| name.text() == Some(key))
}

/// The spans of a value's single values, and of the keys before them.
fn lines_of(value: &Node, lines: &mut Vec<Range<usize>>) {
    match &value.tree {
        Tree::Sequence(items) => {
            for item in items {
                lines_of(item, lines);
            }
        }
        Tree::Mapping(entries) => {
            for (key, value) in entries {
                lines.push(key.span.clone());
                lines_of(value, lines);
            }
        }
        _ => lines.push(value.span.clone()),
    }
}
