//! The server of the Model Context Protocol (MCP): an agent's host calls verbs as tools. No rule lives here.
//!
//! A tool takes the request of a verb and answers with the verb's report. One table says which verb a tool stands for and
//! which fields of the request it shows. The protocol's messages are `rmcp`'s; reading lines and refusing what is not a
//! message is done here.

#[cfg_attr(not(feature = "mcp"), path = "no_server.rs")]
mod server;

pub use server::serve;

/// Which tools to offer; by default all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offer {
    /// Only the tools that most runs need.
    pub core: bool,
    /// Only the tools that write nothing.
    pub read_only: bool,
}
