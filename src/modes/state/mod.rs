//! Modes: which begin and end, decided as a whole before anything is written (RCS). Pure.

mod board;
mod change;
mod draft;
mod over;
mod refusal;
mod visible;

pub(crate) use board::MERGE;
pub use board::{Active, Board, ModeState};
pub use change::{ChangedFile, ModeEnd, RequestDetails, RequestResult};
pub use draft::ModeDraft;
pub use over::{IsDead, says_ended, why_over};
pub use refusal::ModeRefusal;
pub use visible::Visible;
