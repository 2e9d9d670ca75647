//! Requests as JSON, and why one does not fit: which of its fields, and what it has to be. The words are those of the schema
//! that the caller knows, not those of the library that reads the request, which names types of Rust.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The whole schema of a request.
#[must_use]
pub fn request_schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().into()
}

/// The names of the fields of an object with this schema.
#[must_use]
pub fn field_names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

/// Reads a request from its fields, or says which of them does not fit. `schema` is asked for only then.
pub fn read_request<Q: DeserializeOwned>(fields: &Map<String, Value>, schema: fn() -> Value) -> Result<Q, String> {
    match serde_json::from_value(Value::Object(fields.clone())) {
        Ok(request) => Ok(request),
        Err(_) => Err(misfit(&schema(), fields, &why_unreadable::<Q>)),
    }
}

/// Why a value is not such a request; none if it is.
fn why_unreadable<Q: DeserializeOwned>(value: Value) -> Option<String> {
    Some(serde_json::from_value::<Q>(value).err()?.to_string())
}

/// Why a request with this schema could not be read from the arguments. `read` says why a value cannot be read; none if it can.
fn misfit(whole: &Value, arguments: &Map<String, Value>, read: &dyn Fn(Value) -> Option<String>) -> String {
    let schema = RequestSchema { whole };
    if let Some(why) = schema.fields(whole, "", arguments) {
        return why;
    }
    // The schema has no fault to find, as with a text that a type takes apart. Reading stops at the first argument that does
    // not fit, so its reason changes without that one alone.
    let reason = read(arguments.clone().into()).unwrap_or_default();
    let culprit = arguments.keys().find(|name| {
        let mut others = arguments.clone();
        others.shift_remove(*name);
        read(others.into()).as_ref() != Some(&reason)
    });
    match culprit {
        Some(name) => format!("`{name}`: {reason}"),
        None => reason,
    }
}

/// A schema, with what its references refer to.
struct RequestSchema<'a> {
    whole: &'a Value,
}

impl<'a> RequestSchema<'a> {
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            Some(name) => self.resolved(&self.whole["$defs"][name]),
            None => schema,
        }
    }

    /// What is wrong with a value, as a sentence that begins with its place.
    fn fault(&self, schema: &'a Value, place: &str, value: &Value) -> Option<String> {
        let schema = self.resolved(schema);
        let ways = ways(schema);
        if !ways.is_empty() {
            let mut inside = None;
            for way in ways {
                // One way that fits is enough.
                let why = self.fault(way, place, value)?;
                // A value of the right kind has its fault inside.
                if inside.is_none() && !why.starts_with(&format!("`{place}` must be ")) {
                    inside = Some(why);
                }
            }
            return Some(inside.unwrap_or_else(|| self.must_be(schema, place)));
        }
        match value {
            _ if !self.is_of_kind(schema, value) => Some(self.must_be(schema, place)),
            Value::Array(values) => {
                let mut values = values.iter().enumerate();
                values.find_map(|(nth, value)| self.fault(&schema["items"], &format!("{place}[{nth}]"), value))
            }
            Value::Object(fields) => self.fields(schema, place, fields),
            _ => None,
        }
    }

    /// What is wrong with the fields of an object.
    fn fields(&self, schema: &'a Value, place: &str, fields: &Map<String, Value>) -> Option<String> {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Some(format!("`{}` is missing", field_of(place, name)));
            }
        }
        for (name, value) in fields {
            if let Some(schema) = schema["properties"].get(name) {
                if let Some(why) = self.fault(schema, &field_of(place, name), value) {
                    return Some(why);
                }
            } else if schema["additionalProperties"] == false {
                let known = field_names(schema).join(", ");
                return Some(if place.is_empty() {
                    format!("unknown field `{name:.60}`; the fields are {known}")
                } else {
                    format!("`{place}` has no field `{name:.60}`; it has {known}")
                });
            }
        }
        None
    }

    fn is_of_kind(&self, schema: &Value, value: &Value) -> bool {
        if let Some(constant) = schema.get("const") {
            return constant == value;
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.contains(value);
        }
        let kinds = kinds(schema);
        // A schema without a type takes every value.
        kinds.is_empty()
            || kinds.iter().any(|kind| match *kind {
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "integer" => is_in(range(schema), value),
                "number" => value.is_number(),
                "string" => value.is_string(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => true,
            })
    }

    fn must_be(&self, schema: &'a Value, place: &str) -> String {
        format!("`{place}` must be {}", self.words(schema))
    }

    /// What a value has to be.
    fn words(&self, schema: &'a Value) -> String {
        let schema = self.resolved(schema);
        let mut ways = ways(schema);
        if !ways.is_empty() {
            // Null is never asked for: a caller without a value leaves the argument out.
            ways.retain(|way| kinds(way) != ["null"]);
            let constants: Vec<_> = ways.iter().filter_map(|way| way.get("const")).collect();
            if constants.len() == ways.len() {
                return one_of(constants);
            }
            return ways.iter().map(|way| self.words(way)).collect::<Vec<_>>().join(" or ");
        }
        if let Some(constant) = schema.get("const") {
            return constant.to_string();
        }
        if let Some(values) = schema["enum"].as_array() {
            return one_of(values.iter().filter(|value| !value.is_null()));
        }
        match kinds(schema).into_iter().find(|kind| *kind != "null").unwrap_or_default() {
            "boolean" => "true or false".to_owned(),
            "integer" => in_range(range(schema)),
            "number" => "a number".to_owned(),
            "string" => "a text".to_owned(),
            "array" => "a list".to_owned(),
            _ => match schema["required"].as_array() {
                Some(names) => format!("an object with {}", one_by_one(names)),
                None => "an object".to_owned(),
            },
        }
    }
}

/// The place of a field of the object at `place`.
fn field_of(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// The schemas of which one has to fit.
fn ways(schema: &Value) -> Vec<&Value> {
    ["anyOf", "oneOf"].iter().filter_map(|several| schema[*several].as_array()).flatten().collect()
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    }
}

/// The smallest and the greatest integer that a schema allows.
fn range(schema: &Value) -> (Option<i64>, Option<i64>) {
    let (from, to) = match schema["format"].as_str() {
        Some("int32") => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        Some("uint8") => (None, Some(u8::MAX.into())),
        Some("uint16") => (None, Some(u16::MAX.into())),
        Some("uint32") => (None, Some(u32::MAX.into())),
        _ => (None, None),
    };
    (schema["minimum"].as_i64().or(from), schema["maximum"].as_i64().or(to))
}

fn is_in((from, to): (Option<i64>, Option<i64>), value: &Value) -> bool {
    match value.as_i64() {
        Some(number) => from.unwrap_or(i64::MIN) <= number && number <= to.unwrap_or(i64::MAX),
        // Above the greatest i64, which no schema has as a bound.
        None => value.is_u64() && to.is_none(),
    }
}

fn in_range(range: (Option<i64>, Option<i64>)) -> String {
    match range {
        (Some(from), Some(to)) => format!("a whole number from {from} to {to}"),
        (Some(from), None) => format!("a whole number from {from}"),
        (None, Some(to)) => format!("a whole number up to {to}"),
        (None, None) => "a whole number".to_owned(),
    }
}

fn one_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let mut texts = Vec::new();
    for value in values {
        texts.push(match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
    }
    format!("one of {}", texts.join(", "))
}

fn one_by_one(names: &[Value]) -> String {
    names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_that_does_not_fit_is_named_with_what_it_has_to_be() {
        let whole = json!({
            "$defs": {
                "Step": { "type": "object", "required": ["to"], "properties": { "to": { "type": "string" } },
                          "additionalProperties": false },
                "Kind": { "oneOf": [{ "const": "a" }, { "const": "b" }] },
            },
            "properties": {
                "count": { "type": ["integer", "null"], "format": "uint", "minimum": 0 },
                "code": { "type": "integer", "format": "int32" },
                "steps": { "type": "array", "items": { "$ref": "#/$defs/Step" } },
                "kind": { "anyOf": [{ "$ref": "#/$defs/Kind" }, { "type": "null" }] },
                "go": { "anyOf": [{ "const": "next" }, { "$ref": "#/$defs/Step" }] },
                "on": { "type": "boolean" },
                "id": { "type": "string" },
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        let read = |value: Value| (value["id"] == "odd").then(|| "an id is even".to_owned());
        for (arguments, why) in [
            (json!({}), "`id` is missing"),
            (json!({ "id": 3 }), "`id` must be a text"),
            (json!({ "id": "", "count": -1 }), "`count` must be a whole number from 0"),
            (json!({ "id": "", "count": 1.5 }), "`count` must be a whole number from 0"),
            (json!({ "id": "", "code": u64::MAX }), "`code` must be a whole number from -2147483648 to 2147483647"),
            (json!({ "id": "", "steps": "x" }), "`steps` must be a list"),
            (json!({ "id": "", "steps": [{ "to": "x" }, 3] }), "`steps[1]` must be an object with `to`"),
            (json!({ "id": "", "steps": [{}] }), "`steps[0].to` is missing"),
            (json!({ "id": "", "steps": [{ "to": "", "by": 1 }] }), "`steps[0]` has no field `by`; it has to"),
            (json!({ "id": "", "kind": "c" }), "`kind` must be one of a, b"),
            (json!({ "id": "", "go": 3 }), "`go` must be \"next\" or an object with `to`"),
            (json!({ "id": "", "go": { "to": 3 } }), "`go.to` must be a text"),
            (json!({ "id": "", "on": "yes" }), "`on` must be true or false"),
            (json!({ "on": true, "id": "odd" }), "`id`: an id is even"),
            (json!({ "id": "", "of": 1 }), "unknown field `of`; the fields are count, code, steps, kind, go, on, id"),
        ] {
            assert_eq!(misfit(&whole, arguments.as_object().unwrap(), &read), why, "{arguments}");
        }
    }
}
