//! Reading `run.yaml` cheaply: without the parser when the text is plain, and with its long list cut out.

use std::ops::Range;

use crate::codec::run_text::RunTextError;
use crate::codec::splice::{Field, splice};
use crate::codec::yaml::{Node, Tree, YamlError, parse};
use crate::codec::{Violation, plain};
use crate::model::{ActivityId, IdList};

/// A list of activity ids; absent and null are empty.
pub(super) fn id_list(node: Option<&Node>) -> Result<IdList, String> {
    let items = match node.map(|node| &node.tree) {
        None | Some(Tree::Null) => return Ok(IdList::default()),
        Some(Tree::Sequence(items)) => items,
        Some(_) => return Err("must be a list of activity ids".to_owned()),
    };
    let texts = items.iter().map(|item| item.text().filter(|text| ActivityId::new(*text).is_ok()));
    texts.collect::<Option<IdList>>().ok_or_else(|| "has an entry that is not an activity id".to_owned())
}

/// What `text` says and where, by the cheap reader where it can.
fn nodes(text: &str) -> Result<Node, YamlError> {
    let Some(plain) = plain::read(text).map(|plain| plain.to_node()) else { return parse(text) };
    debug_assert_eq!(Some(plain.to_value()), parse(text).ok().map(|root| root.to_value()), "{text}");
    Ok(plain)
}

/// The list item that stands for lines that were cut out. The dot keeps it apart from every activity id.
const MARKER: &str = "flow.elided";
/// Shorter lists are parsed as they are.
const ELIDE_FROM: usize = 64;

/// A run text read with its long list of completed activities cut out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// The text that the parser saw.
    pub(super) text: String,
    /// What the parser made of it.
    pub(super) root: Node,
    /// All of `state.completed_activities`.
    pub(super) completed: IdList,
    /// The lines that were cut out, as bytes of the whole text.
    pub(super) elided: Option<Range<usize>>,
}

impl Reading {
    pub(super) fn read(text: &str) -> Result<Self, RunTextError> {
        match Self::cut(text) {
            Some(read) => Ok(read),
            None => Self::whole(text),
        }
    }

    /// Reads without cutting.
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

    /// Reads with a cut, when there is a long run of list lines and it turns out to be the right list. Whatever looks
    /// unusual is left to [`Self::whole`].
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
        // The neighbours of the marker are the first and the last of the plain lines.
        let (before, after) = (ids.get(..marker.checked_sub(1)?)?, ids.get(marker + 2..)?);
        let plain = IdList::from_lines(lines.ids, lines.len);
        let mut completed =
            if before.is_empty() { plain } else { before.iter().copied().chain(plain.iter()).collect() };
        after.iter().for_each(|id| completed.push(id));
        Some(Self { text: reduced, root, completed, elided: Some(block) })
    }

    /// How many entries of the list stand before the lines that were cut out; none without a cut.
    pub(super) fn entries_before_cut(&self) -> Option<usize> {
        self.elided.as_ref()?;
        self.items().iter().position(|item| item.text() == Some(MARKER))
    }

    /// Where the line behind an entry of the list begins, when the text was read without a cut.
    pub(super) fn end_of_entry(&self, at: usize) -> Option<usize> {
        let end = self.items().get(at).filter(|_| self.elided.is_none())?.span.end;
        Some(end + self.text[end..].find('\n')? + 1)
    }

    fn items(&self) -> &[Node] {
        let list = self.root.get("state").and_then(|state| state.get("completed_activities"));
        list.map_or(&[], Node::items)
    }

    /// The `whole` text that was read, with these fields in its `state`.
    pub(super) fn edit(
        &self,
        whole: &str,
        fields: Vec<(&'static str, Field)>,
        ordered: &[&str],
    ) -> Result<String, String> {
        let state = self.root.get("state").ok_or("`state` is missing")?;
        let mut changes = Vec::new();
        for (key, field) in fields {
            let field = match field {
                // What the parser did not see stays out of the comparison too.
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
        self.put_back(whole, edited)
    }

    /// The list with the marker in the place of the lines that were cut out. With a cut, `list` begins with all that
    /// was read.
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
        // The reading accepted the text, so one whole line is the marker; a reason may contain its characters.
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

/// Whether `new` says what `old` says, apart from these `changes` in its `state`.
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

/// A long run of plain lines in the list of completed activities. Lines that are not plain may come before and after it.
fn long_list(text: &str) -> Option<PlainLines> {
    let key = "completed_activities:";
    let mut at = text.find(key)? + key.len();
    at += text[at..].find('\n')? + 1;
    for _ in 0..ELIDE_FROM {
        let run = PlainLines::at(text, at);
        if run.len >= ELIDE_FROM {
            return Some(run);
        }
        // The first line behind the run is not plain.
        at = run.end + text[run.end..].find('\n')? + 1;
    }
    None
}

/// Lines `- id` of the same indentation that follow each other.
struct PlainLines {
    /// The ids, a line each.
    ids: String,
    /// How many there are.
    len: usize,
    /// Where the second line starts in the text.
    second: usize,
    /// Where the last line starts in the text.
    last: usize,
    /// The end of the last line.
    end: usize,
}

impl PlainLines {
    fn at(text: &str, start: usize) -> Self {
        let mut lines = Self { ids: String::new(), len: 0, second: start, last: start, end: start };
        let first = text[start..].split_inclusive('\n').next().unwrap_or_default();
        let Some((indent, _)) = plain_item(first.trim_end_matches('\n')) else { return lines };
        let prefix = &text[start..start + indent + 2];
        // One allocation: a list that grows by doubling would be copied again and again.
        lines.ids.reserve(text.len() - start);
        while text[lines.end..].starts_with(prefix) {
            let id = lines.end + prefix.len();
            let Some(len) = text.as_bytes()[id..].iter().position(|byte| !is_id_byte(*byte)) else { break };
            if text.as_bytes()[id + len] == b'\n' && is_plain_word(&text[id..id + len]) {
                lines.ids.push_str(&text[id..=id + len]);
                lines.end_at(id + len + 1);
                continue;
            }
            // Quoted, or not plain at all.
            let Some(newline) = text[id..].find('\n') else { break };
            let Some((_, word)) = plain_item(&text[lines.end..id + newline]) else { break };
            lines.ids.push_str(word);
            lines.ids.push('\n');
            lines.end_at(id + newline + 1);
        }
        lines
    }

    /// One more line, which ends there.
    fn end_at(&mut self, end: usize) {
        if self.len == 1 {
            self.second = self.end;
        }
        self.last = self.end;
        self.len += 1;
        self.end = end;
    }

    /// The bytes of the text without the first and the last line.
    fn inner(&self) -> Range<usize> {
        self.second..self.last
    }
}

fn is_id_byte(byte: u8) -> bool {
    ID_BYTES[usize::from(byte)]
}

/// Lower-case letters, digits, `-` and `_`; a table, since ten thousand ids have a hundred thousand bytes.
const ID_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        byte += 1;
    }
    table
};

/// Whether every YAML version reads an unquoted id as this text: what they take for a number, a date, a boolean or null
/// begins otherwise or is one of the special words.
fn is_plain_word(id: &str) -> bool {
    id.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && !plain::is_special(id)
}

/// The indentation and the id of a line `- id` whose YAML value is that id, whatever YAML version reads it.
fn plain_item(line: &str) -> Option<(usize, &str)> {
    let indent = line.bytes().take_while(|&byte| byte == b' ').count();
    let item = line[indent..].strip_prefix("- ")?;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(is_id_byte);
    if let Some(quoted) = item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (is_id(quoted) && ActivityId::new(quoted).is_ok()).then_some((indent, quoted));
    }
    (is_id(item) && is_plain_word(item)).then_some((indent, item))
}
