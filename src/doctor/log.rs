//! Checks a log.

use crate::codec::{LineFault, is_of_another_program, unseal};
use crate::doctor::facts::{FileState, RunFacts};
use crate::doctor::finding::{Findings, RepairStep};
use crate::doctor::lines::{last_line_with, line_after, numbers_of, open_end, out_of_order};
use crate::engine::{Fault, Reconciled, machine_of};
use crate::model::{EventKind, Help, LostRange, Seq, Suggestion, counted, limits};
use crate::store::local::layout::LOG;

/// The command that goes on without the missing events.
fn repair(facts: &RunFacts) -> Suggestion {
    Suggestion::flow("doctor").value(&facts.id).flag("repair")
}

/// What is asked of the check of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogCheck {
    /// Whether a new log may take its place.
    pub(super) may_mend: bool,
    /// Whether the request names the run.
    pub(super) named: bool,
    /// Whether git has what is missing from it.
    pub(super) is_kept: bool,
}

/// What is `missing`, which git keeps.
fn kept(facts: &RunFacts, missing: &str) -> Help {
    let message = format!("{missing}, and git keeps it: bring it back with git, or go on without it with ");
    Help::from(message) + repair(facts) + "; " + Suggestion::flow("resume").value(&facts.id) + " names the branches"
}

/// Checks the log.
pub(super) fn check(facts: &RunFacts, run: &Reconciled, asked: LogCheck, found: &mut Findings) {
    let path = facts.path(LOG);
    let mend = if asked.may_mend { Some(RepairStep::RewriteLog) } else { None };
    match &facts.log {
        FileState::Here(bytes) => {
            lines(facts, mend.as_ref(), found);
            tail(facts, bytes, found);
        }
        FileState::Missing if asked.is_kept => {
            found.add("log_put_back", &path, kept(facts, "the log is not in this checkout")).mend(mend);
            return;
        }
        FileState::Missing if run.faults.iter().any(|fault| matches!(fault, Fault::EndLost(_))) => {
            let message = "the log is missing, and with it the workflow that the run pins";
            found.add("log_missing", &path, message).mend(mend.clone());
            return;
        }
        FileState::Missing => return,
        FileState::Unread(why) => {
            found.add("unreadable", &path, why.clone());
            return;
        }
        FileState::Unusable(why) => {
            // The check of the directory reports what is no plain file.
            if facts.has_file(LOG) {
                let way_out =
                    "bring an earlier version of it back, with git for instance, or cut off what flow did not write";
                found.add("unreadable", &path, format!("{why}; {way_out}"));
            }
            return;
        }
    }
    positions(facts, run, asked, mend.as_ref(), found);
    if facts.scan.lines.is_empty() {
        return;
    }
    let mut events = facts.scan.events();
    match events.find(|event| event.kind.begins_a_run()) {
        None => found.add("log_no_start", &path, "no line of the log begins the run").mend(mend),
        Some(event) => {
            let mut why = Vec::new();
            machine_of(event, &mut why);
            if let Some(why) = why.first() {
                found.add("pinned_workflow_unreadable", &path, why.clone());
            }
        }
    }
    for event in facts.scan.events() {
        if let EventKind::LogRepaired(repair) = &event.kind {
            let lost: Vec<_> = repair.lost.iter().map(|range| range.in_words()).collect();
            let lost =
                if lost.is_empty() { " without a loss".to_owned() } else { format!("; lost: {}", lost.join(", ")) };
            let message = format!("event {} repaired the log{lost}; why: {}", event.seq, repair.reason);
            found.add("log_repaired", &path, message);
        }
    }
}

/// Reports lines that are not sealed events.
fn lines(facts: &RunFacts, mend: Option<&RepairStep>, found: &mut Findings) {
    let path = facts.path(LOG);
    if let Some(first) = facts.scan.skipped.iter().find(|line| !line.fault.is_damage()) {
        let unsealed = facts.scan.skipped.len() - facts.scan.damaged().count();
        let message = format!("{} written by other programs; shown, but not state", counted(unsealed, "line"));
        found.add("log_line_unsealed", &path, message).on_line(first.line);
    }
    for line in facts.scan.damaged().take(limits::VIOLATIONS) {
        let (code, message) = match line.fault {
            LineFault::Damaged => ("log_line_damaged", "the checksum of the line does not match".to_owned()),
            LineFault::Marker => ("log_merge_markers", "the line is a conflict marker of a merge".to_owned()),
            fault => ("log_line_unreadable", fault.to_string()),
        };
        found.add(code, &path, message).on_line(line.line).mend(mend.cloned());
    }
    for line in facts.scan.lines.iter().filter(|line| line.event.seq == Seq(0)) {
        let finding = found.add("log_line_unreadable", &path, "the line has position 0, before the first");
        finding.on_line(line.number).mend(mend.cloned());
    }
    if let Some((earlier, later)) = out_of_order(&facts.scan) {
        let message = format!("event {} stands before event {}", later.event.seq, earlier.event.seq);
        found.add("log_unordered", &path, message).on_line(later.number).mend(mend.cloned());
    }
}

/// Reports bytes after the last line break, which the next writer moves away.
fn tail(facts: &RunFacts, bytes: &[u8], found: &mut Findings) {
    let Some((line, torn)) = open_end(bytes) else { return };
    // A whole line without its break is an event, or a line of another program.
    if facts.writer.is_some() || unseal(torn).is_ok() || is_of_another_program(torn) {
        return;
    }
    let (code, what) =
        if torn.ends_with(&[0]) { ("log_nul_tail", "zeros") } else { ("log_torn_tail", "a part of a line") };
    let message = format!("the log ends in {what} ({}); nothing of it was acknowledged", counted(torn.len(), "byte"));
    found.add(code, &facts.path(LOG), message).on_line(line).mend(RepairStep::Recover);
}

/// Reports missing events, and positions and numbers that occur twice.
fn positions(facts: &RunFacts, run: &Reconciled, asked: LogCheck, mend: Option<&RepairStep>, found: &mut Findings) {
    let gaps = run.faults.iter().filter(|fault| matches!(fault, Fault::Gap(_)));
    let doubles = run.faults.iter().filter(|fault| matches!(fault, Fault::Double(_))).take(limits::VIOLATIONS);
    let joined = run.faults.iter().filter(|fault| matches!(fault, Fault::Joined(_)));
    for fault in gaps.chain(doubles).chain(joined) {
        position(fault, facts, asked, mend, found);
    }
    numbers(facts, mend, found);
    for fault in run.faults.iter().filter(|fault| matches!(fault, Fault::EndLost(_) | Fault::Rewound { .. })) {
        position(fault, facts, asked, mend, found);
    }
}

/// Reports what is wrong with the positions of events.
fn position(fault: &Fault, facts: &RunFacts, asked: LogCheck, mend: Option<&RepairStep>, found: &mut Findings) {
    let path = facts.path(LOG);
    let scan = &facts.scan;
    match fault {
        Fault::Gap(lost) => {
            let next = line_after(scan, lost.to).unwrap_or(1);
            let message = format!("{} missing before this line", is(*lost));
            let message = if asked.is_kept { kept(facts, &message) } else { message.into() };
            found.add("log_gap", &path, message).on_line(next).mend(mend.cloned());
        }
        Fault::Double(seq) => {
            let line = last_line_with(scan, *seq).unwrap_or(1);
            let message = format!("event {seq} is here twice with different content, as after a merge of two branches");
            found.add("log_double", &path, message).on_line(line).mend(mend.cloned());
        }
        Fault::Joined(what) if scan.doubles().is_empty() => {
            found.add("log_joined", &path, format!("a merge joined two histories: {what}")).mend(mend.cloned());
        }
        Fault::EndLost(lost) => {
            let message = format!("{} missing from the end of the log; run.yaml shows {}", is(*lost), lost.to);
            let message = if asked.is_kept { kept(facts, &message) } else { message.into() };
            found.add("log_end_missing", &path, message).mend(mend.cloned());
        }
        Fault::Rewound { last, noted } if facts.writer.is_none() => {
            let lost = is(LostRange { from: last.next(), to: *noted });
            let message = format!(
                "{lost} not in the log, although event {noted} was written: an older version was put back; bring the rest \
                 back with git, or go on from here with "
            );
            let message = Help::from(message) + repair(facts);
            // Only the owner of this run can decide to go on without the rest, so the request has to name the run.
            found.add("log_put_back", &path, message).mend(if asked.named { mend.cloned() } else { None });
        }
        _ => {}
    }
}

/// Reports numbers that were given to two activities.
fn numbers(facts: &RunFacts, mend: Option<&RepairStep>, found: &mut Findings) {
    // Events that are here twice have been reported, with their numbers.
    if !facts.scan.doubles().is_empty() {
        return;
    }
    let mut highest = None;
    for line in &facts.scan.lines {
        for number in numbers_of(&line.event) {
            if Some(number) <= highest {
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
