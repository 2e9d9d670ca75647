//! What is wrong with a log.

use crate::codec::{LineFault, RunText, unseal};
use crate::doctor::document::is_typed;
use crate::doctor::facts::{Content, RunFacts};
use crate::doctor::finding::{Action, Findings};
use crate::doctor::rewrite::numbers_of;
use crate::model::{Event, EventKind, LostRange, Seq, limits};
use crate::runs::checkout::joined;
use crate::runs::pinned::machine_of;
use crate::store::LogScan;
use crate::store::layout::LOG;

/// Checks it. `rewrite` says whether a new one can be made from it, `named` whether the run was asked about by name.
/// `is_away` says that git keeps a log which is not in this checkout.
pub(super) fn check(
    facts: &RunFacts,
    shown: Option<&RunText>,
    rewrite: bool,
    named: bool,
    is_away: bool,
    found: &mut Findings,
) {
    let path = facts.path(LOG);
    let mend = rewrite.then_some(Action::RewriteLog);
    let shown = shown.and_then(|text| text.document().state.last_seq).filter(|&shown| !is_typed(facts, shown));
    match &facts.log {
        Content::Here(bytes) => {
            lines(facts, mend.as_ref(), found);
            tail(facts, bytes, found);
        }
        Content::Missing if is_away => {
            let message = format!(
                "the log is not in this checkout, and git keeps it: bring it back with git, or go on without it with \
                 `flow doctor {} --repair`; `flow resume {}` names the branches",
                facts.id, facts.id
            );
            found.add("log_put_back", &path, message).mend(mend.filter(|_| named));
            return;
        }
        Content::Missing if shown > Some(Seq(0)) => {
            let message = "the log is missing, and with it the workflow that the run pins";
            found.add("log_missing", &path, message).mend(mend.clone());
            return;
        }
        Content::Missing => return,
        Content::Unread(why) => {
            found.add("unreadable", &path, why.clone());
            return;
        }
        Content::Unusable(why) => {
            if facts.entry(LOG).is_some_and(|entry| entry.kind == crate::store::inspect::FileKind::File) {
                found.add("unreadable", &path, why.clone());
            }
            return;
        }
    }
    positions(facts, shown, named, mend.as_ref(), found);
    if facts.scan.lines.is_empty() {
        return;
    }
    if !facts.scan.events().any(begins) {
        let message = "no line of the log begins the run";
        found.add("log_no_start", &path, message).mend(mend);
    } else if let Some(event) = facts.scan.events().find(|event| begins(event)) {
        let mut why = Vec::new();
        machine_of(event, &mut why);
        if let Some(why) = why.first() {
            found.add("pinned_workflow_unreadable", &path, why.clone());
        }
    }
    for event in facts.scan.events() {
        if let EventKind::LogRepaired(repair) = &event.kind {
            let lost: Vec<_> = repair.lost.iter().map(|range| range.in_words()).collect();
            let lost = if lost.is_empty() { "nothing".to_owned() } else { lost.join(", ") };
            let message = format!("event {} repaired the log; lost: {lost}; why: {}", event.seq, repair.reason);
            found.add("log_repaired", &path, message);
        }
    }
}

fn begins(event: &Event) -> bool {
    matches!(event.kind, EventKind::RunStarted(_) | EventKind::RunAdopted(_) | EventKind::LogRepaired(_))
}

/// Lines that are no sealed events.
fn lines(facts: &RunFacts, mend: Option<&Action>, found: &mut Findings) {
    let path = facts.path(LOG);
    let unsealed: Vec<_> = facts.scan.skipped.iter().filter(|line| line.fault == LineFault::Unsealed).collect();
    if let Some(first) = unsealed.first() {
        let message = format!("{} written by other programs; shown, but not state", counted(unsealed.len(), "line"));
        found.add("log_line_unsealed", &path, message).on_line(first.line);
    }
    let bad = facts.scan.skipped.iter().filter(|line| line.fault != LineFault::Unsealed);
    for line in bad.take(limits::VIOLATIONS) {
        let (code, message) = match line.fault {
            LineFault::Damaged => ("log_line_damaged", "the checksum of the line does not match"),
            _ if is_marker(&line.text) => ("log_merge_markers", "the line is a conflict marker of a merge"),
            fault => ("log_line_unreadable", fault.as_str()),
        };
        found.add(code, &path, message).on_line(line.line).mend(mend.cloned());
    }
    for line in facts.scan.lines.iter().filter(|line| line.event.seq == Seq(0)) {
        let finding = found.add("log_line_unreadable", &path, "the line has position 0, before the first");
        finding.on_line(line.number).mend(mend.cloned());
    }
    if let Some(two) = facts.scan.lines.windows(2).find(|two| two[0].number > two[1].number) {
        let message = format!("event {} stands before event {}", two[1].event.seq, two[0].event.seq);
        found.add("log_unordered", &path, message).on_line(two[1].number).mend(mend.cloned());
    }
}

/// Whether a line is a conflict marker of a merge.
pub(super) fn is_marker(line: &str) -> bool {
    ["<<<<<<< ", "=======", ">>>>>>> ", "|||||||"].iter().any(|mark| line.starts_with(mark))
}

/// Bytes behind the last line break, which the next writer moves away.
fn tail(facts: &RunFacts, bytes: &[u8], found: &mut Findings) {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let torn = &bytes[whole..];
    if torn.is_empty() || facts.writer.is_some() || unseal(torn).is_ok() || unseal(torn) == Err(LineFault::Unsealed) {
        return;
    }
    let line = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let (code, what) = match torn.ends_with(&[0]) {
        true => ("log_nul_tail", "zeros"),
        false => ("log_torn_tail", "a part of a line"),
    };
    let message = format!("the log ends in {what} ({}); nothing of it was acknowledged", counted(torn.len(), "byte"));
    found.add(code, &facts.path(LOG), message).on_line(line).mend(Action::Recover);
}

/// Events that are gone, and positions that are there twice.
fn positions(facts: &RunFacts, shown: Option<Seq>, named: bool, mend: Option<&Action>, found: &mut Findings) {
    let path = facts.path(LOG);
    let scan = &facts.scan;
    for (from, to) in scan.gaps() {
        let next = scan.lines.iter().find(|line| line.event.seq > to).map_or(1, |line| line.number);
        let message = format!("{} missing before this line", is(LostRange { from, to }));
        found.add("log_gap", &path, message).on_line(next).mend(mend.cloned());
    }
    for seq in doubles_of(scan).into_iter().take(limits::VIOLATIONS) {
        let line = scan.lines.iter().rfind(|line| line.event.seq == seq).map_or(1, |line| line.number);
        let message = format!("event {seq} is here twice with different content, as after a merge of two branches");
        found.add("log_double", &path, message).on_line(line).mend(mend.cloned());
    }
    if doubles_of(scan).is_empty()
        && let Some(what) = joined(scan)
    {
        found.add("log_joined", &path, format!("a merge joined two histories: {what}")).mend(mend.cloned());
    }
    let mut highest = None;
    for line in &scan.lines {
        for number in numbers_of(&line.event) {
            if Some(number) <= highest && scan.doubles().is_empty() {
                let message = format!("activity number {number} was given twice");
                found.add("log_double", &path, message).on_line(line.number).mend(mend.cloned());
            }
            highest = highest.max(Some(number));
        }
    }
    let (last, from) = (scan.last_seq(), scan.last_seq().next());
    let noted = facts.note.as_ref().map_or(Seq(0), |note| note.seq);
    if let Some(to) = shown.filter(|&shown| shown > last) {
        let message = format!("{} missing from the end of the log; run.yaml shows {to}", is(LostRange { from, to }));
        found.add("log_end_missing", &path, message).mend(mend.cloned());
    } else if noted > last && !scan.lines.is_empty() && facts.writer.is_none() {
        let lost = is(LostRange { from, to: noted });
        let message = format!(
            "{lost} not in the log, but .lock says that they were: an older version was put back; bring the rest back \
             with git, or go on from here with `flow doctor {} --repair`",
            facts.id
        );
        // Whether to go on without the rest is a decision about this run alone.
        found.add("log_put_back", &path, message).mend(mend.filter(|_| named).cloned());
    }
}

fn doubles_of(scan: &LogScan) -> Vec<Seq> {
    let mut doubles = scan.doubles();
    doubles.dedup();
    doubles
}

fn is(range: LostRange) -> String {
    format!("{} {}", range.in_words(), if range.from == range.to { "is" } else { "are" })
}

pub(super) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
