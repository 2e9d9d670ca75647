//! What a change of a file would be.

use std::path::Path;

use similar::TextDiff;

/// The change from `old` to `new` as a unified diff; `None` stands for a file that does not exist.
pub(super) fn unified(path: &Path, old: Option<&str>, new: Option<&str>) -> String {
    let name = path.display().to_string();
    let before = if old.is_some() { &name } else { NO_FILE };
    let after = if new.is_some() { &name } else { NO_FILE };
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    diff.unified_diff().header(before, after).to_string()
}

/// What `patch` and git take for a file that does not exist.
const NO_FILE: &str = "/dev/null";
