//! A whole `events.jsonl`: what the scan of everything says, the short look at its end says too.
//!
//! The input is a log in a notation that needs no checksums, a line each:
//!
//! - `=SEQ ID`: a sealed event of this position and id; with a third word `N`, N bytes longer
//! - `={…}`: this object, sealed
//! - `*N`: N bytes without meaning
//! - anything else as it is

use std::fs;
use std::path::PathBuf;

use flowrun::disk::{Os, Trust};
use flowrun::model::{Event, RunId, Seq, limits};
use flowrun::store::local::{LogTail, RunDir};
use flowrun::store::{LogScan, Project, StoreError, StoredRun as _};
use serde_json::json;
use tempfile::TempDir;

use super::event_line::{event, sealed};

/// So long may one line of the notation make the log.
const LONGEST: usize = 60_000;
/// So many positions are asked for.
const QUESTIONS: usize = 40;

/// How a file begins that Git LFS put in place of another one.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// See the module.
pub fn holds(bytes: &[u8]) {
    let log = built(bytes);
    let scan = LogScan::parse(&log);
    HOME.with(|home| {
        fs::write(&home.log, &log).expect("a temporary file can be written");
        if log.starts_with(LFS_POINTER) {
            assert!(matches!(home.run.log(), Err(StoreError::LfsPointer { .. })), "a pointer was read as a log");
            return;
        }
        assert_eq!(home.run.log().expect("a log can be read"), scan);
        for since in questions(&scan) {
            let tail = home.run.tail(since).expect("a log can be read").expect("there is a log");
            check(&log, &scan, &tail, since);
        }
        let found = home.run.first_event().expect("a log can be read");
        let first: Vec<_> = scan.events().filter(|event| event.seq == Seq(1)).collect();
        assert!(found.as_ref().is_none_or(|found| first.contains(&found)), "{found:?} is not the first event");
        if scan.events().next().is_some_and(|event| event.seq == Seq(1)) {
            assert!(found.is_some(), "the first event was not found");
        }
    });
}

fn check(log: &[u8], scan: &LogScan, tail: &LogTail, since: Seq) {
    let ended = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let unended = event(&log[ended..]).is_ok();
    let whole = if unended { log.len() } else { without_torn_lines(log, ended) };
    assert_eq!((tail.len, tail.whole, tail.unended), (log.len() as u64, whole as u64, unended));
    let newer: Vec<Event> = scan.events().filter(|event| event.seq > since).cloned().collect();
    let (in_order, usual) = looks(log);
    if !in_order && (log.len() > limits::TAIL_BYTES || !usual) {
        // Two branches were merged, and the end alone may not show it. Nothing is made up all the same.
        assert!(tail.end.last <= scan.last_seq(), "{since}: {} is not in the log", tail.end.last);
        assert!(tail.end.newer.iter().all(|event| newer.contains(event)), "{since}");
        return;
    }
    assert_eq!(tail.end.last, scan.last_seq(), "since {since}");
    assert_eq!(tail.end.newer, newer, "since {since}");
    let at = scan.events().rfind(|event| event.seq <= since).map(|event| event.seq);
    assert_eq!(tail.end.at.as_ref().map(|event| event.seq), at, "since {since}");
}

/// The length without the last lines that have zeros in them: a power cut took their blocks.
fn without_torn_lines(log: &[u8], ended: usize) -> usize {
    let mut whole = ended;
    while let Some(body) = log[..whole].strip_suffix(b"\n") {
        let begin = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if !body[begin..].contains(&0) {
            break;
        }
        whole = begin;
    }
    whole
}

/// Whether the positions never go back from line to line, and whether all lines begin as flow writes them.
fn looks(log: &[u8]) -> (bool, bool) {
    let lines = log.split(|&byte| byte == b'\n');
    let sealed: Vec<_> = lines.filter_map(|line| event(line).ok().map(|event| (line, event.seq))).collect();
    let usual = |line: &[u8], seq| line.starts_with(format!("{{\"v\":1,\"seq\":{seq},").as_bytes());
    (sealed.iter().map(|(_, seq)| seq).is_sorted(), sealed.iter().all(|(line, seq)| usual(line, seq)))
}

/// Positions that are worth asking for: all around those that are there.
fn questions(scan: &LogScan) -> Vec<Seq> {
    let seqs = scan.events().map(|event| event.seq.0);
    let near = seqs.flat_map(|seq| [seq.saturating_sub(1), seq, seq + 1]);
    let mut all: Vec<_> = near.chain([0, 1, u64::MAX]).collect();
    all.sort_unstable();
    all.dedup();
    let step = all.len().div_ceil(QUESTIONS).max(1);
    all.iter().rev().step_by(step).map(|&seq| Seq(seq)).collect()
}

fn built(notation: &[u8]) -> Vec<u8> {
    let mut log = Vec::new();
    for line in notation.split_inclusive(|&byte| byte == b'\n') {
        let (content, end) = match line.strip_suffix(b"\n") {
            Some(content) => (content, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        log.extend(written(content));
        log.extend(end);
        if log.len() > 10 * LONGEST {
            break;
        }
    }
    log
}

fn written(line: &[u8]) -> Vec<u8> {
    let made = match line.split_first() {
        Some((b'=', object)) if object.starts_with(b"{") => sealed(object),
        Some((b'=', rest)) => std::str::from_utf8(rest).ok().and_then(numbered),
        Some((b'*', rest)) => std::str::from_utf8(rest).ok().and_then(length).map(|len| vec![b'x'; len]),
        _ => None,
    };
    made.unwrap_or_else(|| line.to_vec())
}

fn numbered(rest: &str) -> Option<Vec<u8>> {
    let mut words = rest.split(' ');
    let seq: u64 = words.next()?.parse().ok()?;
    let id = words.next().filter(|id| !id.is_empty())?;
    let reason = "x".repeat(words.next().map_or(Some(0), length)?);
    let object = json!({
        "v": 1, "seq": seq, "id": id, "at": "2026-05-20T14:40:00.000Z",
        "type": "run_blocked", "from": "active", "reason": reason,
    });
    sealed(object.to_string().as_bytes())
}

fn length(word: &str) -> Option<usize> {
    word.parse().ok().filter(|len| *len <= LONGEST)
}

/// A project with one run, whose log is written anew for each input.
struct Home {
    run: RunDir,
    log: PathBuf,
    _dir: TempDir,
}

thread_local! {
    static HOME: Home = {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let path = dir.path().join(".flow/runs/run-1");
        fs::create_dir_all(&path).expect("a temporary directory can be written");
        // By this a run is known as flow's.
        fs::write(path.join("run.yaml"), "kind: FlowRun\n").expect("a temporary file can be written");
        let project = Project::open(&Os, dir.path(), Trust::OwnFiles).expect("an empty project can be opened");
        let run = project.run(&RunId::new("run-1").expect("a name")).expect("the run is there");
        Home { run, log: path.join("events.jsonl"), _dir: dir }
    };
}
