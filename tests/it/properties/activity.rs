//! An activity document: what its schema accepts is written and sealed as it was read.

use flowrun::codec::{DocumentKind, emit, parse, parse_value, seal, unseal, validate};
use flowrun::model::{Activity, limits};
use serde_json::{Value, json};

use super::text::assert_inside;

/// The input is the text.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let root = match parse(text) {
        Ok(root) => root,
        Err(error) => {
            assert!(parse_value(text).is_err(), "two ways of reading: {error}");
            error.place.into_iter().for_each(|place| assert_inside(text, place, &error.message));
            return;
        }
    };
    let value = root.to_value();
    assert_eq!(parse_value(text).as_ref(), Ok(&value), "two ways of reading");
    let violations = validate(DocumentKind::Activity, &value, Some(&root));
    assert!(violations.len() <= limits::VIOLATIONS);
    for violation in &violations {
        let place = violation.place.expect("the document's nodes were given");
        assert_inside(text, place, &violation.message);
        assert!(!violation.message.is_empty() && violation.message.len() < 2000, "{}", violation.message);
    }
    // Also what breaks the schema is written and read back somewhere: as a value that somebody put beside the known ones.
    let kept = json!({ "kept": value });
    if depth(&kept) <= limits::YAML_DEPTH {
        assert_kept(&kept);
    }
    if !violations.is_empty() {
        return;
    }
    let Value::Object(document) = value else { panic!("the schema takes something that is no mapping") };
    let activity = match Activity::new(document) {
        Ok(activity) => activity,
        // Which letters a phase has is no matter of the schema.
        Err(bad) => return assert_eq!(bad.what, "phase"),
    };
    let _ = (activity.run_id(), activity.phase(), activity.kind(), activity.name(), activity.summary());
    assert!(!activity.id().as_str().is_empty());
    assert!(validate(DocumentKind::Activity, &assert_kept(activity.document()), None).is_empty());
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A document comes back from a file and from a line as it was.
fn assert_kept(document: &impl serde::Serialize) -> Value {
    let value = serde_json::to_value(document).expect("a document");
    let written = emit(&value);
    let read = parse_value(&written);
    assert_eq!(read.as_ref(), Ok(&value), "written as {written}");
    let line = seal(value.as_object().expect("a mapping"));
    let opened = unseal(line.trim_end_matches('\n').as_bytes()).map(Value::Object);
    assert_eq!(opened.as_ref(), Ok(&value), "sealed as {line}");
    value
}
