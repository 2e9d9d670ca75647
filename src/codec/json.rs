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

/// Reads a sequence of JSON values, each without repeated keys, and with the offset behind the value before it.
///
/// # Errors
/// As [`parse_json`].
pub(crate) fn parse_json_values(text: &str) -> Result<Vec<(usize, Value)>, serde_json::Error> {
    let mut values = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Single>();
    let mut behind = 0;
    while let Some(value) = stream.next() {
        let Single(value) = value?;
        values.push((behind, value));
        behind = stream.byte_offset();
    }
    Ok(values)
}

/// Reads the JSON of another program. A text that was cut in the middle of a character ends in half of one (a lone surrogate,
/// `\ud83d`), which is not valid JSON text; JavaScript writes it anyway. It is read as U+FFFD.
///
/// # Errors
/// A syntax error.
pub(crate) fn parse_foreign_json(text: &str) -> Result<Value, serde_json::Error> {
    match serde_json::from_str(text) {
        Err(_) if text.contains("\\u") => serde_json::from_str(&without_lone_surrogates(text)),
        read => read,
    }
}

fn without_lone_surrogates(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
            (Some(Half::First), Some(Half::Second)) => &rest[..12],
            (Some(_), _) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // Of another escape the second character may be a backslash.
            (None, _) => rest.get(..2).unwrap_or(rest),
        };
        whole.push_str(escape);
        rest = &rest[escape.len()..];
    }
    whole + rest
}

/// A half of a character outside of the basic plane.
enum Half {
    First,
    Second,
}

/// The half with whose escape a text begins.
fn surrogate(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
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

    #[test]
    fn half_a_character_of_another_program_is_read_as_one_that_is_not_known() {
        for (text, read) in [
            (r#"{"a":"x\ud83d y"}"#, "x\u{fffd} y"),
            (r#"{"a":"\ude00\ud83d"}"#, "\u{fffd}\u{fffd}"),
            (r#"{"a":"\ud83d\ude00 \ud83d"}"#, "\u{1f600} \u{fffd}"),
            (r#"{"a":"\\ud83d \uD83D"}"#, r"\ud83d \u{fffd}"),
            (r#"{"a":"\ud83d\u0041"}"#, "\u{fffd}A"),
        ] {
            let read = read.replace(r"\u{fffd}", "\u{fffd}");
            assert_eq!(parse_foreign_json(text).unwrap()["a"], read.as_str(), "{text}");
        }
        for text in [r#"{"a":"\ud8"}"#, r#"{"a":"\u"#, "{\"a\":\"\\ud83d\"", r#"{"a":"\ud83dé"#] {
            assert!(parse_foreign_json(text).is_err(), "{text}");
        }
    }
}
