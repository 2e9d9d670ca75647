//! `export`.

use crate::cli::args::ExportArgs;
use crate::cli::cmd::meant::meant;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::TextPage;
use crate::model::Seq;
use crate::picture;
use crate::runs::{self, Context, Error, ExportReport, RunRequest};

pub(super) fn run(cx: &Context, args: ExportArgs, out: &mut Out) -> Exit {
    let run = match meant(cx, args.run, out, false) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    let request = RunRequest { run, at: args.at.map(Seq), session: None };
    let format = args.format.into();
    let whole = match runs::whole_run(cx, &request) {
        Ok(whole) => whole,
        Err(error) => return out.error(&error),
    };
    let run_id = whole.run.card.run.head.run_id.clone();
    let Some(text) = picture::export(&whole, format) else { return out.error(&Error::NoDiagram { run: run_id }) };
    let mut report = ExportReport { run_id, format, at: request.at, path: None, text: None };
    let Some(file) = args.output else {
        // As it is, for the programs that read the format.
        if !out.is_json() {
            return out.plain(&text);
        }
        report.text = Some(text);
        return out.json(&report);
    };
    match runs::save_export(cx, &file, &text) {
        Ok(path) => {
            let mut page = TextPage::default();
            page.line(&path.display().to_string());
            out.committed(format!("{} is written", path.display()));
            report.path = Some(path);
            out.answer(&report, || page.finish())
        }
        Err(error) => out.error(&error),
    }
}
