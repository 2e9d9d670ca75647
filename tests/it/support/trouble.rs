//! What may befall a command.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Stdio;

use flowrun::disk::Errno;

use super::shaky::{DiskCall, Ill};
use super::{Call, Scene, Tree};

/// A kind of trouble: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is killed before a call that changes something.
    Kill,
    /// One call fails with this error.
    Fails(&'static str),
    /// From one call on, every call of that name fails with this error.
    KeepsFailing(&'static str),
    /// Only a part of a line of the log is said to be written. (None of it is: strace cannot shorten a call.)
    ShortAppend,
    /// No file may grow beyond a size; writes across it are short. The signal that comes with it may be ignored.
    FileSize {
        /// Whether the command starts with the signal ignored.
        ignored: bool,
    },
    /// It may have so few files open.
    Descriptors,
    /// The file system has no flags for renames, and answers with this error.
    PlainRenames(&'static str),
    /// The same, and it is killed before a call that changes something.
    KillWithPlainRenames(&'static str),
    /// The disk has so little room.
    Room,
    /// The disk can be read only.
    ReadOnly,
    /// Standard streams are closed, full, or a pipe without reader.
    Streams,
}

/// One thing that may befall a command.
#[derive(Debug, Clone)]
pub struct State {
    /// What it is, for people.
    pub shown: String,
    /// Words that start the command with the trouble.
    pub prefix: Vec<String>,
    /// What goes wrong with the file system of a command in this process; none for a process of its own.
    pub inside: Option<Vec<Ill>>,
    /// Where the answer goes.
    pub sink: Sink,
    /// What the disk is like meanwhile.
    pub disk: Disk,
    /// Whether the process dies of it.
    pub kills: bool,
    /// Whether it is a failing flush.
    pub no_flush: bool,
    /// Whether nothing can be written to standard error.
    pub mute: bool,
}

/// Where an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// To the test.
    Test,
    /// Nowhere: the program finds standard output closed.
    Closed,
    /// To a full disk.
    Full,
    /// Into a pipe whose reader went away.
    NoReader,
}

impl Sink {
    /// Standard output for the command.
    pub fn stdout(self) -> Stdio {
        match self {
            Self::Test | Self::Closed => Stdio::piped(),
            Self::Full => File::options().write(true).open("/dev/full").unwrap().into(),
            Self::NoReader => std::io::pipe().unwrap().1.into(),
        }
    }
}

/// A disk in trouble. Only a project in a tmpfs of its own can have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// It is as it should be.
    Sound,
    /// So many pages of 4 KiB are free.
    Pages(u64),
    /// So many new files and directories can be made.
    Files(u64),
    /// It is mounted for reading only.
    ReadOnly,
}

impl State {
    /// Nothing but a description.
    fn plain(shown: String) -> Self {
        let disk = Disk::Sound;
        let (prefix, inside, sink) = (Vec::new(), None, Sink::Test);
        Self { shown, prefix, inside, sink, disk, kills: false, no_flush: false, mute: false }
    }

    /// Call `at` of a command in this process, in trouble.
    fn inside(what: &str, at: usize, call: &DiskCall, ills: Vec<Ill>) -> Self {
        let kills = ills.iter().any(|ill| matches!(ill, Ill::Death(_)));
        let fails = ills.iter().any(|ill| matches!(ill, Ill::Failure(..) | Ill::Failures(..)));
        let no_flush = fails && ["fsync", "fdatasync"].contains(&call.name);
        let shown = format!("in this process, {what} at call {at}, {} {:?}", call.name, call.files);
        Self { inside: Some(ills), kills, no_flush, ..Self::plain(shown) }
    }

    fn prefixed(shown: String, words: &[&str]) -> Self {
        let prefix = words.iter().map(|&word| word.to_owned()).collect();
        Self { prefix, ..Self::plain(shown) }
    }

    fn injected(shown: String, injects: &[String]) -> Self {
        let mut prefix: Vec<String> = ["strace", "-qq", "-o", "/dev/null"].map(str::to_owned).into();
        for inject in injects {
            prefix.extend(["-e".to_owned(), format!("inject={inject}")]);
        }
        prefix.push("--".to_owned());
        Self { prefix, ..Self::plain(shown) }
    }

    fn kill(call: &Call, mut injects: Vec<String>) -> Self {
        injects.push(format!("{}:signal=KILL:when={}", call.name, call.nth));
        Self { kills: true, ..Self::injected(format!("killed before call {}, {}", call.nth, call.shown), &injects) }
    }

    fn short(call: &Call) -> Self {
        let shown = format!("20 bytes only in call {}, {}", call.nth, call.shown);
        Self::injected(shown, &[format!("write:retval=20:when={}", call.nth)])
    }

    fn fails(call: &Call, error: &str, on: &str) -> Self {
        let shown = format!("{error} from call {}{on}, {}", call.nth, call.shown);
        let inject = format!("{}:error={error}:when={}{on}", call.name, call.nth);
        let mute = call.name == "write" && !on.is_empty();
        Self { no_flush: call.is_a_flush() && error != "EINTR", mute, ..Self::injected(shown, &[inject]) }
    }
}

impl Trouble {
    /// Its column in the table.
    pub fn name(self) -> String {
        match self {
            Self::Kill => "killed".to_owned(),
            Self::Fails(error) => error.to_owned(),
            Self::KeepsFailing(error) => format!("{error}, on and on"),
            Self::ShortAppend => "short append".to_owned(),
            Self::FileSize { ignored: false } => "file size".to_owned(),
            Self::FileSize { ignored: true } => "file size, no signal".to_owned(),
            Self::Descriptors => "EMFILE".to_owned(),
            Self::PlainRenames(error) => format!("rename {error}"),
            Self::KillWithPlainRenames(error) => format!("killed, rename {error}"),
            Self::Room => "full disk".to_owned(),
            Self::ReadOnly => "read-only disk".to_owned(),
            Self::Streams => "streams".to_owned(),
        }
    }

    /// The same of a command in this process, at every call that it makes of the file system. Empty for what can befall only
    /// a process.
    pub fn states_inside(self, scene: &Scene) -> Vec<State> {
        let calls = scene.disk_calls(&[]);
        match self {
            Self::Kill => deaths_inside(&calls, None),
            Self::Fails(error) => fails_inside(&calls, error, |at, _, errno| Ill::Failure(at, errno)),
            Self::KeepsFailing(error) => fails_inside(&calls, error, Ill::Failures),
            Self::ShortAppend => {
                let writes = numbered(&calls).filter(|(_, call)| ["write", "pwrite64"].contains(&call.name));
                writes.map(|(at, call)| State::inside("a half write", at, call, vec![Ill::ShortWrite(at)])).collect()
            }
            Self::PlainRenames(error) => {
                let call = DiskCall { name: "renameat2", files: Vec::new(), changes: true };
                vec![State::inside(error, 0, &call, vec![Ill::NoFlags(errno(error))])]
            }
            Self::KillWithPlainRenames(error) => {
                let plain = Ill::NoFlags(errno(error));
                deaths_inside(&scene.disk_calls(&[plain]), Some(plain))
            }
            Self::FileSize { .. } | Self::Descriptors | Self::Room | Self::ReadOnly | Self::Streams => Vec::new(),
        }
    }

    /// All states in which it leaves the scene's command.
    pub fn states(self, scene: &Scene) -> Vec<State> {
        match self {
            Self::Kill => kills(&scene.calls(&[]), &[]),
            Self::Fails(error) => {
                let calls = scene.calls(&[]);
                let may = calls.iter().filter(|call| may_answer(call, error));
                may.map(|call| State::fails(call, error, "")).collect()
            }
            Self::KeepsFailing(error) => {
                let calls = scene.calls(&[]);
                let may = calls.iter().filter(|call| may_answer(call, error));
                may.map(|call| State::fails(call, error, "+")).collect()
            }
            // A new run's log is whole before it is anywhere, so it is written like any other file.
            Self::ShortAppend if scene.old.0.len() != scene.new.0.len() => Vec::new(),
            Self::ShortAppend => {
                let calls = scene.calls(&[]);
                // A line is flushed with this call, and nothing else is.
                let lines = calls.windows(2).filter(|pair| pair[0].name == "write" && pair[1].name == "fdatasync");
                lines.map(|pair| State::short(&pair[0])).collect()
            }
            Self::FileSize { ignored } => sizes(scene).into_iter().map(|size| file_size(size, ignored)).collect(),
            Self::Descriptors => (3..=DESCRIPTORS).map(descriptors).collect(),
            Self::PlainRenames(error) => vec![State::injected(self.name(), &[plain_renames(error)])],
            Self::KillWithPlainRenames(error) => {
                let extra = [plain_renames(error)];
                let calls = scene.calls(&extra);
                // A call that is refused changes nothing: a death before it is one before the next.
                let real: Vec<_> = calls.into_iter().filter(|call| call.name != "renameat2").collect();
                kills(&real, &extra)
            }
            Self::Room => (0..ROOM).flat_map(|free| [disk(Disk::Pages(free)), disk(Disk::Files(free))]).collect(),
            Self::ReadOnly => vec![disk(Disk::ReadOnly)],
            Self::Streams => streams(),
        }
    }
}

/// More files than any command has open at once.
const DESCRIPTORS: u64 = 20;
/// More pages, and more files, than any command needs.
const ROOM: u64 = 16;

fn kills(calls: &[Call], extra: &[String]) -> Vec<State> {
    let changing = calls.iter().filter(|call| call.changes_something());
    changing.map(|call| State::kill(call, extra.to_vec())).collect()
}

fn numbered(calls: &[DiskCall]) -> impl Iterator<Item = (usize, &DiskCall)> {
    (1..).zip(calls)
}

/// A death before every call that changes something; where renames have no flags, those that ask for some do not.
fn deaths_inside(calls: &[DiskCall], plain: Option<Ill>) -> Vec<State> {
    let changes = |call: &DiskCall| call.changes && (plain.is_none() || call.name != "renameat2");
    let changing = numbered(calls).filter(|(_, call)| changes(call));
    let ills = |at| [Ill::Death(at)].into_iter().chain(plain).collect();
    changing.map(|(at, call)| State::inside("a death", at, call, ills(at))).collect()
}

fn fails_inside(calls: &[DiskCall], error: &str, ill: fn(usize, &'static str, Errno) -> Ill) -> Vec<State> {
    let may = |call: &DiskCall| match error {
        "ENOSPC" | "EDQUOT" | "EROFS" => (call.changes || call.name.ends_with("sync")) && call.name != "flock",
        "EACCES" => !call.files.is_empty(),
        // The file system asks again by itself.
        "EINTR" => false,
        _ => true,
    };
    let failing = numbered(calls).filter(|(_, call)| may(call));
    failing.map(|(at, call)| State::inside(error, at, call, vec![ill(at, call.name, errno(error))])).collect()
}

fn errno(name: &str) -> Errno {
    match name {
        "EIO" => Errno::IO,
        "ENOSPC" => Errno::NOSPC,
        "EDQUOT" => Errno::DQUOT,
        "EROFS" => Errno::ROFS,
        "EACCES" => Errno::ACCESS,
        "EINVAL" => Errno::INVAL,
        "ENOSYS" => Errno::NOSYS,
        _ => panic!("{name} is no error that is tried"),
    }
}

/// Whether a kernel may answer this call so, and a program can act on it. A failing `close` closes all the same, which
/// strace cannot do, and `fcntl` only looks at a descriptor, in debug builds.
fn may_answer(call: &Call, error: &str) -> bool {
    if ["exit_group", "fcntl", "close"].contains(&call.name.as_str()) || !call.touches_files() || call.asks_the_machine
    {
        return false;
    }
    match error {
        "ENOSPC" | "EDQUOT" | "EROFS" => call.changes_something() && call.name != "flock",
        "EACCES" => call.names_a_file(),
        "EINTR" => !call.name.contains("stat") && !call.name.starts_with("rename"),
        _ => true,
    }
}

fn plain_renames(error: &str) -> String {
    format!("renameat2:error={error}")
}

/// Sizes at which some file that the command writes is cut in another way, and some at which nothing is.
fn sizes(scene: &Scene) -> Vec<u64> {
    let (old, new) = (scene.before(), scene.undisturbed());
    let pairs = [(&old.flow, &new.flow), (&old.decisions, &new.decisions), (&old.docs, &new.docs)];
    let mut sizes = BTreeSet::new();
    for (old, new) in pairs {
        for file in new.files().filter(|file| old.bytes(file) != new.bytes(file)) {
            let length = |tree: &Tree| tree.bytes(file).map_or(0, |bytes| bytes.len() as u64);
            let (before, after) = (length(old), length(new));
            // What is appended to begins where it ended; everything else is written from its beginning.
            let from = if file.ends_with("events.jsonl") { before } else { 0 };
            let step = usize::try_from((after - from.min(after)) / CUTS).unwrap_or(0).max(1);
            sizes.extend((from.min(after)..=after).step_by(step));
            sizes.extend([before, after].into_iter().flat_map(|at| [at.saturating_sub(1), at, at + 1]));
        }
    }
    sizes.into_iter().collect()
}

/// Into how many pieces a file is cut.
const CUTS: u64 = 16;

fn file_size(size: u64, ignored: bool) -> State {
    let shown = format!("files of at most {size} bytes");
    let limit = format!("--fsize={size}");
    if ignored {
        // The shell passes on that the signal is ignored.
        return State::prefixed(shown, &["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\"", "prlimit", &limit]);
    }
    State::prefixed(shown, &["prlimit", &limit])
}

fn descriptors(most: u64) -> State {
    State::prefixed(format!("at most {most} descriptors"), &["prlimit", &format!("--nofile={most}")])
}

fn disk(disk: Disk) -> State {
    State { disk, ..State::plain(format!("{disk:?}")) }
}

fn streams() -> Vec<State> {
    let closed = |what: &str, sink| {
        let script = format!("exec \"$@\" {what}");
        State {
            sink,
            mute: what.contains("2>"),
            ..State::prefixed(format!("streams {what}"), &["sh", "-c", &script, "sh"])
        }
    };
    let to = |sink| State { sink, ..State::plain(format!("standard output {sink:?}")) };
    let mut states = vec![to(Sink::Full), to(Sink::NoReader)];
    states.extend(["<&-", "2>&-", "<&- 2>&-"].map(|what| closed(what, Sink::Test)));
    states.extend([">&-", ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-"].map(|what| closed(what, Sink::Closed)));
    states.extend(["2>/dev/full", "<&- 2>/dev/full"].map(|what| closed(what, Sink::Full)));
    states
}
