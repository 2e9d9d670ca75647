//! Reads JSON that a person typed, and refuses a repeated key, which is probably a mistake. `serde_json` would silently
//! take the last value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads JSON without repeated keys.
///
/// # Errors
/// A syntax error or a repeated key, with line and column.
pub(crate) fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    let Single(value) = serde_json::from_str(text)?;
    Ok(value)
}

/// Reads a sequence of JSON values, each without repeated keys.
///
/// # Errors
/// As [`parse_json`].
pub(crate) fn parse_json_values(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Single>() {
        let Single(value) = value?;
        values.push(value);
    }
    Ok(values)
}

/// A value whose objects have no repeated keys.
struct Single(Value);

impl<'de> Deserialize<'de> for Single {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(from.deserialize_any(Reader)?))
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // Only a number that is not finite has none, and JSON has no such numbers.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Single(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            // Before its value is read, so that the place in the error is that of the key.
            if object.contains_key(&key) {
                let key: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            let Single(value) = fields.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_it_is_and_repeated_keys_are_refused() {
        let text = r#"{"b":[1,-2,0.5,1e99,18446744073709551615,true,null,"x\u00e9\n"],"a":{"b":{}}}"#;
        assert_eq!(parse_json(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        let told = parse_json("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}").unwrap_err().to_string();
        assert_eq!(told, "the key \"c\" is there twice at line 2 column 18");
        assert!(parse_json("{\"a\": 1} x").is_err());
    }
}
