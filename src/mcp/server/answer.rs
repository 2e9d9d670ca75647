//! Reports and errors as clients see them: commands are calls of tools, and no path says where the project is.

use std::cmp::Reverse;

use serde::Serialize;
use serde_json::{Value, json};

use crate::interviews::{
    InterviewAnswerReport, InterviewFinishReport, InterviewNext, InterviewStartReport, InterviewStatusReport,
};
use crate::mcp::server::commands::{call, in_words, line};
use crate::mcp::server::tools::Tool;
use crate::model::{Problem, Suggestion};
use crate::runs::{
    AdvanceReport, Context, EmitReport, ListReport, LogReport, NextStatesReport, RecordReport, ResumeReport,
    ShowReport, StartReport, StatusReport, place_of_project, places_to_look,
};

/// The commands that a report contains, each with its place as a JSON pointer.
pub(super) trait Advice {
    /// None, for most reports.
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        Vec::new()
    }
}

impl Advice for AdvanceReport {}
impl Advice for EmitReport {}
impl Advice for InterviewFinishReport {}
impl Advice for ListReport {}
impl Advice for LogReport {}
impl Advice for NextStatesReport {}
impl Advice for RecordReport {}
impl Advice for ShowReport {}
impl Advice for StartReport {}
impl Advice for StatusReport {}

impl Advice for ResumeReport {
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        let ways = self.next.alternatives.iter().enumerate();
        let ways = ways.map(|(nth, way)| (format!("/next/alternatives/{nth}/command"), &way.command));
        let command = self.next.command.iter().map(|command| ("/next/command".to_owned(), command));
        command.chain(ways).collect()
    }
}

impl Advice for InterviewNext {
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        self.command.iter().map(|command| ("/command".to_owned(), command)).collect()
    }
}

/// The commands of a report's field `next`.
fn of_next(next: &InterviewNext) -> Vec<(String, &Suggestion)> {
    next.commands().into_iter().map(|(place, command)| (format!("/next{place}"), command)).collect()
}

impl Advice for InterviewStartReport {
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        of_next(&self.next)
    }
}

impl Advice for InterviewAnswerReport {
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        of_next(&self.next)
    }
}

impl Advice for InterviewStatusReport {
    fn commands(&self) -> Vec<(String, &Suggestion)> {
        of_next(&self.next)
    }
}

/// A report in the field `data`: its texts come from people and other agents.
pub(super) fn report(cx: &Context, tools: &[Tool], report: &(impl Serialize + Advice)) -> Value {
    let mut data = serde_json::to_value(report).unwrap_or_default();
    let (own, place) = (place_of_project(cx), Place::of(cx));
    for (at, command) in report.commands() {
        if let Some(there) = data.pointer_mut(&at) {
            *there = call(tools, &command.clone().without_project(own.as_deref())).unwrap_or_default();
            place.shorten_all(there);
        }
    }
    if let Some(next) = data.get_mut("next") {
        place.shorten_all(next);
    }
    if let Some(ways) = data.pointer_mut("/next/alternatives").and_then(Value::as_array_mut) {
        ways.retain(|way| !way["command"].is_null());
    }
    place.leave_out(&mut data);
    json!({ "data": data })
}

/// An error, as the command line prints it with `--json`, and its commands.
pub(super) fn problem(cx: &Context, tools: &[Tool], problem: &Problem) -> Value {
    let place = Place::of(cx);
    let help = problem.help.as_ref();
    let texts = |texts: &[String]| texts.iter().map(|text| place.shorten(text)).collect::<Vec<_>>();
    let commands: Vec<_> =
        help.into_iter().flat_map(|help| help.commands()).filter_map(|command| call(tools, command)).collect();
    let mut error = json!({
        "code": problem.code,
        "message": place.shorten(&problem.message),
        "help": help.map(|help| place.shorten(&help.shown(in_words, |command| line(tools, command)))),
        "causes": texts(&problem.causes),
    });
    if !commands.is_empty() {
        error["suggestions"] = commands.into();
        place.shorten_all(&mut error["suggestions"]);
    }
    json!({ "error": error })
}

/// The fields of reports in which flow says something in sentences, or names a document.
const TOLD: [&str; 5] = ["notes", "warnings", "reason", "error", "document"];

/// Where the project is on this machine, or where it was looked for. A client that knows the ids need not know it.
struct Place(Vec<String>);

impl Place {
    fn of(cx: &Context) -> Self {
        let mut roots: Vec<_> = match cx.project() {
            Ok(project) => vec![project.root().to_owned()],
            Err(_) => places_to_look(cx),
        };
        // A path may contain another one.
        roots.sort_by_key(|root| Reverse(root.as_os_str().len()));
        let roots = roots.into_iter().map(|root| root.to_string_lossy().into_owned());
        Self(roots.filter(|root| root.len() > 1).collect())
    }

    /// A text in which paths in the project are relative to it.
    fn shorten(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, root| {
            let inside = text.replace(&format!("{root}/"), "");
            let alone = [' ', ',', ';', ':', '`', ')', '\''].iter();
            let text = alone.fold(inside, |text, end| text.replace(&format!("{root}{end}"), &format!(".{end}")));
            text.strip_suffix(root.as_str()).map(|start| format!("{start}.")).unwrap_or(text)
        })
    }

    fn shorten_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.shorten(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.shorten_all(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.shorten_all(value)),
            _ => {}
        }
    }

    /// Takes the paths of flow's own files out of a report, and shortens those in what it tells people.
    fn leave_out(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_own = |path: &Value| path.as_str().is_some_and(|path| path.starts_with(".flow/"));
                if fields.get("path").is_some_and(is_own) {
                    fields.shift_remove("path");
                }
                for other in fields.get_mut("worktrees").and_then(Value::as_array_mut).into_iter().flatten() {
                    other.as_object_mut().map(|other| other.shift_remove("path"));
                }
                for (_, value) in fields.iter_mut().filter(|(name, _)| TOLD.contains(&name.as_str())) {
                    self.shorten_all(value);
                }
                fields.values_mut().for_each(|value| self.leave_out(value));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.leave_out(value)),
            _ => {}
        }
    }
}
