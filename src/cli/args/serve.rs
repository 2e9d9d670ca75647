//! Arguments of `serve`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directories of projects to show together [default: the project of the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The port to listen on [default: the one of last time, otherwise one that is free]
    #[arg(long, value_name = "PORT", value_parser = super::values::port)]
    pub(crate) port: Option<u16>,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) listen: IpAddr,
    /// Listen on an address that other machines reach; what they see is protected by the token alone
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Another host and port under which browsers reach this server, such as localhost:8080 for a forwarded port
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) allow_host: Vec<String>,
    /// Make a new token, so that links that were given out before are refused
    #[arg(long)]
    pub(crate) new_token: bool,
    /// Let pages cancel and unblock runs and answer their questions; otherwise they only show
    #[arg(long)]
    pub(crate) allow_actions: bool,
    /// Look at the files at fixed intervals, where the system does not tell of changes (network file systems)
    #[arg(long)]
    pub(crate) poll: bool,
}
