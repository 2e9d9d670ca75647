//! Accepts connections: so many at once ([`Room`]), and none that keeps the server waiting.

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
use tokio::time::{sleep, timeout};

use crate::model::Kind;
use crate::runs::Result;
use crate::web::server::answer::{Refusal, for_programs, protect, refused};
use crate::web::server::guard::{BODY, RequestGuard, is_for_programs};
use crate::web::server::room::{Client, ConnectionPlace, Room};

/// How long the head of a request may take, its body, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(5);
/// The longest head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// The most headers of a request.
const HEADERS: usize = 100;

/// Serves connections until the process ends.
pub(super) async fn serve(listener: TcpListener, guard: Arc<RequestGuard>, router: Router) -> Result<()> {
    let room = Arc::new(Room::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, for instance.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(place) = room.enter() else { continue };
        let (room, guard, router) = (Arc::clone(&room), Arc::clone(&guard), router.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = connection(stream, &place, &guard, &router) => {}
                () = place.is_lost() => {}
            }
            room.leave(&place);
        });
    }
}

async fn connection(stream: TcpStream, place: &Arc<ConnectionPlace>, guard: &RequestGuard, router: &Router) {
    // Answers are small, and a page waits for them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| place.keep(answer(request, guard, router)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Client::new(stream, Arc::clone(place))), service)
        .with_upgrades();
    // A client that breaks off or sends nonsense ends its own connection only.
    let _ = connection.await;
}

/// Answers a request, if the guard lets it through.
async fn answer(
    request: Request<Incoming>,
    guard: &RequestGuard,
    router: &Router,
) -> std::result::Result<Response<Body>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let for_program = is_for_programs(parts.uri.path());
    let mut response = match guard.judge(&parts) {
        Err(refusal) => refused(refusal),
        Ok(visitor) => {
            parts.extensions.insert(visitor);
            // An action comes as a whole, or not at all.
            match timeout(HEAD, to_bytes(Body::new(body), BODY)).await {
                Ok(Ok(body)) => {
                    let request = Request::from_parts(parts, Body::from(body));
                    let Ok(response) = TowerToHyperService::new(router.clone()).call(request).await;
                    response
                }
                _ => refused(Refusal::new(
                    StatusCode::REQUEST_TIMEOUT,
                    Kind::Io,
                    "request_incomplete",
                    "the request did not come to its end within five seconds",
                )),
            }
        }
    };
    if for_program {
        response = for_programs(response);
    }
    protect(response.headers_mut());
    Ok(response)
}
