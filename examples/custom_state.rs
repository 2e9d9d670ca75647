//! An agent with a state of its own type.
//!
//! `cargo run --example custom_state`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use flowrun::drive::agent::{
    Agent, Chooser, Context, Memory, Outcome, Registry, State, StateConfig, StateError, StateHandler,
};
use flowrun::engine::Choices;
use flowrun::machine::{Form, StateTypes, compile_text};

const GRAPH: &str = "\
types: [greeting]
initial: greet
states:
  greet:
    description: Hello!
    type: greeting
    transition:
      next: [listen]
  listen:
    description: What is it about?
    type: user
    transition:
      next: [greet, bye]
  bye:
    type: terminal
";

/// Says its description.
struct Greeting {
    words: String,
}

impl State for Greeting {
    fn run(&mut self, context: &Context) -> Result<Outcome, StateError> {
        let again = if context.done.is_empty() { "" } else { " Once more: " };
        Ok(Outcome::said(format!("{again}{}", self.words)))
    }
}

/// Listens to what was said before, and is ready to go on when something was.
struct Listening;

impl State for Listening {
    fn check_transition_ready(&self, context: &Context) -> bool {
        context.done.iter().any(|done| done.output.is_some())
    }

    fn run(&mut self, _: &Context) -> Result<Outcome, StateError> {
        Ok(Outcome::quiet())
    }
}

/// Greets twice, then goes.
struct Twice;

impl Chooser for Twice {
    fn choose(&mut self, _: &Choices, context: &Context, _: Option<&str>) -> Result<String, StateError> {
        let greeted = context.done.iter().filter(|done| done.state.as_str() == "greet").count();
        Ok(format!("{{\"next_state\": \"{}\"}}", if greeted < 2 { "greet" } else { "bye" }))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let compiled = compile_text(Form::Graph, GRAPH, "hello", &StateTypes::default());
    let machine = compiled.machine.ok_or("the graph does not compile")?;

    let mut registry = Registry::new();
    registry.register("greeting", |config: StateConfig<'_>| Greeting {
        words: config.declared.description.clone().unwrap_or_default(),
    })?;
    // The built-in type asks a person; nobody is there.
    registry.register("user", |_| Listening)?;

    let handler = StateHandler::new(machine, &registry)?;
    assert_eq!(handler.initial_state().as_str(), "greet");
    let mut agent = Agent::new(handler, Twice, Memory::default());
    let stop = agent.run(10)?;
    for line in &agent.notebook.lines {
        println!("{line}");
    }
    println!("{stop:?}");
    Ok(())
}
