//! JSON that people can compare line by line.

use serde_json::Value;

/// A JSON array with a line for each item.
pub(super) fn in_lines(items: impl Iterator<Item = Value>) -> String {
    let items: Vec<_> = items.map(|item| item.to_string()).collect();
    format!("[\n{}\n]", items.join(",\n"))
}
