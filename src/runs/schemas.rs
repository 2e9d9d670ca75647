//! The schemas that `init` puts into `.flow/schemas/`, for editors.

/// The name of each file and its text.
pub(crate) const SCHEMAS: [(&str, &str); 7] = [
    ("run.schema.json", include_str!("../../schemas/v1/run.schema.json")),
    ("activity.schema.json", include_str!("../../schemas/v1/activity.schema.json")),
    ("workflow.schema.json", include_str!("../../schemas/v1/workflow.schema.json")),
    ("modes.schema.json", include_str!("../../schemas/v1/modes.schema.json")),
    ("interview.schema.json", include_str!("../../schemas/v1/interview.schema.json")),
    ("interview-reply.schema.json", include_str!("../../schemas/v1/interview-reply.schema.json")),
    ("event.schema.json", include_str!("../../schemas/v1/event.schema.json")),
];
