//! `demo`.

use crate::cli::args::DemoArgs;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{FAINT, STRONG, TextPage, clean};
use crate::demo::{DemoLine, DemoReport, DemoRequest, demo};
use crate::model::quoted;
use crate::runs::Context;

pub(super) fn run(cx: &Context, args: DemoArgs, out: &mut Out) -> CliResult {
    let request = DemoRequest { dir: args.dir, board: args.board };
    let is_json = out.is_json();
    let report = demo(cx, &request, &mut |told| {
        if !is_json {
            out.plain(&line(told));
        }
    })?;
    Ok(out.answer(&report, |page| end(&report, page)))
}

fn line(told: DemoLine<'_>) -> String {
    match told {
        DemoLine::Heading(text) => format!("\n{STRONG}{text}{STRONG:#}\n\n"),
        DemoLine::Command(text) => format!("{FAINT}{}{FAINT:#}\n", clean(text)),
        DemoLine::Output(text) => format!("{}\n", clean(text)),
    }
}

/// Where the files are, and how to look at them.
fn end(report: &DemoReport, page: &mut TextPage) {
    let place = quoted(&report.path.to_string_lossy());
    page.raw("");
    page.field("files", &format!("{place}/.flow/runs"));
    for (label, command) in ["look", "or"].iter().zip(&report.look) {
        page.field(label, &command.to_string());
    }
    page.field("remove", &format!("rm -rf {place}"));
}
