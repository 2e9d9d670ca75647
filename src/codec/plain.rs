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
    let mut lines = Vec::new();
    let mut start = 0;
    for (number, whole) in text.split_inclusive('\n').enumerate() {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let indent = line.bytes().take_while(|&byte| byte == b' ').count();
        if line.bytes().any(|byte| byte.is_ascii_control()) {
            return None;
        }
        match &line[indent..] {
            "" => {}
            comment if comment.starts_with('#') => {}
            content if content.is_ascii() && !content.ends_with(' ') => {
                lines.push(Line { indent, content, start: start + indent, number: number + 1 });
            }
            _ => return None,
        }
        start += whole.len();
    }
    let mut reader = Reader { lines, at: 0 };
    let root = reader.mapping(0)?;
    (reader.at == reader.lines.len()).then_some(root)
}

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
        // Everything before is ASCII, so bytes are columns.
        let place = Place { line: self.number, column: self.indent + bytes.start + 1 };
        Node { tree, place, span: self.start + bytes.start..self.start + bytes.end }
    }
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

/// Documents that are indented more are not plain.
const DEEPEST: usize = 16;
/// Mappings with more entries are not plain.
const ENTRIES: usize = 128;

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    /// The entries of a mapping whose keys stand at `indent`.
    fn mapping(&mut self, indent: usize) -> Option<Node> {
        let first = self.peek().filter(|_| indent <= DEEPEST)?;
        let mut entries: Vec<(Node, Node)> = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent && !line.content.starts_with('-')) {
            self.at += 1;
            let entry = self.entry(line)?;
            if entries.len() == ENTRIES || entries.iter().any(|(key, _)| key.text() == entry.0.text()) {
                return None;
            }
            entries.push(entry);
        }
        (!entries.is_empty()).then(|| first.node(Tree::Mapping(entries), 0..0))
    }

    fn entry(&mut self, line: Line<'a>) -> Option<(Node, Node)> {
        let (key, rest) = line.content.split_once(':')?;
        let plain_key = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && is_text(key);
        if !plain_key {
            return None;
        }
        let value = match rest.strip_prefix(' ') {
            Some(value) => scalar(line, key.len() + 2, value)?,
            None if rest.is_empty() => self.nested(line.indent)?,
            None => return None,
        };
        Some((line.node(Tree::Text(key.to_owned()), 0..key.len()), value))
    }

    /// What stands on the lines below a key.
    fn nested(&mut self, indent: usize) -> Option<Node> {
        match self.peek() {
            Some(line) if line.content.starts_with("- ") && line.indent >= indent => self.list(line),
            Some(line) if line.indent > indent => self.mapping(line.indent),
            // `key:` alone is null; rare enough for the real parser.
            _ => None,
        }
    }

    fn list(&mut self, first: Line<'a>) -> Option<Node> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == first.indent) {
            let Some(item) = line.content.strip_prefix("- ") else { break };
            if item.contains(": ") && !item.starts_with('"') {
                // A mapping that begins behind the dash: its first key stands two columns further in.
                let indent = line.indent + 2;
                self.lines[self.at] = Line { indent, content: item, start: line.start + 2, number: line.number };
                items.push(self.mapping(indent)?);
            } else {
                self.at += 1;
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
        return (!inner.contains(['"', '\\'])).then(|| Tree::Text(inner.to_owned()));
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (1..=18).contains(&text.len()) && (text == "0" || !text.starts_with('0')) {
        return text.parse::<u64>().ok().map(|number| Tree::Number(number.into()));
    }
    is_text(text).then(|| Tree::Text(text.to_owned()))
}

/// Whether every YAML version reads these characters as this text.
fn is_text(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    let letter = |byte: u8| byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'e');
    let word = text.to_ascii_lowercase();
    let special = matches!(
        word.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "nan" | "inf" | "infinity" | "e"
    );
    let first = text.bytes().next().unwrap_or(b'-');
    // Numbers have no letters but `e`, unless they begin with 0x, 0o or 0b; dots and signs first mean a number or more.
    let number = first.is_ascii_digit()
        && (!text.bytes().any(letter) || word.starts_with("0x") || word.starts_with("0o") || word.starts_with("0b"));
    first.is_ascii_alphanumeric() && text.bytes().all(plain) && !special && !number
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
        fn documents_of_the_emitter_mean_the_same(words in prop::collection::vec("[ -~]{0,10}", 1..6)) {
            let text = emit(&serde_json::json!({ "list": words, "map": { "a": words[0], "b": 12 } }));
            if let Some((plain, parsed)) = both(&text) {
                prop_assert_eq!(Some(plain), parsed);
            }
        }
    }
}
