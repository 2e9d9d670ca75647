//! The file of the runs that were pruned: `.flow/pruned.jsonl`, a line each.

use std::collections::HashMap;
use std::path::Path;

use crate::disk::DiskError;
use crate::model::{RunId, Timestamp, limits};
use crate::store::error::Result;
use crate::store::local::layout::{GITATTRIBUTES, GITATTRIBUTES_FILE, PRUNED, PRUNED_ATTRIBUTES};
use crate::store::local::mend::ProjectMender;
use crate::store::local::project::Project;
use crate::store::pruned::PrunedRun;

impl Project {
    /// What is noted of a run that is not in its place; the last line about it counts. `None` if it was not pruned. The
    /// directory to which it went is an absolute path.
    pub(in crate::store) fn note_of_pruned(&self, id: &RunId) -> Result<Option<PrunedRun>> {
        // Ids that differ in case alone are one id, since some file systems make no difference.
        self.last_noted(id.as_str(), |pruned| pruned.eq_ignore_ascii_case(id.as_str()))
    }

    /// The run that was pruned last of those whose ids begin with `name`, or end with it behind a `-`.
    pub(in crate::store) fn pruned_like(&self, name: &str) -> Result<Option<PrunedRun>> {
        let end = format!("-{name}");
        self.last_noted(name, |pruned| pruned.starts_with(name) || pruned.ends_with(&end))
    }

    /// The last note about a run whose id has `part` in it and is meant.
    fn last_noted(&self, part: &str, is_meant: impl Fn(&str) -> bool) -> Result<Option<PrunedRun>> {
        let text = self.pruned_text()?;
        let mut found = None;
        // Most lines are about other runs, and need no parsing.
        let part = part.to_ascii_lowercase();
        for line in text.lines() {
            if !line.to_ascii_lowercase().contains(&part) {
                continue;
            }
            if let Some(pruned) = parsed(line)
                && is_meant(pruned.run_id.as_str())
            {
                found = Some(pruned);
            }
        }
        Ok(found.map(|pruned| PrunedRun { to: pruned.to.map(|to| self.root().join(to)), ..pruned }))
    }

    /// The lines of the file. One that is not UTF-8 text is skipped, like every other line that is not a note.
    fn pruned_text(&self) -> Result<String, DiskError> {
        let bytes = self.flow.read(PRUNED, limits::PRUNED_BYTES)?.unwrap_or_default();
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => error.into_bytes(),
        };
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        Ok(lines.filter_map(|line| str::from_utf8(line).ok()).collect())
    }

    /// Notes that these runs go to the directory `to`, and makes that durable. A line that says so already stays as it is.
    pub(super) fn note_pruned(
        &self,
        locked: &ProjectMender<'_>,
        runs: &[RunId],
        to: Option<&Path>,
        at: Timestamp,
    ) -> Result<()> {
        let text = self.pruned_text()?;
        let mut known = HashMap::new();
        // What is not a line of this kind may be what a merge left. It stays.
        known.extend(text.lines().filter_map(parsed).map(|pruned| (pruned.run_id, pruned.to)));
        let mut lines = Vec::new();
        for run in runs {
            let to = to.map(Path::to_owned);
            if known.get(run) != Some(&to) {
                lines.push(line(&PrunedRun { run_id: run.clone(), at, to }));
            }
        }
        // Where several branches prune, git joins their lines.
        let attributes = self.flow.read_text(GITATTRIBUTES_FILE, limits::JOURNAL_BYTES)?.unwrap_or_default();
        if !attributes.lines().any(|rule| rule == PRUNED_ATTRIBUTES) {
            let first = if attributes.is_empty() { GITATTRIBUTES } else { "" };
            let rules: Vec<_> = first.lines().chain([PRUNED_ATTRIBUTES]).map(str::to_owned).collect();
            locked.add_lines(GITATTRIBUTES_FILE, &rules)?;
        }
        // Also if nothing is new: who wrote it may have died before it was flushed.
        locked.add_lines(PRUNED, &lines)
    }
}

fn parsed(line: &str) -> Option<PrunedRun> {
    serde_json::from_str(line).ok()
}

fn line(pruned: &PrunedRun) -> String {
    serde_json::to_string(pruned).expect("BUG: a note of a pruned run is not JSON")
}
