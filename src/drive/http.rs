//! One request to a model over HTTP, with retries.

use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest response that is read, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;
/// How often a request is sent.
const TRIES: u32 = 4;
/// The pause before the first retry, if the server names none; it doubles with each retry.
const PAUSE: Duration = Duration::from_millis(500);
/// The status "too many requests".
const TOO_MANY: u16 = 429;
/// Replaces the key in texts.
const HIDDEN: &str = "[the key]";

/// The URL as it may be shown to people: without user name and password.
///
/// # Errors
/// A sentence fragment if `address` is not a URL of a server.
pub(super) fn server(address: &str) -> Result<String, String> {
    let uri: ureq::http::Uri = address.parse().map_err(|error| format!("not a URL: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) => {
            let port = authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            Ok(format!("{scheme}://{}{port}{}", authority.host(), uri.path()))
        }
        _ => Err("not a URL that begins with http:// or https://".to_owned()),
    }
}

/// Posts `body` to `address` and returns the JSON of the response. A status of 429 or 5xx is retried within `limit`,
/// after the time in `Retry-After` or after growing pauses.
///
/// # Errors
/// A sentence fragment: the server cannot be reached, takes longer than `limit`, refuses, or does not respond with
/// JSON. Neither the error nor the result contains the key, whatever the server sends.
pub(super) fn ask_endpoint(address: &str, key: Option<&str>, body: &Value, limit: Duration) -> Result<Value, String> {
    let deadline = Instant::now() + limit;
    let mut tries = 1;
    loop {
        let refused = match ask(address, key, body, deadline.saturating_duration_since(Instant::now()))? {
            // A key that is a word of the request, as for servers that accept any key, is not a secret, and may be part
            // of the reply.
            Ok(text) => return answer(&text, key.filter(|key| !body.to_string().contains(key))),
            Err(refused) => refused,
        };
        let pause = match refused.retry {
            Retry::Never => None,
            _ if tries == TRIES => None,
            Retry::Soon => Some(PAUSE * 2_u32.pow(tries - 1)),
            Retry::After(pause) => Some(pause),
        };
        match pause {
            // A pause beyond the limit would only delay the same answer.
            Some(pause) if Instant::now() + pause < deadline => std::thread::sleep(pause),
            _ if tries > 1 => return Err(format!("{} (asked {tries} times)", refused.why)),
            _ => return Err(refused.why),
        }
        tries += 1;
    }
}

/// A response with an error status.
struct RefusedResponse {
    why: String,
    retry: Retry,
}

/// Whether a retry makes sense.
enum Retry {
    Never,
    Soon,
    /// After the pause that the server asks for.
    After(Duration),
}

/// Sends the request once.
fn ask(
    address: &str,
    key: Option<&str>,
    body: &Value,
    limit: Duration,
) -> Result<Result<String, RefusedResponse>, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false).build();
    let mut request = ureq::Agent::new_with_config(config).post(address);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut answer = request.send_json(body).map_err(|error| without_key(&error.to_string(), key))?;
    let status = answer.status();
    let wait = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_string();
    if status.is_success() {
        return text.map(Ok).map_err(|error| without_key(&error.to_string(), key));
    }
    // Remove the key before cutting the text, because cutting could leave a part of it.
    let said = without_key(&text.unwrap_or_default(), key);
    let first: String = said.lines().next().unwrap_or_default().chars().take(300).collect();
    let retry = match wait {
        // The server will say the same of the same request.
        _ if status.as_u16() != TOO_MANY && !status.is_server_error() => Retry::Never,
        Some(seconds) => Retry::After(Duration::from_secs(seconds)),
        None => Retry::Soon,
    };
    Ok(Err(RefusedResponse { why: format!("it answered {status}: {first}"), retry }))
}

fn answer(text: &str, key: Option<&str>) -> Result<Value, String> {
    let mut value = serde_json::from_str(text).map_err(|error| format!("its response is not JSON: {error}"))?;
    scrub(&mut value, key);
    Ok(value)
}

/// Replaces the key in every string of a JSON value.
fn scrub(value: &mut Value, key: Option<&str>) {
    match value {
        Value::String(text) => *text = without_key(text, key),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, key)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub(field, key)),
        _ => {}
    }
}

/// Replaces the key in a text, also where it is escaped as in JSON.
fn without_key(text: &str, key: Option<&str>) -> String {
    let Some(key) = key.filter(|key| !key.is_empty()) else { return text.to_owned() };
    let quoted = Value::from(key).to_string();
    text.replace(key, HIDDEN).replace(quoted.trim_matches('"'), HIDDEN)
}
