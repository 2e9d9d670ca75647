//! The verbs: load, decide, commit. One file a verb; every face of flow calls these and nothing below.

mod adopt;
pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod checkout;
mod claim;
mod decide;
mod emit;
mod error;
mod flow;
mod here;
pub(crate) mod init;
mod interview;
mod journal;
mod list;
pub(crate) mod load;
mod log;
pub(crate) mod mode;
mod next;
mod payload;
pub(crate) mod pinned;
pub mod problem;
mod record;
pub(crate) mod replay;
mod resume;
pub(crate) mod select;
mod session_end;
mod set;
mod show;
mod start;
mod status;
mod token;
pub(crate) mod view;
pub(crate) mod workflow;
mod worktrees;

pub use crate::codec::{DocumentKind, schema_text};
pub use crate::engine::Advance;
pub use crate::interview::{Answer as InterviewAnswer, Question as InterviewQuestion};
pub use adopt::AdoptRequest;
pub use claim::ClaimRequest;
pub use emit::EmitRequest;
pub use error::{Error, InterviewFault, Result};
pub use flow::{Flow, LOCK_WAIT, Options};
pub use interview::{
    AnswerRequest, Asked, Clash, FinishRequest, InterviewRequest, Interviewee, Replaces, Review, Said, Settled,
    TalkRequest, read_content,
};
pub use list::{ListFilter, ListStatus, parse_since};
pub use log::{Follow, LogRequest, reader_left};
pub use mode::{ModeListRequest, ModePromptRequest, ModeRequest, ModeScope, ModeWriteRequest};
pub use next::AdvanceRequest;
pub use payload::{ReportRequest, parse_batch};
pub use record::{RecordRequest, Source};
pub use resume::ResumeRequest;
pub use session_end::{HookInput, SessionEndRequest};
pub use set::SetRequest;
pub use start::StartRequest;
pub use status::{StatusRequest, StatusVerb};

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.:/".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// A path as a shell and a command line take it: one that begins with a hyphen is no option.
fn quoted_path(path: &std::path::Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { quoted(&format!("./{path}")) } else { quoted(&path) }
}
