//! The graph notation (ARKOS): states in YAML, each with its type and the states that can follow.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::codec::{self, Node, Tree};
use crate::machine::diagnostic::push_within_limit;
use crate::machine::foreign;
use crate::machine::requires::{self, REQUIRES};
use crate::machine::source::PERSON;
use crate::machine::{Diagnostic, MachineSource, Name, Notation, SourceState, SourceTransition, unread};

/// The types of states that a graph may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateTypes(BTreeSet<String>);

impl StateTypes {
    /// The types in ARKOS's table.
    pub const BUILT_IN: [&str; 5] = ["agent", "user", "tool", "decision", "terminal"];

    /// The built-in types and `more`.
    #[must_use]
    pub fn with(more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Self::BUILT_IN.into_iter().map(str::to_owned).chain(more.into_iter().map(Into::into)).collect())
    }

    /// Adds `more`.
    #[must_use]
    pub fn and(mut self, more: &[String]) -> Self {
        self.0.extend(more.iter().cloned());
        self
    }
}

impl Default for StateTypes {
    fn default() -> Self {
        Self::with(Vec::<String>::new())
    }
}

/// Keys at the top of the document.
const ROOT_KEYS: [&str; 4] = ["initial", "states", "description", "types"];
/// Keys of a state.
const STATE_KEYS: [&str; 5] = ["type", "description", "transition", "gate", REQUIRES];
/// Values of `gate`. All but the first describe the state, as in phases.
const GATES: [&str; 6] = [PERSON, "none", "blocking", "completion", "spec_validation", "stranger_test"];
/// Keys with which other notations say that a run ends in a state.
const TERMINAL_KEYS: [&str; 6] = ["terminal", "is_terminal", "isTerminal", "final", "is_final", "end"];
/// Types of states in which no command runs. Settings of such states probably have no reader.
const NO_COMMAND: [&str; 3] = ["user", "decision", "terminal"];
/// Words that YAML 1.1 reads as a boolean or null, and YAML 1.2 as text.
const WORDS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "none", "nil"];

/// Words that every version of YAML reads as something other than text.
const NO_TEXT: [&str; 4] = ["true", "false", "null", "~"];

/// Whether some YAML readers take `text` for a number or a date, without agreeing on its value.
fn is_odd_number(text: &str) -> bool {
    // Every reader takes a whole number without leading zeros and signs for the same value.
    if let Ok(number) = text.parse::<u64>()
        && number.to_string() == text
    {
        return false;
    }
    let digits = text.replace('_', "");
    digits.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"].iter().any(|base| digits.starts_with(base))
        // YAML 1.1 has numbers to the base 60.
        || are_numbers(digits.split(':'))
        || digits.as_bytes().get(4) == Some(&b'-') && are_numbers(digits.split('-'))
}

fn are_numbers<'a>(mut parts: impl Iterator<Item = &'a str>) -> bool {
    parts.all(|part| part.parse::<u32>().is_ok())
}

/// Reads a graph; `id` is the workflow's id.
pub(super) fn parse(text: &str, id: &str, types: &StateTypes) -> (Option<MachineSource>, Vec<Diagnostic>) {
    let root = match foreign::refuse_foreign(text, codec::parse_with_repeats(text), &types.0, id) {
        Ok(root) => root,
        Err(problem) => return (None, vec![*problem]),
    };
    let mut graph = Graph { text, types: types.clone(), names: BTreeSet::new(), diagnostics: Vec::new() };
    let source = graph.read(&root, id);
    (source, graph.diagnostics)
}

/// The value of a key that is there and not null.
fn present<'n>(body: &'n Node, key: &str) -> Option<&'n Node> {
    body.get(key).filter(|node| !matches!(node.tree, Tree::Null))
}

/// A graph being read.
struct Graph<'a> {
    text: &'a str,
    types: StateTypes,
    /// The names of the states.
    names: BTreeSet<SmolStr>,
    diagnostics: Vec<Diagnostic>,
}

impl Graph<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        push_within_limit(&mut self.diagnostics, diagnostic);
    }

    fn error(&mut self, code: &'static str, at: &Node, message: impl Into<String>) {
        self.report(Diagnostic::error(code, &Name::of_node(at), message));
    }

    fn read(&mut self, root: &Node, id: &str) -> Option<MachineSource> {
        if root.tree == Tree::Null {
            self.error("empty_document", root, "the file has no states: it is empty or holds comments only");
            return None;
        }
        self.more_types(root);
        self.repeats(root, |key| ROOT_KEYS.contains(&key));
        let states = self.states(root)?;
        let names: Vec<_> = states.iter().map(|(key, _)| Name::of_node(key)).collect();
        self.names.extend(names.iter().map(|name| name.text.clone()));
        for ((key, _), name) in states.iter().zip(&names) {
            self.look_at_scalar(name, key);
        }
        let mut source = MachineSource::new(Name::nowhere(id), Notation::Graph);
        source.initial.extend(self.initial(root, names.first()));
        for ((_, body), name) in states.iter().zip(names) {
            self.state(&name, body, &mut source);
        }
        Some(source)
    }

    /// Reports repeated keys: other readers take the last one, or refuse the file.
    fn repeats(&mut self, mapping: &Node, is_key: impl Fn(&str) -> bool) {
        let mut seen = BTreeSet::new();
        for (key, _) in mapping.entries() {
            let Some(text) = key.text().filter(|text| is_key(text)) else { continue };
            if !seen.insert(text) {
                self.error("duplicate_key", key, format!("`{text}` is there already"));
            }
        }
    }

    /// Adds the types that the document declares itself.
    fn more_types(&mut self, root: &Node) {
        let Some(types) = root.get("types") else { return };
        for one in types.items() {
            match self.scalar(one) {
                Some(name) => drop(self.types.0.insert(name.text.into())),
                None => self.error("type_invalid", one, "`types` lists the names of types"),
            }
        }
        if !matches!(types.tree, Tree::Sequence(_)) {
            self.error("type_invalid", types, "`types` lists the names of types");
        }
    }

    /// The states: those below `states:`, or in the flat form all keys that have no other meaning.
    fn states<'n>(&mut self, root: &'n Node) -> Option<Vec<&'n (Node, Node)>> {
        let others = root.entries().iter().filter(|(key, _)| key.text().is_none_or(|key| !ROOT_KEYS.contains(&key)));
        let Some(states) = root.get("states") else {
            let states: Vec<_> = others.collect();
            if states.is_empty() {
                self.error("states_empty", root, "the graph has no states");
                return None;
            }
            return Some(states);
        };
        for (key, _) in others {
            match unread::at_root(key) {
                Some(warning) => self.report(warning),
                None => self.unknown_key(key, &ROOT_KEYS),
            }
        }
        match &states.tree {
            Tree::Mapping(entries) if !entries.is_empty() => Some(entries.iter().collect()),
            Tree::Mapping(_) => {
                self.error("states_empty", states, "the graph has no states");
                None
            }
            _ => {
                self.error(
                    "states_not_mapping",
                    states,
                    "`states` must hold one entry for each state: `name: {type: …}`",
                );
                None
            }
        }
    }

    fn initial(&mut self, root: &Node, first: Option<&Name>) -> Option<Name> {
        let Some(node) = present(root, "initial") else {
            let first = first?;
            let message = format!("without `initial:` a run begins in the first state, `{}`", first.text);
            self.report(Diagnostic::warning("initial_defaulted", first, message));
            return Some(first.clone());
        };
        if let Some(name) = self.scalar(node) {
            return Some(name);
        }
        self.error("initial_invalid", node, "`initial` names one state");
        // Without one, the check would report that as a second problem.
        first.cloned()
    }

    fn state(&mut self, name: &Name, body: &Node, source: &mut MachineSource) {
        let mut state = SourceState::named(name.clone());
        if matches!(body.tree, Tree::Mapping(_)) {
            self.repeats(body, |_| true);
            state.kind = self.kind(name, body);
            state.description = self.description(body);
            let before = self.diagnostics.len();
            let next = self.next(body);
            // Otherwise nothing may follow only because that could not be read.
            let is_read = self.diagnostics.len() == before;
            if self.has_gate(body) {
                source.gates.push(name.clone());
            }
            if let Some(list) = body.get(REQUIRES) {
                for problem in requires::read(list, name, &mut source.requires) {
                    self.report(problem);
                }
            }
            state.config = self.settings(body, state.kind.as_deref());
            let is_terminal = state.kind.as_deref() == Some("terminal");
            // An empty list says that nothing follows.
            let listed = body.get("transition").and_then(|transition| transition.get("next"));
            let is_said = listed.is_some_and(|next| next.tree == Tree::Sequence(Vec::new()));
            if is_terminal && !next.is_empty() {
                let message = format!("`{}` is terminal, so nothing follows it", name.text);
                let warning = Diagnostic::warning("terminal_has_next", &next[0], message);
                self.report(warning.with_help("flow ignores `next`"));
            } else if next.is_empty() && !is_terminal && is_read && !is_said {
                let message = format!("nothing follows `{}`, so a run ends there", name.text);
                let warning = Diagnostic::warning("implicit_terminal", name, message);
                self.report(
                    warning.with_help("say so with `next: []`, or with `type: terminal` where there is nothing to do, or name what follows in `transition.next`"),
                );
            }
            if is_terminal || next.is_empty() {
                source.terminal.push(name.clone());
            } else {
                for to in next {
                    source.transitions.push(SourceTransition { from: name.clone(), to, label: None });
                }
            }
        } else {
            let message = format!("the state `{}` must hold `type:` and what can follow", name.text);
            self.report(Diagnostic::error("state_not_mapping", name, message));
        }
        source.states.push(state);
    }

    /// Whether only a person lets a run leave the state. An unknown value is an error, because the run would not wait.
    fn has_gate(&mut self, body: &Node) -> bool {
        let Some(node) = present(body, "gate") else { return false };
        let value = match node.tree {
            Tree::Sequence(_) | Tree::Mapping(_) => "",
            _ => self.text.get(node.span.clone()).unwrap_or_default(),
        };
        let value = node.text().unwrap_or(value);
        if GATES.contains(&value) {
            return value == PERSON;
        }
        let help = match codec::similar(value, GATES.into_iter()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`gate: person` waits for a person".to_owned(),
        };
        let message = match value {
            "" => "`gate` is one word".to_owned(),
            _ => format!("`{value}` is not a gate of a state"),
        };
        self.report(Diagnostic::error("gate_invalid", &Name::of_node(node), message).with_help(help));
        false
    }

    fn description(&mut self, body: &Node) -> Option<String> {
        let node = body.get("description")?;
        match &node.tree {
            Tree::Null => None,
            Tree::Text(text) => Some(text.to_string()),
            // As it is written, not as YAML reads it: `1.0` stays `1.0`.
            Tree::Number(_) | Tree::Bool(_) => self.text.get(node.span.clone()).map(str::to_owned),
            Tree::Sequence(_) | Tree::Mapping(_) => {
                self.error("description_invalid", node, "`description` is a text");
                None
            }
        }
    }

    fn kind(&mut self, name: &Name, body: &Node) -> Option<String> {
        let Some(node) = present(body, "type") else {
            let message = format!("the state `{}` has no `type`", name.text);
            self.report(Diagnostic::error("missing_type", name, message).with_help(self.known_types()));
            return None;
        };
        let Some(kind) = node.text() else {
            self.error("type_invalid", node, "`type` is one word");
            return None;
        };
        if self.types.0.contains(kind) {
            return Some(kind.to_owned());
        }
        let meant = codec::similar(kind, self.types.0.iter().map(String::as_str));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`? {}", self.known_types()),
            None => format!("{}; others are declared in `types: [{kind}]`", self.known_types()),
        };
        let message = format!("`{kind}`, the type of the state `{}`, is not known", name.text);
        // A run can go through such a state. Only `flow drive` has to know what to do in it, and it asks for that.
        self.report(Diagnostic::warning("unknown_type", &Name::of_node(node), message).with_help(help));
        Some(kind.to_owned())
    }

    fn known_types(&self) -> String {
        let known: Vec<_> = self.types.0.iter().map(String::as_str).collect();
        format!("known types are {}", known.join(", "))
    }

    /// The states that can follow.
    fn next(&mut self, body: &Node) -> Vec<Name> {
        if let Some((key, _)) = body.entries().iter().find(|(key, _)| key.text() == Some("next")) {
            // Not a setting: a run would end here instead of going on.
            let message = "`next` belongs below `transition`";
            let problem = Diagnostic::error("misplaced_next", &Name::of_node(key), message);
            self.report(problem.with_help("write `transition: {next: […]}`"));
        }
        let Some(transition) = body.get("transition") else { return Vec::new() };
        match transition.tree {
            Tree::Null => return Vec::new(),
            Tree::Mapping(_) => {}
            _ => {
                let message = "`transition` must hold `next:` with the states that can follow";
                self.error("transition_invalid", transition, message);
                return Vec::new();
            }
        }
        self.repeats(transition, |_| true);
        for (key, _) in transition.entries() {
            if key.text() == Some("next") {
                continue;
            }
            let message = format!("`{}` is not a key of a transition", key.text().unwrap_or_default());
            let problem = Diagnostic::error("transition_unknown_key", &Name::of_node(key), message);
            self.report(problem.with_help("a transition has one key, `next`"));
        }
        let Some(next) = transition.get("next") else { return Vec::new() };
        match &next.tree {
            Tree::Null => Vec::new(),
            Tree::Sequence(items) => items.iter().filter_map(|item| self.target(item)).collect(),
            _ => self.target(next).into_iter().collect(),
        }
    }

    fn target(&mut self, node: &Node) -> Option<Name> {
        let name = self.scalar(node);
        if name.is_none() {
            self.error("next_invalid", node, "`next` is the name of a state or a list of names");
        }
        name
    }

    /// The name in a scalar, exactly as it is written.
    fn scalar(&mut self, node: &Node) -> Option<Name> {
        let mut name = Name::of_node(node);
        match node.tree {
            Tree::Text(_) => {}
            Tree::Number(_) | Tree::Bool(_) => name.text = self.text.get(node.span.clone())?.into(),
            Tree::Null | Tree::Sequence(_) | Tree::Mapping(_) => return None,
        }
        self.look_at_scalar(&name, node);
        Some(name)
    }

    /// Warns about a name that other YAML readers take for a boolean, null or number.
    fn look_at_scalar(&mut self, name: &Name, node: &Node) {
        // A name in quotation marks is a text to every reader.
        if self.text.get(node.span.clone()) != Some(name.text.as_str()) {
            return;
        }
        let lower = name.text.to_lowercase();
        if WORDS.contains(&lower.as_str()) || NO_TEXT.contains(&lower.as_str()) || is_odd_number(&lower) {
            let message = format!("some readers of YAML do not take `{}` for text", name.text);
            let warning = Diagnostic::warning("ambiguous_scalar", name, message);
            self.report(warning.with_help(format!("write it in quotation marks: \"{}\"", name.text)));
        }
    }

    /// The other keys of a state. They are settings for whatever runs the state.
    fn settings(&mut self, body: &Node, kind: Option<&str>) -> Map<String, Value> {
        let mut settings = Map::new();
        for (key, value) in body.entries() {
            let text = key.text().unwrap_or_default();
            // A `next` was reported, and is not a setting.
            if STATE_KEYS.contains(&text) || text == "next" {
                continue;
            }
            let is_misspelt = requires::meant(text, &STATE_KEYS).is_some();
            let says_terminal = TERMINAL_KEYS.contains(&text) && value.tree == Tree::Bool(true);
            if says_terminal && kind != Some("terminal") {
                let message = format!("`{text}: true` is a setting of the state and does not make it terminal");
                let warning = Diagnostic::warning("misplaced_terminal", &Name::of_node(key), message);
                self.report(
                    warning.with_help("write `type: terminal` if a run ends here with nothing to do, or `next: []`"),
                );
            } else if is_misspelt || kind.is_some_and(|kind| NO_COMMAND.contains(&kind)) {
                self.unknown_key(key, &STATE_KEYS);
            } else {
                self.warn_of_lost_states(key, value);
            }
            settings.insert(text.to_owned(), value.to_value());
        }
        settings
    }

    /// Warns about a setting in which other notations have states or transitions: no run follows them.
    fn warn_of_lost_states(&mut self, key: &Node, value: &Node) {
        let is_nested = matches!(value.tree, Tree::Mapping(_));
        let (what, help) = match key.text() {
            Some("states") if is_nested => ("has no states of its own", "name all states beside each other"),
            Some("on") if value.entries().iter().any(|(_, to)| self.names_a_state(to)) => {
                ("is not left by events", "write `transition: {next: [STATE]}`")
            }
            _ => return,
        };
        let key = Name::of_node(key);
        let message = format!("a state of a graph {what}: no run follows what `{}` says", key.text);
        self.report(Diagnostic::warning("states_unread", &key, message).with_help(help));
    }

    /// Whether a value is the name of a state, or a mapping or list with one.
    fn names_a_state(&self, value: &Node) -> bool {
        let target = value.get("target").unwrap_or(value);
        std::iter::once(target).chain(value.items()).any(|one| {
            let one = one.get("target").unwrap_or(one);
            one.text().is_some_and(|name| self.names.contains(name))
        })
    }

    /// A key that is like a known one may still be meant as it is written, so that it is a warning as well.
    fn unknown_key(&mut self, key: &Node, known: &[&str]) {
        let text = key.text().unwrap_or_default();
        self.report(requires::misspelt(key, known).unwrap_or_else(|| {
            let message = format!("flow does not know the key `{text}`");
            Diagnostic::warning("unknown_key", &Name::of_node(key), message)
        }));
    }
}

#[cfg(test)]
mod tests;
