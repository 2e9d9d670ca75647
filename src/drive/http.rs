//! One question to a model over HTTP.

use std::time::{Duration, Instant};

use serde_json::Value;

/// How much of an answer is read, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;
/// How often a question is put.
const TRIES: u32 = 4;
/// The pause before it is put again, when the server names none; twice as long each time.
const PAUSE: Duration = Duration::from_millis(500);
/// The status of a server that was asked too often.
const TOO_MANY: u16 = 429;
/// What stands in the place of the key.
const HIDDEN: &str = "[the key]";

/// Whether questions can be put to `address`, as people may see it: without a user's name and password.
///
/// # Errors
/// A sentence fragment when it is no address of a server.
pub(super) fn server(address: &str) -> Result<String, String> {
    let uri: ureq::http::Uri = address.parse().map_err(|error| format!("no address: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) => {
            let port = authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            Ok(format!("{scheme}://{}{port}{}", authority.host(), uri.path()))
        }
        _ => Err("no address that begins with http:// or https://".to_owned()),
    }
}

/// Posts `body` to `address` and gives the JSON that comes back. A server that is busy or broken is asked again after as long
/// as it says, or after longer and longer pauses, while there is time.
///
/// # Errors
/// A sentence fragment: nobody is there, it takes longer than `limit`, it refuses, or it answers no JSON. The key is never
/// in it, nor in the answer, whatever the server says.
pub(super) fn ask_endpoint(address: &str, key: Option<&str>, body: &Value, limit: Duration) -> Result<Value, String> {
    let deadline = Instant::now() + limit;
    let mut tries = 1;
    loop {
        let refused = match ask(address, key, body, deadline.saturating_duration_since(Instant::now()))? {
            // A key that is a word of the question, as for servers that want any, is no secret in an answer, and may be it.
            Ok(text) => return answer(&text, key.filter(|key| !body.to_string().contains(key))),
            Err(refused) => refused,
        };
        let again = refused.again.filter(|_| tries < TRIES);
        let pause = again.map(|told| told.unwrap_or(PAUSE * 2_u32.pow(tries - 1)));
        match pause {
            Some(pause) if Instant::now() + pause < deadline => std::thread::sleep(pause),
            _ if tries > 1 => return Err(format!("{} (asked {tries} times)", refused.why)),
            _ => return Err(refused.why),
        }
        tries += 1;
    }
}

/// An answer that is none.
struct Refused {
    why: String,
    /// Whether it is worth asking again, and after which time when the server says so.
    again: Option<Option<Duration>>,
}

/// Asks once.
fn ask(address: &str, key: Option<&str>, body: &Value, limit: Duration) -> Result<Result<String, Refused>, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false).build();
    let mut request = ureq::Agent::new_with_config(config).post(address);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut answer = request.send_json(body).map_err(|error| without_key(&error.to_string(), key))?;
    let status = answer.status();
    let told = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_string();
    if status.is_success() {
        return text.map(Ok).map_err(|error| without_key(&error.to_string(), key));
    }
    // The key goes before the text is cut, which might leave a part of it.
    let said = without_key(&text.unwrap_or_default(), key);
    let first: String = said.lines().next().unwrap_or_default().chars().take(300).collect();
    let is_passing = status.as_u16() == TOO_MANY || status.is_server_error();
    let again = is_passing.then(|| told.map(Duration::from_secs));
    Ok(Err(Refused { why: format!("it answered {status}: {first}"), again }))
}

fn answer(text: &str, key: Option<&str>) -> Result<Value, String> {
    let mut value = serde_json::from_str(text).map_err(|error| format!("it answered no JSON: {error}"))?;
    scrub(&mut value, key);
    Ok(value)
}

/// Takes the key out of every text.
fn scrub(value: &mut Value, key: Option<&str>) {
    match value {
        Value::String(text) => *text = without_key(text, key),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, key)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub(field, key)),
        _ => {}
    }
}

/// The text with the key, also as JSON writes it, replaced.
fn without_key(text: &str, key: Option<&str>) -> String {
    let Some(key) = key.filter(|key| !key.is_empty()) else { return text.to_owned() };
    let quoted = Value::from(key).to_string();
    text.replace(key, HIDDEN).replace(quoted.trim_matches('"'), HIDDEN)
}
