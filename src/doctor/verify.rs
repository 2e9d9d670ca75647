//! `verify`: proves that a run's files are the fold of its log, byte for byte.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::codec::{LineFault, RunText, digest};
use crate::doctor::facts::{Content, RunFacts};
use crate::doctor::rewrite::file_number;
use crate::engine::History;
use crate::model::{Event, EventKind, LostRange, RunId, SessionId, TextDigest};
use crate::runs::checkout::{is_rewound, joined};
use crate::runs::load::activity_files;
use crate::runs::replay::{Replay, blind_spots};
use crate::runs::{Flow, Result};
use crate::store::layout::{ACTIVITIES, ACTIVITY_TMP, LOCK, LOG, RUN_FILE};
use crate::store::{ActivityFile, StoreError};

/// The answer of `verify`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyReport {
    /// Whether nothing differs.
    pub ok: bool,
    /// The run.
    pub run_id: RunId,
    /// What was compared.
    pub checked: Checked,
    /// What differs.
    pub differences: Vec<Difference>,
    /// What cannot be proven any more, and why.
    pub notes: Vec<String>,
}

/// How much was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Lines of the log that are sealed events.
    pub events: usize,
    /// Versions of `run.yaml` whose digest is in the log and was computed again.
    pub run_digests: usize,
    /// Bytes of `run.yaml` as it is.
    pub run_bytes: usize,
    /// Activity files.
    pub activity_files: usize,
}

/// A place where a file and the log differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// The first line that differs.
    pub line: Option<usize>,
    /// What the log demands there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What that means, in words.
    pub why: String,
}

/// Longest line that is quoted, in characters.
const QUOTED: usize = 120;

impl Flow {
    /// Folds the log of a run and compares every byte that follows from it. Writes nothing.
    ///
    /// # Errors
    /// [`crate::runs::Error::NoSuchRun`], and [`crate::runs::Error::Store`] when the run cannot be opened, or when what
    /// differs may be the unfinished work of a process that does not come to its end. What differs, or cannot be read,
    /// is in the report.
    pub fn verify(&self, run: Option<&str>, session: Option<SessionId>) -> Result<VerifyReport> {
        let project = self.project()?;
        let caller = self.caller(session, None)?;
        let run = self.select(&project, run, caller.session.as_ref())?;
        if run.is_leftover() {
            return Err(self.elsewhere(&project, &run));
        }
        let begun = Instant::now();
        let wait = self.lock_wait()?;
        let (facts, checked, mut differences) = loop {
            let facts = RunFacts::gather(&run);
            let mut proof = Proof { facts: &facts, checked: Checked::default(), differences: Vec::new() };
            proof.prove();
            let Proof { checked, differences, .. } = proof;
            if differences.is_empty() || facts.writer.is_none() {
                break (facts, checked, differences);
            }
            // Between the line in the log and the files that show it.
            let waited = begun.elapsed();
            if waited >= wait {
                let holder = facts.note.clone().map(Box::new);
                return Err(StoreError::Held { path: run.file_path(LOCK), holder, waited }.into());
            }
        };
        for difference in &mut differences {
            difference.path = Self::relative(&project, &difference.path);
        }
        let history = History::fold(facts.scan.events());
        let mut notes = history.map(|history| history.losses()).unwrap_or_default();
        let (last, noted) = (facts.scan.last_seq(), facts.note.as_ref().map(|note| note.seq).unwrap_or_default());
        if differences.is_empty() && is_rewound(noted, last, Some(last)) {
            notes.push(format!(
                "an older version of the run was put back: event {noted} was written here; `flow resume {}` says where it is",
                facts.id
            ));
        }
        if facts.is_not_adopted() {
            notes.push(
                "another program made the run, and no command of flow has written it: nothing to prove".to_owned(),
            );
        }
        Ok(VerifyReport { ok: differences.is_empty(), run_id: facts.id.clone(), checked, differences, notes })
    }
}

/// A comparison under way.
struct Proof<'a> {
    facts: &'a RunFacts,
    checked: Checked,
    differences: Vec<Difference>,
}

impl Proof<'_> {
    fn prove(&mut self) {
        if self.facts.is_not_adopted() {
            return;
        }
        self.lines();
        let replayed = self.digests();
        self.run_file(replayed.as_ref());
        self.activities();
    }

    fn differs(&mut self, path: PathBuf, line: Option<usize>, expected: &str, found: &str, why: &str) {
        let quote = |text: &str| text.chars().take(QUOTED).collect();
        let (expected, found) = (quote(expected), quote(found));
        self.differences.push(Difference { path, line, expected, found, why: why.to_owned() });
    }

    /// Every line verifies, and positions follow each other.
    fn lines(&mut self) {
        let (path, scan) = (self.facts.path(LOG), &self.facts.scan);
        self.checked.events = scan.lines.len();
        match &self.facts.log {
            Content::Here(_) if !scan.lines.is_empty() => {}
            Content::Unusable(why) | Content::Unread(why) => {
                self.differs(path.clone(), None, "a log", why, "the log cannot be read")
            }
            _ => self.differs(path.clone(), None, "a sealed event", "none", "nothing can be proven without a log"),
        }
        for line in scan.skipped.iter().filter(|line| line.fault != LineFault::Unsealed) {
            self.differs(path.clone(), Some(line.line), "a sealed event", &line.text, line.fault.as_str());
        }
        if let Content::Here(bytes) = &self.facts.log {
            let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let (torn, last) = (&bytes[whole..], scan.lines.iter().map(|line| line.number).max());
            let line = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
            if !torn.is_empty() && last != Some(line) {
                let found = String::from_utf8_lossy(torn);
                self.differs(
                    path.clone(),
                    Some(line),
                    "a line break",
                    &found,
                    "the log does not end with a whole line",
                );
            }
        }
        for (from, to) in scan.gaps() {
            let next = scan.lines.iter().find(|line| line.event.seq > to);
            let (line, found) = (next.map(|line| line.number), next.map(|line| line.event.seq.to_string()));
            let expected = LostRange { from, to }.in_words();
            self.differs(path.clone(), line, &expected, &found.unwrap_or_default(), "acknowledged events are gone");
        }
        if let Some(what) = joined(scan) {
            let why =
                format!("a merge joined two histories of the run: {what}; `flow doctor --repair` makes one of them");
            self.differs(path.clone(), None, "one history", "two", &why);
        }
        for seq in scan.doubles() {
            let line = scan.lines.iter().rfind(|line| line.event.seq == seq).map(|line| line.number);
            self.differs(path.clone(), line, "one event", "another one", &format!("event {seq} is here twice"));
        }
    }

    /// Writes `run.yaml` once more for every event, and compares with the digests that the events carry.
    fn digests(&mut self) -> Option<RunText> {
        let scan = &self.facts.scan;
        let blind = blind_spots(scan);
        let mut replay = Replay::default();
        for line in &scan.lines {
            let event = &line.event;
            if let Err(error) = replay.take(event) {
                let why = format!("run.yaml cannot be written for event {}: {error}", event.seq);
                self.differs(self.facts.path(LOG), Some(line.number), "a run.yaml", "none", &why);
                return None;
            }
            let (Some(text), Some(written)) = (&replay.text, &event.run) else { continue };
            if blind.contains(&event.seq) {
                continue;
            }
            self.checked.run_digests += 1;
            let folded = TextDigest(digest(text.text().as_bytes()));
            if folded != *written {
                let why = format!("the run.yaml written with event {} was not the fold of the log", event.seq);
                self.differs(self.facts.path(LOG), Some(line.number), &folded.0, &written.0, &why);
            }
        }
        replay.text
    }

    fn run_file(&mut self, replayed: Option<&RunText>) {
        let path = self.facts.path(RUN_FILE);
        let text = match &self.facts.text {
            Content::Here(text) => text,
            Content::Missing => return self.differs(path, None, "a file", "none", "run.yaml is missing"),
            Content::Unusable(why) | Content::Unread(why) => {
                return self.differs(path, None, "a file", why, "run.yaml cannot be read");
            }
        };
        self.checked.run_bytes = text.len();
        let Some(replayed) = replayed else { return };
        if text == replayed.text() {
            return;
        }
        let shown = RunText::parse(text.as_str()).ok().and_then(|text| text.document().state.last_seq);
        let last = self.facts.scan.last_seq();
        let as_written = |event: &Event| event.run == Some(TextDigest(digest(text.as_bytes())));
        let damaged = !self.facts.scan.gaps().is_empty() || !self.facts.scan.doubles().is_empty();
        let why = match shown {
            _ if damaged => "run.yaml is not the fold of what is left of the log".to_owned(),
            Some(shown) if shown < last && self.facts.scan.events().any(as_written) => {
                format!("run.yaml shows event {shown}; the next command that writes the run brings it up to {last}")
            }
            _ => "run.yaml was edited by hand, and no command has adopted the edit yet".to_owned(),
        };
        let (line, expected, found) = first_difference(replayed.text(), text);
        self.differs(path, Some(line), &expected, &found, &why);
    }

    /// Every file equals the record in the log, and there is no other.
    fn activities(&mut self) {
        let recorded: Vec<ActivityFile> = self.facts.scan.events().flat_map(activity_files).collect();
        let known: BTreeSet<&str> = recorded.iter().map(|file| file.name.as_str()).collect();
        for file in &recorded {
            let path = self.facts.path(ACTIVITIES).join(&file.name);
            let bytes = match self.facts.files.get(&file.name) {
                Some(Content::Here(bytes)) => bytes,
                Some(Content::Unusable(why) | Content::Unread(why)) => {
                    self.differs(path, None, "a file", why, "the activity file cannot be read");
                    continue;
                }
                Some(Content::Missing) | None => {
                    self.differs(path, None, "a file", "none", "the activity file is missing");
                    continue;
                }
            };
            self.checked.activity_files += 1;
            if bytes != file.text.as_bytes() {
                let found = String::from_utf8_lossy(bytes);
                let cut_off = file.text.starts_with(found.trim_end_matches('\0'));
                let why = if cut_off { "the activity file is cut off" } else { "a person edited the activity file" };
                let (line, expected, found) = first_difference(&file.text, &found);
                self.differs(path, Some(line), &expected, &found, why);
            }
        }
        let adopted = self.facts.scan.events().find_map(|event| match &event.kind {
            EventKind::RunAdopted(adopted) => Some(adopted.document.state.last_number),
            _ => None,
        });
        // Files of before the log are the only place of what they say.
        let earlier = |name: &str| file_number(name).is_some_and(|number| Some(number) <= adopted);
        let names = self.facts.activities.iter().filter_map(|entry| entry.text());
        let others = names.filter(|name| !known.contains(name) && *name != ACTIVITY_TMP && !earlier(name));
        for name in others.map(str::to_owned).collect::<Vec<_>>() {
            let path = self.facts.path(ACTIVITIES).join(name);
            self.differs(path, None, "no such file", "a file", "the log knows no such activity");
        }
    }
}

/// The first line in which two texts differ, with both lines.
fn first_difference(expected: &str, found: &str) -> (usize, String, String) {
    let (mut wanted, mut seen) = (expected.split('\n'), found.split('\n'));
    let mut line = 1;
    loop {
        match (wanted.next(), seen.next()) {
            (Some(a), Some(b)) if a == b => line += 1,
            (a, b) => {
                let end = || "the end of the file".to_owned();
                return (line, a.map_or_else(end, str::to_owned), b.map_or_else(end, str::to_owned));
            }
        }
    }
}
