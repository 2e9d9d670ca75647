//! Starts the server: reads the projects, listens, and accepts connections.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use crate::host::secret;
use crate::model::{Kind, Problem};
use crate::runs::{Context, Error, Result};
use crate::web::server::guard::RequestGuard;
use crate::web::server::live::Live;
use crate::web::server::memory::Memory;
use crate::web::server::{accept, live, pages};
use crate::web::{ServeReport, Serving};

/// The message of an error before the server listens.
const UNSTARTED: &str = "cannot start the server";

/// Serves these projects until the process ends. Calls `announce` when the server listens.
///
/// # Errors
/// `remote_address`, `cannot_listen`, and those of reading the projects.
pub fn serve(cx: &Context, serving: &Serving, announce: impl FnOnce(&ServeReport)) -> Result<()> {
    if !serving.listen.is_loopback() && !serving.allow_remote {
        let message =
            format!("{} can be reached from other machines, which would see the runs of this one", serving.listen);
        let help = "leave out `--listen`, and forward the port over ssh; or add `--allow-remote` in a network that you \
                    trust";
        return Err(Problem::new(Kind::Usage, "remote_address", message).help(help).into());
    }
    let cx = &cx.remembering_who_began_it();
    let (sender, hints) = mpsc::unbounded_channel();
    let live = Arc::new(Live::open(cx, serving, &sender)?);
    let mut memory = Memory::recall(cx, &live.roots());
    if serving.new_token {
        memory.token = secret();
    }
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // One reads for all pages, the others act.
        .max_blocking_threads(1 + live::ACTIONS)
        .build()
        .map_err(|error| Error::io(UNSTARTED, &error))?;
    runtime.block_on(async {
        let listener = listen(serving, memory.port).await?;
        let address = listener.local_addr().map_err(|error| Error::io(UNSTARTED, &error))?;
        let warning = memory.remember(address.port());
        let token = memory.token.clone();
        let guard = RequestGuard::new(address, &serving.allow_hosts, &token, live.actions);
        tokio::spawn(live::keep(Arc::clone(&live), (sender, hints)));
        let url = format!("http://{address}/#token={token}");
        let not_opened = if serving.open { memory.open(&url) } else { None };
        announce(&ServeReport {
            url,
            address: address.to_string(),
            projects: live.names(),
            actions: live.actions,
            warning,
            not_opened,
        });
        accept::serve(listener, Arc::new(guard), pages::router(live)).await
    })
}

/// Listens on the port that was asked for, otherwise on that of last time, otherwise on any.
async fn listen(serving: &Serving, last: Option<u16>) -> Result<TcpListener> {
    if let Some(port) = serving.port {
        return bind(serving.listen, port).await;
    }
    // Another program may have the port of last time by now.
    if let Some(last) = last
        && let Ok(listener) = bind(serving.listen, last).await
    {
        return Ok(listener);
    }
    bind(serving.listen, 0).await
}

async fn bind(ip: IpAddr, port: u16) -> Result<TcpListener> {
    let address = SocketAddr::new(ip, port);
    TcpListener::bind(address).await.map_err(|error| {
        Problem::new(Kind::Io, "cannot_listen", format!("cannot listen on {address}"))
            .caused_by(&error)
            .help("leave out `--port` to take one that is free")
            .into()
    })
}
