//! A cache of the summaries of finished runs, so that a list of ten thousand runs does not read ten thousand files.
//!
//! A finished run is one with a terminal status. `.flow/.cache/finished-runs` has a line for each finished run that was
//! read: the version of the format, the run's id, the stamp of its `run.yaml` (see
//! [`stamp`](crate::store::local::stamps::stamp)), and the summary. If a run has several lines, the last one counts. A
//! reader uses the summary while the stamp still matches, and reads the run otherwise. It also reads the run if its line is
//! cut off, has another version, or names another run. What does not fit into one file is in `finished-runs.1`,
//! `finished-runs.2` and so on.
//!
//! The cache keeps only summaries that follow from `run.yaml` alone, so only a change of that file can make them stale.
//! A user who may write to the cache could forge a line, but could forge `run.yaml` as well, so there is no guard
//! against that. If an administrator gives the directory of a run to another user, the run is still listed, although it
//! is not opened. A change in place that keeps the length and happens within one tick of the file system's clock keeps
//! the stamp, too; git's index has the same limit.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use serde::Serialize;

use crate::disk::{Dir, DiskError, NEW_FILE, Open, Operation, replace_unflushed, write_all};
use crate::model::{RunHead, RunId, RunSummary, limits};
use crate::store::local::layout::FINISHED_RUNS;

/// The version of a line, and of the list of open runs. Increase it when [`RunSummary`] or the way it is made changes.
pub(super) const VERSION: &str = "v9";
/// The length in bytes from which [`FinishedRuns::is_long`]: a few thousand runs.
const LONG: u64 = 1 << 20;
/// Longer summaries are not cached; their runs are read.
const SUMMARY_BYTES: usize = 4096;
/// The length in bytes from which lines go to the next file; a file may have [`limits::CACHE_BYTES`].
const FILE_BYTES: usize = limits::CACHE_BYTES / 2;
/// How many files there are at most: room for five million runs.
const FILES: usize = 32;
/// How many outdated lines may stay before the cache is written again.
const OUTDATED: usize = 1024;

/// The contents of the cache of finished runs.
#[derive(Debug, Default)]
pub(in crate::store::local) struct FinishedRuns {
    /// One for each file.
    texts: Vec<String>,
    /// The last line of each run without the version: in which text, and where. The key is a hash of the run's id: to
    /// parse and copy ten thousand ids takes as long as reading their runs.
    lines: HashMap<u64, (usize, Range<usize>)>,
    hasher: RandomState,
}

impl FinishedRuns {
    /// Whether reading the cache takes longer than starting a thread.
    pub(in crate::store::local) fn is_long(cache: &Dir) -> bool {
        cache.look(FINISHED_RUNS).is_ok_and(|stat| stat.len > LONG)
    }

    /// Reads the cache. A file that cannot be read counts as empty.
    pub(in crate::store::local) fn read(cache: &Dir) -> Self {
        let mut read = Self::default();
        for nth in 0..FILES {
            match cache.read_text(&file_name(nth), limits::CACHE_BYTES) {
                Ok(Some(text)) => read.add(text),
                Ok(None) => break,
                Err(_) => {}
            }
        }
        read
    }

    fn add(&mut self, text: String) {
        self.lines.reserve(text.len() / 128);
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            if let Some(rest) = line.strip_prefix(VERSION)
                && let Some((id, _)) = rest.strip_prefix(' ').and_then(|fields| fields.split_once(' '))
            {
                // A later line of the same run takes the place of an earlier one.
                let place = end - line.len() + VERSION.len() + 1..end;
                self.lines.insert(self.hasher.hash_one(id), (self.texts.len(), place));
            }
        }
        self.texts.push(text);
    }

    /// The cached summary of a run, if its line has this stamp.
    pub(in crate::store::local) fn summary(&self, id: &RunId, stamp: &str) -> Option<RunSummary> {
        let (nth, place) = self.lines.get(&self.hasher.hash_one(id.as_str()))?;
        let rest = self.texts[*nth][place.clone()].strip_prefix(id.as_str())?.strip_prefix(' ')?;
        let summary: RunSummary = serde_json::from_str(rest.strip_prefix(stamp)?.strip_prefix(' ')?).ok()?;
        // The hashes of two ids may be the same.
        (summary.head.run_id == *id && summary.head.is_over()).then_some(summary)
    }

    /// Whether it has so many lines that no longer count that it should be written again.
    pub(in crate::store::local) fn is_outdated(&self, runs: usize) -> bool {
        self.lines.len() > runs + OUTDATED
    }
}

/// Writes the cache again with these summaries and the stamps of their runs.
pub(in crate::store::local) fn write(cache: &Dir, over: &[(String, RunSummary)]) -> Result<(), DiskError> {
    let (mut nth, mut text) = (0, String::new());
    for (stamp, summary) in over {
        text.push_str(&line(stamp, summary));
        if text.len() > FILE_BYTES && nth + 1 < FILES {
            replace_unflushed(cache, &file_name(nth), &text)?;
            text.clear();
            nth += 1;
        }
    }
    replace_unflushed(cache, &file_name(nth), &text)?;
    // A reader takes the files up to the first one that is missing.
    for superfluous in nth + 1..FILES {
        match cache.exists(&file_name(superfluous)) {
            Ok(true) => cache.remove(&file_name(superfluous))?,
            _ => break,
        }
    }
    Ok(())
}

/// Adds summaries to the cache, each with the stamp of its run.
pub(in crate::store::local) fn append(cache: &Dir, over: &[(String, RunSummary)]) -> Result<(), DiskError> {
    let lines: String = over.iter().map(|(stamp, summary)| line(stamp, summary)).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let mut nth = 0;
    while nth + 1 < FILES && cache.look(&file_name(nth)).is_ok_and(|file| file.len > FILE_BYTES as u64) {
        nth += 1;
    }
    let name = file_name(nth);
    let file = cache.open_own(&name, Open::Append { mode: NEW_FILE })?;
    write_all(&*file, lines.as_bytes()).map_err(|error| DiskError::io(Operation::Write, cache.join(&name), error))
}

fn file_name(nth: usize) -> String {
    if nth == 0 { FINISHED_RUNS.to_owned() } else { format!("{FINISHED_RUNS}.{nth}") }
}

/// A line of the cache; empty when the summary is too long to cache.
fn line(stamp: &str, summary: &RunSummary) -> String {
    match serde_json::to_string(&values(summary)) {
        Ok(json) if json.len() <= SUMMARY_BYTES => format!("{VERSION} {} {stamp} {json}\n", summary.head.run_id),
        _ => String::new(),
    }
}

/// The fields of a summary in their order, without their names: names make the line twice as long, and reading it slower.
pub(in crate::store::local) fn values(run: &RunSummary) -> impl Serialize + '_ {
    let RunHead { run_id, workflow, status, phase, doing, blocked_reason, created_at, updated_at } = &run.head;
    (
        (run_id, workflow, status, phase, doing, blocked_reason, created_at, updated_at),
        &run.completed_activities,
        &run.goal,
        &run.issue,
        &run.pr,
        &run.branch,
        &run.feature,
        &run.journal,
        &run.session,
        &run.forked_from,
        &run.last_seq,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Issue;

    const KNOWN: &str = r#"v9 run-1 1.2.3. [["run-1","debug","cancelled","fix","failing","enough","2026-05-20T14:30:00.000Z","2026-05-20T14:31:00.000Z"],3,"less",42,43,"fix","a","j.md","s1",{"run_id":"run-0","seq":3},7]
"#;

    fn known(text: &str) -> Option<RunSummary> {
        let mut read = FinishedRuns::default();
        read.add(text.to_owned());
        read.summary(&"run-1".parse().unwrap(), "1.2.3.")
    }

    /// If this fails because the fields of a summary changed, increase [`VERSION`].
    #[test]
    fn a_line_says_everything_about_a_run() {
        let summary = known(KNOWN).unwrap();
        assert_eq!(line("1.2.3.", &summary), KNOWN);
        assert_eq!(line("1.2.3.", &RunSummary { goal: Some("x".repeat(SUMMARY_BYTES)), ..summary }), "");
    }

    #[test]
    fn the_last_line_of_a_run_counts() {
        let later = KNOWN.replace("42", "43");
        assert_eq!(known(&format!("{KNOWN}{later}")).unwrap().issue, Some(Issue::Number(43)));
        assert_eq!(known(&format!("{later}{KNOWN}")).unwrap().issue, Some(Issue::Number(42)));
        assert_eq!(known(&format!("{KNOWN}v9 run-1 1.2.4. []\n")), None);
    }

    #[test]
    fn what_is_not_the_line_of_this_run_is_not_believed() {
        for (old, new) in [
            ("v9 ", "v3 "),
            ("run-1 ", "run-2 "),
            ("1.2.3. ", "1.2.4. "),
            ("1.2.3. ", "1.2.3.4. "),
            ("1.2.3. ", ""),
            (r#"[["run-1""#, r#"[["run-2""#),
            (r#""cancelled""#, r#""active""#),
            (r#"3},7"#, r#"3},-7"#),
            (r#"3},7"#, r#"3}"#),
            (r#"3},7"#, r#"3},7,7"#),
            ("7]\n", ""),
            ("7]\n", "7][]\n"),
        ] {
            assert!(KNOWN.contains(old), "{old}");
            assert_eq!(known(&KNOWN.replacen(old, new, 1)), None, "{new}");
        }
    }
}
