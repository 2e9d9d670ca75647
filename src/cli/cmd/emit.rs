//! `emit`. It answers with JSON even without `--json`: its callers are programs (rp1).

use std::path::Path;

use crate::cli::args::{CallerArgs, EmitArgs};
use crate::cli::out::{CliResult, Out};
use crate::runs::{self, Batch, Context, EmitRequest, Error, ReportRequest, Source, parse_batch, read_source};

pub(super) fn run(cx: &Context, args: EmitArgs, out: &mut Out) -> CliResult {
    // Programs that know rp1 look for this word.
    out.error_word = "Error";
    let request = request(cx, args)?;
    let report = runs::emit(cx, &request)?;
    out.committed(format!("the report is in the log as event {}", report.data.seq));
    out.warnings(&report.data.warnings);
    Ok(out.json(&report))
}

/// The parser does not require them, since callers of rp1 know these words.
fn needed(given: Option<String>, option: &str) -> Result<String, Error> {
    given.ok_or_else(|| Error::Usage(format!("{option} is required")))
}

fn request(cx: &Context, args: EmitArgs) -> Result<EmitRequest, Error> {
    let EmitArgs { workflow, run_id, kind, step, unit, data, batch, id, seen, name, local, caller } = args;
    let CallerArgs { session, epoch } = caller;
    let Batch { reports, places } = match &batch {
        Some(batch) if batch == "-" => in_document(&Source::of_standard_input()?)?,
        // No file has such a name, as its callers would write it.
        Some(batch) if batch.trim_start().starts_with(['[', '{']) => parse_batch(batch, None)?,
        Some(batch) => in_document(&read_source(cx, Path::new(batch))?)?,
        None => {
            let kind = needed(kind, "--type")?;
            let report = ReportRequest::from_texts(Some(kind), step, unit, data.as_deref())?;
            Batch { reports: vec![report], places: None }
        }
    };
    let run = match run_id {
        Some(run) => run,
        None => needed(runs::run_in_environment(cx)?.map(|run| run.to_string()), "--run-id")?,
    };
    let workflow = needed(workflow, "--workflow")?;
    Ok(EmitRequest { workflow, run, reports, places, id, seen, name, session, epoch, local })
}

fn in_document(source: &Source) -> Result<Batch, Error> {
    parse_batch(&source.text, Some(&source.origin))
}
