//! `workflow new`: a definition to begin with.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::disk::{DocumentError, update_document};
use crate::model::{Kind, Problem, Suggestion, WorkflowId, limits};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::here::named_here;
use crate::runs::workflow::workflow_list;

/// The workflow to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowNewRequest {
    /// Its name.
    pub id: WorkflowId,
}

/// The report of `workflow new`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowNewReport {
    /// The name of the workflow.
    pub id: WorkflowId,
    /// Its file, as the caller can name it.
    pub path: String,
    /// The definition of this name that no longer counts: `shipped`, or a file.
    pub instead_of: Option<String>,
}

/// There is a file of this name.
#[derive(Debug, Error)]
#[error("the file is there")]
struct IsThere;

/// Writes a workflow with three phases into the project, to be changed by a person.
///
/// # Errors
/// `workflow_exists` if the project has a file of this name, [`crate::runs::Error::Document`] if it cannot be written.
pub fn workflow_new(cx: &Context, request: &WorkflowNewRequest) -> Result<WorkflowNewReport> {
    let project = cx.project_or_init()?;
    let relative = PathBuf::from(format!("workflows/{}.workflow.yaml", request.id));
    let place = cx.document(project.path(), &relative, limits::WORKFLOW_BYTES, project.commit_wait()?);
    let known = workflow_list(cx)?.workflows.into_iter().find(|workflow| workflow.id == request.id.as_str());
    let instead_of = known.map(|workflow| workflow.origin);
    let path = named_here(&project, &Path::new(".flow").join(&relative));
    let written = update_document(&place, &mut |old| match old {
        Some(_) => Err(IsThere),
        None => Ok(text(&request.id)),
    });
    match written {
        Ok(_) => Ok(WorkflowNewReport { id: request.id.clone(), path, instead_of }),
        Err(DocumentError::Fault(fault)) => Err(fault.into()),
        Err(DocumentError::Edit { .. }) => {
            Err(Problem::new(Kind::Refused, "workflow_exists", format!("{path} is there already"))
                .help(Suggestion::flow("workflow show").value(&request.id))
                .into())
        }
    }
}

fn text(id: &WorkflowId) -> String {
    format!(
        "\
# A workflow of this project. `flow start {id}` begins a run of it.
apiVersion: flow.synapti.ai/v1
kind: FlowWorkflow
metadata:
  id: {id}
  description: Say in one sentence what a run of it achieves.
phases:
  - id: plan
    description: What is true when the plan is made.
  - id: work
    description: What is true when the work is done.
  - id: check
    description: What shows that it is done; from here a run can go back to the work, or end.
    next: [work]
    terminal: true
"
    )
}
