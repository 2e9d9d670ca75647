//! The places that keep the logs of shared runs: see [`crate::store::shared`].

mod git;
mod names;

pub use git::GitCarrier;
