//! A fast reader for plain YAML: block mappings and lists of single values, as flow itself writes `run.yaml`.
//!
//! Listing ten thousand runs must not cost ten thousand full parses. For every text that this reader accepts, the real
//! parser gives the same values at the same places (property tests compare them). For any other text it returns `None`,
//! and the caller uses the real parser.

use std::ops::Range;

use crate::codec::Place;
use crate::codec::yaml::{Node, Tree};

/// Reads `text`; `None` if any part of it is not plain.
pub(super) fn read(text: &str) -> Option<Plain<'_>> {
    let mut reader = Reader {
        entries: Vec::with_capacity(USUAL_ENTRIES),
        rest: is_usual(text).then_some(text)?,
        start: 0,
        number: 0,
        line: None,
        strange: false,
    };
    reader.advance();
    reader.mapping(0, 0)?;
    (reader.line.is_none() && !reader.strange).then_some(Plain { entries: reader.entries })
}

/// Whether `text` has only line feeds and printable characters, without those that some YAML version takes for a line
/// break or a mark.
fn is_usual(text: &str) -> bool {
    // Without an early exit the compiler vectorises this.
    let printable = text.bytes().fold(true, |all, byte| all & ((byte >= b' ') & (byte != 0x7f) | (byte == b'\n')));
    printable && (text.is_ascii() || !text.contains(is_strange))
}

fn is_strange(c: char) -> bool {
    let is_mark = matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !c.is_ascii() && (c.is_control() || c.is_whitespace() || is_mark)
}

/// A plain document: entries in the order of the text, each followed by its children. A whole `run.yaml` takes one
/// allocation.
pub(super) struct Plain<'a> {
    entries: Vec<PlainEntry<'a>>,
}

/// The entries of one mapping or list, with their children.
#[derive(Clone, Copy)]
pub(super) struct Entries<'p, 'a> {
    entries: &'p [PlainEntry<'a>],
    depth: usize,
}

/// An entry of a mapping, or an item of a list.
struct PlainEntry<'a> {
    /// The number of enclosing entries.
    depth: usize,
    /// Empty for an item of a list.
    key: &'a str,
    value: Value<'a>,
    /// The line of the key or the dash.
    line: PlainLine<'a>,
    /// The value's bytes in the content of that line.
    at: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(u64),
    Text(&'a str),
    /// A mapping: the entries that follow this one. The first line of its entries.
    Mapping(PlainLine<'a>),
    /// A list: the items that follow this one. The first line of its items; `None` if it is empty.
    List(Option<PlainLine<'a>>),
}

impl<'a> Plain<'a> {
    /// The top-level entries.
    pub(super) fn entries(&self) -> Entries<'_, 'a> {
        Entries { entries: &self.entries, depth: 0 }
    }

    /// Converts to the tree that the parser would give.
    pub(super) fn to_node(&self) -> Node {
        let entries = self.entries();
        let first = &entries.entries[0].line;
        first.node(Tree::Mapping(entries.to_nodes()), 0..0)
    }
}

impl<'p, 'a> Entries<'p, 'a> {
    fn below(&self, at: usize) -> Self {
        let rest = &self.entries[at + 1..];
        let len = rest.iter().position(|entry| entry.depth <= self.depth).unwrap_or(rest.len());
        Self { entries: &rest[..len], depth: self.depth + 1 }
    }

    fn to_nodes(self) -> Vec<(Node, Node)> {
        let mut nodes = Vec::new();
        let mut at = 0;
        while let Some(entry) = self.entries.get(at) {
            let below = self.below(at);
            let key = entry.line.node(Tree::Text(entry.key.into()), 0..entry.key.len());
            nodes.push((key, entry.to_node(below)));
            at += 1 + below.entries.len();
        }
        nodes
    }
}

impl PlainEntry<'_> {
    fn to_node(&self, below: Entries<'_, '_>) -> Node {
        let tree = match self.value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(value),
            Value::Number(number) => Tree::Number(number.into()),
            Value::Text(text) => Tree::Text(text.into()),
            // The parser gives the span of a flow collection as its opening bracket.
            Value::List(None) => Tree::Sequence(Vec::new()),
            Value::List(Some(first)) => {
                let items = below.to_nodes().into_iter().map(|(_, item)| item).collect();
                return first.node(Tree::Sequence(items), 0..0);
            }
            Value::Mapping(first) => return first.node(Tree::Mapping(below.to_nodes()), 0..0),
        };
        self.line.node(tree, self.at.clone())
    }
}

/// A line that is neither empty nor a comment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlainLine<'a> {
    indent: usize,
    content: &'a str,
    /// The offset of the content in the text.
    start: usize,
    number: usize,
}

impl PlainLine<'_> {
    /// A node at these bytes of the line's content.
    fn node(&self, tree: Tree, bytes: Range<usize>) -> Node {
        // Before it are only indentation, a dash and a key, all ASCII, so bytes are columns.
        let place = Place { line: self.number, column: self.indent + bytes.start + 1 };
        Node { tree, place, span: self.start + bytes.start..self.start + bytes.end }
    }
}

/// Reads a text line by line.
struct Reader<'a> {
    /// The entries read so far.
    entries: Vec<PlainEntry<'a>>,
    /// The text after the current line.
    rest: &'a str,
    /// The offset of `rest` in the text.
    start: usize,
    /// How many lines are before `rest`.
    number: usize,
    /// The next line to read; `None` at the end.
    line: Option<PlainLine<'a>>,
    /// Whether reading ended at a line that is not plain.
    strange: bool,
}

/// The largest indentation of a plain document.
const DEEPEST: usize = 16;
/// The initial capacity; enough for the files that flow writes.
const USUAL_ENTRIES: usize = 48;
/// The largest number of entries in a plain mapping.
const ENTRIES: usize = 128;

impl<'a> Reader<'a> {
    fn advance(&mut self) {
        self.line = None;
        while !self.rest.is_empty() {
            let end = self.rest.bytes().position(|byte| byte == b'\n').unwrap_or(self.rest.len());
            let indent = self.rest.bytes().take_while(|&byte| byte == b' ').count().min(end);
            let content = &self.rest[indent..end];
            let start = self.start + indent;
            let whole = (end + 1).min(self.rest.len());
            self.rest = &self.rest[whole..];
            self.start += whole;
            self.number += 1;
            // The parser leaves blanks at the end of a line out of a value; this reader would not.
            if content.ends_with(' ') {
                self.rest = "";
                self.strange = true;
            } else if !content.is_empty() && !content.starts_with('#') {
                self.line = Some(PlainLine { indent, content, start, number: self.number });
                return;
            }
        }
    }

    /// Reads a mapping whose keys are indented by `indent`.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<()> {
        if indent > DEEPEST {
            return None;
        }
        let begin = self.entries.len();
        let mut count = 0;
        while let Some(line) = self.line.filter(|line| line.indent == indent && !line.content.starts_with('-')) {
            self.advance();
            count += 1;
            let key_ends = line.content.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')?;
            let (key, rest) = line.content.split_at(key_ends);
            let is_repeated = self.entries[begin..].iter().any(|entry| entry.depth == depth && entry.key == key);
            // The search for a repeated key takes quadratic time, hence the limit.
            if !is_text(key) || is_repeated || count > ENTRIES {
                return None;
            }
            match rest.strip_prefix(": ") {
                Some(value) => self.single(line, depth, key, key_ends + 2, value)?,
                None if rest == ":" => self.nested(line, depth, key)?,
                None => return None,
            }
        }
        (count > 0).then_some(())
    }

    /// Reads the value of a key from the lines below it.
    fn nested(&mut self, of: PlainLine<'a>, depth: usize, key: &'a str) -> Option<()> {
        // `key:` alone is null. That is rare, so leave it to the real parser.
        let first = self.line?;
        // The dashes of a list may stand below the key itself, the keys of a mapping may not.
        let is_list = first.content.starts_with("- ") && first.indent >= of.indent;
        let value = if is_list { Value::List(Some(first)) } else { Value::Mapping(first) };
        self.entries.push(PlainEntry { depth, key, value, line: of, at: 0..0 });
        if is_list {
            self.list(first, depth + 1)
        } else if first.indent > of.indent {
            self.mapping(first.indent, depth + 1)
        } else {
            None
        }
    }

    fn list(&mut self, first: PlainLine<'a>, depth: usize) -> Option<()> {
        while let Some(line) = self.line.filter(|line| line.indent == first.indent) {
            let Some(item) = line.content.strip_prefix("- ") else { break };
            if item.contains(": ") && !item.starts_with('"') {
                // A mapping begins after the dash: its keys are indented two columns more.
                let indent = line.indent + 2;
                let begin = PlainLine { indent, content: item, start: line.start + 2, number: line.number };
                self.entries.push(PlainEntry { depth, key: "", value: Value::Mapping(begin), line, at: 0..0 });
                self.line = Some(begin);
                self.mapping(indent, depth + 1)?;
            } else {
                self.advance();
                self.single(line, depth, "", 2, item)?;
            }
        }
        Some(())
    }

    /// Reads a value that is the rest of a line, from `at` on.
    fn single(&mut self, line: PlainLine<'a>, depth: usize, key: &'a str, at: usize, text: &'a str) -> Option<()> {
        let mut end = at + text.len();
        let value = match text {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "[]" => {
                end = at + 1;
                Value::List(None)
            }
            _ => unnamed(text)?,
        };
        self.entries.push(PlainEntry { depth, key, value, line, at: at..end });
        Some(())
    }
}

fn unnamed(text: &str) -> Option<Value<'_>> {
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"')?;
        return (!inner.contains(['"', '\\'])).then_some(Value::Text(inner));
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    // A leading zero means octal to some readers, and 19 digits may be too many for a number.
    if is_number && (1..=18).contains(&text.len()) && (text == "0" || !text.starts_with('0')) {
        return Some(Value::Number(text.parse().ok()?));
    }
    is_text(text).then_some(Value::Text(text))
}

/// Whether every YAML version reads these characters as a text.
fn is_text(text: &str) -> bool {
    // `: `, ` #`, and the commas and brackets of flow collections were excluded before or are not in the table.
    if !text.bytes().all(|byte| byte >= 0x80 || IN_TEXT[usize::from(byte)]) {
        return false;
    }
    let unsigned = match text.as_bytes() {
        [b'a'..=b'z' | b'A'..=b'Z' | b'/', ..] => return !is_special(text),
        [b'.', ..] => &text[1..],
        [b'0'..=b'9', ..] => text,
        _ => return false,
    };
    // Numbers have no letters but `e`, unless they begin with 0x, 0o or 0b; they may begin with a dot.
    let has_letter = text.bytes().any(|byte| byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'e'));
    let is_based = matches!(unsigned.as_bytes(), [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
    has_letter && !is_based && !is_special(unsigned)
}

/// The ASCII characters that may stand in unquoted text.
const IN_TEXT: [bool; 128] = {
    let mut table = [false; 128];
    let characters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._/+()@=!?'\"*&%$^~;<>|\\-";
    let mut at = 0;
    while at < characters.len() {
        table[characters[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether some YAML version reads this word as something other than text.
pub(super) fn is_special(word: &str) -> bool {
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity", "e"];
    // Most words are none of them, and a long list has ten thousand.
    let may_be = matches!(word.as_bytes().first(), Some(first) if b"ntfyoieNTFYOIE".contains(first));
    may_be && words.iter().any(|special| special.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::yaml::{emit, parse};

    /// The tree with the places and bytes of keys and single values. (What the parser says about the place of a block
    /// collection depends on its indentation, and nothing rests on it.)
    fn essence(node: &Node) -> String {
        let at = |node: &Node| format!("{}@{:?}", node.place, node.span);
        match &node.tree {
            Tree::Sequence(items) if !items.is_empty() => {
                format!("[{}]", items.iter().map(essence).collect::<Vec<_>>().join(", "))
            }
            Tree::Mapping(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{} {}", essence(key), essence(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            tree => format!("{tree:?}{}", at(node)),
        }
    }

    fn both(text: &str) -> Option<(String, Option<String>)> {
        let plain = read(text)?.to_node();
        Some((essence(&plain), parse(text).ok().map(|node| essence(&node))))
    }

    #[test]
    fn what_flow_writes_is_plain() {
        let text = "\
# yaml-language-server: $schema=x
metadata:
  id: 2026-05-20T143000Z-issue-42
  goal: null
  created_at: \"2026-05-20T14:30:00.000Z\"
context:
  repo: acme/widgets
  head: 4d77ad946e459fab1973d0cecb8311227c935d41
state:
  completed_activities:
    - preflight
    - \"123\"
  open_activities: []
  last_seq: 7
events:
- at: \"2026-05-20T14:30:00.000Z\"
  type: run_started
";
        let (plain, parsed) = both(text).unwrap();
        assert_eq!(Some(plain), parsed);
    }

    #[test]
    fn what_is_unusual_is_left_to_the_parser() {
        for text in [
            "a: 1\na: 2\n", "a: &x 1\n", "a: b # c\n", "a: 'b'\n", "a: {b: c}\n", "a: [b]\n", "a:\n", "a: |\n  b\n",
            "a\n", "", "- a\n", "a: 0x10\n", "a: 1e5\n", "a: 017\n", "a: .5\n", "a: -1\n", "a: ~\n", "a: yes\n",
            "a: b: c\n", "a: \"b\\n\"\n", "a: 1\n  b: 2\n", "a:\n  - b\n c: d\n", "\ta: 1\n", "a: b\n---\nc: d\n",
            "a: é\n", "a: \"\0\"\n", "# a\rb: c\n", "a: b\r\n", "a: b \n", "<<<<<<< HEAD\n",
        ] {
            assert!(read(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_accepted_means_the_same_to_the_parser(text in "([ ]{0,4}(- )?([a-e0-9_xo.]{1,6}: ?)?[a-fxo0-9_./:\"#-]{0,8}\n){0,6}") {
            if let Some((plain, parsed)) = both(&text) {
                prop_assert_eq!(Some(plain), parsed);
            }
        }

        #[test]
        fn scalars_mean_the_same_to_the_parser(scalar in "[A-Za-z0-9._/\"+-]{1,12}") {
            let text = format!("k: {scalar}\n");
            if let Some((plain, parsed)) = both(&text) {
                prop_assert_eq!(Some(plain), parsed);
            }
        }

        #[test]
        fn sentences_mean_the_same_to_the_parser(first in "[A-Za-z0-9./\"]?", rest in "[ -~\u{a0}äß…“—😀\u{85}\u{2028}\u{feff}]{0,12}", key in "k|- k|-") {
            let colon = if key == "-" { "" } else { ":" };
            let text = format!("x:\n  {key}{colon} {first}{rest}\n");
            if let Some((plain, parsed)) = both(&text) {
                prop_assert_eq!(Some(plain), parsed);
            }
        }

        #[test]
        fn documents_of_the_emitter_mean_the_same(words in prop::collection::vec("[ -~]{0,10}", 1..6)) {
            let text = emit(&serde_json::json!({ "list": words, "map": { "a": words[0], "b": 12 } }));
            if let Some((plain, parsed)) = both(&text) {
                prop_assert_eq!(Some(plain), parsed);
            }
        }
    }
}
