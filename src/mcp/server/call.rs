//! One call of a tool: whose it is, what it asks for, and what it answers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::mcp::server::answer::{Advice, report};
use crate::mcp::server::arguments::misfit;
use crate::mcp::server::tools::Tool;
use crate::model::{Explain, Kind, Problem, SessionId};
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
    tool: &'a Tool,
    /// The tools that the client can call.
    offered: &'a [Tool],
}

/// The context of a call. Without a session in its metadata, it is that of the host that started this process; without
/// one that is known, that of the environment.
pub(super) fn context(cx: &Context, meta: &Map<String, Value>, what: &str) -> Context {
    let named = meta.get(CODEX).and_then(|turn| turn.get("session_id")?.as_str());
    let session = named.and_then(|id| SessionId::new(id).ok()).or_else(|| runs::session_of_host(cx));
    // The host may have begun this server in an environment that is about another project.
    runs::heeding_own_run_only(&cx.for_call(session, format!("flow mcp {what}")))
}

impl<'a> Call<'a> {
    pub(super) fn new(cx: Context, tool: &'a Tool, arguments: Map<String, Value>, offered: &'a [Tool]) -> Self {
        Self { cx, arguments, tool, offered }
    }

    /// Calls the tool.
    pub(super) fn answer(mut self) -> Answer {
        // Models fill in what they leave out with null.
        self.arguments.retain(|_, value| !value.is_null());
        let known = self.tool.arguments();
        if let Some(name) = self.arguments.keys().find(|name| !known.contains(&name.as_str())) {
            let name: String = name.chars().take(60).collect();
            return Err(self.wrong(&format!("it has no argument `{name}`; it has {}", known.join(", "))));
        }
        self.choose_verb()?;
        (self.tool.row.call)(self)
    }

    /// Fills in the verb that the tool stands for, and refuses those of other tools.
    fn choose_verb(&mut self) -> Result<(), Problem> {
        let verbs = self.tool.row.verbs;
        let Some(usual) = verbs.first() else { return Ok(()) };
        let given = self.arguments.entry("verb").or_insert_with(|| (*usual).into());
        if verbs.iter().any(|verb| *given == **verb) {
            return Ok(());
        }
        Err(self.wrong(&format!("`verb` is one of {}", verbs.join(", "))))
    }

    /// An argument's value if the caller names none.
    pub(super) fn or(mut self, argument: &str, value: impl Into<Value>) -> Self {
        self.arguments.entry(argument).or_insert_with(|| value.into());
        self
    }

    /// The request in the arguments.
    pub(super) fn request<Q: DeserializeOwned>(&self) -> Result<Q, Problem> {
        let arguments = &self.arguments;
        serde_json::from_value(Value::Object(arguments.clone())).map_err(|_| {
            let read = |value| serde_json::from_value::<Q>(value).err().map(|error| error.to_string());
            self.wrong(&misfit(&(self.tool.row.request)(), arguments, &read))
        })
    }

    /// Calls a verb with the request in the arguments.
    pub(super) fn verb<Q, A, E>(self, verb: fn(&Context, &Q) -> Result<A, E>) -> Answer
    where
        Q: DeserializeOwned,
        A: Serialize + Advice,
        E: Explain,
    {
        let answer = verb(&self.cx, &self.request()?);
        self.shown(answer)
    }

    /// The report of a verb, or its error, as a client sees it.
    pub(super) fn shown<A: Serialize + Advice, E: Explain>(&self, answer: Result<A, E>) -> Answer {
        answer.map(|answer| report(&self.cx, self.offered, &answer)).map_err(|error| error.problem())
    }

    /// The error for arguments that the tool cannot use.
    pub(super) fn wrong(&self, why: &str) -> Problem {
        Problem::of_message(Kind::Usage, "usage", format!("{}: {why}", self.tool.row.name))
    }
}
