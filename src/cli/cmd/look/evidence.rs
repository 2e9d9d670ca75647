//! `evidence`.

use crate::cli::args::EvidenceArgs;
use crate::cli::cmd::look::seen::seen_table;
use crate::cli::cmd::meant::meant;
use crate::cli::cmd::run_rows::unreadable;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::TextPage;
use crate::runs::{self, Context, EvidenceItem, EvidenceKind, EvidenceOrigin, EvidenceReport, EvidenceRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: EvidenceArgs, out: &mut Out) -> CliResult {
    let EvidenceArgs { run, all, feature, session } = args;
    let is_of_one = !all && feature.is_none() && session.is_none();
    let run = if is_of_one { Some(meant(cx, run, out, false)?) } else { run.name() };
    let request = EvidenceRequest { run, all, feature, session };
    let report = runs::evidence(cx, &request)?;
    out.warnings(&report.notes);
    let exit = out.answer(&report, |page| fill(&report, is_of_one, page));
    if report.evidence.is_empty() {
        out.aside("nothing is named as evidence or registered as an artifact\n");
    }
    Ok(exit)
}

/// A table for each run; a single one was named, or chosen and told.
fn fill(report: &EvidenceReport, is_of_one: bool, page: &mut TextPage) {
    page.cut_long_values();
    for items in report.evidence.chunk_by(|a, b| a.run_id == b.run_id) {
        let Some(first) = items.first() else { continue };
        if !is_of_one {
            page.line(first.run_id.as_str());
        }
        page.table(if is_of_one { 0 } else { 2 }, items.iter().map(row));
    }
    seen_table("commands that flow ran", &report.seen, page);
    unreadable(&report.unreadable, page);
}

fn row(item: &EvidenceItem) -> [String; 4] {
    let origin = match &item.origin {
        EvidenceOrigin::Activity { number, id } => format!("{number} {id}"),
        EvidenceOrigin::Artifact { step: Some(step) } => format!("artifact of {step}"),
        EvidenceOrigin::Artifact { step: None } => "artifact".to_owned(),
        EvidenceOrigin::Directory => "no activity refers to it".to_owned(),
    };
    let state = match (item.kind, item.exists, item.bytes) {
        (_, Some(false), _) => "missing".to_owned(),
        (_, _, Some(bytes)) => format!("{bytes} bytes"),
        (EvidenceKind::File, Some(true), None) => "directory".to_owned(),
        (EvidenceKind::File, ..) => "outside of the project".to_owned(),
        (EvidenceKind::Link, ..) => "link".to_owned(),
        (EvidenceKind::Text, ..) => "text".to_owned(),
    };
    [item.reference.clone(), state, origin, item.label.clone().unwrap_or_default()]
}
