//! States that are commands, and the few that need none.

use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::agent::{Choices, Context, Outcome, Registry, State, StateConfig, StateError};
use crate::host::Job;
use crate::machine::Machine;
use crate::model::StateName;
use crate::ops::answer::answer_of;
use crate::ops::drive::{Audience, DRIVEN_DIR, DRIVEN_STATE, Drive, DriveRequest, missing};
use crate::ops::error::Result;

/// The most that a command may answer, in bytes: it is kept in the log and in the activity.
const OUTPUT_BYTES: usize = 512 << 10;

/// The types of states: those that commands are given for, and those that need none.
pub(super) fn registry<'r>(
    machine: &'r Machine,
    request: &'r DriveRequest,
    drive: &'r Drive,
    audience: &Audience<'r>,
    answer: Option<String>,
) -> Result<Registry<'r>> {
    let mut registry = Registry::new();
    for (kind, command) in &request.on {
        let audience = Rc::clone(audience);
        let make = move |config: StateConfig<'_>| CommandState {
            command,
            drive,
            asked: Asked::of(machine, &config),
            audience: Rc::clone(&audience),
        };
        registry.register(kind, make).map_err(missing)?;
    }
    // A person's answer is used up by the first state that asks for it.
    let answer = Rc::new(RefCell::new(answer));
    if !registry.knows("user") {
        let audience = Rc::clone(audience);
        let make = move |config: StateConfig<'_>| UserState {
            prompt: config.declared.description.clone().unwrap_or_else(|| config.declared.name.to_string()),
            answer: Rc::clone(&answer),
            audience: Rc::clone(&audience),
        };
        registry.register("user", make).map_err(missing)?;
    }
    for kind in ["decision", "terminal"] {
        if !registry.knows(kind) {
            registry.register(kind, |_| QuietState).map_err(missing)?;
        }
    }
    Ok(registry)
}

/// What a command is told of its state.
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

/// A state as commands are told of it.
pub(super) fn declared(machine: &Machine, state: &crate::machine::State) -> Value {
    let mut declared = json!(state);
    declared["terminal"] = machine.is_terminal(&state.name).into();
    declared["config"] = json!(state.config);
    declared
}

/// A state that a command does.
struct CommandState<'r> {
    command: &'r str,
    drive: &'r Drive,
    asked: Asked,
    audience: Audience<'r>,
}

impl State for CommandState<'_> {
    fn run(&mut self, context: &Context) -> std::result::Result<Outcome, StateError> {
        let input = json!({
            "about": context.about,
            "state": self.asked.declared,
            "next": self.asked.next,
            "done": done(context),
        });
        let output = run(self.command, &input, self.drive, Some(&self.asked.name), &self.audience)?;
        let named = serde_json::from_str::<Value>(&output).ok().and_then(|value| value.get("next_state").cloned());
        let named = match named {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => {
                return Err(StateError(format!("its answer has {other} as `next_state`, which names no state")));
            }
        };
        Ok(Outcome::Finished { output: (!output.is_empty()).then_some(output), next: named })
    }
}

/// What was done, as commands are told.
pub(super) fn done(context: &Context) -> Value {
    context.done.iter().map(|done| json!({ "state": done.state, "output": done.output })).collect()
}

/// Runs a command with `input` on its standard input; what it answers, without the line break at its end.
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

/// A state in which a person answers.
struct UserState<'r> {
    prompt: String,
    answer: Rc<RefCell<Option<String>>>,
    audience: Audience<'r>,
}

impl State for UserState<'_> {
    fn run(&mut self, _: &Context) -> std::result::Result<Outcome, StateError> {
        let answer = self.answer.borrow_mut().take().or_else(|| self.audience.borrow_mut().ask(&self.prompt));
        Ok(match answer {
            Some(answer) => Outcome::said(answer),
            None => Outcome::NeedsHuman { prompt: self.prompt.clone() },
        })
    }
}

/// A state in which nothing is done: it only leads on, or ends.
struct QuietState;

impl State for QuietState {
    fn run(&mut self, _: &Context) -> std::result::Result<Outcome, StateError> {
        Ok(Outcome::quiet())
    }
}
