//! `verify`.

use crate::cli::args::RunArg;
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::{Ended, Out};
use crate::cli::page::{BAD, GOOD, TextPage, place};
use crate::doctor::{self, VerifyReport, VerifyRequest};
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, run: RunArg, out: &mut Out) -> Ended {
    let run = meant(cx, run, out, true)?;
    let report = doctor::verify(cx, &VerifyRequest { run, session: None })?;
    let status = if report.ok { Exit::Done } else { Exit::Damaged };
    Ok(out.answer(&report, |page| fill(&report, page)).then(status))
}

fn fill(report: &VerifyReport, page: &mut TextPage) {
    let (style, word) = if report.ok { (GOOD, "ok") } else { (BAD, "differs") };
    page.head(style, word, report.run_id.as_str());
    let checked = &report.checked;
    page.field("log", &format!("{} sealed events", checked.events));
    let versions =
        format!("{} bytes; {} versions have their digest in the log", checked.run_bytes, checked.run_digests);
    page.field("run.yaml", &versions);
    page.field("activities", &format!("{} files", checked.activity_files));
    for difference in &report.differences {
        let line = place(difference.line, None);
        page.line(&format!("{}{line}: {}", difference.path.display(), difference.why));
        page.line(&format!("  expected  {}", difference.expected));
        page.line(&format!("  found     {}", difference.found));
    }
    page.each("note", &report.notes);
}
