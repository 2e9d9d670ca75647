//! `validate`: everything that is wrong with a file, a run, or the whole project.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::catalog::{AGENTS, CONFIG_FILE, Catalog, CatalogError, OwnDefinition, SKILL_FILE};
use crate::codec::{self, DocumentKind, Node, Place, RunText, Violation, parse, parse_run};
use crate::disk::{Disk, FileType, Links, read_named, read_plain};
use crate::doctor::lines::{last_line_with, line_after};
use crate::engine::{Fault, read_run, reconcile};
use crate::interviews::{SCRIPT_SUFFIX, read_script};
use crate::machine::{CompiledText, Diagnostic, Form, StateTypes, compile_text};
use crate::model::{RunId, Seq, limits};
use crate::modes::{POLICY_FILE, read_policy};
use crate::runs::open::fault::has_other_run;
use crate::runs::open::name::{Purpose, open_run};
use crate::runs::workflow::id_of_file;
use crate::runs::write::record::with_any_run;
use crate::runs::{Context, Error, OpenedProject, Result};
use crate::store::LogScan;
use crate::store::local::layout;
use crate::store::local::lines::LogFault;
use crate::store::local::log::bytes_at;

/// The report of `validate`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ValidateReport {
    /// Whether everything is valid.
    pub ok: bool,
    /// How many files were checked.
    pub checked: usize,
    /// The files with violations.
    pub files: Vec<CheckedFile>,
}

/// A file, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CheckedFile {
    /// The file.
    pub path: PathBuf,
    /// What it was checked as: `run`, `activity`, `workflow`, `events`, `configuration`.
    pub kind: &'static str,
    /// All violations.
    pub violations: Vec<ViolationReport>,
}

/// One violation of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ViolationReport {
    /// Line, from 1, when it is known.
    pub line: Option<usize>,
    /// Column in characters, from 1, when it is known.
    pub column: Option<usize>,
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Checks `target`: a file or directory, the name of a run, or without one the whole project.
///
/// # Errors
/// [`Error::NoSuchRun`] when `target` is neither a path nor a run; `input_unreadable` when it cannot be read. What is
/// wrong with documents is in the report.
pub fn validate(cx: &Context, target: Option<&str>) -> Result<ValidateReport> {
    let project = cx.project();
    let catalog = cx.catalog(project.as_ref().ok());
    let types = catalog.state_types().unwrap_or_default();
    let report = ValidateReport { ok: true, checked: 0, files: Vec::new() };
    let mut checker = Checker { disk: Arc::clone(&cx.disk), catalog, types, report, seen: BTreeSet::new() };
    let root = match target {
        None => {
            let project = project?;
            checker.definitions(None);
            checker.tree(project.path())?;
            project.root().to_owned()
        }
        Some(target) => validate_target(cx, target, project, &mut checker)?,
    };
    let mut report = checker.report;
    report.files.sort_by(|one, other| one.path.cmp(&other.path));
    for file in &mut report.files {
        if let Ok(relative) = file.path.strip_prefix(&root) {
            file.path = relative.to_owned();
        }
    }
    report.ok = report.files.is_empty();
    Ok(report)
}

fn validate_target(
    cx: &Context,
    target: &str,
    project: Result<OpenedProject>,
    checker: &mut Checker,
) -> Result<PathBuf> {
    // Joined with a directory, an empty name is the directory.
    if target.is_empty() {
        return Err(Error::Usage("the name of the file or run is empty".to_owned()));
    }
    let cwd = cx.env.cwd.clone().unwrap_or_default();
    let path = cwd.join(target);
    match cx.disk.look(&path, Links::Refuse) {
        Ok(stat) if stat.kind == FileType::Directory => checker.directory(&path)?,
        Ok(_) if !is_below_flow(&path) && cx.disk.is_dir(&path) => checker.directory(&path)?,
        Ok(_) => checker.file(&path, true),
        Err(_) if target.contains('/') || target.ends_with(".yaml") || target.ends_with(".jsonl") => {
            let source = ErrorKind::NotFound.into();
            return Err(Error::input(target, &source));
        }
        Err(_) => {
            let project = project?;
            let run = open_run(&project, target, Purpose::Read)?;
            checker.tree(project.with_files_of(run.id())?.run(run.id())?.path())?;
            return Ok(project.root().to_owned());
        }
    }
    Ok(cwd)
}

/// The checks so far, the workflows of the project, and the types of states that graphs may use.
struct Checker {
    disk: Arc<dyn Disk>,
    catalog: Catalog,
    types: StateTypes,
    report: ValidateReport,
    /// The definitions that were checked as the catalog uses them.
    seen: BTreeSet<PathBuf>,
}

/// Whether a path leads into a `.flow`, where no link is followed.
fn is_below_flow(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == layout::FLOW)
}

/// What kind of document a file is, by its name and place; `None` if its text has to tell.
fn kind_of(path: &Path) -> Option<DocumentKind> {
    let name = name_of(path);
    let dir = path.parent().unwrap_or(path);
    let parent = name_of(dir);
    let is_own = parent == layout::WORKFLOWS && dir.parent().is_some_and(|above| name_of(above) == layout::FLOW);
    Some(match name {
        layout::RUN_FILE => DocumentKind::Run,
        layout::LOG => DocumentKind::Event,
        POLICY_FILE if parent == layout::FLOW => DocumentKind::Modes,
        // Hidden files are those of editors, and temporary files of writers.
        _ if name.starts_with('.') => return None,
        _ if name.ends_with(SCRIPT_SUFFIX) => DocumentKind::Interview,
        _ if parent == layout::ACTIVITIES && name.ends_with(".yaml") => DocumentKind::Activity,
        _ if ends_in(name, &[".workflow.yaml", ".graph.yaml", ".mmd", ".mermaid"]) => DocumentKind::Workflow,
        SKILL_FILE => DocumentKind::Workflow,
        _ if parent == AGENTS && name.ends_with(".md") => DocumentKind::Workflow,
        _ if is_own && ends_in(name, &[".yaml", ".md"]) => DocumentKind::Workflow,
        _ => return None,
    })
}

/// A document that says by its `kind` that it is one of flow's, and not a workflow. Any other one is judged as a workflow.
fn claims_a_kind(text: &str) -> Option<Node> {
    let root = parse(text).ok()?;
    let kind = root.get("kind").and_then(Node::text)?;
    (kind.starts_with("Flow") && kind != "FlowWorkflow").then_some(root)
}

/// What a file is called in the report, and the largest one that is read, in bytes.
fn label_and_bound(kind: Option<DocumentKind>) -> (&'static str, usize) {
    match kind {
        Some(DocumentKind::Run) => ("run", limits::RUN_BYTES),
        Some(DocumentKind::Event) => ("events", limits::LOG_BYTES),
        Some(DocumentKind::Activity) => ("activity", limits::ACTIVITY_BYTES),
        Some(DocumentKind::Workflow) => ("workflow", limits::WORKFLOW_BYTES),
        Some(DocumentKind::Modes) => ("modes", limits::WORKFLOW_BYTES),
        Some(DocumentKind::Interview) => ("interview", limits::WORKFLOW_BYTES),
        Some(DocumentKind::InterviewReply) => ("reply", limits::RUN_BYTES),
        // The kind of an unknown document is in its text; until then the bound of a run applies.
        None => ("document", limits::RUN_BYTES),
    }
}

/// The name of a file; empty if it is not UTF-8, which no name that flow knows is.
fn name_of(path: &Path) -> &str {
    path.file_name().unwrap_or_default().to_str().unwrap_or_default()
}

fn ends_in(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

impl Checker {
    /// Checks the file at `path` if it is `config.yaml` of a project, which has no schema; says whether it is.
    fn is_configuration(&mut self, path: &Path) -> bool {
        let Some(dir) = path.parent() else { return false };
        if name_of(path) != CONFIG_FILE || name_of(dir) != layout::FLOW {
            return false;
        }
        let catalog = Catalog::new(Arc::clone(&self.disk), Some(dir.to_owned()));
        let violations = match catalog.named_commands() {
            Err(CatalogError::Config { message, .. }) => vec![violation(None, message)],
            _ => Vec::new(),
        };
        self.add(path, "configuration", violations);
        true
    }

    /// Checks the definitions that the project uses, all or those below `dir`, with the rules of the catalog.
    fn definitions(&mut self, dir: Option<&Path>) {
        let own = match self.catalog.own_definitions() {
            Ok(own) => own,
            Err(error) => match &error {
                CatalogError::Refused { path, .. } | CatalogError::Io { path, .. } => {
                    vec![OwnDefinition { path: path.clone(), error: Some(error), unread_gates: Vec::new() }]
                }
                // That of the configuration is reported where its file is checked.
                _ => return,
            },
        };
        for OwnDefinition { path, error, .. } in own {
            if dir.is_some_and(|dir| !path.starts_with(dir)) {
                continue;
            }
            let violations = match error {
                None => Vec::new(),
                Some(CatalogError::Invalid { diagnostics, .. }) => violations_of(diagnostics),
                Some(error) => vec![violation(None, error.in_list())],
            };
            self.add(&path, "workflow", violations);
            self.seen.insert(path);
        }
    }

    /// Checks a directory that the caller named.
    fn directory(&mut self, dir: &Path) -> Result<()> {
        self.definitions(Some(dir));
        self.tree(dir)
    }

    fn tree(&mut self, root: &Path) -> Result<()> {
        // What is in quarantine is known to be wrong.
        let files = match self.disk.walk(root, layout::QUARANTINE.as_ref()) {
            Ok(files) => files,
            Err(errno) => return Err(Error::input(root.display(), &errno.into())),
        };
        for (path, kind) in files {
            if self.seen.contains(&path) {
                continue;
            }
            if kind == FileType::Symlink && is_below_flow(&path) {
                let message = "a symbolic link; flow follows none below .flow".to_owned();
                self.add(&path, "link", vec![violation(None, message)]);
            } else if kind == FileType::RegularFile {
                self.file(&path, false);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, kind: &'static str, violations: Vec<Violation>) {
        self.report.checked += 1;
        if violations.is_empty() {
            return;
        }
        let mut reports = Vec::new();
        for Violation { place, pointer, message } in violations {
            let (line, column) = (place.map(|place| place.line), place.map(|place| place.column));
            reports.push(ViolationReport { line, column, pointer, message });
        }
        self.report.files.push(CheckedFile { path: path.to_owned(), kind, violations: reports });
    }

    /// Checks a file. With `named`, the caller named this file, so it is checked even if its name says nothing.
    fn file(&mut self, path: &Path, named: bool) {
        let mut kind = kind_of(path);
        if kind.is_none() && (self.is_configuration(path) || !named) {
            return;
        }
        let (label, bound) = label_and_bound(kind);
        let text = match kind {
            Some(DocumentKind::Event) => read_log(&*self.disk, path),
            // The caller may name a link to the file; of those in .flow, none is followed.
            _ if named && !is_below_flow(path) => text_of(read_named(&*self.disk, path, bound)),
            _ => text_of(read_plain(&*self.disk, path, bound)),
        };
        let text = match text {
            Ok(text) => text,
            Err(message) => return self.add(path, label, vec![violation(None, message)]),
        };
        let mut claimed = None;
        if kind.is_none() {
            claimed = claims_a_kind(&text);
            kind = if claimed.is_some() { None } else { Some(DocumentKind::Workflow) };
        }
        // As in every catalog: a document beside the definitions is not one of them.
        if !named && kind == Some(DocumentKind::Workflow) && self.compiled(path, &text).is_absent() {
            return;
        }
        let violations = match kind {
            Some(DocumentKind::Run) => check_run(&*self.disk, path, &text),
            Some(DocumentKind::Event) => check_log(text.as_bytes()),
            Some(DocumentKind::Workflow) => self.definition(path, &text),
            Some(DocumentKind::Modes) => read_policy(&text).err().unwrap_or_default(),
            Some(DocumentKind::Interview) => read_script(&text).err().unwrap_or_default(),
            Some(kind) => check_document(&text, kind),
            None => claimed.map(|root| check_claimed(&root, &text)).unwrap_or_default(),
        };
        self.add(path, label_and_bound(kind).0, violations);
    }

    fn compiled(&self, path: &Path, text: &str) -> CompiledText {
        compile_text(Form::of_file(name_of(path), text), text, &id_of_file(path), &self.types)
    }

    fn definition(&self, path: &Path, text: &str) -> Vec<Violation> {
        violations_of(self.compiled(path, text).diagnostics)
    }
}

fn violations_of(diagnostics: Vec<Diagnostic>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for found in diagnostics {
        // A warning does not make a workflow invalid.
        if !found.is_error() {
            continue;
        }
        let message = match found.help {
            Some(help) => format!("{} ({help})", found.message),
            None => found.message,
        };
        violations.push(violation(Some(found.place), message));
    }
    violations
}

/// Checks a document whose `kind` says what it is.
fn check_claimed(root: &Node, text: &str) -> Vec<Violation> {
    match root.get("kind").and_then(Node::text) {
        Some("FlowRun") => check_document(text, DocumentKind::Run),
        // One that is about to be recorded: the command that records it knows the run.
        Some("FlowActivity") => check_completed(text, DocumentKind::Activity, with_any_run),
        Some("FlowModes") => read_policy(text).err().unwrap_or_default(),
        Some("FlowInterview") => read_script(text).err().unwrap_or_default(),
        _ => {
            let message = "`kind` must be FlowRun, FlowActivity, FlowWorkflow, FlowModes or FlowInterview".to_owned();
            vec![violation(Some(root.nearest("/kind").place), message)]
        }
    }
}

/// The text of a file that was read.
fn text_of(read: std::io::Result<Vec<u8>>) -> std::result::Result<String, String> {
    let bytes = read.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => error.to_string(),
        _ => format!("cannot be read: {error}"),
    })?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// The text of a log. Stops where too much in a row is not an event.
fn read_log(disk: &dyn Disk, path: &Path) -> std::result::Result<String, String> {
    let bytes = bytes_at(disk, path).map_err(|fault| match fault {
        LogFault::Io(error) => format!("cannot be read: {error}"),
        LogFault::WithoutEvent { much, .. } => format!("has {much} without an event, so it is not read any further"),
        LogFault::LfsPointer => "is a pointer of Git LFS".to_owned(),
    })?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

fn violation(place: Option<Place>, message: String) -> Violation {
    Violation { pointer: String::new(), message, place }
}

/// Checks a run or an activity.
fn check_document(text: &str, kind: DocumentKind) -> Vec<Violation> {
    check_completed(text, kind, |document| document)
}

/// As [`check_document`], with what flow itself adds to the document.
fn check_completed(text: &str, kind: DocumentKind, complete: fn(Value) -> Value) -> Vec<Violation> {
    let bound = if kind == DocumentKind::Run { limits::RUN_BYTES } else { limits::ACTIVITY_BYTES };
    if text.len() > bound {
        return vec![violation(None, format!("is larger than {bound} bytes"))];
    }
    let parsed = if kind == DocumentKind::Run { parse_run(text) } else { parse(text) };
    let root = match parsed {
        Ok(root) => root,
        Err(error) => return vec![violation(error.place, error.message)],
    };
    let mut violations = codec::validate(kind, &complete(root.to_value()), Some(&root));
    if kind == DocumentKind::Run
        && violations.is_empty()
        && let Err(error) = RunText::parse(text)
    {
        violations.push(violation(error.place(), error.to_string()));
    }
    violations
}

/// The run whose directory has the file at `path`.
fn run_of(path: &Path) -> Option<RunId> {
    let dir = path.parent()?;
    let is_of_runs = dir.parent().is_some_and(|above| name_of(above) == layout::RUNS);
    if is_of_runs { RunId::new(name_of(dir)).ok() } else { None }
}

/// Checks a `run.yaml`, also against its directory and the log beside it, as every command does that uses it.
fn check_run(disk: &dyn Disk, path: &Path, text: &str) -> Vec<Violation> {
    let mut violations = check_document(text, DocumentKind::Run);
    let Ok(run) = RunText::parse(text) else { return violations };
    let log = read_log(disk, &path.with_file_name(layout::LOG)).unwrap_or_default();
    let log = LogScan::parse(log.as_bytes());
    if !violations.is_empty() {
        return violations;
    }
    // Elsewhere than in a directory of runs, a file may have any run.
    let own = run.document().id.clone();
    let id = run_of(path).unwrap_or_else(|| own.clone());
    for fault in reconcile(&id, read_run(&id, Some(text.to_owned())), &log, Seq(0)).faults {
        // The faults of the log are reported for its own file.
        match fault {
            Fault::Edit { fault, place } => {
                violations.push(Violation { pointer: fault.pointer().to_owned(), message: fault.to_string(), place });
            }
            Fault::OtherRun(of) if of == own => {
                violations.push(violation(None, format!("the directory `{id}`{}", has_other_run(&of))));
            }
            Fault::OtherRun(of) => {
                violations
                    .push(violation(None, format!("metadata.id is `{own}`, and the log beside it is that of `{of}`")));
            }
            _ => {}
        }
    }
    violations
}

fn check_log(bytes: &[u8]) -> Vec<Violation> {
    let scan = LogScan::parse(bytes);
    let mut violations = Vec::new();
    for damaged in scan.damaged() {
        violations.push(violation(begin_of(Some(damaged.line)), damaged.fault.to_string()));
    }
    if scan.more_skipped > 0 {
        violations.push(violation(None, format!("{} more lines are not events", scan.more_skipped)));
    }
    for (from, to) in scan.gaps().into_iter().take(limits::VIOLATIONS) {
        let message = format!("events {from} to {to} are missing before this line");
        violations.push(violation(begin_of(line_after(&scan, to)), message));
    }
    for seq in scan.doubles().into_iter().take(limits::VIOLATIONS) {
        let message = format!("event {seq} is here more than once");
        violations.push(violation(begin_of(last_line_with(&scan, seq)), message));
    }
    violations
}

/// The place where a line begins.
fn begin_of(line: Option<usize>) -> Option<Place> {
    Some(Place { line: line?, column: 1 })
}
