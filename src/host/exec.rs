//! Runs a command for its own sake: its output passes through as it comes, and how it ended is seen.
#![expect(clippy::disallowed_methods, reason = "the user's commands are run here")]

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use sha2::{Digest as _, Sha256};

use crate::host::group::{AFTERWARDS, GRACE, LOOK, ask_to_end, in_own_group, signal, waits_for_terminal};
use crate::host::pass_on::{PassOn, Passing, Stream};
use crate::host::signal::SignalWatch;
use crate::model::hex;

/// How much of the end of the output is kept, in bytes.
const KEPT: usize = 64 << 10;
/// How much before it, so that a secret at its beginning is seen whole.
const LEAD: usize = 4 << 10;
/// How much is read at a time, in bytes.
const PART: usize = 64 << 10;

/// A command to run.
#[derive(Debug)]
pub struct Execute<'a> {
    /// The program and its arguments; at least the program.
    pub argv: &'a [OsString],
    /// The program as messages name it: its path may have a secret in it.
    pub shown: &'a str,
    /// The directory in which it runs.
    pub dir: &'a Path,
    /// Environment variables to add to this program's.
    pub env: Vec<(&'static str, OsString)>,
    /// How long it may run.
    pub limit: Option<Duration>,
    /// Whether it writes to a terminal where this program does.
    pub may_have_terminal: bool,
    /// Where its output goes as it comes.
    pub output: PassOn,
}

/// How a command ended, and what it wrote.
#[derive(Debug)]
pub struct ExecutedCommand {
    /// How it ended.
    pub ended: ExecuteEnd,
    /// Why this program ended it, if it did.
    pub cut_short: Option<CutShort>,
    /// What it wrote.
    pub output: ExecuteOutput,
    /// Until this is dropped, no signal ends this program: how the command ended is still to be recorded. Waiting for the
    /// reader of the output comes after that, so it can be ended.
    _watch: SignalWatch,
    passing: Passing,
}

impl ExecutedCommand {
    /// Lets signals end this program again, and waits for the reader of the output. Gives the error for which not all of it
    /// reached the reader, if there is one.
    pub(crate) fn passed_on(self) -> Option<io::Error> {
        let Self { _watch: watch, mut passing, .. } = self;
        drop(watch);
        passing.end()
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecuteEnd {
    /// By itself.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// There is no such program; why, in words.
    NotFound(String),
    /// It cannot be run; why.
    NotStarted(String),
}

/// Why a command did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutShort {
    /// It exceeded its time limit.
    TooSlow,
    /// It asked the terminal, and would have waited for ever.
    AskedTerminal,
    /// A signal came to this program, which was passed on to it.
    Signal(i32),
}

/// What a command wrote.
#[derive(Debug)]
pub struct ExecuteOutput {
    /// The last part of it, as it came.
    tail: Vec<u8>,
    /// How many bytes it wrote.
    pub bytes: u64,
    stdout: Sha256,
    stderr: Sha256,
}

impl ExecuteOutput {
    fn new() -> Self {
        Self { tail: Vec::new(), bytes: 0, stdout: Sha256::new(), stderr: Sha256::new() }
    }

    fn take(&mut self, part: &[u8], stream: Stream) {
        match stream {
            Stream::Out => self.stdout.update(part),
            Stream::Err => self.stderr.update(part),
        }
        self.bytes += part.len() as u64;
        self.tail.extend_from_slice(part);
        // Not at each part: what is kept is moved.
        if self.tail.len() > 4 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT - LEAD);
        }
    }

    /// The digests of standard output and of standard error.
    #[must_use]
    pub fn sha256(&self) -> [String; 2] {
        [hex(&self.stdout.clone().finalize()), hex(&self.stderr.clone().finalize())]
    }

    /// The end of the output, changed by `mask`, which sees some more before it.
    #[must_use]
    pub fn end(&self, mask: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let from = self.tail.len().saturating_sub(KEPT + LEAD);
        let is_cut = self.bytes > (self.tail.len() - from) as u64;
        let mut end = mask(&self.tail[from..]);
        if is_cut || end.len() > KEPT {
            end.drain(..end.len().saturating_sub(KEPT));
            // A word that is cut may be the rest of a secret.
            let word = end.iter().take(LEAD).position(u8::is_ascii_whitespace);
            end.drain(..word.unwrap_or(0));
        }
        end
    }
}

/// An output of the command.
struct OutputPipe {
    from: Option<File>,
    stream: Stream,
}

impl OutputPipe {
    fn new(from: impl Into<OwnedFd>, stream: Stream) -> Self {
        Self { from: Some(File::from(from.into())), stream }
    }

    fn pass(&mut self, passing: &Passing, output: &mut ExecuteOutput) {
        let Some(from) = &mut self.from else { return };
        let mut part = [0; PART];
        match from.read(&mut part) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A terminal that no process has open answers with an error.
            Ok(0) | Err(_) => self.from = None,
            Ok(len) => {
                output.take(&part[..len], self.stream);
                passing.take(self.stream, &part[..len]);
            }
        }
    }
}

/// The size of the terminal that a command writes to.
struct TerminalSize {
    terminal: OwnedFd,
    /// The size of this program's terminal that it has.
    followed: Winsize,
}

impl TerminalSize {
    /// Gives it the size that this program's terminal has now, and tells the command.
    fn follow(&mut self, child: &Child) {
        let Ok(size) = tcgetwinsize(io::stdout().as_fd()) else { return };
        if (size.ws_row, size.ws_col) != (self.followed.ws_row, self.followed.ws_col) {
            self.followed = size;
            let _ = tcsetwinsize(&self.terminal, size);
            // The kernel tells only the processes of which it is the own terminal.
            signal(child, Signal::WINCH);
        }
    }
}

/// A command that runs, and its outputs.
struct StartedCommand {
    child: Child,
    sources: Vec<OutputPipe>,
    terminal: Option<TerminalSize>,
}

impl Execute<'_> {
    /// Runs the command in a process group of its own, without a shell, and waits for its end. Signals that would end this
    /// program are passed on to it.
    ///
    /// # Errors
    /// If the command cannot be waited for.
    pub fn run(&self) -> io::Result<ExecutedCommand> {
        let watch = SignalWatch::begin()?;
        let passing = Passing::begin(self.output)?;
        let mut output = ExecuteOutput::new();
        let (ended, cut_short) = match self.start() {
            Ok(mut started) => {
                let (status, cut_short) = self.wait(&mut started, &watch, &passing, &mut output)?;
                (ended(status), cut_short)
            }
            Err(error) => (self.not_started(&error), None),
        };
        Ok(ExecutedCommand { ended, cut_short, output, _watch: watch, passing })
    }

    fn not_started(&self, error: &io::Error) -> ExecuteEnd {
        let file = self.argv[0].to_string_lossy();
        let program = self.shown;
        let is_path = file.contains('/');
        if error.kind() != io::ErrorKind::NotFound {
            let there = if is_path { self.dir.join(&*file).metadata().ok() } else { None };
            return ExecuteEnd::NotStarted(match there {
                Some(there) if there.is_dir() => format!("`{program}` is a directory; name a program in it"),
                Some(there) if there.permissions().mode() & 0o111 == 0 => format!(
                    "the file `{program}` is not executable; `chmod +x` makes it so, or name the program that runs it \
                     first, as in `sh {program}`"
                ),
                Some(_) if error.kind() == io::ErrorKind::PermissionDenied => format!(
                    "this user may not execute `{program}`, or the interpreter that its first line names; `ls -l` shows \
                     who may"
                ),
                _ => format!("the program `{program}` cannot be run: {error}"),
            });
        }
        let why = if is_path && self.dir.join(&*file).exists() {
            format!("the interpreter that the first line of `{program}` names is not there")
        } else if is_path {
            format!("the file `{program}` does not exist")
        } else if file.contains(char::is_whitespace) {
            format!("`{program}` is not a program; write the command and its arguments as separate words")
        } else if file.contains('=') {
            format!("`{program}` is not a program; to set a variable, write `env {program}` before the program")
        } else {
            format!("the program `{program}` is not on the PATH")
        };
        ExecuteEnd::NotFound(why)
    }

    fn start(&self) -> io::Result<StartedCommand> {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).envs(self.env.iter().cloned()).current_dir(self.dir);
        in_own_group(&mut command);
        // In a process group of its own, it would be stopped when it reads from a terminal.
        let reads_nothing = self.output == PassOn::Nowhere || io::stdin().is_terminal();
        command.stdin(if reads_nothing { Stdio::null() } else { Stdio::inherit() });
        let terminal = self.may_have_terminal && self.output == PassOn::Through && io::stdout().is_terminal();
        // Without one, because the system has none left, it writes to a pipe.
        let pty = if terminal { pseudo_terminal().ok() } else { None };
        let merged = pty.is_some() && io::stderr().is_terminal();
        match &pty {
            Some((_, slave)) => command.stdout(slave.try_clone()?),
            None => command.stdout(Stdio::piped()),
        };
        match &pty {
            Some((_, slave)) if merged => command.stderr(slave.try_clone()?),
            _ => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn()?;
        let mut sources = Vec::new();
        let mut terminal = None;
        if let Some((master, _)) = pty {
            terminal = Some(TerminalSize { terminal: master.try_clone()?, followed: tcgetwinsize(&master)? });
            sources.push(OutputPipe::new(master, Stream::Out));
        }
        sources.extend(child.stdout.take().map(|out| OutputPipe::new(out, Stream::Out)));
        sources.extend(child.stderr.take().map(|error| OutputPipe::new(error, Stream::Err)));
        Ok(StartedCommand { child, sources, terminal })
    }

    /// Passes the output on until the command ends. Returns how it ended, and why it was ended if it was.
    fn wait(
        &self,
        started: &mut StartedCommand,
        watch: &SignalWatch,
        passing: &Passing,
        output: &mut ExecuteOutput,
    ) -> io::Result<(ExitStatus, Option<CutShort>)> {
        let StartedCommand { child, sources, terminal } = started;
        let deadline = self.limit.and_then(|limit| Instant::now().checked_add(limit));
        let (mut cut_short, mut kill_at) = (None, None);
        let mut pause = Duration::from_millis(1);
        loop {
            // The command waits with a reader that does not keep up, as it would without this program between them.
            let readable = if passing.has_room() { sources.as_mut_slice() } else { &mut [] };
            if pass_what_is_there(readable, pause, passing, output)? {
                pause = Duration::from_millis(1);
            } else {
                pause = (pause * 2).min(LOOK);
            }
            if let Some(status) = child.try_wait()? {
                pass_the_rest(sources, passing, output)?;
                return Ok((status, cut_short));
            }
            if let Some(terminal) = terminal {
                terminal.follow(child);
            }
            if let Some(number) = watch.take() {
                cut_short = cut_short.or(Some(CutShort::Signal(number)));
                ask_to_end(child, Signal::from_named_raw(number).unwrap_or(Signal::TERM));
            }
            if let Some(at) = kill_at {
                if Instant::now() >= at {
                    signal(child, Signal::KILL);
                }
                continue;
            }
            let ends_now = if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                Some(CutShort::TooSlow)
            } else if waits_for_terminal(child) {
                Some(CutShort::AskedTerminal)
            } else {
                None
            };
            if ends_now.is_some() {
                cut_short = ends_now;
                ask_to_end(child, Signal::TERM);
                kill_at = Some(Instant::now() + GRACE);
            }
        }
    }
}

/// Passes on what the command had written when it ended. What it left in the background keeps an output open, and is not
/// waited for.
fn pass_the_rest(sources: &mut [OutputPipe], passing: &Passing, output: &mut ExecuteOutput) -> io::Result<()> {
    let until = Instant::now() + AFTERWARDS;
    let pause = Duration::from_millis(10);
    while sources.iter().any(|source| source.from.is_some()) && Instant::now() < until {
        if !pass_what_is_there(sources, pause, passing, output)? {
            break;
        }
    }
    Ok(())
}

/// Waits until something was written, or an output was closed, at most for `pause`. Returns whether there was anything.
fn pass_what_is_there(
    sources: &mut [OutputPipe],
    pause: Duration,
    passing: &Passing,
    output: &mut ExecuteOutput,
) -> io::Result<bool> {
    let mut ready = Vec::new();
    let mut watched = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        if let Some(from) = &source.from {
            ready.push(at);
            watched.push(PollFd::new(from, PollFlags::IN));
        }
    }
    let pause = Timespec::try_from(pause).ok();
    match poll(&mut watched, pause.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let mut nth = 0;
    ready.retain(|_| {
        nth += 1;
        !watched[nth - 1].revents().is_empty()
    });
    drop(watched);
    for &at in &ready {
        sources[at].pass(passing, output);
    }
    Ok(!ready.is_empty())
}

/// Both ends of a terminal of the size of this program's. What is written comes out as it is, as from a pipe.
fn pseudo_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?.into_string().map_err(io::Error::other)?;
    let flags = i32::try_from((OFlags::NOCTTY | OFlags::CLOEXEC).bits()).unwrap_or_default();
    let slave = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name)?;
    let mut modes = tcgetattr(&slave)?;
    // This program's terminal turns a line feed into what it needs.
    modes.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&slave, OptionalActions::Now, &modes)?;
    if let Ok(size) = tcgetwinsize(io::stdout().as_fd()) {
        // Only for the looks of it.
        let _ = tcsetwinsize(&master, size);
    }
    Ok((master, slave.into()))
}

fn ended(status: ExitStatus) -> ExecuteEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExecuteEnd::Exited(code),
        (None, signal) => ExecuteEnd::Signalled(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Much output in few lines: it also goes to the output of the tests.
    const LINES: &str = "seq -f %0500.f 1 400";

    fn run(script: &str, limit: Option<u64>) -> ExecutedCommand {
        let argv = ["sh", "-c", script].map(OsString::from);
        let limit = limit.map(Duration::from_millis);
        let command = Execute {
            argv: &argv,
            shown: "sh",
            dir: Path::new("/"),
            env: Vec::new(),
            limit,
            may_have_terminal: false,
            output: PassOn::ToStderr,
        };
        command.run().unwrap()
    }

    #[test]
    fn the_end_of_a_command_is_seen() {
        assert_eq!(run("exit 3", None).ended, ExecuteEnd::Exited(3));
        assert_eq!(run("kill -9 $$", None).ended, ExecuteEnd::Signalled(9));
        let nowhere = ["/nowhere/to/be/found".into()];
        let command = Execute {
            argv: &nowhere,
            shown: "it",
            dir: Path::new("/"),
            env: Vec::new(),
            limit: None,
            may_have_terminal: false,
            output: PassOn::ToStderr,
        };
        assert!(matches!(command.run().unwrap().ended, ExecuteEnd::NotFound(_)));
        let directory = ["/".into()];
        assert!(matches!(Execute { argv: &directory, ..command }.run().unwrap().ended, ExecuteEnd::NotStarted(_)));
    }

    #[test]
    fn all_output_is_in_the_digest_and_its_end_is_kept() {
        let executed = run(&format!("{LINES} >&2; printf end"), None);
        assert_eq!(executed.output.bytes, 400 * 501 + 3);
        let kept = executed.output.end(<[u8]>::to_vec);
        assert!(kept.len() <= KEPT && kept.len() > KEPT / 2, "{}", kept.len());
        assert!(String::from_utf8(kept).unwrap().contains("00400\n"));
        let digests = run(&format!("printf end; {LINES} >&2"), None).output.sha256();
        assert_eq!(executed.output.sha256(), digests, "the two outputs do not mix in the digests");
    }

    #[test]
    fn a_word_that_is_cut_is_left_out() {
        let kept = run(&format!("{LINES} >&2"), None).output.end(<[u8]>::to_vec);
        let kept = String::from_utf8(kept).unwrap();
        assert!(kept.starts_with('\n') && kept.ends_with("00400\n") && kept.len() > KEPT - 501, "{}", kept.len());
        assert!(kept.split_whitespace().all(|word| word.len() == 500));
    }

    #[test]
    fn a_command_that_is_too_slow_is_ended_with_what_it_started() {
        let executed = run("trap '' TERM; sleep 60 & wait; sleep 60", Some(200));
        assert_eq!(executed.cut_short, Some(CutShort::TooSlow));
        assert_eq!(executed.ended, ExecuteEnd::Signalled(9));
    }

    #[test]
    fn what_stays_in_the_background_keeps_nobody_waiting() {
        let started = Instant::now();
        let executed = run("echo here >&2; sleep 30 &", None);
        assert_eq!(executed.ended, ExecuteEnd::Exited(0));
        assert_eq!(executed.output.end(<[u8]>::to_vec), b"here\n");
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}
