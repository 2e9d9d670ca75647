//! `validate`: everything that is wrong with a file, a run, or the whole project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::codec::{DocumentKind, LineFault, Node, RunText, Violation, parse, validate};
use crate::engine::{RunState, edited};
use crate::host;
use crate::machine::{Form, StateTypes, compile_text};
use crate::model::limits;
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::load::pinned;
use crate::report::{CheckedFile, ValidateReport, ViolationReport};
use crate::store::{LogScan, Project, layout};

impl Flow {
    /// Checks `target`: a file or directory, the name of a run, or without one the whole project.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`] when `target` is neither a path nor a run; [`Error::Input`] when it cannot be read. What is
    /// wrong with documents is in the report.
    pub fn validate(&self, target: Option<&str>) -> Result<ValidateReport> {
        let mut report = ValidateReport { ok: true, checked: 0, files: Vec::new() };
        let root = match target {
            None => {
                let project = self.project()?;
                check_tree(project.path(), &mut report)?;
                project.root().to_owned()
            }
            Some(target) => self.validate_target(target, &mut report)?,
        };
        for file in &mut report.files {
            if let Ok(relative) = file.path.strip_prefix(&root) {
                file.path = relative.to_owned();
            }
        }
        report.ok = report.files.is_empty();
        Ok(report)
    }

    fn validate_target(&self, target: &str, report: &mut ValidateReport) -> Result<PathBuf> {
        let cwd = self.env.cwd.clone().unwrap_or_default();
        let path = cwd.join(target);
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => check_tree(&path, report)?,
            Ok(_) => check_file(&path, report, true)?,
            Err(_) if target.contains('/') || target.ends_with(".yaml") || target.ends_with(".jsonl") => {
                let source = std::io::Error::from(std::io::ErrorKind::NotFound);
                return Err(Error::Input { origin: target.to_owned(), source });
            }
            Err(_) => {
                let project: Project = self.project()?;
                let run = self.run(&project, target)?;
                check_tree(run.path(), report)?;
                return Ok(project.root().to_owned());
            }
        }
        Ok(cwd)
    }
}

fn check_tree(root: &Path, report: &mut ValidateReport) -> Result<()> {
    let walk = WalkDir::new(root).follow_links(false).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|entry| entry.file_name() != layout::QUARANTINE) {
        let entry = entry.map_err(|error| Error::Input {
            origin: root.display().to_string(),
            source: error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop of directories")),
        })?;
        if entry.file_type().is_symlink() {
            let message = "a symbolic link; flow follows none below .flow".to_owned();
            add(report, entry.path(), "link", vec![Violation { pointer: String::new(), message, place: None }]);
        } else if entry.file_type().is_file() {
            check_file(entry.path(), report, false)?;
        }
    }
    Ok(())
}

fn add(report: &mut ValidateReport, path: &Path, kind: &'static str, violations: Vec<Violation>) {
    report.checked += 1;
    if violations.is_empty() {
        return;
    }
    let violations = violations.into_iter().map(|violation| ViolationReport {
        line: violation.place.map(|place| place.line),
        column: violation.place.map(|place| place.column),
        pointer: violation.pointer,
        message: violation.message,
    });
    report.files.push(CheckedFile { path: path.to_owned(), kind, violations: violations.collect() });
}

fn check_file(path: &Path, report: &mut ValidateReport, named: bool) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parent = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let (kind, label) = match name {
        layout::RUN_FILE => (Some(DocumentKind::Run), "run"),
        layout::LOG => (Some(DocumentKind::Event), "events"),
        _ if name.ends_with(".workflow.yaml") => (Some(DocumentKind::Workflow), "workflow"),
        _ if parent == layout::ACTIVITIES && name.ends_with(".yaml") && !name.starts_with('.') => {
            (Some(DocumentKind::Activity), "activity")
        }
        _ => (None, "document"),
    };
    if kind.is_none() && !named {
        return Ok(());
    }
    let text = match read(path, bound(kind)) {
        Ok(text) => text,
        Err(message) => {
            add(report, path, label, vec![Violation { pointer: String::new(), message, place: None }]);
            return Ok(());
        }
    };
    let violations = match kind {
        Some(DocumentKind::Run) => check_run(path, &text),
        Some(DocumentKind::Event) => check_log(text.as_bytes()),
        Some(DocumentKind::Workflow) => check_workflow(&text, name),
        kind => check_document(&text, kind),
    };
    add(report, path, label, violations);
    Ok(())
}

fn read(path: &Path, limit: usize) -> std::result::Result<String, String> {
    let bytes = host::read_plain(path, limit).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => error.to_string(),
        _ => format!("cannot be read: {error}"),
    })?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// The largest file of a kind that is looked into.
fn bound(kind: Option<DocumentKind>) -> usize {
    match kind {
        Some(DocumentKind::Event) => limits::LOG_BYTES,
        Some(DocumentKind::Workflow) => limits::WORKFLOW_BYTES,
        Some(DocumentKind::Activity) => limits::ACTIVITY_BYTES,
        // What a document of another name is, its text says.
        Some(DocumentKind::Run) | None => limits::RUN_BYTES,
    }
}

fn violation(place: Option<crate::codec::Place>, message: String) -> Violation {
    Violation { pointer: String::new(), message, place }
}

/// A document of a known kind, or one that says itself what it is.
fn check_document(text: &str, kind: Option<DocumentKind>) -> Vec<Violation> {
    let bound = if kind == Some(DocumentKind::Run) { limits::RUN_BYTES } else { limits::ACTIVITY_BYTES };
    if text.len() > bound {
        return vec![violation(None, format!("is larger than {bound} bytes"))];
    }
    let root = match parse(text) {
        Ok(root) => root,
        Err(error) => return vec![violation(error.place, error.message)],
    };
    let Some(kind) = kind.or_else(|| kind_of(&root)) else {
        let message = "`kind` must be FlowRun, FlowActivity or FlowWorkflow".to_owned();
        return vec![violation(Some(root.nearest("/kind").place), message)];
    };
    if kind == DocumentKind::Workflow {
        return check_workflow(text, "");
    }
    let mut violations = validate(kind, &root.to_value(), Some(&root));
    if kind == DocumentKind::Run
        && violations.is_empty()
        && let Err(error) = RunText::parse(text)
    {
        violations.push(violation(error.place(), error.to_string()));
    }
    violations
}

/// A `run.yaml`, also against its directory and the log beside it, as every command does that uses it.
fn check_run(path: &Path, text: &str) -> Vec<Violation> {
    let mut violations = check_document(text, Some(DocumentKind::Run));
    let Ok(run) = RunText::parse(text) else { return violations };
    let log = read(&path.with_file_name(layout::LOG), limits::LOG_BYTES).unwrap_or_default();
    let log = LogScan::parse(log.as_bytes());
    let folded = RunState::fold(log.events());
    let machine = pinned(log.events(), &mut Vec::new());
    let fault = folded.and_then(|folded| edited(&folded, run.document(), machine.as_ref()).err());
    if let (true, Some(fault)) = (violations.is_empty(), fault) {
        let place = parse(text).ok().map(|root| root.nearest(fault.pointer()).place);
        violations.push(Violation { pointer: fault.pointer().to_owned(), message: fault.to_string(), place });
    }
    violations
}

fn kind_of(root: &Node) -> Option<DocumentKind> {
    match root.get("kind")?.text()? {
        "FlowRun" => Some(DocumentKind::Run),
        "FlowActivity" => Some(DocumentKind::Activity),
        "FlowWorkflow" => Some(DocumentKind::Workflow),
        _ => None,
    }
}

fn check_workflow(text: &str, name: &str) -> Vec<Violation> {
    let id = name.strip_suffix(".workflow.yaml").unwrap_or("workflow");
    let checked = compile_text(Form::Phases, text, id, &StateTypes::default());
    let errors = checked.diagnostics.into_iter().filter(crate::machine::Diagnostic::is_error);
    errors
        .map(|error| {
            let help = error.help.map(|help| format!(" ({help})")).unwrap_or_default();
            violation(Some(error.place), format!("{}{help}", error.message))
        })
        .collect()
}

fn check_log(bytes: &[u8]) -> Vec<Violation> {
    let scan = LogScan::parse(bytes);
    let at = |line: usize| Some(crate::codec::Place { line, column: 1 });
    let damaged = scan.skipped.iter().filter(|line| line.fault != LineFault::Unsealed);
    let mut violations: Vec<_> = damaged.map(|line| violation(at(line.line), line.fault.as_str().to_owned())).collect();
    if scan.more_skipped > 0 {
        violations.push(violation(None, format!("{} more lines are no events", scan.more_skipped)));
    }
    for (from, to) in scan.gaps().into_iter().take(limits::VIOLATIONS) {
        let next = scan.lines.iter().find(|line| line.event.seq > to).map(|line| line.number);
        violations.push(violation(next.and_then(at), format!("events {from} to {to} are missing before this line")));
    }
    for seq in scan.doubles().into_iter().take(limits::VIOLATIONS) {
        let line = scan.lines.iter().rfind(|line| line.event.seq == seq).map(|line| line.number);
        violations.push(violation(line.and_then(at), format!("event {seq} is here more than once")));
    }
    violations
}
