//! `setup`: everything that a host needs to work with flow, shown as one change, and taken out again.
//!
//! A file of a host belongs to its owner. What is put into it is a piece with a way back: taking out all pieces gives the
//! bytes of before. See `docs/decisions/021-settings-files.md`.

mod carry_out;
mod entries;
mod note;
mod parts;
mod piece;
mod plan;

pub use carry_out::carry_out;
pub use piece::SetupPart;
pub use plan::{SetupFile, SetupPlan, SetupReport, SetupRequest, SkippedHost, plan};
