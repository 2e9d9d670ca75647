//! Many machines write to one shared run, while their processes are killed and requests are lost, repeated and late.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bucket::{BUCKET, Bucket, Fault};
use crate::git_server::{self, GitServer};
use crate::memory_carrier::TROUBLES;
use crate::shared::Faulty as _;
use crate::support::storm::Dice;
use crate::support::{Sandbox, answered, quick, scaled, spawned};
use crate::tested_store::Remote;

/// How many milliseconds pass between two troubles.
const PAUSE: u64 = 40;
/// How long a record is tried at most.
const WAIT: Duration = Duration::from_secs(120);

/// What happens to requests of a bucket.
const FAULTS: [Fault; 8] = [
    Fault::RequestLost,
    Fault::AnswerLost,
    Fault::Late,
    Fault::Twice,
    Fault::Void,
    Fault::Says(503, "SlowDown"),
    Fault::Says(409, "ConditionalRequestConflict"),
    Fault::Says(500, "InternalError"),
];

/// A store that the programs of several machines reach.
pub trait Hub: Sync {
    /// Its address, as `flow remote use` takes it.
    fn address(&self) -> String {
        "git:origin".to_owned()
    }

    /// Where the remote `origin` of each machine is.
    fn origin(&self) -> Option<String> {
        None
    }

    /// The variables that lead to it.
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Something goes wrong.
    fn disturb(&self, dice: &mut Dice);

    /// Nothing goes wrong any longer, and what is late arrives.
    fn calm(&self) {}
}

impl Hub for Remote {
    fn origin(&self) -> Option<String> {
        Some(self.path().to_str().unwrap().to_owned())
    }

    fn disturb(&self, _: &mut Dice) {}
}

impl Hub for GitServer {
    fn origin(&self) -> Option<String> {
        Some(self.url())
    }

    fn disturb(&self, dice: &mut Dice) {
        match dice.below(5) {
            0 => self.restart(Duration::from_millis(dice.below(100))),
            _ => self.trouble(&[*dice.pick(&TROUBLES)]),
        }
    }

    fn calm(&self) {
        self.trouble(&[]);
        self.settle();
    }
}

impl Hub for Bucket {
    fn address(&self) -> String {
        format!("s3://{BUCKET}/team")
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        self.variables().to_vec()
    }

    fn disturb(&self, dice: &mut Dice) {
        match dice.below(5) {
            0 => self.restart(Duration::from_millis(dice.below(100))),
            _ => self.faults(&[*dice.pick(&FAULTS)]),
        }
    }

    fn calm(&self) {
        self.faults(&[]);
        self.settle();
    }
}

/// A machine, whose programs reach the hub.
struct Member<'a> {
    sandbox: Sandbox,
    hub: &'a dyn Hub,
}

impl<'a> Member<'a> {
    /// `nth` among the machines: no two make the same ids.
    fn of(hub: &'a dyn Hub, nth: u64) -> Self {
        let member = Self { sandbox: Sandbox::within(&quick()), hub };
        member.sandbox.put_clock(1000 * nth);
        if let Some(origin) = hub.origin() {
            member.sandbox.git(&["remote", "set-url", "origin", &origin]);
        }
        member.flow(&["init"]);
        fs::write(member.sandbox.path(".flow/config.yaml"), format!("store: {}\n", hub.address())).unwrap();
        member.flow(&["remote", "use", &hub.address()]);
        member
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.flow_command();
        command.envs(self.hub.environment()).args(args);
        command
    }

    #[track_caller]
    fn flow(&self, args: &[&str]) {
        answered(spawned(self.command(args))).ok();
    }

    /// Records until the record is acknowledged. Every third process is killed.
    fn record(&self, id: &str, dice: &mut Dice) {
        let begin = Instant::now();
        loop {
            let record = ["record-activity", "--run-id", "r1", "--id", id, "--status", "passed"];
            let mut child = spawned(self.command(&record));
            if dice.below(3) == 0 {
                thread::sleep(Duration::from_millis(dice.below(120)));
                child.kill().unwrap();
            }
            let answer = answered(child);
            match answer.code {
                Some(0) => return,
                // Killed, in the way of another process, or without an answer: once more with the same id.
                None | Some(5 | 74) if begin.elapsed() < WAIT => thread::sleep(Duration::from_millis(PAUSE)),
                _ => panic!("{id}: {answer:?}"),
            }
        }
    }
}

/// What was acknowledged is there once and at its position, and all machines agree.
pub fn nothing_is_lost_and_nothing_is_repeated(hub: &dyn Hub, machines: u64, writers: u64, records: u64) {
    let team: Vec<_> = (0..machines).map(|nth| Member::of(hub, nth)).collect();
    team[0].flow(&["start", "debug", "--id", "r1"]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writing: Vec<_> = (0..machines * writers)
            .map(|nth| {
                let member = &team[(nth % machines) as usize];
                scope.spawn(move || {
                    let mut dice = Dice::new(nth);
                    for at in 0..records {
                        member.record(&format!("w{nth}-{at}"), &mut dice);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut dice = Dice::new(machines);
            while !is_over.load(Ordering::Relaxed) {
                hub.disturb(&mut dice);
                thread::sleep(Duration::from_millis(PAUSE));
            }
        });
        let ends: Vec<_> = writing.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        for end in ends {
            end.unwrap();
        }
    });
    hub.calm();
    let mut copies = Vec::new();
    for member in &team {
        member.flow(&["remote", "fetch", "r1"]);
        member.flow(&["verify", "r1"]);
        let copy = member.sandbox.path(".flow/shared/runs/r1");
        copies.push(["events.jsonl", "run.yaml"].map(|name| fs::read_to_string(copy.join(name)).unwrap()));
    }
    for pair in copies.windows(2) {
        assert_eq!(pair[0][0], pair[1][0], "the logs of the copies differ");
        assert_eq!(pair[0][1], pair[1][1], "what the copies show differs");
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (at, line) in copies[0][0].lines().enumerate() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], at + 1);
        if event["type"] == "activity_recorded" {
            *times.entry(event["id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(times.len() as u64, machines * writers * records);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}

#[test]
fn killed_writers_of_many_machines_lose_nothing_in_a_repository() {
    let (machines, writers, records) = scaled((3, 2, 2), (4, 4, 8));
    nothing_is_lost_and_nothing_is_repeated(&Remote::default(), machines, writers, records);
}

#[test]
fn killed_writers_and_a_failing_way_to_git_lose_nothing() {
    if !git_server::is_here("killed_writers_and_a_failing_way_to_git_lose_nothing") {
        return;
    }
    let (machines, writers, records) = scaled((2, 2, 1), (4, 4, 8));
    nothing_is_lost_and_nothing_is_repeated(&GitServer::default(), machines, writers, records);
}

#[test]
fn killed_writers_and_a_failing_way_to_a_bucket_lose_nothing() {
    let (machines, writers, records) = scaled((3, 2, 2), (4, 4, 8));
    nothing_is_lost_and_nothing_is_repeated(&Bucket::default(), machines, writers, records);
}
