//! `validate`.

use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{TextPage, place};
use crate::doctor::{self, ValidateReport};
use crate::model::counted;
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, target: Option<&str>, out: &mut Out) -> CliResult {
    let report = doctor::validate(cx, target)?;
    let status = if report.ok { Exit::Done } else { Exit::Refused };
    Ok(out.answer(&report, |page| fill(&report, page)).then(status))
}

fn fill(report: &ValidateReport, page: &mut TextPage) {
    for file in &report.files {
        for violation in &file.violations {
            let place = place(violation.line, violation.column);
            page.line(&format!("{}{place}: {}", file.path.display(), violation.message));
        }
    }
    let files = counted(report.checked, "file");
    match report.files.len() {
        0 if report.checked == 0 => page.line("no file was checked: nothing here is a document of flow"),
        0 => page.line(&format!("{files} checked, all valid")),
        n => page.line(&format!("{files} checked, {n} not valid")),
    }
}
