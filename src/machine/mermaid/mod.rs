//! The Mermaid notation (rp1): a `stateDiagram-v2`, alone or in a Markdown document.
//!
//! `lexer` splits a line into tokens, `words` handles entities and keywords, `grammar` parses a line, `reader` tells what
//! is wrong with one, `statements` leaves behind what takes several lines, `diagram` combines the lines. Features that a
//! run cannot follow are refused by name, and nothing is skipped that could be meant as a state or a transition.

mod diagram;
mod grammar;
mod lexer;
mod reader;
mod statements;
#[cfg(test)]
mod tests;
mod words;

pub(super) use diagram::{is_header, is_state_diagram, labels_of_stars, parse};
pub(super) use words::{is_id, is_keyword, written};
