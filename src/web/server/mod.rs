//! The server, in builds with the feature `serve`.
//!
//! One thread serves all connections, one more reads files, and a few are for actions, which may wait for a writer. `axum::serve`
//! has no time limit for the head of a request, so connections are accepted here: a limited number, each with time limits.

mod accept;
mod actions;
mod answer;
mod files;
mod guard;
mod hide;
mod listen;
mod live;
mod memory;
mod pages;
mod places;
mod respond;
mod room;
mod socket;

pub use listen::serve;
