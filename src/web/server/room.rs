//! The places of connections: so many at once. When all are taken, the client for whom the server has waited longest loses
//! its place to a new one, so no client keeps others out by being silent or by not reading.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

/// The most connections at once.
const CONNECTIONS: usize = 64;
/// How long a client may take nothing while there is something for it.
const DEAF: Duration = Duration::from_secs(5);

/// The places of connections.
#[derive(Debug, Default)]
pub(super) struct Room {
    places: Mutex<Vec<Arc<ConnectionPlace>>>,
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    /// When the client last sent or took something.
    heard: Mutex<Instant>,
    /// Whether the client waits for the server, and not the server for the client.
    is_busy: AtomicBool,
    lost: Notify,
}

impl Room {
    /// A place for a new connection; `None` if there is none, and every other connection waits for its answer.
    pub(super) fn enter(&self) -> Option<Arc<ConnectionPlace>> {
        let mut places = lock(&self.places);
        if places.len() >= CONNECTIONS {
            // A client whose answer is being made is not silent.
            let idle = places.iter().enumerate().filter(|(_, place)| !place.is_busy.load(Ordering::Relaxed));
            let (silent, _) = idle.min_by_key(|(_, place)| *lock(&place.heard))?;
            places.swap_remove(silent).lost.notify_one();
        }
        let place = Arc::new(ConnectionPlace {
            heard: Mutex::new(Instant::now()),
            is_busy: AtomicBool::new(false),
            lost: Notify::new(),
        });
        places.push(Arc::clone(&place));
        Some(place)
    }

    pub(super) fn leave(&self, place: &Arc<ConnectionPlace>) {
        lock(&self.places).retain(|other| !Arc::ptr_eq(other, place));
    }
}

impl ConnectionPlace {
    /// Ends when another connection has got the place.
    pub(super) async fn is_lost(&self) {
        self.lost.notified().await;
    }

    /// Waits for `answer`, and meanwhile keeps the place.
    pub(super) async fn keep<T>(&self, answer: impl Future<Output = T>) -> T {
        self.is_busy.store(true, Ordering::Relaxed);
        let answer = answer.await;
        *lock(&self.heard) = Instant::now();
        self.is_busy.store(false, Ordering::Relaxed);
        answer
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection of a client. Writing fails when the client takes nothing for too long.
#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    place: Arc<ConnectionPlace>,
    /// Runs while the client takes nothing.
    deaf: Option<Pin<Box<Sleep>>>,
}

impl Client {
    pub(super) fn new(stream: TcpStream, place: Arc<ConnectionPlace>) -> Self {
        Self { stream, place, deaf: None }
    }

    /// What a write has come to.
    fn taken(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.deaf = None;
            *lock(&self.place.heard) = Instant::now();
            return written;
        }
        let deaf = self.deaf.get_or_insert_with(|| Box::pin(sleep(DEAF)));
        ready!(deaf.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Client {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            *lock(&self.place.heard) = Instant::now();
        }
        read
    }
}

impl AsyncWrite for Client {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.taken(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.taken(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
