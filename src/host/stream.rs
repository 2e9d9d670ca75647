//! Pipes and devices that the caller names.

use std::io::Read;
use std::path::Path;

/// Opens a pipe that a shell passes as a file, such as `/dev/fd/63`.
///
/// # Errors
/// The system's error.
pub(crate) fn open_stream(path: &Path) -> std::io::Result<impl Read + use<>> {
    std::fs::File::open(path)
}
