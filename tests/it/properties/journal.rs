//! A decision journal: an artifact comes to its front matter, and everything else stays.

use flowrun::codec::{Artifact, JournalHead, append_artifact, coerce, parse_value};
use serde_json::{Value, json};

use super::text::{assert_in_order, assert_inside};

/// The input is the journal.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let word: String = text.chars().take(40).collect();
    let head = JournalHead {
        issue: Some(serde_json::json!(7)),
        created: "2026-05-20T14:30:00Z".to_owned(),
        branch: Some(word.clone()),
    };
    let artifact = Artifact {
        kind: "workflow-run".to_owned(),
        captured_at: "2026-05-20T14:30:00Z".to_owned(),
        fields: vec![("run_id".to_owned(), json!("run-1")), ("status".to_owned(), coerce(&word))],
    };
    let new = match append_artifact(Some(text), &head, &artifact) {
        Ok(new) => new,
        Err(error) => return assert_inside(text, error.place, &error.to_string()),
    };
    let entry = json!({
        "type": "workflow-run", "captured_at": "2026-05-20T14:30:00Z", "run_id": "run-1", "status": coerce(&word),
    });
    let now = manifest(&new).unwrap_or_else(|| panic!("there is no front matter: {new:?}"));
    match manifest(text) {
        Some(before) => {
            let mut wanted = if before.is_null() { json!({}) } else { before };
            if wanted["artifacts"].is_null() {
                wanted["artifacts"] = json!([]);
            }
            wanted["artifacts"].as_array_mut().expect("it was accepted").push(entry);
            assert_eq!(now, wanted, "{new:?}");
        }
        None => {
            let wanted = json!({ "issue": 7, "created": head.created, "branch": head.branch, "artifacts": [entry] });
            assert_eq!(now, wanted, "{new:?}");
        }
    }
    assert_lines_stay(text, &new);
    // A key behind a question mark may be refused: nobody can say then where the list above it ends.
    if !new.lines().any(|line| line.trim_start().starts_with('?')) {
        let twice = append_artifact(Some(&new), &head, &artifact);
        assert!(twice.is_ok_and(|twice| twice.len() > new.len()), "a journal that flow wrote takes no more: {new:?}");
    }
}

/// Every line of the journal is in the new one, in order. Only an empty list or a null may be taken from its line.
fn assert_lines_stay(text: &str, new: &str) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bom = &text[..text.len() - body.len()];
    let mut pieces = vec![bom];
    for line in body.split_inclusive('\n') {
        let artifacts = line.contains("artifacts") || line.contains(['[', ']', '{', '}', '~']) || line.contains("null");
        if artifacts {
            // Something may come into the line, and an empty value out of it.
            pieces.extend(
                line.split(['[', ']', '{', '}', ',', '~', ' ', ':']).filter(|word| !is_null(word)).map(str::trim_end),
            );
        } else {
            pieces.push(line.trim_end_matches(['\r', '\n']));
        }
    }
    pieces.push("");
    assert_in_order(new, &pieces);
}

/// What the value of a list without entries can be.
fn is_null(word: &str) -> bool {
    matches!(word.trim(), "null" | "Null" | "NULL")
}

/// What the lines between the first two fences say, found without flow's help.
fn manifest(text: &str) -> Option<Value> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = body.split_inclusive('\n');
    lines.next().filter(|first| first.trim_end() == "---")?;
    let front: String = lines.take_while(|line| !matches!(line.trim_end(), "---" | "...")).collect();
    parse_value(&front).ok()
}
