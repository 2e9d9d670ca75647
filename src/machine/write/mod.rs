//! Writes a machine as a definition in any notation.

mod graph;
mod mermaid;
mod notations;
mod phases;
mod picture;
mod written;

pub use notations::{mermaid_with_classes, write};
pub use picture::picture;
pub use written::WrittenDefinition;

#[cfg(test)]
mod tests;
