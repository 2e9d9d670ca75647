//! The Mermaid notation (rp1): a `stateDiagram-v2`, alone or in a Markdown document.
//!
//! `lexer` cuts a line into tokens, `words` knows what Mermaid reads as something else than text, `grammar` says what a line is, `diagram` puts the lines together. What rp1 does
//! not support is refused by its name, and nothing is skipped that could have been meant as a state or a transition.

mod diagram;
mod grammar;
mod lexer;
#[cfg(test)]
mod tests;
mod words;

pub(super) use diagram::{is_state_diagram, labels_of_stars, parse};
pub(super) use grammar::is_id;
pub(super) use words::{is_keyword, written};
