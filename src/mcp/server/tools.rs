//! The tools: one table of what each of them does, and with which verb.

use std::borrow::Cow;

use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value, json};

use crate::mcp::Offer;
use crate::mcp::server::call::{Answer, Call};
use crate::mcp::server::interview::{self, InterviewCall};
use crate::mcp::server::schema::{of, reduced};
use crate::mcp::server::state;
use crate::runs::{
    self, AdvanceRequest, EmitRequest, ListFilter, NextStatesRequest, RecordRequest, ResumeRequest, ShowRequest,
    StartRequest, StatusRequest,
};

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
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
}

/// A tool that is offered.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) row: Row,
    /// The schema of its arguments.
    pub(super) schema: Value,
}

/// How many of the tools are the core: those that most runs need.
const CORE: usize = 8;
/// What the names of most tools begin with.
const PREFIX: &str = "flow_";
/// Clients that put the name of the server before the names of its tools, so that their model would read `flow_flow_list`:
/// OpenCode, the Gemini CLI and Copilot, as they name themselves in `clientInfo`. Settings for Claude Code and Codex, which
/// do so too, name the tools by their full names.
const PREFIXING: [&str; 4] = ["opencode", "gemini-cli-mcp-client", "github-copilot-developer", "copilot"];
/// How many runs are listed unless the caller says how many.
const LISTED: usize = 50;

/// The tools over runs and interviews, the core first.
const ROWS: [Row; 11] = [
    Row {
        name: "flow_resume",
        title: "Resume",
        about: "Where work stands and the next safe action. Call it first.",
        writes: Writes::With("claim"),
        request: of::<ResumeRequest>,
        arguments: &["run_id", "claim", "all", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("resume", &["run_id"])],
        call: |call| call.verb(runs::resume),
    },
    Row {
        name: "flow_list",
        title: "List",
        about: "Runs, newest first: 50, or `limit`.",
        writes: Writes::Never,
        request: of::<ListFilter>,
        arguments: &["status", "workflow", "search", "session", "limit"],
        needs: &[],
        verbs: &[],
        commands: &[("list", &[])],
        call: |call| call.or("limit", LISTED).verb(runs::list),
    },
    Row {
        name: "flow_show",
        title: "Show",
        about: "One run: phases, activities, artifacts.",
        writes: Writes::Never,
        request: of::<ShowRequest>,
        arguments: &["run_id", "at", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("show", &["run_id"])],
        call: |call| call.verb(runs::show),
    },
    Row {
        name: "flow_next",
        title: "Next",
        about: "The next states of a run.",
        writes: Writes::Never,
        request: of::<NextStatesRequest>,
        arguments: &["run_id", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("next", &["run_id"])],
        call: |call| call.verb(runs::next_states),
    },
    Row {
        name: "flow_start",
        title: "Start",
        about: "Start a run, held by this session.",
        writes: Writes::Always,
        request: of::<StartRequest>,
        arguments: &["workflow", "goal", "issue", "pr", "phase", "run_id", "another", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("start", &["workflow"])],
        call: |call| call.verb(runs::start),
    },
    Row {
        name: "flow_record",
        title: "Record",
        about: "Record a piece of work.",
        writes: Writes::Always,
        request: of::<RecordRequest>,
        arguments: &[
            "run_id",
            "id",
            "phase",
            "type",
            "status",
            "name",
            "summary",
            "confidence",
            "evidence",
            "files",
            "exit_code",
            "advance",
            "settles",
            "skip_reason",
            "session",
            "epoch",
        ],
        needs: &[],
        verbs: &[],
        commands: &[("record-activity", &[])],
        call: |call| call.verb(runs::record_activity),
    },
    Row {
        name: "flow_emit",
        title: "Report",
        about: "Report on steps. A status_change has `data` {\"status\": \"running\"}.",
        writes: Writes::Always,
        request: of::<EmitRequest>,
        arguments: &["workflow", "run_id", "reports", "id", "name", "session", "epoch"],
        needs: &[],
        verbs: &[],
        commands: &[("emit", &[])],
        call: |call| call.verb(runs::emit),
    },
    Row {
        name: "flow_advance",
        title: "Advance",
        about: "Complete this state, go to the next.",
        writes: Writes::Always,
        request: of::<AdvanceRequest>,
        arguments: &["run_id", "to", "summary", "id", "session", "epoch"],
        needs: &[],
        verbs: &[],
        commands: &[("advance", &["run_id"])],
        call: |call| call.verb(runs::advance),
    },
    Row {
        name: "flow_block",
        title: "Block or unblock",
        about: "Mark a run as waiting for a person, or let it go on.",
        writes: Writes::Always,
        request: of::<StatusRequest>,
        arguments: &["run_id", "verb", "reason", "session", "epoch"],
        needs: &[],
        verbs: &["block", "unblock"],
        commands: &[("block", &["run_id"]), ("unblock", &["run_id"])],
        call: |call| call.verb(runs::change_status),
    },
    Row {
        name: "flow_finish",
        title: "End run",
        about: "End a run: its work is done, has failed, or is given up.",
        writes: Writes::Always,
        request: of::<StatusRequest>,
        arguments: &["run_id", "verb", "reason", "skip_reason", "session", "epoch"],
        needs: &[],
        verbs: &["complete", "fail", "cancel"],
        commands: &[("complete", &["run_id"]), ("fail", &["run_id"]), ("cancel", &["run_id"])],
        call: |call| call.verb(runs::change_status),
    },
    Row {
        name: "flow_interview",
        title: "Interview",
        about: "Questions to a person, whose answers are kept safe in the document that they produce. Ask one question at a \
                time, in the words of `next_question`.",
        writes: Writes::Always,
        request: of::<InterviewCall>,
        arguments: interview::ARGUMENTS,
        needs: &[],
        verbs: interview::VERBS,
        commands: &[
            ("interview start", &["document"]),
            ("interview next", &["document"]),
            ("interview answer", &["document", "answer"]),
            ("interview skip", &["document"]),
            ("interview status", &["document"]),
            ("interview finish", &["document"]),
        ],
        call: interview::call,
    },
];

/// The tools of an offer.
pub(super) fn offered(offer: Offer) -> Vec<Tool> {
    let mut tools: Vec<_> = ROWS.iter().chain(&state::ROWS).map(Tool::of).collect();
    if offer.core {
        tools.truncate(CORE);
    }
    match offer.read_only {
        true => tools.into_iter().filter_map(Tool::reading).collect(),
        false => tools,
    }
}

impl Tool {
    fn of(row: &Row) -> Self {
        let mut schema = reduced(&(row.request)(), row.arguments, row.verbs);
        if !row.needs.is_empty() {
            schema["required"] = json!(row.needs);
        }
        Self { row: *row, schema }
    }

    /// The tool as one that only reads. None if it always writes.
    fn reading(mut self) -> Option<Self> {
        match self.row.writes {
            Writes::Never => Some(self),
            Writes::Always => None,
            Writes::With(argument) => {
                self.schema["properties"].as_object_mut()?.shift_remove(argument);
                self.row.writes = Writes::Never;
                Some(self)
            }
        }
    }

    /// The names of its arguments.
    pub(super) fn arguments(&self) -> Vec<&str> {
        self.schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
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
        let schema = self.schema.as_object().cloned().unwrap_or_default();
        let hints = match self.row.writes {
            Writes::Never => ToolAnnotations::new().read_only(true),
            _ => ToolAnnotations::new().destructive(false).open_world(false),
        };
        let is_short = client.is_some_and(|client| PREFIXING.contains(&client));
        let name = if is_short { self.short_name() } else { self.row.name };
        let mut tool = rmcp::model::Tool::new(name, Cow::Borrowed(self.row.about), schema).with_annotations(hints);
        tool.title = Some(self.row.title.to_owned());
        tool
    }
}
