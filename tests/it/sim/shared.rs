//! The copy of a shared run in every state in which a kill or a power cut at any moment can leave it: nothing of it is flushed, and
//! the store has everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flowrun::codec::LogScan;
use flowrun::disk::{Disk, Trust};
use flowrun::doctor::{VerifyRequest, verify};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::{RunId, Timestamp};
use flowrun::runs::{self, Context, Options, RecordRequest, ResumeRequest, StartRequest};
use flowrun::store::shared::Shared;
use flowrun::store::{Project, RefreshScope, SharedRuns as _, WriteRequest, Writer};

use super::cut::{Dice, Leftover, Order, all_of, every_leftover};
use super::disk::{HERE, SimDisk};
use super::image::Image;
use super::memory_carrier::MemoryCarrier;
use super::world::RUN;
use crate::support::scaled;

/// So many choices a moment are tried every day, and in the campaign.
const CHOICES: (usize, usize) = (1 << 4, 1 << 9);
const LOG: &str = ".flow/shared/runs/run-1/events.jsonl";

fn run_id() -> RunId {
    RunId::new(RUN).unwrap()
}

/// A machine that shares runs.
struct Machine {
    disk: SimDisk,
    carrier: MemoryCarrier,
    /// How many processes there were.
    processes: i64,
}

impl Machine {
    fn now(&self) -> Timestamp {
        let begin: Timestamp = "2026-05-20T14:30:00Z".parse().unwrap();
        Timestamp::new(begin.as_datetime() + chrono::TimeDelta::minutes(self.processes))
    }

    /// A process of its own.
    fn flow(&mut self) -> Context {
        self.processes += 1;
        let env = Env { cwd: Some(PathBuf::from(HERE)), ..Env::default() };
        let (lock_wait, boot) = (Some(Duration::ZERO), Some(format!("boot {}", self.processes / 1000)));
        let options = Options { lock_wait, boot, ..Options::default() };
        let ids = Ids::seeded(self.processes.to_le_bytes());
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        Context::new(Clock::fixed(self.now()), ids, env, Git::new("no\0git"), options).on(disk)
    }

    fn shared(&self) -> Shared {
        let here = Project::open(&self.disk, Path::new(HERE), Trust::OwnFiles).unwrap();
        Shared::new(here, Box::new(self.carrier.clone()), runs::show_events, "test", self.now()).unwrap()
    }

    fn sharing(&mut self) -> Context {
        let flow = self.flow();
        flow.with_runs_in(Arc::new(self.shared()))
    }

    /// Records something. Whether it lived to say so is noted on the disk.
    fn record(&mut self, id: &str) -> Result<(), String> {
        let (run, id) = (Some(RUN.to_owned()), Some(id.parse().unwrap()));
        let done = runs::record_activity(&self.sharing(), &RecordRequest { run, id, ..RecordRequest::default() });
        if done.is_ok() && !self.disk.died() {
            self.disk.acknowledge();
        }
        self.disk.end_process();
        done.map(drop).map_err(|error| error.to_string())
    }

    /// Everything of the run, as another process sees it after it has asked the store.
    fn look(&mut self) -> Result<String, String> {
        let cx = self.sharing();
        let writer = Writer { pid: 1, command: "a test".into(), since: self.now() };
        let request = WriteRequest { wait: Duration::from_secs(1), writer, boot: "boot".into() };
        self.shared().refresh(RefreshScope::All, &request).map_err(|error| format!("refresh: {error}"))?;
        let asked = ResumeRequest { run: Some(RUN.to_owned()), ..ResumeRequest::default() };
        let report = runs::resume(&cx, &asked).map_err(|error| format!("resume: {error}"))?;
        self.disk.end_process();
        Ok(serde_json::to_string(&report).unwrap())
    }
}

/// What is wrong with a state in which the store has `log`.
fn check(leftover: &Leftover, boot: i64, log: &str, last: &str) -> Result<(), String> {
    let carrier = MemoryCarrier::default();
    carrier.put_log(&run_id(), log.to_owned());
    let mut machine = Machine { disk: SimDisk::holding(leftover.image.clone()), carrier, processes: 1000 * boot };
    let told = machine.look()?;
    if log.ends_with(last) != told.contains("\"work\"") {
        return Err(format!("the store has {} events, and resume says {told}", log.lines().count()));
    }
    for id in ["work", "next"] {
        machine.record(id).map_err(|error| format!("{id}: {error}"))?;
    }
    machine.look()?;
    let (log, image) = (machine.carrier.log(&run_id()), machine.disk.live());
    let scan = LogScan::parse(log.as_bytes());
    let ids: Vec<_> =
        scan.events().flat_map(|event| event.kind.records()).map(|record| record.id().to_string()).collect();
    if ids != ["before", "work", "next"] || !scan.gaps().is_empty() {
        return Err(format!("the store has {ids:?}"));
    }
    if image.bytes(LOG) != Some(log.as_bytes()) {
        return Err("the copy differs from the store".to_owned());
    }
    let proof = verify(&machine.sharing(), &VerifyRequest { run: Some(RUN.to_owned()), session: None });
    match proof.map_err(|error| format!("verify: {error}"))?.differences {
        none if none.is_empty() => Ok(()),
        some => Err(format!("verify: {some:?}")),
    }
}

fn every_state(order: Order) {
    let mut machine = Machine { disk: SimDisk::holding(Image::new()), carrier: MemoryCarrier::default(), processes: 0 };
    runs::init(&machine.flow(), &runs::InitRequest::default()).unwrap();
    let begin = StartRequest { workflow: "debug".to_owned(), id: Some(run_id()), ..StartRequest::default() };
    runs::start(&machine.sharing(), &begin).unwrap();
    machine.record("before").unwrap();
    machine.disk = SimDisk::holding(machine.disk.live());
    let before = machine.carrier.log(&run_id());
    machine.record("work").unwrap();
    let after = machine.carrier.log(&run_id());
    let last = after.strip_prefix(&before).unwrap();
    let (base, changes) = machine.disk.history();
    // The store has the record before the copy does.
    let shows = |count: &usize| {
        all_of(&base, &changes[..*count]).bytes(LOG).is_some_and(|bytes| bytes.ends_with(last.as_bytes()))
    };
    let appended = (0..=changes.len()).find(shows).unwrap();
    let mut wrong = Vec::new();
    let boot = if order == Order::Killed { 0 } else { 1 };
    let choices = scaled(CHOICES.0, CHOICES.1);
    let tried = every_leftover(&base, &changes, order, choices, &mut Dice(1), &mut |leftover| {
        let logs = if leftover.after >= appended { vec![&after] } else { vec![&before, &after] };
        for log in logs {
            if let Err(error) = check(&leftover, boot, log, last) {
                wrong.push(format!("{error}\n  after change {} without {:?}", leftover.after, leftover.lost));
            }
        }
    });
    assert_eq!(wrong, [""; 0], "of {tried} states");
    assert!(tried > 8, "{tried}");
}

#[test]
fn a_copy_is_caught_up_after_a_kill_at_any_moment() {
    every_state(Order::Killed);
}

#[test]
fn a_copy_is_caught_up_after_a_power_cut_at_any_moment() {
    every_state(Order::Journal);
    every_state(Order::Any);
}
