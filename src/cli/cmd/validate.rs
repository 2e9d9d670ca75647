//! `validate`.

use crate::cli::args::ValidateArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::doctor::{self, ValidateReport};
use crate::runs::Context;

pub(super) fn run(cx: &Context, args: &ValidateArgs, out: &mut Out) -> Exit {
    match doctor::validate(cx, args.target.as_deref()) {
        Ok(report) => match out.answer(&report, || page(&report)) {
            Exit::Done if !report.ok => Exit::Refused,
            exit => exit,
        },
        Err(error) => out.error(&error),
    }
}

fn page(report: &ValidateReport) -> String {
    let mut page = Page::default();
    for file in &report.files {
        for violation in &file.violations {
            let line = violation.line.map(|line| format!(":{line}")).unwrap_or_default();
            let column = violation.column.map(|column| format!(":{column}")).unwrap_or_default();
            page.line(&format!("{}{line}{column}: {}", file.path.display(), violation.message));
        }
    }
    let files = |n: usize| {
        if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
    };
    match report.files.len() {
        0 => page.line(&format!("{} checked, all valid", files(report.checked))),
        n => page.line(&format!("{} checked, {n} not valid", files(report.checked))),
    }
    page.finish()
}
