//! What attacks on the program stand on: a time limit, pictures of a tree, odd kinds of files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::Value;

use super::lack::{Lack, skipped};
use super::sandbox::{Answer, Sandbox, run};

/// Nothing that a test does may take longer, also on a busy machine.
const SECONDS: &str = "30";

/// Everything in a tree: kind, mode and content. Lock files are left out: a refused writer may make and sign one. So is
/// the cache, on which nothing rests.
pub type Picture = BTreeMap<PathBuf, String>;

/// Looks at everything below `root` and follows nothing.
pub fn picture(root: &Path) -> Picture {
    let mut seen = Picture::new();
    for entry in walkdir::WalkDir::new(root).follow_root_links(false) {
        let entry = entry.unwrap();
        let meta = entry.path().symlink_metadata().unwrap();
        let kind = meta.file_type();
        let cache = entry.path().iter().any(|part| part == ".cache");
        if cache || kind.is_file() && meta.nlink() == 1 && entry.file_name() == ".lock" {
            continue;
        }
        let what = if kind.is_symlink() {
            format!("link to {}", std::fs::read_link(entry.path()).unwrap().display())
        } else if kind.is_file() {
            String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned()
        } else if kind.is_fifo() {
            "fifo".to_owned()
        } else {
            format!("{kind:?}")
        };
        let path = entry.path().strip_prefix(root).unwrap().to_owned();
        seen.insert(path, format!("{:o} {what}", meta.permissions().mode()));
    }
    seen
}

/// A picture of the lock files as well, for trees that must not be written at all.
pub fn lock_bytes(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let locks = files.filter(|entry| entry.file_name() == ".lock" && entry.file_type().is_file());
    locks.map(|entry| (entry.path().to_owned(), std::fs::read(entry.path()).unwrap())).collect()
}

/// A kind of file that stands where another one belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// A named pipe without another end.
    Fifo,
    /// A bound socket.
    Socket,
    /// An empty directory.
    Directory,
    /// A regular file.
    File,
    /// `/dev/null` under another name; only root can make one.
    Device,
    /// A symbolic link to nothing.
    Dangling,
    /// A symbolic link to itself.
    Loop,
}

impl Odd {
    /// Puts it at `path`. `false` when this machine does not let us.
    pub fn put(self, path: &Path) -> bool {
        match self {
            Self::Fifo => mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap(),
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::Directory => std::fs::create_dir(path).unwrap(),
            Self::File => std::fs::write(path, "not yours\n").unwrap(),
            Self::Device => {
                let device = mknodat(CWD, path, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 3));
                if device.is_err() {
                    let test = std::thread::current().name().unwrap_or("hostile").to_owned();
                    skipped(&test, &Lack::of_root("only root can make a device"));
                    return false;
                }
            }
            Self::Dangling => symlink("/nonexistent/by/intention", path).unwrap(),
            Self::Loop => symlink(path.file_name().unwrap(), path).unwrap(),
        }
        true
    }
}

/// Whether the test can go on, which changes owners and identities; says so loudly when not.
pub fn can_become_others(test: &str) -> bool {
    if !is_root() {
        skipped(test, &Lack::of_root("only root can give files to another user, and act as one"));
    }
    is_root()
}

/// The same command, given by another user.
pub fn as_user(user: u32, mut command: Command) -> Command {
    command.uid(user).gid(user);
    command
}

/// Whether this process may change owners and identities.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Removes whatever is at `path`.
pub fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Copies a tree of plain files.
pub fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(to).unwrap();
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The same command, ended after a while: a test that hangs says nothing.
pub fn limited(command: &Command) -> Command {
    let mut timed = Command::new("timeout");
    timed.args(["-k", "1", SECONDS]).arg(command.get_program()).args(command.get_args()).env_clear();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            timed.env(key, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        timed.current_dir(dir);
    }
    timed
}

/// The same command under a limit that the shell sets: `ulimit` with these words.
pub fn confined(ulimit: &str, command: &Command) -> Command {
    let mut confined = Command::new("sh");
    confined.args(["-c", &format!("ulimit {ulimit} && exec \"$0\" \"$@\"")]);
    confined.arg(command.get_program()).args(command.get_args()).env_clear();
    confined.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    confined.current_dir(command.get_current_dir().unwrap());
    confined
}

impl Sandbox {
    /// Runs flow with a time limit. Neither a panic nor a signal nor a hang is an answer.
    #[track_caller]
    pub fn attack<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        self.attack_with(args, "")
    }

    /// As [`Self::attack`], with this standard input.
    #[track_caller]
    pub fn attack_with<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, stdin: &str) -> Answer {
        let mut command = self.flow_command();
        command.args(args);
        sane(run(limited(&command), stdin))
    }

    /// Runs flow with `args` and `--json`, expects this exit status, and gives the error object, which has all its parts.
    #[track_caller]
    pub fn refused<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, code: i32) -> Value {
        let mut all: Vec<std::ffi::OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        all.push("--json".into());
        error_object(&self.attack(all).exits(code))
    }
}

/// The answer, when the program ended of itself.
#[track_caller]
pub fn sane(answer: Answer) -> Answer {
    assert!(!answer.stderr.contains("panicked"), "{answer:?}");
    assert!(!matches!(answer.code, None | Some(101 | 124 | 134 | 137 | 139)), "{answer:?}");
    answer
}

/// The one object on standard error, with every part that callers rely on.
#[track_caller]
pub fn error_object(answer: &Answer) -> Value {
    assert_eq!(answer.stdout, "", "an error says nothing on standard output");
    assert_eq!(answer.stderr.lines().count(), 1, "one object: {answer:?}");
    let error = answer.error();
    for key in ["code", "message", "help", "causes"] {
        assert!(error.get(key).is_some(), "{key} is missing in {error}");
    }
    let message = error["message"].as_str().unwrap();
    assert!(!message.is_empty() && !message.contains(['\n', '\u{1b}']), "{message:?}");
    assert!(error["causes"].is_array(), "{error}");
    error
}
