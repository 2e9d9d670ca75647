//! Reports and errors as clients see them: commands are calls of tools, and no path says where the project is.

use std::cmp::Reverse;

use serde::Serialize;
use serde_json::{Value, json};

use crate::interviews::InterviewNext;
use crate::mcp::server::commands::{call, line, with_arguments, with_known_arguments};
use crate::mcp::server::offer::ToolOffer;
use crate::model::{Problem, Suggestion};
use crate::runs::{Context, ResumeReport, place_of_project, places_to_look};

/// The commands that a report contains, each with its place as a JSON pointer.
pub(super) type Commands<'r> = Vec<(String, &'r Suggestion)>;

/// Those of most reports: none.
pub(super) fn no_commands<R>(_: &R) -> Commands<'_> {
    Vec::new()
}

pub(super) fn commands_of_resume(report: &ResumeReport) -> Commands<'_> {
    let mut commands = Vec::new();
    if let Some(command) = &report.next.command {
        commands.push(("/next/command".to_owned(), command));
    }
    for (nth, way) in report.next.alternatives.iter().enumerate() {
        commands.push((format!("/next/alternatives/{nth}/command"), &way.command));
    }
    commands
}

/// Those of the next step of an interview, which is at this place of a report.
pub(super) fn commands_of_step<'r>(place: &str, next: &'r InterviewNext) -> Commands<'r> {
    next.command.iter().map(|command| (format!("{place}/command"), command)).collect()
}

/// A report in the field `data`: its texts come from people and other agents.
pub(super) fn report(cx: &Context, tools: &[ToolOffer], report: &impl Serialize, commands: Commands<'_>) -> Value {
    let mut data = serde_json::to_value(report).unwrap_or_default();
    let (own, paths) = (place_of_project(cx), ProjectPaths::of(cx));
    for (at, command) in commands {
        if let Some(there) = data.pointer_mut(&at) {
            // Null stays for a command that no call can reach.
            *there = call(tools, &command.clone().without_project(own.as_deref())).unwrap_or_default();
            paths.shorten_all(there);
        }
    }
    if let Some(next) = data.get_mut("next") {
        paths.shorten_all(next);
    }
    // A way that no call can reach is none for this client.
    if let Some(ways) = data.pointer_mut("/next/alternatives").and_then(Value::as_array_mut) {
        ways.retain(|way| !way["command"].is_null());
    }
    paths.leave_out(&mut data);
    for told in ["warnings", "notes"] {
        for sentence in data.get_mut(told).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::String(text) = sentence {
                *text = with_known_arguments(tools, text);
            }
        }
    }
    json!({ "data": data })
}

/// A text of a help for clients: options are arguments of tools, and the wait for locks is a variable of this server.
fn words_of_tools(text: &str) -> String {
    with_arguments(&text.replace(" SECONDS", "").replace(LOCK_TIMEOUT, OF_SERVER))
}

/// An option that is an argument of no tool, and what a client can do instead.
const LOCK_TIMEOUT: &str = "--lock-timeout";
const OF_SERVER: &str = "FLOW_LOCK_TIMEOUT in the environment of this server";

/// An error, as the command line prints it with `--json`, and its commands.
pub(super) fn problem(cx: &Context, tools: &[ToolOffer], problem: &Problem) -> Value {
    let paths = ProjectPaths::of(cx);
    let causes: Vec<_> = problem.causes.iter().map(|cause| paths.shorten(cause)).collect();
    let message = paths.shorten(&with_known_arguments(tools, &problem.message));
    let mut error = json!({ "code": problem.code, "message": message, "help": null, "causes": causes });
    // The help of a wrong argument is a page about the command line.
    if problem.code != "usage"
        && let Some(help) = &problem.help
    {
        error["help"] = paths.shorten(&help.shown(words_of_tools, |command| line(tools, command))).into();
        let commands: Vec<_> = help.commands().filter_map(|command| call(tools, command)).collect();
        if !commands.is_empty() {
            error["suggestions"] = commands.into();
            paths.shorten_all(&mut error["suggestions"]);
        }
    }
    json!({ "error": error })
}

/// The fields of reports in which flow says something in sentences, or names a document.
const TOLD: [&str; 5] = ["notes", "warnings", "reason", "error", "document"];

/// Where the project is on this machine, or where it was looked for. A client that knows the ids need not know it.
struct ProjectPaths {
    roots: Vec<String>,
    /// The directory that is the store of its shared runs, and what is shown instead.
    store: Option<(String, String)>,
}

impl ProjectPaths {
    fn of(cx: &Context) -> Self {
        let (mut roots, mut store) = (Vec::new(), None);
        match cx.project() {
            Ok(project) => {
                roots.push(project.root().to_owned());
                if let Some(directory) = project.runs().shared().directory()
                    && let Some(name) = directory.file_name()
                {
                    store = Some((directory.to_string_lossy().into_owned(), format!("…/{}", name.to_string_lossy())));
                }
            }
            Err(_) => roots = places_to_look(cx),
        }
        // A place that is not there may be what the text is about.
        roots.retain(|root| cx.disk.is_dir(root));
        // A path may contain another one.
        roots.sort_by_key(|root| Reverse(root.as_os_str().len()));
        let mut paths: Vec<_> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        // `/` is in every path.
        paths.retain(|path| path.len() > 1);
        Self { roots: paths, store }
    }

    /// A text in which paths in the project are relative to it.
    fn shorten(&self, text: &str) -> String {
        let mut text = match &self.store {
            Some((path, told)) => text.replace(path, told),
            None => text.to_owned(),
        };
        for root in &self.roots {
            text = text.replace(&format!("{root}/"), "");
            // The project itself, and no other directory whose name begins like it.
            for end in [' ', ',', ';', ':', '`', ')', '\''] {
                text = text.replace(&format!("{root}{end}"), &format!(".{end}"));
            }
            if let Some(start) = text.strip_suffix(root.as_str()) {
                text = format!("{start}.");
            }
        }
        text
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
                if let Some(Value::String(path)) = fields.get("path")
                    && (path.starts_with(".flow/") || path.ends_with("/.flow"))
                {
                    fields.shift_remove("path");
                }
                if let Some(Value::Array(others)) = fields.get_mut("worktrees") {
                    for other in others.iter_mut().filter_map(Value::as_object_mut) {
                        other.shift_remove("path");
                    }
                }
                for (name, value) in fields {
                    // In other fields a path is data: a person or an agent wrote it.
                    if TOLD.contains(&name.as_str()) {
                        self.shorten_all(value);
                    }
                    self.leave_out(value);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.leave_out(value)),
            _ => {}
        }
    }
}
