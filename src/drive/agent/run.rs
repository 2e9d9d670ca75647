//! The loop: run a state, note the outcome, choose the next state.

use thiserror::Error;

use crate::drive::agent::handler::StateHandler;
use crate::drive::agent::state::{Context, FinishedState, Outcome, StateError};
use crate::engine::{Choice, Choices, ForcedMove};
use crate::model::StateName;

/// Chooses among several states that can follow.
pub trait Chooser {
    /// A reply that matches [`Choices::schema`]. `problem` says what was wrong with the previous reply.
    ///
    /// # Errors
    /// [`StateError`] when there is no reply; then the agent stops and a person has to choose.
    fn choose(&mut self, choices: &Choices, context: &Context, problem: Option<&str>) -> Result<String, StateError>;
}

/// Records the steps of an agent. A step that is recorded is not repeated.
pub trait Notebook {
    /// Why a step could not be recorded.
    type Error: std::error::Error;

    /// Records that a state begins.
    ///
    /// # Errors
    /// If it cannot be recorded; then the state does not run.
    fn begin(&mut self, state: &StateName) -> Result<(), Self::Error>;

    /// Records that a state is done. `named` is the next state that it asks for; `ends` says that the agent ends with
    /// it.
    ///
    /// # Errors
    /// If it cannot be recorded; then the state counts as not done.
    fn finish(&mut self, done: &FinishedState, named: Option<&str>, ends: bool) -> Result<(), Self::Error>;

    /// Records that a state failed.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn fail(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error>;

    /// Records that a state asks a person.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<(), Self::Error>;

    /// The answer to the question that was just recorded, if a person is there to give it; it is the output of the
    /// state. Without an answer the agent stops. By default there is no one to ask.
    fn answer(&mut self, state: &StateName, prompt: &str, context: &Context) -> Option<String> {
        let _ = (state, prompt, context);
        None
    }

    /// Records that a state waits for something.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn wait(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error>;

    /// Records that the agent ends in a state that is done already, since the chooser chose so. By default nothing is
    /// recorded.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn end(&mut self, state: &StateName) -> Result<(), Self::Error> {
        let _ = state;
        Ok(())
    }
}

/// The position of an agent in its graph.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphPosition {
    /// Before the first state.
    New,
    /// Before a state, which has to begin.
    At(StateName),
    /// In a state that has begun.
    In(StateName),
    /// After a state that is done, before the choice of the next one.
    Behind {
        /// The state.
        state: StateName,
        /// The next state that it asks for.
        named: Option<String>,
    },
}

/// Why an agent stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// A state in which the agent can end is done.
    Ended {
        /// The state.
        state: StateName,
    },
    /// A person has to answer or to choose.
    NeedsHuman {
        /// The state.
        state: StateName,
        /// The question, with its link in brackets, or the choice.
        why: String,
        /// Where the person answers, if the state named it.
        link: Option<String>,
    },
    /// A state failed.
    Failed {
        /// The state.
        state: StateName,
        /// Why.
        why: String,
    },
    /// A state is not ready, so the agent cannot move on yet.
    NotReady {
        /// The state.
        state: StateName,
        /// What it waits for; none when the state is done and
        /// [`State::check_transition_ready`](crate::drive::agent::State::check_transition_ready) is false.
        why: Option<String>,
    },
    /// The agent ran the highest number of states allowed.
    Limit {
        /// The last state that ran; if none ran, the one that would have.
        state: StateName,
    },
}

/// An error that ends the loop.
#[derive(Debug, Error)]
pub enum AgentError<E: std::error::Error> {
    /// A step could not be recorded.
    #[error(transparent)]
    Notebook(#[from] E),
    /// A state asks for a next state to which no transition leads.
    #[error("`{state}` names `{named}` as the next state, and no transition leads there")]
    UndeclaredEdge {
        /// The state.
        state: StateName,
        /// The state that it asks for.
        named: String,
    },
    /// A state that is not terminal has no successor.
    #[error("nothing follows `{state}`, and it is not terminal")]
    DeadEnd {
        /// The state.
        state: StateName,
    },
    /// The graph has no such state.
    #[error("the graph has no state `{state}`")]
    Unknown {
        /// The state.
        state: StateName,
    },
}

/// How many replies of the chooser are read for one choice.
const TRIES: usize = 3;

/// An agent that goes through a graph.
pub struct Agent<'m, N: Notebook> {
    handler: StateHandler<'m>,
    chooser: Box<dyn Chooser + 'm>,
    /// Where steps are recorded.
    pub notebook: N,
    context: Context,
    standing: GraphPosition,
    /// Whether the state that is done was the last one.
    is_over: bool,
}

impl<'m, N: Notebook> Agent<'m, N> {
    /// An agent that has not done anything yet.
    pub fn new(handler: StateHandler<'m>, chooser: impl Chooser + 'm, notebook: N) -> Self {
        let (context, standing) = (Context::default(), GraphPosition::New);
        Self { handler, chooser: Box::new(chooser), notebook, context, standing, is_over: false }
    }

    /// Continues from where an earlier agent was.
    #[must_use]
    pub fn resumed_at(self, standing: GraphPosition, context: Context) -> Self {
        Self { standing, context, ..self }
    }

    /// What its states see.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Gives a person's answer to the state that asked; it runs again with it.
    pub fn answer(&mut self, answer: impl Into<String>) {
        self.context.answer = Some(answer.into());
    }

    /// Runs until the agent has to stop; runs at most `most` states.
    ///
    /// # Errors
    /// [`AgentError`]; steps that were recorded stay.
    pub fn run(&mut self, most: usize) -> Result<Stop, AgentError<N::Error>> {
        let mut ran = 0;
        loop {
            let state = match self.standing.clone() {
                GraphPosition::New => self.handler.initial_state().clone(),
                GraphPosition::At(state) | GraphPosition::In(state) => state,
                GraphPosition::Behind { state, .. } if self.is_over => return Ok(Stop::Ended { state }),
                GraphPosition::Behind { state, .. } if !self.is_ready(&state)? => {
                    return Ok(Stop::NotReady { state, why: None });
                }
                // No further state may run, so do not ask for a choice that would be lost.
                GraphPosition::Behind { state, .. } if ran == most => state,
                GraphPosition::Behind { state, named } => match self.next(&state, named.as_deref())? {
                    NextMove::To(next) => next,
                    NextMove::End => {
                        self.notebook.end(&state)?;
                        self.is_over = true;
                        return Ok(Stop::Ended { state });
                    }
                    NextMove::Stop(stop) => return Ok(stop),
                },
            };
            if ran == most {
                return Ok(Stop::Limit { state });
            }
            ran += 1;
            if let Some(stop) = self.step(&state)? {
                return Ok(stop);
            }
        }
    }

    /// Whether the agent may move on after a state that is done. It does not matter who finished it, or when: the state
    /// is asked before every transition.
    fn is_ready(&mut self, state: &StateName) -> Result<bool, AgentError<N::Error>> {
        match self.handler.state(state) {
            Some(found) => Ok(found.check_transition_ready(&self.context)),
            None => Err(AgentError::Unknown { state: state.clone() }),
        }
    }

    /// Runs one state. Gives the reason to stop there, if any.
    fn step(&mut self, state: &StateName) -> Result<Option<Stop>, AgentError<N::Error>> {
        // Before anything is noted of it.
        if self.handler.state(state).is_none() {
            return Err(AgentError::Unknown { state: state.clone() });
        }
        // A state that was begun before the agent was killed has begun in the notebook as well.
        if self.standing != GraphPosition::In(state.clone()) {
            self.notebook.begin(state)?;
            self.standing = GraphPosition::In(state.clone());
        }
        let Some(found) = self.handler.state(state) else { return Err(AgentError::Unknown { state: state.clone() }) };
        let (output, named) = match found.run(&self.context) {
            Ok(Outcome::Finished { output, next }) => (output, next),
            Ok(Outcome::NeedsHuman { prompt, link }) => {
                let why = match &link {
                    Some(link) => format!("{prompt} ({link})"),
                    None => prompt,
                };
                // An answer that the state got before was not to this question.
                self.context.answer = None;
                // Recorded first: whatever becomes of this process, the question is known.
                self.notebook.ask(state, &why)?;
                match self.notebook.answer(state, &why, &self.context) {
                    Some(answer) => (Some(answer), None),
                    None => return Ok(Some(Stop::NeedsHuman { state: state.clone(), why, link })),
                }
            }
            Ok(Outcome::NotReady { why }) => {
                self.notebook.wait(state, &why)?;
                return Ok(Some(Stop::NotReady { state: state.clone(), why: Some(why) }));
            }
            Err(StateError(why)) => {
                self.notebook.fail(state, &why)?;
                return Ok(Some(Stop::Failed { state: state.clone(), why }));
            }
        };
        // A state that asks for an undeclared next state fails here: it can run again, but the agent could never move
        // on from it.
        let forced = self.handler.transitions(state).forced(named.as_deref());
        if let ForcedMove::Undeclared(named) = forced {
            let why = AgentError::<N::Error>::UndeclaredEdge { state: state.clone(), named }.to_string();
            self.notebook.fail(state, &why)?;
            return Ok(Some(Stop::Failed { state: state.clone(), why }));
        }
        let ends = forced == ForcedMove::End;
        // Recorded before the next state is chosen: what is done is not repeated.
        let done = FinishedState { state: state.clone(), output };
        self.notebook.finish(&done, named.as_deref(), ends)?;
        self.context.done.push(done);
        self.context.answer = None;
        self.standing = GraphPosition::Behind { state: state.clone(), named };
        self.is_over = ends;
        Ok(None)
    }

    /// What follows `state`, which is done.
    fn next(&mut self, state: &StateName, named: Option<&str>) -> Result<NextMove, AgentError<N::Error>> {
        let choices = self.handler.transitions(state);
        match choices.forced(named) {
            ForcedMove::Next(next) => return Ok(NextMove::To(next)),
            ForcedMove::End => return Ok(NextMove::End),
            ForcedMove::DeadEnd => return Err(AgentError::DeadEnd { state: state.clone() }),
            ForcedMove::Undeclared(named) => return Err(AgentError::UndeclaredEdge { state: state.clone(), named }),
            ForcedMove::Open => {}
        }
        let mut problem: Option<String> = None;
        for _ in 0..TRIES {
            let reply = match self.chooser.choose(&choices, &self.context, problem.as_deref()) {
                Ok(reply) => reply,
                Err(StateError(why)) => {
                    return Ok(NextMove::Stop(Stop::NeedsHuman { state: state.clone(), why, link: None }));
                }
            };
            // Models answer with something else at times, and correct it when they are told what was wrong.
            match choices.read(&reply) {
                Ok(Choice::State(next)) => return Ok(NextMove::To(next)),
                Ok(Choice::End) => return Ok(NextMove::End),
                Err(bad) => problem = Some(bad.to_string()),
            }
        }
        let names = choices.names().iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let why = format!(
            "no valid choice of what follows `{state}` in {TRIES} tries ({}); it can be {names}",
            problem.unwrap_or_default()
        );
        Ok(NextMove::Stop(Stop::NeedsHuman { state: state.clone(), why, link: None }))
    }
}

/// What follows a state that is done.
enum NextMove {
    /// This state.
    To(StateName),
    /// The end of the agent.
    End,
    /// Nothing yet.
    Stop(Stop),
}

impl<N: Notebook> std::fmt::Debug for Agent<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// A notebook in memory, for programs and tests that need no durability.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// What was recorded, one line for each step.
    pub lines: Vec<String>,
}

impl Notebook for Memory {
    type Error = std::convert::Infallible;

    fn begin(&mut self, state: &StateName) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} begins"));
        Ok(())
    }

    fn finish(&mut self, done: &FinishedState, _: Option<&str>, ends: bool) -> Result<(), Self::Error> {
        let end = if ends { ", and the agent with it" } else { "" };
        self.lines.push(format!("{} is done{end}", done.state));
        Ok(())
    }

    fn fail(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} failed: {why}"));
        Ok(())
    }

    fn ask(&mut self, state: &StateName, prompt: &str) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} asks: {prompt}"));
        Ok(())
    }

    fn wait(&mut self, state: &StateName, why: &str) -> Result<(), Self::Error> {
        self.lines.push(format!("{state} waits: {why}"));
        Ok(())
    }

    fn end(&mut self, state: &StateName) -> Result<(), Self::Error> {
        self.lines.push(format!("the agent ends behind {state}"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::drive::agent::{Registry, RegistryError, State, StateConfig};
    use crate::machine::{Form, Machine, StateTypes, compile_text};

    fn machine(ways: &str) -> Machine {
        let diagram = ways.split(", ").map(|way| way.replace('*', "[*]").replace('>', "-->")).collect::<Vec<_>>();
        let text = format!("stateDiagram-v2\n{}\n", diagram.join("\n"));
        compile_text(Form::Mermaid, &text, "w", &StateTypes::default()).machine.expect("it compiles")
    }

    /// Returns the given outcome; the text after a `>` in its output is the state that it asks for.
    struct Scripted {
        name: String,
        says: fn(&str, &Context) -> Result<Outcome, StateError>,
        ready: bool,
    }

    impl State for Scripted {
        fn check_transition_ready(&self, _: &Context) -> bool {
            self.ready
        }

        fn run(&mut self, context: &Context) -> Result<Outcome, StateError> {
            (self.says)(&self.name, context)
        }
    }

    struct Replies(Vec<&'static str>, usize);

    impl Chooser for Replies {
        fn choose(&mut self, _: &Choices, _: &Context, problem: Option<&str>) -> Result<String, StateError> {
            assert_eq!(problem.is_some(), self.1 > 0, "the reason of a retry");
            self.1 += 1;
            self.0
                .get(self.1 - 1)
                .map(|reply| (*reply).to_owned())
                .ok_or_else(|| StateError("no person can be asked".to_owned()))
        }
    }

    fn agent(
        ways: &str,
        says: fn(&str, &Context) -> Result<Outcome, StateError>,
        replies: &[&'static str],
    ) -> Agent<'static, Memory> {
        let mut registry = Registry::new();
        let make =
            move |config: StateConfig<'_>| Scripted { name: config.declared.name.to_string(), says, ready: true };
        registry.register("state", make).unwrap();
        let handler = StateHandler::new(machine(ways), &registry).unwrap();
        Agent::new(handler, Replies(replies.to_vec(), 0), Memory::default())
    }

    fn plain(name: &str, _: &Context) -> Result<Outcome, StateError> {
        Ok(Outcome::said(name))
    }

    fn name(name: &str) -> StateName {
        StateName::new(name).unwrap()
    }

    #[test]
    fn one_way_is_taken_and_several_are_chosen_from() {
        let mut agent = agent("* > a, a > b, b > a, b > c, c > *", plain, &["no", "{\"next_state\":\"c\"}"]);
        assert_eq!(agent.run(10).unwrap(), Stop::Ended { state: name("c") });
        let lines = ["a begins", "a is done", "b begins", "b is done", "c begins", "c is done, and the agent with it"];
        assert_eq!(agent.notebook.lines, lines);
    }

    #[test]
    fn where_the_agent_can_end_or_go_on_the_chooser_decides() {
        let ways = "* > a, a > b, b > a, b > *";
        let mut ending = agent(ways, plain, &["{\"next_state\":\"[*]\"}"]);
        assert_eq!(ending.run(10).unwrap(), Stop::Ended { state: name("b") });
        assert_eq!(
            ending.notebook.lines,
            ["a begins", "a is done", "b begins", "b is done", "the agent ends behind b"]
        );
        let mut going_on = agent(ways, plain, &["{\"next_state\":\"a\"}"]);
        assert_eq!(going_on.run(3).unwrap(), Stop::Limit { state: name("a") });
        // Also where only one state can follow: it is a choice anyway.
        let mut asked = agent("* > a, a > b, a > *, b > *", plain, &[]);
        assert!(matches!(asked.run(10).unwrap(), Stop::NeedsHuman { state, .. } if state == name("a")));
        assert_eq!(asked.notebook.lines, ["a begins", "a is done"]);
        // Another agent that goes on behind the state asks as well.
        let behind = GraphPosition::Behind { state: name("b"), named: None };
        let mut later = agent(ways, plain, &["{\"next_state\":\"[*]\"}"]).resumed_at(behind, Context::default());
        assert_eq!(later.run(10).unwrap(), Stop::Ended { state: name("b") });
        assert_eq!(later.notebook.lines, ["the agent ends behind b"]);
    }

    #[test]
    fn a_state_may_name_the_end_where_the_agent_can_end() {
        let ends = |_: &str, _: &Context| Ok(Outcome::Finished { output: None, next: Some("[*]".to_owned()) });
        let mut good = agent("* > a, a > b, a > *, b > *", ends, &[]);
        assert_eq!(good.run(10).unwrap(), Stop::Ended { state: name("a") });
        assert_eq!(good.notebook.lines, ["a begins", "a is done, and the agent with it"]);
        let mut bad = agent("* > a, a > b, b > *", ends, &[]);
        let why = "`a` names `[*]` as the next state, and no transition leads there".to_owned();
        assert_eq!(bad.run(10).unwrap(), Stop::Failed { state: name("a"), why });
    }

    #[test]
    fn a_choice_that_stays_invalid_needs_a_person() {
        let mut agent = agent("* > a, a > b, a > c, b > *, c > *", plain, &["{}", "null", "{\"next_state\":\"a\"}"]);
        let Stop::NeedsHuman { state, why, .. } = agent.run(10).unwrap() else { panic!("it went on") };
        assert_eq!(state, name("a"));
        assert!(why.contains("in 3 tries") && why.contains("`b`, `c`"), "{why}");
    }

    #[test]
    fn a_state_may_name_the_next_one_but_only_a_declared_one() {
        let says = |state: &str, _: &Context| {
            Ok(Outcome::Finished { output: None, next: (state == "a").then(|| "c".to_owned()) })
        };
        let mut good = agent("* > a, a > b, a > c, b > *, c > *", says, &[]);
        assert_eq!(good.run(10).unwrap(), Stop::Ended { state: name("c") });
        let mut bad = agent("* > a, a > b, b > c, c > *", says, &[]);
        let why = "`a` names `c` as the next state, and no transition leads there".to_owned();
        assert_eq!(bad.run(10).unwrap(), Stop::Failed { state: name("a"), why });
        // An agent that continues from a recorded step gets the same error.
        let mut behind = agent("* > a, a > b, b > c, c > *", says, &[]);
        behind = behind
            .resumed_at(GraphPosition::Behind { state: name("a"), named: Some("c".to_owned()) }, Context::default());
        assert!(matches!(behind.run(10), Err(AgentError::UndeclaredEdge { named, .. }) if named == "c"));
    }

    #[test]
    fn what_stops_an_agent_can_be_mended_and_gone_on_from() {
        let says = |state: &str, context: &Context| match (state, context.about.as_str()) {
            ("b", None) => Err(StateError("no key".to_owned())),
            ("c", Some("key")) => Ok(Outcome::asks("sure?")),
            ("c", Some("early")) => Ok(Outcome::NotReady { why: "the build runs".to_owned() }),
            _ => Ok(Outcome::said("ok")),
        };
        let ways = "* > a, a > b, b > c, c > *";
        let mut first = agent(ways, says, &[]);
        assert_eq!(first.run(1).unwrap(), Stop::Limit { state: name("a") });
        assert_eq!(first.run(9).unwrap(), Stop::Failed { state: name("b"), why: "no key".to_owned() });
        let context = Context { about: "key".into(), done: first.context().done.clone(), ..Context::default() };
        let mut second = agent(ways, says, &[]).resumed_at(GraphPosition::In(name("b")), context);
        assert_eq!(second.run(9).unwrap(), Stop::NeedsHuman { state: name("c"), why: "sure?".to_owned(), link: None });
        assert_eq!(second.notebook.lines, ["b is done", "c begins", "c asks: sure?"]);
        let context = Context { about: "early".into(), ..Context::default() };
        let mut early = agent(ways, says, &[]).resumed_at(GraphPosition::In(name("c")), context);
        let why = Some("the build runs".to_owned());
        assert_eq!(early.run(9).unwrap(), Stop::NotReady { state: name("c"), why });
        assert_eq!(early.notebook.lines, ["c waits: the build runs"]);
        let context = Context { about: "else".into(), ..Context::default() };
        let mut third =
            agent(ways, says, &[]).resumed_at(GraphPosition::Behind { state: name("b"), named: None }, context);
        assert_eq!(third.run(9).unwrap(), Stop::Ended { state: name("c") });
    }

    #[test]
    fn types_are_registered_once_and_none_is_missing() {
        let mut registry = Registry::new();
        let quiet = |_: StateConfig<'_>| Scripted { name: String::new(), says: plain, ready: false };
        registry.register("other", quiet).unwrap();
        assert_eq!(registry.register("other", quiet), Err(RegistryError::Twice { kind: "other".to_owned() }));
        let missing = StateHandler::new(machine("* > a, a > *"), &registry).unwrap_err();
        assert!(matches!(missing, RegistryError::Missing { state, .. } if state == name("a")));
        registry.register("state", quiet).unwrap();
        let handler = StateHandler::new(machine("* > a, a > b, b > *"), &registry).unwrap();
        let mut agent = Agent::new(handler, Replies(Vec::new(), 0), Memory::default());
        assert_eq!(agent.run(9).unwrap(), Stop::NotReady { state: name("a"), why: None });
    }

    /// Becomes ready when it is asked for the third time.
    struct Slow<'c>(&'c Cell<usize>);

    impl State for Slow<'_> {
        fn check_transition_ready(&self, _: &Context) -> bool {
            self.0.set(self.0.get() + 1);
            self.0.get() > 2
        }

        fn run(&mut self, _: &Context) -> Result<Outcome, StateError> {
            Ok(Outcome::quiet())
        }
    }

    #[test]
    fn a_state_that_is_not_ready_is_asked_again_before_every_transition() {
        let asked = Cell::new(0);
        let mut registry = Registry::new();
        registry.register("state", |_: StateConfig<'_>| Slow(&asked)).unwrap();
        let handler = || StateHandler::new(machine("* > a, a > b, a > c, b > *, c > *"), &registry).unwrap();
        let not_ready = Stop::NotReady { state: name("a"), why: None };
        let choice = Replies(vec!["{\"next_state\":\"c\"}"], 0);
        let mut first = Agent::new(handler(), choice, Memory::default());
        // No state may run after it, and it is asked nevertheless.
        assert_eq!(first.run(1).unwrap(), not_ready);
        assert_eq!(first.run(9).unwrap(), not_ready);
        assert_eq!(first.notebook.lines, ["a begins", "a is done"]);
        assert_eq!(first.run(9).unwrap(), Stop::Ended { state: name("c") });
        assert_eq!(asked.get(), 3, "the last state is not left, so it is not asked");
        assert_eq!(first.run(9).unwrap(), Stop::Ended { state: name("c") });

        // The same for an agent that begins behind the state, whether or not it named the next one.
        for named in [None, Some("b".to_owned())] {
            asked.set(0);
            let behind = GraphPosition::Behind { state: name("a"), named };
            let choice = Replies(vec!["{\"next_state\":\"b\"}"], 0);
            let mut later = Agent::new(handler(), choice, Memory::default());
            later = later.resumed_at(behind, Context::default());
            assert_eq!(later.run(9).unwrap(), not_ready);
            assert_eq!(later.run(0).unwrap(), not_ready);
            assert_eq!(later.notebook.lines, [""; 0]);
            assert_eq!(later.run(9).unwrap(), Stop::Ended { state: name("b") });
        }
    }

    #[test]
    fn a_question_has_a_link_and_the_state_gets_the_answer_until_it_is_done() {
        let says = |state: &str, context: &Context| match (state, context.answer.as_deref()) {
            ("a", None) => Ok(Outcome::NeedsHuman { prompt: "allow it".into(), link: Some("https://x/1".into()) }),
            ("a", Some("soon")) => Err(StateError("not yet".to_owned())),
            ("a", Some("maybe")) => Ok(Outcome::asks("yes or no?")),
            (_, answer) => Ok(Outcome::said(format!("{answer:?}"))),
        };
        let mut agent = agent("* > a, a > b, b > *", says, &[]);
        let (why, link) = ("allow it (https://x/1)".to_owned(), Some("https://x/1".to_owned()));
        assert_eq!(agent.run(9).unwrap(), Stop::NeedsHuman { state: name("a"), why, link });
        agent.answer("soon");
        for _ in 0..2 {
            assert_eq!(agent.run(9).unwrap(), Stop::Failed { state: name("a"), why: "not yet".to_owned() });
        }
        agent.answer("maybe");
        let asks_again = Stop::NeedsHuman { state: name("a"), why: "yes or no?".to_owned(), link: None };
        assert_eq!(agent.run(9).unwrap(), asks_again);
        assert_eq!(agent.context().answer, None, "it was not to this question");
        agent.answer("yes");
        assert_eq!(agent.run(9).unwrap(), Stop::Ended { state: name("b") });
        let outputs: Vec<_> = agent.context().done.iter().filter_map(|done| done.output.as_deref()).collect();
        assert_eq!(outputs, ["Some(\"yes\")", "None"]);
    }

    #[test]
    fn built_in_types_need_no_registration_and_may_be_replaced() {
        let graph = "initial: ask\nstates:\n  ask:\n    description: Go on?\n    type: user\n    transition:\n      next: [pick]\n  \
                     pick:\n    type: decision\n    transition:\n      next: [end]\n  end:\n    type: terminal\n";
        let machine = || compile_text(Form::Graph, graph, "g", &StateTypes::default()).machine.unwrap();
        let mut registry = Registry::new();
        let handler = StateHandler::new(machine(), &registry).unwrap();
        let mut agent = Agent::new(handler, Replies(Vec::new(), 0), Memory::default());
        assert!(matches!(agent.run(9).unwrap(), Stop::NeedsHuman { why, .. } if why == "Go on?"));
        agent.answer("yes");
        assert_eq!(agent.run(9).unwrap(), Stop::Ended { state: name("end") });
        assert_eq!(agent.context().done[0].output.as_deref(), Some("yes"));

        let own = |_: StateConfig<'_>| Scripted { name: "own".to_owned(), says: plain, ready: true };
        registry.register("user", own).unwrap();
        assert_eq!(registry.register("user", own), Err(RegistryError::Twice { kind: "user".to_owned() }));
        let handler = StateHandler::new(machine(), &registry).unwrap();
        let mut agent = Agent::new(handler, Replies(Vec::new(), 0), Memory::default());
        assert_eq!(agent.run(9).unwrap(), Stop::Ended { state: name("end") });
        assert_eq!(agent.context().done[0].output.as_deref(), Some("own"));
    }
}
