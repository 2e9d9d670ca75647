//! What the client can call, as far as calls and answers have to know it.

use serde_json::Value;

use crate::runs::field_names;

/// A tool that is offered: its name, its arguments, and the commands that it stands for.
#[derive(Debug, Clone)]
pub(super) struct ToolOffer {
    pub(super) name: &'static str,
    /// The values of the argument `verb`, the usual one first; empty if it has no such argument.
    pub(super) verbs: &'static [&'static str],
    /// The commands that it stands for, and which arguments their positional arguments are.
    pub(super) commands: &'static [(&'static str, &'static [&'static str])],
    /// The schema of the request that it takes.
    pub(super) request: fn() -> Value,
    /// The schema of its arguments.
    pub(super) schema: Value,
}

impl ToolOffer {
    /// The names of its arguments.
    pub(super) fn arguments(&self) -> Vec<&str> {
        field_names(&self.schema)
    }
}
