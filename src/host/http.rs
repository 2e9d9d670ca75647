//! One question to a model over HTTP.

use std::time::Duration;

use serde_json::Value;

/// How much of an answer is read, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// Whether questions can be put to `address`, as people may see it: without a user's name and password.
///
/// # Errors
/// A sentence fragment when it is no address of a server.
pub fn server(address: &str) -> Result<String, String> {
    let uri: ureq::http::Uri = address.parse().map_err(|error| format!("no address: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) => {
            let port = authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            Ok(format!("{scheme}://{}{port}{}", authority.host(), uri.path()))
        }
        _ => Err("no address that begins with http:// or https://".to_owned()),
    }
}

/// Posts `body` to `address` and gives the JSON that comes back.
///
/// # Errors
/// A sentence fragment: nobody is there, it takes longer than `limit`, it refuses, or it answers no JSON. The key is never
/// in it.
pub fn ask_endpoint(address: &str, key: Option<&str>, body: &Value, limit: Duration) -> Result<Value, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false).build();
    let mut request = ureq::Agent::new_with_config(config).post(address);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut answer = request.send_json(body).map_err(|error| error.to_string())?;
    let status = answer.status();
    let text =
        answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_string().map_err(|error| error.to_string())?;
    if !status.is_success() {
        let first: String = text.lines().next().unwrap_or_default().chars().take(300).collect();
        return Err(format!("it answered {status}: {first}"));
    }
    serde_json::from_str(&text).map_err(|error| format!("it answered no JSON: {error}"))
}
