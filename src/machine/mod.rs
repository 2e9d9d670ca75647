//! Compiles workflow definitions.
//!
//! A definition is text in one of several notations. A front end (`phases`, `mermaid`, `graph`) turns the text into a
//! [`MachineSource`]: names with their places. `markdown` finds the diagram in a document. [`compile`] checks the
//! source by the same rules for every notation; nothing else makes a [`Machine`]. Each problem becomes a
//! [`Diagnostic`], and all of them are reported at once. A file that is not a workflow of flow at all is told as such
//! (`foreign`).
//!
//! No I/O here: the catalog finds the texts.

mod check;
mod diagnostic;
mod difference;
mod foreign;
mod form;
mod gates;
mod graph;
mod lines;
#[expect(clippy::module_inception, reason = "one noun a file, and the noun of this room is the machine")]
mod machine;
mod markdown;
mod merge_mark;
mod mermaid;
mod notation;
mod phases;
mod pinned;
mod prose;
mod requires;
mod source;
mod unread;
mod unsaid;
mod write;

pub use check::{Compiled, compile};
pub use diagnostic::{Diagnostic, Severity, render};
pub use difference::{Difference, in_words};
pub use form::{CompiledText, Form, compile_text};
#[doc(hidden)]
pub use graph::StateTypes;
pub use machine::{Machine, MachineError, Requirement, State, Transition};
pub(crate) use markdown::heading_text;
pub(crate) use merge_mark::merge_mark;
pub use notation::Notation;
#[doc(hidden)]
pub use prose::prose;
pub use source::{MachineSource, Name, SourceRequirement, SourceState, SourceTransition};
#[doc(hidden)]
pub use unsaid::{description, unsaid};
pub use write::{WrittenDefinition, mermaid_with_classes, picture, write};
