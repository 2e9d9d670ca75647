//! The Mermaid notation (rp1): a `stateDiagram-v2`, alone or in a Markdown document.
//!
//! `lexer` splits a line into tokens, `words` handles entities and keywords, `grammar` parses a line, `diagram`
//! combines the lines. Features that rp1 does not support are refused by name, and nothing is skipped that could be
//! meant as a state or a transition.

mod diagram;
mod grammar;
mod lexer;
#[cfg(test)]
mod tests;
mod words;

pub(super) use diagram::{is_state_diagram, labels_of_stars, parse};
pub(super) use grammar::is_id;
pub(super) use words::{is_keyword, written};
