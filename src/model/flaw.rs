//! What makes a definition unusable that fits its schema.

/// A part of a definition that contradicts another, or names what is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// JSON pointer into the document.
    pub pointer: String,
    /// What is wrong, a sentence fragment.
    pub message: String,
}

impl Flaw {
    /// A flaw of what `pointer` points at.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}
