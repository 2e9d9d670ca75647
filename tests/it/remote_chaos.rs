//! Many machines write to one shared run, and their processes are killed at any moment.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Sandbox, answered, quick, scaled, spawned};

/// A number that looks random, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Records until the record is acknowledged. Every third process is killed.
fn record(machine: &Sandbox, id: &str, dice: &mut Dice) {
    for _ in 0..100 {
        let mut command = machine.flow_command();
        command.args(["record-activity", "--run-id", "r1", "--id", id, "--status", "passed"]);
        let mut child = spawned(command);
        if dice.below(3) == 0 {
            thread::sleep(Duration::from_millis(dice.below(120)));
            child.kill().unwrap();
        }
        let answer = answered(child);
        match answer.code {
            Some(0) => return,
            // Killed, or another process was in the way: once more with the same id.
            None | Some(5 | 74) => {}
            _ => panic!("{id}: {answer:?}"),
        }
    }
    panic!("{id} was never acknowledged");
}

#[test]
fn killed_writers_of_many_machines_lose_nothing_and_repeat_nothing() {
    let (machines, writers, records) = scaled((3, 2, 2), (4, 4, 8));
    let hub = tempfile::tempdir_in(quick()).unwrap();
    let url = hub.path().join("hub.git");
    let team: Vec<_> = (0..machines)
        .map(|nth| {
            let machine = Sandbox::new();
            // No two machines make the same ids.
            machine.put_clock(1000 * nth);
            if nth == 0 {
                machine.git(&["init", "-q", "--bare", url.to_str().unwrap()]);
            }
            machine.git(&["remote", "set-url", "origin", url.to_str().unwrap()]);
            machine.flow(["init"]).ok();
            fs::write(machine.path(".flow/config.yaml"), "store: git:origin\n").unwrap();
            machine.flow(["remote", "use", "git:origin"]).ok();
            machine
        })
        .collect();
    team[0].flow(["start", "debug", "--id", "r1"]).ok();
    thread::scope(|scope| {
        for (nth, machine) in team.iter().enumerate() {
            for writer in 0..writers {
                scope.spawn(move || {
                    let mut dice = Dice((nth * 100 + writer) as u64);
                    for at in 0..records {
                        record(machine, &format!("m{nth}-w{writer}-{at}"), &mut dice);
                    }
                });
            }
        }
    });
    let mut logs = Vec::new();
    for machine in &team {
        machine.flow(["remote", "fetch", "r1"]).ok();
        machine.flow(["verify", "r1"]).ok();
        let copy = machine.path(".flow/shared/runs/r1");
        logs.push(["events.jsonl", "run.yaml"].map(|name| fs::read_to_string(copy.join(name)).unwrap()));
    }
    for pair in logs.windows(2) {
        assert_eq!(pair[0][0], pair[1][0], "the logs of the copies differ");
        assert_eq!(pair[0][1], pair[1][1], "what the copies show differs");
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (at, line) in logs[0][0].lines().enumerate() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], at + 1);
        if event["type"] == "activity_recorded" {
            *times.entry(event["id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(times.len(), machines as usize * writers * records);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}
