//! `record-activity`.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::cli::args::RecordArgs;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::cli::page::Page;
use crate::model::limits;
use crate::runs::RecordReport;
use crate::runs::{Advance, Error, Flow, RecordRequest, Source};

pub(super) fn run(flow: &Flow, args: RecordArgs, out: &mut Out) -> Exit {
    let request = match request(args) {
        Ok(request) => request,
        Err(error) => return out.error(&error),
    };
    match flow.record_activity(&request) {
        Ok(report) => {
            out.committed(format!("the activity is recorded as event {} ({})", report.seq, report.number));
            out.warnings(&report.warnings);
            out.answer(&report, || page(&report))
        }
        Err(error) => out.error(&error),
    }
}

fn page(report: &RecordReport) -> String {
    let mut page = Page::default();
    let RecordReport { number, activity, status, run_id, phase, completed_activities, .. } = report;
    let verb = if report.repeated { "recorded before:" } else { "recorded" };
    page.line(&format!(
        "{verb} {number} {activity} ({status}); {run_id} is in {phase}, {completed_activities} completed"
    ));
    page.finish()
}

fn request(args: RecordArgs) -> Result<RecordRequest, Error> {
    let says_something = args.activity_file.is_some()
        || args.id.is_some()
        || args.phase.is_some()
        || args.name.is_some()
        || args.summary.is_some()
        || args.status.is_some();
    if !says_something {
        let message = "there is nothing to record: give --activity-file FILE, or at least --id, --phase, --name, \
                       --summary or --status";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(RecordRequest {
        run: args.run_id,
        source: args.activity_file.as_deref().map(source).transpose()?,
        id: args.id,
        phase: args.phase,
        kind: args.kind.map(Into::into),
        status: args.status.map(Into::into),
        name: args.name,
        summary: args.summary,
        confidence: args.confidence.map(Into::into),
        evidence: args.evidence,
        files: args.file,
        exit_code: args.exit_code,
        started_at: args.started_at,
        advance: args.advance.map(|phase| phase.map_or(Advance::Next, Advance::To)),
        skip_reason: args.skip_reason,
        session: args.caller.session,
        epoch: args.caller.epoch,
    })
}

pub(super) fn source(path: &Path) -> Result<Source, Error> {
    let stdin = path == Path::new("-");
    let origin = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let fault = |source| Error::Input { origin: origin.clone(), source };
    let bytes = match stdin {
        true => read(io::stdin().lock()),
        false => open(path).and_then(read),
    };
    let text = String::from_utf8(bytes.map_err(fault)?)
        .map_err(|_| fault(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text")))?;
    Ok(Source { origin, text })
}

/// Opens a file. A FIFO could keep the command waiting for ever, unless a shell put it there (`<(…)`).
fn open(path: &Path) -> io::Result<File> {
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a directory"));
    }
    if meta.file_type().is_fifo() && !path.starts_with("/dev") && !path.starts_with("/proc") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a FIFO; use `-` and a redirection"));
    }
    if meta.file_type().is_socket() || meta.file_type().is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    File::open(path)
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::ACTIVITY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limits::ACTIVITY_BYTES {
        let message = format!("larger than {} bytes", limits::ACTIVITY_BYTES);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
