//! `export`.

use crate::cli::args::ExportArgs;
use crate::cli::cmd::meant::meant;
use crate::cli::out::{CliResult, Out};
use crate::model::{Help, Kind, Problem, Seq, Suggestion};
use crate::picture;
use crate::runs::{self, Context, ExportFormat, ExportReport, RunRequest};

pub(in crate::cli::cmd) fn run(cx: &Context, args: ExportArgs, out: &mut Out) -> CliResult {
    let run = Some(meant(cx, args.run, out, false)?);
    let request = RunRequest { run, at: args.at.map(Seq), session: None };
    let format = args.format.into();
    let (whole, notes) = runs::whole_run(cx, &request)?;
    out.warnings(&notes);
    let run_id = whole.run.card.run.head.run_id.clone();
    if format == ExportFormat::InToto && whole.run.card.verdict.is_damage() {
        let message = format!("run {run_id}: {}; its log proves nothing", whole.run.card.reason);
        let help = Suggestion::flow("resume").value(run_id) + " shows what to do";
        return Err(Problem::new(Kind::Damaged, "log_damaged", message).help(help).into());
    }
    let Some(text) = picture::export(&whole, format) else {
        let message = format!("run {run_id} has no state machine, so it has no diagram");
        let help = Suggestion::flow("export --format gantt").value(run_id) + " shows its steps over time";
        return Err(Problem::new(Kind::Refused, "no_diagram", message).help(help).into());
    };
    if text.is_empty() {
        let message =
            format!("run {run_id} has no command that flow saw end on files it knows, so there is nothing to state");
        let help = Help::from("what ") + Suggestion::flow("exec") + " runs is stated";
        return Err(Problem::new(Kind::Refused, "nothing_seen", message).help(help).into());
    }
    let mut report = ExportReport { run_id, format, at: request.at, path: None, made: None, text: None };
    let Some(file) = args.output else {
        // As it is, for the programs that read the format.
        if !out.is_json() {
            return Ok(out.plain(&text));
        }
        report.text = Some(text);
        return Ok(out.json(&report));
    };
    let (path, made) = runs::save_export(cx, &file, &text)?;
    out.committed(format!("{} is written", path.display()));
    report.path = Some(path.clone());
    if let Some(made) = &made {
        out.aside(&format!("made {}\n", made.display()));
    }
    report.made = made;
    Ok(out.answer(&report, |page| page.lines(&path.display().to_string())))
}
