//! The manifest of a decision journal: the YAML front matter of `.decisions/issue-N.md`.
//!
//! A journal belongs to people, and appending an artifact must only add lines. So the text is edited where the parser
//! says that the list ends, instead of being written again. Every edit is only a proposal: it is used if the edited
//! text reads back as the old values plus the artifact. So an unusual notation leads to an error, never to damage.

use std::ops::Range;

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::codec::journal_edit::{LIST, proposals};
use crate::codec::lines::line_break;
use crate::codec::{Node, Place, YamlError, emit, parse, parse_value};

/// One entry of a journal's `artifacts`.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// `type`: `workflow-run`, …
    pub kind: String,
    /// `captured_at`, ISO 8601.
    pub captured_at: String,
    /// The other keys, in order. Keys named `type` or `captured_at` are ignored.
    pub fields: Vec<(String, Value)>,
}

impl Artifact {
    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        for (key, value) in &self.fields {
            if key != "type" && key != "captured_at" {
                entry.insert(key.clone(), value.clone());
            }
        }
        entry.shift_insert(0, "type".to_owned(), json!(self.kind));
        entry.shift_insert(1, "captured_at".to_owned(), json!(self.captured_at));
        Value::Object(entry)
    }
}

/// The keys of a front matter that flow creates, besides its artifacts. An existing front matter keeps its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalHead {
    /// `issue`; left out if `None`.
    pub issue: Option<Value>,
    /// `created`, ISO 8601.
    pub created: String,
    /// `branch`; left out if `None`.
    pub branch: Option<String>,
}

/// Why an artifact cannot be appended to a journal. The journal is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {fault}; fix it by hand")]
pub struct JournalError {
    /// Where in the file.
    pub place: Place,
    /// What is wrong there.
    pub fault: JournalFault,
}

/// What prevents appending an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JournalFault {
    /// The file starts with `---`, but no second fence follows.
    #[error("the front matter that starts here has no closing `---`")]
    Unclosed,
    /// An unresolved merge.
    #[error("the front matter has git conflict markers")]
    Conflict,
    /// The front matter is not YAML that flow reads.
    #[error("the front matter is not valid YAML: {0}")]
    Yaml(String),
    /// The front matter is a list or plain text.
    #[error("the front matter is not a mapping")]
    NotAMapping,
    /// `artifacts` is not a list.
    #[error("`artifacts` is not a list")]
    NotAList,
    /// The list cannot be extended without changing other text.
    #[error("`artifacts` is written in a way that flow cannot extend")]
    Unplaceable,
}

impl JournalFault {
    fn at(self, place: Place) -> JournalError {
        JournalError { place, fault: self }
    }
}

/// Appends `artifact` to the list of a journal and returns the new text. `text` is `None` if there is no file yet. A
/// journal without front matter gets one made of `head`.
///
/// # Errors
/// [`JournalError`] if the front matter is malformed or the result does not read back as expected.
pub fn append_artifact(text: Option<&str>, head: &JournalHead, artifact: &Artifact) -> Result<String, JournalError> {
    let text = text.unwrap_or_default();
    let Some(yaml) = front_matter(text)? else {
        return with_new_front_matter(text, head, artifact);
    };
    let root = parse(&text[yaml.clone()]).map_err(inside)?;
    let old = parse_value(&text[yaml.clone()]).map_err(inside)?;
    let wanted = with_artifact(old, &root, artifact)?;
    // The best-looking proposal comes first, and any of them may be wrong.
    for edit in proposals(&text[yaml.clone()], &root, &artifact.to_value(), line_break(text)) {
        let edited = edit.applied_to(text, yaml.start);
        if reads_as(&edited, &wanted, &text[yaml.end..]) {
            return Ok(edited);
        }
    }
    Err(JournalFault::Unplaceable.at(below_fence(root.nearest("/artifacts").place)))
}

/// Whether a journal has an artifact about a run.
#[must_use]
pub fn has_artifact_of_run(text: &str, run: &str) -> bool {
    let Ok(Some(yaml)) = front_matter(text) else { return false };
    let Ok(manifest) = parse_value(&text[yaml]) else { return false };
    let Some(artifacts) = manifest[LIST].as_array() else { return false };
    artifacts.iter().any(|artifact| artifact["run_id"] == run)
}

/// Converts the value of a `key=value` argument as the original journal scripts do: a text with a comma to a list of
/// texts, digits to a number, `true` and `false` to a boolean, anything else to a text.
#[must_use]
pub fn coerce(text: &str) -> Value {
    if text.contains(',') {
        return text.split(',').map(str::trim).collect();
    }
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            match digits.parse::<u64>() {
                Ok(number) => number.into(),
                // More digits than a number can have.
                Err(_) => json!(digits),
            }
        }
        other => json!(other),
    }
}

/// The bytes between the fences; `None` if the file has no front matter.
fn front_matter(text: &str) -> Result<Option<Range<usize>>, JournalError> {
    let bom = text.len() - without_bom(text).len();
    let mut lines = text[bom..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.starts_with("<<<<<<< ") {
        return Err(JournalFault::Conflict.at(Place { line: 1, column: 1 }));
    }
    if first.trim_end() != "---" {
        return Ok(None);
    }
    let start = bom + first.len();
    let mut end = start;
    let mut conflict = None;
    for (number, line) in (2..).zip(lines) {
        if is_conflict(line) {
            conflict = conflict.or(Some(Place { line: number, column: 1 }));
        }
        // At the start of a line, both end a YAML document even inside another value.
        if matches!(line.trim_end(), "---" | "...") {
            return match conflict {
                Some(place) => Err(JournalFault::Conflict.at(place)),
                None => Ok(Some(start..end)),
            };
        }
        end += line.len();
    }
    Err(match conflict {
        Some(place) => JournalFault::Conflict.at(place),
        None => JournalFault::Unclosed.at(Place { line: 1, column: 1 }),
    })
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn is_conflict(line: &str) -> bool {
    let line = line.trim_end();
    for marker in ["<<<<<<<", "|||||||", ">>>>>>>"] {
        // Git writes a name behind the marker.
        if let Some(rest) = line.strip_prefix(marker) {
            return rest.is_empty() || rest.starts_with(' ');
        }
    }
    line == "======="
}

/// Converts a place in the front matter, which starts on the file's second line, to a place in the file.
fn below_fence(place: Place) -> Place {
    Place { line: place.line + 1, ..place }
}

fn inside(error: YamlError) -> JournalError {
    let place = error.place.unwrap_or(Place { line: 1, column: 1 });
    JournalFault::Yaml(error.message).at(below_fence(place))
}

fn with_new_front_matter(text: &str, head: &JournalHead, artifact: &Artifact) -> Result<String, JournalError> {
    let mut manifest = Map::new();
    if let Some(issue) = &head.issue {
        manifest.insert("issue".to_owned(), issue.clone());
    }
    manifest.insert("created".to_owned(), json!(head.created));
    if let Some(branch) = &head.branch {
        manifest.insert("branch".to_owned(), json!(branch));
    }
    manifest.insert(LIST.to_owned(), json!([artifact.to_value()]));
    let front = format!("---\n{}---\n", emit(&manifest)).replace('\n', line_break(text));
    // A byte order mark has to stay at the very start.
    let body = without_bom(text);
    let bom = &text[..text.len() - body.len()];
    let edited = format!("{bom}{front}{body}");
    let rest = &edited[edited.len() - body.len() - "---".len() - line_break(text).len()..];
    if reads_as(&edited, &Value::Object(manifest), rest) {
        Ok(edited)
    } else {
        Err(JournalFault::Unplaceable.at(Place { line: 1, column: 1 }))
    }
}

/// The values that the front matter must have after the edit.
fn with_artifact(old: Value, root: &Node, artifact: &Artifact) -> Result<Value, JournalError> {
    let mut manifest = match old {
        Value::Object(manifest) => manifest,
        Value::Null => Map::new(),
        _ => return Err(JournalFault::NotAMapping.at(below_fence(root.place))),
    };
    match manifest.entry(LIST).or_insert(Value::Null) {
        Value::Array(list) => list.push(artifact.to_value()),
        empty @ Value::Null => *empty = json!([artifact.to_value()]),
        _ => return Err(JournalFault::NotAList.at(below_fence(root.nearest("/artifacts").place))),
    }
    Ok(Value::Object(manifest))
}

fn reads_as(edited: &str, wanted: &Value, rest: &str) -> bool {
    let Ok(Some(yaml)) = front_matter(edited) else {
        return false;
    };
    // The edited list may have moved the closing fence, so what follows it is compared, too.
    edited[yaml.end..] == *rest && parse_value(&edited[yaml]).is_ok_and(|read| read == *wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head() -> JournalHead {
        JournalHead {
            issue: Some(json!(42)),
            created: "2026-05-20T14:30:00Z".to_owned(),
            branch: Some("fix/crash".to_owned()),
        }
    }

    fn artifact() -> Artifact {
        Artifact {
            kind: "workflow-run".to_owned(),
            captured_at: "2026-05-20T14:30:00Z".to_owned(),
            fields: vec![
                ("workflow".to_owned(), coerce("start-issue")),
                ("run_id".to_owned(), coerce("2026-05-20T143000Z-issue-42")),
                ("status".to_owned(), coerce("active")),
            ],
        }
    }

    fn append(text: &str) -> Result<String, JournalError> {
        append_artifact(Some(text), &head(), &artifact())
    }

    /// What `new` has in one piece more than `old`; `None` when something else changed as well.
    fn inserted(old: &str, new: &str) -> Option<String> {
        let added = new.len().checked_sub(old.len())?;
        let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        (0..=same)
            .rev()
            .find(|&at| old.as_bytes()[at..] == new.as_bytes()[at + added..])
            .and_then(|at| new.get(at..at + added).map(str::to_owned))
    }

    const ENTRY: &str = "type: workflow-run\n  captured_at: \"2026-05-20T14:30:00Z\"\n  workflow: start-issue\n  \
                         run_id: 2026-05-20T143000Z-issue-42\n  status: active\n";

    #[test]
    fn a_missing_journal_is_made_with_its_head() {
        let text = append_artifact(None, &head(), &artifact()).unwrap();
        assert_eq!(
            text,
            format!("---\nissue: 42\ncreated: \"2026-05-20T14:30:00Z\"\nbranch: fix/crash\nartifacts:\n- {ENTRY}---\n")
        );
        let bare = append_artifact(None, &JournalHead::default(), &artifact()).unwrap();
        assert!(bare.starts_with("---\ncreated: \"\"\nartifacts:\n"), "{bare}");
    }

    #[test]
    fn a_second_artifact_leaves_the_first_alone() {
        let first = append_artifact(None, &head(), &artifact()).unwrap();
        let second = append(&first).unwrap();
        assert_eq!(second, first.replace("status: active\n---", &format!("status: active\n- {ENTRY}---")));
        let third = append(&second).unwrap();
        let yaml = front_matter(&third).unwrap().unwrap();
        assert_eq!(parse_value(&third[yaml]).unwrap()["artifacts"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_body_without_front_matter_stays_byte_for_byte() {
        for body in ["", "# Notes\n\n---\nx: [\n---\n", "no line break", "a\r\nb\r\n", "\n---\na: 1\n---\n"] {
            let text = append(body).unwrap();
            assert!(text.starts_with("---"), "{text}");
            assert!(text.ends_with(&format!("---{}{body}", line_break(body))), "{text:?}");
            assert_eq!(text.contains('\r'), body.contains('\r'));
            append(&text).unwrap();
        }
        assert!(append("\u{feff}# Notes\n").unwrap().starts_with("\u{feff}---\nissue"));
    }

    #[test]
    fn the_entry_goes_below_the_last_item_in_the_notation_of_the_list() {
        let head = "---\n# hand-made\nissue:   42\ncreated: 2026-05-20T14:30:00Z # unquoted\n";
        let tail = "zz: {a: 'b'}\n---\n# Body\n---\nartifacts: []\n";
        let dashed = |indent: &str| format!("- {ENTRY}").lines().map(|l| format!("{indent}{l}\n")).collect::<String>();
        let json = artifact().to_value().to_string();
        for (list, want) in [
            ("artifacts:\n- type: a\n  x: 1\n", format!("artifacts:\n- type: a\n  x: 1\n{}", dashed(""))),
            ("artifacts:\n    -   a\n", format!("artifacts:\n    -   a\n{}", dashed("    "))),
            ("artifacts:\n  -\n    a: 1\n", format!("artifacts:\n  -\n    a: 1\n{}", dashed("  "))),
            ("artifacts:\n  - a\n  -\n", format!("artifacts:\n  - a\n  -\n{}", dashed("  "))),
            (
                "artifacts: # list\n  # first\n  - a: 1\n    # of a\n  # end\n\n# of zz\n",
                format!("artifacts: # list\n  # first\n  - a: 1\n    # of a\n{}  # end\n\n# of zz\n", dashed("  ")),
            ),
            (
                "artifacts:\n- note: |+\n    a\n    # not a comment\n\n",
                format!("artifacts:\n- note: |+\n    a\n    # not a comment\n\n{}", dashed("")),
            ),
            (
                "artifacts:\n- note: \"a\n    # text\"\n",
                format!("artifacts:\n- note: \"a\n    # text\"\n{}", dashed("")),
            ),
            ("artifacts:\n", format!("artifacts:\n{}", dashed(""))),
            ("artifacts:  # none\n", format!("artifacts:  # none\n{}", dashed(""))),
            ("artifacts: ~\n", format!("artifacts:\n{}", dashed(""))),
            ("artifacts: null # none\n", format!("artifacts:  # none\n{}", dashed(""))),
            ("artifacts: []\n", format!("artifacts:\n{}", dashed(""))),
            ("\"artifacts\" : [ ]  # none\n", format!("\"artifacts\" :   # none\n{}", dashed(""))),
            ("artifacts: [ # none\n  ]\n", format!("artifacts: [ # none\n  {json}]\n")),
            ("artifacts: [a, {b: [1]}] # ]\n", format!("artifacts: [a, {{b: [1]}}, {json}] # ]\n")),
            ("artifacts: [a, ]\n", format!("artifacts: [a, {json}]\n")),
            ("artifacts: [a ]\n", format!("artifacts: [a , {json}]\n")),
            ("artifacts: [\n  a, # ]\n  \"]\"\n  ]\n", format!("artifacts: [\n  a, # ]\n  \"]\"\n  , {json}]\n")),
        ] {
            let text = format!("{head}{list}{tail}");
            assert_eq!(append(&text).as_deref(), Ok(&*format!("{head}{want}{tail}")), "{list}");
            let text = format!("---\n{list}---\n");
            assert_eq!(append(&text).as_deref(), Ok(&*format!("---\n{want}---\n")), "{list}");
            let crlf = text.replace('\n', "\r\n");
            assert_eq!(append(&crlf).unwrap(), format!("---\n{want}---\n").replace('\n', "\r\n"), "{list}");
        }
    }

    #[test]
    fn a_missing_list_comes_last() {
        for front in ["", "# only a comment\n", "issue: 1\n", "a: |+\n  x\n\n", "a: b\n  c\n", "  a: 1\n  b: 2\n"] {
            let text = format!("\u{feff}---  \n{front}---\nbody");
            let new = append(&text).unwrap();
            let added = inserted(&text, &new).unwrap();
            assert_eq!(added.trim_start().split('\n').next(), Some("artifacts:"), "{new}");
            assert!(new.ends_with("\n---\nbody"));
        }
    }

    #[test]
    fn braces_around_everything_are_kept() {
        for front in [
            "{}",
            "{issue: 42}",
            "{issue: 42, }",
            "{artifacts: []}",
            "{artifacts: [a], x: [b]}",
            "{artifacts: }",
            "{artifacts: , b: 2}",
            "{artifacts}",
            "{issue: 42,\n artifacts: [{type: a},\n # ]\n]\n}",
        ] {
            let text = format!("---\n{front}\n---\nbody\n");
            let new = append(&text).unwrap_or_else(|error| panic!("{front}: {error}"));
            assert!(inserted(&text, &new).is_some(), "{new}");
        }
        assert!(append("---\n{artifacts: ~, b: 1}\n---\n").unwrap().ends_with("\"}], b: 1}\n---\n"));
    }

    #[test]
    fn a_malformed_journal_is_refused_with_its_place() {
        for (text, line, fault) in [
            ("---\nissue: 42\n", 1, JournalFault::Unclosed),
            ("---", 1, JournalFault::Unclosed),
            ("---\nissue: 42\n<<<<<<< HEAD\na: 1\n=======\nb: 1\n>>>>>>> x\n---\n", 3, JournalFault::Conflict),
            ("<<<<<<< HEAD\n---\nissue: 42\n---\n", 1, JournalFault::Conflict),
            ("---\na: 1\n>>>>>>> x\n", 3, JournalFault::Conflict),
            ("---\n- a\n---\n", 2, JournalFault::NotAMapping),
            ("---\nJust text.\n---\n", 2, JournalFault::NotAMapping),
            ("---\nissue: 42\nartifacts: many\n---\n", 3, JournalFault::NotAList),
            ("---\nartifacts: {a: 1}\n---\n", 2, JournalFault::NotAList),
            ("---\nartifacts:\n  a: 1\n---\n", 3, JournalFault::NotAList),
        ] {
            let error = append(text).unwrap_err();
            assert_eq!((error.place.line, &error.fault), (line, &fault), "{text}");
            assert!(error.to_string().ends_with("; fix it by hand"), "{error}");
        }
        for (text, line) in [("---\na: 1\na: 2\n---\n", 3), ("---\na: &x 1\n---\n", 2), ("---\na: 1\n\tb: [\n---\n", 2)]
        {
            let error = append(text).unwrap_err();
            assert!(matches!(error.fault, JournalFault::Yaml(_)) && error.place.line == line, "{text} {error}");
        }
    }

    #[test]
    fn conflict_markers_in_the_body_are_not_ours() {
        let text = "---\nissue: 1\n---\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n";
        assert!(inserted(text, &append(text).unwrap()).is_some());
    }

    #[test]
    fn metadata_is_coerced_as_the_original_does() {
        assert_eq!(coerce("a, b,"), json!(["a", "b", ""]));
        assert_eq!(coerce("42"), json!(42));
        assert_eq!(coerce("007"), json!(7));
        assert_eq!(coerce("true"), json!(true));
        assert_eq!(coerce("false"), json!(false));
        for text in ["", "True", "-1", "1.5", "٣", "99999999999999999999999", "a b"] {
            assert_eq!(coerce(text), json!(text));
        }
    }

    #[test]
    fn nasty_values_survive_in_both_notations() {
        let nasty = Artifact {
            kind: "x: y # z".to_owned(),
            captured_at: String::new(),
            fields: vec![
                ("type".to_owned(), json!("ignored")),
                ("---".to_owned(), json!("---\n<<<<<<< \u{7f}\u{85}\u{2028}\u{feff}é\u{0}")),
                ("list".to_owned(), json!([null, 1.5, ["]", "}"], {"a": "\r\n"}])),
            ],
        };
        for text in ["---\na: 1\n---\n", "---\n{a: 1}\n---\n", "---\nartifacts: [a]\n---\n"] {
            let new = append_artifact(Some(text), &head(), &nasty).unwrap();
            assert!(inserted(text, &new).is_some());
        }
    }

    fn front_matters() -> impl Strategy<Value = String> {
        let other = prop::sample::select(vec![
            "issue: 42\n",
            "# a comment\n",
            "\n",
            "created: '2026-05-20T14:30:00Z'   # when\n",
            "note: |\n  ---x\n  # text\n\n",
            "keep: |+\n  text\n\n\n",
            "folded: >-\n    a\n    b\n",
            "\"quoted key\": \"a\n  # b\"\n",
            "nested:\n  artifacts: []\n  deep: [1, {artifacts: x}]\n",
            "plain: a\n  b\n  c\n",
            "empty:\n",
            "  # indented comment\n",
        ]);
        let list = prop::sample::select(vec![
            "",
            "artifacts: []\n",
            "artifacts: # none\n",
            "artifacts: ~ # none\n",
            "artifacts: [a, {b: \"]\"}] # ]\n",
            "artifacts:\n- type: a\n  note: |\n    # x\n\n",
            "artifacts:\n  - type: a\n    list:\n    - 1\n    - 2\n    # deep\n",
            "artifacts:\n\n     -   type: é\n\n         x: 'y'\n     # after\n",
            "artifacts:\n- a: >+\n    b\n\n- - - c\n  -\n",
        ]);
        (prop::collection::vec(other, 0..6), list, any::<prop::sample::Index>()).prop_map(|(others, list, at)| {
            let mut seen = std::collections::BTreeSet::new();
            let mut parts: Vec<_> =
                others.into_iter().filter(|part| !part.contains(':') || seen.insert(*part)).collect();
            parts.insert(at.index(parts.len() + 1), list);
            parts.concat()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn appending_only_adds_lines(front in front_matters(), body in "(?s).{0,40}", bom: bool, crlf: bool) {
            let mut text = format!("{}---\n{front}---\n", if bom { "\u{feff}" } else { "" });
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            text.push_str(&body);
            let new = append(&text).unwrap();
            // Only an empty list or a null may go; the blank before it as well when nothing follows.
            let without = |token: &str, rest: &str| text.replacen(token, rest, 1);
            prop_assert!(
                [text.clone(), without("\nartifacts: []", "\nartifacts:"), without("artifacts: ~ ", "artifacts:  ")]
                    .iter()
                    .any(|old| inserted(old, &new).is_some()),
                "{text:?}\n{new:?}"
            );
            prop_assert!(new.ends_with(&body));
            let (old, new) = (&text[front_matter(&text).unwrap().unwrap()], &new[front_matter(&new).unwrap().unwrap()]);
            let mut want = parse_value(old).unwrap();
            if want.is_null() {
                want = json!({});
            }
            if want["artifacts"].is_null() {
                want["artifacts"] = json!([]);
            }
            want["artifacts"].as_array_mut().unwrap().push(artifact().to_value());
            prop_assert_eq!(parse_value(new).unwrap(), want);
        }

        #[test]
        fn no_text_makes_it_panic_or_lose_a_byte(text in "(---\n)?[-a:\\[\\]{}#|>'\" \n\r\u{feff}é,~?!&*]{0,30}(\n---\n)?") {
            if let Ok(new) = append(&text) {
                prop_assert!(new.len() > text.len());
            }
        }
    }
}
