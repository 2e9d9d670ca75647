//! Random histories of a repository with a committed run: switch, merge, rebase, stash and amend between records. In the
//! end every acknowledged record is there once, and `verify` agrees.
//!
//! `FLOW_TEST_HISTORIES=200` makes as many; `FLOW_TEST_HISTORY=7` makes that one alone.

use std::collections::BTreeMap;

use crate::support::{Answer, Sandbox, scaled};

/// So many are made every day, and so many by the campaign, unless another number is asked for.
const HISTORIES: (u64, u64) = (3, 100);
/// In which something was wrong once.
const FOUND: [u64; 1] = [52];
/// So many moves each.
const MOVES: usize = 24;

#[test]
fn random_histories_of_git_lose_and_repeat_no_acknowledged_record() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("FLOW_TEST_HISTORY") {
        Some(seed) => vec![seed],
        None => (0..number("FLOW_TEST_HISTORIES").unwrap_or(scaled(HISTORIES.0, HISTORIES.1))).chain(FOUND).collect(),
    };
    for seed in seeds {
        let mut history = History::new(seed);
        for _ in 0..MOVES {
            history.step();
        }
        history.end();
    }
}

struct History {
    sandbox: Sandbox,
    run: String,
    chance: u64,
    branches: Vec<String>,
    here: usize,
    acknowledged: Vec<String>,
    stashed: bool,
    /// What happened, for whoever looks for a cause.
    moves: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        let mut history = Self {
            sandbox,
            run,
            chance: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            branches: vec!["main".to_owned()],
            here: 0,
            acknowledged: Vec::new(),
            stashed: false,
            moves: vec![format!("seed {seed}")],
        };
        history.commit();
        history
    }

    /// One of `n`; xorshift.
    fn any(&mut self, n: usize) -> usize {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        usize::try_from(self.chance >> 33).unwrap() % n
    }

    fn step(&mut self) {
        match self.any(12) {
            0..=4 => self.record(),
            5 => self.branch(),
            6 | 7 => self.switch(),
            8 | 9 => self.merge(),
            10 => self.rebase(),
            _ => {
                self.commit();
                self.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]);
            }
        }
        self.judge();
    }

    #[track_caller]
    fn check(&self, holds: bool, what: impl std::fmt::Debug) {
        assert!(holds, "{what:#?}\n{:#?}\nin {}", self.moves, self.run);
    }

    fn git(&mut self, args: &[&str]) -> bool {
        let mut command = self.sandbox.command("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "core.editor=true"]).args(args);
        let good = command.output().unwrap().status.success();
        self.moves.push(format!("git {}: {good}", args.join(" ")));
        good
    }

    fn flow(&mut self, args: &[&str]) -> Answer {
        let answer = self.sandbox.flow(args);
        self.moves.push(format!("flow {}: {:?} {}", args.join(" "), answer.code, answer.stderr.trim()));
        answer
    }

    /// The verdict is a true one, and what it calls whole is whole.
    fn judge(&mut self) {
        let run = self.run.clone();
        let answer = self.sandbox.flow(["resume", &run, "--json"]);
        let verdict = answer.json()["verdict"].as_str().unwrap().to_owned();
        self.check(["continue", "reconcile", "rewound", "conflict"].contains(&&*verdict), &answer);
        if verdict != "conflict" {
            let proof = self.sandbox.flow(["verify", &run, "--json"]).json();
            let differences = proof["differences"].as_array().unwrap();
            // A merge can leave files behind the log, from which they are brought up; nothing else may differ.
            let behind = differences.iter().all(|one| {
                let why = one["why"].as_str().unwrap();
                why == "the activity file is missing" || why.starts_with("run.yaml shows event ")
            });
            self.check(behind, &proof);
            if !differences.is_empty() {
                self.repair();
                let proof = self.sandbox.flow(["verify", &run]);
                self.check(proof.code == Some(0), proof);
            }
        }
    }

    fn record(&mut self) {
        let (run, id) = (self.run.clone(), format!("r{}", self.moves.len()));
        let status = if self.any(5) == 0 { "failed" } else { "passed" };
        let mut args = vec!["record-activity", "--run-id", &run, "--id", &id, "--status", status, "--tokens-in", "1"];
        if status == "passed" && self.any(3) == 0 {
            args.push("--advance");
        }
        for _ in 0..2 {
            let answer = self.flow(&args);
            let error = |code: &str| answer.stderr.contains(code);
            match answer.code {
                Some(0) => {
                    self.acknowledged.push(id);
                    return;
                }
                Some(4) if error("was put back") && self.any(2) == 0 => return,
                Some(4) | Some(65) if error("was put back") || error("a merge joined") => self.repair(),
                Some(1) => return,
                _ => self.check(false, answer),
            }
        }
    }

    fn repair(&mut self) {
        let run = self.run.clone();
        let answer = self.flow(&["doctor", &run, "--repair"]);
        self.check(answer.code == Some(0), answer);
    }

    fn commit(&mut self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    }

    fn branch(&mut self) {
        if self.branches.len() == 4 {
            return;
        }
        self.commit();
        let name = format!("b{}", self.branches.len());
        self.git(&["switch", "-q", "-c", &name]);
        self.here = self.branches.len();
        self.branches.push(name);
    }

    fn switch(&mut self) {
        let to = self.any(self.branches.len());
        if to == self.here {
            return;
        }
        if !self.stashed && self.any(3) == 0 {
            self.stashed = self.git(&["stash", "-q", "-u"]) && self.git(&["rev-parse", "-q", "--verify", "refs/stash"]);
        }
        self.commit();
        let name = self.branches[to].clone();
        let good = self.git(&["switch", "-q", &name]);
        self.check(good, "switch");
        self.here = to;
        if self.stashed && self.any(2) == 0 {
            self.pop();
        }
    }

    fn pop(&mut self) {
        self.stashed = false;
        if !self.git(&["stash", "pop", "-q"]) {
            self.settle();
            self.commit();
            self.git(&["stash", "drop", "-q"]);
        }
    }

    /// What a person does about a conflict: lets flow repair the run, or takes one side of `run.yaml`.
    fn settle(&mut self) {
        let file = format!(".flow/runs/{}/run.yaml", self.run);
        match self.any(4) {
            0 => drop(self.git(&["checkout", "-q", "--ours", "--", &file])),
            1 => drop(self.git(&["checkout", "-q", "--theirs", "--", &file])),
            _ => self.repair(),
        }
        self.git(&["add", "-A"]);
    }

    fn merge(&mut self) {
        let other = self.any(self.branches.len());
        self.join(other);
    }

    fn join(&mut self, other: usize) {
        self.commit();
        let name = self.branches[other].clone();
        if !self.git(&["merge", "-q", "-m", "merge", &name]) {
            self.settle();
            let good = self.git(&["commit", "-q", "-m", "merged"]);
            self.check(good, "commit of a merge");
        }
    }

    fn rebase(&mut self) {
        let other = self.any(self.branches.len());
        self.commit();
        let name = self.branches[other].clone();
        let mut done = self.git(&["rebase", "-q", &name]);
        for _ in 0..60 {
            if done {
                return;
            }
            self.settle();
            done = self.git(&["rebase", "--continue"]);
            if !done && !self.conflicts() {
                // Nothing of the commit is left.
                done = self.git(&["rebase", "--skip"]);
            }
        }
        self.check(false, "a rebase that does not end");
    }

    fn conflicts(&self) -> bool {
        let unmerged = self.sandbox.command("git").args(["ls-files", "--unmerged"]).output().unwrap();
        !unmerged.stdout.is_empty()
    }

    /// All branches come together, and the run is as sound as if it had been one.
    fn end(&mut self) {
        self.commit();
        if self.stashed {
            self.pop();
            self.commit();
        }
        for other in 0..self.branches.len() {
            self.join(other);
        }
        let run = self.run.clone();
        let verdict = self.flow(&["resume", &run, "--json"]).json()["verdict"].clone();
        if verdict == "conflict" || verdict == "rewound" {
            self.repair();
        }
        self.judge();
        let shown = self.sandbox.flow(["show", &run, "--json"]).json();
        let mut records: BTreeMap<&str, usize> = BTreeMap::new();
        for activity in shown["activities"].as_array().unwrap() {
            *records.entry(activity["id"].as_str().unwrap()).or_default() += 1;
        }
        let wrong: Vec<_> = self.acknowledged.iter().filter(|id| records.get(id.as_str()) != Some(&1)).collect();
        self.check(wrong.is_empty(), (wrong, &records));
        // What each used counts once, too.
        let used = &shown["usage"]["tokens_in"]["sum"];
        self.check(*used == records.len() as u64, used);
        let passed = shown["activities"].as_array().unwrap().iter().filter(|one| one["status"] == "passed");
        let mut passed: Vec<_> = passed.map(|one| one["id"].as_str().unwrap()).collect();
        let listed = shown["state"]["completed_activities"].as_array().unwrap().iter();
        let mut listed: Vec<_> = listed.map(|id| id.as_str().unwrap()).collect();
        passed.sort_unstable();
        listed.sort_unstable();
        self.check(passed == listed, (passed, listed));
        let report = self.sandbox.flow(["doctor", &run, "--strict"]);
        self.check(report.code == Some(0), report);
    }
}
