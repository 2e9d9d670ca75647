//! `workflow list | show | check | graph | convert`: the available definitions.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, CatalogError, FoundWorkflow, Origin, definition_text, names_a_file, too_large};
use crate::disk::read_named;
use crate::machine::{
    Diagnostic, Form, Machine, Notation, Requirement, State, Transition, WrittenDefinition, compile_text, description,
    unsaid, write,
};
use crate::model::{Help, Kind, Problem, StateName, Suggestion, WorkflowId, limits};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};

/// The available workflows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowListReport {
    /// By id.
    pub workflows: Vec<WorkflowEntry>,
    /// Settings of the project that have no effect: in its configuration, in files that are not read, and of gates.
    pub warnings: Vec<String>,
}

/// An available workflow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowEntry {
    /// Its id.
    pub id: String,
    /// Its notation.
    pub notation: Notation,
    /// `shipped`, or the file.
    pub origin: String,
    /// Its purpose.
    pub description: Option<String>,
    /// Why it is not valid.
    pub error: Option<String>,
    /// Whether it is that of an agent which a skill calls: its file lies in a directory `agents`. Such an agent reports into
    /// the run of the skill.
    #[serde(rename = "agent")]
    pub is_agent: bool,
}

impl WorkflowEntry {
    /// Whether a person or an agent would begin a run of it.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.error.is_none() && !self.is_agent
    }
}

/// A workflow, or the problems of one that does not compile.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowReport {
    /// Its id.
    pub id: Option<WorkflowId>,
    /// Its notation.
    pub notation: Notation,
    /// `shipped`, or the file.
    pub origin: String,
    /// Its purpose.
    pub description: Option<String>,
    /// Its states in order.
    pub states: Vec<State>,
    /// The states in which runs begin.
    pub initial: Vec<StateName>,
    /// The states in which runs can end.
    pub terminal: Vec<StateName>,
    /// The states that only a person lets a run leave.
    pub gates: Vec<StateName>,
    /// What must have been seen to pass before a run leaves a state.
    pub requires: Vec<Requirement>,
    /// The transitions in order.
    pub transitions: Vec<Transition>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A workflow in another notation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowConvertReport {
    /// Its id.
    pub id: WorkflowId,
    /// The original notation.
    pub from: Notation,
    /// The new notation.
    pub to: Notation,
    /// The new definition.
    pub text: String,
    /// What the new notation cannot express.
    pub losses: Vec<String>,
}

/// Which definition to look at.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRequest {
    /// A file, or the name of a workflow.
    pub target: String,
    /// Types of states that the graph of a file may use besides those of the project.
    #[serde(default)]
    pub types: Vec<String>,
}

/// Which definition to convert, and to what.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowConvertRequest {
    /// A file, or the name of a workflow.
    pub target: String,
    /// The notation of the answer.
    pub to: Notation,
    /// Types of states that the graph of a file may use besides those of the project.
    #[serde(default)]
    pub types: Vec<String>,
}

/// Lists the available workflows by id.
///
/// # Errors
/// [`Error::Catalog`] when the project's definitions cannot be listed.
pub fn workflow_list(cx: &Context) -> Result<WorkflowListReport> {
    let project = cx.project_if_any()?;
    let catalog = cx.catalog(project.as_ref());
    let mut workflows = Vec::new();
    let mut warnings = catalog.warnings();
    warnings.extend(catalog.unread_files().into_iter().map(|file| file.message));
    for entry in catalog.list()? {
        warnings.extend(entry.unread_gates.iter().map(|gate| gate.in_workflow(&entry.id)));
        warnings.extend(entry.unread_diagram);
        workflows.push(WorkflowEntry {
            id: entry.id,
            notation: entry.notation,
            origin: origin(&entry.origin),
            description: entry.description,
            error: entry.error,
            is_agent: entry.is_agent,
        });
    }
    Ok(WorkflowListReport { workflows, warnings })
}

/// A workflow, and the text of its definition.
///
/// # Errors
/// [`Error::Catalog`] when it is unknown or does not compile.
pub fn workflow_show(cx: &Context, name: &str) -> Result<(WorkflowReport, String)> {
    let project = cx.project_if_any()?;
    let (catalog, root) = (cx.catalog(project.as_ref()), cx.root_of(project.as_ref())?);
    let found = Definition::from(cx.find_workflow(&root, &catalog, name)?);
    Ok((found.report(), found.text))
}

/// A workflow of the catalog, whether it compiles or not, with its machine if it does. `name` is never a file.
///
/// # Errors
/// [`Error::Catalog`] when no workflow has this name.
pub fn workflow_named(cx: &Context, name: &str) -> Result<(WorkflowReport, Option<Machine>)> {
    let project = cx.project_if_any()?;
    let found = named(&cx.catalog(project.as_ref()), name)?;
    Ok((found.report(), found.machine))
}

/// Compiles a definition. Errors in it are in the report; the text is for rendering them.
///
/// # Errors
/// `input_unreadable` when the file cannot be read, [`Error::Catalog`] when neither a file nor a workflow has
/// this name.
pub fn workflow_check(cx: &Context, request: &WorkflowRequest) -> Result<(WorkflowReport, String)> {
    let definition = definition(cx, &request.target, &request.types)?;
    Ok((definition.report(), definition.text))
}

/// Writes a file or a workflow in another notation.
///
/// # Errors
/// As [`workflow_machine`].
pub fn workflow_convert(cx: &Context, request: &WorkflowConvertRequest) -> Result<WorkflowConvertReport> {
    let to = request.to;
    let definition = definition(cx, &request.target, &request.types)?;
    let text = definition.text.clone();
    let description = description(&text);
    let unsaid = unsaid(definition.notation, &text, to);
    let machine = definition.machine()?;
    // It is in this notation already, and the original text says more than the machine. A Mermaid diagram may be inside
    // another document, so it is written again.
    if machine.notation() == to && to != Notation::Mermaid {
        let (id, from) = (machine.id().clone(), machine.notation());
        return Ok(WorkflowConvertReport { id, from, to, text, losses: Vec::new() });
    }
    let WrittenDefinition { text, mut losses } = write(&machine, to, description.as_deref());
    losses.extend(unsaid);
    Ok(WorkflowConvertReport { id: machine.id().clone(), from: machine.notation(), to, text, losses })
}

/// The machine of a file or a workflow. The graph in a file may use the state types `types` in addition to the
/// project's.
///
/// # Errors
/// As [`workflow_check`], and [`Error::Catalog`] when it does not compile.
pub fn workflow_machine(cx: &Context, target: &str, types: &[String]) -> Result<Machine> {
    definition(cx, target, types)?.machine()
}

/// The definition that `target` names: a file, or a workflow of the catalog.
fn definition(cx: &Context, target: &str, types: &[String]) -> Result<Definition> {
    let path = path_of(cx, target);
    let project = cx.project_if_any()?;
    let catalog = cx.catalog(project.as_ref());
    if names_a_file(target) && cx.disk.is_dir(&path) {
        return Err(directory(target));
    }
    // A file comes before a workflow of the same name, and a mistyped path is not looked up as one.
    if names_a_file(target) || cx.disk.is_file(&path) {
        let text = match text_of_file(cx, target, &path) {
            Err(Error::Catalog(CatalogError::Invalid { text, diagnostics, .. })) => {
                return Ok(Definition::invalid(target.to_owned(), text, diagnostics));
            }
            text => text?,
        };
        let form = Form::of_file(target, &text);
        let checked = compile_text(form, &text, &id_of_file(&path), &catalog.state_types()?.and(types));
        return Ok(Definition {
            machine: checked.machine,
            notation: form.notation(),
            origin: target.to_owned(),
            text,
            diagnostics: checked.diagnostics,
        });
    }
    named(&catalog, target)
}

fn text_of_file(cx: &Context, target: &str, path: &Path) -> Result<String> {
    match read_named(&*cx.disk, path, limits::WORKFLOW_BYTES) {
        Ok(bytes) => Ok(definition_text(Path::new(target), bytes)?),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(too_large(Path::new(target)).into()),
        Err(error) => Err(Error::input(target, &error)),
    }
}

/// The error for a directory in the place of a definition.
fn directory(target: &str) -> Error {
    Problem::new(Kind::Refused, "input_unreadable", format!("cannot read {target}: it is a directory"))
        .help(Help::from("name a file in it; ") + Suggestion::flow("validate").value(target) + " checks all of them")
        .into()
}

/// The definition of a workflow of the catalog.
fn named(catalog: &Catalog, name: &str) -> Result<Definition> {
    match catalog.find(name) {
        Ok(found) => Ok(found.into()),
        Err(CatalogError::Invalid { path, text, diagnostics }) => {
            Ok(Definition::invalid(path.display().to_string(), text, diagnostics))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a definition with this name is a file.
pub(crate) fn is_file(cx: &Context, target: &str) -> bool {
    cx.disk.is_file(&path_of(cx, target))
}

fn path_of(cx: &Context, target: &str) -> PathBuf {
    cx.env.cwd.clone().unwrap_or_default().join(target)
}

/// The definition that was read, valid or not.
struct Definition {
    machine: Option<Machine>,
    notation: Notation,
    origin: String,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

impl From<FoundWorkflow> for Definition {
    fn from(found: FoundWorkflow) -> Self {
        Self {
            notation: found.machine.notation(),
            origin: origin(&found.origin),
            machine: Some(found.machine),
            text: found.text,
            diagnostics: found.diagnostics,
        }
    }
}

impl Definition {
    /// One that does not compile.
    fn invalid(origin: String, text: String, diagnostics: Vec<Diagnostic>) -> Self {
        Self { machine: None, notation: Form::of_file(&origin, &text).notation(), origin, text, diagnostics }
    }

    fn report(&self) -> WorkflowReport {
        let machine = self.machine.as_ref();
        WorkflowReport {
            id: machine.map(Machine::id).cloned(),
            notation: self.notation,
            origin: self.origin.clone(),
            description: description(&self.text),
            states: machine.map(Machine::states).unwrap_or_default().to_vec(),
            initial: machine.map(Machine::initial).unwrap_or_default().to_vec(),
            terminal: machine.map(Machine::terminal).unwrap_or_default().to_vec(),
            gates: machine.map(Machine::gates).unwrap_or_default().to_vec(),
            requires: machine.map(Machine::requires).unwrap_or_default().to_vec(),
            transitions: machine.map(Machine::transitions).unwrap_or_default().to_vec(),
            diagnostics: self.diagnostics.clone(),
        }
    }

    /// Its machine; an error if it does not compile.
    fn machine(self) -> Result<Machine> {
        let Self { machine, origin, text, diagnostics, .. } = self;
        machine.ok_or_else(|| CatalogError::Invalid { path: origin.into(), text, diagnostics }.into())
    }
}

/// The id of the workflow in a file: the file's stem, or the directory of a `SKILL.md`.
pub(crate) fn id_of_file(path: &Path) -> String {
    let file = name_of(path);
    if file == "SKILL.md" {
        return path.parent().map(name_of).unwrap_or_default().to_owned();
    }
    // These endings first: the last dot alone would leave `.workflow` in the id.
    let stem = file.strip_suffix(".workflow.yaml").or_else(|| file.strip_suffix(".graph.yaml"));
    stem.or_else(|| Some(file.rsplit_once('.')?.0)).unwrap_or(file).to_owned()
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Shipped => "shipped".to_owned(),
        Origin::Project(path) => path.display().to_string(),
    }
}
