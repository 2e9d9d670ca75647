//! `verify`: proves that a run's files are the fold of its log, byte for byte.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk::both;
use crate::doctor::activities::vanished;
use crate::doctor::facts::{FileState, RunFacts, TWO_THREADS};
use crate::doctor::lines::{earlier_number, is_same_text, last_line_with, open_end};
use crate::doctor::shared::work;
use crate::engine::{Fault, History, Recap, Reconciled, Repair, Replay, blind_spots};
use crate::model::{EventKind, Explain as _, Number, RunId, Seq, SessionId, Suggestion, counted};
use crate::runs::open::checkout::{elsewhere, may_be_elsewhere};
use crate::runs::open::fault::refusal;
use crate::runs::open::select::select_run;
use crate::runs::open::shared::request_to_read;
use crate::runs::open::view::notes_of_shared;
use crate::runs::{Context, OpenedProject, Result, place_of_caller};
use crate::store::local::is_cut_off;
use crate::store::local::layout::{ACTIVITIES, ACTIVITY_TMP, LOCK, LOG, RUN_FILE};
use crate::store::{ActivityFile, Document, SharedRuns, StoreError, StoreFlaw, StoredRun as _};

/// The report of `verify`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VerifyReport {
    /// Whether nothing differs.
    pub ok: bool,
    /// The run.
    pub run_id: RunId,
    /// What was compared.
    pub checked: VerifyCounts,
    /// What differs.
    pub differences: Vec<Difference>,
    /// What can no longer be proven, and why.
    pub notes: Vec<String>,
}

/// How much was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyCounts {
    /// Lines of the log that are sealed events.
    pub events: usize,
    /// Versions of `run.yaml` whose digest is in the log and was recomputed.
    pub run_digests: usize,
    /// The size of the current `run.yaml`, in bytes.
    pub run_bytes: usize,
    /// Activity files that were compared.
    pub activity_files: usize,
}

/// A place where a file and the log differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// The first line that differs.
    pub line: Option<usize>,
    /// What the log requires there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What the difference means, in words.
    pub why: String,
}

/// The longest line that is quoted, in characters.
const QUOTED: usize = 120;

/// Which run to verify.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// Folds the log of a run, and compares every byte that follows from it. Writes nothing.
///
/// # Errors
/// [`crate::runs::Error::NoSuchRun`]; [`crate::runs::Error::Store`] when the run cannot be opened, or when files differ
/// and the process that writes the run does not finish in time. What differs, or cannot be read, is in the report.
pub fn verify(cx: &Context, request: &VerifyRequest) -> Result<VerifyReport> {
    let project = cx.project()?;
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let (of_store, about_store) = compared_with_store(&project, run.id());
    let about_run = notes_of_shared(&*run);
    let run = project.with_files_of(run.id())?.run(run.id())?;
    if may_be_elsewhere(&project, &run) {
        return Err(elsewhere(&project, &run));
    }
    let begun = Instant::now();
    let wait = cx.lock_wait()?;
    let mut glance = RunFacts::glance(&cx.disk, &run);
    let (facts, found, checked, mut differences) = loop {
        let is_glance = glance.is_some();
        let facts = glance.take().unwrap_or_else(|| RunFacts::gather(&cx.disk, &run));
        let (found, _) = facts.reconcile();
        let (checked, differences) = proven(&facts, &found);
        if differences.is_empty() || !is_glance && facts.writer.is_none() {
            break (facts, found, checked, differences);
        }
        if is_glance {
            continue;
        }
        // A writer may be between the line in the log and the files that show it.
        let waited = begun.elapsed();
        if waited >= wait {
            let note = facts.note.clone().filter(|note| Some(note.writer.pid) == facts.writer);
            let holder = note.map(|note| Box::new(note.writer));
            return Err(StoreError::Held { at: run.file_path(LOCK).into(), holder, waited }.into());
        }
    };
    for (is_missing, document) in [
        (matches!(facts.text, FileState::Missing), Document::Text),
        (matches!(facts.log, FileState::Missing), Document::Log),
    ] {
        if is_missing {
            cx.refuse_left_out(project.root(), &run.address(document).from(project.root()))?;
        }
    }
    // A run of another program has no log that proves anything; but one that readers cannot use must not be called sound.
    if facts.is_not_adopted(&found)
        && let Some(fault) = found.faults.iter().find(|fault| fault.forbids_reading())
    {
        return Err(refusal(&project, &run, fault.clone()));
    }
    for difference in &mut differences {
        difference.path = project.relative(&difference.path);
    }
    differences.extend(of_store);
    let mut notes = losses(&facts);
    notes.extend(about_store.into_iter().chain(about_run));
    // Differences say more than this note.
    if differences.is_empty()
        && let Some(noted) = noted_before(&found)
    {
        let resume = Suggestion::flow("resume").value(&facts.id).in_project(place_of_caller(&project).as_deref());
        notes.push(format!(
            "an older version of the run was put back: event {noted} was written here; `{resume}` says where it is"
        ));
    }
    for id in vanished(&facts) {
        notes.push(format!("completed_activities names {id}, and no file or event has it"));
    }
    if facts.is_not_adopted(&found) {
        notes.push("another program made the run, and no command of flow has written it: nothing to prove".to_owned());
    }
    Ok(VerifyReport { ok: differences.is_empty(), run_id: facts.id.clone(), checked, differences, notes })
}

/// How the log that the store has of a run differs from what flow wrote, and what a reader should know of it.
fn compared_with_store(project: &OpenedProject, run: &RunId) -> (Vec<Difference>, Vec<String>) {
    let (mut differences, mut notes) = (Vec::new(), Vec::new());
    let Some(shared) = project.runs().shared().with(run) else { return (differences, notes) };
    let store = shared.address();
    let flaws = if project.cx.options.is_offline {
        Err(format!("{store} was not asked"))
    } else {
        flaws_of(project, shared, run).map_err(|error| error.one_line())
    };
    let flaws = flaws.unwrap_or_else(|why| {
        notes.push(format!("{why}; only the copy here was proven"));
        Vec::new()
    });
    for flaw in flaws {
        let (found, why) = match flaw {
            StoreFlaw::Lost { .. } => ("the log ends earlier".to_owned(), "the store lost what it had acknowledged"),
            StoreFlaw::Damaged { why, .. } => (why, "another program changed what the store has"),
            StoreFlaw::Behind { events, .. } => {
                let fetch = Suggestion::flow("remote fetch").value(run);
                let more = counted(events, "event");
                notes.push(format!("the copy that was proven lacks {more} that {store} has; `{fetch}` brings them"));
                continue;
            }
            StoreFlaw::Unfinished { .. } => {
                let push = Suggestion::flow("remote push").value(run);
                notes.push(format!(
                    "the run is being moved into {store}, so that only the copy here was proven; `{push}` goes on"
                ));
                continue;
            }
            StoreFlaw::Unmarked { about, instead: None, .. } => {
                let repair = Suggestion::flow("doctor").flag("repair");
                notes.push(format!("{store} does not know that the run is about {about}; `{repair}` tells it"));
                continue;
            }
            StoreFlaw::Unmarked { .. }
            | StoreFlaw::Deletes { .. }
            | StoreFlaw::Emptied { .. }
            | StoreFlaw::Unlisted { .. }
            | StoreFlaw::LeftMark { .. }
            // Of one run this is an error.
            | StoreFlaw::Unread { .. } => continue,
        };
        let (path, expected) = (PathBuf::from(store.of_run(run).to_string()), "the lines of the copy here".to_owned());
        differences.push(Difference { path, line: None, expected, found, why: why.to_owned() });
    }
    (differences, notes)
}

fn flaws_of(project: &OpenedProject, shared: &dyn SharedRuns, run: &RunId) -> Result<Vec<StoreFlaw>> {
    Ok(shared.flaws(Some(run), &|run| work(project, run), &request_to_read(project)?)?)
}

/// What earlier repairs of the log reported as lost.
fn losses(facts: &RunFacts) -> Vec<String> {
    // To fold a long log takes time, and only a repair reports losses.
    if !facts.scan.events().any(|event| matches!(event.kind, EventKind::LogRepaired(_))) {
        return Vec::new();
    }
    History::fold(facts.scan.events()).map(|history| history.losses()).unwrap_or_default()
}

/// The last event that was written here, if an older version of the run was put back since.
fn noted_before(found: &Reconciled) -> Option<Seq> {
    found.faults.iter().find_map(|fault| match fault {
        Fault::Rewound { noted, .. } => Some(*noted),
        _ => None,
    })
}

/// What was compared, and what differs.
fn proven(facts: &RunFacts, run: &Reconciled) -> (VerifyCounts, Vec<Difference>) {
    if facts.is_not_adopted(run) {
        let run_bytes = if let FileState::Here(text) = &facts.text { text.len() } else { 0 };
        return (VerifyCounts { run_bytes, ..VerifyCounts::default() }, Vec::new());
    }
    let (mut all, mut others) = (Proof::new(facts, run), Proof::new(facts, run));
    if facts.scan.lines.len() < TWO_THREADS {
        all.of_document();
        others.of_others();
    } else {
        both(|| all.of_document(), || others.of_others());
    }
    all.checked.activity_files = others.checked.activity_files;
    all.differences.extend(others.differences);
    (all.checked, all.differences)
}

/// A comparison in progress.
struct Proof<'a> {
    facts: &'a RunFacts,
    run: &'a Reconciled,
    checked: VerifyCounts,
    differences: Vec<Difference>,
}

impl<'a> Proof<'a> {
    fn new(facts: &'a RunFacts, run: &'a Reconciled) -> Self {
        Self { facts, run, checked: VerifyCounts::default(), differences: Vec::new() }
    }

    /// Compares the log with itself and with `run.yaml`.
    fn of_document(&mut self) {
        self.lines();
        let replayed = self.digests();
        self.run_file(replayed.as_deref());
    }

    /// Compares the log with what else follows from it.
    fn of_others(&mut self) {
        self.recaps();
        self.activities();
    }

    fn differs(&mut self, path: PathBuf, line: Option<usize>, expected: &str, found: &str, why: &str) {
        let expected = expected.chars().take(QUOTED).collect();
        let found = found.chars().take(QUOTED).collect();
        self.differences.push(Difference { path, line, expected, found, why: why.to_owned() });
    }

    /// Checks that every line verifies, and that positions follow each other.
    fn lines(&mut self) {
        let (path, scan) = (self.facts.path(LOG), &self.facts.scan);
        self.checked.events = scan.lines.len();
        match &self.facts.log {
            FileState::Here(_) if !scan.lines.is_empty() => {}
            FileState::Unusable(why) | FileState::Unread(why) => {
                self.differs(path.clone(), None, "a log", why, "the log cannot be read")
            }
            _ => self.differs(path.clone(), None, "a sealed event", "none", "nothing can be proven without a log"),
        }
        self.each_fault(|fault| matches!(fault, Fault::Line(_)));
        if let FileState::Here(bytes) = &self.facts.log {
            // The last event may lack its line break only.
            if let Some((line, torn)) = open_end(bytes)
                && scan.lines.iter().all(|event| event.number != line)
            {
                let found = String::from_utf8_lossy(torn);
                let why = "the log does not end with a whole line";
                self.differs(path.clone(), Some(line), "a line break", &found, why);
            }
        }
        self.each_fault(|fault| matches!(fault, Fault::Gap(_)));
        self.each_fault(|fault| matches!(fault, Fault::Joined(_) | Fault::Double(_)));
    }

    /// Recomputes the recaps whose digests are in the log. A repair may have declared events before them lost.
    fn recaps(&mut self) {
        let (path, lines) = (self.facts.path(LOG), &self.facts.scan.lines);
        if lines.iter().any(|line| matches!(line.event.kind, EventKind::LogRepaired(_))) {
            return;
        }
        let mut recap: Option<Recap> = None;
        for (at, line) in lines.iter().enumerate() {
            if let Some(mut earlier) = recap.take()
                && earlier.take(&line.event).is_some()
            {
                recap = Some(earlier);
            }
            let Some(named) = &line.event.recap else { continue };
            // What another version left out is not known here.
            if !Recap::is_of_this_version(named) {
                continue;
            }
            // It goes on from the recap before it: to fold all events each time would take quadratic time.
            if recap.is_none() {
                recap = Recap::of(lines[..=at].iter().map(|line| &line.event));
            }
            let Some(whole) = recap.take() else { continue };
            let text = whole.text();
            let expected = Recap::digest_of(&text);
            if *named != expected {
                let why = "the recap of the run up to here has another digest";
                self.differs(path.clone(), Some(line.number), &expected.0, &named.0, why);
            }
            recap = Recap::read(&text);
        }
    }

    /// Reports the faults of the log that `is_of_kind` selects.
    fn each_fault(&mut self, is_of_kind: fn(&Fault) -> bool) {
        let (path, scan) = (self.facts.path(LOG), &self.facts.scan);
        for fault in self.run.faults.iter().filter(|fault| is_of_kind(fault)) {
            match fault {
                Fault::Line(line) => {
                    let why = line.fault.to_string();
                    self.differs(path.clone(), Some(line.line), "a sealed event", &line.text, &why);
                }
                Fault::Gap(lost) => {
                    let (line, found) = match scan.lines.iter().find(|line| line.event.seq > lost.to) {
                        Some(next) => (Some(next.number), next.event.seq.to_string()),
                        None => (None, String::new()),
                    };
                    self.differs(path.clone(), line, &lost.in_words(), &found, "acknowledged events are gone");
                }
                Fault::Joined(what) => {
                    let why = format!("a merge joined two histories of the run: {what}");
                    self.differs(path.clone(), None, "one history", "two", &why);
                }
                Fault::Double(seq) => {
                    let line = last_line_with(scan, *seq);
                    let why = format!("event {seq} is here twice");
                    self.differs(path.clone(), line, "one event", "another one", &why);
                }
                _ => {}
            }
        }
    }

    /// Writes `run.yaml` again for every event, and compares with the digests in the events.
    fn digests(&mut self) -> Option<String> {
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
            // What the log does not have cannot be in the fold either.
            if blind.contains(&event.seq) {
                continue;
            }
            let Some(written) = &event.run else { continue };
            let Some(folded) = replay.digest() else { continue };
            self.checked.run_digests += 1;
            if folded != written.0 {
                let why = format!("the run.yaml written with event {} was not the fold of the log", event.seq);
                self.differs(self.facts.path(LOG), Some(line.number), &folded, &written.0, &why);
            }
        }
        replay.text()
    }

    fn run_file(&mut self, replayed: Option<&str>) {
        let path = self.facts.path(RUN_FILE);
        let text = match &self.facts.text {
            FileState::Here(text) => text,
            FileState::Missing => return self.differs(path, None, "a file", "none", "run.yaml is missing"),
            FileState::Unusable(why) | FileState::Unread(why) => {
                return self.differs(path, None, "a file", why, "run.yaml cannot be read");
            }
        };
        self.checked.run_bytes = text.len();
        let Some(replayed) = replayed else { return };
        if is_same_text(text, replayed) {
            return;
        }
        let is_damaged = self.run.faults.iter().any(|fault| matches!(fault, Fault::Gap(_) | Fault::Double(_)));
        let why = if is_damaged {
            "run.yaml is not the fold of what is left of the log".to_owned()
        } else if let Some(shown) = shown_behind(self.run) {
            let last = self.facts.scan.last_seq();
            format!("run.yaml shows event {shown}; the next command that writes the run brings it up to {last}")
        } else {
            "run.yaml was edited by hand, and no command has adopted the edit yet".to_owned()
        };
        let (line, expected, found) = first_difference(replayed, text);
        self.differs(path, Some(line), &expected, &found, &why);
    }

    /// Checks that every activity file equals its record in the log, and that there are no others.
    fn activities(&mut self) {
        let recorded = ActivityFile::of_all(self.facts.scan.events());
        let known: BTreeSet<&str> = recorded.iter().map(|file| file.name.as_str()).collect();
        for file in &recorded {
            let path = self.facts.path(ACTIVITIES).join(&file.name);
            let bytes = match self.facts.files.get(&file.name) {
                Some(FileState::Here(bytes)) => bytes,
                Some(FileState::Unusable(why) | FileState::Unread(why)) => {
                    self.differs(path, None, "a file", why, "the activity file cannot be read");
                    continue;
                }
                Some(FileState::Missing) | None => {
                    self.differs(path, None, "a file", "none", "the activity file is missing");
                    continue;
                }
            };
            self.checked.activity_files += 1;
            let found = String::from_utf8_lossy(bytes);
            if bytes != file.text.as_bytes() && !is_same_text(&found, &file.text) {
                let why = if is_cut_off(bytes, file.text.as_bytes()) {
                    "the activity file is cut off"
                } else {
                    "a person edited the activity file"
                };
                let (line, expected, found) = first_difference(&file.text, &found);
                self.differs(path, Some(line), &expected, &found, why);
            }
        }
        let adopted = earlier_number(self.facts.scan.events());
        for entry in &self.facts.activities {
            let Some(name) = entry.text() else { continue };
            if known.contains(name) || name == ACTIVITY_TMP {
                continue;
            }
            // Activity files from before the log have no record to compare with.
            if Number::of_file(name).is_some_and(|number| Some(number) <= adopted) {
                continue;
            }
            let path = self.facts.path(ACTIVITIES).join(name);
            self.differs(path, None, "no such file", "a file", "the log has no such activity");
        }
    }
}

/// The last event that `run.yaml` shows, if it is behind the log and otherwise as flow wrote it.
fn shown_behind(run: &Reconciled) -> Option<Seq> {
    run.repairs.iter().find_map(|repair| match repair {
        Repair::RollForward { since, .. } if run.edit().is_none() => Some(*since),
        Repair::EndRepair { old, is_own: true, .. } => old.document().state.last_seq,
        _ => None,
    })
}

/// The first line in which two texts differ, with both lines.
fn first_difference(expected: &str, found: &str) -> (usize, String, String) {
    let (mut wanted, mut seen) = (expected.split('\n'), found.split('\n'));
    let mut line = 1;
    let end = "the end of the file";
    loop {
        match (wanted.next(), seen.next()) {
            (Some(a), Some(b)) if a == b => line += 1,
            (a, b) => return (line, a.unwrap_or(end).to_owned(), b.unwrap_or(end).to_owned()),
        }
    }
}
