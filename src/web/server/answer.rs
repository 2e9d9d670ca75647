//! Answers, and the headers that all of them have.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use maud::Markup;
use serde::Serialize;

use crate::model::{Explain, Kind, Problem};

/// What a page may do: load the script and the style sheet of this server, and talk to it. Text becomes markup in one
/// place of the script, the policy `flow`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types flow";
/// What the content of a file may do: nothing.
const SANDBOX: &str = "default-src 'none'; sandbox; frame-ancestors 'none'; require-trusted-types-for 'script'";
const SINCE: HeaderName = HeaderName::from_static("flow-since");
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
        // The content of a file has a stricter policy already.
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

/// Says which changes an answer knows already: `since` of the live feed.
pub(super) fn of_moment(mut answer: Response<Body>, since: &str) -> Response<Body> {
    if let Ok(since) = since.parse() {
        answer.headers_mut().insert(SINCE, since);
    }
    answer
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

/// A file of other people's: never a page, whatever it holds. `kind` is the type of an image; anything else is text.
pub(super) fn file(kind: Option<&'static str>, bytes: Vec<u8>, from: u64, len: u64) -> Response<Body> {
    if bytes.is_empty() && from > 0 {
        let mut answer = text(StatusCode::RANGE_NOT_SATISFIABLE, &format!("the file has {len} bytes"));
        if let Ok(range) = format!("bytes */{len}").parse() {
            answer.headers_mut().insert(header::CONTENT_RANGE, range);
        }
        return answer;
    }
    let (last, is_part) = (from + bytes.len() as u64, (bytes.len() as u64) < len);
    let status = if is_part { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut answer = with_type(status, kind.unwrap_or("text/plain; charset=utf-8"), bytes);
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
    if is_part && let Ok(range) = format!("bytes {from}-{}/{len}", last.saturating_sub(1)).parse() {
        answer.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    answer
}

/// What was asked for, or why it cannot be given.
pub(super) type Found<T> = Result<T, Problem>;

/// There is nothing at an address.
pub(super) fn missing(what: &str) -> Problem {
    Problem::new(Kind::NotFound, "not_found", what)
}

pub(super) fn failed(error: impl Explain) -> Problem {
    error.problem()
}

/// The status of a failure.
pub(super) fn status_of(problem: &Problem) -> StatusCode {
    match problem.kind {
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Usage => StatusCode::BAD_REQUEST,
        Kind::Unsafe => StatusCode::FORBIDDEN,
        Kind::Refused | Kind::NeedsHuman | Kind::Held => StatusCode::CONFLICT,
        Kind::Damaged | Kind::Io => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The answer to a program: a report, or an error as commands give it.
pub(super) fn reported<T: Serialize>(found: Found<T>) -> Response<Body> {
    match found {
        Ok(report) => json(StatusCode::OK, &report),
        Err(problem) => json(status_of(&problem), &serde_json::json!({ "error": problem })),
    }
}
