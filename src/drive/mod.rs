//! Drives a run through a graph (ARKOS). [`agent`] is the loop, which knows neither runs nor processes. Around it, a
//! run serves as the notebook, commands as the states, and a person, a command or a model as the chooser.
//!
//! The output of a state is recorded before the next state is chosen, so repeating the command continues where it
//! stopped, and runs no state again that is done. Only this room uses the network, and only with the feature `network`.
//!
//! A program with states of its own gets the same from [`RunNotebook`]:
//!
//! ```
//! use flowrun::drive::agent::{Chooser, Context, Outcome, Registry, State, StateConfig, StateError, StateHandler, Stop};
//! use flowrun::drive::{NotebookRequest, OpenedNotebook, RunNotebook};
//! use flowrun::engine::Choices;
//! use flowrun::runs::{self, Options};
//!
//! struct Work;
//!
//! impl State for Work {
//!     fn run(&mut self, context: &Context) -> Result<Outcome, StateError> {
//!         Ok(Outcome::said(format!("{} states were done before", context.done.len())))
//!     }
//! }
//!
//! /// Is never asked: one state follows each other one.
//! struct NoChoice;
//!
//! impl Chooser for NoChoice {
//!     fn choose(&mut self, _: &Choices, _: &Context, _: Option<&str>) -> Result<String, StateError> {
//!         Err(StateError("a person chooses".to_owned()))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let graph = dir.path().join("job.graph.yaml");
//! # let text = "initial: a\nstates:\n  a: {type: work, transition: {next: [b]}}\n".to_owned()
//! #     + "  b: {type: work, transition: {next: [end]}}\n  end: {type: terminal}\n";
//! # std::fs::write(&graph, text)?;
//! let mut registry = Registry::new();
//! registry.register("work", |_: StateConfig<'_>| Work)?;
//! let handler = StateHandler::from_file(&graph, &registry)?;
//!
//! let options = Options { project: Some(dir.path().to_owned()), ..Options::default() };
//! let cx = runs::Context::of_this_process(options)?;
//! let request = NotebookRequest { run: Some("job-1".to_owned()), ..NotebookRequest::default() };
//! let open = || RunNotebook::open(&cx, handler.machine(), &request);
//!
//! // One state, and then this agent is gone. The next one goes on behind that state.
//! let OpenedNotebook::Ready(notebook) = open()? else { panic!("the run cannot be driven") };
//! assert!(matches!(notebook.agent(&registry, NoChoice)?.run(1)?, Stop::Limit { .. }));
//! let OpenedNotebook::Ready(notebook) = open()? else { panic!("the run cannot be driven") };
//! let mut agent = notebook.agent(&registry, NoChoice)?;
//! assert!(matches!(agent.run(10)?, Stop::Ended { .. }));
//! assert_eq!(agent.context().done[1].output.as_deref(), Some("1 states were done before"));
//! # Ok(())
//! # }
//! ```

pub mod agent;
mod check;
mod chooser;
mod command;
mod commands;
mod directory;
#[expect(clippy::module_inception, reason = "the verb is called like its room")]
mod drive;
mod driven;
mod graph_file;
#[cfg_attr(not(feature = "network"), path = "no_http.rs")]
mod http;
mod known;
mod notebook;
mod report;

pub use crate::runs::{Error, Result};
pub use drive::{drive, endpoint};
pub use driven::{Person, StateOutput};
pub use graph_file::GraphFileError;
pub use notebook::{NotebookRequest, OpenedNotebook, RunNotebook};
pub use report::{Choose, DriveReport, DriveRequest, DriveStop, Endpoint};
