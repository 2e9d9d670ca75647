//! Interviews that resume (rp1). The questions and answers are kept in the document that the interview produces: every
//! verb reads it, decides, and replaces it on stable storage before it returns.

mod agent;
mod answer;
mod close;
mod definition;
mod document_file;
mod error;
mod fault;
mod gone;
mod interviewee;
mod known;
mod link;
mod list;
mod next;
#[doc(hidden)]
pub mod pad;
mod place;
mod start;
mod status;
mod talk;

pub use answer::{AnswerRequest, InterviewAnswerReport, Replaces, answer};
pub(crate) use close::read_content;
pub use close::{FinishRequest, InterviewAbandonReport, InterviewFinishReport, abandon, finish};
pub use definition::script_names;
pub(crate) use definition::{SCRIPT_SUFFIX, own_scripts, read_script, script};
pub use error::{Error, Result};
pub use fault::InterviewFault;
pub use interviewee::{AnswerConflict, AskedQuestion, Interviewee, Resolution, Response, Review};
pub use known::KnownInterview;
pub use link::run_that_waits_elsewhere;
pub use list::{InterviewListReport, OpenInterview, OpenQuestion, list};
pub use next::{EntryStatus, InterviewEntry, InterviewNext, InterviewStep, next};
#[cfg(feature = "mcp")]
pub(crate) use place::document_in_project;
pub use start::{InterviewRequest, InterviewStartReport, start};
pub use status::{InterviewSection, InterviewStatusReport, status};
pub use talk::{InterviewRunReport, InterviewStop, TalkRequest, run};
