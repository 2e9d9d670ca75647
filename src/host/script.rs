//! Runs a script in a shell as a user would, with nothing in its environment of the agent that may have begun this process.
#![expect(clippy::disallowed_methods, reason = "the commands of a demonstration are run here")]

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::host::child::CommandEnd;
use crate::host::group::{LOOK, in_own_group, kill};
use crate::host::signal::SignalWatch;

/// How long to wait for the last lines of a shell that has ended.
const LAST: Duration = Duration::from_millis(100);

/// What a shell keeps of the environment, besides `LC_*`: where programs and the user's files are, and how to show text.
const KEPT: [&str; 13] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "COLUMNS", "NO_COLOR", "XDG_STATE_HOME",
    "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
];

/// A script to run.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    /// What the shell reads.
    pub(crate) text: &'a str,
    /// The directory in which it begins.
    pub(crate) dir: &'a Path,
}

impl Script<'_> {
    /// Runs the script in a process group of its own, until it ends or something kills it. Calls `told` with each line that it
    /// prints, on either stream, and with the id of its process.
    ///
    /// # Errors
    /// If there is no shell, or it cannot be waited for.
    pub(crate) fn run(&self, told: &mut dyn FnMut(&str, u32)) -> io::Result<CommandEnd> {
        let watch = SignalWatch::begin()?;
        let mut command = Command::new("sh");
        // Both streams in one pipe, so that the lines come in the order in which they are printed.
        command.arg("-c").arg(format!("exec 2>&1\n{}", self.text)).current_dir(self.dir);
        command.env_clear().envs(kept_environment());
        // What a user's git is told to do must not change what is shown, and a signature could ask for a password.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        in_own_group(&mut command);
        let mut child = command.spawn()?;
        let (send, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                    if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                        return;
                    }
                }
            });
        }
        let status = loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => told(&line, child.id()),
                Err(RecvTimeoutError::Disconnected) => break child.wait()?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(number) = watch.came() {
                kill(&mut child);
                return Ok(CommandEnd::Interrupted(number));
            }
            if let Some(status) = child.try_wait()? {
                break status;
            }
        };
        // A process in the background may hold the pipe open.
        while let Ok(line) = lines.recv_timeout(LAST) {
            told(&line, child.id());
        }
        kill(&mut child);
        Ok(watch.end().map_or(CommandEnd::Exited(status), CommandEnd::Interrupted))
    }
}

fn kept_environment() -> Vec<(OsString, OsString)> {
    let mut kept = Vec::new();
    for (name, value) in std::env::vars_os() {
        let is_kept = KEPT.iter().any(|known| name == **known) || name.to_string_lossy().starts_with("LC_");
        if is_kept {
            kept.push((name, value));
        }
    }
    kept
}

/// The file of the program that runs.
///
/// # Errors
/// If the system does not say.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Whether a shell that looks for the program `name` in the directories of `path` finds the file `program`.
pub(crate) fn is_found(name: &str, path: Option<&OsString>, program: &Path) -> bool {
    let Some(path) = path else { return false };
    for dir in std::env::split_paths(path) {
        if let Ok(found) = dir.join(name).canonicalize() {
            return program.canonicalize().is_ok_and(|program| program == found);
        }
    }
    false
}

/// The id of the process that began this one: the shell in which a person typed the command.
pub(crate) fn parent_process() -> i32 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get())
}

/// Makes an empty directory: `dir`, which must be empty if it exists, or else one for temporary files, which stays.
///
/// # Errors
/// The system's error; [`io::ErrorKind::DirectoryNotEmpty`] if something is in `dir`.
pub(crate) fn empty_directory(dir: Option<&Path>, prefix: &str) -> io::Result<PathBuf> {
    let Some(dir) = dir else {
        return Ok(tempfile::Builder::new().prefix(prefix).tempdir()?.keep());
    };
    std::fs::create_dir_all(dir)?;
    if std::fs::read_dir(dir)?.next().is_some() {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    dir.canonicalize()
}
