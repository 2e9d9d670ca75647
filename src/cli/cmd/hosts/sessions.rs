//! `sessions`.

use crate::cli::cmd::run_rows::{beside, fitted, no_project};
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, FAINT, GOOD, TextPage, brief, or_empty};
use crate::model::{SessionId, Timestamp};
use crate::modes::{self, SessionsReport, ShownSession};
use crate::picture::{Shrink, age};
use crate::runs::{Context, HolderLife};

pub(in crate::cli::cmd) fn run(cx: &Context, out: &mut Out) -> CliResult {
    let report = modes::sessions(cx)?;
    let exit = out.answer(&report, |page| fill(&report, cx.now(), page));
    out.warnings(&report.warnings);
    if report.sessions.is_empty() && report.warnings.is_empty() {
        let none = no_project(cx).unwrap_or_else(|| "no session holds a run or has a mode".to_owned());
        out.aside(&format!("{none}\n"));
    }
    Ok(exit)
}

fn fill(report: &SessionsReport, now: Timestamp, page: &mut TextPage) {
    page.cut_long_values();
    for session in &report.sessions {
        heading(page, session);
        let mut rows = Vec::new();
        for run in &session.runs {
            rows.push([
                "run".to_owned(),
                brief(&run.title).into_owned(),
                run.name.clone(),
                beside(&run.title, run.head.workflow.as_str()),
                or_empty(run.head.phase.as_ref()),
                age(run.head.updated_at, now),
            ]);
        }
        for mode in &session.modes {
            let phase = mode.current_phase.clone().unwrap_or_default();
            let (name, state) = (mode.mode.to_string(), mode.state().to_owned());
            rows.push(["mode".to_owned(), name, state, String::new(), phase, String::new()]);
        }
        fitted(&rows, &STEPS, 2, page);
    }
}

/// How the columns are narrowed on a narrow terminal: the title, the workflow, the phase, then the name.
const STEPS: [(usize, Shrink); 5] =
    [(1, Shrink::End(24)), (3, Shrink::Whole), (4, Shrink::Whole), (1, Shrink::End(10)), (2, Shrink::Front(8))];

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
