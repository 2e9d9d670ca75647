//! `init`: creates `.flow`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::SCHEMAS;
use crate::runs::context::Context;
use crate::runs::error::Result;

/// What `init` is to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InitRequest {
    /// Also the JSON Schemas of the documents, for editors.
    pub schemas: bool,
}

/// The report of `init`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InitReport {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// What was created in it; empty if nothing was missing.
    pub created: Vec<String>,
}

/// Creates `.flow`, or what is missing in it. Idempotent.
///
/// # Errors
/// [`crate::runs::Error::Store`] when it cannot be created, or belongs to another program.
pub fn init(cx: &Context, request: &InitRequest) -> Result<InitReport> {
    let (_, done) = cx.init_project(request.schemas)?;
    Ok(InitReport { path: done.path, created: done.created })
}

/// Removes the project's `.flow` if nothing is in it but what [`init`] puts there. Whether it did.
///
/// # Errors
/// As [`init`], and if something cannot be removed.
pub(crate) fn remove_unused(cx: &Context) -> Result<bool> {
    let project = cx.project()?;
    Ok(project.remove_unused(&*cx.disk, &SCHEMAS)?)
}
