//! Checks activity files, and the evidence that they refer to.

use std::collections::BTreeMap;

use crate::codec::parse_value;
use crate::disk::Links;
use crate::disk::inspect::{Entry, FileKind};
use crate::doctor::facts::{Content, RunFacts};
use crate::doctor::finding::{Action, Findings};
use crate::doctor::rewrite::{Rewrite, activity, file_number};
use crate::model::{EventKind, Number, Seq};
use crate::store::ActivityFile;
use crate::store::local::is_cut_off;
use crate::store::local::layout::{ACTIVITIES, ACTIVITY_TMP, EVIDENCE};

/// Checks the files against the log. `rewrite` is the repair of the log, if one is due; it salvages records that the
/// log lost, so their files are not findings.
pub(super) fn check(facts: &RunFacts, rewrite: Option<&Rewrite>, found: &mut Findings) {
    let known: BTreeMap<String, String> =
        ActivityFile::of_all(facts.scan.events()).into_iter().map(|file| (file.name, file.text)).collect();
    // While a writer holds the lock, the newest file may not be written yet.
    let newest = known.keys().filter_map(|name| file_number(name)).max().filter(|_| facts.writer.is_some());
    for (name, wanted) in &known {
        if newest.is_none() || file_number(name) != newest {
            recorded(facts, name, wanted, found);
        }
    }
    let numbers: Vec<Number> = known.keys().filter_map(|name| file_number(name)).collect();
    let earlier = earlier(facts);
    let plain = facts.activities.iter().filter(|entry| entry.kind == FileKind::File);
    for name in plain.filter_map(Entry::text).filter(|name| !known.contains_key(*name) && *name != ACTIVITY_TMP) {
        let number = file_number(name);
        let path = facts.path(ACTIVITIES).join(name);
        if number.is_some() && number <= earlier {
            let readable = facts.files.get(name).and_then(Content::here).is_some_and(|bytes| activity(bytes).is_some());
            if !readable {
                found.add(
                    "activity_unreadable",
                    &path,
                    "the file is not a valid activity, and the log does not have its record",
                );
            }
        } else if name.starts_with('.') {
            found.add("unknown_file", &path, "flow does not put this file here");
        } else if number.is_some_and(|number| rewrite.is_some_and(|rewrite| rewrite.salvages(number))) {
            // The log lost this record, and the repair of the log takes it from this file.
        } else if number.is_some_and(|number| numbers.contains(&number)) && facts.writer.is_none() {
            let message = format!("number {} belongs to another activity", number.unwrap_or_default());
            found.add("activity_number_twice", &path, message).mend(Action::ShelveActivity(name.to_owned()));
        } else if facts.writer.is_none() {
            let message = "the log has no such activity";
            found.add("activity_unknown", &path, message).mend(Action::ShelveActivity(name.to_owned()));
        }
    }
    evidence(facts, found);
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

/// Checks the file of a recorded activity; the log can write it again.
fn recorded(facts: &RunFacts, name: &str, wanted: &str, found: &mut Findings) {
    let path = facts.path(ACTIVITIES).join(name);
    let content = match facts.files.get(name) {
        Some(Content::Here(bytes)) => bytes,
        Some(Content::Unusable(why)) => {
            found.add("activity_unreadable", &path, why.clone()).mend(Action::ReplaceActivity(name.to_owned()));
            return;
        }
        Some(Content::Unread(why)) => {
            found.add("unreadable", &path, why.clone());
            return;
        }
        Some(Content::Missing) | None => {
            if facts.activities.iter().all(|entry| entry.text() != Some(name)) {
                let message = "the file of a recorded activity is missing; the log has its record";
                found.add("activity_missing", &path, message).mend(Action::RestoreActivity(name.to_owned()));
            }
            return;
        }
    };
    // git may have given the file other line ends.
    if content == wanted.as_bytes() || String::from_utf8_lossy(content).replace("\r\n", "\n") == wanted {
        return;
    }
    if is_cut_off(content, wanted.as_bytes()) {
        let message = "the file is empty, cut off, or ends in zeros; the log has its record";
        found.add("activity_cut_off", &path, message).mend(Action::RestoreActivity(name.to_owned()));
    } else if let Err(why) = readable(content) {
        let message = format!("the file can no longer be read as an activity: {why}");
        found.add("activity_unreadable", &path, message).mend(Action::ReplaceActivity(name.to_owned()));
    } else {
        found.add("activity_edited", &path, "a person edited the file; what counts is the record in the log");
    }
}

fn readable(content: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is not UTF-8 text".to_owned())?;
    parse_value(text).map_err(|error| error.to_string())?;
    activity(content).map(|_| ()).ok_or_else(|| "it has no usable id, phase or status".to_owned())
}

/// Checks references that name a file of the run. Other references are text, such as an address, a job or a commit.
fn evidence(facts: &RunFacts, found: &mut Findings) {
    for event in facts.scan.events() {
        let records = match &event.kind {
            EventKind::LogRepaired(repair) => &repair.salvaged,
            kind => kind.records(),
        };
        for record in records {
            for named in record.activity.evidence() {
                let Some(inside) = named.trim_start_matches("./").strip_prefix("evidence/") else { continue };
                let steps: Vec<_> = inside.split('/').collect();
                let first = facts.evidence.iter().find(|entry| entry.text() == steps.first().copied());
                let there = match (first, steps.len()) {
                    (Some(_), 1) => true,
                    (Some(entry), _) => {
                        let below = steps[1..].iter().all(|step| !["", ".", ".."].contains(step));
                        let path = entry.path.join(steps[1..].join("/"));
                        below && entry.kind == FileKind::Directory && facts.disk.look(&path, Links::Follow).is_ok()
                    }
                    (None, _) => false,
                };
                if !there {
                    let path = facts.path(EVIDENCE).join(inside);
                    let message = format!("{} {} refers to it, and it is not there", record.number, record.id());
                    found.add("evidence_missing", &path, message);
                }
            }
        }
    }
}
