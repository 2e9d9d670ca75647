//! What came out of a run, as Markdown for a pull request or the next agent: at most 200 lines, and the same bytes as long
//! as nothing more is recorded. Texts of the run stand in code spans, so that they mean nothing to who renders them.

use std::fmt::Write as _;

use crate::model::{Doing, MissingProof, beginning, is_terminal_control};
use crate::picture::usage::totals_in_words;
use crate::picture::words::ran_as;
use crate::runs::{ReportedQuestion, ReportedWork, ShownApproval, ShownSkip, ShownUnit, WorkReport};

/// How many lines a section has at most; there are seven of them.
const LINES: usize = 26;
/// How many paths that are not covered a line names.
const NOT_COVERED: usize = 3;
/// How many notes there are at most.
const NOTES: usize = 5;
/// How much of a text is shown, in characters.
const SHOWN: usize = 200;
/// How much of a digest is shown.
const DIGEST: usize = 12;

/// The report as Markdown.
#[must_use]
pub fn work_report(report: &WorkReport) -> String {
    let status = report.doing.map_or(report.status.as_str(), Doing::as_str);
    let mut text = format!("## {} {status}\n\n", code(report.run_id.as_str()));
    let phase = report.phase.as_ref().map(|phase| format!(", in {}", code(phase.as_str())));
    let _ = writeln!(text, "Workflow {}{}.", code(report.workflow.as_str()), phase.unwrap_or_default());
    for (label, value) in [
        ("Reason", &report.reason),
        ("Goal", &report.goal),
        ("Issue", &report.issue),
        ("Pull request", &report.pr),
        ("Branch", &report.branch),
    ] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            let _ = writeln!(text, "{label}: {}", code(value));
        }
    }
    let used = totals_in_words(&report.usage.sum.totals);
    if !used.is_empty() {
        let _ = writeln!(text, "Used: {used}");
    }
    for note in report.notes.iter().take(NOTES) {
        let _ = writeln!(text, "Note: {}", code(note));
    }
    section(&mut text, "Seen", report.seen.iter().map(seen));
    section(&mut text, "Claimed", report.claimed.iter().map(work));
    let open = report.open.iter().map(work).chain(report.open_units.iter().map(unit));
    section(&mut text, "Open", open.chain(report.required.iter().map(required)));
    section(&mut text, "Questions", report.questions.iter().map(question));
    section(&mut text, "Decided", report.decided.iter().map(decision));
    section(&mut text, "Passed over", report.skipped.iter().map(skip));
    section(&mut text, "Left undone", report.left_undone.iter().map(|one| code(&one.to_string())));
    text
}

fn question(question: &ReportedQuestion) -> String {
    let unit = question.unit.as_ref().map(|unit| format!(" ({})", code(unit.as_str()))).unwrap_or_default();
    format!("{}{unit}: {}", code(question.step.as_str()), code(&question.prompt))
}

fn decision(decision: &ShownApproval) -> String {
    let verb = if decision.approved { "approved" } else { "rejected" };
    let phase = decision.phase.as_ref().map(|phase| code(phase.as_str())).unwrap_or_default();
    let why = decision.reason.as_ref().map(|why| format!(": {}", code(why))).unwrap_or_default();
    format!("{phase} {verb} by {}{why}", code(&decision.approval.by))
}

fn skip(skip: &ShownSkip) -> String {
    let without = skip.exec.as_ref().map(|exec| format!(" without {}", code(exec))).unwrap_or_default();
    format!("{}{without} (event {}): {}", code(skip.phase.as_str()), skip.seq, code(&skip.reason))
}

fn section(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<_> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n### {title}\n");
    // What came last says how the run stands.
    let earlier = items.len().saturating_sub(LINES - 4);
    if earlier > 0 {
        let _ = writeln!(text, "- {earlier} earlier ones");
    }
    for item in &items[earlier..] {
        let _ = writeln!(text, "- {item}");
    }
}

fn work(work: &ReportedWork) -> String {
    let phase = work.phase.as_ref().map(|phase| format!(" in {}", code(phase.as_str()))).unwrap_or_default();
    let summary = work.summary.as_ref().map(|words| format!(": {}", code(words))).unwrap_or_default();
    let failed = work.seen_to_fail.map(|failed| format!(" (flow saw {failed} fail before)")).unwrap_or_default();
    let settles: Vec<_> = work.settles.iter().map(|id| code(id)).collect();
    let settles = if settles.is_empty() { String::new() } else { format!(" (settles {})", settles.join(", ")) };
    let status = work.status.with_exit_code(work.exit_code);
    format!("{} {} {status}{phase}{settles}{failed}{summary}", work.number, code(&work.id))
}

fn unit(unit: &ShownUnit) -> String {
    let name = unit.unit.as_ref().map(|name| format!("unit {} in ", code(name.as_str()))).unwrap_or_default();
    let message = unit.message.as_ref().map(|words| format!(": {}", code(words))).unwrap_or_default();
    format!("{name}{} {}{message}", code(unit.step.as_str()), unit.status)
}

fn required(missing: &MissingProof) -> String {
    let MissingProof { phase, exec, why, .. } = missing;
    format!("{} requires {}: {}", code(phase.as_str()), code(exec), code(why))
}

fn seen(seen: &ReportedWork) -> String {
    // How a replay compared is told in its summary.
    let Some(command) = &seen.command else { return work(seen) };
    let on = match (&seen.commit, &seen.tree) {
        (Some(commit), _) => format!("on commit {}", code(&commit.chars().take(DIGEST).collect::<String>())),
        (None, Some(tree)) => format!("on files {}", code(&tree.chars().take(DIGEST).collect::<String>())),
        (None, None) => "on files that are not known".to_owned(),
    };
    let status = seen.status.with_exit_code(seen.exit_code);
    let command = ran_as(seen.name.as_deref(), command, seen.dir.as_deref());
    let mut left_out = Vec::new();
    for one in seen.not_covered.iter().take(NOT_COVERED) {
        left_out.push(code(&one.path));
    }
    if seen.not_covered.len() > NOT_COVERED {
        left_out.push("…".to_owned());
    }
    let mut but = String::new();
    if let Some(why) = &seen.files_in_doubt {
        but.push_str(&format!("; {}", code(why)));
    }
    if !left_out.is_empty() {
        but.push_str(&format!("; not covered: {}", left_out.join(", ")));
    }
    format!("{} {} {status}, {on}: {}{but}", seen.number, code(&seen.id), code(&command))
}

/// A text of the run as a code span, in one line.
fn code(text: &str) -> String {
    let mut line = String::new();
    for c in text.trim().chars() {
        match c {
            c if c.is_whitespace() => line.push(' '),
            c if is_terminal_control(c) => {}
            c => line.push(c),
        }
    }
    let shown = beginning(&line, SHOWN);
    // More backticks than stand together in the text; beside one, and around no text at all, a blank belongs to them.
    let together = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let ticks = "`".repeat(together + 1);
    let blank = if together > 0 || shown.is_empty() { " " } else { "" };
    format!("{ticks}{blank}{shown}{blank}{ticks}")
}
