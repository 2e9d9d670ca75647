//! What a run is about.

use std::fmt;

/// What only one open run may be about: an issue, or a pull request in one workflow. It reads `issue 42`, and is the same
/// text for every name of the same issue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkKey(pub String);

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a commit changes what an open run is about. A run that ends is about nothing any longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkChange {
    /// What it is about from now on.
    pub taken: Vec<WorkKey>,
    /// What other runs may be about again.
    pub freed: Vec<WorkKey>,
}
