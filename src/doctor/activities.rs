//! Checks activity files, and the evidence that they refer to.

use std::collections::BTreeMap;

use crate::codec::{RunText, parse_value};
use crate::disk::inspect::FileKind;
use crate::disk::{Links, read_plain};
use crate::doctor::facts::{FileState, RunFacts};
use crate::doctor::finding::{Findings, RepairStep};
use crate::doctor::lines::is_same_text;
use crate::doctor::rewrite::{Rewrite, activity};
use crate::host::GitRef;
use crate::model::{ActivityRecorded, EventKind, KeptEvidence, Number, Seq, limits};
use crate::store::ActivityFile;
use crate::store::local::is_cut_off;
use crate::store::local::layout::{ACTIVITIES, ACTIVITY_TMP, EVIDENCE};

/// Checks the files against the log. `rewrite` is the repair of the log, if one is due; it salvages records that the
/// log lost, so their files are not findings. `longer` asks git for a longer log, which may have the records of others.
pub(super) fn check(
    facts: &RunFacts,
    rewrite: Option<&Rewrite>,
    longer: impl FnOnce() -> Option<GitRef>,
    found: &mut Findings,
) {
    let files = ActivityFile::of_all(facts.scan.events()).into_iter();
    let known: BTreeMap<String, String> = files.map(|file| (file.name, file.text)).collect();
    let numbers: Vec<Number> = known.keys().filter_map(|name| Number::of_file(name)).collect();
    // While a writer holds the lock, the newest file may not be written yet.
    let unfinished = if facts.writer.is_some() { numbers.iter().max().copied() } else { None };
    for (name, wanted) in &known {
        if unfinished.is_none() || Number::of_file(name) != unfinished {
            recorded(facts, name, wanted, found);
        }
    }
    let earlier = earlier(facts);
    let mut unknown = Vec::new();
    for entry in &facts.activities {
        let Some(name) = entry.text() else { continue };
        if entry.kind != FileKind::File || known.contains_key(name) || name == ACTIVITY_TMP {
            continue;
        }
        let number = Number::of_file(name);
        let path = facts.path(ACTIVITIES).join(name);
        if number.is_some() && number <= earlier {
            // Another program wrote it, so there is no record to compare with.
            if !matches!(facts.files.get(name), Some(FileState::Here(bytes)) if activity(bytes).is_some()) {
                let message = "the file is not a valid activity, and the log does not have its record";
                found.add("activity_unreadable", &path, message);
            }
            continue;
        }
        if name.starts_with('.') {
            found.add("unknown_file", &path, "flow does not put this file here");
            continue;
        }
        if let (Some(number), Some(rewrite)) = (number, rewrite)
            && rewrite.salvages(number)
        {
            // The log lost this record, and the repair of the log takes it from this file.
            continue;
        }
        // A writer may be about to put the record into the log.
        if facts.writer.is_some() {
            continue;
        }
        let step = RepairStep::ShelveActivity(name.to_owned());
        match number {
            Some(number) if numbers.contains(&number) => {
                let message = format!("number {number} belongs to another activity");
                found.add("activity_number_twice", &path, message).mend(step);
            }
            _ => unknown.push((path, step)),
        }
    }
    // git is asked only if there is something to ask for.
    let place = if unknown.is_empty() { None } else { longer() };
    for (path, step) in unknown {
        match &place {
            Some(place) => {
                let message = format!("the log here has no such activity, and {place} has a longer log");
                found.add("activity_unknown", &path, message);
            }
            None => found.add("activity_unknown", &path, "the log has no such activity").mend(step),
        }
    }
    for id in vanished(facts) {
        let message = format!(
            "completed_activities names {id}, and no file or event has it: bring its file back, with git for instance"
        );
        found.add("activity_vanished", &facts.path(ACTIVITIES), message);
    }
    evidence(facts, found);
}

/// The evidence that a record names, and what was recorded of it.
struct NamedEvidence<'a> {
    record: &'a ActivityRecorded,
    /// Its path in `evidence/`.
    inside: &'a str,
    kept: Option<&'a KeptEvidence>,
}

/// The highest number that another program gave to an activity before the log began.
fn earlier(facts: &RunFacts) -> Option<Number> {
    if facts.scan.lines.is_empty() {
        return Some(Number(u64::MAX));
    }
    facts.scan.events().find_map(|event| match &event.kind {
        EventKind::RunAdopted(adopted) => Some(adopted.document.state.last_number),
        // A run of another program whose log lost its first event.
        EventKind::LogRepaired(repair) if event.seq == Seq(1) => Some(repair.document.state.last_number),
        _ => None,
    })
}

/// The activities that another program completed before flow wrote the run, and of which neither a file nor an event is left.
pub(super) fn vanished(facts: &RunFacts) -> Vec<String> {
    if facts.is_unread(ACTIVITIES) {
        return Vec::new();
    }
    let adopted = facts.scan.events().find_map(|event| match &event.kind {
        EventKind::RunAdopted(adopted) => Some(&adopted.document),
        _ => None,
    });
    let text = match (adopted, facts.text.here()) {
        (None, Some(text)) if facts.scan.lines.is_empty() => RunText::parse(text.clone()).ok(),
        _ => None,
    };
    let Some(document) = adopted.or(text.as_ref().map(RunText::document)) else { return Vec::new() };
    // A program that keeps no files of activities has lost none.
    let has_files =
        document.state.last_number > Number(0) || facts.files.keys().any(|name| Number::of_file(name).is_some());
    if !has_files {
        return Vec::new();
    }
    let mut vanished = Vec::new();
    for id in document.state.completed_activities.iter() {
        let is_recorded =
            facts.scan.events().any(|event| event.kind.records().iter().any(|record| record.id().to_string() == id));
        let has_file = facts.files.iter().any(|(name, file)| is_about(name, file, id));
        if !is_recorded && !has_file && !vanished.contains(&id.to_string()) {
            vanished.push(id.to_string());
        }
    }
    vanished
}

/// Whether a file is that of the activity `id`. What cannot be read may be.
fn is_about(name: &str, file: &FileState<Vec<u8>>, id: &str) -> bool {
    match file {
        FileState::Here(bytes) => name.contains(id) || memchr::memmem::find(bytes, id.as_bytes()).is_some(),
        FileState::Unusable(_) | FileState::Unread(_) => true,
        FileState::Missing => false,
    }
}

/// Checks the file of a recorded activity; the log can write it again.
fn recorded(facts: &RunFacts, name: &str, wanted: &str, found: &mut Findings) {
    let path = facts.path(ACTIVITIES).join(name);
    let content = match facts.files.get(name) {
        Some(FileState::Here(bytes)) => bytes,
        Some(FileState::Unusable(why)) => {
            found.add("activity_unreadable", &path, why.clone()).mend(RepairStep::ReplaceActivity(name.to_owned()));
            return;
        }
        Some(FileState::Unread(why)) => {
            found.add("unreadable", &path, why.clone());
            return;
        }
        Some(FileState::Missing) | None => {
            if !facts.is_unread(ACTIVITIES) && facts.activities.iter().all(|entry| entry.text() != Some(name)) {
                let message = "the file of a recorded activity is missing; the log has its record";
                found.add("activity_missing", &path, message).mend(RepairStep::RestoreActivity(name.to_owned()));
            }
            return;
        }
    };
    if content == wanted.as_bytes() || is_same_text(&String::from_utf8_lossy(content), wanted) {
        return;
    }
    if is_cut_off(content, wanted.as_bytes()) {
        let message = "the file is empty, cut off, or ends in zeros; the log has its record";
        found.add("activity_cut_off", &path, message).mend(RepairStep::RestoreActivity(name.to_owned()));
    } else if let Err(why) = readable(content) {
        let message = format!("the file can no longer be read as an activity: {why}");
        found.add("activity_unreadable", &path, message).mend(RepairStep::ReplaceActivity(name.to_owned()));
    } else {
        found.add("activity_edited", &path, "a person edited the file; what counts is the record in the log");
    }
}

fn readable(content: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is not UTF-8 text".to_owned())?;
    parse_value(text).map_err(|error| error.to_string())?;
    if activity(content).is_none() {
        return Err("it has no usable id, phase or status".to_owned());
    }
    Ok(())
}

/// Checks references that name a file of the run. Other references are text, such as an address, a job or a commit.
fn evidence(facts: &RunFacts, found: &mut Findings) {
    let mut last = BTreeMap::new();
    for named in named_evidence(facts) {
        let path = facts.path(EVIDENCE).join(named.inside);
        let who = format!("{} {}", named.record.number, named.record.id());
        if facts.is_unread(EVIDENCE) {
            continue;
        }
        if !is_there(facts, named.inside) {
            // The store has it, and a reader here gets it from there.
            if named.kept.is_none() || !facts.is_copy {
                found.add("evidence_missing", &path, format!("{who} refers to it, and it is not there"));
            }
        } else if let Some(kept) = named.kept {
            // A later record may have put another file there.
            last.insert(path, (who, kept));
        }
    }
    for (path, (who, kept)) in last {
        let Ok(bytes) = read_plain(&*facts.disk, &path, limits::EVIDENCE_BYTES) else { continue };
        if kept.is_of(&bytes) {
            continue;
        }
        if kept.is_but_for_line_ends(&bytes) {
            found.add(
                "line_ends",
                &path,
                "it has other line ends than were recorded, as git gives it with core.autocrlf",
            );
            continue;
        }
        found.add("evidence_changed", &path, format!("it has another content than when {who} was recorded"));
    }
}

fn named_evidence(facts: &RunFacts) -> Vec<NamedEvidence<'_>> {
    let mut all = Vec::new();
    for event in facts.scan.events() {
        let records = match &event.kind {
            EventKind::LogRepaired(repair) => &repair.salvaged,
            kind => kind.records(),
        };
        for record in records {
            for named in record.activity.evidence() {
                let inside = named.trim_start_matches("./").strip_prefix("evidence/");
                let name = inside.unwrap_or(named);
                let kept = record.evidence.iter().find(|kept| kept.name == name);
                if inside.is_some() || kept.is_some() {
                    all.push(NamedEvidence { record, inside: name, kept });
                }
            }
        }
    }
    all
}

/// Whether `evidence/` has the name `inside`, which a record gives.
fn is_there(facts: &RunFacts, inside: &str) -> bool {
    let (first, below) = match inside.split_once('/') {
        Some((first, below)) => (first, Some(below)),
        None => (inside, None),
    };
    let Some(entry) = facts.evidence.iter().find(|entry| entry.text() == Some(first)) else { return false };
    let Some(below) = below else { return true };
    // A record must not make the doctor look outside of the run.
    let leads_out = below.split('/').any(|step| ["", ".", ".."].contains(&step));
    !leads_out && entry.kind == FileKind::Directory && facts.disk.look(&entry.path.join(below), Links::Follow).is_ok()
}
