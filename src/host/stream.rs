//! Pipes and devices that the caller names.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// Opens a pipe that a shell passes as a file, such as `/dev/fd/63`.
///
/// # Errors
/// The system's error.
pub(crate) fn open_stream(path: &Path) -> std::io::Result<impl Read + use<>> {
    std::fs::File::open(path)
}

/// Whether a stream is the null device.
pub(crate) fn is_null_device(stream: impl AsFd) -> bool {
    let (Ok(stream), Ok(null)) = (rustix::fs::fstat(stream), rustix::fs::stat("/dev/null")) else { return false };
    (stream.st_mode, stream.st_rdev) == (null.st_mode, null.st_rdev)
}
