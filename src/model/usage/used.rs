//! What one piece of work used.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::model::limits;
use crate::model::usage::{Amount, Currency, TimeUsed};

/// The longest name of a model, in bytes.
const MODEL_BYTES: usize = 200;

/// What a piece of work used, as it was reported. What is absent is not known, and is not 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Usage {
    /// How many tokens went into models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// How many tokens came out of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The model that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<TimeUsed>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cost {
    /// How much.
    pub amount: Amount,
    /// Of which currency.
    pub currency: Currency,
}

/// A cost as it stands on a command line, `0.42 USD`.
impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((amount, currency)) = text.trim().split_once(' ') else {
            return Err("write an amount and its currency, such as '0.42 USD'".to_owned());
        };
        let amount = amount.parse().map_err(|why| format!("the amount is {amount:?}; {why}"))?;
        let currency = currency.trim();
        let currency = currency.parse().map_err(|why| format!("the currency is {currency:?}; {why}"))?;
        Ok(Self { amount, currency })
    }
}

impl Usage {
    /// Reads what a caller reports.
    ///
    /// # Errors
    /// A sentence that names the field that is wrong.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Object(fields) = value else {
            return Err("usage is not an object with tokens_in, tokens_out, cost, model and duration".to_owned());
        };
        let known = ["tokens_in", "tokens_out", "cost", "model", "duration"];
        if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("usage.{other} is not known; usage has {}", known.join(", ")));
        }
        Ok(Self {
            tokens_in: whole(fields, "tokens_in")?,
            tokens_out: whole(fields, "tokens_out")?,
            cost: cost(fields)?,
            model: model(fields)?,
            duration: text_as(fields, "usage.", "duration")?,
        })
    }

    /// Reads what a document says: what is not valid is not known.
    #[must_use]
    pub fn of_document(value: &Value) -> Self {
        let Value::Object(fields) = value else { return Self::default() };
        Self {
            tokens_in: whole(fields, "tokens_in").unwrap_or_default(),
            tokens_out: whole(fields, "tokens_out").unwrap_or_default(),
            cost: cost(fields).unwrap_or_default(),
            model: model(fields).unwrap_or_default(),
            duration: text_as(fields, "usage.", "duration").unwrap_or_default(),
        }
    }

    /// The name of a model, if it is one.
    ///
    /// # Errors
    /// What to write instead.
    pub fn model_named(name: &str) -> Result<String, String> {
        if name.trim().is_empty() || name.len() > MODEL_BYTES || name.chars().any(char::is_control) {
            return Err(format!("write a name of at most {MODEL_BYTES} bytes, without control characters"));
        }
        Ok(name.to_owned())
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The fields that are known, as a document has them.
    #[must_use]
    pub fn fields(&self) -> Map<String, Value> {
        match json!(self) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// The same sentences on every way in.
impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// A field that is there and not null.
fn given<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f Value> {
    fields.get(key).filter(|value| !value.is_null())
}

fn whole(fields: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    match given(fields, key) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) if number <= limits::COUNTER => Ok(Some(number)),
            _ => Err(format!("usage.{key} is {value:.40}; write a whole number from 0 to {}", limits::COUNTER)),
        },
    }
}

fn text_as<T: FromStr<Err = String>>(fields: &Map<String, Value>, place: &str, key: &str) -> Result<Option<T>, String> {
    match given(fields, key) {
        None => Ok(None),
        Some(Value::String(text)) => {
            let parsed = text.parse().map(Some);
            parsed.map_err(|why| format!("{place}{key} is {}; {why}", shown(text)))
        }
        Some(other) => Err(format!("{place}{key} is {other:.40}; write it as a text, in quotes")),
    }
}

/// The beginning of a text, in quotes.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

fn cost(fields: &Map<String, Value>) -> Result<Option<Cost>, String> {
    let fields = match given(fields, "cost") {
        None => return Ok(None),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("usage.cost is not an object with amount and currency".to_owned()),
    };
    let amount = text_as(fields, "usage.cost.", "amount")?;
    let currency = text_as(fields, "usage.cost.", "currency")?;
    match (amount, currency) {
        (Some(amount), Some(currency)) => Ok(Some(Cost { amount, currency })),
        (None, _) => Err("usage.cost.amount is missing".to_owned()),
        (_, None) => Err("usage.cost.currency is missing".to_owned()),
    }
}

fn model(fields: &Map<String, Value>) -> Result<Option<String>, String> {
    match given(fields, "model") {
        None => Ok(None),
        Some(Value::String(name)) => match Usage::model_named(name) {
            Ok(name) => Ok(Some(name)),
            Err(why) => Err(format!("usage.model is {}; {why}", shown(name))),
        },
        Some(_) => Err("usage.model is not a text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_names_its_field() {
        for (value, wanted) in [
            (json!([]), "usage is not an object with tokens_in, tokens_out, cost, model and duration"),
            (
                json!({ "tokens": 1 }),
                "usage.tokens is not known; usage has tokens_in, tokens_out, cost, model, duration",
            ),
            (json!({ "tokens_in": -1 }), "usage.tokens_in is -1; write a whole number from 0 to 281474976710656"),
            (json!({ "tokens_out": 1.5 }), "usage.tokens_out is 1.5; write a whole number from 0 to 281474976710656"),
            (
                json!({ "cost": { "amount": 0.42, "currency": "USD" } }),
                "usage.cost.amount is 0.42; write it as a text, in quotes",
            ),
            (
                json!({ "cost": { "amount": "0.42", "currency": "usd" } }),
                "usage.cost.currency is \"usd\"; write three capital letters, such as USD",
            ),
            (json!({ "cost": { "amount": "1" } }), "usage.cost.currency is missing"),
            (
                json!({ "model": "" }),
                "usage.model is \"\"; write a name of at most 200 bytes, without control characters",
            ),
            (json!({ "duration": 12 }), "usage.duration is 12; write it as a text, in quotes"),
        ] {
            assert_eq!(Usage::from_value(&value).unwrap_err(), wanted);
            assert!(Usage::of_document(&value).is_unknown(), "{value}");
        }
    }

    #[test]
    fn null_is_as_good_as_absent_and_0_is_a_number() {
        let usage = Usage::from_value(&json!({ "tokens_in": 0, "tokens_out": null, "cost": null })).unwrap();
        assert_eq!((usage.tokens_in, usage.tokens_out, usage.is_unknown()), (Some(0), None, false));
    }
}
