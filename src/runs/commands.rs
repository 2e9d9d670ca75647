//! Command lines that several answers propose: to run what a phase requires or what ran before, to report, to reopen.

use std::fmt::Display;

use serde_json::json;

use crate::model::{
    ActivityStatus, Execution, MissingProof, Number, Question, ReportType, RunId, StateName, Suggestion, WorkflowId,
};

/// The command that shows what is missing. It names the phase if the run is not there.
pub(crate) fn required_command(run: &RunId, missing: &MissingProof) -> Suggestion {
    asked_as(run_in_phase(run, missing), missing.last.as_deref()).value(&missing.exec)
}

/// As [`required_command`], for a caller who has to name the files that count.
pub(crate) fn naming_files(run: &RunId, missing: &MissingProof) -> Suggestion {
    run_in_phase(run, missing).example("input", "GLOB").value(&missing.exec)
}

fn run_in_phase(run: &RunId, missing: &MissingProof) -> Suggestion {
    let phase = missing.is_elsewhere.then_some(&missing.phase);
    Suggestion::flow("exec").option("run-id", run).maybe("phase", phase)
}

/// The command that makes a report on a step, but for its data.
pub(super) fn report(run: &RunId, workflow: &WorkflowId, kind: ReportType, step: &StateName) -> Suggestion {
    Suggestion::flow("emit")
        .option("workflow", workflow)
        .option("run-id", run)
        .option("type", kind.as_str())
        .option("step", step)
}

/// The command that records the activity `id`. `after` is the latest record under this id, if it was tried: with the words of
/// an earlier attempt, another one would count as the same, sent again.
pub(super) fn record(
    run: &RunId,
    phase: Option<&StateName>,
    id: &str,
    status: ActivityStatus,
    after: Option<Number>,
) -> Suggestion {
    Suggestion::flow("record-activity")
        .option("run-id", run)
        .maybe("phase", phase)
        .option("id", id)
        .option("status", status)
        .maybe("name", after.map(|number| format!("{id}, after {number}")))
}

/// The command that reopens a run, `another` if an open run is about the same work.
pub(crate) fn reopen(run: &RunId, another: bool) -> Suggestion {
    let command = Suggestion::flow("reopen").value(run);
    if another { command.flag("another") } else { command }
}

/// The command that answers a question.
pub(super) fn answer(run: &RunId, workflow: &WorkflowId, question: &Question) -> Suggestion {
    let data = json!({ "answer": "…" });
    let answered = report(run, workflow, ReportType::UserAnswered, &question.step);
    answered.example("data", data).maybe("unit", question.unit.as_ref())
}

/// The command that returns when the commands have ended that flow runs.
pub(crate) fn wait_for_commands(run: impl Display) -> Suggestion {
    Suggestion::flow("wait").value(run).flag("commands")
}

/// The command with the options with which it ran the last time: without its inputs, it would prove less.
fn asked_as(mut command: Suggestion, last: Option<&Execution>) -> Suggestion {
    let Some(last) = last else { return command };
    for glob in &last.inputs {
        command = command.option("input", glob);
    }
    command = command.maybe("timeout", last.limit_ms.map(in_seconds));
    if last.no_output { command.flag("no-output") } else { command }
}

/// A time in milliseconds, as options name it.
fn in_seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

/// What the project's configuration calls today by the name under which a command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedNow {
    /// This command, and this machine may run it.
    Same,
    /// Another one, and this machine may run it.
    Another,
    /// Nothing that this machine may run, or the command had no name.
    Nothing,
}

/// A command that ran, and is to be run once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunAgain<'a> {
    pub(super) run: &'a RunId,
    /// The id of its activity.
    pub(super) id: &'a str,
    /// Where it would be recorded otherwise than before, the phase in which it ran.
    pub(super) phase: Option<&'a StateName>,
    pub(super) exec: &'a Execution,
    pub(super) named: NamedNow,
}

impl RunAgain<'_> {
    /// The command by its name, if that means what ran.
    pub(super) fn by_name(self) -> Option<Suggestion> {
        let name = self.exec.name.as_ref().filter(|_| self.named == NamedNow::Same)?;
        Some(self.begin().value(name))
    }

    /// The ways to run it, each with when it is meant.
    pub(super) fn ways(self, when: &str) -> Vec<(String, Suggestion)> {
        if let Some(command) = self.by_name() {
            return vec![(when.to_owned(), command)];
        }
        let mut ways = Vec::new();
        // What is recorded of a masked command is not what was run.
        if !self.exec.masked {
            let place = if self.exec.dir == "." { String::new() } else { format!(", in {}", self.exec.dir) };
            let command = self.exec.argv.iter().fold(self.begin().value("--"), Suggestion::value);
            ways.push((format!("{when}{place}"), command));
        }
        if let (NamedNow::Another, Some(name)) = (self.named, &self.exec.name) {
            ways.push((format!("what .flow/config.yaml now names `{name}` is to be run"), self.begin().value(name)));
        }
        ways
    }

    fn begin(self) -> Suggestion {
        let again = Suggestion::flow("exec").option("run-id", self.run).maybe("phase", self.phase);
        asked_as(again.option("id", self.id).flag("again"), Some(self.exec))
    }
}
