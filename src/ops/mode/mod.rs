//! `mode`: which skills are active, decided by a policy (seed 001).

mod change;
mod end;
mod load;
mod policy;
mod prompt;
mod say;
mod view;

pub use change::{ModeRequest, ModeWriteRequest};
pub use load::ModeScope;
pub(crate) use load::parse as read_state;
pub use prompt::ModePromptRequest;
pub(crate) use say::clear_command;
pub use view::ModeListRequest;
