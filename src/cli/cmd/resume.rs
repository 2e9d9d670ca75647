//! `resume`.

use crate::cli::args::ResumeArgs;
use crate::cli::cmd::look::seen::seen_table;
use crate::cli::cmd::look::show::left_undone;
use crate::cli::cmd::run_rows::{place_of, word_by_file};
use crate::cli::cmd::worktrees;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, COMMAND, TextPage, or_dash, or_empty};
use crate::cli::progress::while_waiting;
use crate::engine::Verdict;
use crate::model::{SessionId, StateName, Timestamp, counted};
use crate::picture::reason_now;
use crate::runs::{self, Card, ClaimRequest, Context, ResumeReport, ResumeRequest, Sharing, TreeState, Who};

pub(super) fn run(cx: &Context, args: ResumeArgs, out: &mut Out) -> CliResult {
    let claim = if args.take_over {
        Some(ClaimRequest::TakeOver)
    } else if args.claim {
        Some(ClaimRequest::Claim)
    } else {
        None
    };
    let ResumeArgs { run, run_id, all, worktrees, session, .. } = args;
    let request = ResumeRequest { run: run.or(run_id), claim, all, session, worktrees, ..ResumeRequest::default() };
    let report = while_waiting("reading the runs", || runs::resume(cx, &request))?;
    if let Some(claim) = &report.claim
        && claim.changed
    {
        let session = claim.session.as_ref().map_or("a person", SessionId::as_str);
        out.committed(format!("the run is held by {session} in epoch {}", claim.epoch));
    }
    worktrees::hint(&report.worktrees, out);
    // The exit status tells a script how the run stands, unless it never got the answer.
    let exit = out.answer(&report, |page| {
        let shown = report.candidates.iter().take(SHOWN);
        // One that cannot be looked at is shown as its file says.
        let others = runs::cards_of(&cx.offline(), shown.map(|other| &other.run_id)).unwrap_or_default();
        fill(&report, &others, cx.now(), page);
    });
    Ok(exit.then(report.verdict.into()))
}

/// The highest number of changed files, and of other runs, that the page shows.
const SHOWN: usize = 10;
/// The highest number of units that the page shows.
const UNITS: usize = 20;

fn fill(report: &ResumeReport, others: &[Card], now: Timestamp, page: &mut TextPage) {
    let style = match report.verdict {
        Verdict::Continue | Verdict::Done => page::GOOD,
        Verdict::Reconcile | Verdict::NeedsHuman | Verdict::Held | Verdict::Drifted | Verdict::Rewound => page::CARE,
        Verdict::Corrupt | Verdict::Conflict | Verdict::Unreadable => page::BAD,
        Verdict::None => page::STRONG,
    };
    let mut run = or_empty(report.run_id.as_ref());
    if let Some(workflow) = &report.workflow {
        run += &format!("  {workflow}");
    }
    page.fit_to_columns();
    page.head(style, report.verdict.as_str(), &run);
    page.field("why", &reason_now(&report.reason, report.begun_at, now));
    page.each("phase", &report.phase);
    page.each("as of", report.sharing.as_ref().and_then(Sharing::shown_as_of));
    next(report, page);
    if let Some(claim) = &report.claim {
        let session = claim.session.as_ref().map_or("no session", SessionId::as_str);
        page.field("held by", &format!("{session}, epoch {}", claim.epoch));
    }
    work(report, page);
    surroundings(report, others, page);
    worktrees::show(&report.worktrees, &[], now, page);
}

fn next(report: &ResumeReport, page: &mut TextPage) {
    if let (Some(phase), Some(description)) = (&report.next.phase, &report.next.description) {
        page.field("next", &format!("{phase}: {description}"));
    } else if let (Some(phase), Verdict::Continue) = (&report.next.phase, report.verdict) {
        page.field("next", phase.as_str());
    }
    // The alternatives name the same states, each with its command.
    if report.next.choices.len() > 1 && report.next.alternatives.is_empty() {
        let choices: Vec<_> = report.next.choices.iter().map(StateName::as_str).collect();
        page.field("choices", &choices.join(", "));
    }
    if let Some(command) = &report.next.command {
        page.field(COMMAND, &format!("{command:#}"));
    }
    page.each("first", &report.next.first);
    for way in &report.next.alternatives {
        let by = if way.by == Some(Who::Person) { " (a person, in their own terminal)" } else { "" };
        page.prose(&format!("if {}{by}:", way.when));
        page.command(&format!("{:#}", way.command));
    }
}

fn work(report: &ResumeReport, page: &mut TextPage) {
    // The reason has the text of a single one.
    if report.questions.len() > 1 {
        page.line("  questions");
        let questions = report.questions.iter().rev();
        let rows =
            questions.map(|one| [one.step.to_string(), or_empty(one.unit.as_ref()), page::brief(&one.prompt).into()]);
        page.table(4, rows);
    }
    if !report.in_doubt.is_empty() {
        page.line("  in doubt");
        let rows = report.in_doubt.iter().map(|doubt| {
            let status = doubt.status.with_exit_code(doubt.exit_code);
            [or_dash(doubt.number), doubt.id.clone(), or_empty(doubt.phase.as_ref()), status]
        });
        page.table(4, rows);
    }
    if !report.left_undone.is_empty() {
        page.line("  left undone");
        page.table(4, report.left_undone.iter().map(left_undone));
    }
    seen_table("evidence", &report.evidence, page);
    units(report, page);
    if !report.completed.is_empty() {
        let (shown, all) = (report.completed.len(), report.completed_activities);
        if shown == all {
            page.line("  completed");
        } else {
            page.prose(&format!("completed (the last {shown} of {all}; --all shows every one)"));
        }
        let rows = report.completed.iter().map(|done| {
            let mut status = or_empty(done.status.map(|status| status.with_exit_code(done.exit_code)));
            status += &done.seen_or_claimed();
            [or_dash(done.number), done.id.clone(), or_empty(done.phase.as_ref()), status]
        });
        page.table(4, rows);
    }
}

fn units(report: &ResumeReport, page: &mut TextPage) {
    if report.units.is_empty() {
        return;
    }
    // What is not done comes first, since the rest may be cut off.
    let (done, open): (Vec<_>, Vec<_>) = report.units.iter().partition(|unit| unit.status.is_done());
    let rest = report.units.len().saturating_sub(UNITS);
    page.line("  units");
    let shown = open.into_iter().chain(done).take(UNITS);
    let rows = shown.map(|unit| {
        let said = or_empty(unit.open_message());
        [or_dash(unit.unit.as_ref()), unit.step.to_string(), unit.status.to_string(), said]
    });
    page.table(4, rows);
    if rest > 0 {
        page.line(&format!("    … and {rest} more; `flow show` has every one"));
    }
}

fn surroundings(report: &ResumeReport, others: &[Card], page: &mut TextPage) {
    let tree = &report.working_tree;
    match tree.state {
        TreeState::Clean => {}
        TreeState::Dirty => {
            let rest = tree.paths.len().saturating_sub(SHOWN);
            page.prose(&format!("uncommitted: {} outside flow's own files", counted(tree.paths.len(), "file")));
            for path in tree.paths.iter().take(SHOWN) {
                page.line(&format!("    {path}"));
            }
            if rest > 0 {
                page.line(&format!("    … and {rest} more"));
            }
        }
        TreeState::Unknown => {
            page.each("git", &tree.reason);
        }
    }
    page.each("note", &report.notes);
    if !report.candidates.is_empty() {
        page.line("  other open runs");
        let rows = report.candidates.iter().take(SHOWN).map(|other| {
            let card = others.iter().find(|card| card.run.head.run_id == other.run_id);
            let word = card.map_or_else(|| word_by_file(other), Card::word);
            [other.run_id.as_str(), other.workflow.as_str(), word, &place_of(other, card)].map(str::to_owned)
        });
        page.table(4, rows);
    }
    if !report.unreadable.is_empty() {
        page.line("  cannot be read");
        page.table(4, report.unreadable.iter().map(|run| [run.run_id.as_str(), run.reason.as_str()]));
    }
}
