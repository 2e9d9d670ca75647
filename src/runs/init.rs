//! `init`: make `.flow`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::runs::context::Context;
use crate::runs::error::Result;

/// The schemas that `init` puts into `.flow/schemas/`, for editors.
pub(crate) const SCHEMAS: [(&str, &str); 7] = [
    ("run.schema.json", include_str!("../../schemas/v1/run.schema.json")),
    ("activity.schema.json", include_str!("../../schemas/v1/activity.schema.json")),
    ("workflow.schema.json", include_str!("../../schemas/v1/workflow.schema.json")),
    ("modes.schema.json", include_str!("../../schemas/v1/modes.schema.json")),
    ("interview.schema.json", include_str!("../../schemas/v1/interview.schema.json")),
    ("interview-reply.schema.json", include_str!("../../schemas/v1/interview-reply.schema.json")),
    ("event.schema.json", include_str!("../../schemas/v1/event.schema.json")),
];

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InitReport {
    /// The `.flow` directory.
    pub path: PathBuf,
    /// What was created in it; empty when everything was there.
    pub created: Vec<String>,
}

/// Makes `.flow`, or completes the one that is there. Doing it again changes nothing.
///
/// # Errors
/// [`crate::runs::Error::Store`] when it cannot be made, or belongs to another program.
pub fn init(cx: &Context) -> Result<InitReport> {
    let (_, done) = cx.init_project()?;
    Ok(InitReport { path: done.path, created: done.created })
}
