//! The guard in front of every path: which requests are answered at all.
//!
//! A server on this machine is reached by every user of it, and by every page in the user's browser. A page of another
//! site cannot read answers without being allowed to, but could send requests, and with a name that it lets point here
//! (DNS rebinding) it could read them as well. So the names of the host, the origin and the token are checked, before any
//! path is looked at.

use std::net::SocketAddr;

use axum::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    SEC_WEBSOCKET_PROTOCOL, TRANSFER_ENCODING,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::model::Kind;
use crate::web::server::answer::Refusal;

/// The path of the live feed.
pub(super) const SOCKET: &str = "/ws";
/// Where programs ask, and where pages act.
const API: &str = "/api";
/// The longest body of a request, in bytes.
pub(super) const BODY: usize = 1 << 20;
/// What a request without the token is told.
pub(super) const NEEDS_TOKEN: &str = "this needs the token of the server, as `Authorization: Bearer TOKEN`";
/// The protocol of the live feed.
pub(super) const PROTOCOL: &str = "flow.v1";
/// Before the token, in the protocols that a socket offers: browsers let pages set no other header.
const TOKEN_PROTOCOL: &str = "flow.token.";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request that the guard lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visitor {
    /// Whether the request has the token. Without it, there is nothing but the shell of a page and what it is made of.
    pub(super) is_known: bool,
}

/// Whether what is at this path is for programs: its answers are JSON, whatever they say.
pub(super) fn is_for_programs(path: &str) -> bool {
    path.strip_prefix(API).is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn wrong_host(message: &str) -> Refusal {
    Refusal::new(StatusCode::MISDIRECTED_REQUEST, Kind::Usage, "wrong_host", message)
}

fn foreign(message: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, Kind::Unsafe, "foreign_request", message)
}

/// The token is missing, or it is another one.
pub(super) fn unknown(message: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, Kind::Unsafe, "wrong_token", message)
}

fn wrong_length(status: StatusCode, message: &str) -> Refusal {
    Refusal::new(status, Kind::Usage, "wrong_length", message)
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// To read a page, or something for programs.
    Page,
    /// To open the live feed.
    Socket,
    /// To change something.
    Action,
}

/// Decides on every request before its path is looked at.
#[derive(Debug)]
pub(super) struct RequestGuard {
    /// The values of `Host` that mean this server.
    hosts: Vec<String>,
    token: [u8; 32],
    /// Whether a page may act.
    actions: bool,
}

impl RequestGuard {
    pub(super) fn new(address: SocketAddr, more: &[String], token: &str, actions: bool) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            // A browser sends the name that the person typed.
            hosts.extend([format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]);
        }
        hosts.extend(more.iter().map(|host| host.to_ascii_lowercase()));
        Self { hosts, token: digest(token), actions }
    }

    /// Judges a request before anything else looks at it.
    pub(super) fn judge(&self, request: &Parts) -> Result<Visitor, Refusal> {
        let host = match only(&request.headers, &HOST) {
            Some(host) if self.is_own(host) => host,
            _ => {
                return Err(wrong_host(
                    "this is not the host that the server was started for; a forwarded port needs --allow-host HOST:PORT",
                ));
            }
        };
        // A request may name its host in its first line, too, as requests to a proxy do.
        if let Some(target) = request.uri.authority()
            && !self.is_own(target.as_str())
        {
            return Err(wrong_host("the address names another host"));
        }
        let aim = self.aim(request)?;
        if let Some(why) = from_elsewhere(&request.headers, host, aim) {
            return Err(foreign(why));
        }
        match self.token_of(&request.headers, aim) {
            Some(true) => Ok(Visitor { is_known: true }),
            Some(false) => Err(unknown("the token is not the one of this server")),
            None if aim == Aim::Page && !is_for_programs(request.uri.path()) => Ok(Visitor { is_known: false }),
            None => Err(unknown(NEEDS_TOKEN)),
        }
    }

    /// What the request is for, by its method, its path and its body.
    fn aim(&self, request: &Parts) -> Result<Aim, Refusal> {
        let (headers, path) = (&request.headers, request.uri.path());
        if request.method == Method::POST && self.actions && path.starts_with("/api/v1/") {
            return action(headers);
        }
        if request.method == Method::OPTIONS {
            return Err(foreign("this server does not tell other sites what they may ask for"));
        }
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let message = if self.actions {
                "nothing can be done here: actions are POSTs to addresses below /api/v1"
            } else {
                "this server only shows; `flow serve --allow-actions` begins one whose pages may act"
            };
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Kind::Usage, "wrong_method", message));
        }
        for header in [CONTENT_LENGTH, TRANSFER_ENCODING] {
            if let Some(value) = headers.get(header)
                && value != "0"
            {
                return Err(wrong_length(StatusCode::BAD_REQUEST, "a request that only reads has no content"));
            }
        }
        Ok(if path == SOCKET { Aim::Socket } else { Aim::Page })
    }

    /// Whether this is a name of this server, to the letter.
    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// Whether the request has the right token; `None` if it has none.
    fn token_of(&self, headers: &HeaderMap, aim: Aim) -> Option<bool> {
        let token = if aim == Aim::Socket {
            offered_token(headers)?
        } else {
            let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
            let Some(token) = value.strip_prefix("Bearer ") else { return Some(false) };
            token
        };
        // Digests are compared, so the time that it takes reveals nothing about the token.
        Some(digest(token) == self.token)
    }
}

/// An action, by its headers.
fn action(headers: &HeaderMap) -> Result<Aim, Refusal> {
    // Pages of other sites can send forms and plain text without asking, and JSON only after asking.
    if only(headers, &CONTENT_TYPE) != Some("application/json") {
        let (status, message) =
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type of an action is application/json");
        return Err(Refusal::new(status, Kind::Usage, "wrong_content_type", message));
    }
    let Ok(len) = only(headers, &CONTENT_LENGTH).unwrap_or_default().parse::<usize>() else {
        return Err(wrong_length(StatusCode::LENGTH_REQUIRED, "an action has a Content-Length"));
    };
    // With another encoding the length would not be what is read.
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err(wrong_length(StatusCode::LENGTH_REQUIRED, "an action has no Transfer-Encoding"));
    }
    if len > BODY {
        let message = format!("the content of an action has at most {BODY} bytes");
        return Err(wrong_length(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    Ok(Aim::Action)
}

/// The token among the protocols that a socket offers.
fn offered_token(headers: &HeaderMap) -> Option<&str> {
    for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        // What is not text is no token.
        for protocol in value.to_str().unwrap_or_default().split(',') {
            if let Some(token) = protocol.trim().strip_prefix(TOKEN_PROTOCOL) {
                return Some(token);
            }
        }
    }
    None
}

/// Why a request comes from another site; `None` if it does not.
fn from_elsewhere(headers: &HeaderMap, host: &str, aim: Aim) -> Option<&'static str> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let own = format!("http://{host}");
    match origins.next() {
        // Browsers leave it out when a person opens an address.
        None if aim == Aim::Page => {}
        None => return Some("the live feed and actions need an Origin"),
        Some(origin) if origin.as_bytes().eq_ignore_ascii_case(own.as_bytes()) && origins.next().is_none() => {}
        Some(_) => return Some("the request comes from a page of another site"),
    }
    match headers.get(&FETCH_SITE).map(HeaderValue::as_bytes) {
        // `none`: no page led to the request.
        None | Some(b"same-origin" | b"none") => None,
        Some(_) => Some("the request comes from another site"),
    }
}

/// The value of a header that must be there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    if values.next().is_none() { Some(first) } else { None }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    const TOKEN: &str = "0123456789abcdef";

    fn judge(target: &str, method: &str, headers: &[(&str, &str)]) -> Result<bool, u16> {
        judge_by(false, target, method, headers)
    }

    fn judge_by(actions: bool, target: &str, method: &str, headers: &[(&str, &str)]) -> Result<bool, u16> {
        let guard =
            RequestGuard::new("127.0.0.1:7000".parse().unwrap(), &["box.example:8080".to_owned()], TOKEN, actions);
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard.judge(&parts).map(|caller| caller.is_known).map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn only_the_names_of_this_server_are_answered() {
        for host in ["127.0.0.1:7000", "localhost:7000", "LOCALHOST:7000", "[::1]:7000", "box.example:8080"] {
            assert_eq!(judge("/", "GET", &[("host", host)]), Ok(false), "{host}");
            assert_eq!(judge(&format!("http://{host}/"), "GET", &[("host", host)]), Ok(false), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:7001",
            "127.0.0.1:7000.",
            "localhost.evil.example:7000",
            "user@127.0.0.1:7000",
            "",
        ] {
            assert_eq!(judge("/", "GET", &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(judge("/", "GET", &[]), Err(421));
        assert_eq!(judge("/", "GET", &[("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")]), Err(421));
        assert_eq!(judge("http://evil.example/", "GET", &[("host", "127.0.0.1:7000")]), Err(421));
        assert_eq!(judge("http://x@127.0.0.1:7000/", "GET", &[("host", "127.0.0.1:7000")]), Err(421));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let of = |name: &str, value: &str| judge("/", "GET", &[("host", "localhost:7000"), (name, value)]);
        assert_eq!(of("origin", "http://localhost:7000"), Ok(false));
        for origin in
            ["null", "http://evil.example", "https://localhost:7000", "http://127.0.0.1:7000", "http://localhost:7001"]
        {
            assert_eq!(of("origin", origin), Err(403), "{origin}");
        }
        assert_eq!(of("sec-fetch-site", "none"), Ok(false));
        for site in ["cross-site", "same-site", ""] {
            assert_eq!(of("sec-fetch-site", site), Err(403), "{site}");
        }
    }

    #[test]
    fn a_wrong_token_is_refused_and_none_is_a_stranger() {
        let of = |value: &str| judge("/", "GET", &[("host", "localhost:7000"), ("authorization", value)]);
        assert_eq!(of(&format!("Bearer {TOKEN}")), Ok(true));
        for value in
            ["Bearer ", "Bearer 0123", "Basic Zm9v", &format!("bearer {TOKEN}"), &format!("Bearer {TOKEN}0"), TOKEN]
        {
            assert_eq!(of(value), Err(401), "{value}");
        }
    }

    #[test]
    fn the_live_feed_needs_origin_and_token() {
        let (host, origin) = (("host", "localhost:7000"), ("origin", "http://localhost:7000"));
        let protocols = format!("flow.v1, flow.token.{TOKEN}");
        let protocol = ("sec-websocket-protocol", protocols.as_str());
        assert_eq!(judge("/ws", "GET", &[host, origin, protocol]), Ok(true));
        assert_eq!(judge("/ws", "GET", &[host, protocol]), Err(403));
        assert_eq!(judge("/ws", "GET", &[host, origin]), Err(401));
        assert_eq!(judge("/ws", "GET", &[host, origin, ("sec-websocket-protocol", "flow.token.x")]), Err(401));
        assert_eq!(judge("/ws", "GET", &[host, ("origin", "http://evil.example"), protocol]), Err(403));
        // A page cannot set this header for a socket, and a program has no need to.
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(judge("/ws", "GET", &[host, origin, ("authorization", bearer.as_str())]), Err(401));
    }

    #[test]
    fn nothing_is_written_and_no_body_is_taken() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"] {
            let target = if method == "CONNECT" { "localhost:7000" } else { "/" };
            assert_eq!(judge(target, method, &[("host", "localhost:7000")]), Err(405), "{method}");
        }
        assert_eq!(judge("/", "OPTIONS", &[("host", "localhost:7000")]), Err(403));
        assert_eq!(judge("/", "GET", &[("host", "localhost:7000"), ("content-length", "4")]), Err(400));
        assert_eq!(judge("/", "GET", &[("host", "localhost:7000"), ("transfer-encoding", "chunked")]), Err(400));
        assert_eq!(judge("/", "HEAD", &[("host", "localhost:7000"), ("content-length", "0")]), Ok(false));
    }

    #[test]
    fn an_action_needs_to_be_allowed_and_a_page_of_this_server_with_the_token_and_json() {
        const TARGET: &str = "/api/v1/demo/runs/r1/cancel";
        let bearer = format!("Bearer {TOKEN}");
        let full = [
            ("host", "localhost:7000"),
            ("origin", "http://localhost:7000"),
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("content-length", "20"),
        ];
        assert_eq!(judge_by(true, TARGET, "POST", &full), Ok(true));
        assert_eq!(judge_by(false, TARGET, "POST", &full), Err(405));
        for method in ["PUT", "DELETE", "PATCH"] {
            assert_eq!(judge_by(true, TARGET, method, &full), Err(405), "{method}");
        }
        for target in ["/", "/ws", "/api/v1", "/demo/runs/r1", "/API/v1/demo/runs/r1/cancel"] {
            assert_eq!(judge_by(true, target, "POST", &full), Err(405), "{target}");
        }
        let with = |name: &str, value: Option<&'static str>| {
            let mut headers: Vec<_> = full.into_iter().filter(|(known, _)| *known != name).collect();
            headers.extend(value.map(|value| (name, value)));
            judge_by(true, TARGET, "POST", &headers)
        };
        for origin in [None, Some("null"), Some("http://evil.example"), Some("http://127.0.0.1:7000")] {
            assert_eq!(with("origin", origin), Err(403), "{origin:?}");
        }
        for token in [None, Some("Bearer x")] {
            assert_eq!(with("authorization", token), Err(401), "{token:?}");
        }
        for kind in [None, Some("text/plain"), Some("application/json; charset=utf-8"), Some("application/jsonx")] {
            assert_eq!(with("content-type", kind), Err(415), "{kind:?}");
        }
        for len in [None, Some("-1"), Some("x")] {
            assert_eq!(with("content-length", len), Err(411), "{len:?}");
        }
        assert_eq!(with("content-length", Some("1048577")), Err(413));
        assert_eq!(with("transfer-encoding", Some("chunked")), Err(411));
        assert_eq!(with("sec-fetch-site", Some("same-site")), Err(403));
    }
}
