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
const JSON: &str = "application/json";
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

/// Why a request is not answered as it asks to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) problem: Problem,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, kind: Kind, code: &'static str, message: &str) -> Self {
        Self { status, problem: Problem::new(kind, code, message) }
    }

    /// What the server itself could not do.
    pub(super) fn failure(message: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Kind::Io, "answer_failed", message)
    }

    /// What a status alone says: the library that leads requests to their addresses refuses some by itself.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => missing("there is nothing at this address").into(),
            StatusCode::METHOD_NOT_ALLOWED => {
                let message = "what is at this address is asked for with another method, see `Allow`";
                Self::new(status, Kind::Usage, "wrong_method", message)
            }
            _ if status.is_client_error() => {
                Self::new(status, Kind::Usage, "usage", "the address or the request cannot be read")
            }
            _ => Self { status, ..Self::failure("the request could not be answered") },
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { status: status_of(&problem), problem }
    }
}

/// The answer that says why, as text. [`for_programs`] makes an object of it.
pub(super) fn refused(refusal: impl Into<Refusal>) -> Response<Body> {
    let refusal = refusal.into();
    let mut answer =
        with_type(refusal.status, "text/plain; charset=utf-8", format!("{}\n", refusal.problem.one_line()));
    answer.extensions_mut().insert(refusal);
    answer
}

/// The answer as programs get it: every failure is an object as commands give it, wherever it comes from.
pub(super) fn for_programs(mut answer: Response<Body>) -> Response<Body> {
    let status = answer.status();
    let failed = status.is_client_error() || status.is_server_error();
    if !failed || answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == JSON) {
        return answer;
    }
    let refusal = answer.extensions_mut().remove::<Refusal>().unwrap_or_else(|| Refusal::of_status(status));
    let object = serde_json::json!({ "error": refusal.problem }).to_string();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.remove(header::CONTENT_LENGTH);
    *answer.body_mut() = object.into();
    answer
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_string(value) {
        Ok(text) => with_type(status, JSON, text),
        Err(_) => refused(Refusal::failure("the answer is not valid JSON")),
    }
}

/// A file of other people's: never a page, whatever it holds. `kind` is the type of an image; anything else is text.
pub(super) fn file(kind: Option<&'static str>, bytes: Vec<u8>, from: u64, len: u64) -> Response<Body> {
    if bytes.is_empty() && from > 0 {
        let message = format!("the file has {len} bytes, so it has no byte {from}");
        let status = StatusCode::RANGE_NOT_SATISFIABLE;
        let mut answer = refused(Refusal::new(status, Kind::Usage, "no_such_part", &message));
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
pub(super) type WebResult<T> = Result<T, Problem>;

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
pub(super) fn reported<T: Serialize>(found: WebResult<T>) -> Response<Body> {
    match found {
        Ok(report) => json(StatusCode::OK, &report),
        Err(problem) => json(status_of(&problem), &serde_json::json!({ "error": problem })),
    }
}
