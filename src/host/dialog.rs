//! Asks another program, which may not end by itself.
#![expect(clippy::disallowed_methods, reason = "the programs of hosts are asked here")]

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::host::child::{Message, listen};
use crate::host::group::{in_own_group, kill};

/// How many bytes of an answer are read.
const MOST: usize = 4 << 20;

/// A question to a program.
#[derive(Debug)]
pub(crate) struct ProgramQuestion<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    /// The directory in which it runs.
    pub(crate) directory: &'a Path,
    /// What it reads on standard input, which stays open until there is an answer.
    pub(crate) input: &'a [u8],
    /// How long to wait.
    pub(crate) limit: Duration,
}

impl ProgramQuestion<'_> {
    /// What the program wrote to standard output when that was enough, when it ended, or when the time was over. Then the
    /// program is ended, with what it started.
    ///
    /// # Errors
    /// If the program cannot be started: `NotFound` if there is none.
    pub(crate) fn ask(&self, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
        let mut command = Command::new(self.program);
        command.args(self.arguments).current_dir(self.directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        in_own_group(&mut command);
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // A program that does not read answers anyway, or not.
            let _ = stdin.write_all(self.input);
        }
        let (send, parts) = mpsc::channel();
        listen(&mut child, MOST, &send);
        drop(send);
        let deadline = Instant::now() + self.limit;
        let mut answer = Vec::new();
        while !is_enough(&answer) && answer.len() < MOST {
            match parts.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Message::Output(part)) => answer.extend(part),
                _ => break,
            }
        }
        drop(stdin);
        kill(&mut child);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(script: &str, limit: u64) -> String {
        let question = ProgramQuestion {
            program: OsStr::new("sh"),
            arguments: &["-c".into(), script.into()],
            directory: Path::new("/"),
            input: b"question\n",
            limit: Duration::from_millis(limit),
        };
        String::from_utf8(question.ask(|answer| answer.ends_with(b"enough\n")).unwrap()).unwrap()
    }

    #[test]
    fn an_answer_is_read_until_it_is_enough() {
        let start = Instant::now();
        assert_eq!(ask("read line; echo $line; echo enough; sleep 60", 50_000), "question\nenough\n");
        assert_eq!(ask("echo ends by itself", 50_000), "ends by itself\n");
        assert!(start.elapsed() < Duration::from_secs(40));
        assert_eq!(ask("echo first; sleep 60", 300), "first\n");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let program = OsStr::new("/nowhere/to/be/found");
        let question =
            ProgramQuestion { program, arguments: &[], directory: Path::new("/"), input: b"", limit: Duration::ZERO };
        assert_eq!(question.ask(|_| true).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
