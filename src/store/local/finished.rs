//! A cache of the summaries of finished runs, so that a list of ten thousand runs does not read ten thousand files.
//!
//! A finished run is one with a terminal status. `.flow/.cache/finished-runs` has a line for each run that was finished
//! when a writing command looked at it: the version of the format, the run's id, the stamp of its `run.yaml` (see
//! [`stamp`]), and the summary. If a run has several lines, the last one counts. A reader uses the summary while the
//! stamp still matches, and reads the run otherwise. It also reads the run if its line is cut off, has another version,
//! or names another run.
//!
//! The cache keeps only summaries that follow from `run.yaml` alone, so only a change of that file can make them stale.
//! A user who may write to the cache could forge a line, but could forge `run.yaml` as well, so there is no guard
//! against that. If an administrator gives the directory of a run to another user, the run is still listed, although it
//! is not opened. A change in place that keeps the length and happens within one tick of the file system's clock keeps
//! the stamp, too; git's index has the same limit.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::ops::Range;

use serde::Serialize;

use crate::disk::{Dir, FileType, Stat};
use crate::model::{RunHead, RunId, RunSummary, limits};
use crate::store::local::layout::{FINISHED_RUNS, LOG, RUN_FILE};

/// The version of a line. Increase it when [`RunSummary`] or the way it is made changes.
const VERSION: &str = "v5";
/// The length in bytes from which [`FinishedRuns::is_long`]: a few thousand runs.
const LONG: u64 = 1 << 20;
/// Longer summaries are not cached; their runs are read.
const SUMMARY_BYTES: usize = 4096;

/// The contents of the cache of finished runs.
#[derive(Debug, Default)]
pub(super) struct FinishedRuns {
    text: String,
    /// Where in the text the last line of a run is, without the version. The key is a hash of the run's id: to parse
    /// and copy ten thousand ids takes as long as reading their runs.
    lines: HashMap<u64, Range<usize>>,
    hasher: RandomState,
}

impl FinishedRuns {
    /// Whether reading the cache takes longer than starting a thread.
    pub(super) fn is_long(cache: &Dir) -> bool {
        cache.look(FINISHED_RUNS).is_ok_and(|stat| stat.len > LONG)
    }

    /// Reads the cache. A cache that cannot be read counts as empty.
    pub(super) fn read(cache: &Dir) -> Self {
        let text = cache.read_text(FINISHED_RUNS, limits::CACHE_BYTES).ok().flatten().unwrap_or_default();
        Self::of(text)
    }

    fn of(text: String) -> Self {
        let (hasher, mut lines) = (RandomState::new(), HashMap::with_capacity(text.len() / 128));
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            let fields = line.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(' '));
            if let Some((id, _)) = fields.and_then(|fields| fields.split_once(' ')) {
                lines.insert(hasher.hash_one(id), end - line.len() + VERSION.len() + 1..end);
            }
        }
        Self { text, lines, hasher }
    }

    /// The cached summary of a run, if its line has this stamp.
    pub(super) fn summary(&self, id: &RunId, stamp: &str) -> Option<RunSummary> {
        let line = &self.text[self.lines.get(&self.hasher.hash_one(id.as_str()))?.clone()];
        let rest = line.strip_prefix(id.as_str())?.strip_prefix(' ')?;
        let summary: RunSummary = serde_json::from_str(rest.strip_prefix(stamp)?.strip_prefix(' ')?).ok()?;
        (summary.head.run_id == *id && summary.head.status.is_terminal()).then_some(summary)
    }
}

/// A line of the cache; empty when the summary is too long to cache.
pub(super) fn line(stamp: &str, summary: &RunSummary) -> String {
    match serde_json::to_string(&values(summary)) {
        Ok(json) if json.len() <= SUMMARY_BYTES => format!("{VERSION} {} {stamp} {json}\n", summary.head.run_id),
        _ => String::new(),
    }
}

/// The fields of a summary in their order, without their names: names make the line twice as long, and reading it slower.
fn values(run: &RunSummary) -> impl Serialize + '_ {
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
        &run.last_seq,
    )
}

/// The stamp of a run's `run.yaml`. `None` if the run has to be read.
pub(super) fn stamp_of(runs: &Dir, id: &RunId) -> Option<String> {
    text_of(runs, id).map(|file| stamp(&file))
}

/// The metadata of a run's `run.yaml`. `None` if the run is no directory, or has no such file.
pub(super) fn text_of(runs: &Dir, id: &RunId) -> Option<Stat> {
    let is_directory = runs.look(id.as_str()).ok()?.kind == FileType::Directory;
    is_directory.then(|| text_in(runs, id))?
}

/// As [`text_of`], for a run that is known to be a directory. One call, which opens nothing.
///
/// The call would follow a symbolic link in place of the directory, so callers check first that the entry is not a
/// link. If a link replaces the directory after that check, no harm is done: the stamp only matches if the link leads
/// to the very file that was read before (device, inode, time of change), and that file's summary is correct and not
/// secret.
pub(super) fn text_in(runs: &Dir, id: &RunId) -> Option<Stat> {
    runs.look_into(id.as_str(), RUN_FILE).ok()
}

/// As [`text_in`], of the run's log.
pub(super) fn log_in(runs: &Dir, id: &RunId) -> Option<Stat> {
    runs.look_into(id.as_str(), LOG).ok()
}

/// A number made from the metadata of files, as [`stamp`]: it differs after a change of one of them.
pub(super) fn number(files: &[Stat; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    files.map(|Stat { device, inode, len, links, changed, .. }| (device, inode, len, links, changed)).hash(&mut hasher);
    hasher.finish()
}

/// A text made from a file's metadata: device, inode, length, links and time of change. It differs after a change of
/// the file.
pub(super) fn stamp(stat: &Stat) -> String {
    let mut text = String::with_capacity(64);
    let Stat { device, inode, len, links, changed: (seconds, nanos), .. } = *stat;
    for number in [device, inode, len, links, seconds.cast_unsigned(), nanos.cast_unsigned()] {
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
        // The same as `{:x}`, in a tenth of the time.
        text.extend((0..digits).rev().map(|digit| char::from(HEX[(number >> (4 * digit)) as usize & 0xf])));
        text.push('.');
    }
    text
}

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Issue;

    const KNOWN: &str = r#"v5 run-1 1.2.3. [["run-1","debug","cancelled","fix","failing","enough","2026-05-20T14:30:00.000Z","2026-05-20T14:31:00.000Z"],3,"less",42,43,"fix","a","j.md","s1",7]
"#;

    fn known(text: &str) -> Option<RunSummary> {
        FinishedRuns::of(text.to_owned()).summary(&"run-1".parse().unwrap(), "1.2.3.")
    }

    /// If this fails because the fields of a summary changed, increase [`VERSION`].
    #[test]
    fn a_line_says_everything_about_a_run() {
        let summary = known(KNOWN).unwrap();
        assert_eq!(line("1.2.3.", &summary), KNOWN);
        assert_eq!(line("1.2.3.", &RunSummary { goal: Some("x".repeat(SUMMARY_BYTES)), ..summary }), "");
    }

    #[test]
    fn a_stamp_says_all_numbers() {
        let stat = Stat {
            kind: FileType::RegularFile,
            mode: 0,
            owner: 0,
            group: 0,
            links: 0,
            device: u64::MAX,
            inode: 0x10,
            len: 0xabc,
            changed: (-1, 1),
        };
        assert_eq!(stamp(&stat), "ffffffffffffffff.10.abc.0.ffffffffffffffff.1.");
    }

    #[test]
    fn the_last_line_of_a_run_counts() {
        let later = KNOWN.replace("42", "43");
        assert_eq!(known(&format!("{KNOWN}{later}")).unwrap().issue, Some(Issue::Number(43)));
        assert_eq!(known(&format!("{later}{KNOWN}")).unwrap().issue, Some(Issue::Number(42)));
        assert_eq!(known(&format!("{KNOWN}v5 run-1 1.2.4. []\n")), None);
    }

    #[test]
    fn what_is_not_the_line_of_this_run_is_not_believed() {
        for (old, new) in [
            ("v5 ", "v3 "),
            ("run-1 ", "run-2 "),
            ("1.2.3. ", "1.2.4. "),
            ("1.2.3. ", "1.2.3.4. "),
            ("1.2.3. ", ""),
            (r#"[["run-1""#, r#"[["run-2""#),
            (r#""cancelled""#, r#""active""#),
            (r#""s1",7"#, r#""s1",-7"#),
            (r#""s1",7"#, r#""s1""#),
            (r#""s1",7"#, r#""s1",7,7"#),
            ("7]\n", ""),
            ("7]\n", "7][]\n"),
        ] {
            assert!(KNOWN.contains(old), "{old}");
            assert_eq!(known(&KNOWN.replacen(old, new, 1)), None, "{new}");
        }
    }
}
