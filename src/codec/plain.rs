//! A reader for the plainest YAML: block mappings and lists of single values, as flow itself writes `run.yaml`.
//!
//! Listing ten thousand runs must not cost ten thousand full parses, nor a record three. Whatever this reader accepts
//! means the same to the real parser, and stands where it says (property tests compare them); whatever is unusual, it
//! leaves to the real parser by answering `None`.

use std::ops::Range;

use crate::codec::Place;
use crate::codec::yaml::{Node, Tree};

/// Reads `text`; `None` when anything in it is not plain.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut reader = Reader { rest: is_usual(text).then_some(text)?, start: 0, number: 0, line: None, strange: false };
    reader.advance();
    let root = reader.mapping(0)?;
    (reader.line.is_none() && !reader.strange).then_some(root)
}

/// Whether `text` has only printable characters that no YAML version takes for a break or a mark, and line feeds.
fn is_usual(text: &str) -> bool {
    // Without an early exit this is done for many bytes at once.
    let printable = text.bytes().fold(true, |all, byte| all & ((byte >= b' ') & (byte != 0x7f) | (byte == b'\n')));
    let mark = |c: char| matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let strange = |c: char| !c.is_ascii() && (c.is_control() || c.is_whitespace() || mark(c));
    printable && (text.is_ascii() || !text.contains(strange))
}

/// A line with content that is no comment.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    content: &'a str,
    /// Where the content starts in the text.
    start: usize,
    number: usize,
}

impl Line<'_> {
    /// A node at these bytes of the line's content.
    fn node(&self, tree: Tree, bytes: Range<usize>) -> Node {
        // Only indentation, a dash and a key stand before: ASCII, so bytes are columns.
        let place = Place { line: self.number, column: self.indent + bytes.start + 1 };
        Node { tree, place, span: self.start + bytes.start..self.start + bytes.end }
    }
}

/// Goes through the lines of a text.
struct Reader<'a> {
    /// What comes behind the line.
    rest: &'a str,
    /// Where that starts in the text.
    start: usize,
    /// How many lines come before it.
    number: usize,
    /// The line that is next to be read; `None` at the end.
    line: Option<Line<'a>>,
    /// Whether the end is a line that is not plain.
    strange: bool,
}

/// Documents that are indented more are not plain.
const DEEPEST: usize = 16;
/// Room for these is made at once: the `state` of a run has as many.
const USUAL_ENTRIES: usize = 12;
/// Mappings with more entries are not plain.
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
            if content.ends_with(' ') {
                self.rest = "";
                self.strange = true;
            } else if !content.is_empty() && !content.starts_with('#') {
                self.line = Some(Line { indent, content, start, number: self.number });
                return;
            }
        }
    }

    /// The entries of a mapping whose keys stand at `indent`.
    fn mapping(&mut self, indent: usize) -> Option<Node> {
        let first = self.line.filter(|_| indent <= DEEPEST)?;
        let mut entries: Vec<(Node, Node)> = Vec::with_capacity(USUAL_ENTRIES);
        while let Some(line) = self.line.filter(|line| line.indent == indent && !line.content.starts_with('-')) {
            self.advance();
            let entry = self.entry(line)?;
            let same = |key: &Node| key.span.len() == entry.0.span.len() && key.text() == entry.0.text();
            if entries.len() == ENTRIES || entries.iter().any(|(key, _)| same(key)) {
                return None;
            }
            entries.push(entry);
        }
        (!entries.is_empty()).then(|| first.node(Tree::Mapping(entries), 0..0))
    }

    fn entry(&mut self, line: Line<'a>) -> Option<(Node, Node)> {
        let key_ends = line.content.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')?;
        let (key, rest) = line.content.split_at(key_ends);
        if !is_text(key) {
            return None;
        }
        let value = match rest.strip_prefix(": ") {
            Some(value) => scalar(line, key.len() + 2, value)?,
            None if rest == ":" => self.nested(line.indent)?,
            None => return None,
        };
        Some((line.node(Tree::Text(key.into()), 0..key.len()), value))
    }

    /// What stands on the lines below a key.
    fn nested(&mut self, indent: usize) -> Option<Node> {
        match self.line {
            Some(line) if line.content.starts_with("- ") && line.indent >= indent => self.list(line),
            Some(line) if line.indent > indent => self.mapping(line.indent),
            // `key:` alone is null; rare enough for the real parser.
            _ => None,
        }
    }

    fn list(&mut self, first: Line<'a>) -> Option<Node> {
        let mut items = Vec::new();
        while let Some(line) = self.line.filter(|line| line.indent == first.indent) {
            let Some(item) = line.content.strip_prefix("- ") else { break };
            if item.contains(": ") && !item.starts_with('"') {
                // A mapping that begins behind the dash: its first key stands two columns further in.
                let indent = line.indent + 2;
                self.line = Some(Line { indent, content: item, start: line.start + 2, number: line.number });
                items.push(self.mapping(indent)?);
            } else {
                self.advance();
                items.push(scalar(line, 2, item)?);
            }
        }
        Some(first.node(Tree::Sequence(items), 0..0))
    }
}

/// The value that is the rest of the line from `at` on.
fn scalar(line: Line<'_>, at: usize, text: &str) -> Option<Node> {
    let end = at + text.len();
    let tree = match text {
        "null" => Tree::Null,
        "true" => Tree::Bool(true),
        "false" => Tree::Bool(false),
        // The parser marks a flow collection by its opening bracket.
        "[]" => return Some(line.node(Tree::Sequence(Vec::new()), at..at + 1)),
        _ => unnamed(text)?,
    };
    Some(line.node(tree, at..end))
}

fn unnamed(text: &str) -> Option<Tree> {
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"')?;
        return (!inner.contains(['"', '\\'])).then(|| Tree::Text(inner.into()));
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (1..=18).contains(&text.len()) && (text == "0" || !text.starts_with('0')) {
        return text.parse::<u64>().ok().map(|number| Tree::Number(number.into()));
    }
    is_text(text).then(|| Tree::Text(text.into()))
}

/// Whether every YAML version reads these characters as this text.
fn is_text(text: &str) -> bool {
    // Neither `: ` nor ` #` can stand in here, nor the comma and the brackets of flow collections.
    if !text.bytes().all(|byte| byte >= 0x80 || IN_TEXT[usize::from(byte)]) {
        return false;
    }
    let unsigned = match text.as_bytes() {
        [b'a'..=b'z' | b'A'..=b'Z' | b'/', ..] => return !is_special(text),
        [b'.', ..] => &text[1..],
        [b'0'..=b'9', ..] => text,
        _ => return false,
    };
    // Numbers have no letters but `e`, unless they begin with 0x, 0o or 0b; a dot may come first.
    let letter = |byte: u8| byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'e');
    let based = matches!(unsigned.as_bytes(), [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
    text.bytes().any(letter) && !based && !is_special(unsigned)
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

/// What some YAML version takes for something else than text.
pub(super) fn is_special(word: &str) -> bool {
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity", "e"];
    word.len() <= "infinity".len() && words.iter().any(|special| special.eq_ignore_ascii_case(word))
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
        let plain = read(text)?;
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
            "a: 1\na: 2\n",
            "a: &x 1\n",
            "a: b # c\n",
            "a: 'b'\n",
            "a: {b: c}\n",
            "a: [b]\n",
            "a:\n",
            "a: |\n  b\n",
            "a\n",
            "",
            "- a\n",
            "a: 0x10\n",
            "a: 1e5\n",
            "a: 017\n",
            "a: .5\n",
            "a: -1\n",
            "a: ~\n",
            "a: yes\n",
            "a: b: c\n",
            "a: \"b\\n\"\n",
            "a: 1\n  b: 2\n",
            "a:\n  - b\n c: d\n",
            "\ta: 1\n",
            "a: b\n---\nc: d\n",
            "a: é\n",
            "a: \"\0\"\n",
            "# a\rb: c\n",
            "a: b\r\n",
            "a: b \n",
            "<<<<<<< HEAD\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
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
