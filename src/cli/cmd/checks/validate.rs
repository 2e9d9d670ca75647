//! `validate`.

use crate::cli::args::ValidateArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{Ended, Out};
use crate::cli::page::{TextPage, place};
use crate::doctor::{self, ValidateReport};
use crate::runs::Context;

pub(in crate::cli::cmd) fn run(cx: &Context, args: &ValidateArgs, out: &mut Out) -> Ended {
    let report = doctor::validate(cx, args.target.as_deref())?;
    Ok(match out.answer(&report, || page(&report)) {
        Exit::Done if !report.ok => Exit::Refused,
        exit => exit,
    })
}

fn page(report: &ValidateReport) -> String {
    let mut page = TextPage::default();
    for file in &report.files {
        for violation in &file.violations {
            let place = place(violation.line, violation.column);
            page.line(&format!("{}{place}: {}", file.path.display(), violation.message));
        }
    }
    let files = if report.checked == 1 { "1 file".to_owned() } else { format!("{} files", report.checked) };
    match report.files.len() {
        0 => page.line(&format!("{files} checked, all valid")),
        n => page.line(&format!("{files} checked, {n} not valid")),
    }
    page.finish()
}
