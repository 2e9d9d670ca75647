//! The dashboard in the browser: `flow serve`. No rule lives here: pages are made by [`crate::picture`] from what the
//! feeds of [`crate::runs`] say.
//!
//! The server listens on this machine only, unless it is told otherwise. Other users of the machine, and pages of other
//! sites in the same browser, are kept out by one guard in front of every path (`server/guard.rs`).

#[cfg_attr(not(feature = "serve"), path = "no_server.rs")]
mod server;

use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

pub use server::serve;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The directories of the projects; otherwise the one of the context.
    pub dirs: Vec<PathBuf>,
    /// The address to listen on.
    pub listen: IpAddr,
    /// The port; otherwise the one of last time, or any.
    pub port: Option<u16>,
    /// Whether `listen` may be an address that other machines reach.
    pub allow_remote: bool,
    /// Further values of the `Host` header to accept, such as that of a forwarded port.
    pub allow_hosts: Vec<String>,
    /// Whether to make a new token, so that links that were given out before are refused.
    pub new_token: bool,
    /// Whether pages may cancel and unblock runs, and answer their questions.
    pub allow_actions: bool,
    /// Whether to look at files at fixed intervals instead of watching them.
    pub poll: bool,
    /// Whether to open the pages in the user's browser.
    pub open: bool,
}

/// The report of `serve`, when the server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServeReport {
    /// The address to open in a browser. The part after `#` is the token, which browsers do not send.
    pub url: String,
    /// The address and the port on which it listens.
    pub address: String,
    /// The names of the projects, with which their pages begin.
    pub projects: Vec<String>,
    /// Whether pages may act.
    pub actions: bool,
    /// Why port and token are not remembered for the next time.
    pub warning: Option<String>,
    /// Why the pages could not be opened in a browser, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_opened: Option<String>,
}
