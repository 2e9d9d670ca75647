//! A workflow as a state machine: states and transitions.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::codec;
use crate::machine::diagnostic::Diagnostic;
use crate::machine::notation::Notation;
use crate::model::{StateName, WorkflowId, sha256_hex};

/// A compiled workflow.
///
/// It always has at least one state and one initial state. State names are unique, and all initial states, terminal
/// states and transitions refer to existing states.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    parts: Parts,
    /// The index of each state, and the indices of the transitions that leave it.
    index: HashMap<StateName, (usize, Vec<usize>)>,
}

/// A state of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// Its name, unique in the machine.
    pub name: StateName,
    /// A label to show instead of the name.
    pub label: Option<String>,
    /// Its type, as the notation calls it: `bash`, `agent`, …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// Further settings in its definition, for whatever runs the state.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
}

impl State {
    /// The type of a state whose definition has none.
    pub const USUAL: &str = "state";
}

/// A transition from one state to another, or to itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Transition {
    /// The state that it leaves.
    pub from: StateName,
    /// The state to which it leads.
    pub to: StateName,
    /// A label: when it is taken, for people.
    pub label: Option<String>,
}

/// A command that must have been seen to pass before a run leaves a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Requirement {
    /// The state.
    pub state: StateName,
    /// The command, as the project names it.
    pub exec: String,
    /// Whether it must have passed on the files as they are then.
    pub fresh: bool,
    /// Whether it is asked for only where the project names such a command when a run begins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub if_named: bool,
}

/// The checked parts of a definition; see [`compile`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    pub(super) id: WorkflowId,
    pub(super) version: u64,
    pub(super) notation: Notation,
    pub(super) states: Vec<State>,
    pub(super) initial: Vec<StateName>,
    pub(super) terminal: Vec<StateName>,
    pub(super) gates: Vec<StateName>,
    pub(super) requires: Vec<Requirement>,
    pub(super) transitions: Vec<Transition>,
}

/// Why a pinned machine cannot be used.
#[derive(Debug, Error)]
pub enum MachineError {
    /// It does not have the format that [`Machine::to_value`] writes.
    #[error("the pinned workflow cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    /// It breaks a rule of machines.
    #[error("the pinned workflow is not valid: {}", list(.0))]
    Invalid(Vec<Diagnostic>),
}

fn list(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let messages = errors.map(|error| error.message.as_str()).collect::<Vec<_>>();
    messages.join("; ")
}

impl Machine {
    /// Builds a machine from checked parts.
    pub(super) fn new(parts: Parts) -> Self {
        let mut index = HashMap::new();
        for (at, state) in parts.states.iter().enumerate() {
            index.insert(state.name.clone(), (at, Vec::new()));
        }
        for (at, transition) in parts.transitions.iter().enumerate() {
            if let Some((_, outgoing)) = index.get_mut(&transition.from) {
                outgoing.push(at);
            }
        }
        Self { parts, index }
    }

    /// The workflow's id.
    #[must_use]
    pub fn id(&self) -> &WorkflowId {
        &self.parts.id
    }

    /// The workflow's version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.parts.version
    }

    /// Whether it is written as phases, whose work is recorded.
    #[must_use]
    pub fn is_phases(&self) -> bool {
        self.parts.notation == Notation::Phases
    }

    /// The notation of its definition.
    #[must_use]
    pub fn notation(&self) -> Notation {
        self.parts.notation
    }

    /// The states in the order of the definition.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.parts.states
    }

    /// The states in which a run can start, the usual one first.
    #[must_use]
    pub fn initial(&self) -> &[StateName] {
        &self.parts.initial
    }

    /// The states in which a run can end.
    #[must_use]
    pub fn terminal(&self) -> &[StateName] {
        &self.parts.terminal
    }

    /// The states that only a person lets a run leave.
    #[must_use]
    pub fn gates(&self) -> &[StateName] {
        &self.parts.gates
    }

    /// What must have been seen to pass before a run leaves a state.
    #[must_use]
    pub fn requires(&self) -> &[Requirement] {
        &self.parts.requires
    }

    pub(super) fn requires_mut(&mut self) -> &mut Vec<Requirement> {
        &mut self.parts.requires
    }

    /// The transitions in the order of the definition.
    #[must_use]
    pub fn transitions(&self) -> &[Transition] {
        &self.parts.transitions
    }

    /// The state with this name.
    #[must_use]
    pub fn state(&self, name: &StateName) -> Option<&State> {
        self.index.get(name).map(|(at, _)| &self.parts.states[*at])
    }

    /// The place of a state among all, from 1; `None` if it is unknown.
    #[must_use]
    pub fn place_of(&self, name: &StateName) -> Option<usize> {
        Some(self.parts.states.iter().position(|state| state.name == *name)? + 1)
    }

    /// Whether there is a state with this name.
    #[must_use]
    pub fn contains(&self, name: &StateName) -> bool {
        self.index.contains_key(name)
    }

    /// The states that can follow `from`, without repeats (several transitions may lead to one state).
    #[must_use]
    pub fn next_of(&self, from: &StateName) -> Vec<StateName> {
        let mut next: Vec<StateName> = Vec::new();
        for transition in self.successors(from) {
            if !next.contains(&transition.to) {
                next.push(transition.to.clone());
            }
        }
        next
    }

    /// The transitions that leave `name`, in the order of the definition; empty for an unknown state.
    pub fn successors<'a>(&'a self, name: &StateName) -> impl Iterator<Item = &'a Transition> + use<'a> {
        let outgoing = match self.index.get(name) {
            Some((_, outgoing)) => outgoing.as_slice(),
            None => &[],
        };
        outgoing.iter().map(|&at| &self.parts.transitions[at])
    }

    /// Whether the transition from `from` to `to` goes back for another round: every path from an initial state to
    /// `from` leads through `to` (a back edge: its target dominates its source).
    #[must_use]
    pub fn leads_back(&self, from: &StateName, to: &StateName) -> bool {
        // No path at all leads to a state that cannot be reached, so nothing goes back from there.
        self.is_reached(from, None) && !self.is_reached(from, Some(to))
    }

    /// Whether every way from the beginning to `to` leads through `gate`, which is another state. No way leads to a state
    /// that cannot be reached, so nothing has to be passed on it.
    #[must_use]
    pub fn is_behind(&self, to: &StateName, gate: &StateName) -> bool {
        to != gate && self.leads_back(to, gate)
    }

    /// Whether no run can end from `from` without passing `gate`: what is done there is done before the gate.
    #[must_use]
    pub fn is_before(&self, from: &StateName, gate: &StateName) -> bool {
        // If a run can end nowhere, no gate is what stands between it and its end.
        if from == gate || self.parts.terminal.is_empty() {
            return false;
        }
        !self.leads(std::slice::from_ref(from), |name| self.is_terminal(name), Some(gate))
    }

    /// Whether no run of it ends without coming to `state`.
    #[must_use]
    pub fn is_on_every_way(&self, state: &StateName) -> bool {
        self.initial().iter().all(|initial| initial == state || self.is_before(initial, state))
    }

    /// Whether a run can reach `state` without passing through `but`.
    fn is_reached(&self, state: &StateName, but: Option<&StateName>) -> bool {
        self.leads(&self.parts.initial, |name| name == state, but)
    }

    /// Whether a way leads from one of the states `from` to one that `is_meant`, without passing through `but`.
    fn leads(&self, from: &[StateName], is_meant: impl Fn(&StateName) -> bool, but: Option<&StateName>) -> bool {
        // A state that counts as seen is never entered.
        let mut seen: HashSet<&StateName> = but.into_iter().collect();
        let mut ahead: Vec<&StateName> = from.iter().collect();
        while let Some(name) = ahead.pop() {
            if !seen.insert(name) {
                continue;
            }
            if is_meant(name) {
                return true;
            }
            ahead.extend(self.successors(name).map(|transition| &transition.to));
        }
        false
    }

    /// The states to which a run moves on from `from`, without those to which it goes back. If it can neither move on
    /// nor end, those to which it goes back.
    #[must_use]
    pub fn ahead_of(&self, from: &StateName) -> Vec<StateName> {
        let next = self.next_of(from);
        let ahead: Vec<_> = next.iter().filter(|to| !self.leads_back(from, to)).cloned().collect();
        // A run must be able to go somewhere.
        if ahead.is_empty() && !self.is_terminal(from) { next } else { ahead }
    }

    /// Whether a run can come from `from` to `to` without going back.
    #[must_use]
    pub fn leads_on(&self, from: &StateName, to: &StateName) -> bool {
        let (mut seen, mut ahead) = (HashSet::new(), vec![from.clone()]);
        while let Some(name) = ahead.pop() {
            if name == *to {
                return true;
            }
            if seen.insert(name.clone()) {
                ahead.extend(self.next_of(&name).into_iter().filter(|next| !self.leads_back(&name, next)));
            }
        }
        false
    }

    /// The usual state after `from`: the only one that can follow, or the first one if all others go back for another
    /// round. `None` if there is a choice. Ending the run in `from` is a choice too, unless exactly one state can
    /// follow and it does not go back.
    #[must_use]
    pub fn usual_next(&self, from: &StateName) -> Option<StateName> {
        let next = self.next_of(from);
        let ahead = self.ahead_of(from);
        if ahead.len() != 1 || next.first() != ahead.first() {
            return None;
        }
        // Then there are two choices: to end here, and to go back for another round.
        if self.is_terminal(from) && next.len() > 1 {
            return None;
        }
        next.into_iter().next()
    }

    /// The states, other than `from` itself, to which a run can go back from `from`.
    #[must_use]
    pub fn back_from(&self, from: &StateName) -> Vec<StateName> {
        self.next_of(from).into_iter().filter(|to| to != from && self.leads_back(from, to)).collect()
    }

    /// Whether a run can end in `name`.
    #[must_use]
    pub fn is_terminal(&self, name: &StateName) -> bool {
        self.parts.terminal.contains(name)
    }

    /// The state whose name is most similar to `given`, if one is similar enough.
    #[must_use]
    pub fn suggest(&self, given: &str) -> Option<&StateName> {
        let meant = codec::similar(given, self.parts.states.iter().map(|state| state.name.as_str()))?;
        let at = self.parts.states.iter().position(|state| state.name.as_str() == meant)?;
        Some(&self.parts.states[at].name)
    }

    /// Renames states as in `names` if the names differ only in `-` and `_`: the original scripts wrote `fan_out` for
    /// `fan-out` (FlowRun).
    #[must_use]
    pub fn spelled_as<'a>(mut self, names: impl IntoIterator<Item = &'a StateName>) -> Self {
        for name in names {
            // Both spellings may be states of one machine. Then each means itself.
            if self.contains(name) {
                continue;
            }
            let spelled = name.as_str().replace('_', "-");
            if let Some(known) = self.parts.states.iter().find(|state| state.name.as_str().replace('_', "-") == spelled)
            {
                let known = known.name.clone();
                self.rename(&known, name);
            }
        }
        self
    }

    fn rename(&mut self, old: &StateName, new: &StateName) {
        let mut names: Vec<&mut StateName> = Vec::new();
        names.extend(self.parts.states.iter_mut().map(|state| &mut state.name));
        for transition in &mut self.parts.transitions {
            names.extend([&mut transition.from, &mut transition.to]);
        }
        names.extend(self.parts.requires.iter_mut().map(|one| &mut one.state));
        names.extend(self.parts.initial.iter_mut().chain(&mut self.parts.terminal).chain(&mut self.parts.gates));
        for name in names {
            if name == old {
                name.clone_from(new);
            }
        }
        if let Some(place) = self.index.remove(old) {
            self.index.insert(new.clone(), place);
        }
    }

    /// A digest of what determines where a run can go: states, initial and terminal states, transitions and their
    /// order. Labels, descriptions and the version are not included.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut states: Vec<_> = self.parts.states.iter().map(|state| &state.name).collect();
        states.sort_unstable();
        let mut terminal: Vec<_> = self.parts.terminal.iter().collect();
        terminal.sort_unstable();
        let mut transitions = self.edges();
        // A stable sort keeps the order of a state's successors, which matters: the first one is proposed.
        transitions.sort_by_key(|(from, _)| *from);
        let canonical = json!([states, self.parts.initial, terminal, transitions]).to_string();
        format!("sha256:{}", sha256_hex(canonical.as_bytes()))
    }

    /// The source and target of every transition, without those that differ only in the label.
    pub(super) fn edges(&self) -> Vec<(&StateName, &StateName)> {
        let mut seen = HashSet::new();
        let mut edges = Vec::new();
        for one in &self.parts.transitions {
            if seen.insert((&one.from, &one.to)) {
                edges.push((&one.from, &one.to));
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Difference;
    use crate::machine::{Form, StateTypes, compile_text};
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// A machine from the phases `name>next,next`, `!` marking a terminal one.
    fn machine(phases: &str) -> Machine {
        let mut text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n".to_owned();
        for phase in phases.split(' ') {
            let (name, next) = phase.split_once('>').unwrap_or((phase, ""));
            let terminal = name.ends_with('!');
            let name = name.trim_end_matches('!');
            let _ = writeln!(text, "  - {{id: {name}, next: [{next}], terminal: {terminal}}}");
        }
        let checked = compile_text(Form::Phases, &text, "w", &StateTypes::default());
        checked.machine.unwrap_or_else(|| panic!("{:?}", checked.diagnostics))
    }

    fn name(text: &str) -> StateName {
        StateName::new(text).unwrap()
    }

    #[test]
    fn a_machine_answers_where_a_run_can_go() {
        let machine = machine("plan>build build>review,plan review!");
        let next = |from: &str| {
            let to = machine.successors(&name(from)).map(|one| one.to.to_string());
            to.collect::<Vec<_>>()
        };
        assert_eq!(next("build"), ["review", "plan"]);
        assert_eq!(next("review"), [""; 0]);
        assert_eq!(next("elsewhere"), [""; 0]);
        assert!(machine.is_terminal(&name("review")) && !machine.is_terminal(&name("plan")));
        assert!(machine.contains(&name("plan")) && machine.state(&name("nope")).is_none());
        assert_eq!(machine.suggest("bulid"), Some(&name("build")));
        assert_eq!(machine.suggest("zzz"), None);
    }

    #[test]
    fn the_digest_ignores_words_and_sees_structure() {
        let one = machine("a>b,c b! c!");
        let mut value = one.to_value();
        value["states"][0]["description"] = "other words".into();
        value["version"] = 7.into();
        assert_eq!(Machine::from_value(&value).unwrap().digest(), one.digest());
        assert_ne!(machine("a>b,c b c!").digest(), one.digest());
        assert_ne!(machine("a>c,b b! c!").digest(), one.digest());
        let digest = one.digest();
        assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    }

    #[test]
    fn a_damaged_pinned_machine_is_refused() {
        let good = machine("a>b b!").to_value();
        for (pointer, bad) in [
            ("/initial/0", json!("nowhere")),
            ("/states", json!([])),
            ("/initial", json!([])),
            ("/transitions/0/to", json!("c")),
            ("/states/0/name", json!("a b")),
            ("/notation", json!("prose")),
            ("/id", json!("../x")),
            ("/version", json!("1")),
        ] {
            let mut value = good.clone();
            *value.pointer_mut(pointer).unwrap() = bad;
            assert!(Machine::from_value(&value).is_err(), "{pointer}");
        }
        assert!(Machine::from_value(&Value::Null).is_err());
    }

    proptest! {
        #[test]
        fn pinning_loses_nothing(edges in proptest::collection::vec((0..8_u8, 0..8_u8), 0..30), last in 0..8_u8) {
            let phases = (0..8).map(|from| {
                let next = edges.iter().filter(|edge| edge.0 == from).map(|edge| format!("s{}", edge.1));
                let mark = if from == last { "!" } else { "" };
                format!("s{from}{mark}>{}", next.collect::<Vec<_>>().join(","))
            });
            let machine = machine(&phases.collect::<Vec<_>>().join(" "));
            let value = machine.to_value();
            let again = Machine::from_value(&value).unwrap();
            prop_assert_eq!(&again, &machine);
            prop_assert_eq!(again.digest(), machine.digest());
            prop_assert_eq!(again.to_value().to_string(), value.to_string());
        }
    }

    #[test]
    fn differences_name_what_matters_to_a_run() {
        let old = machine("plan>build build>review review!");
        assert_eq!(old.differences(&old), []);
        let new =
            machine("plan>design design>build build>review! review>plan last!".replace("review!", "review").as_str());
        assert_eq!(
            old.differences(&new).iter().map(Difference::to_string).collect::<Vec<_>>(),
            [
                "state `design` added",
                "state `last` added",
                "transition `plan` → `build` removed",
                "transition `plan` → `design` added",
                "transition `design` → `build` added",
                "transition `review` → `plan` added",
                "state `review` is no longer terminal",
            ]
        );
        let (one, other) = (machine("a>b,c b! c!"), machine("a>c,b b! c!"));
        assert_eq!(one.differences(&other), [Difference::Order]);
    }
}
