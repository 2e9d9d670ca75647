//! `workflow list | show | check | graph | convert`: the available definitions.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, CatalogError, Origin, definition_text};
use crate::disk::read_named;
use crate::machine::{
    Diagnostic, Form, Machine, Notation, State, Transition, Written, compile_text, description, unsaid, write,
};
use crate::model::{StateName, WorkflowId, limits};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};

/// The available workflows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowListReport {
    /// By id.
    pub workflows: Vec<WorkflowEntry>,
    /// What is odd about the project's configuration.
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
    /// Its states in order.
    pub states: Vec<State>,
    /// The states in which runs begin.
    pub initial: Vec<StateName>,
    /// The states in which runs can end.
    pub terminal: Vec<StateName>,
    /// The states that only a person lets a run leave.
    pub gates: Vec<StateName>,
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
    let project = project_if_any(cx)?;
    let catalog = cx.catalog(project.as_ref());
    let entries = catalog.list()?;
    let workflows = entries.into_iter().map(|entry| WorkflowEntry {
        id: entry.id,
        notation: entry.notation,
        origin: origin(&entry.origin),
        description: entry.description,
        error: entry.error,
    });
    Ok(WorkflowListReport { workflows: workflows.collect(), warnings: catalog.warnings() })
}

/// A workflow, and the text of its definition.
///
/// # Errors
/// [`Error::Catalog`] when it is unknown or does not compile.
pub fn workflow_show(cx: &Context, name: &str) -> Result<(WorkflowReport, String)> {
    let project = project_if_any(cx)?;
    let found = cx.catalog(project.as_ref()).find(name)?;
    Ok((report(Some(&found.machine), found.machine.notation(), origin(&found.origin), found.diagnostics), found.text))
}

/// A workflow of the catalog, whether it compiles or not, with its machine if it does. `name` is never a file.
///
/// # Errors
/// [`Error::Catalog`] when no workflow has this name.
pub fn workflow_named(cx: &Context, name: &str) -> Result<(WorkflowReport, Option<Machine>)> {
    let project = project_if_any(cx)?;
    let found = named(&cx.catalog(project.as_ref()), name)?;
    let report = report(found.machine.as_ref(), found.notation, found.origin, found.diagnostics);
    Ok((report, found.machine))
}

/// Compiles a definition. Errors in it are in the report; the text is for rendering them.
///
/// # Errors
/// [`Error::Input`] when the file cannot be read, [`Error::Catalog`] when neither a file nor a workflow has
/// this name.
pub fn workflow_check(cx: &Context, request: &WorkflowRequest) -> Result<(WorkflowReport, String)> {
    let Definition { machine, notation, origin, text, diagnostics } = definition(cx, &request.target, &request.types)?;
    Ok((report(machine.as_ref(), notation, origin, diagnostics), text))
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
    // another document, so it is written anew.
    if machine.notation() == to && to != Notation::Mermaid {
        let (id, from) = (machine.id().clone(), machine.notation());
        return Ok(WorkflowConvertReport { id, from, to, text, losses: Vec::new() });
    }
    let Written { text, mut losses } = write(&machine, to, description.as_deref());
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
    let project = project_if_any(cx)?;
    let catalog = cx.catalog(project.as_ref());
    if cx.disk.is_file(&path) {
        let text = match definition_text(Path::new(target), read_definition(cx, &path, target)?) {
            Err(CatalogError::Invalid { text, diagnostics, .. }) => {
                let (notation, origin) = (Form::of_file(target, &text).notation(), target.to_owned());
                return Ok(Definition { machine: None, notation, origin, text, diagnostics });
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
    if names_a_file(target) {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::Input { origin: target.to_owned(), source });
    }
    named(&catalog, target)
}

/// The definition of a workflow of the catalog.
fn named(catalog: &Catalog, name: &str) -> Result<Definition> {
    match catalog.find(name) {
        Ok(found) => Ok(Definition {
            notation: found.machine.notation(),
            origin: origin(&found.origin),
            machine: Some(found.machine),
            text: found.text,
            diagnostics: found.diagnostics,
        }),
        Err(CatalogError::Invalid { path, text, diagnostics }) => {
            let origin = path.display().to_string();
            let notation = Form::of_file(&origin, &text).notation();
            Ok(Definition { machine: None, notation, origin, text, diagnostics })
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a definition with this name is a file.
pub(crate) fn is_file(cx: &Context, target: &str) -> bool {
    cx.disk.is_file(&path_of(cx, target))
}

fn read_definition(cx: &Context, path: &Path, origin: &str) -> Result<Vec<u8>> {
    let fault = |source| Error::Input { origin: origin.to_owned(), source };
    read_named(&*cx.disk, path, limits::WORKFLOW_BYTES).map_err(fault)
}

fn path_of(cx: &Context, target: &str) -> PathBuf {
    cx.env.cwd.clone().unwrap_or_default().join(target)
}

fn project_if_any(cx: &Context) -> Result<Option<crate::store::Project>> {
    match cx.project() {
        Ok(project) => Ok(Some(project)),
        Err(Error::NoProject { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a definition with this name can only be a file.
pub(super) fn names_a_file(target: &str) -> bool {
    target.contains('/') || [".yaml", ".yml", ".md", ".mmd"].iter().any(|end| target.ends_with(end))
}

/// The definition that was read, valid or not.
struct Definition {
    machine: Option<Machine>,
    notation: Notation,
    origin: String,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

impl Definition {
    /// Its machine; an error if it does not compile.
    fn machine(self) -> Result<Machine> {
        let Self { machine, origin, text, diagnostics, .. } = self;
        machine.ok_or_else(|| CatalogError::Invalid { path: origin.into(), text, diagnostics }.into())
    }
}

/// The id of the workflow in a file: the file's stem, or the directory of a `SKILL.md`.
pub(crate) fn id_of_file(path: &Path) -> String {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let file = name(path);
    if file == "SKILL.md" {
        return path.parent().map(name).unwrap_or_default();
    }
    let suffixes = [".workflow.yaml", ".graph.yaml"];
    let stem = suffixes.iter().find_map(|suffix| file.strip_suffix(suffix));
    stem.or_else(|| file.rsplit_once('.').map(|(stem, _)| stem)).unwrap_or(&file).to_owned()
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Shipped => "shipped".to_owned(),
        Origin::Project(path) => path.display().to_string(),
    }
}

fn report(
    machine: Option<&Machine>,
    notation: Notation,
    origin: String,
    diagnostics: Vec<Diagnostic>,
) -> WorkflowReport {
    WorkflowReport {
        id: machine.map(|machine| machine.id().clone()),
        notation,
        origin,
        states: machine.map(|machine| machine.states().to_vec()).unwrap_or_default(),
        initial: machine.map(|machine| machine.initial().to_vec()).unwrap_or_default(),
        terminal: machine.map(|machine| machine.terminal().to_vec()).unwrap_or_default(),
        gates: machine.map(|machine| machine.gates().to_vec()).unwrap_or_default(),
        transitions: machine.map(|machine| machine.transitions().to_vec()).unwrap_or_default(),
        diagnostics,
    }
}
