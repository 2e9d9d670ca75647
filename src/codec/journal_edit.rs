//! Proposes edits that add an entry to the list in a journal's front matter, for every notation of a list.
//!
//! A proposal may be wrong: [`super::journal`] tries them in order, and takes the first one whose text reads back as
//! expected.

use std::ops::Range;

use serde_json::{Value, json};

use crate::codec::lines::{line_start, next_line};
use crate::codec::{Node, Tree, emit};

/// The key of the list.
pub(super) const LIST: &str = "artifacts";

/// How many closing brackets to try from the end of a flow collection. The last ones may be part of a comment.
const BRACKETS_TRIED: usize = 4;

/// A change of the front matter: removes `removed` (an empty list or a `null`, with the blanks before it) and inserts
/// `added` at `at`, which is not before the end of `removed`.
pub(super) struct JournalEdit {
    removed: Range<usize>,
    at: usize,
    added: String,
}

impl JournalEdit {
    fn insert(at: usize, added: String) -> Self {
        Self { removed: at..at, at, added }
    }

    /// Applies the edit to the whole text, whose front matter begins at `start`.
    pub(super) fn applied_to(&self, text: &str, start: usize) -> String {
        let mut edited = String::with_capacity(text.len() + self.added.len());
        edited.push_str(&text[..start + self.removed.start]);
        edited.push_str(&text[start + self.removed.end..start + self.at]);
        edited.push_str(&self.added);
        edited.push_str(&text[start + self.at..]);
        edited
    }
}

/// Edits that may be right, the best-looking first.
pub(super) fn proposals(yaml: &str, root: &Node, entry: &Value, line_break: &str) -> Vec<JournalEdit> {
    let Some(at) = root.entries().iter().position(|(key, _)| key.text() == Some(LIST)) else {
        if is_flow(root) {
            return inside_brackets(yaml, 0..yaml.len(), '}', &format!("\"{LIST}\": [{}]", flow(entry)));
        }
        let indent = match root.entries() {
            [] => 0,
            [(key, _), ..] => key.place.column.saturating_sub(1),
        };
        return vec![JournalEdit::insert(yaml.len(), block(&json!({ LIST: [entry] }), indent, line_break))];
    };
    let (key, value) = &root.entries()[at];
    let end = match root.entries().get(at + 1) {
        Some((next, _)) => next.span.start,
        None => yaml.len(),
    };
    let left = key.place.column.saturating_sub(1);
    if is_flow(root) {
        return match value.tree {
            Tree::Null => vec![instead_of_null(yaml, key, value, &format!("[{}]", flow(entry)))],
            _ => inside_brackets(yaml, value.span.start..end, ']', &flow(entry)),
        };
    }
    let item = json!([entry]);
    match &value.tree {
        Tree::Sequence(_) if is_flow(value) => {
            let mut edits = Vec::new();
            // An empty list becomes one with dashes, which is what people write.
            if let Some(token) = empty_brackets(yaml, value.span.start) {
                edits.push(below_line_of(yaml, token, block(&item, left, line_break)));
            }
            edits.extend(inside_brackets(yaml, value.span.start..end, ']', &flow(entry)));
            edits
        }
        Tree::Sequence(_) => {
            let end = if end == yaml.len() { end } else { line_start(yaml, end) };
            let start = next_line(yaml, key.span.end).min(end);
            let Some(dash) = dash_column(&yaml[start..end]) else {
                return Vec::new();
            };
            let added = block(&item, dash, line_break);
            vec![
                JournalEdit::insert(after_last_item(yaml, start..end, dash), added.clone()),
                JournalEdit::insert(end, added),
            ]
        }
        _ => vec![below_line_of(yaml, value.span.clone(), block(&item, left, line_break))],
    }
}

/// Whether a collection is written in brackets. The parser gives only those a span.
fn is_flow(node: &Node) -> bool {
    matches!(node.tree, Tree::Sequence(_) | Tree::Mapping(_)) && !node.span.is_empty()
}

/// `value` on lines of its own.
fn block(value: &Value, indent: usize, line_break: &str) -> String {
    let indent = " ".repeat(indent);
    emit(value).lines().map(|line| format!("{indent}{line}{line_break}")).collect()
}

/// `value` as JSON on one line. Escapes the characters that YAML does not take literally.
fn flow(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                line.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => line.push(c),
        }
    }
    line
}

/// The range of the `[]` at `start`, if it has only blanks inside.
fn empty_brackets(yaml: &str, start: usize) -> Option<Range<usize>> {
    let inner = yaml[start..].strip_prefix('[')?;
    let blanks = inner.len() - inner.trim_start_matches(' ').len();
    inner[blanks..].starts_with(']').then_some(start..start + blanks + 2)
}

/// Removes `token` and adds `block` below its line. Also removes the blanks before it if nothing else follows on the
/// line.
fn below_line_of(yaml: &str, token: Range<usize>, block: String) -> JournalEdit {
    let at = next_line(yaml, token.end);
    let mut removed = token;
    if !removed.is_empty() && yaml[removed.end..at].trim().is_empty() {
        removed.start = yaml[..removed.start].trim_end_matches([' ', '\t']).len();
    }
    JournalEdit { removed, at, added: block }
}

/// The indentation of a block list's dashes. The parser's place does not help: if the list is not indented more than
/// its key, it is the place after the dash.
fn dash_column(list: &str) -> Option<usize> {
    for line in list.lines() {
        if !matches!(line.trim_start().chars().next(), None | Some('#')) {
            let text = line.trim_start_matches(' ');
            return text.starts_with('-').then_some(line.len() - text.len());
        }
    }
    None
}

/// Where the next item goes: below the last item's text and its own comments, but above blank lines and above comments
/// that are indented no more than the dash.
fn after_last_item(yaml: &str, list: Range<usize>, dash: usize) -> usize {
    let mut at = list.end;
    while at > list.start {
        let above = line_start(yaml, at - 1);
        let line = yaml[above..at].trim();
        if !line.is_empty() && !line.starts_with('#') {
            break;
        }
        at = above;
    }
    while at < list.end {
        let below = next_line(yaml, at);
        let line = &yaml[at..below];
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent <= dash || !line.trim_start().starts_with('#') {
            break;
        }
        at = below;
    }
    at
}

/// Adds `item` before a closing bracket in `within`, beginning with the last one, with and without a comma.
fn inside_brackets(yaml: &str, within: Range<usize>, bracket: char, item: &str) -> Vec<JournalEdit> {
    let mut edits = Vec::new();
    for (at, _) in yaml[within.clone()].rmatch_indices(bracket).take(BRACKETS_TRIED) {
        let at = within.start + at;
        let lone = if yaml[..at].ends_with([' ', ',']) { "" } else { ", " };
        for added in [format!("{lone}{item}"), format!(", {item}"), item.to_owned()] {
            edits.push(JournalEdit::insert(at, added));
        }
    }
    edits
}

/// Replaces a null inside braces by `list`: `{artifacts: ~}`, `{artifacts: }`, `{artifacts}`.
fn instead_of_null(yaml: &str, key: &Node, value: &Node, list: &str) -> JournalEdit {
    if !value.span.is_empty() {
        return JournalEdit { removed: value.span.clone(), at: value.span.end, added: list.to_owned() };
    }
    let rest = &yaml[key.span.end..];
    let blanks = rest.len() - rest.trim_start().len();
    match rest[blanks..].strip_prefix(':') {
        Some(_) => JournalEdit::insert(key.span.end + blanks + 1, format!(" {list}")),
        None => JournalEdit::insert(key.span.end, format!(": {list}")),
    }
}
