//! `workflow list | show | check`: the definitions that can be used.

use std::path::Path;

use crate::catalog::{CatalogError, Origin};
use crate::host;
use crate::machine::{Diagnostic, Machine, Notation, compile_text};
use crate::model::limits;
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::report::{WorkflowEntry, WorkflowListReport, WorkflowReport};

impl Flow {
    /// The known workflows, by id.
    ///
    /// # Errors
    /// [`Error::Catalog`] when the project's definitions cannot be listed.
    pub fn workflow_list(&self) -> Result<WorkflowListReport> {
        let project = self.project_if_any()?;
        let entries = self.catalog(project.as_ref()).list()?;
        let workflows = entries.into_iter().map(|entry| WorkflowEntry {
            id: entry.id,
            notation: entry.notation,
            origin: origin(&entry.origin),
            description: entry.description,
            error: entry.error,
        });
        Ok(WorkflowListReport { workflows: workflows.collect() })
    }

    /// One workflow, with its text.
    ///
    /// # Errors
    /// [`Error::Catalog`] when it is unknown or does not compile.
    pub fn workflow_show(&self, name: &str) -> Result<(WorkflowReport, String)> {
        let project = self.project_if_any()?;
        let found = self.catalog(project.as_ref()).find(name)?;
        Ok((
            report(Some(&found.machine), found.machine.notation(), origin(&found.origin), found.diagnostics),
            found.text,
        ))
    }

    /// Compiles a file, or a workflow by its name. Errors in the definition are in the report; the text is for
    /// rendering them.
    ///
    /// # Errors
    /// [`Error::Input`] when the file cannot be read, [`Error::Catalog`] when there is neither such a file nor such a
    /// workflow.
    pub fn workflow_check(&self, target: &str) -> Result<(WorkflowReport, String)> {
        let path = self.env.cwd.clone().unwrap_or_default().join(target);
        if path.is_file() {
            let text = read(&path, target)?;
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let id = name.strip_suffix(".workflow.yaml").or_else(|| name.strip_suffix(".yaml")).unwrap_or(name);
            let checked = compile_text(Notation::Phases, &text, id);
            let origin = target.to_owned();
            return Ok((report(checked.machine.as_ref(), Notation::Phases, origin, checked.diagnostics), text));
        }
        if target.contains('/') {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::Input { origin: target.to_owned(), source });
        }
        match self.workflow_show(target) {
            Err(Error::Catalog(CatalogError::Invalid { path, text, diagnostics })) => {
                Ok((report(None, Notation::Phases, path.display().to_string(), diagnostics), text))
            }
            shown => shown,
        }
    }

    fn project_if_any(&self) -> Result<Option<crate::store::Project>> {
        match self.project() {
            Ok(project) => Ok(Some(project)),
            Err(Error::NoProject { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn read(path: &Path, origin: &str) -> Result<String> {
    let fault = |source| Error::Input { origin: origin.to_owned(), source };
    let bytes = host::read_named(path, limits::WORKFLOW_BYTES).map_err(fault)?;
    String::from_utf8(bytes).map_err(|error| fault(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))
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
        transitions: machine.map(|machine| machine.transitions().to_vec()).unwrap_or_default(),
        diagnostics,
    }
}
