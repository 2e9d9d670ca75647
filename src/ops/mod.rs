//! The verbs: load, decide, commit. One file a verb; every face of flow calls these and nothing below.

mod adopt;
mod claim;
mod doctor;
mod error;
mod flow;
pub(crate) mod init;
mod journal;
mod list;
mod load;
mod log;
pub mod problem;
mod record;
mod resume;
mod select;
mod session_end;
mod show;
mod start;
mod status;
mod validate;
mod verify;
mod view;
mod workflow;

pub use crate::codec::{DocumentKind, schema_text};
pub use crate::engine::Advance;
pub use adopt::AdoptRequest;
pub use claim::ClaimRequest;
pub use doctor::DoctorRequest;
pub use error::{Error, Result};
pub use flow::{Flow, LOCK_WAIT, Options};
pub use list::{ListFilter, parse_since};
pub use log::{Follow, LogRequest};
pub use record::{RecordRequest, Source};
pub use resume::ResumeRequest;
pub use session_end::{HookInput, SessionEndRequest};
pub use start::StartRequest;
pub use status::{StatusRequest, StatusVerb};
