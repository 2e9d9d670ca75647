//! Interviews that resume (rp1): a scratch pad at the end of the document holds every question and answer. There is no
//! other state.
//!
//! [`InterviewDocument`] parses a text: its pad, its sections, and what cannot be read. The edits in `edit` give the
//! whole new text, and are refused unless it parses to exactly the old entries plus the change. [`Script::outlook`]
//! gives the next step. Nothing here does I/O: the same text gives the same result.

mod document;
mod edit;
mod entry;
mod escape;
mod fill;
mod gaps;
mod lost;
mod order;
mod outline;
mod question;
mod reply;
mod scratch;
mod script;
mod stray;

pub use document::InterviewDocument;
pub use edit::EditError;
pub use entry::{InterviewAnswer, PadEntry};
pub use fill::{FillOutcome, SectionChange};
pub use gaps::{Fill, SectionView};
pub use order::{InterviewProgress, Step};
pub use question::InterviewQuestion;
pub use reply::{Metadata, Reply};
pub use scratch::{Fault, Pad, PadHead, PadMode};
pub use script::{Script, ScriptDocument};

#[cfg(test)]
mod tests;
