//! Flaws of a definition that its schema does not detect.

/// A part of a definition that contradicts another part or refers to something that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// JSON pointer into the document.
    pub pointer: String,
    /// What is wrong, as a sentence fragment.
    pub message: String,
}

impl Flaw {
    /// A flaw of the value at `pointer`.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}
