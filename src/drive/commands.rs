//! States that run commands.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::drive::agent::{Context, Outcome, Registry, State, StateConfig, StateError, UserState};
use crate::drive::check::missing;
use crate::drive::driven::{Audience, Drive, tell};
use crate::drive::report::DriveRequest;
use crate::engine::Choices;
use crate::host::Job;
use crate::machine::Machine;
use crate::model::StateName;
use crate::runs::Result;
use crate::runs::processes::{of_driver, of_state};
use crate::runs::write::answer::answer_of;

/// The longest output of a command, in bytes: it is kept in the log and in the activity.
const OUTPUT_BYTES: usize = 512 << 10;

/// Registers the types of states that have a command, and those that a person does.
pub(super) fn registry<'r>(
    machine: &Machine,
    request: &'r DriveRequest,
    runner: &CommandRunner<'r>,
) -> Result<Registry<'r>> {
    let mut registry = Registry::new();
    for (kind, command) in &request.on {
        let (machine, runner) = (machine.clone(), runner.clone());
        let registered = registry.register(kind, move |config: StateConfig<'_>| CommandState {
            command,
            runner: runner.clone(),
            name: config.declared.name.clone(),
            declared: declared(&machine, config.declared),
            next: Choices::with_end(&machine, &config.declared.name).offer(),
        });
        registered.map_err(missing)?;
    }
    // A type that was only declared is done by a person.
    for kind in &request.types {
        if !registry.knows(kind) {
            registry.register(kind, |config: StateConfig<'_>| UserState::of(config.declared)).map_err(missing)?;
        }
    }
    Ok(registry)
}

/// Runs the commands of a driver.
#[derive(Clone)]
pub(super) struct CommandRunner<'p> {
    pub(super) drive: Drive,
    /// The directory in which they run.
    pub(super) dir: PathBuf,
    /// The time limit of each command.
    pub(super) timeout: Duration,
    pub(super) audience: Audience<'p>,
}

impl CommandRunner<'_> {
    /// Runs a command with `input` on its standard input. Gives its output, without the line break at the end.
    pub(super) fn run(
        &self,
        command: &str,
        input: &Value,
        state: Option<&StateName>,
    ) -> std::result::Result<String, StateError> {
        let drive = &self.drive;
        let mut env: Vec<(&'static str, OsString)> = vec![
            of_driver(drive.run_dir.clone()),
            ("FLOW_DRIVEN_RUN", drive.run.as_str().into()),
            ("FLOW_SESSION", drive.session.as_str().into()),
            ("FLOW_EPOCH", drive.epoch.to_string().into()),
        ];
        // The chooser belongs to no state.
        env.extend(state.map(of_state));
        let input = input.to_string();
        let dir = Some(self.dir.as_path());
        let job = Job { command, dir, input: input.as_bytes(), env, limit: self.timeout, most: OUTPUT_BYTES };
        answer_of(&job, &mut |line| tell(&self.audience, line)).map_err(StateError)
    }
}

/// The declaration of a state, as commands get it.
pub(super) fn declared(machine: &Machine, state: &crate::machine::State) -> Value {
    let mut declared = json!(state);
    declared["terminal"] = machine.is_terminal(&state.name).into();
    declared["config"] = json!(state.config);
    declared
}

/// A state whose work is done by a command.
struct CommandState<'r> {
    command: &'r str,
    runner: CommandRunner<'r>,
    name: StateName,
    /// Its declaration, and what can follow, as the command is told.
    declared: Value,
    next: Value,
}

impl State for CommandState<'_> {
    fn run(&mut self, context: &Context) -> std::result::Result<Outcome, StateError> {
        let input = json!({
            "about": context.about,
            "state": self.declared,
            "next": self.next,
            "done": done(context),
            "answer": context.answer,
        });
        let output = self.runner.run(self.command, &input, Some(&self.name))?;
        outcome(output)
    }
}

/// Reads the output of a command: a JSON object can say that a person is needed, that the state is not ready, or which
/// state comes next. Any other output means that the state is done.
fn outcome(output: String) -> std::result::Result<Outcome, StateError> {
    let Ok(Value::Object(object)) = serde_json::from_str(&output) else {
        let output = if output.is_empty() { None } else { Some(output) };
        return Ok(Outcome::Finished { output, next: None });
    };
    if let Some(prompt) = text(&object, "needs_human", "is not a string")? {
        // A script may print the key with an empty text where it has no link.
        let link = match object.get("link") {
            Some(Value::String(link)) if link.is_empty() => None,
            _ => text(&object, "link", "is not a string")?,
        };
        return Ok(Outcome::NeedsHuman { prompt, link });
    }
    if let Some(why) = text(&object, "not_ready", "is not a string")? {
        return Ok(Outcome::NotReady { why });
    }
    let next = text(&object, "next_state", "names no state")?;
    Ok(Outcome::Finished { output: Some(output), next })
}

/// The text of a field; none if it is missing or null. `what` says what is wrong with any other value.
fn text(object: &Map<String, Value>, key: &str, what: &str) -> std::result::Result<Option<String>, StateError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        // An empty question would be put to a person who sees nothing to answer.
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(StateError(format!("its answer has an empty text as `{key}`")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(StateError(format!("its answer has {other} as `{key}`, which {what}"))),
    }
}

/// The states that are done, as commands get them.
pub(super) fn done(context: &Context) -> Value {
    context.done.iter().map(|done| json!({ "state": done.state, "output": done.output })).collect()
}
