//! What a history of commands comes to, one event after the other: what every state after a crash is compared with.

use std::collections::BTreeMap;
use std::path::Path;

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::Explain;
use flowrun::runs::{
    self, Context, Error, ListFilter, LogRequest, Options, RecordRequest, ResumeRequest, StartRequest,
};
use serde_json::{Value, json};

use crate::support::{Tree, essence};

/// Doing one of the commands again, the first, second, …, in this process.
pub type Again = fn(&Context, &str, usize) -> Result<(), String>;

/// The activity that is recorded after each crash.
pub const NEXT: &str = "after-the-cut";

/// The commands of a history and what each of them made.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The run that the commands write.
    pub run: String,
    /// The sealed lines of its log after all of them.
    pub lines: Vec<String>,
    /// How many lines there are after so many commands.
    pub ends: Vec<usize>,
    /// What readers say with so many lines.
    pub told: Vec<Value>,
    /// Whether a record is accepted with so many lines.
    pub goes_on: Vec<bool>,
    /// The decision journal after so many commands.
    pub journals: Vec<Option<String>>,
    /// What a person wrote into `run.yaml`.
    pub kept: &'static [&'static str],
    /// Files that no command may touch, and those of `.flow` itself.
    pub others: BTreeMap<String, Vec<u8>>,
    /// A command once more.
    pub again: Option<Again>,
    /// Whether it is recognised by its id, whatever happened since.
    pub by_id: bool,
}

/// Context as a library on the files in `root`, at a time after all commands.
pub fn flow(root: &Path) -> Context {
    let clock = Clock::fixed("2026-05-21T09:00:00Z".parse().unwrap());
    let options = Options { project: Some(root.to_owned()), command: "flow after".to_owned(), ..Options::default() };
    // What git says of the checkout is not about the run, and asking takes longer than all the rest.
    Context::new(clock, Ids::seeded("after"), Env::default(), Git::new("no\0git"), options)
}

/// An answer without what it says, or the error with its causes.
pub fn done<T>(answer: flowrun::runs::Result<T>) -> Result<(), String> {
    answer.map(drop).map_err(|error| cause(&error))
}

/// Records what comes next, in the phase where the run stands. `false` when a rule forbids it.
pub fn record_next(flow: &Context, run: &str) -> Result<bool, String> {
    let id = Some(NEXT.parse().unwrap());
    match runs::record_activity(flow, &RecordRequest { run: Some(run.to_owned()), id, ..RecordRequest::default() }) {
        Ok(_) => Ok(true),
        Err(Error::Refused { .. }) => Ok(false),
        Err(error) => Err(cause(&error)),
    }
}

/// Starts the run that a crash prevented.
pub fn start(flow: &Context, run: &str) -> Result<(), String> {
    let id = Some(run.parse().unwrap());
    done(runs::start(flow, &StartRequest { workflow: "start-issue".to_owned(), id, ..StartRequest::default() }))
}

/// How many events readers see, and all they say about the run. No run is no event.
///
/// # Errors
/// When a reader fails, or complains, or readers contradict each other.
pub fn told(root: &Path, run: &str) -> Result<(Vec<Value>, Value), String> {
    let flow = flow(root);
    let named = || Some(run.to_owned());
    let list = match runs::list(&flow, &ListFilter::default()) {
        Ok(list) => list,
        Err(Error::NoProject { .. }) => return Ok((Vec::new(), Value::Null)),
        Err(error) => return Err(format!("list fails: {}", cause(&error))),
    };
    if !list.unreadable.is_empty() {
        return Err(format!("list cannot read {:?}", list.unreadable));
    }
    let Some(listed) = list.runs.iter().find(|listed| listed.run.head.run_id.as_str() == run) else {
        return match runs::resume(&flow, &ResumeRequest { run: named(), ..ResumeRequest::default() }) {
            Err(Error::NoSuchRun { .. } | Error::NoProject { .. }) => Ok((Vec::new(), Value::Null)),
            other => Err(format!("list knows nothing of the run, and resume says {other:?}")),
        };
    };
    let log = runs::log(&flow, &LogRequest { run: named(), ..LogRequest::default() });
    let log = log.map_err(|error| format!("log fails: {}", cause(&error)))?;
    let raw = std::fs::read(root.join(".flow/runs").join(run).join("events.jsonl")).unwrap_or_default();
    let raw = String::from_utf8_lossy(&raw);
    let explained = |line: usize| raw.lines().nth(line - 1).is_some_and(has_lost_block);
    if let Some(skipped) = log.skipped.iter().find(|skipped| !explained(skipped.line)) {
        return Err(format!("log skips {skipped:?}"));
    }
    let resumed = runs::resume(&flow, &ResumeRequest { run: named(), ..ResumeRequest::default() });
    let resumed = resumed.map_err(|error| format!("resume fails: {}", cause(&error)))?;
    let events = log.events.into_iter().map(|event| json!(event)).collect();
    Ok((events, json!({ "resume": essence(&json!(resumed)), "list": listed.run })))
}

/// Whether a line of the log lost a block of its middle while its end reached the disk: nobody writes a NUL. Such a line
/// was never acknowledged. Readers skip it and say so, and it stays where it is.
pub fn has_lost_block(line: &str) -> bool {
    line.contains('\0')
}

/// An error with all its causes.
pub fn cause(error: &dyn Explain) -> String {
    let problem = error.problem();
    format!("{} {} {:?}", problem.code, problem.message, problem.causes)
}

impl Reference {
    /// Tells, in the scratch directory `root`, what readers say with each number of lines. `before` holds the files
    /// before the commands, `after` those after them.
    pub fn tell(&mut self, root: &Path, before: &Tree, after: &Tree) {
        for lines in self.ends[0]..=self.lines.len() {
            if lines == self.ends[0] {
                before.restore(root);
            } else {
                // As the log alone has it: the other files of the run are what is being tested.
                after.restore(root);
                let dir = root.join(".flow/runs").join(&self.run);
                std::fs::write(dir.join("events.jsonl"), self.lines[..lines].concat()).unwrap();
                std::fs::remove_file(dir.join("run.yaml")).unwrap();
                // It knows of the lines behind, which nobody has written yet.
                let _ = std::fs::remove_file(dir.join(".lock"));
            }
            let (events, told) = told(root, &self.run).unwrap();
            assert_eq!(events, self.events(lines), "readers of the reference");
            self.told.push(told);
            self.goes_on.push(lines > 0 && record_next(&flow(root), &self.run).unwrap());
        }
    }

    /// What readers say with so many lines.
    pub fn told_at(&self, lines: usize) -> (&Value, bool) {
        let at = lines - self.ends[0];
        (&self.told[at], self.goes_on[at])
    }

    /// The events of the first lines, as `flow log` shows them.
    pub fn events(&self, lines: usize) -> Vec<Value> {
        let open = |line: &String| flowrun::codec::unseal(line.trim_end().as_bytes()).map(Value::Object).unwrap();
        self.lines[..lines].iter().map(open).collect()
    }
}
