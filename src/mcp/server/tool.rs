//! One tool: what its row in the table says, and how it is listed to clients.

use std::borrow::Cow;

use rmcp::model::ToolAnnotations;
use serde_json::{Value, json};

use crate::mcp::server::call::{Answer, Call};
use crate::mcp::server::offer::ToolOffer;
use crate::mcp::server::schema::reduced;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolRow {
    /// The tool's name.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// What it does, in words for a model.
    pub(super) about: &'static str,
    /// Whether a call can change anything.
    pub(super) writes: Writes,
    /// The schema of the request that it takes.
    pub(super) request: fn() -> Value,
    /// The fields of the request that are its arguments.
    pub(super) arguments: &'static [&'static str],
    /// Arguments that it needs although the request does not.
    pub(super) needs: &'static [&'static str],
    /// The values of the argument `verb`, the usual one first; empty if it has no such argument.
    pub(super) verbs: &'static [&'static str],
    /// The commands that it stands for, and which arguments their positional arguments are.
    pub(super) commands: &'static [(&'static str, &'static [&'static str])],
    /// Calls the verb.
    pub(super) call: fn(Call<'_>) -> Answer,
}

/// Whether a call of a tool can change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// It only reads.
    Never,
    /// It may write.
    Always,
    /// It writes with this argument.
    With(&'static str),
    /// It runs commands, which may do anything.
    Anything,
}

/// A tool that is offered.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) row: ToolRow,
    pub(super) offer: ToolOffer,
}

/// What the names of most tools begin with.
const PREFIX: &str = "flow_";
/// Clients that put the name of the server before the names of its tools, so that their model would read `flow_flow_list`:
/// OpenCode, the Gemini CLI and Copilot, as they name themselves in `clientInfo`. Settings for Claude Code and Codex, which
/// do so too, name the tools by their full names.
const PREFIXING: [&str; 4] = ["opencode", "gemini-cli-mcp-client", "github-copilot-developer", "copilot"];
impl Tool {
    pub(super) fn of(row: &ToolRow) -> Self {
        // Every byte of it is context, and the verb checks the request anyway.
        let mut schema = reduced(&(row.request)(), row.arguments, row.verbs);
        if !row.needs.is_empty() {
            schema["required"] = json!(row.needs);
        }
        let ToolRow { name, verbs, commands, request, .. } = *row;
        Self { row: *row, offer: ToolOffer { name, verbs, commands, request, schema } }
    }

    /// The tool as one that only reads. None if it always writes.
    pub(super) fn reading(mut self) -> Option<Self> {
        match self.row.writes {
            Writes::Never => Some(self),
            Writes::Always | Writes::Anything => None,
            Writes::With(argument) => {
                // Without this argument the verb only reads.
                self.offer.schema["properties"].as_object_mut()?.shift_remove(argument);
                self.row.writes = Writes::Never;
                Some(self)
            }
        }
    }

    /// Whether a client means this tool: every name that some client is told is answered.
    pub(super) fn is_called(&self, name: &str) -> bool {
        [self.row.name, self.short_name()].contains(&name)
    }

    fn short_name(&self) -> &'static str {
        self.row.name.strip_prefix(PREFIX).unwrap_or(self.row.name)
    }

    /// As `rmcp` lists it to the client of this name. Codex calls a tool unattended if it is read-only, or neither destructive
    /// nor open to the world.
    pub(super) fn listed(&self, client: Option<&str>) -> rmcp::model::Tool {
        let schema = self.offer.schema.as_object().cloned().unwrap_or_default();
        let hints = match self.row.writes {
            Writes::Never => ToolAnnotations::new().read_only(true),
            Writes::Anything => ToolAnnotations::new().destructive(true).open_world(true),
            Writes::Always | Writes::With(_) => ToolAnnotations::new().destructive(false).open_world(false),
        };
        let name = match client {
            Some(client) if PREFIXING.contains(&client) => self.short_name(),
            _ => self.row.name,
        };
        let mut tool = rmcp::model::Tool::new(name, Cow::Borrowed(self.row.about), schema).with_annotations(hints);
        tool.title = Some(self.row.title.to_owned());
        tool
    }
}
