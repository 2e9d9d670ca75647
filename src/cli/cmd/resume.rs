//! `resume`.

use crate::cli::args::ResumeArgs;
use crate::cli::cmd::show::left_undone;
use crate::cli::cmd::worktrees;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::{self, Page};
use crate::engine::Verdict;
use crate::model::{StateName, Timestamp};
use crate::picture::reason_now;
use crate::runs::{self, ClaimRequest, Context, ResumeReport, ResumeRequest, TreeState, Who};

pub(super) fn run(cx: &Context, args: ResumeArgs, out: &mut Out) -> Exit {
    let claim = match (args.claim, args.take_over) {
        (_, true) => Some(ClaimRequest::TakeOver),
        (true, false) => Some(ClaimRequest::Claim),
        (false, false) => None,
    };
    let request = ResumeRequest {
        run: args.run.or(args.run_id),
        claim,
        all: args.all,
        session: args.session,
        worktrees: args.worktrees,
    };
    match runs::resume(cx, &request) {
        Ok(report) => {
            if let Some(claim) = report.claim.as_ref().filter(|claim| claim.changed) {
                let session = claim.session.as_ref().map_or("a person", |session| session.as_str());
                out.committed(format!("the run is held by {session} in epoch {}", claim.epoch));
            }
            worktrees::hint(&report.worktrees, out);
            match out.answer(&report, || page(&report, cx.now())) {
                Exit::Done => report.verdict.into(),
                failed => failed,
            }
        }
        Err(error) => out.error(&error),
    }
}

/// The highest number of changed files, and of other runs, that the page shows.
const SHOWN: usize = 10;
/// The highest number of units that the page shows.
const UNITS: usize = 20;

fn page(report: &ResumeReport, now: Timestamp) -> String {
    let mut page = Page::default();
    let style = match report.verdict {
        Verdict::Continue | Verdict::Done => page::GOOD,
        Verdict::Reconcile | Verdict::NeedsHuman | Verdict::Held | Verdict::Drifted | Verdict::Rewound => page::CARE,
        Verdict::Corrupt | Verdict::Conflict | Verdict::Unreadable => page::BAD,
        Verdict::None => page::STRONG,
    };
    let run = report.run_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let workflow = report.workflow.as_ref().map(|name| format!("  {name}")).unwrap_or_default();
    page.head(style, report.verdict.as_str(), &format!("{run}{workflow}"));
    page.field("why", &reason_now(&report.reason, report.begun_at, now));
    if let Some(phase) = &report.phase {
        page.field("phase", phase.as_str());
    }
    next(report, &mut page);
    if let Some(claim) = &report.claim {
        let session = claim.session.as_ref().map_or("no session", |session| session.as_str());
        page.field("held by", &format!("{session}, epoch {}", claim.epoch));
    }
    work(report, &mut page);
    surroundings(report, &mut page);
    worktrees::show(&report.worktrees, &mut page);
    page.finish()
}

fn next(report: &ResumeReport, page: &mut Page) {
    if let (Some(phase), Some(description)) = (&report.next.phase, &report.next.description) {
        page.field("next", &format!("{phase}: {description}"));
    } else if let Some(phase) = report.next.phase.as_ref().filter(|_| report.verdict == Verdict::Continue) {
        page.field("next", phase.as_str());
    }
    if report.next.choices.len() > 1 && report.next.alternatives.is_empty() {
        let choices: Vec<_> = report.next.choices.iter().map(StateName::as_str).collect();
        page.field("choices", &choices.join(", "));
    }
    if let Some(command) = &report.next.command {
        page.field("command", &command.to_string());
    }
    for way in &report.next.alternatives {
        let by = if way.by == Some(Who::Person) { " (a person, in their own terminal)" } else { "" };
        page.line(&format!("  if {}{by}:", way.when));
        page.line(&format!("    {}", way.command));
    }
}

fn work(report: &ResumeReport, page: &mut Page) {
    if !report.in_doubt.is_empty() {
        page.line("  in doubt");
        let rows = report.in_doubt.iter().map(|doubt| {
            vec![
                doubt.number.map(|number| number.to_string()).unwrap_or_else(|| "-".to_owned()),
                doubt.id.clone(),
                doubt.phase.as_ref().map(ToString::to_string).unwrap_or_default(),
                doubt.status.with_exit_code(doubt.exit_code),
            ]
        });
        page.table(4, &rows.collect::<Vec<_>>());
    }
    if !report.left_undone.is_empty() {
        page.line("  left undone");
        page.table(4, &report.left_undone.iter().map(left_undone).collect::<Vec<_>>());
    }
    units(report, page);
    if !report.completed.is_empty() {
        let (shown, all) = (report.completed.len(), report.completed_activities);
        page.line(&match shown == all {
            true => "  completed".to_owned(),
            false => format!("  completed (the last {shown} of {all}; --all shows every one)"),
        });
        let rows = report.completed.iter().map(|done| {
            vec![
                done.number.map(|number| number.to_string()).unwrap_or_else(|| "-".to_owned()),
                done.id.clone(),
                done.phase.as_ref().map(ToString::to_string).unwrap_or_default(),
                done.status.map(|status| status.with_exit_code(done.exit_code)).unwrap_or_default(),
            ]
        });
        page.table(4, &rows.collect::<Vec<_>>());
    }
}

fn units(report: &ResumeReport, page: &mut Page) {
    if report.units.is_empty() {
        return;
    }
    // What is not done comes first, since the rest may be cut off.
    let (done, open): (Vec<_>, Vec<_>) = report.units.iter().partition(|unit| unit.status.is_done());
    let rest = report.units.len().saturating_sub(UNITS);
    page.line("  units");
    let rows = open.into_iter().chain(done).take(UNITS).map(|unit| {
        let name = unit.unit.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        vec![name, unit.step.to_string(), unit.status.to_string()]
    });
    page.table(4, &rows.collect::<Vec<_>>());
    if rest > 0 {
        page.line(&format!("    … and {rest} more; `flow show` has every one"));
    }
}

fn surroundings(report: &ResumeReport, page: &mut Page) {
    let tree = &report.working_tree;
    match tree.state {
        TreeState::Clean => {}
        TreeState::Dirty => {
            let rest = tree.paths.len().saturating_sub(SHOWN);
            page.line(&format!("  uncommitted: {} outside flow's own files", files(tree.paths.len())));
            tree.paths.iter().take(SHOWN).for_each(|path| page.line(&format!("    {path}")));
            if rest > 0 {
                page.line(&format!("    … and {rest} more"));
            }
        }
        TreeState::Unknown => {
            if let Some(reason) = &tree.reason {
                page.field("git", reason);
            }
        }
    }
    report.notes.iter().for_each(|note| page.field("note", note));
    if !report.candidates.is_empty() {
        page.line("  other open runs");
        let rows = report.candidates.iter().take(SHOWN).map(|other| {
            vec![
                other.run_id.to_string(),
                other.workflow.to_string(),
                other.word().to_owned(),
                other.phase.as_ref().map(ToString::to_string).unwrap_or_default(),
            ]
        });
        page.table(4, &rows.collect::<Vec<_>>());
    }
    if !report.unreadable.is_empty() {
        page.line("  cannot be read");
        let rows = report.unreadable.iter().map(|run| vec![run.run_id.clone(), run.reason.clone()]);
        page.table(4, &rows.collect::<Vec<_>>());
    }
}

fn files(n: usize) -> String {
    if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
}
