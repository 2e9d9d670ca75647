//! A running `git`, and what it answers.
//!
//! Its two pipes are read as they fill, without a thread for each: the memory allocator reserves much address space for
//! a thread, and that may be limited. Several commands can run at the same time, since none is waited for until its
//! answer is wanted.

use std::io::{self, Read, Seek as _, Write as _};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::host::group::{LOOK, in_own_group, kill};
use crate::host::process::cpu_time;
use crate::host::signal::SignalWatch;

/// The time limit of most git commands, and how long another one may do nothing.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// How much of git's output is read, in bytes.
const OUTPUT_BYTES: usize = 8 << 20;
/// How much of git's error output is kept, in bytes.
const COMPLAINT_BYTES: usize = 4 << 10;
/// The longest reason, in characters.
const REASON: usize = 200;
/// How much is read from a pipe at a time, in bytes: as much as it holds.
const PART: usize = 64 << 10;
/// How long a long output is left to grow before it is read on: not so long that the pipe is full.
const NAP: Duration = Duration::from_micros(200);

/// A git command that runs.
#[derive(Debug)]
pub(super) struct RunningGit {
    child: Child,
    /// How long it may take, for the message.
    limit: Duration,
    /// How long it may do nothing. None for one that talks with another machine: what it waits for, it does not do itself.
    idle: Option<Duration>,
    out: Pipe<ChildStdout>,
    /// How much of its output is read, in bytes.
    most: usize,
    complaint: Pipe<ChildStderr>,
    /// Whether it has ended and was waited for.
    is_over: bool,
    began: Instant,
    /// Where to note that it did not answer, and the top of the checkout that it was asked about.
    silence: Option<(SilentRepositories, PathBuf)>,
}

/// How long git is not asked again about a repository about which it did not answer: longer than most commands take.
const SILENCE: Duration = Duration::from_secs(60);

/// The checkouts about which git did not answer in time, and when.
#[derive(Debug, Clone, Default)]
pub(in crate::host) struct SilentRepositories(Arc<Mutex<Vec<(PathBuf, Instant)>>>);

impl SilentRepositories {
    /// Whether git did not answer a while ago about the checkout at `top`.
    pub(super) fn has(&self, top: &Path) -> bool {
        let mut silent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        silent.retain(|(_, at)| at.elapsed() < SILENCE);
        silent.iter().any(|(silent, _)| silent == top)
    }

    fn note(&self, top: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((top.to_owned(), Instant::now()));
    }
}

/// Ends a git whose answer is not waited for.
impl Drop for RunningGit {
    fn drop(&mut self) {
        if !self.is_over {
            kill(&mut self.child);
        }
    }
}

/// What git answered.
pub(super) struct GitAnswer {
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

    /// Whether there is no git, so that nothing which only git knows exists.
    pub(super) fn is_without_git(&self) -> bool {
        matches!(self, Self::NoProgram(_))
    }
}

impl RunningGit {
    /// Starts `command`, which reads `input`, in a process group of its own, so that what git started is killed at the time limit too.
    pub(super) fn start(command: &mut Command, input: Stdio, limit: Duration) -> Result<Self, Silence> {
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_own_group(command);
        let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
        let (out, complaint) = (Pipe::of(child.stdout.take()), Pipe::of(child.stderr.take()));
        let (began, silence) = (Instant::now(), None);
        Ok(Self { child, limit, idle: None, out, most: OUTPUT_BYTES, complaint, is_over: false, began, silence })
    }

    /// This one, which is given up when it does nothing for so long.
    pub(super) fn idle_at_most(self, idle: Duration) -> Self {
        let mut asked = self;
        asked.idle = Some(idle);
        asked
    }

    /// This one, which notes in `silent` if it gives no answer about the checkout at `top`.
    pub(super) fn noting_silence(self, silent: &SilentRepositories, top: PathBuf) -> Self {
        let mut asked = self;
        asked.silence = Some((silent.clone(), top));
        asked
    }

    /// This one, with another limit of its output in bytes.
    pub(super) fn of_at_most(self, most: usize) -> Self {
        // Not with `..self`: it is ended when it is dropped.
        let mut asked = self;
        asked.most = most;
        asked
    }

    /// Waits for the answer. If it is not whole at the deadline, git is killed, as it is when no one waits for it.
    pub(super) fn answer(mut self, deadline: Instant) -> Result<GitAnswer, Silence> {
        let mut patience = Patience::default();
        let finished = self.finish(deadline, &mut patience);
        if patience.is_over() && !matches!(finished, Ok(Some(_))) {
            kill(&mut self.child);
            self.is_over = true;
        }
        patience.end();
        match finished {
            Ok(Some(status)) => {
                self.is_over = true;
                let (out, complaint) = (take(&mut self.out.bytes), take(&mut self.complaint.bytes));
                Ok(GitAnswer { status, out, complaint })
            }
            Ok(None) => {
                // One that had no time left may be quick.
                if let Some((silent, top)) = &self.silence
                    && self.began.elapsed() >= self.limit / 2
                {
                    silent.note(top);
                }
                let late = match self.limit.as_millis() {
                    0 => "no time was left for git".to_owned(),
                    _ => format!("git took longer than {} s", (self.limit.as_secs_f32() * 100.0).round() / 100.0),
                };
                // Often the reason: a host that does not answer, a question that no one answers.
                Err(Silence::NoAnswer(match complaint_in(&self.complaint.bytes) {
                    Some(said) => format!("{late}; it said: {said}"),
                    None => late,
                }))
            }
            Err(error) => Err(Silence::NoAnswer(format!("cannot read what git says: {error}"))),
        }
    }

    /// Its output, or why it failed.
    pub(super) fn output(self, deadline: Instant) -> Result<Vec<u8>, String> {
        let answer = self.answer(deadline).map_err(Silence::why)?;
        // A git whose output was cut off is stopped by that.
        if !is_cut(&answer.out) && !answer.status.success() {
            return Err(reason(&answer));
        }
        Ok(answer.out)
    }

    /// Reads both pipes to their ends, and waits; returns the exit status, and `None` after the deadline.
    fn finish(&mut self, deadline: Instant, patience: &mut Patience) -> io::Result<Option<ExitStatus>> {
        if !self.read(deadline, patience)? {
            return Ok(None);
        }
        // It may live on for a while after it closed them.
        loop {
            match self.child.try_wait()? {
                None if patience.look(self.began).is_over() => return Ok(None),
                None if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                status => return Ok(status),
            }
        }
    }

    /// Reads both pipes until they are closed; returns false at the deadline, or when git did nothing for too long.
    fn read(&mut self, deadline: Instant, patience: &mut Patience) -> io::Result<bool> {
        loop {
            let mut watched = Vec::with_capacity(2);
            if let Some(out) = &self.out.from {
                watched.push(PollFd::new(out, PollFlags::IN));
            }
            if let Some(complaint) = &self.complaint.from {
                watched.push(PollFd::new(complaint, PollFlags::IN));
            }
            if watched.is_empty() {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if patience.look(self.began).is_over() {
                return Ok(false);
            }
            // Listing many files may take long; a git that waits for what does not come, such as a pipe in place of a file,
            // does nothing meanwhile.
            if let Some(idle) = self.idle
                && self.limit > idle
                && !patience.is_at_work((cpu_time(self.child.id()), self.out.bytes.len()), idle)
            {
                self.limit = idle;
                return Ok(false);
            }
            match poll(&mut watched, Timespec::try_from(left.min(LOOK)).ok().as_ref()) {
                Ok(0) if left <= LOOK => return Ok(false),
                Ok(0) => continue,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // A pipe that is closed is not among them, and the other one is then the first and the last.
            let out = self.out.from.is_some() && !watched[0].revents().is_empty();
            let complaint = self.complaint.from.is_some() && !watched[watched.len() - 1].revents().is_empty();
            if out && self.out.bytes.len() >= PART {
                // It writes a long list in small parts, and waking for each takes as long as making the list.
                thread::sleep(NAP);
            }
            // If git has more output than is read, the closed pipe stops it with a failure.
            if out && self.out.read(self.most)? == self.most {
                self.out.from = None;
            }
            if complaint {
                self.complaint.read(COMPLAINT_BYTES)?;
            }
        }
    }
}

/// While git is waited for, a signal that ends this program ends git first: it is in a process group of its own, so the signal
/// does not reach it.
#[derive(Debug, Default)]
struct Patience {
    watch: Option<SignalWatch>,
    /// What git had done when it was looked at last, and since when it did nothing more.
    idle: Option<(GitWork, Instant)>,
}

/// The processor's time that git took, in ticks, and how much it wrote.
type GitWork = (Option<u64>, usize);

impl Patience {
    /// Whether git, which has done this by now, did something in the time that it may be `idle`.
    fn is_at_work(&mut self, did: GitWork, idle: Duration) -> bool {
        match self.idle {
            Some((before, since)) if before == did && did.0.is_some() => since.elapsed() < idle,
            _ => {
                self.idle = Some((did, Instant::now()));
                true
            }
        }
    }

    /// Watches for signals if a git that began then takes longer than most.
    fn look(&mut self, began: Instant) -> &Self {
        if self.watch.is_none() && began.elapsed() >= LOOK {
            self.watch = SignalWatch::begin().ok();
        }
        self
    }

    /// Whether a signal came.
    fn is_over(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.came().is_some())
    }

    /// Lets a signal that came have its effect.
    fn end(self) {
        if let Some(watch) = self.watch {
            watch.end_program();
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
        let Some(from) = &mut self.from else { return Ok(self.bytes.len()) };
        match from.read(&mut part) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A part of what git says may mean something else than all of it.
            Err(error) => return Err(error),
            Ok(0) => self.from = None,
            Ok(len) => {
                self.bytes.extend_from_slice(&part[..len]);
                self.bytes.truncate(most);
            }
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

/// What git complained about, in one line.
pub(super) fn reason(answer: &GitAnswer) -> String {
    complaint_in(&answer.complaint).unwrap_or_else(|| format!("git failed ({})", answer.status))
}

/// The first line of it.
fn complaint_in(bytes: &[u8]) -> Option<String> {
    let complaint = String::from_utf8_lossy(bytes);
    let line = complaint.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.trim_start_matches("fatal: ").chars().take(REASON).collect())
}

/// Whether git had more output than was read.
pub(super) fn is_cut(out: &[u8]) -> bool {
    out.len() >= OUTPUT_BYTES
}

/// A file without a name that has these bytes, to be read from its beginning.
pub(super) fn file_with(bytes: &[u8]) -> io::Result<Stdio> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
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
        let asked = RunningGit::start(command.arg("60"), Stdio::null(), Duration::from_secs(60)).unwrap();
        let pid = asked.child.id();
        drop(asked);
        assert!(!crate::host::process::answers(pid));
    }
}
