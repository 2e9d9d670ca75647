//! Commands of flow as calls of tools.

use serde_json::{Map, Value, json};

use crate::mcp::server::offer::ToolOffer;
use crate::model::{Argument, Invocation, Suggestion};

/// A command as the call of a tool: `{"tool": …, "arguments": …}`. Arguments that the caller has to replace are in
/// `replace`. A command that no tool offers is `{"command": …}`, a line for a shell. None for a command in another
/// project, which no call can reach.
pub(super) fn call(tools: &[ToolOffer], command: &Suggestion) -> Option<Value> {
    if let Suggestion::Flow(Invocation { project: Some(_), .. }) = command {
        return None;
    }
    Some(tool_call(tools, command).unwrap_or_else(|| json!({ "command": command })))
}

/// The same as a text in a sentence.
pub(super) fn line(tools: &[ToolOffer], command: &Suggestion) -> String {
    match tool_call(tools, command) {
        Some(call) => format!("`{} {}`", call["tool"].as_str().unwrap_or_default(), call["arguments"]),
        None => format!("`{command}`"),
    }
}

/// Words about options of the command line, as words about arguments: `--skip-reason` is `skip_reason`.
pub(super) fn with_arguments(text: &str) -> String {
    with_arguments_if(text, |_| true)
}

/// The same in a sentence that may have words of others in it, such as the command that failed: only of options that are
/// arguments of tools.
pub(super) fn with_known_arguments(tools: &[ToolOffer], text: &str) -> String {
    with_arguments_if(text, |name| tools.iter().any(|tool| tool.takes(name)))
}

fn with_arguments_if(text: &str, is_argument: impl Fn(&str) -> bool) -> String {
    let mut parts = text.split("--");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Within a word, two hyphens are a dash; within a command line the option stays.
        let is_in_line = words.matches('`').count() % 2 == 1 && !words.ends_with('`');
        let is_option = !is_in_line && (words.ends_with([' ', '`', '(']) || words.is_empty());
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (option, rest) = part.split_at(end);
        let name = option.replace('-', "_");
        if option.is_empty() || !is_option || !is_argument(&name) {
            words.extend(["--", option]);
        } else if words.ends_with('`') {
            words.push_str(&name);
        } else {
            words.extend(["`", &name, "`"]);
        }
        words.push_str(rest);
    }
    words
}

fn tool_call(tools: &[ToolOffer], command: &Suggestion) -> Option<Value> {
    let Suggestion::Flow(invocation @ Invocation { project: None, .. }) = command else { return None };
    tools.iter().find_map(|tool| tool.call_of(invocation))
}

/// What a report in the argument `reports` has.
const OF_REPORTS: [&str; 4] = ["type", "step", "unit", "data"];

impl ToolOffer {
    /// Whether it has an argument of this name, or one whose values have a field of this name.
    fn takes(&self, name: &str) -> bool {
        let arguments = self.arguments();
        arguments.contains(&name) || (arguments.contains(&"reports") && OF_REPORTS.contains(&name))
    }

    /// The call of this tool that does what the command does.
    fn call_of(&self, invocation: &Invocation) -> Option<Value> {
        let (_, places) = self.commands.iter().find(|(verb, _)| *verb == invocation.verb)?;
        let verb = invocation.verb.rsplit(' ').next().unwrap_or_default();
        let mut made = Arguments { tool: self, given: Map::new(), replace: Vec::new() };
        if self.verbs.contains(&verb) {
            made.given.insert("verb".to_owned(), verb.into());
        }
        let mut places = places.iter();
        for argument in &invocation.arguments {
            match argument {
                Argument::Value(value) => made.put(places.next()?, Some(value))?,
                Argument::ValueExample(value) => made.put_example(places.next()?, value)?,
                Argument::Flag(name) => made.put(name, None)?,
                Argument::Option(name, value) => made.put(name, Some(value))?,
                Argument::OptionExample(name, value) => made.put_example(name, value)?,
            };
        }
        let mut call = json!({ "tool": self.name, "arguments": made.given });
        if !made.replace.is_empty() {
            call["replace"] = made.replace.into();
        }
        Some(call)
    }
}

/// The arguments of a call that is being made.
struct Arguments<'a> {
    tool: &'a ToolOffer,
    given: Map<String, Value>,
    replace: Vec<String>,
}

impl Arguments<'_> {
    /// Puts an option of the command line where the tool has it. None if it has it nowhere.
    fn put(&mut self, option: &str, value: Option<&str>) -> Option<String> {
        let name = option.replace('-', "_");
        match (self.tool.name, name.as_str(), value) {
            // The two flags of the command are one argument with two values.
            ("flow_resume", "claim" | "take_over", None) => self.insert("claim", name.as_str().into()),
            ("flow_record", "advance", to) => {
                let to = match to {
                    Some(to) => json!({ "to": to }),
                    None => "next".into(),
                };
                self.insert("advance", to)
            }
            ("flow_emit", "type" | "step" | "unit" | "data", Some(value)) => self.insert_report(&name, value),
            // The names of the state tools are those of RCS.
            ("state_clear", "session", Some(value)) => self.insert("session_id", value.into()),
            (_, _, value) => {
                let value = self.typed(&name, value)?;
                self.insert(&name, value)
            }
        }
    }

    fn put_example(&mut self, option: &str, value: &str) -> Option<String> {
        let name = self.put(option, Some(value))?;
        self.replace.push(name.clone());
        Some(name)
    }

    fn insert(&mut self, name: &str, value: Value) -> Option<String> {
        // A tool that only reads has fewer arguments than the command.
        if !self.tool.arguments().contains(&name) {
            return None;
        }
        self.given.insert(name.to_owned(), value);
        Some(name.to_owned())
    }

    /// A command makes one report; the tool takes several.
    fn insert_report(&mut self, name: &str, value: &str) -> Option<String> {
        let value = if name == "data" { serde_json::from_str(value).ok()? } else { Value::from(value) };
        let reports = self.given.entry("reports").or_insert_with(|| json!([{}]));
        reports[0][name] = value;
        Some("reports".to_owned())
    }

    /// The value in the type that the tool's schema has for it.
    fn typed(&self, name: &str, value: Option<&str>) -> Option<Value> {
        let property = self.tool.schema.get("properties")?.get(name)?;
        match (property["type"].as_str().unwrap_or("string"), value) {
            ("boolean", None) => Some(true.into()),
            ("integer", Some(value)) => Some(value.parse::<i64>().ok()?.into()),
            ("array", Some(value)) => Some(json!([value])),
            ("string", Some(value)) => Some(value.into()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_as_arguments() {
        for (text, told) in [
            ("add --skip-reason TEXT, or `--another`", "add `skip_reason` TEXT, or `another`"),
            ("--id", "`id`"),
            ("a -- b, x--y", "a -- b, x--y"),
            ("see `flow serve --allow-actions`, or --id", "see `flow serve --allow-actions`, or `id`"),
            ("", ""),
        ] {
            assert_eq!(with_arguments(text), told);
        }
    }
}
