//! Accepts connections: so many at once, and none that keeps the server waiting.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::web::Result;
use crate::web::server::answer::{protect, refused, text};
use crate::web::server::gate::{BODY, Gate};

/// The most connections at once.
const CONNECTIONS: usize = 64;
/// How long the head of a request may take, its body, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(5);
/// The longest head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// The most headers of a request.
const HEADERS: usize = 100;

/// Serves connections for ever.
pub(super) async fn serve(listener: TcpListener, gate: Arc<Gate>, router: Router) -> Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, for instance.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
        let (gate, router) = (Arc::clone(&gate), router.clone());
        tokio::spawn(async move {
            connection(stream, &gate, &router).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, gate: &Gate, router: &Router) {
    // Answers are small, and a page waits for them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| answer(request, gate, router));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // A client that breaks off or sends nonsense ends its own connection only.
    let _ = connection.await;
}

/// Answers a request, if the gate lets it through.
async fn answer(
    request: Request<Incoming>,
    gate: &Gate,
    router: &Router,
) -> std::result::Result<Response<Body>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let mut response = match gate.judge(&parts) {
        Err(refusal) => refused(&refusal),
        Ok(caller) => {
            parts.extensions.insert(caller);
            // An action comes as a whole, or not at all.
            match timeout(HEAD, to_bytes(Body::new(body), BODY)).await {
                Ok(Ok(body)) => {
                    let request = Request::from_parts(parts, Body::from(body));
                    let Ok(response) = TowerToHyperService::new(router.clone()).call(request).await;
                    response
                }
                _ => text(StatusCode::REQUEST_TIMEOUT, "the request did not come to its end"),
            }
        }
    };
    protect(response.headers_mut());
    Ok(response)
}
