//! Schemas of tools: those of the verbs' requests, reduced to what a model has to know. Every byte costs context.

use serde_json::{Map, Value, json};

/// What a schema keeps of itself.
const KEPT: [&str; 7] = ["type", "enum", "const", "items", "properties", "required", "anyOf"];

/// The schema with the `shown` fields alone. `verbs` are the values of the field `verb`, which is never required.
pub(super) fn reduced(whole: &Value, shown: &[&str], verbs: &[&str]) -> Value {
    let mut properties = Map::new();
    for name in shown {
        let field = &whole["properties"][*name];
        let mut property = plain(field, whole);
        if *name == "verb" {
            property = json!({ "enum": verbs, "default": verbs.first() });
        } else if let Some(about) = field["description"].as_str()
            && !UNDERSTOOD.contains(name)
        {
            // What stands behind a semicolon are details.
            property["description"] = about.split([';', '.']).next().unwrap_or(about).replace('\n', " ").into();
        }
        properties.insert((*name).to_owned(), property);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    let mut required = whole["required"].as_array().cloned().unwrap_or_default();
    required.retain(|name| *name != "verb" && shown.iter().any(|shown| name == shown));
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Arguments whose names say what they are, and those that the server's instructions explain.
const UNDERSTOOD: [&str; 34] = [
    "advance", "claim", "completed_at", "confidence", "current_phase", "document", "epoch", "error", "evidence",
    "exit_code", "files", "goal", "id", "issue", "limit", "local", "mode", "name", "phase", "pr", "reason", "reports",
    "run_id", "search", "session", "session_id", "settles", "skip_reason", "started_at", "status", "summary", "to",
    "type", "workflow",
];

/// A schema without references, null, limits and descriptions.
fn plain(schema: &Value, whole: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return plain(&whole["$defs"][name], whole);
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[several].as_array() {
            return one_of(ways, whole);
        }
    }
    let Value::Object(schema) = schema else { return schema.clone() };
    let kept = schema.iter().filter(|(key, _)| KEPT.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), kept_value(key, value, whole))).collect::<Map<_, _>>().into()
}

fn kept_value(key: &str, value: &Value, whole: &Value) -> Value {
    match (key, value) {
        ("type", Value::Array(kinds)) => kinds.iter().find(|kind| **kind != "null").cloned().unwrap_or_default(),
        ("properties", Value::Object(fields)) => {
            fields.iter().map(|(name, field)| (name.clone(), plain(field, whole))).collect::<Map<_, _>>().into()
        }
        ("items", value) => plain(value, whole),
        ("enum", Value::Array(values)) => values.iter().filter(|value| !value.is_null()).cloned().collect(),
        (_, value) => value.clone(),
    }
}

/// One of several schemas: without null, and constants as one list.
fn one_of(ways: &[Value], whole: &Value) -> Value {
    let (mut constants, mut others) = (Vec::new(), Vec::new());
    for way in ways {
        // Models leave a value out instead of giving null.
        if way["type"] == "null" {
            continue;
        }
        let mut way = plain(way, whole);
        match way.get_mut("const") {
            Some(constant) => constants.push(constant.take()),
            None => others.push(way),
        }
    }
    if !constants.is_empty() {
        others.insert(0, json!({ "enum": constants }));
    }
    if others.len() == 1 { others.swap_remove(0) } else { json!({ "anyOf": others }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_keeps_what_a_model_has_to_know() {
        let whole = json!({
            "$defs": { "Id": { "type": "string", "pattern": "^a", "description": "An id." } },
            "properties": {
                "a": { "anyOf": [{ "$ref": "#/$defs/Id" }, { "type": "null" }], "description": "A; b.", "default": null },
                "b": { "oneOf": [{ "const": "x", "type": "string" }, { "type": "object", "required": ["to"] }] },
                "c": { "type": ["integer", "null"], "minimum": 0 },
                "verb": { "$ref": "#/$defs/Id" },
                "hidden": { "type": "string" },
            },
            "required": ["hidden", "a", "verb"],
        });
        assert_eq!(
            reduced(&whole, &["c", "b", "a", "verb"], &["go", "stop"]),
            json!({
                "type": "object",
                "properties": {
                    "c": { "type": "integer" },
                    "b": { "anyOf": [{ "enum": ["x"] }, { "type": "object", "required": ["to"] }] },
                    "a": { "type": "string", "description": "A" },
                    "verb": { "enum": ["go", "stop"], "default": "go" },
                },
                "required": ["a"],
            })
        );
    }
}
