//! Choosers among several states: a person, a command, or an OpenAI-compatible endpoint.

use std::time::Duration;

use serde_json::{Value, json};

use crate::drive::agent::{Chooser, Context, StateError};
use crate::drive::commands::{CommandRunner, declared, done};
use crate::drive::http::{ask_endpoint, server};
use crate::drive::report::Endpoint;
use crate::engine::{Choices, END};
use crate::machine::Machine;
use crate::model::{RunId, bare_reply};

type Reply = std::result::Result<String, StateError>;

/// Stops the driver, so that a person chooses.
pub(super) struct LeaveToPerson {
    pub(super) run: RunId,
}

impl Chooser for LeaveToPerson {
    fn choose(&mut self, choices: &Choices, _: &Context, _: Option<&str>) -> Reply {
        let names = choices.tt.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let run = &self.run;
        if choices.end {
            let why = format!(
                "the run can end or go on ({names}): end it with `flow complete {run}`, or choose with `flow advance {run} \
                 --to STATE`"
            );
            return Err(StateError(why));
        }
        Err(StateError(format!("several states can follow ({names}): choose with `flow advance {run} --to STATE`")))
    }
}

/// Runs a command that chooses.
pub(super) struct AskCommand<'p> {
    pub(super) command: String,
    pub(super) machine: Machine,
    pub(super) runner: CommandRunner<'p>,
}

impl Chooser for AskCommand<'_> {
    fn choose(&mut self, choices: &Choices, context: &Context, problem: Option<&str>) -> Reply {
        // None before the first state.
        let left = context.done.last().and_then(|done| self.machine.state(&done.state));
        let input = json!({
            "about": context.about,
            "state": left.map(|state| declared(&self.machine, state)),
            "next": choices.offer(),
            "schema": choices.schema(),
            "problem": problem,
            "done": done(context),
        });
        let reply = self.runner.run(&self.command, &input, None);
        let reply = reply.map_err(|StateError(why)| StateError(format!("the chooser: {why}")))?;
        // A script may print just the name of the state, or of the end, which begins as JSON does.
        let word = reply.trim();
        if word == END {
            return Ok(json!({ "next_state": word }).to_string());
        }
        let is_line = !word.is_empty() && !word.contains(['\n', '`']);
        // JSON that is broken gets the question put again, with what is wrong in it.
        if is_line && serde_json::from_str::<Value>(word).is_err() && !bare_reply(word).starts_with(['{', '[']) {
            return Ok(json!({ "next_state": word }).to_string());
        }
        Ok(reply)
    }
}

/// Asks a model over HTTP.
pub(super) struct AskEndpoint {
    pub(super) endpoint: Endpoint,
    pub(super) timeout: Duration,
}

/// How much of each earlier output the model gets, in characters.
const SHOWN: usize = 4000;

impl Chooser for AskEndpoint {
    fn choose(&mut self, choices: &Choices, context: &Context, problem: Option<&str>) -> Reply {
        let options = choices.described().into_iter().map(|(name, text)| format!("- {name}: {text}"));
        let options = options.collect::<Vec<_>>().join("\n");
        let mut messages = vec![json!({
            "role": "system",
            "content": format!(
                "You decide how a workflow goes on. What was done so far is below. The states that can follow:\n{options}\n\
                 Answer with the most appropriate one as next_state."
            ),
        })];
        messages.push(json!({ "role": "user", "content": format!("The task: {}", context.about) }));
        for done in &context.done {
            let output: String = done.output.as_deref().unwrap_or("(no output)").chars().take(SHOWN).collect();
            messages.push(json!({ "role": "user", "content": format!("[{}]\n{output}", done.state) }));
        }
        if let Some(problem) = problem {
            messages.push(json!({ "role": "user", "content": format!("That was not valid: {problem}") }));
        }
        let body = json!({
            "model": self.endpoint.model,
            "messages": messages,
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": "next_state", "strict": true, "schema": choices.schema() },
            },
        });
        let address = address(&self.endpoint.url);
        let answer = ask_endpoint(&address, self.endpoint.key.as_deref(), &body, self.timeout);
        // The address may have a password in it.
        let shown = server(&address).unwrap_or_default();
        let answer = answer.map_err(|why| StateError(format!("{shown} was asked for the next state: {why}")))?;
        let content = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        // A missing content is treated as an invalid reply, so that the question is put again.
        Ok(content.unwrap_or_default().to_owned())
    }
}

/// The documentation of servers gives the address with or without this end.
fn address(url: &str) -> String {
    let url = url.trim_end_matches('/');
    if url.ends_with("/chat/completions") { url.to_owned() } else { format!("{url}/chat/completions") }
}
