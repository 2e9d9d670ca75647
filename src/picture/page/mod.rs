//! Pages in HTML: the same functions give the pages of `flow serve`, their live changes and the report in one file.
//!
//! No page has a `style=` attribute or a script of its own, and all text is escaped. Elements with `data-key` are the
//! parts that change: a browser puts a newer version in the place of the part with the same key.

mod act;
mod document;
mod file;
mod interviews;
mod markdown;
mod pieces;
mod run;
mod runs;
mod sessions;
mod workflows;

pub use document::{Page, Part, Place, STYLE, document, message_page, shell};
pub use file::file_page;
pub use interviews::{ProjectInterviews, interview_page, interviews_page};
pub use pieces::OfProjects;
pub use run::log::{LOG_PAGE, says};
pub(crate) use run::looks::{decision, look_of_activity, look_of_step};
pub use run::run_page;
pub use run::view::{LogPart, RunPage};
pub(super) use run::workflow::marks;
pub use runs::{ProjectCards, runs_page};
pub(crate) use runs::{heading, hint, look_of, look_of_group, look_of_verdict};
pub use sessions::{ProjectSessions, sessions_page};
pub use workflows::{ProjectWorkflows, UsedWorkflow, WorkflowPage, workflow_page, workflows_page};
