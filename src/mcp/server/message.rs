//! What a line of a client is: a message, or which error it deserves.

use rmcp::model::{ClientJsonRpcMessage, ErrorData};
use serde_json::{Value, json};

use crate::model::limits::MESSAGE_DEPTH;
use crate::runs::parse_foreign_json;

/// A line, read.
#[derive(Debug)]
pub(super) enum ClientLine {
    /// A request or a notification.
    Message(Box<ClientJsonRpcMessage>),
    /// Not a message; the answer is this line.
    Refused(Value),
    /// Nothing to answer: a blank line, a response to a request that was never made, an unknown notification.
    Nothing,
}

impl ClientLine {
    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Self {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Self::Nothing;
        }
        if depth(line) > MESSAGE_DEPTH {
            return Self::unreadable(&format!("the line is nested more than {MESSAGE_DEPTH} levels deep"));
        }
        let Ok(text) = std::str::from_utf8(line) else { return Self::unreadable("the line is not UTF-8 text") };
        match parse_foreign_json(text) {
            Ok(value) => Self::of(value),
            Err(error) => Self::unreadable(&format!("the line is not JSON: {error}")),
        }
    }

    /// A line that cannot be read as JSON.
    pub(super) fn unreadable(why: &str) -> Self {
        Self::Refused(refusal(Value::Null, &ErrorData::parse_error(why.to_owned(), None)))
    }

    fn of(value: Value) -> Self {
        let id = value.get("id");
        let why = match value.get("method") {
            // Two older versions of the protocol allow batches, and no client sends them.
            _ if value.is_array() => "a line holds one message, not a list",
            _ if !value.is_object() => "not a message",
            _ if value["jsonrpc"] != "2.0" => "`jsonrpc` is not \"2.0\"",
            Some(Value::String(_)) if id.is_none_or(is_id) => return Self::parsed(value),
            Some(Value::String(_)) => "the id is neither a text nor an integer",
            Some(_) => "the method is not a text",
            None if value.get("result").is_some() || value.get("error").is_some() => return Self::Nothing,
            None => "the message has no method",
        };
        // The client waits for an answer with its id, also if the protocol would not have taken it as one.
        let id = id.filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
        Self::Refused(refusal(id, &ErrorData::invalid_request(why, None)))
    }

    fn parsed(value: Value) -> Self {
        let id = value.get("id").cloned();
        match (serde_json::from_value(value), id) {
            (Ok(message), _) => Self::Message(Box::new(message)),
            // A notification gets no answer, whatever is wrong with it.
            (Err(_), None) => Self::Nothing,
            (Err(error), Some(id)) => Self::Refused(refusal(id, &ErrorData::invalid_params(error.to_string(), None))),
        }
    }
}

/// Whether the protocol takes it as an id.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

fn refusal(id: Value, error: &ErrorData) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// How deep the text nests lists and objects, so far as it is JSON. Parsing it is not safe before this is known.
fn depth(line: &[u8]) -> usize {
    let (mut open, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => open += 1,
            b']' | b'}' if !in_text => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_texts_nest_nothing() {
        for (text, deep) in [("3", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#"["[[\"[[", []]"#, 2), ("]]]]{", 1)] {
            assert_eq!(depth(text.as_bytes()), deep, "{text}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        for (line, id, code) in [
            ("nonsense", json!(null), -32700),
            ("[]", json!(null), -32600),
            ("3", json!(null), -32600),
            (r#"{"id": 7}"#, json!(7), -32600),
            (r#"{"jsonrpc": "2.0", "id": "a", "method": 3}"#, json!("a"), -32600),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, json!(null), -32600),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, json!(1.5), -32600),
            (r#"{"jsonrpc": "2.0", "id": 18446744073709551615, "method": "ping"}"#, json!(u64::MAX), -32600),
            (r#"{"jsonrpc": "2.0", "id": 5}"#, json!(5), -32600),
        ] {
            let ClientLine::Refused(answer) = ClientLine::read(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}");
        }
    }

    #[test]
    fn what_asks_for_no_answer_gets_none() {
        for line in ["", " \r\n", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"error":{}}"#] {
            assert!(matches!(ClientLine::read(line.as_bytes()), ClientLine::Nothing), "{line}");
        }
    }
}
