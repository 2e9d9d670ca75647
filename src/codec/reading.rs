//! Reads `run.yaml` quickly: without the parser if the text is plain, and without most lines of a long list.

use std::ops::Range;

use crate::codec::run_document::id_list;
use crate::codec::run_error::RunTextError;
use crate::codec::splice::{Field, splice};
use crate::codec::yaml::{Node, Tree, YamlError, parse_run};
use crate::codec::{Violation, plain};
use crate::model::{ActivityId, IdList};

/// The nodes of `text`, from the plain reader if it accepts the text.
fn nodes(text: &str) -> Result<Node, YamlError> {
    let Some(plain) = plain::read(text) else { return parse_run(text) };
    let root = plain.to_node();
    debug_assert_eq!(Ok(root.to_value()), parse_run(text).map(|root| root.to_value()), "{text}");
    Ok(root)
}

fn completed_activities(root: &Node) -> Option<&Node> {
    root.get("state")?.get("completed_activities")
}

/// The list item that replaces the lines that were cut out. Because of its dot it cannot be an activity id.
const MARKER: &str = "flow.elided";
/// Lists with fewer plain lines are not cut.
pub(super) const ELIDE_FROM: usize = 16;

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
        let completed = id_list(completed_activities(&root)).map_err(|message| {
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
        // All lines but the first and the last.
        let block = lines.second..lines.last;
        let indent = &text[block.start..block.start + text[block.start..].find('-')?];
        let reduced = format!("{}{indent}- {MARKER}\n{}", &text[..block.start], &text[block.end..]);
        // Another one would be a person's text.
        if reduced.matches(MARKER).count() != 1 {
            return None;
        }
        let root = nodes(&reduced).ok()?;
        let items = completed_activities(&root)?.items();
        let mut ids = Vec::with_capacity(items.len());
        for item in items {
            let id = item.text()?;
            if id != MARKER && ActivityId::new(id).is_err() {
                return None;
            }
            ids.push(id);
        }
        let marker = ids.iter().position(|id| *id == MARKER)?;
        // The items next to the marker are the first and the last plain line.
        let (before, after) = (ids.get(..marker.checked_sub(1)?)?, ids.get(marker + 2..)?);
        let plain = IdList::from_lines(lines.ids, lines.len);
        // Nearly always the plain lines are the beginning of the list. Then they are not copied.
        let mut completed =
            if before.is_empty() { plain } else { before.iter().copied().chain(plain.iter()).collect() };
        for id in after {
            completed.push(id);
        }
        Some(Self { text: reduced, root, completed, elided: Some(block) })
    }

    /// How many entries of the list are before the lines that were cut out; `None` without a cut.
    pub(super) fn entries_before_cut(&self) -> Option<usize> {
        self.elided.as_ref()?;
        self.items().iter().position(|item| item.text() == Some(MARKER))
    }

    /// The offset after the line of an entry of the list; `None` if lines were cut out.
    pub(super) fn end_of_entry(&self, at: usize) -> Option<usize> {
        if self.elided.is_some() {
            return None;
        }
        let end = self.items().get(at)?.span.end;
        Some(end + self.text[end..].find('\n')? + 1)
    }

    fn items(&self) -> &[Node] {
        completed_activities(&self.root).map_or(&[], Node::items)
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
            let is_there = match state.get(key) {
                Some(value) => field.is_value_of(value) || value.tree == Tree::Null && field.may_be_absent(),
                None => field.may_be_absent(),
            };
            // What is there already keeps the way a person wrote it.
            if !is_there {
                changes.push((key, field));
            }
        }
        let edited = splice(&self.text, state, &changes, ordered)?;
        // `splice` is right for what people write, not for every text. This is what keeps a file from damage.
        let reads = nodes(&edited).map_err(|error| error.to_string())?;
        if !is_changed(&self.root, &reads, &changes) {
            return Err("reading the changed text back gives something else".to_owned());
        }
        if self.elided.is_some() {
            return Ok((self.put_back(whole, edited)?, None));
        }
        let completed = id_list(completed_activities(&reads))?;
        let read = Self { text: edited.clone(), root: reads, completed, elided: None };
        Ok((edited, Some(read)))
    }

    /// The list with the marker in place of the lines that were cut out. If lines were cut out, `list` must begin with
    /// the whole list that was read.
    fn as_parsed(&self, list: &IdList) -> IdList {
        if self.elided.is_none() {
            return list.clone();
        }
        let parsed = self.items().iter().filter_map(Node::text);
        parsed.chain(list.after(&self.completed).into_iter().flatten()).collect()
    }

    fn put_back(&self, whole: &str, edited: String) -> Result<String, String> {
        let Some(block) = &self.elided else { return Ok(edited) };
        // The marker is one whole line of the text that was accepted. Other values, such as a reason, may contain its
        // characters.
        let marker = format!("- {MARKER}");
        let mut start = 0;
        for line in edited.split_inclusive('\n') {
            let end = start + line.len();
            if line.trim() == marker {
                return Ok([&edited[..start], &whole[block.clone()], &edited[end..]].concat());
            }
            start = end;
        }
        Err("the list of activities was not found again".to_owned())
    }
}

/// Whether `new` has the values of `old`, except for these `changes` in its `state`.
fn is_changed(old: &Node, new: &Node, changes: &[(&str, Field)]) -> bool {
    let (old, new) = (old.entries(), new.entries());
    for ((key, old), (new_key, new)) in old.iter().zip(new) {
        let is_state = key.text() == Some("state");
        let is_right = if is_state { is_changed_state(old, new, changes) } else { old.same_value(new) };
        if !is_right || !key.same_value(new_key) {
            return false;
        }
    }
    old.len() == new.len()
}

fn is_changed_state(old: &Node, new: &Node, changes: &[(&str, Field)]) -> bool {
    let missing = changes.iter().filter(|(key, _)| old.get(key).is_none()).count();
    let mut added = 0;
    let mut stays = old.entries().iter().filter(|(key, _)| {
        let may_go = matches!(change_of(key, changes), Some(Field::Absent));
        !may_go || new.get(key.text().unwrap_or_default()).is_some()
    });
    for (key, value) in new.entries() {
        let change = change_of(key, changes);
        if change.is_some() && old.get(key.text().unwrap_or_default()).is_none() {
            // An added entry may stand anywhere, so it has none to be compared with.
            added += 1;
        } else {
            // The others stand in the same order as before.
            let Some((old_key, before)) = stays.next() else { return false };
            if !old_key.same_value(key) || change.is_none() && !before.same_value(value) {
                return false;
            }
        }
        if let Some(field) = change
            && !field.is_value_of(value)
        {
            return false;
        }
    }
    added == missing && stays.next().is_none()
}

fn change_of<'c>(key: &Node, changes: &'c [(&str, Field)]) -> Option<&'c Field> {
    let (_, field) = changes.iter().find(|(changed, _)| key.text() == Some(*changed))?;
    Some(field)
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
        let bytes = text.as_bytes();
        while bytes[lines.end..].starts_with(prefix.as_bytes()) {
            let id = lines.end + prefix.len();
            let Some(len) = bytes[id..].iter().position(|byte| !is_id_byte(*byte)) else { break };
            if bytes[id + len] == b'\n' && is_plain_word(&text[id..id + len]) {
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
    let quoted = item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let id = quoted.unwrap_or(item);
    if id.is_empty() || !id.bytes().all(is_id_byte) {
        return None;
    }
    // In quotation marks a number is a text, too.
    let is_text = if quoted.is_some() { ActivityId::new(id).is_ok() } else { is_plain_word(id) };
    is_text.then_some((indent, id))
}
