//! The places that keep the logs of shared runs: see [`crate::store::shared`].

mod git;

pub use git::GitCarrier;
