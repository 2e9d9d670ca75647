//! Many processes at once that write, read and die on a few runs, and what must be true meanwhile and afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::onlooker::look_on;
use super::{Answer, Sandbox, temporary};

/// How large a storm is. Every number may be as large as the machine bears.
#[derive(Debug, Clone)]
pub struct Plan {
    /// So many processes at the same time.
    pub processes: usize,
    /// So many commands each of them gives, one after the other.
    pub commands: usize,
    /// So many runs they share.
    pub runs: usize,
    /// So many commands of a hundred are killed at some instant.
    pub kills: u64,
    /// What decides who does what.
    pub seed: u64,
    /// Words that start every command of the storm.
    pub prefix: &'static [&'static str],
}

impl Plan {
    /// As the environment says: `FLOW_STORM=processes=64,commands=100,runs=5,kills=30,seed=7`. What it does not say is small
    /// enough for every day, and the seed is another one each time.
    pub fn from_env() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let mut plan =
            Self { processes: 64, commands: 4, runs: 3, kills: 20, seed: u64::from(now.subsec_nanos()), prefix: &[] };
        for (key, value) in
            std::env::var("FLOW_STORM").iter().flat_map(|text| text.split(',')).filter_map(|one| one.split_once('='))
        {
            let number: u64 = value.parse().unwrap_or_else(|error| panic!("FLOW_STORM: {key}={value}: {error}"));
            let size = usize::try_from(number).unwrap();
            match key {
                "processes" => plan.processes = size,
                "commands" => plan.commands = size,
                "runs" => plan.runs = size,
                "kills" => plan.kills = number,
                "seed" => plan.seed = number,
                _ => panic!("FLOW_STORM: there is no {key}"),
            }
        }
        plan
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processes, commands, runs, kills, seed, .. } = self;
        write!(f, "FLOW_STORM=processes={processes},commands={commands},runs={runs},kills={kills},seed={seed}")
    }
}

/// Numbers that look random and are the same for the same seed.
pub struct Dice(u64);

impl Dice {
    /// Of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// What a command is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// A record of this activity.
    Record(String),
    /// A new run.
    Start,
    /// A report on the step where the run stands.
    Report,
    /// A change of status or holder, with the event that it leaves.
    Change(&'static str),
    /// A change of a session's modes.
    Mode,
    /// The end of a session, on any run.
    SessionEnd,
    /// A reader.
    Look(&'static str),
}

/// A command to give: about which of the shared runs, the command itself, its standard input.
struct Order {
    deed: Deed,
    run: String,
    command: Command,
    stdin: &'static str,
}

/// What became of a command.
#[derive(Debug)]
pub struct Told {
    /// What it was about.
    pub deed: Deed,
    /// The run that it named.
    pub run: String,
    /// Its answer; whatever is on standard output was promised, also by a command that was killed.
    pub answer: Answer,
    /// Whether it was killed.
    pub killed: bool,
}

/// A storm that is over.
pub struct Storm {
    /// Where it was.
    pub sandbox: Sandbox,
    /// The runs that were shared.
    pub runs: Vec<String>,
    /// All commands.
    pub told: Vec<Told>,
    /// How often others looked at the files meanwhile.
    pub looks: usize,
    /// Promises that were broken, in words.
    pub broken: Vec<String>,
}

/// Lets a storm pass over a repository of its own. What is wrong is in [`Storm::broken`].
pub fn storm(plan: &Plan) -> Storm {
    // Where flushes take their time, more of them meet.
    let sandbox = Sandbox::within(&temporary());
    let runs: Vec<_> = (0..plan.runs).map(|_| sandbox.start("start-issue")).collect();
    let mut dice = Dice::new(plan.seed);
    let lanes: Vec<Vec<(Order, Option<u64>)>> = (0..plan.processes)
        .map(|lane| {
            let orders = (0..plan.commands).map(|at| {
                let order = order(&sandbox, &runs, plan, &mut dice, (lane, at));
                let killed = dice.below(100) < plan.kills;
                (order, killed.then(|| dice.below(1000)))
            });
            orders.collect()
        })
        .collect();
    let (told, broken) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (over, pace) = (AtomicBool::new(false), AtomicU64::new(50_000));
    let looks = std::thread::scope(|scope| {
        let onlookers: Vec<_> = runs
            .iter()
            .map(|run| {
                let (dir, over, broken) = (sandbox.run_dir(run), &over, &broken);
                scope.spawn(move || look_on(&dir, over, broken))
            })
            .collect();
        let lanes: Vec<_> = lanes
            .into_iter()
            .map(|orders| {
                let (told, pace) = (&told, &pace);
                scope.spawn(move || {
                    for (order, kill) in orders {
                        let answered = obey(order, kill, pace);
                        told.lock().unwrap().push(answered);
                    }
                })
            })
            .collect();
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
        over.store(true, Ordering::Relaxed);
        onlookers.into_iter().map(|onlooker| onlooker.join().unwrap()).sum()
    });
    let (told, broken) = (told.into_inner().unwrap(), broken.into_inner().unwrap());
    let mut storm = Storm { sandbox, runs, told, looks, broken };
    storm.check_answers();
    storm.check_promises();
    storm
}

/// What one process does next.
fn order(sandbox: &Sandbox, runs: &[String], plan: &Plan, dice: &mut Dice, (lane, at): (usize, usize)) -> Order {
    let run = dice.pick(runs).clone();
    let session = format!("s{}", dice.below(4));
    let mut stdin = "";
    let (deed, args): (Deed, Vec<&str>) = match dice.below(100) {
        0..8 => {
            let data = dice.pick(&[r#"{"status":"running"}"#, r#"{"status":"completed"}"#, r#"{"status":"failed"}"#]);
            let mut args = vec!["emit", "--workflow", "start-issue", "--run-id", &run, "--type", "status_change"];
            args.extend(["--step", "preflight", "--data", data]);
            if dice.below(2) == 0 {
                args.extend(["--unit", "T1"]);
            }
            (Deed::Report, args)
        }
        8..12 => {
            let mode = dice.pick(&["blueprint", "forge", "team", "ultrawork"]);
            (Deed::Mode, vec!["mode", "request", mode, "--session", &session])
        }
        12..15 => {
            let verb = dice.pick(&["cancel", "clear"]);
            (Deed::Mode, vec!["mode", verb, "--session", &session])
        }
        15..50 => {
            let id = format!("work-{lane}-{at}");
            (Deed::Record(id), vec!["record-activity", "--run-id", &run, "--phase", "preflight"])
        }
        50..54 => (Deed::Start, vec!["start", "debug", "--issue", "7", "--another"]),
        54..60 => (Deed::Change("run_blocked"), vec!["block", &run, "--reason", "a: question # 1"]),
        60..68 => (Deed::Change("run_unblocked"), vec!["unblock", &run]),
        68..74 => (Deed::Change("run_claimed"), vec!["resume", &run, "--claim", "--session", &session]),
        74..78 => (Deed::Change("run_claimed"), vec!["resume", &run, "--take-over", "--session", &session]),
        78..83 => {
            stdin = r#"{"session_id":"s1","reason":"exit"}"#;
            (Deed::SessionEnd, vec!["session-end", "--unowned"])
        }
        83..85 => (Deed::Look("modes"), vec!["mode", "list", "--all"]),
        85..87 => (Deed::Look("list"), vec!["list"]),
        87..91 => (Deed::Look("show"), vec!["show", &run]),
        91..95 => (Deed::Look("log"), vec!["log", &run]),
        95..97 => (Deed::Look("resume"), vec!["resume", &run]),
        _ => (Deed::Look("validate"), vec!["validate", &run]),
    };
    let mut command = match plan.prefix {
        [] => sandbox.flow_command(),
        [program, words @ ..] => {
            let mut command = sandbox.command(program);
            command.args(words).arg(env!("CARGO_BIN_EXE_flow"));
            command
        }
    };
    command.args(args).arg("--json");
    match &deed {
        Deed::Record(id) => drop(command.args(["--id", id])),
        // All in the same second, so that they want the same name.
        Deed::Start => drop(command.env("__FLOW_NOW", "2026-05-20T15:00:00Z")),
        _ => {}
    }
    if matches!(deed, Deed::Record(_)) && dice.below(3) == 0 {
        command.args(["--session", &session]);
    }
    Order { deed, run, command, stdin }
}

/// Gives the command. A kill comes at once, or after some thousandths of what a command takes these days.
fn obey(order: Order, kill: Option<u64>, pace: &AtomicU64) -> Told {
    let Order { deed, run, mut command, stdin } = order;
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A reader of standard input that was killed closed the pipe.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.as_bytes());
    if let Some(thousandths) = kill {
        // Some come at once: on a busy machine whoever sleeps first may come too late every time.
        let thousandths = thousandths.saturating_sub(200);
        std::thread::sleep(Duration::from_micros(pace.load(Ordering::Relaxed) * thousandths / 1000));
        // It may be over already.
        let _ = child.kill();
    }
    let answer = answered(child);
    if kill.is_none() {
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap();
        let _ = pace.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some((old * 7 + micros) / 8));
    }
    Told { deed, run, killed: answer.code.is_none(), answer }
}

fn answered(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    Answer {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

impl Storm {
    /// How many commands were killed.
    pub fn killed(&self) -> usize {
        self.told.iter().filter(|told| told.killed).count()
    }

    /// No command ended in a way that its readers cannot expect.
    fn check_answers(&mut self) {
        for Told { deed, answer, killed, .. } in &self.told {
            let fine: &[i32] = match deed {
                Deed::Record(_) | Deed::Report => &[0, 5],
                Deed::Start | Deed::SessionEnd => &[0],
                // The policy may deny it.
                Deed::Mode => &[0, 1, 5],
                // It may be so already, or somebody else holds the run.
                Deed::Change(_) => &[0, 1, 4, 5],
                Deed::Look("resume") => &[0, 4, 5],
                Deed::Look(_) => &[0],
            };
            let ended = answer.code.map_or(*killed, |code| fine.contains(&code));
            if !ended || answer.stderr.contains("panicked") {
                self.broken.push(format!("{deed:?} answered {answer:?}"));
            } else if let (Deed::Look(what), false) = (deed, killed) {
                let seen = serde_json::from_str(&answer.stdout).map_err(|error| error.to_string());
                if let Err(why) = seen.and_then(|seen| self.look(what, &seen)) {
                    self.broken.push(format!("{what}: {why}: {answer:?}"));
                }
            }
        }
    }

    /// What one of flow's own readers saw.
    fn look(&self, what: &str, seen: &Value) -> Result<(), String> {
        let empty = |key: &str| seen[key].as_array().is_some_and(Vec::is_empty);
        let contiguous = |numbers: Vec<u64>, what: &str| {
            let fine = numbers.iter().copied().eq(1..=numbers.len() as u64);
            if fine { Ok(()) } else { Err(format!("{what} are {numbers:?}")) }
        };
        match what {
            "list" => {
                let listed: BTreeSet<_> =
                    seen["runs"].as_array().into_iter().flatten().filter_map(|run| run["run_id"].as_str()).collect();
                let all = self.runs.iter().all(|run| listed.contains(run.as_str()));
                if all && empty("unreadable") { Ok(()) } else { Err("a run is missing or unreadable".to_owned()) }
            }
            "log" => {
                let positions =
                    seen["events"].as_array().into_iter().flatten().filter_map(|event| event["seq"].as_u64());
                contiguous(positions.collect(), "positions")?;
                if empty("skipped") { Ok(()) } else { Err("lines were skipped".to_owned()) }
            }
            "show" => {
                let activities = seen["activities"].as_array().ok_or("no activities")?;
                contiguous(
                    activities.iter().filter_map(|one| one["number"].as_str()?.parse().ok()).collect(),
                    "numbers",
                )?;
                let ids: BTreeSet<_> = activities.iter().filter_map(|one| one["id"].as_str()).collect();
                let done = seen["state"]["completed_activities"].as_array().ok_or("no list")?;
                let lost: Vec<_> = done.iter().filter_map(Value::as_str).filter(|id| !ids.contains(id)).collect();
                if lost.is_empty() { Ok(()) } else { Err(format!("{lost:?} are completed and not there")) }
            }
            "modes" if !empty("warnings") => Err("a mode's file cannot be read".to_owned()),
            "validate" if seen["ok"] != true => Err("damage".to_owned()),
            _ => Ok(()),
        }
    }

    /// Everything that was acknowledged is in the logs, where it was said to be, and nothing is there twice.
    fn check_promises(&mut self) {
        let mut logs = BTreeMap::new();
        for run in self.sandbox.runs() {
            logs.insert(run.clone(), self.lines(&run));
        }
        let mut promised = BTreeMap::new();
        for (told, promise) in
            self.told.iter().flat_map(|told| promises(told).into_iter().map(move |promise| (told, promise)))
        {
            let at = logs
                .get(&promise.run)
                .and_then(|events: &Vec<Value>| events.iter().find(|event| event["seq"] == promise.seq));
            if !at.is_some_and(|event| promise.is_kept_by(event)) {
                let there = at.map(|event| (&event["type"], &event["id"], &event["number"]));
                self.broken.push(format!("{promise:?} was acknowledged and is not there: {there:?}"));
            }
            let before = promised.insert((promise.run.clone(), promise.seq), &told.deed);
            if let Some(before) =
                before.filter(|before| *before != &told.deed || matches!(told.deed, Deed::Change(_) | Deed::Report))
            {
                self.broken.push(format!(
                    "event {} of {} was promised to {before:?} and to {:?}",
                    promise.seq, promise.run, told.deed
                ));
            }
        }
    }

    /// The sealed lines of a log at rest.
    fn lines(&mut self, run: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.sandbox.run_dir(run).join("events.jsonl")).unwrap_or_default();
        // A line without end was nobody's promise.
        let whole = &log[..log.rfind('\n').map_or(0, |at| at + 1)];
        let events: Vec<Value> = whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut positions = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for event in &events {
            *positions.entry(event["seq"].as_u64()).or_insert(0) += 1;
            let with_it = event["records"].as_array().into_iter().flatten();
            for number in with_it.chain([event]).filter_map(|record| record["number"].as_str()) {
                *numbers.entry(number).or_insert(0) += 1;
            }
        }
        for (seq, times) in positions.iter().filter(|(_, times)| **times > 1) {
            self.broken.push(format!("position {seq:?} of {run} is there {times} times"));
        }
        for (number, times) in numbers.iter().filter(|(_, times)| **times > 1) {
            self.broken.push(format!("number {number} of {run} is there {times} times"));
        }
        if !positions.keys().copied().eq((1..=positions.len() as u64).map(Some)) {
            self.broken.push(format!("positions of {run} have gaps: {:?}", positions.keys()));
        }
        events
    }

    /// Gives each run one more command, and every command that got no answer again; then all is as if nobody had died.
    #[track_caller]
    pub fn settle(&self) {
        let sandbox = &self.sandbox;
        for told in self.told.iter().filter(|told| told.answer.stdout.is_empty()) {
            if let Deed::Record(id) = &told.deed {
                sandbox.record(&told.run, "preflight", id);
            }
        }
        for told in &self.told {
            if let Deed::Record(id) = &told.deed {
                assert_eq!(sandbox.records_of(&told.run, id), 1, "{id} in {}", told.run);
            }
        }
        sandbox.start("debug");
        assert_eq!(sandbox.find(".flow", ".new-"), None, "a start that died left something");
        for run in sandbox.runs() {
            sandbox.record(&run, "preflight", "afterwards");
            sandbox.assert_sound(&run);
        }
        for session in ["s0", "s1", "s2", "s3"] {
            sandbox.flow(["mode", "clear", "--session", session]).ok();
            sandbox.flow(["mode", "request", "ultrawork", "--session", session]).ok();
        }
        assert_eq!(sandbox.assert_modes_sound(), [""; 0]);
        let list = sandbox.flow(["list", "--json"]).ok().json();
        assert_eq!(list["unreadable"], serde_json::json!([]));
        assert_eq!(list["runs"].as_array().unwrap().len(), sandbox.runs().len());
    }
}

/// What a command said is on the disk.
#[derive(Debug)]
struct Promise<'a> {
    run: String,
    seq: u64,
    event: &'static str,
    /// The activity's id and number.
    activity: Option<(&'a str, String)>,
}

impl Promise<'_> {
    fn is_kept_by(&self, event: &Value) -> bool {
        let same = |(id, number): &(&str, String)| {
            event["activity"]["metadata"]["id"] == *id && event["number"] == number.as_str()
        };
        event["type"] == self.event && self.activity.as_ref().is_none_or(same)
    }
}

fn promises(told: &Told) -> Vec<Promise<'_>> {
    let Ok(said) = serde_json::from_str::<Value>(&told.answer.stdout) else {
        return Vec::new();
    };
    let promise = |said: &Value, event, activity| {
        let (run, seq) = (said["run_id"].as_str()?.to_owned(), said["seq"].as_u64()?);
        Some(Promise { run, seq, event, activity })
    };
    match &told.deed {
        Deed::Record(id) => {
            let number = said["number"].as_str().unwrap_or_default().to_owned();
            promise(&said, "activity_recorded", Some((id.as_str(), number))).into_iter().collect()
        }
        Deed::Start => promise(&said, "run_started", None).into_iter().collect(),
        Deed::Report => {
            let seq = said["data"]["seq"].as_u64();
            let promised = seq.map(|seq| Promise { run: told.run.clone(), seq, event: "emitted", activity: None });
            promised.into_iter().collect()
        }
        // `resume` tells no position, and what was so already was somebody else's.
        Deed::Change(event) if said["changed"] == true => promise(&said, event, None).into_iter().collect(),
        Deed::SessionEnd => {
            let ended = said["persisted"].as_array().into_iter().flatten();
            ended.filter_map(|one| promise(one, "session_end", None)).collect()
        }
        Deed::Mode | Deed::Change(_) | Deed::Look(_) => Vec::new(),
    }
}
