//! Reads documents that the caller gives: files, pipes, standard input.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::disk::{FileType, Links, read_named};
use crate::host::open_stream;
use crate::model::limits;
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::write::record::Source;

/// Reads the file at `path`, relative to the working directory.
///
/// # Errors
/// `input_unreadable` for a file that is missing, too large, not text, or could block the command forever.
pub fn read_source(cx: &Context, path: &Path) -> Result<Source> {
    if path.as_os_str().is_empty() {
        return Err(Error::Usage("the name of the file is empty".to_owned()));
    }
    let origin = path.display().to_string();
    match read_file(cx, path) {
        Ok(bytes) => Source::of(origin, bytes),
        Err(error) => {
            if error.kind() == ErrorKind::NotFound {
                cx.refuse_left_out_path(&cx.absolute(path)?)?;
            }
            Err(Error::input(origin, &error))
        }
    }
}

/// The directories of pipes that shells create for a command.
const OF_SHELLS: [&str; 3] = ["/dev/fd", "/dev/stdin", "/proc"];

/// A FIFO could block the command forever, unless a shell created it (`<(…)`).
fn read_file(cx: &Context, path: &Path) -> io::Result<Vec<u8>> {
    let path = cx.env.cwd.clone().unwrap_or_default().join(path);
    match cx.disk.look(&path, Links::Follow)?.kind {
        FileType::RegularFile => read_named(&*cx.disk, &path, limits::ACTIVITY_BYTES)
            .map_err(|error| if error.kind() == ErrorKind::FileTooLarge { too_large() } else { error }),
        FileType::Directory => Err(unfit("it is a directory")),
        FileType::Fifo if !OF_SHELLS.iter().any(|place| path.starts_with(place)) => {
            Err(unfit("it is a FIFO; use `-` and a redirection"))
        }
        FileType::Socket | FileType::BlockDevice => Err(unfit("it is not a file")),
        // Not opened without links: `/dev/fd/63` is one.
        _ => read_bounded(open_stream(&path)?),
    }
}

impl Source {
    /// Reads standard input.
    ///
    /// # Errors
    /// `input_unreadable` when it cannot be read, is too large, or is not text.
    pub fn of_standard_input() -> Result<Self> {
        let origin = "standard input".to_owned();
        let bytes = read_bounded(io::stdin().lock()).map_err(|error| Error::input(&origin, &error))?;
        Self::of(origin, bytes)
    }

    fn of(origin: String, bytes: Vec<u8>) -> Result<Self> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { origin, text }),
            Err(error) => {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let why = format!("line {line} is not UTF-8 text");
                Err(Error::input(origin, &io::Error::new(ErrorKind::InvalidData, why)))
            }
        }
    }
}

fn read_bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than is allowed shows that there is more, without reading it.
    from.take(limits::ACTIVITY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limits::ACTIVITY_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn unfit(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("larger than {} bytes", limits::ACTIVITY_BYTES))
}
