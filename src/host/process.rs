//! Evidence from which others can conclude that the holder of a run is dead.
//!
//! A process id alone proves nothing: it is reused after a reboot, in another container and, after some time, on the
//! same machine. Only together with the start time, the boot, the host and the process namespace does it identify a
//! process. Whatever cannot be determined is [`Liveness::Unknown`]: taking a run away from a live session is worse than
//! asking a person.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read as _};
use std::str::FromStr;

use thiserror::Error;

/// Shells. They may end before the session or outlive it.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "ash", "busybox", "zsh", "fish", "ksh", "mksh", "csh", "tcsh", "nu", "elvish", "xonsh",
    "pwsh",
];
/// Other programs that start programs.
const LAUNCHERS: &[&str] = &[
    "env", "timeout", "nohup", "nice", "ionice", "setsid", "stdbuf", "sudo", "doas", "su", "runuser", "xargs",
    "parallel", "make", "just", "npm", "npx", "pnpm", "yarn", "uv", "uvx", "direnv", "mise", "flow",
];

/// How many generations of ancestors to search.
const GENERATIONS: usize = 64;
/// More than `/proc/PID/stat` can be long.
const STAT_BYTES: usize = 2 << 10;
/// How much of a command line is read for its first two arguments.
const COMMAND_BYTES: usize = 8 << 10;

/// Identifies a process uniquely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name of the machine.
    pub host: String,
    /// The kernel's id of the current boot.
    pub boot: String,
    /// The process namespace (a container has its own).
    pub namespace: String,
    /// The process id in that namespace.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot.
    pub started: u64,
}

/// Whether a [`Holder`] is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It ended.
    Dead,
    /// It cannot be seen from here.
    Unknown,
}

/// A text that does not identify a process.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} names no holder")]
pub struct BadHolder {
    /// The text.
    pub text: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, boot, namespace, pid, started } = self;
        write!(f, "v1;{host};{boot};{namespace};{pid};{started}")
    }
}

impl FromStr for Holder {
    type Err = BadHolder;
    fn from_str(text: &str) -> Result<Self, BadHolder> {
        Self::parse(text).ok_or_else(|| BadHolder { text: text.to_owned() })
    }
}

impl Holder {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split(';').collect();
        let &["v1", host, boot, namespace, pid, started] = parts.as_slice() else { return None };
        let (host, boot, namespace) = (host.to_owned(), boot.to_owned(), namespace.to_owned());
        Some(Self { host, boot, namespace, pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    /// The process that lives as long as the current session: `env_pid` if it exists, otherwise the nearest ancestor
    /// that is not a shell or launcher. `None` if this cannot be determined (no `/proc`), or if there is no such
    /// ancestor but init.
    #[must_use]
    pub fn current(env_pid: Option<u32>) -> Option<Self> {
        let machine = Machine::read()?;
        if let Some(pid) = env_pid
            && let Some(stat) = Stat::of_running(pid)
        {
            return Some(machine.holder(&stat));
        }
        let worker = ancestors().find(|stat| !stat.is_launcher())?;
        Some(machine.holder(&worker))
    }

    /// The process `pid`, if it runs.
    pub(crate) fn running(pid: u32) -> Option<Self> {
        let stat = Stat::of_running(pid)?;
        holders_of([stat]).pop()
    }

    /// The ancestors of this process, nearest first; empty if they cannot be determined.
    #[must_use]
    pub fn ancestors() -> Vec<Self> {
        holders_of(ancestors())
    }

    /// Whether the process is still alive, as far as this process can see.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        let Some(machine) = Machine::read() else { return Liveness::Unknown };
        if machine.host != self.host {
            return Liveness::Unknown;
        }
        // The same machine was started again, which ended all its processes.
        if machine.boot != self.boot {
            return Liveness::Dead;
        }
        if machine.namespace != self.namespace {
            return Liveness::Unknown;
        }
        match Stat::read(self.pid) {
            // Another start time: the number belongs to another process now.
            Ok(stat) if stat.started != self.started || stat.is_over() => Liveness::Dead,
            Ok(_) => Liveness::Alive,
            Err(error) if is_gone(&error) && !answers(self.pid) => Liveness::Dead,
            Err(_) => Liveness::Unknown,
        }
    }
}

/// Processes of this machine as holders; empty if the machine cannot be identified.
pub(super) fn holders_of(processes: impl IntoIterator<Item = Stat>) -> Vec<Holder> {
    let Some(machine) = Machine::read() else { return Vec::new() };
    processes.into_iter().map(|stat| machine.holder(&stat)).collect()
}

/// The kernel's id of the current boot; `None` if unknown.
#[must_use]
pub fn boot_id() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

/// The line in a file, unless it is empty.
fn line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = plain(text.trim());
    if line.is_empty() { None } else { Some(line) }
}

/// What a holder and this process must have in common before process ids can be compared.
struct Machine {
    host: String,
    boot: String,
    namespace: String,
}

impl Machine {
    #[cfg(target_os = "linux")]
    fn read() -> Option<Self> {
        Some(Self {
            host: line("/proc/sys/kernel/hostname")?,
            boot: boot_id()?,
            namespace: plain(&std::fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy()),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn read() -> Option<Self> {
        None
    }

    fn holder(&self, process: &Stat) -> Holder {
        let Self { host, boot, namespace } = self;
        let (host, boot, namespace) = (host.clone(), boot.clone(), namespace.clone());
        Holder { host, boot, namespace, pid: process.pid, started: process.started }
    }
}

/// Replaces the characters that have a meaning in the text of a holder.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() && c != ';' { c } else { '_' }).collect()
}

/// The processor's time that a process took so far, in ticks; `None` if it cannot be seen.
pub(super) fn cpu_time(pid: u32) -> Option<u64> {
    let bytes = of_process(pid, "stat", STAT_BYTES).ok()?;
    let text = text_of(&bytes);
    // Fields 14 and 15 of proc(5); what stands behind the name begins with the third.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// The contents of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: u32,
    name: String,
    state: char,
    parent: u32,
    /// The number of its terminal; 0 without one.
    terminal: i64,
    started: u64,
}

impl Stat {
    fn read(pid: u32) -> io::Result<Self> {
        let bytes = of_process(pid, "stat", STAT_BYTES)?;
        Self::parse(&text_of(&bytes)).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// As [`Self::read`]; `None` if the process has ended or cannot be seen.
    fn of_running(pid: u32) -> Option<Self> {
        let stat = Self::read(pid).ok()?;
        if stat.is_over() { None } else { Some(stat) }
    }

    /// The process that started it, unless that is init.
    fn above(&self) -> Option<Self> {
        // Init adopts orphans, and so says nothing about the session.
        if self.parent > 1 { Self::read(self.parent).ok() } else { None }
    }

    /// Parses the file. The name of the program may contain blanks and parentheses; the last `)` ends it.
    fn parse(text: &str) -> Option<Self> {
        let (pid, rest) = text.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            pid: pid.parse().ok()?,
            name: name.to_owned(),
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            // Fields 7 and 22 of proc(5); the name was the second.
            terminal: fields.nth(2)?.parse().ok()?,
            started: fields.nth(14)?.parse().ok()?,
        })
    }

    /// Whether the process has ended. A zombie has, although its parent has not noticed yet.
    fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// The name of its program. That of a login shell begins with a dash, and some programs say after theirs what they do:
    /// `tmux: server`, `npm run build`.
    pub(super) fn program(&self) -> &str {
        let name = self.name.trim_start_matches('-');
        name.split([':', ' ']).next().unwrap_or(name)
    }

    pub(super) fn is_shell(&self) -> bool {
        SHELLS.contains(&self.program())
    }

    /// Whether it only starts other programs.
    pub(super) fn is_launcher(&self) -> bool {
        self.is_shell() || LAUNCHERS.contains(&self.program())
    }

    pub(super) fn has_terminal(&self) -> bool {
        self.terminal != 0
    }
}

/// The nearest ancestor of this process that is one of some programs, each given by the number of its process or by its names,
/// and which of them it is.
pub(super) fn nearest(programs: &[(Option<u32>, &[&str])]) -> Option<(usize, Stat)> {
    for stat in ancestors() {
        let names = names_of(&stat);
        for (at, (pid, known)) in programs.iter().enumerate() {
            if *pid == Some(stat.pid) || names.iter().any(|name| known.contains(&name.as_str())) {
                return Some((at, stat));
            }
        }
    }
    None
}

/// The names of a process: the one that the kernel knows it by, and those of the program or script in its first two arguments,
/// since many programs run in an interpreter.
fn names_of(stat: &Stat) -> Vec<String> {
    let command = of_process(stat.pid, "cmdline", COMMAND_BYTES).unwrap_or_default();
    let mut names = vec![stat.name.clone()];
    names.extend(command.split(|byte| *byte == 0).take(2).map(|argument| program_of(&text_of(argument))));
    names
}

/// The name of the program in an argument: the last part of its path, without the ending of a script.
fn program_of(argument: &str) -> String {
    let name = argument.rsplit('/').next().unwrap_or_default();
    let name =
        [".js", ".mjs", ".cjs", ".py", ".exe"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.to_ascii_lowercase()
}

/// As [`String::from_utf8_lossy`], which takes ten times as long for a text that is whole.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// At most the first `most` bytes of a file in `/proc/PID`, in one read: such a file has no length, and reading until its end
/// takes a read more for each doubling.
pub(super) fn of_process(pid: u32, file: &str, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let len = std::fs::File::open(format!("/proc/{pid}/{file}"))?.read(&mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// The ancestors of this process, nearest first.
pub(super) fn ancestors() -> impl Iterator<Item = Stat> {
    let own = Stat::read(std::process::id()).ok();
    std::iter::successors(own, Stat::above).skip(1).take(GENERATIONS)
}

fn is_gone(error: &io::Error) -> bool {
    // ESRCH is reported if a process ends while its file is read.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// Whether a process with this id exists, even if `/proc` does not show it (mounted with `hidepid`).
pub(super) fn answers(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return false };
    // A process that may not be signalled exists as well.
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// This user's processes that were started with all of these environment variables; empty if `/proc` is not available, or
/// if this process is one of them: then it is a part of their work.
#[must_use]
pub fn processes_with(variables: &[(&str, std::ffi::OsString)]) -> Vec<u32> {
    let wanted: Vec<_> =
        variables.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_encoded_bytes()].concat()).collect();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        // The other entries there are not processes.
        let Some(Ok(pid)) = name.to_str().map(str::parse::<u32>) else { continue };
        // That of another user's process cannot be read.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variables: Vec<_> = environment.split(|&byte| byte == 0).collect();
        if !wanted.iter().all(|wanted| variables.contains(&wanted.as_slice())) {
            continue;
        }
        if pid == std::process::id() {
            return Vec::new();
        }
        found.push(pid);
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "tests spawn their own children")]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().expect("sleep can be run")
    }

    #[test]
    fn a_holder_survives_its_text() {
        let holder = Holder::current(Some(std::process::id())).unwrap();
        assert_eq!(holder.pid, std::process::id());
        assert_eq!(holder.to_string().parse(), Ok(holder.clone()));
        assert!(holder.to_string().starts_with("v1;"));
        for bad in ["", "v1;h;b;n;1", "v2;h;b;n;1;2", "v1;h;b;n;x;2", "v1;h;b;n;1;2;3"] {
            assert!(bad.parse::<Holder>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_child_is_alive_then_a_zombie_then_gone() {
        let mut child = sleeper();
        let holder = Holder::current(Some(child.id())).unwrap();
        assert_eq!(holder.liveness(), Liveness::Alive);
        child.kill().unwrap();
        while !Stat::read(child.id()).unwrap().is_over() {
            std::thread::yield_now();
        }
        assert_eq!(holder.liveness(), Liveness::Dead);
        child.wait().unwrap();
        assert_eq!(holder.liveness(), Liveness::Dead);
        assert_ne!(Holder::current(Some(holder.pid)).map(|other| other.pid), Some(holder.pid));
    }

    #[test]
    fn the_same_number_is_not_the_same_process() {
        let holder = Holder::current(Some(std::process::id())).unwrap();
        let changed = |change: fn(&mut Holder)| {
            let mut holder = holder.clone();
            change(&mut holder);
            holder.liveness()
        };
        assert_eq!(changed(|_| ()), Liveness::Alive);
        assert_eq!(changed(|holder| holder.started += 1), Liveness::Dead);
        assert_eq!(changed(|holder| holder.boot = "other".to_owned()), Liveness::Dead);
        assert_eq!(changed(|holder| holder.host = "other".to_owned()), Liveness::Unknown);
        assert_eq!(changed(|holder| holder.namespace = "other".to_owned()), Liveness::Unknown);
        assert_eq!(changed(|holder| holder.pid = u32::MAX), Liveness::Dead);
    }

    #[test]
    fn names_with_blanks_and_parentheses_are_read() {
        let rest = "S 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let stat = Stat::parse(&format!("12 (a) R 1 (b) {rest}\n")).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.started, stat.state), (12, 7, 4711, 'S'));
        assert_eq!(stat.name, "a) R 1 (b");
        for torn in ["", "12", "12 (a", "12 (a) S 7", "x (a) S 7"] {
            assert_eq!(Stat::parse(torn), None, "{torn}");
        }
    }

    #[test]
    fn shells_are_passed_over() {
        let named = |name: &str| Stat { pid: 2, name: name.to_owned(), state: 'S', parent: 1, terminal: 0, started: 0 };
        assert!(named("npm run build").is_launcher() && named("tmux: server").program() == "tmux");
        assert!(named("bash").is_launcher() && named("-zsh").is_launcher() && named("flow").is_launcher());
        assert!(!named("node").is_launcher());
        if let Some(holder) = Holder::current(None) {
            assert_ne!(holder.pid, std::process::id());
            assert_eq!(holder.liveness(), Liveness::Alive);
        }
    }
}
