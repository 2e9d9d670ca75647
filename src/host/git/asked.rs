//! A running `git`, and what it answers.
//!
//! Its two pipes are read as they fill, without a thread for each: the memory allocator reserves much address space for
//! a thread, and that may be limited. Several commands can run at the same time, since none is waited for until its
//! answer is wanted.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::host::child::kill;

/// How much of git's output is read, in bytes.
const OUTPUT_BYTES: usize = 8 << 20;
/// How much of git's error output is kept, in bytes.
const COMPLAINT_BYTES: usize = 4 << 10;
/// How much is read from a pipe at a time, in bytes: as much as it holds.
const PART: usize = 64 << 10;

/// A git command that runs.
#[derive(Debug)]
pub(super) struct Asked {
    child: Child,
    /// How long it may take, for the message.
    limit: Duration,
    out: Pipe<ChildStdout>,
    complaint: Pipe<ChildStderr>,
    /// Whether it has ended and was waited for.
    is_over: bool,
}

/// Ends a git whose answer is not waited for.
impl Drop for Asked {
    fn drop(&mut self) {
        if !self.is_over {
            kill(&mut self.child);
        }
    }
}

/// What git answered.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) out: Vec<u8>,
    pub(super) complaint: Vec<u8>,
}

/// Why git gave no answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// git is not installed.
    NoProgram(String),
    /// git did not finish.
    NoAnswer(String),
}

impl Silence {
    pub(super) fn why(self) -> String {
        match self {
            Self::NoProgram(why) | Self::NoAnswer(why) => why,
        }
    }
}

impl Asked {
    /// Starts `command`, in a process group of its own, so that what git started is killed at the time limit too.
    pub(super) fn start(command: &mut Command, limit: Duration) -> Result<Self, Silence> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
        let (out, complaint) = (Pipe::of(child.stdout.take()), Pipe::of(child.stderr.take()));
        Ok(Self { child, limit, out, complaint, is_over: false })
    }

    /// Waits for the answer. If it is not whole at the deadline, git is killed, as it is when nobody waits for it.
    pub(super) fn answer(mut self, deadline: Instant) -> Result<Answer, Silence> {
        match self.read(deadline).and_then(|is_whole| if is_whole { self.wait(deadline) } else { Ok(None) }) {
            Ok(Some(status)) => {
                self.is_over = true;
                let [out, complaint] = [&mut self.out.bytes, &mut self.complaint.bytes].map(std::mem::take);
                Ok(Answer { status, out, complaint })
            }
            Ok(None) => Err(Silence::NoAnswer(format!("git took longer than {} s", self.limit.as_secs_f32()))),
            Err(error) => Err(Silence::NoAnswer(format!("cannot read what git says: {error}"))),
        }
    }

    /// Reads both pipes until they are closed; returns false after the deadline.
    fn read(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            let pipes = [self.out.from.as_ref().map(AsFd::as_fd), self.complaint.from.as_ref().map(AsFd::as_fd)];
            let mut watched: Vec<_> = pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
            if watched.is_empty() {
                return Ok(true);
            }
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            match poll(&mut watched, left.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty());
            let [out, complaint] = pipes.map(|pipe| pipe.is_some() && ready.next() == Some(true));
            // If git has more output than is read, the closed pipe stops it with a failure.
            if out && self.out.read(OUTPUT_BYTES)? == OUTPUT_BYTES {
                self.out.from = None;
            }
            if complaint {
                self.complaint.read(COMPLAINT_BYTES)?;
            }
        }
    }

    /// The exit status; `None` after the deadline.
    fn wait(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            match self.child.try_wait()? {
                None if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                status => return Ok(status),
            }
        }
    }
}

/// One of git's two outputs.
#[derive(Debug)]
struct Pipe<R> {
    /// `None` once it is closed.
    from: Option<R>,
    bytes: Vec<u8>,
}

impl<R: Read> Pipe<R> {
    fn of(from: Option<R>) -> Self {
        Self { from, bytes: Vec::new() }
    }

    /// Reads what is there, keeps at most `most` bytes of all, and returns how many it has.
    fn read(&mut self, most: usize) -> io::Result<usize> {
        let mut part = [0; PART];
        match self.from.as_mut().map(|from| from.read(&mut part)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            // A part of what git says may mean something else than all of it.
            Some(Err(error)) => return Err(error),
            Some(Ok(len)) if len > 0 => {
                self.bytes.extend_from_slice(&part[..len]);
                self.bytes.truncate(most);
            }
            Some(Ok(_)) | None => self.from = None,
        }
        Ok(self.bytes.len())
    }
}

fn cannot_start(command: &Command, error: &io::Error) -> Silence {
    let program = command.get_program().to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => Silence::NoProgram(format!("there is no program `{program}`")),
        _ => Silence::NoAnswer(format!("cannot start `{program}`: {error}")),
    }
}

/// Whether git had more output than was read.
pub(super) fn is_cut(out: &[u8]) -> bool {
    out.len() >= OUTPUT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says something, and then fails.
    struct Breaking(usize);

    impl Read for Breaking {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => (&b"acme"[..]).read(into),
                _ => Err(io::Error::other("the pipe broke")),
            }
        }
    }

    #[test]
    fn a_part_of_what_git_says_is_not_taken_for_all_of_it() {
        let mut pipe = Pipe::of(Some(Breaking(0)));
        assert_eq!(pipe.read(10).unwrap(), 0);
        assert_eq!(pipe.read(10).unwrap(), 4);
        assert!(pipe.read(10).is_err());
    }

    #[test]
    fn a_git_that_nobody_waits_for_is_ended() {
        let mut command = Command::new("sleep");
        let asked = Asked::start(command.arg("60"), Duration::from_secs(60)).unwrap();
        let pid = asked.child.id();
        drop(asked);
        assert!(!crate::host::process::answers(pid));
    }
}
