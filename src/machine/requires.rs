//! Commands that must have been seen to pass before a run leaves a state: `requires: [{exec: test}]`.

use crate::codec::{self, Node, Tree};
use crate::machine::diagnostic::GATE_UNREAD;
use crate::machine::source::SourceRequirement;
use crate::machine::{Diagnostic, Machine, Name, Requirement};
use crate::model::StateName;

/// The key of a state that lists them.
pub(super) const REQUIRES: &str = "requires";

/// The command in one of them.
pub(super) const EXEC: &str = "exec";
/// Whether it must have passed on the present files.
const FRESH: &str = "fresh";
/// Whether it is asked for only where the project names the command.
const IF_NAMED: &str = "if_named";

impl Requirement {
    /// How a definition writes it: `{exec: test}`.
    pub(super) fn written(&self) -> serde_json::Value {
        let mut written = serde_json::json!({ EXEC: self.exec });
        if !self.fresh {
            written[FRESH] = false.into();
        }
        if self.if_named {
            written[IF_NAMED] = true.into();
        }
        written
    }
}

/// The key of a state that `text` is probably meant to be. `retries` and the like are settings that are only similar to
/// `requires`.
pub(super) fn meant<'k>(text: &str, keys: &[&'k str]) -> Option<&'k str> {
    let meant = codec::similar(text, keys.iter().copied())?;
    if meant == REQUIRES && !text.to_lowercase().starts_with("requ") { None } else { Some(meant) }
}

/// The warning about a key that is probably a misspelt one of `keys`. A run would pass a gate behind it.
pub(super) fn misspelt(key: &Node, keys: &[&str]) -> Option<Diagnostic> {
    let text = key.text().unwrap_or_default();
    let meant = meant(text, keys)?;
    let is_gate = ["gate", REQUIRES].contains(&meant) && text.to_lowercase().starts_with(&meant[..4]);
    let mut warning =
        Diagnostic::warning("misspelt_key", &Name::of_node(key), format!("flow does not know the key `{text}`"));
    if is_gate {
        warning.code = GATE_UNREAD;
    }
    Some(warning.with_help(format!("did you mean `{meant}`?")))
}

/// Reads what `list`, the value of `requires`, asks of `state`. What cannot be read is an error: a requirement that is
/// overlooked would not be asked for.
pub(super) fn read(list: &Node, state: &Name, found: &mut Vec<SourceRequirement>) -> Vec<Diagnostic> {
    let items: &[Node] = match &list.tree {
        Tree::Null => &[],
        Tree::Sequence(items) => items,
        _ => std::slice::from_ref(list),
    };
    let mut problems = Vec::new();
    for item in items {
        match one(item, state) {
            Ok(requirement) => found.push(requirement),
            Err((node, message)) => problems.push(invalid(&Name::of_node(node), message)),
        }
    }
    problems
}

pub(super) fn invalid(at: &Name, message: &str) -> Diagnostic {
    Diagnostic::error("requirement_invalid", at, message).with_help("write `requires: [{exec: NAME}]`")
}

fn one<'n>(item: &'n Node, state: &Name) -> Result<SourceRequirement, (&'n Node, &'static str)> {
    let mut requirement =
        SourceRequirement { state: state.clone(), exec: Name::nowhere(""), fresh: true, if_named: false };
    for (key, value) in item.entries() {
        match (key.text(), &value.tree) {
            (Some(EXEC), Tree::Text(_)) => requirement.exec = Name::of_node(value),
            (Some(FRESH), Tree::Bool(fresh)) => requirement.fresh = *fresh,
            (Some(IF_NAMED), Tree::Bool(if_named)) => requirement.if_named = *if_named,
            (Some(EXEC), _) => return Err((value, "`exec` is the name of a command")),
            (Some(FRESH | IF_NAMED), _) => return Err((value, "`fresh` and `if_named` are true or false")),
            _ => return Err((key, "a requirement has the keys `exec`, `fresh` and `if_named`")),
        }
    }
    if requirement.exec.text.is_empty() {
        return Err((item, "a requirement names a command with `exec`"));
    }
    Ok(requirement)
}

impl Machine {
    /// What must have been seen to pass before a run leaves `state`. What is asked for only where the project names the
    /// command counts once that is [settled](Self::asking_for).
    pub fn requires_of<'m>(&'m self, state: &StateName) -> impl Iterator<Item = &'m Requirement> + use<'m> {
        let state = state.clone();
        self.requires().iter().filter(move |one| one.state == state && !one.if_named)
    }

    /// Whether it asks for some commands only where the project names them.
    #[must_use]
    pub fn asks_where_named(&self) -> bool {
        self.requires().iter().any(|one| one.if_named)
    }

    /// The machine for a project that names these commands: what is asked for only where the project names it is asked for
    /// now, or not at all.
    #[must_use]
    pub fn asking_for(mut self, named: &[String]) -> Self {
        let requires = self.requires_mut();
        requires.retain(|one| !one.if_named || named.contains(&one.exec));
        for one in requires {
            one.if_named = false;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::{CompiledText, Form, Machine, StateTypes, compile_text, write};

    const PHASES: &str = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n";
    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> scan\nscan --> verify\nverify --> [*]\n";

    fn check(form: Form, text: &str) -> CompiledText {
        compile_text(form, text, "w", &StateTypes::default())
    }

    /// The same requirement in each notation.
    fn texts(list: &str) -> [(Form, String); 4] {
        let graph =
            "initial: scan\nstates:\n  scan: {type: agent, transition: {next: [verify]}}\n  verify:\n    type: agent\n";
        let matter = format!("---\nflow: {{requires: {{verify: {list}}}}}\n---\n");
        [
            (Form::Phases, format!("{PHASES}  - id: scan\n  - id: verify\n    requires: {list}\n")),
            (Form::Graph, format!("{graph}    requires: {list}\n    transition: {{next: []}}\n")),
            (Form::Mermaid, format!("{matter}{DIAGRAM}")),
            (Form::Markdown, format!("{matter}# T\n\n## STATE-MACHINE\n\n```mermaid\n{DIAGRAM}```\n")),
        ]
    }

    fn asked(machine: &Machine) -> Vec<String> {
        let mut asked = Vec::new();
        for one in machine.requires() {
            asked.push(format!("{} {} {} {}", one.state, one.exec, one.fresh, one.if_named));
        }
        asked
    }

    #[test]
    fn each_notation_says_what_a_state_requires_and_a_machine_keeps_it() {
        for (form, text) in texts("[{exec: test}, {exec: lint, fresh: false}, {exec: docs, if_named: true}]") {
            let checked = check(form, &text);
            assert_eq!(checked.diagnostics, [], "{text}");
            let machine = checked.machine.unwrap();
            let all = ["verify test true false", "verify lint false false", "verify docs true true"];
            assert_eq!(asked(&machine), all, "{text}");
            assert_eq!(Machine::from_value(&machine.to_value()).unwrap(), machine);
            let written = write(&machine, form.notation(), None).text;
            let again = check(if form == Form::Markdown { Form::Mermaid } else { form }, &written);
            assert_eq!(asked(&again.machine.unwrap()), all, "{written}");
            assert_eq!(asked(&machine.clone().asking_for(&[])), all[..2]);
            let named = machine.asking_for(&["docs".to_owned()]);
            assert_eq!(asked(&named)[2], "verify docs true false");
        }
    }

    #[test]
    fn a_requirement_that_is_misspelt_is_an_error_and_never_left_out() {
        for list in [
            "[{exec: Test Me}]",
            "[{exce: test}]",
            "[{exec: test, fersh: true}]",
            "[{exec: test, fresh: maybe}]",
            "[test]",
            "[{fresh: true}]",
            "true",
        ] {
            for (form, text) in texts(list) {
                let checked = check(form, &text);
                assert!(checked.machine.is_none(), "{text}");
                let codes: Vec<_> = checked.diagnostics.iter().map(|one| one.code).collect();
                assert!(codes.iter().all(|code| ["requirement_invalid", "schema"].contains(code)), "{text}: {codes:?}");
            }
        }
        let elsewhere = format!("---\nflow: {{requires: {{verfiy: [{{exec: test}}]}}}}\n---\n{DIAGRAM}");
        let checked = check(Form::Mermaid, &elsewhere);
        assert_eq!(checked.diagnostics[0].code, "requirement_unknown");
        assert_eq!(checked.diagnostics[0].help.as_deref(), Some("did you mean `verify`?"));
    }
}
