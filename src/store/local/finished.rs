//! Summaries of runs that are over: a cache, so that a list of ten thousand runs does not read ten thousand files.
//!
//! `.flow/.cache/finished-runs` has a line for each run that was over when a writing command looked at it: the version of
//! the format, the run, what its directory and its `run.yaml` looked like from outside, and the summary that they gave. The
//! last line of a run counts. A reader takes the summary when both still look the same, and reads the run otherwise; so it
//! does with everything that is not such a line: a file that was cut off, one of another version, a summary of another run.
//!
//! Only summaries that follow from `run.yaml` alone are kept: then nothing else can make them wrong. Whoever may write here
//! could write a line that fits and says something else; they could write `run.yaml` as well, so that is not guarded against.
//! A file that is changed in place, to the same length and within one tick of the file system's clock after flow wrote it,
//! looks the same; git's index has the same limit.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::disk::{Dir, Stat};
use crate::model::{RunId, RunSummary, limits};
use crate::store::local::layout::{FINISHED_RUNS, RUN_FILE};

/// The version of a line. It rises whenever [`RunSummary`] changes, or what it is made from.
const VERSION: &str = "v2";
/// Longer summaries are not kept: their runs are read.
const SUMMARY_BYTES: usize = 4096;

/// What the cache says about runs that are over.
#[derive(Debug, Default)]
pub(super) struct FinishedRuns {
    text: String,
    /// Where a run's stamp and summary are in the text.
    lines: HashMap<RunId, Range<usize>>,
}

impl FinishedRuns {
    /// What `cache` has; nothing when it cannot be read.
    pub(super) fn read(cache: &Dir) -> Self {
        let text = cache.read_text(FINISHED_RUNS, limits::CACHE_BYTES).ok().flatten().unwrap_or_default();
        let mut lines = HashMap::with_capacity(text.len() / 256);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let fields = line.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(' ')?.split_once(' '));
            if let Some((id, rest)) = fields
                && let Ok(id) = RunId::new(id)
            {
                lines.insert(id, end - rest.len()..end);
            }
            at = end;
        }
        Self { text, lines }
    }

    /// The summary of a run that looked as it does now when it was over.
    pub(super) fn summary(&self, id: &RunId, stamp: &str) -> Option<RunSummary> {
        let (then, json) = self.text[self.lines.get(id)?.clone()].split_once(' ')?;
        let summary: RunSummary = (then == stamp).then(|| serde_json::from_str(json).ok())??;
        (summary.id == *id && summary.status.is_terminal()).then_some(summary)
    }
}

/// A line of the cache; nothing when it would be too long.
pub(super) fn line(stamp: &str, summary: &RunSummary) -> String {
    match serde_json::to_string(summary) {
        Ok(json) if json.len() <= SUMMARY_BYTES => format!("{VERSION} {} {stamp} {json}\n", summary.id),
        _ => String::new(),
    }
}

/// What a run's directory and its `run.yaml` look like from outside; `None` when it has to be read to know more.
///
/// Neither is opened. The directory is looked at as what it is, so a symbolic link is none, and its owner is checked as when
/// it is opened. If it is exchanged for a link in between, the second look goes through that; but the answer is of use only
/// when it names the very file that was read before (device, inode and time of change), so nothing else can take its place.
pub(super) fn stamp_of(runs: &Dir, id: &RunId) -> Option<String> {
    let (dir, file) = runs.look_into(id.as_str(), RUN_FILE).ok()?;
    let mut text = String::with_capacity(96);
    add_stamp(&mut text, &dir);
    text.push('/');
    add_stamp(&mut text, &file);
    Some(text)
}

/// What a file looks like from outside; another text when it was changed.
pub(super) fn stamp(stat: &Stat) -> String {
    let mut text = String::new();
    add_stamp(&mut text, stat);
    text
}

fn add_stamp(text: &mut String, stat: &Stat) {
    let Stat { device, inode, len, links, changed: (seconds, nanos), .. } = stat;
    let _ = write!(text, "{device:x}.{inode:x}.{len:x}.{links:x}.{seconds:x}.{nanos:x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = r#"v2 run-1 1.2/3.4 {"id":"run-1","workflow":"debug","created_at":"2026-05-20T14:30:00.000Z","status":"cancelled","current_phase":"fix","completed_activities":3,"doing":null,"blocked_reason":"enough","goal":"less","issue":42,"pr":null,"feature":"a","journal":null,"session":"s1","last_seq":7,"updated_at":"2026-05-20T14:31:00.000Z"}
"#;

    fn known(text: &str) -> Option<RunSummary> {
        let at = text.match_indices(' ').nth(1).map_or(0, |(at, _)| at + 1);
        let id: RunId = "run-1".parse().unwrap();
        let lines = HashMap::from([(id.clone(), at..text.len())]);
        FinishedRuns { text: text.to_owned(), lines }.summary(&id, "1.2/3.4")
    }

    /// When this fails because a summary has other fields, the version has to rise.
    #[test]
    fn a_line_says_everything_about_a_run() {
        let summary = known(KNOWN).unwrap();
        assert_eq!(line("1.2/3.4", &summary), KNOWN);
        assert_eq!(line("1.2/3.4", &RunSummary { goal: Some("x".repeat(SUMMARY_BYTES)), ..summary }), "");
    }

    #[test]
    fn what_is_not_the_line_of_this_run_is_not_believed() {
        for (old, new) in [
            ("1.2/3.4", "1.2/3.5"),
            (r#""id":"run-1""#, r#""id":"run-2""#),
            (r#""cancelled""#, r#""active""#),
            (r#""last_seq":7"#, r#""last_seq":-7"#),
            (r#""last_seq""#, r#""first_seq""#),
            ("Z\"}\n", ""),
            ("Z\"}\n", "Z\"}{}\n"),
        ] {
            assert!(KNOWN.contains(old), "{old}");
            assert_eq!(known(&KNOWN.replacen(old, new, 1)), None, "{new}");
        }
    }
}
