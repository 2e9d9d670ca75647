//! What makes a policy unusable.

/// A rule of a policy that cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// JSON pointer into the document.
    pub pointer: String,
    /// What is wrong, a sentence fragment.
    pub message: String,
}

impl Flaw {
    pub(super) fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}
