//! Reads `run.yaml` quickly: without the parser if the text is plain, and without most lines of a long list.

use std::ops::Range;

use crate::codec::run_document::id_list;
use crate::codec::run_error::RunTextError;
use crate::codec::splice::{Field, splice};
use crate::codec::yaml::{Node, Tree, YamlError, parse};
use crate::codec::{Violation, plain};
use crate::model::{ActivityId, IdList};

/// The nodes of `text`, from the plain reader if it accepts the text.
fn nodes(text: &str) -> Result<Node, YamlError> {
    let Some(plain) = plain::read(text).map(|plain| plain.to_node()) else { return parse(text) };
    debug_assert_eq!(Some(plain.to_value()), parse(text).ok().map(|root| root.to_value()), "{text}");
    Ok(plain)
}

/// The list item that replaces the lines that were cut out. Because of its dot it cannot be an activity id.
const MARKER: &str = "flow.elided";
/// Lists with fewer plain lines are not cut.
pub(super) const ELIDE_FROM: usize = 64;

/// A `run.yaml`, read with most of its long list of completed activities cut out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// The text that was parsed.
    pub(super) text: String,
    /// The nodes of that text.
    pub(super) root: Node,
    /// All of `state.completed_activities`.
    pub(super) completed: IdList,
    /// The lines that were cut out, as a range of bytes in the whole text.
    pub(super) elided: Option<Range<usize>>,
}

impl Reading {
    pub(super) fn read(text: &str) -> Result<Self, RunTextError> {
        match Self::cut(text) {
            Some(read) => Ok(read),
            None => Self::whole(text),
        }
    }

    /// Reads without a cut.
    pub(super) fn whole(text: &str) -> Result<Self, RunTextError> {
        let root = nodes(text)?;
        let pointer = "/state/completed_activities";
        let list = root.get("state").and_then(|state| state.get("completed_activities"));
        let completed = id_list(list).map_err(|message| {
            let place = Some(root.nearest(pointer).place);
            let message = format!("completed_activities {message}");
            RunTextError::Document(Violation { pointer: pointer.to_owned(), message, place })
        })?;
        Ok(Self { text: text.to_owned(), root, completed, elided: None })
    }

    /// Reads with a cut, if there are many plain list lines and they belong to the right list. `None` for anything
    /// unusual, which [`Self::whole`] reads.
    fn cut(text: &str) -> Option<Self> {
        let lines = long_list(text)?;
        let block = lines.inner();
        let indent = &text[block.start..block.start + text[block.start..].find('-')?];
        let reduced = format!("{}{indent}- {MARKER}\n{}", &text[..block.start], &text[block.end..]);
        if reduced.matches(MARKER).count() != 1 {
            return None;
        }
        let root = nodes(&reduced).ok()?;
        let items = root.get("state")?.get("completed_activities")?.items();
        let ids = items.iter().map(|item| item.text().filter(|id| *id == MARKER || ActivityId::new(*id).is_ok()));
        let ids: Vec<&str> = ids.collect::<Option<_>>()?;
        let marker = ids.iter().position(|id| *id == MARKER)?;
        // The items next to the marker are the first and the last plain line.
        let (before, after) = (ids.get(..marker.checked_sub(1)?)?, ids.get(marker + 2..)?);
        let plain = IdList::from_lines(lines.ids, lines.len);
        let mut completed =
            if before.is_empty() { plain } else { before.iter().copied().chain(plain.iter()).collect() };
        after.iter().for_each(|id| completed.push(id));
        Some(Self { text: reduced, root, completed, elided: Some(block) })
    }

    /// How many entries of the list are before the lines that were cut out; `None` without a cut.
    pub(super) fn entries_before_cut(&self) -> Option<usize> {
        self.elided.as_ref()?;
        self.items().iter().position(|item| item.text() == Some(MARKER))
    }

    /// The offset after the line of an entry of the list; `None` if lines were cut out.
    pub(super) fn end_of_entry(&self, at: usize) -> Option<usize> {
        let end = self.items().get(at).filter(|_| self.elided.is_none())?.span.end;
        Some(end + self.text[end..].find('\n')? + 1)
    }

    fn items(&self) -> &[Node] {
        let list = self.root.get("state").and_then(|state| state.get("completed_activities"));
        list.map_or(&[], Node::items)
    }

    /// Returns `whole`, the text that was read, with these fields in its `state`; and how it was read back, if no lines were
    /// cut out.
    pub(super) fn edit(
        &self,
        whole: &str,
        fields: Vec<(&'static str, Field)>,
        ordered: &[&str],
    ) -> Result<(String, Option<Self>), String> {
        let state = self.root.get("state").ok_or("`state` is missing")?;
        let mut changes = Vec::new();
        for (key, field) in fields {
            let field = match field {
                // Compare with what was parsed, without the lines that were cut out.
                Field::List(list) if key == "completed_activities" => Field::List(self.as_parsed(&list)),
                field => field,
            };
            let said = state.get(key);
            let says_so = match said {
                Some(value) => field.is_said_by(value) || value.tree == Tree::Null && field.is_nothing(),
                None => field.is_nothing(),
            };
            if !says_so {
                changes.push((key, field));
            }
        }
        let edited = splice(&self.text, state, &changes, ordered)?;
        let reads = nodes(&edited).map_err(|error| error.to_string())?;
        if !is_changed(&self.root, &reads, &changes) {
            return Err("reading the changed text back gives something else".to_owned());
        }
        if self.elided.is_some() {
            return Ok((self.put_back(whole, edited)?, None));
        }
        let list = reads.get("state").and_then(|state| state.get("completed_activities"));
        let completed = id_list(list)?;
        let read = Self { text: edited.clone(), root: reads, completed, elided: None };
        Ok((edited, Some(read)))
    }

    /// The list with the marker in place of the lines that were cut out. If lines were cut out, `list` must begin with
    /// the whole list that was read.
    fn as_parsed(&self, list: &IdList) -> IdList {
        if self.elided.is_none() {
            return list.clone();
        }
        let items = self.root.get("state").and_then(|state| state.get("completed_activities"));
        let seen = items.into_iter().flat_map(Node::items).filter_map(Node::text);
        seen.chain(list.after(&self.completed).into_iter().flatten()).collect()
    }

    fn put_back(&self, whole: &str, edited: String) -> Result<String, String> {
        let Some(block) = &self.elided else { return Ok(edited) };
        // The marker is one whole line of the text that was accepted. Other values, such as a reason, may contain its
        // characters.
        let mut lines = edited.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        });
        let marker = format!("- {MARKER}");
        let (start, line) =
            lines.find(|(_, line)| line.trim() == marker).ok_or("the list of activities was not found again")?;
        let end = start + line.len();
        Ok([&edited[..start], &whole[block.clone()], &edited[end..]].concat())
    }
}

/// Whether `new` has the values of `old`, except for these `changes` in its `state`.
fn is_changed(old: &Node, new: &Node, changes: &[(&str, Field)]) -> bool {
    let (old, new) = (old.entries(), new.entries());
    let is_state = |key: &Node| key.text() == Some("state");
    let same = |((key, old), (new_key, new)): (&(Node, Node), &(Node, Node))| {
        key.same_value(new_key) && if is_state(key) { is_changed_state(old, new, changes) } else { old.same_value(new) }
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
}

fn is_changed_state(old: &Node, new: &Node, changes: &[(&str, Field)]) -> bool {
    let change = |key: &Node| changes.iter().find(|(changed, _)| key.text() == Some(*changed)).map(|(_, field)| field);
    let is_added = |key: &Node| change(key).is_some() && key.text().and_then(|key| old.get(key)).is_none();
    let (added, kept): (Vec<_>, Vec<_>) = new.entries().iter().partition(|(key, _)| is_added(key));
    let missing = changes.iter().filter(|(key, _)| old.get(key).is_none()).count();
    let is_gone =
        |key: &Node| matches!(change(key), Some(Field::Absent)) && key.text().is_some_and(|key| new.get(key).is_none());
    let stays: Vec<_> = old.entries().iter().filter(|(key, _)| !is_gone(key)).collect();
    let is_said = |key: &Node, value: &Node| change(key).is_some_and(|field| field.is_said_by(value));
    added.len() == missing
        && added.iter().all(|(key, value)| is_said(key, value))
        && kept.len() == stays.len()
        && stays.into_iter().zip(kept).all(|((key, before), (new_key, value))| {
            key.same_value(new_key) && (is_said(key, value) || change(key).is_none() && before.same_value(value))
        })
}

/// Many consecutive plain lines in the list of completed activities. Lines that are not plain may be before and after
/// them.
fn long_list(text: &str) -> Option<PlainLines> {
    let key = "completed_activities:";
    let mut at = text.find(key)? + key.len();
    at += text[at..].find('\n')? + 1;
    for _ in 0..ELIDE_FROM {
        let run = PlainLines::at(text, at);
        if run.len >= ELIDE_FROM {
            return Some(run);
        }
        // The line after these is not plain, so continue after it.
        at = run.end + text[run.end..].find('\n')? + 1;
    }
    None
}

/// Consecutive lines `- id` with the same indentation.
struct PlainLines {
    /// The ids, one per line.
    ids: String,
    /// The number of lines.
    len: usize,
    /// The offset of the second line in the text.
    second: usize,
    /// The offset of the last line in the text.
    last: usize,
    /// The offset of the end of the last line.
    end: usize,
}

impl PlainLines {
    fn at(text: &str, start: usize) -> Self {
        let mut lines = Self { ids: String::new(), len: 0, second: start, last: start, end: start };
        let first = text[start..].split_inclusive('\n').next().unwrap_or_default();
        let Some((indent, _)) = plain_item(first.trim_end_matches('\n')) else { return lines };
        let prefix = &text[start..start + indent + 2];
        // One allocation, instead of copying a growing text again and again.
        lines.ids.reserve(text.len() - start);
        while text[lines.end..].starts_with(prefix) {
            let id = lines.end + prefix.len();
            let Some(len) = text.as_bytes()[id..].iter().position(|byte| !is_id_byte(*byte)) else { break };
            if text.as_bytes()[id + len] == b'\n' && is_plain_word(&text[id..id + len]) {
                lines.ids.push_str(&text[id..=id + len]);
                lines.end_at(id + len + 1);
                continue;
            }
            // The item is quoted, or not plain.
            let Some(newline) = text[id..].find('\n') else { break };
            let Some((_, word)) = plain_item(&text[lines.end..id + newline]) else { break };
            lines.ids.push_str(word);
            lines.ids.push('\n');
            lines.end_at(id + newline + 1);
        }
        lines
    }

    /// Adds a line that ends at `end`.
    fn end_at(&mut self, end: usize) {
        if self.len == 1 {
            self.second = self.end;
        }
        self.last = self.end;
        self.len += 1;
        self.end = end;
    }

    /// The range of all lines but the first and the last.
    fn inner(&self) -> Range<usize> {
        self.second..self.last
    }
}

fn is_id_byte(byte: u8) -> bool {
    ID_BYTES[usize::from(byte)]
}

/// Lower-case letters, digits, `-` and `_`. A table, because ten thousand ids have a hundred thousand bytes.
const ID_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        byte += 1;
    }
    table
};

/// Whether every YAML version reads an unquoted id as a text: numbers, dates, booleans and null begin with other
/// characters or are special words.
fn is_plain_word(id: &str) -> bool {
    id.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && !plain::is_special(id)
}

/// The indentation and the id of a line `- id` that every YAML version reads as this id.
fn plain_item(line: &str) -> Option<(usize, &str)> {
    let indent = line.bytes().take_while(|&byte| byte == b' ').count();
    let item = line[indent..].strip_prefix("- ")?;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(is_id_byte);
    if let Some(quoted) = item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (is_id(quoted) && ActivityId::new(quoted).is_ok()).then_some((indent, quoted));
    }
    (is_id(item) && is_plain_word(item)).then_some((indent, item))
}
