//! The places that keep the logs of shared runs: see [`crate::store::shared`].

mod git;
mod last_commit;
mod marks;
mod names;
#[cfg(feature = "network")]
mod s3;
mod unreadable;

pub use git::GitCarrier;
#[cfg(feature = "network")]
pub use s3::{S3Carrier, S3Place};
