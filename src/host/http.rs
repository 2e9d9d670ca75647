//! Requests over HTTP, through the proxy and with the certificates that the environment names.
//!
//! A fault never shows a URL, which may be signed, nor a header.

use std::io::ErrorKind;
use std::time::Duration;

use crate::host::cloud::CloudEnv;

/// How many connections are kept open.
const IDLE: usize = 16;

/// A client for one server. It keeps connections open, and follows no redirect.
#[derive(Debug, Clone)]
pub struct HttpClient {
    agent: ureq::Agent,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct HttpRequest<'a> {
    /// `GET`, `PUT` and so on.
    pub method: &'static str,
    /// Where to.
    pub url: &'a str,
    /// Names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body, if there is one.
    pub body: Option<&'a [u8]>,
    /// The longest body of a response that is read, in bytes.
    pub most: u64,
    /// How long it may take in all.
    pub limit: Duration,
}

/// What the server answered.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status code, also of an error.
    pub status: u16,
    headers: ureq::http::HeaderMap,
    /// The bytes behind the head; empty if they are too many.
    pub body: Vec<u8>,
    /// Whether the body is longer than may be read. Then it is not here.
    pub is_too_long: bool,
}

impl HttpAnswer {
    /// A header, if it is there and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpFault {
    /// Nothing was sent. The text says why.
    NotSent(String),
    /// The request may have arrived. The text says why that is not known.
    Unknown(String),
}

impl HttpFault {
    /// The reason in one line, for a sentence.
    #[must_use]
    pub fn why(self) -> String {
        match self {
            Self::NotSent(why) | Self::Unknown(why) => why,
        }
    }
}

impl HttpClient {
    /// A client for the server of `url`.
    ///
    /// # Errors
    /// A sentence: the proxy's URL is not one, or the file of certificates cannot be read.
    pub fn new(env: &CloudEnv, url: &str) -> Result<Self, String> {
        let mut proxy = None;
        if let Some(named) = env.proxy_for(url) {
            let Ok(usable) = ureq::Proxy::new(&named.url) else {
                return Err(format!("{} is not the URL of an HTTP proxy", named.variable));
            };
            proxy = Some(usable);
        }
        Ok(Self::with(proxy, roots(env)?))
    }

    /// A client for a server of this machine or its cloud, which no proxy reaches.
    #[must_use]
    pub fn direct() -> Self {
        Self::with(None, ureq::tls::RootCerts::WebPki)
    }

    fn with(proxy: Option<ureq::Proxy>, roots: ureq::tls::RootCerts) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A signed request is for one server.
            .max_redirects(0)
            .proxy(proxy)
            .tls_config(ureq::tls::TlsConfig::builder().root_certs(roots).build())
            .max_idle_connections(IDLE)
            .max_idle_connections_per_host(IDLE)
            .user_agent(concat!("flow/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: ureq::Agent::new_with_config(config) }
    }

    /// Sends a request once.
    ///
    /// # Errors
    /// [`HttpFault`].
    pub fn send(&self, request: &HttpRequest<'_>) -> Result<HttpAnswer, HttpFault> {
        let mut head = ureq::http::Request::builder().method(request.method).uri(request.url);
        for (name, value) in request.headers {
            head = head.header(*name, *value);
        }
        let limit = Some(request.limit);
        let unfit = |_| HttpFault::NotSent("the address or a header is not valid in HTTP".to_owned());
        let answer = match request.body {
            Some(body) => {
                let sent = self.agent.configure_request(head.body(body).map_err(unfit)?).timeout_global(limit).build();
                self.agent.run(sent)
            }
            None => {
                let sent = self.agent.configure_request(head.body(()).map_err(unfit)?).timeout_global(limit).build();
                self.agent.run(sent)
            }
        };
        let (parts, mut body) = answer.map_err(|error| fault(&error))?.into_parts();
        let (status, headers) = (parts.status.as_u16(), parts.headers);
        let too_long = |headers| HttpAnswer { status, headers, body: Vec::new(), is_too_long: true };
        // Before megabytes are brought that nothing reads.
        if body.content_length().is_some_and(|length| length > request.most) {
            return Ok(too_long(headers));
        }
        match body.with_config().limit(request.most).read_to_vec() {
            Ok(body) => Ok(HttpAnswer { status, headers, body, is_too_long: false }),
            Err(ureq::Error::BodyExceedsLimit(_)) => Ok(too_long(headers)),
            // It was sent, and what was answered is not known.
            Err(error) => Err(HttpFault::Unknown(fault(&error).why())),
        }
    }
}

/// The certificates that are trusted: those that the environment names, otherwise Mozilla's.
fn roots(env: &CloudEnv) -> Result<ureq::tls::RootCerts, String> {
    let Some((variable, path)) = env.certificates() else { return Ok(ureq::tls::RootCerts::WebPki) };
    let text = CloudEnv::file(&path).map_err(|why| format!("{variable} names a file that cannot be used: {why}"))?;
    let text = text.ok_or_else(|| format!("{variable} names {}, which does not exist", path.display()))?;
    let mut certificates = Vec::new();
    for item in ureq::tls::parse_pem(text.as_bytes()) {
        if let Ok(ureq::tls::PemItem::Certificate(certificate)) = item {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(format!("{variable} names {}, which has no certificate in PEM form", path.display()));
    }
    Ok(ureq::tls::RootCerts::new_with_certs(&certificates))
}

/// What an error says, without a URL.
fn fault(error: &ureq::Error) -> HttpFault {
    let not_sent = |why: &str| HttpFault::NotSent(why.to_owned());
    let unknown = |why: &str| HttpFault::Unknown(why.to_owned());
    match error {
        ureq::Error::HostNotFound => not_sent("the host of the address was not found"),
        ureq::Error::BadUri(_) | ureq::Error::InvalidProxyUrl => not_sent("the address is not valid"),
        ureq::Error::ConnectionFailed => not_sent("no connection was made"),
        ureq::Error::ConnectProxyFailed(_) => not_sent("the proxy refused the connection"),
        ureq::Error::Tls(_) | ureq::Error::TlsRequired => not_sent("no TLS connection was made"),
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => not_sent("no connection in time"),
        ureq::Error::Timeout(_) => unknown("no answer in time"),
        ureq::Error::Protocol(_) => unknown("the answer is not HTTP"),
        ureq::Error::Io(error) => of_io(error),
        error if is_about_certificate(&error.to_string()) => not_sent(CERTIFICATE),
        _ => unknown("the request failed"),
    }
}

const CERTIFICATE: &str =
    "the certificate of the server is not trusted; SSL_CERT_FILE may name a file with the one that issued it";

fn is_about_certificate(text: &str) -> bool {
    text.contains("certificate") || text.contains("UnknownIssuer")
}

fn of_io(error: &std::io::Error) -> HttpFault {
    if is_about_certificate(&error.to_string()) {
        return HttpFault::NotSent(CERTIFICATE.to_owned());
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => HttpFault::NotSent("the connection was refused".to_owned()),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
            HttpFault::NotSent("the network does not lead to the server".to_owned())
        }
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => HttpFault::Unknown("the connection was closed before the answer".to_owned()),
        _ => HttpFault::Unknown(format!("the connection failed: {}", error.kind())),
    }
}
