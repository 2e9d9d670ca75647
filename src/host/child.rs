//! Runs a command in a shell, with input, a limit for its output and a time limit.
#![expect(clippy::disallowed_methods, reason = "the commands of a graph's states are run here")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use crate::host::group::{AFTERWARDS, LOOK, end, in_own_group, wait_until};
use crate::host::signal::SignalWatch;

/// The longest line of standard error to pass on, in bytes.
const LINE_BYTES: u64 = 4 << 10;

/// A command to run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The command line for the shell.
    pub command: &'a str,
    /// The directory in which it runs; otherwise this program's.
    pub dir: Option<&'a Path>,
    /// Its standard input.
    pub input: &'a [u8],
    /// Environment variables to add to this program's.
    pub env: Vec<(&'static str, OsString)>,
    /// How long it may run.
    pub limit: Duration,
    /// How many bytes it may write to standard output.
    pub most: usize,
}

/// How a command ended.
#[derive(Debug)]
pub enum CommandEnd {
    /// By itself.
    Exited(ExitStatus),
    /// It exceeded the time limit and was ended.
    TooSlow,
    /// It wrote too much and was ended.
    TooLong,
    /// This program received the given signal, and ended the command.
    Interrupted(i32),
}

/// The result of a command.
#[derive(Debug)]
pub struct CommandResult {
    /// How it ended.
    pub ended: CommandEnd,
    /// Its standard output.
    pub output: Vec<u8>,
}

impl Job<'_> {
    /// Runs the command in a process group of its own. It inherits none of this program's files. Calls `told` with each
    /// line that it writes to standard error.
    ///
    /// # Errors
    /// If there is no shell, or the command cannot be waited for, or what it says cannot be read.
    pub fn run(&self, told: &mut dyn FnMut(&str)) -> io::Result<CommandResult> {
        let watch = SignalWatch::begin()?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.command).envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = self.dir {
            command.current_dir(dir);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_own_group(&mut command);
        let mut child = command.spawn()?;
        let (send, said) = mpsc::channel();
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input.to_vec();
            // A command that does not read its input is fine, so ignore the error.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        listen(&mut child, self.most, &send);
        drop(send);
        let mut output = Vec::new();
        let ended = self.wait(&mut child, &watch, &said, &mut output, told)?;
        // Do not lose a signal that came while the last output was read.
        let ended = watch.end().map_or(ended, CommandEnd::Interrupted);
        Ok(CommandResult { ended, output })
    }

    fn wait(
        &self,
        child: &mut Child,
        watch: &SignalWatch,
        said: &Receiver<Message>,
        output: &mut Vec<u8>,
        told: &mut dyn FnMut(&str),
    ) -> io::Result<CommandEnd> {
        let deadline = Instant::now() + self.limit;
        let mut open = 2;
        loop {
            match said.recv_timeout(LOOK) {
                Ok(Message::Output(bytes)) => output.extend(bytes),
                Ok(Message::Line(line)) => told(&line),
                Ok(Message::Closed) => open -= 1,
                Ok(Message::Unreadable(error)) => {
                    end(child);
                    return Err(error);
                }
                Err(_) => {}
            }
            if output.len() > self.most {
                end(child);
                return Ok(CommandEnd::TooLong);
            }
            if let Some(number) = watch.came() {
                end(child);
                return Ok(CommandEnd::Interrupted(number));
            }
            if open == 0 || child.try_wait()?.is_some() {
                break;
            }
            if Instant::now() >= deadline {
                end(child);
                return Ok(CommandEnd::TooSlow);
            }
        }
        let status = match wait_until(child, deadline)? {
            Some(status) => status,
            None => {
                end(child);
                return Ok(CommandEnd::TooSlow);
            }
        };
        // A process in the background may hold the pipes open. Use what it has written so far.
        let until = Instant::now() + AFTERWARDS;
        while open > 0 {
            match said.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Output(bytes)) => output.extend(bytes),
                Ok(Message::Line(line)) => told(&line),
                Ok(Message::Closed) => open -= 1,
                Ok(Message::Unreadable(error)) => return Err(error),
                Err(_) => break,
            }
        }
        Ok(if output.len() > self.most { CommandEnd::TooLong } else { CommandEnd::Exited(status) })
    }
}

/// Output of a command.
pub(super) enum Message {
    /// A part of standard output.
    Output(Vec<u8>),
    /// A line of standard error.
    Line(String),
    /// One of the two pipes was closed.
    Closed,
    /// Standard output cannot be read: what was read may be a part only.
    Unreadable(io::Error),
}

/// Reads the pipes of a child in threads of their own: reading them in turn could block.
pub(super) fn listen(child: &mut Child, most: usize, send: &Sender<Message>) {
    if let Some(out) = child.stdout.take() {
        let send = send.clone();
        std::thread::spawn(move || {
            // One byte beyond the limit shows that there is too much. A process in the background may hold the pipe
            // open forever, so pass each part on at once.
            let mut out = out.take(most as u64 + 1);
            let mut bytes = vec![0; 64 << 10];
            loop {
                match out.read(&mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        let _ = send.send(Message::Unreadable(error));
                        break;
                    }
                    Ok(0) => break,
                    Ok(len) if send.send(Message::Output(bytes[..len].to_vec())).is_err() => break,
                    Ok(_) => {}
                }
            }
            let _ = send.send(Message::Closed);
        });
    }
    if let Some(err) = child.stderr.take() {
        let send = send.clone();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(err);
            loop {
                let mut line = Vec::new();
                match (&mut lines).take(LINE_BYTES).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {
                        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                        if send.send(Message::Line(line)).is_err() {
                            break;
                        }
                    }
                }
            }
            let _ = send.send(Message::Closed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(command: &str) -> Job<'_> {
        Job {
            command,
            dir: None,
            input: b"the question",
            env: vec![("WHO", "Ada".into())],
            limit: Duration::from_secs(20),
            most: 1000,
        }
    }

    fn lines(job: &Job<'_>) -> (CommandResult, Vec<String>) {
        let mut lines = Vec::new();
        let answered = job.run(&mut |line| lines.push(line.to_owned())).unwrap();
        (answered, lines)
    }

    #[test]
    fn a_command_reads_answers_and_complains() {
        let (answered, lines) = lines(&job("cat; echo \" for $WHO\"; echo trouble >&2; exit 3"));
        assert!(matches!(answered.ended, CommandEnd::Exited(status) if status.code() == Some(3)));
        assert_eq!(String::from_utf8(answered.output).unwrap(), "the question for Ada\n");
        assert_eq!(lines, ["trouble"]);
    }

    #[test]
    fn a_command_that_reads_nothing_is_no_trouble() {
        let job = Job { input: &vec![b'x'; 1 << 20], ..job("echo done") };
        let (answered, _) = lines(&job);
        assert_eq!(answered.output, b"done\n");
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_what_it_started() {
        let job = Job { limit: Duration::from_millis(300), ..job("sleep 60 & echo $!; wait") };
        let (answered, _) = lines(&job);
        assert!(matches!(answered.ended, CommandEnd::TooSlow), "{answered:?}");
    }

    #[test]
    fn a_command_that_answers_too_much_is_ended() {
        let (answered, _) = lines(&job("yes"));
        assert!(matches!(answered.ended, CommandEnd::TooLong), "{:?}", answered.ended);
    }

    #[test]
    fn what_stays_in_the_background_keeps_nobody_waiting() {
        let started = Instant::now();
        let (answered, _) = lines(&job("echo here; sleep 30 &"));
        assert!(matches!(answered.ended, CommandEnd::Exited(status) if status.success()));
        assert_eq!(answered.output, b"here\n");
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}
