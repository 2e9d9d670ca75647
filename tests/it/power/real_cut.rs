//! Power cuts of real file systems: the program is killed before a system call, the file system loses its power, and the
//! next mount finds what was flushed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use flowrun::disk::{Disk, Os};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::runs::{Context, Options};

use super::commands::Case;
use super::enumerate::{Row, look, promised, sample};
use super::materialise::reboot;
use super::recorded::{How, Recorded, arguments};
use crate::support::faulty::{FaultyDisk, Mistake};
use crate::support::mount::{FileSystem, Image};
use crate::support::{Answer, Lack, run};

/// Calls before which a kill leaves other files, or another answer, than a kill before the next one.
const CHANGING: [&str; 10] = [
    "write", "pwrite64", "fsync", "fdatasync", "renameat", "renameat2", "unlinkat", "mkdirat", "ftruncate",
    "exit_group",
];

/// A file system with a project in it.
pub struct Device {
    /// The file system.
    pub image: Image,
    recorded: Recorded,
    args: Vec<String>,
}

impl Device {
    /// Puts what a case begins with on a file system. `recorded` is that case without mistakes.
    pub fn new(image: Image, case: &Case, recorded: Recorded) -> Self {
        let args = arguments(case.commands[0], &recorded.reference.run);
        Self { image, recorded, args }
    }

    /// The project.
    pub fn project(&self) -> PathBuf {
        self.image.path().join("project")
    }

    /// Puts the files back as they were, on stable storage.
    pub fn restore(&self) {
        self.recorded.before.restore(&self.project());
        self.recorded.repository.restore(&self.project().join(".git"));
        rustix::fs::syncfs(std::fs::File::open(self.image.path()).unwrap()).unwrap();
    }

    /// Runs the command of the case under strace with these options.
    pub fn flow(&self, strace: &[&str]) -> Answer {
        let mut command = Command::new("strace");
        command.env_clear().envs(self.recorded.environment.iter().cloned()).current_dir(self.project());
        command.arg("-qq").args(strace).arg("--").arg(env!("CARGO_BIN_EXE_flow")).args(&self.args);
        run(command, "")
    }

    /// The same command in this process, on the real disk or one around it that makes a mistake.
    pub fn flow_as_a_library(&self, mistake: Option<Mistake>) -> Answer {
        let told: HashMap<_, _> = self.recorded.environment.iter().cloned().collect();
        let text = |name: &str| told[OsStr::new(name)].to_str().unwrap().to_owned();
        let clock = Clock::fixed(text("__FLOW_NOW").parse().unwrap());
        let env = Env::from_lookup(|name| told.get(OsStr::new(name)).cloned(), Some(self.project()));
        let options = Options { command: "flow record-activity".to_owned(), ..Options::default() };
        let disk: Arc<dyn Disk> = match mistake {
            Some(mistake) => Arc::new(FaultyDisk::new(Arc::new(Os), mistake)),
            None => Arc::new(Os),
        };
        let flow = Context::new(clock, Ids::seeded(text("__FLOW_SEED")), env, Git::default(), options).on(disk);
        let again = self.recorded.reference.again.expect("a command that can be given as a call");
        let (stdout, stderr, code) = match again(&flow, &self.recorded.reference.run, 1) {
            Ok(()) => ("done".to_owned(), String::new(), 0),
            Err(error) => (String::new(), error, 74),
        };
        Answer { stdout, stderr, code: Some(code) }
    }

    /// The calls of the command that change something, from the first one that names the project on: what strace is to
    /// do to kill it there, and the call.
    pub fn kill_points(&self) -> Vec<(String, String)> {
        let trace = tempfile::NamedTempFile::new().unwrap();
        self.flow(&["-s", "200", "-e", "signal=none", "-o", trace.path().to_str().unwrap()]).ok();
        let text = std::fs::read_to_string(trace.path()).unwrap();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let project = self.project().display().to_string();
        let mut inside = false;
        let mut points = Vec::new();
        for line in text.lines() {
            let Some((name, _)) = line.split_once('(') else { continue };
            let nth = seen.entry(name).or_default();
            *nth += 1;
            inside |= line.contains(&project) && !name.starts_with("exec");
            if inside && (CHANGING.contains(&name) || line.contains("O_CREAT")) {
                points.push((format!("inject={name}:signal=KILL:when={nth}"), line.to_owned()));
            }
        }
        points
    }

    /// Cuts the power, mounts again, and checks every promise.
    pub fn cut_and_look(&mut self, acknowledged: bool, repeat_first: bool) -> Result<(), String> {
        self.image.cut_power()?;
        self.image.mount("")?;
        let root = self.project();
        reboot(&root);
        let survived = look(&root, &self.recorded, 1, repeat_first)?;
        promised(&self.recorded.reference, usize::from(acknowledged), survived)
    }
}

/// Cuts the power of a file system at `cuts` of the calls of a case, and once after it. `faults` is what strace does to
/// its other calls.
///
/// # Errors
/// Why this machine cannot.
pub fn cut_everywhere(kind: FileSystem, case: &Case, cuts: usize, faults: &[&str]) -> Result<Row, Lack> {
    kind.can_lose_power()?;
    let image = Image::new(kind, kind.smallest(), &[])?;
    let mut device = Device::new(image, case, Recorded::of(case, How::USUAL));
    device.restore();
    let kill_points = device.kill_points();
    let mut row = Row { what: format!("{}, power cuts on {}", case.name, kind.name()), ..Row::default() };
    let mut points: Vec<_> = sample(&kill_points, cuts).cloned().collect();
    points.push(("inject=getppid:error=EIO:when=1".to_owned(), "the end".to_owned()));
    for (nth, (inject, shown)) in points.iter().enumerate() {
        device.restore();
        let answer = device.flow(&[&["-o", "/dev/null"], faults, &["-e", inject]].concat());
        row.states += 1;
        row.checked += 1;
        if let Err(what) = device.cut_and_look(!answer.stdout.is_empty(), nth % 2 == 0) {
            row.broken += 1;
            row.violations.push(format!("{what}; killed and cut before {shown:.200}"));
        }
    }
    row.distinct = row.checked;
    Ok(row)
}
