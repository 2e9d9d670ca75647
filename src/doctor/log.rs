//! Checks a log.

use crate::codec::{LineFault, unseal};
use crate::doctor::facts::{Content, RunFacts};
use crate::doctor::finding::{Action, Findings};
use crate::doctor::rewrite::numbers_of;
use crate::engine::{Fault, Reconciled, machine_of};
use crate::model::{Event, EventKind, Help, LostRange, Seq, Suggestion, limits};
use crate::store::local::layout::LOG;

/// The command that goes on without the missing events.
fn repair(facts: &RunFacts) -> Suggestion {
    Suggestion::flow("doctor").value(&facts.id).flag("repair")
}

/// Checks the log. `rewrite`: a new log can be made from it. `named`: the request names the run. `is_away`: git keeps a
/// log that is not in this checkout.
pub(super) fn check(
    facts: &RunFacts,
    run: &Reconciled,
    rewrite: bool,
    named: bool,
    is_away: bool,
    found: &mut Findings,
) {
    let path = facts.path(LOG);
    let mend = rewrite.then_some(Action::RewriteLog);
    match &facts.log {
        Content::Here(bytes) => {
            lines(facts, mend.as_ref(), found);
            tail(facts, bytes, found);
        }
        Content::Missing if is_away => {
            let message = Help::from(
                "the log is not in this checkout, and git keeps it: bring it back with git, or go on without it with ",
            ) + repair(facts)
                + "; "
                + Suggestion::flow("resume").value(&facts.id)
                + " names the branches";
            found.add("log_put_back", &path, message).mend(mend.filter(|_| named));
            return;
        }
        Content::Missing if run.faults.iter().any(|fault| matches!(fault, Fault::EndLost(_))) => {
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
            if facts.entry(LOG).is_some_and(|entry| entry.kind == crate::disk::inspect::FileKind::File) {
                let way_out =
                    "bring an earlier version of it back, with git for instance, or cut off what flow did not write";
                found.add("unreadable", &path, format!("{why}; {way_out}"));
            }
            return;
        }
    }
    positions(facts, run, named, mend.as_ref(), found);
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

/// Reports lines that are not sealed events.
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

/// Whether a line is a conflict marker of git.
pub(super) fn is_marker(line: &str) -> bool {
    ["<<<<<<< ", "=======", ">>>>>>> ", "|||||||"].iter().any(|mark| line.starts_with(mark))
}

/// Reports bytes after the last line break, which the next writer moves away.
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

/// Reports missing events, and positions and numbers that occur twice.
fn positions(facts: &RunFacts, run: &Reconciled, named: bool, mend: Option<&Action>, found: &mut Findings) {
    let of = |is: fn(&Fault) -> bool| run.faults.iter().filter(move |fault| is(fault));
    let gaps = of(|fault| matches!(fault, Fault::Gap(_)));
    let doubles = of(|fault| matches!(fault, Fault::Double(_))).take(limits::VIOLATIONS);
    let joined = of(|fault| matches!(fault, Fault::Joined(_)));
    gaps.chain(doubles).chain(joined).for_each(|fault| position(fault, facts, named, mend, found));
    numbers(facts, mend, found);
    let ends = of(|fault| matches!(fault, Fault::EndLost(_) | Fault::Rewound { .. }));
    ends.for_each(|fault| position(fault, facts, named, mend, found));
}

/// Reports what is wrong with the positions of events.
fn position(fault: &Fault, facts: &RunFacts, named: bool, mend: Option<&Action>, found: &mut Findings) {
    let path = facts.path(LOG);
    let scan = &facts.scan;
    match fault {
        Fault::Gap(lost) => {
            let next = scan.lines.iter().find(|line| line.event.seq > lost.to).map_or(1, |line| line.number);
            let message = format!("{} missing before this line", is(*lost));
            found.add("log_gap", &path, message).on_line(next).mend(mend.cloned());
        }
        Fault::Double(seq) => {
            let line = scan.lines.iter().rfind(|line| line.event.seq == *seq).map_or(1, |line| line.number);
            let message = format!("event {seq} is here twice with different content, as after a merge of two branches");
            found.add("log_double", &path, message).on_line(line).mend(mend.cloned());
        }
        Fault::Joined(what) if scan.doubles().is_empty() => {
            found.add("log_joined", &path, format!("a merge joined two histories: {what}")).mend(mend.cloned());
        }
        Fault::EndLost(lost) => {
            let message = format!("{} missing from the end of the log; run.yaml shows {}", is(*lost), lost.to);
            found.add("log_end_missing", &path, message).mend(mend.cloned());
        }
        Fault::Rewound { last, noted } if facts.writer.is_none() => {
            let lost = is(LostRange { from: last.next(), to: *noted });
            let message = format!(
                "{lost} not in the log, but .lock says that they were: an older version was put back; bring the rest \
                 back with git, or go on from here with "
            );
            let message = Help::from(message) + repair(facts);
            // Only the owner of this run can decide to go on without the rest, so the request has to name the run.
            found.add("log_put_back", &path, message).mend(mend.filter(|_| named).cloned());
        }
        _ => {}
    }
}

/// Reports numbers that were given to two activities.
fn numbers(facts: &RunFacts, mend: Option<&Action>, found: &mut Findings) {
    let is_double = !facts.scan.doubles().is_empty();
    let mut highest = None;
    for line in &facts.scan.lines {
        for number in numbers_of(&line.event) {
            if Some(number) <= highest && !is_double {
                let message = format!("activity number {number} was given twice");
                found.add("log_double", &facts.path(LOG), message).on_line(line.number).mend(mend.cloned());
            }
            highest = highest.max(Some(number));
        }
    }
}

fn is(range: LostRange) -> String {
    format!("{} {}", range.in_words(), if range.from == range.to { "is" } else { "are" })
}

pub(super) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
