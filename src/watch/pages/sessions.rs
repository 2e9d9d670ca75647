//! The sessions that hold runs or have modes.

use crate::model::{SessionId, StateName, Timestamp};
use crate::modes::{SessionsReport, ShownSession};
use crate::picture::{age, look_of_group};
use crate::runs::HolderLife;
use crate::watch::line::{Look, PageLine};

/// The sessions with their runs, which can be opened, and their modes.
pub(in crate::watch) fn sessions(report: &SessionsReport, now: Timestamp) -> Vec<PageLine> {
    let mut lines = Vec::new();
    for session in &report.sessions {
        lines.push(PageLine::new());
        lines.push(heading(session));
        for run in &session.runs {
            let (symbol, class) = look_of_group(run.group);
            let phase = run.head.phase.as_ref().map_or("", StateName::as_str);
            lines.push(
                PageLine::new()
                    .plain("  ")
                    .with(Look::of_class(class), format!("{symbol} "))
                    .with(Look::Strong, &run.title)
                    .plain(format!("  {}  {}  {phase}", run.name, run.head.workflow))
                    .dim(format!("  {}", age(run.head.updated_at, now)))
                    .about(run.head.run_id.clone()),
            );
        }
        for mode in &session.modes {
            let phase = mode.current_phase.as_deref().unwrap_or_default();
            lines.push(PageLine::new().plain(format!("    {}  {}  ", mode.mode, mode.state())).dim(phase));
        }
    }
    if report.sessions.is_empty() {
        lines.extend([PageLine::new(), PageLine::new().dim("  no session holds a run or has a mode")]);
    }
    for warning in &report.warnings {
        lines.push(PageLine::new().with(Look::Need, format!("▲ {warning}")));
    }
    lines
}

fn heading(session: &ShownSession) -> PageLine {
    let name = session.session.as_ref().map_or("everyone", SessionId::as_str);
    let (look, words) = match session.life {
        Some(HolderLife::Alive) => (Look::Work, "● alive"),
        Some(HolderLife::Dead) => (Look::Bad, "✕ its process is gone"),
        Some(HolderLife::Ended) => (Look::Dim, "◦ it ended"),
        Some(HolderLife::Unknown) => (Look::Dim, "◦ process state unknown"),
        None => (Look::Dim, "◦ the root scope"),
    };
    PageLine::new().with(Look::Strong, name).plain("  ").with(look, words)
}
