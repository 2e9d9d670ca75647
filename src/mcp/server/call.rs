//! One call of a tool: whose it is, what it asks for, and what it answers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::mcp::server::answer::{Commands, report};
use crate::mcp::server::offer::ToolOffer;
use crate::model::{Explain, Kind, Problem, SessionId};
use crate::runs::read_request;
use crate::runs::{self, Context};

/// Where Codex names the session of a call.
const CODEX: &str = "x-codex-turn-metadata";

/// What a tool answers: a JSON object, or why there is none.
pub(super) type Answer = std::result::Result<Value, Problem>;

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) cx: Context,
    pub(super) arguments: Map<String, Value>,
    tool: &'a ToolOffer,
    /// The tools that the client can call.
    offered: &'a [ToolOffer],
}

/// The context of a call. Without a session in its metadata, it is that of the host that started this process; without
/// one that is known, that of the environment.
pub(super) fn context(cx: &Context, meta: &Map<String, Value>, what: &str) -> Context {
    // Codex has several conversations in one process, so it names the one that calls.
    let mut session = None;
    if let Some(turn) = meta.get(CODEX)
        && let Some(id) = turn["session_id"].as_str()
    {
        session = SessionId::new(id).ok();
    }
    // The environment comes last: after `/clear` in Claude Code it names a session that is over.
    let session = session.or_else(|| runs::session_of_host(cx));
    // The host may have begun this server in an environment that is about another project.
    runs::heeding_own_run_only(&cx.for_call(session, format!("flow mcp {what}")))
}

impl<'a> Call<'a> {
    /// The call with its arguments checked, and with the verb that the tool stands for.
    pub(super) fn new(
        cx: Context,
        tool: &'a ToolOffer,
        arguments: Map<String, Value>,
        offered: &'a [ToolOffer],
    ) -> Result<Self, Problem> {
        let mut call = Self { cx, arguments, tool, offered };
        // Models fill in what they leave out with null.
        call.arguments.retain(|_, value| !value.is_null());
        let known = tool.arguments();
        if let Some(name) = call.arguments.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(call.wrong(&format!("it has no argument `{name:.60}`; it has {}", known.join(", "))));
        }
        if let Some(usual) = tool.verbs.first() {
            let given = call.arguments.entry("verb").or_insert_with(|| (*usual).into());
            // A verb that another tool stands for may write where this one was allowed to read alone.
            if !tool.verbs.iter().any(|verb| *given == **verb) {
                return Err(call.wrong(&format!("`verb` must be one of {}", tool.verbs.join(", "))));
            }
        }
        Ok(call)
    }

    /// An argument's value if the caller names none.
    pub(super) fn or(mut self, argument: &str, value: impl Into<Value>) -> Self {
        self.arguments.entry(argument).or_insert_with(|| value.into());
        self
    }

    /// The request in the arguments.
    pub(super) fn request<Q: DeserializeOwned>(&self) -> Result<Q, Problem> {
        read_request(&self.arguments, self.tool.request).map_err(|why| self.wrong(&why))
    }

    /// Calls a verb with the request in the arguments. `commands` gives those in its report.
    pub(super) fn verb<Q, A, E>(
        self,
        verb: fn(&Context, &Q) -> Result<A, E>,
        commands: impl Fn(&A) -> Commands<'_>,
    ) -> Answer
    where
        Q: DeserializeOwned,
        A: Serialize,
        E: Explain,
    {
        let answer = verb(&self.cx, &self.request()?);
        self.shown(answer, commands)
    }

    /// The report of a verb with its `commands`, or its error, as a client sees it.
    pub(super) fn shown<A, E>(&self, answer: Result<A, E>, commands: impl Fn(&A) -> Commands<'_>) -> Answer
    where
        A: Serialize,
        E: Explain,
    {
        let answer = answer.map_err(|error| error.problem())?;
        Ok(report(&self.cx, self.offered, &answer, commands(&answer)))
    }

    /// The error for arguments that the tool cannot use.
    pub(super) fn wrong(&self, why: &str) -> Problem {
        Problem::new(Kind::Usage, "usage", format!("{}: {why}", self.tool.name))
    }
}
