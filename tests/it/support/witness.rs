//! The files of a run, read by the test itself: what flow says about its files is what is being tested.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Sandbox;

/// Names that only a writer at work, or one that died, leaves.
const LEFTOVERS: [&str; 4] = [".run.tmp", ".run.merge.tmp", ".events.tmp", "activities/.act.tmp"];

impl Sandbox {
    /// The lines of a run's log. Every one must be whole and carry a checksum.
    #[track_caller]
    pub fn events(&self, run: &str) -> Vec<Value> {
        let text = self.read(run, "events.jsonl");
        assert!(text.is_empty() || text.ends_with('\n'), "torn: {text}");
        let parse = |line| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let events: Vec<_> = text.lines().map(parse).collect();
        for event in &events {
            assert!(event["crc"].is_string(), "unsealed: {event}");
        }
        events
    }

    /// The records in a run's log.
    #[track_caller]
    pub fn records(&self, run: &str) -> Vec<Value> {
        let records = self.events(run).into_iter().flat_map(|event| match event["type"].as_str() {
            Some("activity_recorded") => vec![event],
            _ => event["records"].as_array().cloned().unwrap_or_default(),
        });
        records.collect()
    }

    /// How many records of the activity `id` a run's log has.
    #[track_caller]
    pub fn records_of(&self, run: &str, id: &str) -> usize {
        let records = self.records(run);
        records.iter().filter(|event| event["activity"]["metadata"]["id"] == id).count()
    }

    /// `last_seq` as `run.yaml` shows it.
    #[track_caller]
    pub fn shown_seq(&self, run: &str) -> u64 {
        let text = self.read(run, "run.yaml");
        let seq = text.lines().find_map(|line| line.trim().strip_prefix("last_seq: "));
        seq.unwrap_or_else(|| panic!("no last_seq in {text:?}")).parse().unwrap()
    }

    /// Files that were put aside for a person.
    pub fn quarantined(&self, run: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.run_dir(run).join(".quarantine")) else {
            return Vec::new();
        };
        let texts = entries.map(|entry| String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into());
        texts.collect()
    }

    /// The sealed lines of the log of the modes.
    pub fn mode_events(&self) -> Vec<Value> {
        mode_events(&self.root())
    }

    /// All promises about the modes at rest. Gives what was put aside.
    #[track_caller]
    pub fn assert_modes_sound(&self) -> Vec<String> {
        modes_sound(&self.root()).unwrap_or_else(|broken| panic!("{broken}"))
    }

    /// All promises about a run at rest: positions and numbers without gap or double, one file a record, `run.yaml` at
    /// the log's end, nothing left behind, and `flow validate` content.
    #[track_caller]
    pub fn assert_sound(&self, run: &str) {
        let events = self.events(run);
        let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>(), "positions in the log");
        let keys: BTreeSet<_> = events.iter().map(|event| event["id"].to_string()).collect();
        assert_eq!(keys.len(), events.len(), "an operation is in the log twice");
        assert_eq!(self.shown_seq(run), events.len() as u64, "run.yaml is not at the log's end");
        let mut names = Vec::new();
        for (at, record) in self.records(run).iter().enumerate() {
            let id = record["activity"]["metadata"]["id"].as_str().unwrap();
            assert_eq!(record["number"].to_string().trim_matches('"').parse(), Ok(at + 1), "{record}");
            names.push(format!("{:03}-{id}.yaml", at + 1));
        }
        assert_eq!(self.activity_files(run), names);
        for name in &names {
            assert!(self.read(run, &format!("activities/{name}")).contains("kind: FlowActivity"), "{name} is cut off");
        }
        self.assert_nothing_left(run);
        let report = self.inside(["validate", run, "--json"]).ok().json();
        assert_eq!(report["ok"], true, "{report}");
    }

    /// No temporary file is there.
    #[track_caller]
    pub fn assert_nothing_left(&self, run: &str) {
        for name in LEFTOVERS {
            assert!(!self.run_dir(run).join(name).exists(), "{name} was left behind");
        }
        for entry in std::fs::read_dir(self.run_dir(run)).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(!name.to_string_lossy().ends_with(".tmp"), "{} was left behind", name.display());
        }
    }

    /// The names in `activities/` that are no temporary files, in order.
    pub fn activity_files(&self, run: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.run_dir(run).join("activities")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }

    /// The names of all run directories.
    pub fn runs(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(".flow/runs")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The only entry of a directory below the repository whose name contains `part`.
    pub fn find(&self, dir: &str, part: &str) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.path(dir)).ok()?;
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part)))
    }
}

/// The part of `resume --json` that is about the run: what old and new states differ in.
pub fn essence(answer: &Value) -> Value {
    let keys = ["verdict", "status", "phase", "next", "completed", "in_doubt", "blocked_reason", "unreadable"];
    keys.iter().map(|&key| (key.to_owned(), answer[key].clone())).collect::<serde_json::Map<_, _>>().into()
}

fn mode_events(root: &Path) -> Vec<Value> {
    let log = std::fs::read(root.join(".flow/state/events.jsonl")).unwrap_or_default();
    let sealed = log.split(|&byte| byte == b'\n').filter_map(|line| flowrun::codec::unseal(line).ok());
    sealed.map(Value::Object).collect()
}

/// Whether the modes of the project in `root` keep all promises at rest: positions without gap or double, every file as
/// the last event about it says, nothing left behind. Gives what was put aside.
///
/// # Errors
/// The first promise that is broken.
pub fn modes_sound(root: &Path) -> Result<Vec<String>, String> {
    let events = mode_events(root);
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    if seqs != (1..=events.len() as u64).collect::<Vec<_>>() {
        return Err(format!("positions in the log of the modes: {seqs:?}"));
    }
    let mut files = std::collections::BTreeMap::new();
    for file in events.iter().flat_map(|event| event["files"].as_array().unwrap()) {
        let name = file["name"].as_str().unwrap();
        let path = file["session"].as_str().map_or_else(|| name.to_owned(), |one| format!("sessions/{one}/{name}"));
        files.insert(path, file["text"].as_str().map(str::to_owned));
    }
    let state = root.join(".flow/state");
    for (path, text) in &files {
        let found = std::fs::read_to_string(state.join(path)).ok();
        if found != *text {
            return Err(format!("{path} is not what the log of the modes says: {found:?}"));
        }
    }
    let mut aside = Vec::new();
    for (path, bytes) in super::Tree::of(&state).contents() {
        let text = path.to_string_lossy();
        // A power cut may tear the log's end, as it may that of a run.
        if text.contains(".quarantine/") && !text.contains("/events-") {
            aside.push(String::from_utf8_lossy(bytes).into_owned());
        }
        if text.ends_with(".tmp") {
            return Err(format!("{text} was left behind"));
        }
    }
    Ok(aside)
}
