//! The tools: one table of what each of them does, and with which verb.

use crate::mcp::Offer;
use crate::mcp::server::answer::{commands_of_resume, no_commands};
use crate::mcp::server::exec;
use crate::mcp::server::interview::{self, InterviewCall};
use crate::mcp::server::state;
use crate::mcp::server::tool::{Tool, ToolRow, Writes};
use crate::runs::request_schema as of;
use crate::runs::{
    self, AdvanceRequest, EmitRequest, ListFilter, NextStatesRequest, RecordRequest, ResumeRequest, ShowRequest,
    StartRequest, StatusRequest,
};

/// How many of the tools are the core: those that most runs need.
const CORE: usize = 8;
/// How many runs are listed unless the caller says how many.
const LISTED: usize = 50;

/// The tools over runs and interviews, the core first.
const ROWS: [ToolRow; 11] = [
    ToolRow {
        name: "flow_resume",
        title: "Resume",
        about: "Where work stands and the next safe action. Call it first.",
        writes: Writes::With("claim"),
        request: of::<ResumeRequest>,
        arguments: &["run_id", "claim", "all", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("resume", &["run_id"])],
        call: |call| call.verb(runs::resume, commands_of_resume),
    },
    ToolRow {
        name: "flow_list",
        title: "List",
        about: "Runs, newest first: 50, or `limit`.",
        writes: Writes::Never,
        request: of::<ListFilter>,
        arguments: &["status", "workflow", "search", "session", "limit"],
        needs: &[],
        verbs: &[],
        commands: &[("list", &[])],
        call: |call| call.or("limit", LISTED).verb(runs::list, no_commands),
    },
    ToolRow {
        name: "flow_show",
        title: "Show",
        about: "One run: phases, activities, artifacts.",
        writes: Writes::Never,
        request: of::<ShowRequest>,
        arguments: &["run_id", "at", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("show", &["run_id"])],
        call: |call| call.verb(runs::show, no_commands),
    },
    ToolRow {
        name: "flow_next",
        title: "Next",
        about: "The next states of a run.",
        writes: Writes::Never,
        request: of::<NextStatesRequest>,
        arguments: &["run_id", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("next", &["run_id"])],
        call: |call| call.verb(runs::next_states, no_commands),
    },
    ToolRow {
        name: "flow_start",
        title: "Start",
        about: "Start a run, held by this session.",
        writes: Writes::Always,
        request: of::<StartRequest>,
        arguments: &["workflow", "goal", "issue", "pr", "phase", "run_id", "another", "local", "session"],
        needs: &[],
        verbs: &[],
        commands: &[("start", &["workflow"])],
        call: |call| call.verb(runs::start, no_commands),
    },
    ToolRow {
        name: "flow_record",
        title: "Record",
        about: "Record work.",
        writes: Writes::Always,
        request: of::<RecordRequest>,
        arguments: &[
            "run_id", "id", "phase", "type", "status", "name", "summary", "confidence", "evidence", "files",
            "exit_code", "usage", "advance", "settles", "skip_reason", "session", "epoch",
        ],
        needs: &[],
        verbs: &[],
        commands: &[("record-activity", &[])],
        call: |call| call.verb(runs::record_activity, no_commands),
    },
    ToolRow {
        name: "flow_emit",
        title: "Report",
        about: "Report on steps. A status_change has `data` {\"status\": \"running\"}.",
        writes: Writes::Always,
        request: of::<EmitRequest>,
        arguments: &["workflow", "run_id", "reports", "id", "name", "local", "session", "epoch"],
        needs: &[],
        verbs: &[],
        commands: &[("emit", &[])],
        call: |call| call.verb(runs::emit, no_commands),
    },
    ToolRow {
        name: "flow_advance",
        title: "Advance",
        about: "Complete this state, go to the next.",
        writes: Writes::Always,
        request: of::<AdvanceRequest>,
        arguments: &["run_id", "to", "summary", "id", "session", "epoch"],
        needs: &[],
        verbs: &[],
        commands: &[("advance", &["run_id"])],
        call: |call| call.verb(runs::advance, no_commands),
    },
    ToolRow {
        name: "flow_block",
        title: "Block or unblock",
        about: "Mark a run as waiting for a person, or let it go on.",
        writes: Writes::Always,
        request: of::<StatusRequest>,
        arguments: &["run_id", "verb", "reason", "session", "epoch"],
        needs: &[],
        verbs: &["block", "unblock"],
        commands: &[("block", &["run_id"]), ("unblock", &["run_id"])],
        call: |call| call.verb(runs::change_status, no_commands),
    },
    ToolRow {
        name: "flow_finish",
        title: "End run",
        about: "End a run: its work is done, has failed, or is given up.",
        writes: Writes::Always,
        request: of::<StatusRequest>,
        arguments: &["run_id", "verb", "reason", "skip_reason", "session", "epoch"],
        needs: &[],
        verbs: &["complete", "fail", "cancel"],
        commands: &[("complete", &["run_id"]), ("fail", &["run_id"]), ("cancel", &["run_id"])],
        call: |call| call.verb(runs::change_status, no_commands),
    },
    ToolRow {
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

/// The tools of an offer; that which runs commands is among them, and listed only when there are some.
pub(super) fn offered(offer: Offer) -> Vec<Tool> {
    let mut tools: Vec<_> = ROWS.iter().chain(&state::ROWS).chain([&exec::ROW]).map(Tool::of).collect();
    if offer.core {
        tools.truncate(CORE);
    }
    if offer.read_only {
        // After the cut, so that both options together offer the core's reading tools and no others.
        tools = tools.into_iter().filter_map(Tool::reading).collect();
    }
    tools
}
