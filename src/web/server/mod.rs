//! The server, in builds with the feature `serve`.
//!
//! One thread serves all connections, one more reads files, and a few are for actions, which may wait for a writer. `axum::serve`
//! waits for ever for the head of a request, so connections are accepted here: a limited number, each with limits of time.

mod accept;
mod actions;
mod answer;
mod files;
mod gate;
mod hide;
mod live;
mod memory;
mod pages;
mod places;
mod room;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use crate::runs::Context;
use crate::web::server::gate::Gate;
use crate::web::server::live::Live;
use crate::web::server::memory::Memory;
use crate::web::{Error, Result, ServeReport, Serving};

/// Serves these projects until the process ends. Calls `announce` when the server listens.
///
/// # Errors
/// [`Error::Remote`], [`Error::Listen`], and those of reading the projects.
pub fn serve(cx: &Context, serving: &Serving, announce: impl FnOnce(&ServeReport)) -> Result<()> {
    if !serving.listen.is_loopback() && !serving.allow_remote {
        return Err(Error::Remote(serving.listen));
    }
    let cx = &cx.remembering_who_began_it();
    let (sender, hints) = mpsc::unbounded_channel();
    let live = Arc::new(Live::open(cx, serving, &sender)?);
    let mut memory = Memory::recall(cx, &live.roots());
    if serving.new_token {
        memory.forget_token();
    }
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(1 + live::ACTIONS)
        .build()
        .map_err(Error::Start)?;
    runtime.block_on(async {
        let listener = listen(serving, memory.port()).await?;
        let address = listener.local_addr().map_err(Error::Start)?;
        let warning = memory.remember(address.port());
        let token = memory.token().to_owned();
        let gate = Gate::new(address, &serving.allow_hosts, &token, live.actions);
        tokio::spawn(live::keep(Arc::clone(&live), (sender, hints)));
        let url = format!("http://{address}/#token={token}");
        announce(&ServeReport {
            url,
            address: address.to_string(),
            projects: live.names(),
            actions: live.actions,
            warning,
        });
        accept::serve(listener, Arc::new(gate), pages::router(live)).await
    })
}

/// Listens on the port that was asked for, otherwise on that of last time, otherwise on any.
async fn listen(serving: &Serving, last: Option<u16>) -> Result<TcpListener> {
    let bind = async |port: u16| {
        let address = SocketAddr::new(serving.listen, port);
        TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })
    };
    match (serving.port, last) {
        (Some(port), _) => bind(port).await,
        (None, Some(last)) => match bind(last).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
        (None, None) => bind(0).await,
    }
}
