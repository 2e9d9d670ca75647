//! `init`: make `.flow`.

use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::report::InitReport;

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

impl Flow {
    /// Makes `.flow`, or completes the one that is there. Doing it again changes nothing.
    ///
    /// # Errors
    /// [`crate::ops::Error::Store`] when it cannot be made, or belongs to another program.
    pub fn init(&self) -> Result<InitReport> {
        let (_, done) = self.init_project()?;
        Ok(InitReport { path: done.path, created: done.created })
    }
}
