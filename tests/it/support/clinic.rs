//! What every repair has to keep: files before and after, compared line by line.

use std::path::{Path, PathBuf};

use flowrun::codec::digest;
use serde_json::Value;

use super::hostile::{Picture, lock_bytes, picture};
use super::{Past, Sandbox};

/// Damage to a run or a project, and what the doctor is to say about it.
pub struct Damage {
    /// The finding's code.
    pub code: &'static str,
    /// Its path below the run's directory, or with a leading slash below `.flow`.
    pub path: &'static str,
    /// How it comes about.
    pub hurt: fn(&Past),
}

impl std::fmt::Debug for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.code, self.path)
    }
}

/// The whole `.flow`, locks included.
pub fn whole(sandbox: &Sandbox) -> (Picture, impl PartialEq + std::fmt::Debug) {
    let flow = sandbox.path(".flow");
    (picture(&flow), lock_bytes(&flow))
}

/// Every file below `.flow` with its bytes; no link is followed.
pub fn files(sandbox: &Sandbox) -> Vec<(PathBuf, Vec<u8>)> {
    let walk = walkdir::WalkDir::new(sandbox.path(".flow")).into_iter().map(Result::unwrap);
    let files = walk.filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_owned(), std::fs::read(entry.path()).unwrap())).collect()
}

/// Every line that was in a file is in some file still. What flow writes itself, again and again, is left out: locks,
/// schemas, and a `run.yaml` whose digest is in the log.
#[track_caller]
pub fn assert_nothing_lost(before: &[(PathBuf, Vec<u8>)], sandbox: &Sandbox) {
    let after: String = files(sandbox).iter().map(|(_, bytes)| String::from_utf8_lossy(bytes) + "\n").collect();
    let holds = |part: &[u8]| after.contains(&*String::from_utf8_lossy(part));
    for (path, bytes) in before {
        let own = path.file_name().is_some_and(|name| name == ".lock")
            || path.components().any(|c| c.as_os_str() == "schemas");
        if own || holds_digest(before, bytes) {
            continue;
        }
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii().trim_suffix_zeros();
            let name = path.display();
            assert!(line.is_empty() || holds(line), "{name}: {:?} is gone", String::from_utf8_lossy(line));
        }
    }
}

trait TrimZeros {
    fn trim_suffix_zeros(&self) -> &Self;
}

impl TrimZeros for [u8] {
    fn trim_suffix_zeros(&self) -> &Self {
        &self[..self.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
    }
}

fn holds_digest(files: &[(PathBuf, Vec<u8>)], text: &[u8]) -> bool {
    let digest = digest(text);
    let logs = files.iter().filter(|(path, _)| path.ends_with("events.jsonl"));
    logs.map(|(_, bytes)| String::from_utf8_lossy(bytes)).any(|log| log.contains(&digest))
}

/// The findings of a report with this code at this path.
pub fn findings<'a>(report: &'a Value, code: &str, path: &Path) -> Vec<&'a Value> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|one| one["code"] == code && one["path"].as_str().map(Path::new) == Some(path)).collect()
}

/// The codes of a report that are no mere notes, sorted.
pub fn troubles(report: &Value) -> Vec<&str> {
    let all = report["findings"].as_array().unwrap().iter();
    let left = all.filter(|one| one["severity"] != "info" && one["state"] != "mended");
    left.map(|one| one["code"].as_str().unwrap()).collect()
}

impl Past {
    /// A path as findings name it.
    pub fn shown_path(&self, path: &str) -> PathBuf {
        match path.strip_prefix('/') {
            Some(path) => Path::new(".flow").join(path),
            None => Path::new(".flow/runs").join(&self.run).join(path),
        }
    }

    /// The same path on disk.
    pub fn real_path(&self, path: &str) -> PathBuf {
        self.sandbox.path(self.shown_path(path))
    }

    /// What the doctor says, with its exit status.
    #[track_caller]
    pub fn doctor(&self, options: &[&str]) -> (Value, i32) {
        let answer = self.sandbox.attack(["doctor", "--json"].iter().chain(options));
        (answer.json(), answer.code.unwrap())
    }

    /// As [`Self::doctor`], in this process.
    #[track_caller]
    pub fn doctor_inside(&self, options: &[&str]) -> (Value, i32) {
        let answer = self.sandbox.inside(["doctor", "--json"].iter().chain(options));
        (answer.json(), answer.code.unwrap())
    }

    /// Records that were made on another branch, as a union merge puts them into the log: the run's log goes back to so
    /// many records, two of another name follow, and then the lines of both stand in the file.
    pub fn merge_branches(&self, records: usize) {
        let ours = self.read("events.jsonl");
        let mine: Vec<(String, String)> =
            ["run.yaml", "events.jsonl"].iter().map(|file| ((*file).to_owned(), self.read(file))).collect();
        let files = super::Tree::of(&self.sandbox.run_dir(&self.run));
        self.trees[records].restore(&self.sandbox.run_dir(&self.run));
        let base = self.read("events.jsonl");
        let phase = super::PHASES[records];
        self.sandbox.record(&self.run, phase, "their-first");
        self.sandbox.record(&self.run, phase, "their-second");
        let theirs = self.read("events.jsonl");
        let added = super::Tree::of(&self.sandbox.run_dir(&self.run));
        files.restore(&self.sandbox.run_dir(&self.run));
        for file in added.files().filter(|file| file.to_string_lossy().contains("their-")) {
            self.put(file.to_str().unwrap(), added.text(file));
        }
        self.put("run.yaml", &mine[0].1);
        self.put("events.jsonl", format!("{ours}{}", &theirs[base.len()..]));
        // A merge brings no lock file.
        let _ = std::fs::remove_file(self.real_path(".lock"));
    }
}
