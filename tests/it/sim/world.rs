//! A project on a simulated disk, the operations that are tried on it, and what must hold afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flowrun::codec::unseal;
use flowrun::disk::{Disk, DiskDir, DiskFile, Open, Rename};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::{RunId, SessionId, Timestamp};
use flowrun::runs::{
    self, ClaimRequest, Context, Error, Options, RecordRequest, ResumeRequest, SessionEndRequest, StartRequest,
    StatusRequest, StatusVerb,
};
use serde_json::{Map, Value};

use super::cut::Order;
use super::disk::{HERE, SimDisk};
use super::image::Image;
use super::turns::Turns;
use crate::support::essence;
use crate::support::faulty::{FaultyDisk, Mistake};

/// The run that everything happens to.
pub const RUN: &str = "run-1";
/// A person's comment in `run.yaml`, which must never be lost.
pub const COMMENT: &str = "# ask Ada first\n";

/// A command and how to give it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// `flow start WORKFLOW --id RUN`.
    Start(&'static str),
    /// `flow record-activity --id ID`, with a summary of so many bytes.
    Record(String, usize),
    /// `flow record-activity --id ID --advance`.
    Advance(String),
    /// `flow block --reason …`.
    Block,
    /// `flow unblock`.
    Unblock,
    /// `flow complete`.
    Complete,
    /// `flow cancel`.
    Cancel,
    /// `flow resume --claim --session …`.
    Claim(&'static str),
    /// `flow session-end`, of runs that no session holds.
    SessionEnd,
}

/// One process after another on one disk.
#[derive(Debug, Clone)]
pub struct World {
    /// The disk.
    pub disk: SimDisk,
    mistake: Option<Mistake>,
    acknowledged: bool,
    processes: i64,
    boot: String,
}

impl World {
    /// A disk on which this is stored.
    pub fn holding(image: Image) -> Self {
        Self {
            disk: SimDisk::holding(image),
            mistake: None,
            acknowledged: false,
            processes: 0,
            boot: "first".to_owned(),
        }
    }

    /// A disk on which this is left, in another boot after a power cut. No process has the ids of an earlier one.
    pub fn left(image: Image, boot: usize, order: Order) -> Self {
        let boot = i64::try_from(boot).unwrap() + 1;
        let name = if order == Order::Killed { "first".to_owned() } else { format!("boot {boot}") };
        Self { boot: name, processes: 1000 * boot, ..Self::holding(image) }
    }

    /// A project with a run in its second phase and one record.
    pub fn begun() -> Self {
        let mut world = Self::holding(Image::new());
        world.act(&Deed::Start("debug")).unwrap();
        world.act(&Deed::Record("a1".to_owned(), 20)).unwrap();
        let image = world.disk.live();
        Self { disk: SimDisk::holding(image), ..world }
    }

    /// The same with all bytes on stable storage and nothing remembered.
    pub fn rest(&self) -> Self {
        let disk = SimDisk::holding(self.disk.live());
        Self { disk, ..self.clone() }
    }

    /// The same on a disk that makes this mistake.
    pub fn broken_by(self, mistake: Option<Mistake>) -> Self {
        Self { mistake, ..self }
    }

    fn flow(&mut self) -> Context {
        self.processes += 1;
        // A process of its own, a minute after the one before.
        let begin: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        let now = Timestamp::new(begin.as_datetime() + chrono::TimeDelta::minutes(self.processes));
        let env = Env { cwd: Some(PathBuf::from(HERE)), ..Env::default() };
        let (lock_wait, boot) = (Some(Duration::ZERO), Some(self.boot.clone()));
        let options = Options { lock_wait, boot, ..Options::default() };
        let ids = Ids::seeded(self.processes.to_le_bytes());
        let flow = Context::new(Clock::fixed(now), ids, env, Git::new("no\0git"), options);
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        match self.mistake {
            Some(mistake) => flow.on(Arc::new(FaultyDisk::new(disk, mistake))),
            None => flow.on(disk),
        }
    }

    /// Runs a command. Its answer counts only when the process lives to give it.
    pub fn act(&mut self, deed: &Deed) -> Result<(), Box<Error>> {
        let flow = self.flow();
        let status = |verb| {
            let (run, reason) = (Some(RUN.to_owned()), Some("why".to_owned()));
            StatusRequest { run, reason, ..StatusRequest::new(verb) }
        };
        let record = |id: &str| RecordRequest {
            run: Some(RUN.to_owned()),
            id: Some(id.parse().unwrap()),
            ..RecordRequest::default()
        };
        let session = |id: &str| Some(SessionId::new(id).unwrap());
        let result = match deed {
            Deed::Start(workflow) => {
                let id = Some(RunId::new(RUN).unwrap());
                runs::start(&flow, &StartRequest { workflow: (*workflow).to_owned(), id, ..Default::default() })
                    .map(drop)
            }
            Deed::Record(id, size) => {
                let summary = Some("x".repeat(*size));
                runs::record_activity(&flow, &RecordRequest { summary, ..record(id) }).map(drop)
            }
            Deed::Advance(id) => {
                let advance = Some(flowrun::runs::Advance::Next);
                runs::record_activity(&flow, &RecordRequest { advance, ..record(id) }).map(drop)
            }
            Deed::Block => runs::change_status(&flow, &status(StatusVerb::Block)).map(drop),
            Deed::Unblock => runs::change_status(&flow, &status(StatusVerb::Unblock)).map(drop),
            Deed::Complete => {
                let skip_reason = Some("enough".to_owned());
                let request = StatusRequest { skip_reason, ..status(StatusVerb::Complete) };
                runs::change_status(&flow, &request).map(drop)
            }
            Deed::Cancel => runs::change_status(&flow, &status(StatusVerb::Cancel)).map(drop),
            Deed::Claim(id) => {
                let (run, claim) = (Some(RUN.to_owned()), Some(ClaimRequest::TakeOver));
                runs::resume(&flow, &ResumeRequest { run, claim, session: session(id), ..ResumeRequest::default() })
                    .map(drop)
            }
            Deed::SessionEnd => {
                runs::session_end(&flow, &SessionEndRequest { unowned: true, ..Default::default() }).map(drop)
            }
        };
        self.acknowledged = result.is_ok() && !self.disk.died() && !Turns::is_dead();
        if self.acknowledged {
            self.disk.acknowledge();
        }
        self.disk.end_process();
        result.map_err(Box::new)
    }

    /// Whether the last command lived to say that it is done.
    pub fn was_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Another user of the same disk, at the same time.
    pub fn also(other: &Self) -> Self {
        Self { processes: other.processes + 500, ..other.clone() }
    }

    /// The sign of a writer that waits for the run's lock.
    pub fn waiting(&self) -> Arc<dyn DiskFile> {
        let log = self.dir().open_file("events.jsonl".as_ref(), Open::Read).unwrap();
        log.share().unwrap();
        log
    }

    /// What `resume` says about the run, as far as states differ in it; null without a run.
    pub fn resumed(&mut self) -> Result<Value, Box<Error>> {
        let request = ResumeRequest { run: Some(RUN.to_owned()), ..ResumeRequest::default() };
        match runs::resume(&self.flow(), &request) {
            Ok(report) => Ok(essence(&serde_json::to_value(report).unwrap())),
            Err(Error::NoSuchRun { .. } | Error::NoProject { .. }) => Ok(Value::Null),
            Err(error) => Err(Box::new(error)),
        }
    }

    /// The ids of all runs, by `list`; none may be unreadable.
    pub fn listed(&mut self) -> Result<Vec<String>, String> {
        let report =
            runs::list(&self.flow(), &flowrun::runs::ListFilter::default()).map_err(|error| error.to_string())?;
        match report.unreadable.first() {
            Some(unreadable) => Err(format!("{unreadable:?}")),
            None => Ok(report.runs.iter().map(|run| run.run.head.run_id.to_string()).collect()),
        }
    }

    /// The bytes of one of the run's files.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.disk.live().bytes(run_dir().join(name)).map(<[u8]>::to_vec)
    }

    fn dir(&self) -> Arc<dyn DiskDir> {
        self.disk.open(&Path::new(HERE).join(run_dir())).unwrap()
    }

    /// Saves a file of the run as a careful editor does: whole, and on stable storage.
    pub fn save(&self, name: &str, text: &str) {
        let dir = self.dir();
        let file = dir.open_file("4913".as_ref(), Open::New { mode: 0o644 }).unwrap();
        file.append(text.as_bytes()).unwrap();
        file.sync_all().unwrap();
        dir.rename("4913".as_ref(), &*dir, name.as_ref(), Rename::Replace).unwrap();
        dir.sync().unwrap();
    }

    /// Removes a file of the run, as a person might.
    pub fn remove(&self, dir: &str, name: &str) {
        let run = self.dir();
        let dir = if dir.is_empty() { run } else { run.open_dir(dir.as_ref()).unwrap() };
        dir.remove(name.as_ref()).unwrap();
    }

    /// Appends to the log what another program has to say, as `echo` would.
    pub fn append(&self, text: &str) {
        self.dir()
            .open_file("events.jsonl".as_ref(), Open::Append { mode: 0 })
            .unwrap()
            .append(text.as_bytes())
            .unwrap();
    }

    /// `run.yaml` as it is.
    pub fn text(&self) -> String {
        String::from_utf8(self.file("run.yaml").expect("no run.yaml")).expect("run.yaml is not text")
    }

    /// `last_seq` of `run.yaml` and the last sealed position of the log: the first is never higher. A `run.yaml` that is
    /// torn counts as too high.
    pub fn shown_and_logged(&self) -> (u64, u64) {
        let shown = self.file("run.yaml").map_or(0, |bytes| {
            let text = String::from_utf8_lossy(&bytes);
            let seq = text.lines().find_map(|line| line.trim().strip_prefix("last_seq: "));
            seq.and_then(|seq| seq.parse().ok()).unwrap_or(u64::MAX)
        });
        let logged = self.events().iter().filter_map(|event| event["seq"].as_u64()).max();
        (shown, logged.unwrap_or(0))
    }

    /// The sealed lines of the log.
    pub fn events(&self) -> Vec<Map<String, Value>> {
        let bytes = self.file("events.jsonl").unwrap_or_default();
        bytes.split(|&byte| byte == b'\n').filter_map(|line| unseal(line).ok()).collect()
    }

    /// How many records of an id are in the log.
    pub fn records_of(&self, id: &str) -> usize {
        self.recorded().iter().filter(|(_, recorded)| recorded == id).count()
    }

    /// Whether the note in the lock names a lower position than that of one of these records.
    pub fn noted_less_than(&self, ids: &[&str]) -> Option<String> {
        let note: Value = serde_json::from_slice(&self.file(".lock")?).ok()?;
        let noted = note["seq"].as_u64().unwrap_or(0);
        let of_ids = |event: &Map<String, Value>| {
            ids.iter().any(|id| event.get("activity").is_some_and(|activity| activity["metadata"]["id"] == *id))
        };
        let last =
            self.events().iter().filter(|event| of_ids(event)).filter_map(|event| event["seq"].as_u64()).max()?;
        (last > noted).then(|| format!("event {last} is acknowledged, and the lock notes {noted}"))
    }

    /// Numbers and ids of all records, in the order of the log.
    pub fn recorded(&self) -> Vec<(String, String)> {
        let events = self.events().into_iter().filter(|event| event["type"] == "activity_recorded");
        let parts = |event: Map<String, Value>| {
            let number = event["number"].as_str().unwrap().to_owned();
            (number, event["activity"]["metadata"]["id"].as_str().unwrap().to_owned())
        };
        events.map(parts).collect()
    }

    /// All promises about a run at rest; the first one that is broken.
    pub fn broken_promise(&self) -> Option<String> {
        self.broken_promise_but(&BTreeSet::new(), None)
    }

    /// As [`Self::broken_promise`]; these files of activities may be missing, and another program may have
    /// written this into the log.
    pub fn broken_promise_but(&self, removed: &BTreeSet<String>, foreign: Option<&str>) -> Option<String> {
        let events = self.events();
        let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        if seqs != (1..=events.len() as u64).collect::<Vec<_>>() {
            return Some(format!("positions in the log are {seqs:?}"));
        }
        let keys: BTreeSet<_> = events.iter().map(|event| event["id"].to_string()).collect();
        if keys.len() != events.len() {
            return Some("an operation is in the log twice".to_owned());
        }
        let lines = self.file("events.jsonl").unwrap_or_default();
        // What another program wrote last keeps flow from seeing that a power cut tore the line before it.
        let is_foreign = |line: &&[u8]| {
            foreign.is_some_and(|foreign| line.contains(&0) || String::from_utf8_lossy(line).contains(foreign))
        };
        if lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !is_foreign(line)).count()
            != events.len()
        {
            return Some("a line of the log does not verify".to_owned());
        }
        if self.shown_and_logged().0 != events.len() as u64 {
            return Some(format!("run.yaml shows {:?}", self.shown_and_logged()));
        }
        let mut files = Vec::new();
        for (number, id) in self.recorded() {
            let name = format!("activities/{number}-{id}.yaml");
            if removed.contains(&name) && self.file(&name).is_none() {
                continue;
            }
            let whole = self.file(&name).is_some_and(|bytes| bytes.ends_with(b"\n") && !bytes.contains(&0));
            if !whole {
                return Some(format!("{name} is missing or cut off"));
            }
            files.push(name);
        }
        let image = self.disk.live();
        let tree = image.tree();
        let strays = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            (name.ends_with(".tmp") || name.starts_with(".new-")) && !path.starts_with(".flow/.cache")
        };
        if let Some(stray) = tree.keys().find(strays) {
            return Some(format!("{} was left behind", stray.display()));
        }
        let beside = |path: &Path| path.parent().is_some_and(|parent| parent == run_dir().join("activities"));
        let there: Vec<_> = tree.keys().filter(|path| beside(path)).collect();
        (there.len() != files.len()).then(|| format!("activities are {there:?}"))
    }
}

/// The run's directory, below the root.
pub fn run_dir() -> PathBuf {
    Path::new(".flow/runs").join(RUN)
}
