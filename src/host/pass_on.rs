//! Passes the output of a command on to where this program writes, without waiting for its reader.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// How much may wait for a slow reader before the command has to wait as well, in bytes.
const WAITING: usize = 1 << 20;

/// Where the output of a command goes as it comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PassOn {
    /// To where this program writes the same.
    #[default]
    Through,
    /// To standard error, since standard output is taken.
    ToStderr,
    /// Nowhere. Standard input is taken as well, so the command reads nothing.
    Nowhere,
}

/// A standard stream to which the command writes. Where both go to one terminal, all of it counts as standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// Output on its way. A thread writes it, since a reader that stops reading must not keep this program from seeing signals,
/// the time limit and the end of the command. Dropping it waits until the reader has everything, or is gone.
#[derive(Debug)]
pub(super) struct Passing {
    parts: Option<Sender<(Stream, Vec<u8>)>>,
    waiting: Arc<AtomicUsize>,
    writer: Option<JoinHandle<Option<io::Error>>>,
}

impl Passing {
    pub(super) fn begin(to: PassOn) -> io::Result<Self> {
        let waiting = Arc::new(AtomicUsize::new(0));
        if to == PassOn::Nowhere {
            return Ok(Self { parts: None, waiting, writer: None });
        }
        let (parts, received) = channel();
        let count = Arc::clone(&waiting);
        let writer =
            std::thread::Builder::new().name("output".to_owned()).spawn(move || write(to, &received, &count))?;
        Ok(Self { parts: Some(parts), waiting, writer: Some(writer) })
    }

    /// Whether the reader keeps up, so that more of the output can be taken.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Acquire) < WAITING
    }

    pub(super) fn take(&self, stream: Stream, part: &[u8]) {
        let Some(parts) = &self.parts else { return };
        self.waiting.fetch_add(part.len(), Ordering::AcqRel);
        // The thread receives until the sender is dropped.
        let _ = parts.send((stream, part.to_owned()));
    }

    /// Waits until the reader has everything, or is gone. Gives the error for which a part was not written, if there is one.
    pub(super) fn end(&mut self) -> Option<io::Error> {
        drop(self.parts.take());
        self.writer.take()?.join().ok()?
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.end();
    }
}

fn write(to: PassOn, parts: &Receiver<(Stream, Vec<u8>)>, waiting: &AtomicUsize) -> Option<io::Error> {
    let (mut out, mut err) = (Ok(()), Ok(()));
    for (stream, part) in parts {
        match stream {
            Stream::Out if to == PassOn::Through => write_part(&mut io::stdout(), &part, &mut out),
            Stream::Out | Stream::Err => write_part(&mut io::stderr(), &part, &mut err),
        }
        waiting.fetch_sub(part.len(), Ordering::AcqRel);
    }
    // A reader that wants no more has lost nothing.
    out.and(err).err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Writes a part unless an earlier one could not be written. The command goes on then, since its end is what counts.
fn write_part(to: &mut dyn Write, part: &[u8], so_far: &mut io::Result<()>) {
    if so_far.is_ok() {
        *so_far = to.write_all(part).and_then(|()| to.flush());
    }
}
