//! Paths as arguments of commands.

use std::path::Path;

use crate::model::quoted;

/// A path as an argument of a command: a path that begins with a hyphen must not look like an option.
pub(crate) fn path_argument(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { format!("./{path}") } else { path.into_owned() }
}

/// As [`path_argument`], quoted for a shell.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path_argument(path))
}
