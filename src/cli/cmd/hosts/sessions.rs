//! `sessions`.

use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, FAINT, GOOD, TextPage};
use crate::model::{SessionId, StateName, Timestamp};
use crate::modes::{self, SessionsReport, ShownSession};
use crate::picture::age;
use crate::runs::{Context, HolderLife};

pub(in crate::cli::cmd) fn run(cx: &Context, out: &mut Out) -> CliResult {
    let report = modes::sessions(cx)?;
    let exit = out.answer(&report, |page| fill(&report, cx.now(), page));
    out.warnings(&report.warnings);
    if report.sessions.is_empty() && report.warnings.is_empty() {
        out.aside("no session holds a run or has a mode\n");
    }
    Ok(exit)
}

fn fill(report: &SessionsReport, now: Timestamp, page: &mut TextPage) {
    page.cut_long_values();
    for session in &report.sessions {
        heading(page, session);
        let runs = session.runs.iter().map(|run| {
            let phase = run.head.phase.as_ref().map_or("", StateName::as_str);
            let at = age(run.head.updated_at, now);
            ["run".to_owned(), run.head.run_id.to_string(), run.head.workflow.to_string(), phase.to_owned(), at]
        });
        let modes = session.modes.iter().map(|mode| {
            let phase = mode.current_phase.clone().unwrap_or_default();
            ["mode".to_owned(), mode.mode.to_string(), mode.state().to_owned(), phase, String::new()]
        });
        page.table(2, runs.chain(modes));
    }
}

fn heading(page: &mut TextPage, session: &ShownSession) {
    let name = session.session.as_ref().map_or("everyone", SessionId::as_str);
    match session.life {
        Some(HolderLife::Alive) => page.head(GOOD, name, "alive"),
        Some(HolderLife::Dead) => page.head(CARE, name, "its process is gone"),
        Some(HolderLife::Ended) => page.head(FAINT, name, "it ended"),
        Some(HolderLife::Unknown) => page.head(FAINT, name, "process state unknown"),
        None => page.head(FAINT, name, "the root scope"),
    }
}
