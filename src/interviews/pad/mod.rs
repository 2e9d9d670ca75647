//! Interviews that resume (rp1): a scratch pad at the end of the document holds every question and answer. There is no
//! other state.
//!
//! [`Document`] parses a text: its pad, its sections, and what cannot be read. The edits in `edit` give the whole new
//! text, and are refused unless it parses to exactly the old entries plus the change. [`Script::outlook`] gives the
//! next step. Nothing here does I/O: the same text gives the same result.

mod document;
mod edit;
mod escape;
mod fill;
mod gaps;
mod order;
mod outline;
mod reply;
mod scratch;
mod script;
mod stray;

pub use document::Document;
pub use edit::{EditError, Question};
pub use fill::{Filled, SectionChange};
pub use gaps::{Fill, SectionView};
pub use order::{Outlook, Step};
pub use reply::{Metadata, Reply};
pub use scratch::{Answer, Entry, Fault, Head, Mode, Pad};
pub use script::{Script, ScriptDocument};

#[cfg(test)]
mod tests;
