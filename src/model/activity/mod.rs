//! Activities: records of bounded pieces of work.

mod document;
mod outline;
mod words;

pub use document::{Activity, begun_document, fill};
pub use words::{ActivityStatus, ActivityType, Confidence, StepStatus};
