//! Answers, and the headers that all of them have.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use maud::Markup;
use serde::Serialize;

use crate::web::server::gate::Refusal;

/// What a page may do: load the script and the style sheet of this server, and talk to it. Text becomes markup in one
/// place of the script, the policy `flow`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types flow";
const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers that every answer has, whatever it is.
pub(super) fn protect(headers: &mut HeaderMap) {
    let all = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (COOP, "same-origin"),
        (CORP, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in all {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

pub(super) fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

pub(super) fn html(status: StatusCode, page: Markup) -> Response<Body> {
    with_type(status, "text/html; charset=utf-8", page.into_string())
}

pub(super) fn text(status: StatusCode, message: &str) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", format!("{message}\n"))
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_string(value) {
        Ok(text) => with_type(status, "application/json", text),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the answer is not valid JSON"),
    }
}

pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    text(refusal.status, &refusal.message)
}
