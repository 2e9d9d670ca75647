//! Commands of flow as calls of tools.

use serde_json::{Map, Value, json};

use crate::mcp::server::tools::Tool;
use crate::model::{Argument, Invocation, Suggestion};

/// A command as the call of a tool: `{"tool": …, "arguments": …}`. Arguments that the caller has to replace are in
/// `replace`. A command that no tool offers is `{"command": …}`, a line for a shell. None for a command in another
/// project, which no call can reach.
pub(super) fn call(tools: &[Tool], command: &Suggestion) -> Option<Value> {
    match command {
        Suggestion::Flow(Invocation { project: Some(_), .. }) => None,
        command => Some(tool_call(tools, command).unwrap_or_else(|| json!({ "command": command }))),
    }
}

/// The same as a text in a sentence.
pub(super) fn line(tools: &[Tool], command: &Suggestion) -> String {
    match tool_call(tools, command) {
        Some(call) => format!("`{} {}`", call["tool"].as_str().unwrap_or_default(), call["arguments"]),
        None => format!("`{command}`"),
    }
}

/// Words about options of the command line, as words about arguments: `--skip-reason` is `skip_reason`.
pub(super) fn in_words(text: &str) -> String {
    let mut parts = text.split("--");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_option = words.ends_with([' ', '`', '(']) || words.is_empty();
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (option, rest) = part.split_at(end);
        match option {
            "" => words.push_str("--"),
            _ if !is_option => words.extend(["--", option]),
            _ if words.ends_with('`') => words.push_str(&option.replace('-', "_")),
            _ => words.extend(["`", &option.replace('-', "_"), "`"]),
        }
        words.push_str(rest);
    }
    words
}

fn tool_call(tools: &[Tool], command: &Suggestion) -> Option<Value> {
    let Suggestion::Flow(invocation @ Invocation { project: None, .. }) = command else { return None };
    tools.iter().find_map(|tool| tool.call_of(invocation))
}

impl Tool {
    /// The call of this tool that does what the command does.
    fn call_of(&self, invocation: &Invocation) -> Option<Value> {
        let (_, places) = self.row.commands.iter().find(|(verb, _)| *verb == invocation.verb)?;
        let verb = invocation.verb.rsplit(' ').next().unwrap_or_default();
        let mut made = Arguments { tool: self, given: Map::new(), replace: Vec::new() };
        if self.row.verbs.contains(&verb) {
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
        let mut call = json!({ "tool": self.row.name, "arguments": made.given });
        if !made.replace.is_empty() {
            call["replace"] = made.replace.into();
        }
        Some(call)
    }
}

/// The arguments of a call that is being made.
struct Arguments<'a> {
    tool: &'a Tool,
    given: Map<String, Value>,
    replace: Vec<String>,
}

impl Arguments<'_> {
    /// Puts an option of the command line where the tool has it. None if it has it nowhere.
    fn put(&mut self, option: &str, value: Option<&str>) -> Option<String> {
        let name = option.replace('-', "_");
        match (self.tool.row.name, name.as_str(), value) {
            ("flow_resume", "claim" | "take_over", None) => self.insert("claim", name.as_str().into()),
            ("flow_record", "advance", to) => {
                let to = to.map_or_else(|| "next".into(), |to| json!({ "to": to }));
                self.insert("advance", to)
            }
            ("flow_emit", "type" | "step" | "unit" | "data", Some(value)) => self.insert_report(&name, value),
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
        self.tool.arguments().contains(&name).then(|| {
            self.given.insert(name.to_owned(), value);
            name.to_owned()
        })
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
            ("integer", Some(value)) => value.parse::<i64>().ok().map(Value::from),
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
            ("", ""),
        ] {
            assert_eq!(in_words(text), told);
        }
    }
}
