//! `export`.

use crate::cli::args::ExportArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::model::Seq;
use crate::picture;
use crate::runs::{self, Context, Error, ExportReport, RunRequest};

pub(super) fn run(cx: &Context, args: ExportArgs, out: &mut Out) -> Exit {
    let run = match super::meant(cx, args.run, out, false) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    let request = RunRequest { run, at: args.at.map(Seq), session: None };
    let format = args.format.into();
    let exported = runs::whole_run(cx, &request).and_then(|whole| {
        let run_id = whole.run.card.run.head.run_id.clone();
        match picture::export(&whole, format) {
            Some(text) => Ok((run_id, text)),
            None => Err(Error::NoDiagram { run: run_id }),
        }
    });
    let (run_id, text) = match exported {
        Ok(exported) => exported,
        Err(error) => return out.error(&error),
    };
    let report = |path, text| ExportReport { run_id, format, at: request.at, path, text };
    let Some(file) = args.output else {
        return if out.is_json() { out.json(&report(None, Some(text))) } else { out.plain(&text) };
    };
    match runs::save_export(cx, &file, &text) {
        Ok(path) => {
            let mut page = Page::default();
            page.line(&path.display().to_string());
            out.committed(format!("{} is written", path.display()));
            out.answer(&report(Some(path), None), || page.finish())
        }
        Err(error) => out.error(&error),
    }
}
