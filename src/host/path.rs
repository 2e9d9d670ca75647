//! Paths by their words alone.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`, by its words alone: links are not followed.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
