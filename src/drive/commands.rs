//! States that run commands, and the built-in types of states.

use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::drive::DriveRequest;
use crate::drive::agent::{Context, Outcome, Registry, State, StateConfig, StateError};
use crate::drive::check::missing;
use crate::drive::drive::{Audience, DRIVEN_DIR, DRIVEN_STATE, Drive};
use crate::engine::Choices;
use crate::host::Job;
use crate::machine::Machine;
use crate::model::StateName;
use crate::runs::Result;
use crate::runs::answer::answer_of;

/// The longest output of a command, in bytes: it is kept in the log and in the activity.
const OUTPUT_BYTES: usize = 512 << 10;

/// Registers the types of states: those with a command, those that a person does, and the built-in ones.
pub(super) fn registry<'r>(
    machine: &'r Machine,
    request: &'r DriveRequest,
    drive: &'r Drive,
    audience: &Audience<'r>,
    answer: Option<String>,
) -> Result<Registry<'r>> {
    let mut registry = Registry::new();
    // The recorded answer belongs to the first state that runs, which asked for it.
    let answer = Rc::new(RefCell::new(answer));
    for (kind, command) in &request.on {
        let (audience, answer) = (Rc::clone(audience), Rc::clone(&answer));
        let make = move |config: StateConfig<'_>| CommandState {
            command,
            drive,
            asked: Asked::of(machine, &config),
            answer: Rc::clone(&answer),
            audience: Rc::clone(&audience),
        };
        registry.register(kind, make).map_err(missing)?;
    }
    for kind in ["decision", "terminal"] {
        if !registry.knows(kind) {
            registry.register(kind, |_| QuietState).map_err(missing)?;
        }
    }
    for kind in std::iter::once("user").chain(request.types.iter().map(String::as_str)) {
        if registry.knows(kind) {
            continue;
        }
        let answer = Rc::clone(&answer);
        let make = move |config: StateConfig<'_>| UserState {
            prompt: question_of(config.declared),
            answer: Rc::clone(&answer),
        };
        registry.register(kind, make).map_err(missing)?;
    }
    Ok(registry)
}

/// What a command is told about its state.
struct Asked {
    name: StateName,
    declared: Value,
    next: Choices,
}

impl Asked {
    fn of(machine: &Machine, config: &StateConfig<'_>) -> Self {
        let next = Choices::of(machine, Some(&config.declared.name));
        Self { name: config.declared.name.clone(), declared: declared(machine, config.declared), next }
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
    drive: &'r Drive,
    asked: Asked,
    answer: Rc<RefCell<Option<String>>>,
    audience: Audience<'r>,
}

impl State for CommandState<'_> {
    fn run(&mut self, context: &Context) -> std::result::Result<Outcome, StateError> {
        let input = json!({
            "about": context.about,
            "state": self.asked.declared,
            "next": self.asked.next,
            "done": done(context),
            "answer": self.answer.borrow_mut().take(),
        });
        let output = run(self.command, &input, self.drive, Some(&self.asked.name), &self.audience)?;
        outcome(output)
    }
}

/// Reads the output of a command: a JSON object can say that a person is needed, that the state is not ready, or which
/// state comes next. Any other output means that the state is done.
fn outcome(output: String) -> std::result::Result<Outcome, StateError> {
    let Ok(Value::Object(object)) = serde_json::from_str(&output) else {
        return Ok(Outcome::Finished { output: (!output.is_empty()).then_some(output), next: None });
    };
    let text = |key: &str, what: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(StateError(format!("its answer has an empty text as `{key}`")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(StateError(format!("its answer has {other} as `{key}`, which {what}"))),
    };
    if let Some(prompt) = text("needs_human", "is not a string")? {
        let has_link = object.get("link").is_some_and(|link| link.as_str() != Some(""));
        let link = if has_link { text("link", "is not a string")? } else { None };
        let link = link.map(|link| format!(" ({link})")).unwrap_or_default();
        return Ok(Outcome::NeedsHuman { prompt: format!("{prompt}{link}") });
    }
    if let Some(why) = text("not_ready", "is not a string")? {
        return Ok(Outcome::NotReady { why });
    }
    let next = text("next_state", "names no state")?;
    Ok(Outcome::Finished { output: Some(output), next })
}

/// The states that are done, as commands get them.
pub(super) fn done(context: &Context) -> Value {
    context.done.iter().map(|done| json!({ "state": done.state, "output": done.output })).collect()
}

/// Runs a command with `input` on its standard input. Gives its output, without the line break at the end.
pub(super) fn run(
    command: &str,
    input: &Value,
    drive: &Drive,
    state: Option<&StateName>,
    audience: &Audience<'_>,
) -> std::result::Result<String, StateError> {
    let mut env: Vec<(&'static str, OsString)> = vec![
        (DRIVEN_DIR, drive.dir.as_os_str().to_owned()),
        ("FLOW_DRIVEN_RUN", drive.run.as_str().into()),
        ("FLOW_SESSION", drive.session.as_str().into()),
        ("FLOW_EPOCH", drive.epoch.to_string().into()),
    ];
    env.extend(state.map(|state| (DRIVEN_STATE, state.as_str().into())));
    let input = input.to_string();
    let job = Job { command, input: input.as_bytes(), env, limit: drive.timeout, most: OUTPUT_BYTES };
    answer_of(&job, &mut |line| audience.borrow_mut().tell(line)).map_err(StateError)
}

/// The question of a state that a person does: its description, otherwise its name.
fn question_of(declared: &crate::machine::State) -> String {
    let words = declared.description.clone().filter(|words| !words.trim().is_empty());
    words.unwrap_or_else(|| declared.name.to_string())
}

/// A state in which a person answers: its type is `user`, or was declared without a command.
struct UserState {
    prompt: String,
    answer: Rc<RefCell<Option<String>>>,
}

impl State for UserState {
    fn run(&mut self, _: &Context) -> std::result::Result<Outcome, StateError> {
        let answer = self.answer.borrow_mut().take();
        Ok(match answer {
            Some(answer) => Outcome::said(answer),
            None => Outcome::NeedsHuman { prompt: self.prompt.clone() },
        })
    }
}

/// A state without work: a decision, or the end.
struct QuietState;

impl State for QuietState {
    fn run(&mut self, _: &Context) -> std::result::Result<Outcome, StateError> {
        Ok(Outcome::quiet())
    }
}
