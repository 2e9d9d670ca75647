//! A reader for the plainest YAML: block mappings and lists of single values, as flow itself writes `run.yaml`.
//!
//! Listing ten thousand runs must not cost ten thousand full parses. Whatever this reader accepts means the same to the
//! real parser (a property test compares them); whatever is unusual, it leaves to the real parser by answering `None`.

use serde_json::{Map, Value};

/// Reads `text`; `None` when anything in it is not plain.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let indent = line.bytes().take_while(|&byte| byte == b' ').count();
        match &line[indent..] {
            "" => {}
            comment if comment.starts_with('#') => {}
            content if content.is_ascii() && !content.ends_with(' ') => lines.push(Line { indent, content }),
            _ => return None,
        }
    }
    let mut reader = Reader { lines, at: 0 };
    let value = reader.mapping(0)?;
    (reader.at == reader.lines.len()).then_some(value)
}

#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    content: &'a str,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

/// Deeper documents are not plain.
const DEPTH: usize = 8;

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    /// The entries of a mapping whose keys stand at `indent`.
    fn mapping(&mut self, indent: usize) -> Option<Value> {
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent && !line.content.starts_with('-')) {
            self.at += 1;
            let (key, value) = self.entry(line.content, indent)?;
            if map.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        (!map.is_empty() && indent < 2 * DEPTH).then_some(Value::Object(map))
    }

    fn entry(&mut self, content: &'a str, indent: usize) -> Option<(&'a str, Value)> {
        let (key, rest) = content.split_once(':')?;
        let plain_key = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && is_text(key);
        if !plain_key {
            return None;
        }
        let value = match rest.strip_prefix(' ') {
            Some(value) => scalar(value)?,
            None if rest.is_empty() => self.nested(indent)?,
            None => return None,
        };
        Some((key, value))
    }

    /// What stands on the lines below a key.
    fn nested(&mut self, indent: usize) -> Option<Value> {
        match self.peek() {
            Some(line) if line.content.starts_with("- ") && line.indent >= indent => self.list(line.indent),
            Some(line) if line.indent > indent => self.mapping(line.indent),
            // `key:` alone is null; rare enough for the real parser.
            _ => None,
        }
    }

    fn list(&mut self, indent: usize) -> Option<Value> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent) {
            let Some(item) = line.content.strip_prefix("- ") else { break };
            if item.contains(": ") && !item.starts_with('"') {
                // A mapping that begins behind the dash: its first key stands two columns further in.
                self.lines[self.at] = Line { indent: indent + 2, content: item };
                items.push(self.mapping(indent + 2)?);
            } else {
                self.at += 1;
                items.push(scalar(item)?);
            }
        }
        Some(Value::Array(items))
    }
}

fn scalar(text: &str) -> Option<Value> {
    match text {
        "null" => return Some(Value::Null),
        "true" => return Some(true.into()),
        "false" => return Some(false.into()),
        "[]" => return Some(Value::Array(Vec::new())),
        _ => {}
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"')?;
        return (!inner.contains(['"', '\\'])).then(|| inner.into());
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (1..=18).contains(&text.len()) && (text == "0" || !text.starts_with('0')) {
        return text.parse::<u64>().ok().map(Value::from);
    }
    is_text(text).then(|| text.into())
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
    use crate::codec::yaml::{emit, parse_value};

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
        assert_eq!(read(text), parse_value(text).ok());
        assert!(read(text).is_some());
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
            if let Some(value) = read(&text) {
                prop_assert_eq!(Ok(value), parse_value(&text));
            }
        }

        #[test]
        fn scalars_mean_the_same_to_the_parser(scalar in "[A-Za-z0-9._/\"+-]{1,12}") {
            let text = format!("k: {scalar}\n");
            if let Some(value) = read(&text) {
                prop_assert_eq!(Ok(value), parse_value(&text));
            }
        }

        #[test]
        fn documents_of_the_emitter_mean_the_same(words in prop::collection::vec("[ -~]{0,10}", 1..6)) {
            let text = emit(&serde_json::json!({ "list": words, "map": { "a": words[0], "b": 12 } }));
            if let Some(value) = read(&text) {
                prop_assert_eq!(Ok(value), parse_value(&text));
            }
        }
    }
}
