//! An agent with a state of its own that goes on after it was killed.
//!
//! `cargo run --example durable_agent -- DIRECTORY`, ended with Ctrl-C or `kill -9`, and the same command again: it goes on
//! where it was, and repeats no finished state. The run is in `DIRECTORY/.flow`, so `flow show` and `flow resume` show it.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use flowrun::drive::agent::{Chooser, Context, Outcome, Registry, State, StateConfig, StateError, StateHandler};
use flowrun::drive::{NotebookRequest, OpenedNotebook, RunNotebook};
use flowrun::engine::Choices;
use flowrun::runs::{self, Options};

/// Works for a while, and notes in a file that it did.
struct Work {
    name: String,
    notes: PathBuf,
}

impl Work {
    fn note(&self, what: &str) -> std::io::Result<()> {
        let mut notes = OpenOptions::new().create(true).append(true).open(&self.notes)?;
        // In one write: a kill between two would leave half a line, and the next note would be glued to it.
        notes.write_all(format!("{} {what}\n", self.name).as_bytes())
    }
}

impl State for Work {
    fn run(&mut self, context: &Context) -> Result<Outcome, StateError> {
        let failed = |error: std::io::Error| StateError(format!("cannot write notes: {error}"));
        self.note("begins").map_err(failed)?;
        sleep(Duration::from_millis(20));
        self.note("ends").map_err(failed)?;
        Ok(Outcome::said(format!("{} after {} other states", self.name, context.done.len())))
    }
}

/// Wants a second draft, and then publishes it.
struct SecondDraft;

impl Chooser for SecondDraft {
    fn choose(&mut self, _: &Choices, context: &Context, _: Option<&str>) -> Result<String, StateError> {
        let drafts = context.done.iter().filter(|done| done.state.as_str() == "draft").count();
        let next = if drafts < 2 { "draft" } else { "publish" };
        Ok(format!("{{\"next_state\": \"{next}\"}}"))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("name the directory of the run")?);
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/answer.graph.yaml");

    let mut registry = Registry::new();
    registry.register("work", |config: StateConfig<'_>| Work {
        name: config.declared.name.to_string(),
        notes: directory.join("notes"),
    })?;
    let handler = StateHandler::from_file(&graph, &registry)?;

    let options = Options { project: Some(directory.clone()), ..Options::default() };
    let cx = runs::Context::of_this_process(options)?;
    let request = NotebookRequest { run: Some("answer-1".to_owned()), ..NotebookRequest::default() };
    let notebook = match RunNotebook::open(&cx, handler.machine(), &request)? {
        OpenedNotebook::Ready(notebook) => notebook,
        OpenedNotebook::Stopped(report) => {
            println!("{}: {}", report.stop.as_str(), report.reason);
            return Ok(());
        }
    };
    let mut agent = notebook.agent(&registry, SecondDraft)?;
    let stop = agent.run(100)?;
    println!("{stop:?}");
    Ok(())
}
