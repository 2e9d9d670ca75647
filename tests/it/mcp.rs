//! `flow mcp`: what a client of the Model Context Protocol can do, and that no client can harm it.

#[cfg(feature = "mcp")]
mod answers;
#[cfg(feature = "mcp")]
pub mod client;
#[cfg(feature = "mcp")]
mod exec;
#[cfg(feature = "mcp")]
mod lines;
#[cfg(feature = "mcp")]
mod page;
#[cfg(feature = "mcp")]
mod sessions;
#[cfg(feature = "mcp")]
mod tools;

#[cfg(not(feature = "mcp"))]
#[test]
fn without_the_feature_the_server_says_what_is_missing() {
    let sandbox = crate::support::Sandbox::new();
    assert_eq!(sandbox.flow(["mcp", "--json"]).exits(2).error()["code"], "no_mcp");
}
