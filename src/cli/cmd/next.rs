//! `next` and `advance`.

use crate::cli::args::{AdvanceArgs, CallerArgs, RunArg};
use crate::cli::cmd::meant::meant;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{self, TextPage};
use crate::model::StateName;
use crate::runs::{self, AdvanceReport, AdvanceRequest, Context, NextStatesReport, NextStatesRequest};

pub(super) fn next(cx: &Context, run: RunArg, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, run, out, true)?);
    let report = runs::next_states(cx, &NextStatesRequest { run, session: None })?;
    Ok(out.answer(&report, |page| next_page(&report, page)))
}

fn next_page(report: &NextStatesReport, page: &mut TextPage) {
    page.fit_to_columns();
    let state = report.state.as_ref().map_or("before its first state", StateName::as_str);
    page.head(page::STRONG, state, &format!("{}  {}", report.run_id, report.workflow));
    let choices = report.choices.tt.iter().zip(&report.choices.td);
    page.table(2, choices.map(|(name, text)| [name.as_str(), text.as_str()]));
    if !report.choices.tt.is_empty() {
        if report.terminal {
            page.line("  the run can also end here");
        }
    } else if report.terminal {
        page.line("  nothing follows: the run ends here");
    } else if report.is_over {
        page.line("  nothing follows: the run is over");
    } else {
        page.line("  no definition says what follows");
    }
    page.each("note", &report.notes);
}

pub(super) fn advance(cx: &Context, args: AdvanceArgs, out: &mut Out) -> CliResult {
    let AdvanceArgs { run, to, summary, id, caller: CallerArgs { session, epoch } } = args;
    let request = AdvanceRequest { run: run.name(), to, summary, id, session, epoch };
    let report = runs::advance(cx, &request)?;
    out.committed(format!("{} is in {}, as event {} says", report.run_id, report.to, report.seq));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| advance_page(&report, page)))
}

fn advance_page(report: &AdvanceReport, page: &mut TextPage) {
    let phase = report.phase.as_ref().unwrap_or(&report.to);
    match report.run_status.as_str() {
        "completed" => page.line(&format!("{} is completed in {phase}", report.run_id)),
        _ => page.line(&format!("{} is in {phase}", report.run_id)),
    }
    for recorded in &report.activities {
        page.line(&format!("  recorded {} {} ({})", recorded.number, recorded.activity, recorded.status));
    }
}
