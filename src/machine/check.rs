//! The rules for every machine, independent of its notation.

use std::collections::{HashMap, HashSet};

use crate::codec;
use crate::machine::machine::Parts;
use crate::machine::requires::invalid;
use crate::machine::{
    Diagnostic, Machine, MachineSource, Name, Notation, Requirement, SourceRequirement, SourceTransition, State,
    Transition,
};
use crate::model::{ActivityId, StateName, WorkflowId, limits};

/// How many diagnostics may get a "did you mean", and how many states are searched for it. The search takes longer than
/// all other checks, and a hostile definition can have thousands of both.
const SUGGESTIONS: usize = 20;
const CANDIDATES: usize = 1000;

/// A machine, and warnings about its definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// What its states, transitions and gates are.
    pub machine: Machine,
    /// What was probably not intended.
    pub warnings: Vec<Diagnostic>,
}

/// Checks `source` and compiles it to a machine.
///
/// # Errors
/// All problems of the definition, at least one of them an error; at most [`limits::VIOLATIONS`] of each severity.
pub fn compile(source: &MachineSource) -> Result<Compiled, Vec<Diagnostic>> {
    // Before anything else: a file may hold so many that the checks below would take long.
    if source.states.len() > limits::STATES || source.transitions.len() > limits::TRANSITIONS {
        return Err(vec![too_many(&source.id)]);
    }
    let mut check = Check::new(source);
    let id = check.id();
    let states = check.states();
    let transitions = check.transitions();
    let initial = check.marked(&source.initial, "initial", "initial_unknown");
    let terminal = check.marked(&source.terminal, "terminal", "terminal_unknown");
    let gates = check.marked(&source.gates, "gated", "gate_unknown");
    let requires = check.requires(&states);
    check.beginning(&initial);
    check.reachability(&initial, &terminal, &transitions);
    let Some(id) = id.filter(|_| check.errors.is_empty()) else {
        check.errors.append(&mut check.warnings);
        return Err(check.errors);
    };
    let mut between = Vec::with_capacity(transitions.len());
    for (from, to, one) in transitions {
        let (from, to) = (states[from].name.clone(), states[to].name.clone());
        between.push(Transition { from, to, label: one.label.clone() });
    }
    let machine = Machine::new(Parts {
        id,
        version: source.version,
        notation: source.notation,
        initial: names_of(&states, &initial),
        terminal: names_of(&states, &terminal),
        gates: names_of(&states, &gates),
        requires,
        transitions: between,
        states,
    });
    Ok(Compiled { machine, warnings: check.warnings })
}

fn names_of(states: &[State], indices: &[usize]) -> Vec<StateName> {
    indices.iter().map(|&at| states[at].name.clone()).collect()
}

/// A check in progress.
struct Check<'a> {
    source: &'a MachineSource,
    /// The declared states by name: the name at its first declaration, and its index among the states unless the name
    /// is invalid.
    declared: HashMap<&'a str, (&'a Name, Option<usize>)>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    suggestions: usize,
}

impl<'a> Check<'a> {
    fn new(source: &'a MachineSource) -> Self {
        Self { source, declared: HashMap::new(), errors: Vec::new(), warnings: Vec::new(), suggestions: 0 }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        let list = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        if list.len() < limits::VIOLATIONS {
            list.push(diagnostic);
        }
    }

    fn id(&mut self) -> Option<WorkflowId> {
        match WorkflowId::new(self.source.id.text.clone()) {
            Ok(id) => Some(id),
            Err(error) => {
                self.report(Diagnostic::error("bad_workflow_id", &self.source.id, error.to_string()));
                None
            }
        }
    }

    fn states(&mut self) -> Vec<State> {
        let mut states = Vec::new();
        for state in &self.source.states {
            let name = &state.name;
            if let Some((first, _)) = self.declared.get(name.text.as_str()) {
                let help = format!("it is declared on line {} already", first.place.line);
                let message = format!("the state `{}` is declared twice", name.text);
                self.report(Diagnostic::error("duplicate_state", name, message).with_help(help));
                continue;
            }
            // Declare an invalid name too, so that it is not reported as unknown as well.
            let made = state_name(&name.text);
            self.declared.insert(&name.text, (name, made.is_ok().then_some(states.len())));
            match made {
                Ok(name) => states.push(State {
                    name,
                    label: state.label.clone(),
                    kind: state.kind.clone(),
                    description: state.description.clone(),
                    config: state.config.clone(),
                }),
                Err(error) => self.report(Diagnostic::error("bad_state_name", name, error)),
            }
        }
        if self.source.states.is_empty() {
            let message = "the workflow has no states";
            let mut problem = Diagnostic::error("no_state", &self.source.id, message);
            if self.source.notation == Notation::Mermaid {
                problem = problem.with_help("begin with `[*] --> STATE`, and end with `STATE --> [*]`");
            }
            self.report(problem);
        }
        states
    }

    /// The index of the state that `name` refers to. Reports an unknown one as `code`.
    fn refer(&mut self, name: &Name, code: &'static str) -> Option<usize> {
        if let Some((_, at)) = self.declared.get(name.text.as_str()) {
            // An invalid name has no index. It was reported where it is declared.
            return *at;
        }
        let mut diagnostic = Diagnostic::error(code, name, format!("there is no state `{}`", shown(&name.text)));
        if self.errors.len() < limits::VIOLATIONS && self.suggestions < SUGGESTIONS {
            self.suggestions += 1;
            let known = self.source.states.iter().take(CANDIDATES).map(|state| state.name.text.as_str());
            if let Some(meant) = codec::similar(&name.text, known) {
                diagnostic.help = Some(format!("did you mean `{meant}`?"));
            }
        }
        self.report(diagnostic);
        None
    }

    /// The transitions, each with the indices of its states.
    fn transitions(&mut self) -> Vec<(usize, usize, &'a SourceTransition)> {
        let mut transitions = Vec::new();
        let mut seen = HashSet::new();
        for one in &self.source.transitions {
            let (from, to) = (self.refer(&one.from, "next_unknown"), self.refer(&one.to, "next_unknown"));
            let (Some(from), Some(to)) = (from, to) else { continue };
            // Two transitions between the same states are right if their labels differ.
            if !seen.insert((from, to, one.label.as_deref())) {
                let message = format!("the transition from `{}` to `{}` is there twice", one.from.text, one.to.text);
                self.report(Diagnostic::warning("duplicate_target", &one.to, message));
                continue;
            }
            transitions.push((from, to, one));
        }
        transitions
    }

    /// The states that the source marks as initial, terminal or gated.
    fn marked(&mut self, names: &[Name], what: &str, code: &'static str) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut marked = Vec::new();
        for name in names {
            if !seen.insert(&name.text) {
                continue;
            }
            let errors = self.errors.len();
            marked.extend(self.refer(name, code));
            // There is a further error only if the name is unknown and the list was not full.
            if let Some(error) = self.errors.get_mut(errors) {
                error.message = format!("the {what} state `{}` does not exist", shown(&name.text));
            }
        }
        marked
    }

    /// What must have been seen to pass before a run leaves a state.
    fn requires(&mut self, states: &[State]) -> Vec<Requirement> {
        let mut requires: Vec<Requirement> = Vec::new();
        for SourceRequirement { state, exec, fresh, if_named } in &self.source.requires {
            let Some(at) = self.refer(state, "requirement_unknown") else { continue };
            // The name of a command is the id of its records.
            if let Err(error) = ActivityId::new(exec.text.as_str()) {
                self.report(invalid(exec, &format!("`{}` is not the name of a command: {error}", shown(&exec.text))));
                continue;
            }
            let (state, exec) = (states[at].name.clone(), exec.text.to_string());
            let one = Requirement { state, exec, fresh: *fresh, if_named: *if_named };
            if !requires.contains(&one) {
                requires.push(one);
            }
        }
        requires
    }

    fn beginning(&mut self, initial: &[usize]) {
        // An empty diagram and an unknown name are reported already.
        if initial.is_empty() && self.source.initial.is_empty() && !self.source.states.is_empty() {
            let message = "No initial state defined: a run could not begin";
            let mut problem = Diagnostic::error("no_initial", &self.source.id, message);
            if let (Notation::Mermaid, Some(first)) = (self.source.notation, self.source.states.first()) {
                let first = shown(&first.name.text);
                problem = problem.with_help(format!("add the line `[*] --> {first}`, or name another state in it"));
            }
            self.report(problem);
        }
    }

    /// Warns about states that no run can reach, and about those from which no run can end.
    fn reachability(&mut self, initial: &[usize], terminal: &[usize], edges: &[(usize, usize, &SourceTransition)]) {
        // With errors in the names, these warnings would only be consequences.
        if !self.errors.is_empty() {
            return;
        }
        // There are no errors, so all states exist, in their order.
        let states = &self.source.states;
        let reached = closure(states.len(), initial, edges.iter().map(|(from, to, _)| (*from, *to)));
        let ending = closure(states.len(), terminal, edges.iter().map(|(from, to, _)| (*to, *from)));
        let mut trapped = Vec::new();
        for (at, state) in states.iter().enumerate() {
            if !reached[at] {
                let message = format!("no run can reach the state `{}`", state.name.text);
                let name = shown(&state.name.text);
                let help = match self.source.notation {
                    Notation::Mermaid => {
                        format!("write `STATE --> {name}`, or `[*] --> {name}` if a run may begin there")
                    }
                    Notation::Phases | Notation::Graph => format!("name `{name}` in the `next` of another one"),
                };
                self.report(Diagnostic::warning("unreachable_state", &state.name, message).with_help(help));
            } else if !ending[at] {
                trapped.push(&state.name);
            }
        }
        let (at, message) = match trapped.as_slice() {
            [] => return,
            _ if !terminal.iter().any(|&at| reached[at]) => {
                (&self.source.id, "no terminal state can be reached: a run could not end".to_owned())
            }
            [one] => (*one, format!("no path leads from `{}` to a terminal state: a run could not end", one.text)),
            [first, rest @ ..] => {
                let (name, more) = (&first.text, rest.len());
                let message =
                    format!("no path leads from `{name}` and {more} more to a terminal state: a run could not end");
                (*first, message)
            }
        };
        let help = match self.source.notation {
            Notation::Mermaid => "write `STATE --> [*]` for a state in which a run can end, and a transition to it",
            Notation::Phases => {
                "give a phase in which a run can end `terminal: true`, and name it in the `next` of another one"
            }
            Notation::Graph => {
                "give a state in which a run can end the type `terminal`, and name it in the `next` of another one"
            }
        };
        self.report(Diagnostic::warning("no_path_to_terminal", at, message).with_help(help));
    }
}

/// Which of `count` states can be reached from `start` along `edges`, including `start`.
fn closure(count: usize, start: &[usize], edges: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut next = vec![Vec::new(); count];
    for (from, to) in edges {
        next[from].push(to);
    }
    let mut reached = vec![false; count];
    let mut open = start.to_vec();
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut reached[state], true) {
            open.extend(&next[state]);
        }
    }
    reached
}

/// The error for a definition with more states or transitions than a workflow may have.
pub(super) fn too_many(at: &Name) -> Diagnostic {
    let message = format!(
        "the workflow has more than {} states or {} transitions, which are the most that flow reads",
        limits::STATES,
        limits::TRANSITIONS
    );
    Diagnostic::error("too_large", at, message)
}

/// Parses the name of a state in a definition. It must not have a colon, which separates an agent from its step.
fn state_name(text: &str) -> Result<StateName, String> {
    let name = StateName::new(text).map_err(|error| error.to_string())?;
    if text.contains(':') {
        return Err(format!("the state `{}` has a `:`, which stands between an agent and its step", shown(text)));
    }
    Ok(name)
}

/// A text from a file, shortened for a message.
pub(in crate::machine) fn shown(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    text.chars().take(59).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Place;
    use crate::machine::{SourceState, SourceTransition};

    /// A name on line `line`.
    fn name(text: &str, line: usize) -> Name {
        Name { place: Place { line, column: 1 }, ..Name::nowhere(text) }
    }

    fn source(states: &[&str], initial: &[&str], terminal: &[&str], transitions: &[(&str, &str)]) -> MachineSource {
        let names = |names: &[&str]| names.iter().map(|text| name(text, 90)).collect();
        MachineSource {
            id: name("w", 1),
            version: 1,
            notation: Notation::Mermaid,
            states: (10..)
                .zip(states)
                .map(|(line, text)| SourceState {
                    name: name(text, line),
                    label: None,
                    kind: None,
                    description: None,
                    config: serde_json::Map::new(),
                })
                .collect(),
            initial: names(initial),
            terminal: names(terminal),
            gates: Vec::new(),
            requires: Vec::new(),
            transitions: (50..)
                .zip(transitions)
                .map(|(line, (from, to))| SourceTransition { from: name(from, line), to: name(to, line), label: None })
                .collect(),
        }
    }

    fn problems(source: &MachineSource) -> Vec<(&'static str, usize)> {
        let diagnostics = match compile(source) {
            Ok(compiled) => compiled.warnings,
            Err(problems) => problems,
        };
        diagnostics.iter().map(|one| (one.code, one.place.line)).collect()
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let mut broken = source(
            &["plan", "building", "plan", "a b"],
            &["nowhere"],
            &["end"],
            &[("plan", "bulding"), ("plan", "a b"), ("x", "y")],
        );
        broken.id = name("", 1);
        assert_eq!(
            problems(&broken),
            [
                ("bad_workflow_id", 1),
                ("duplicate_state", 12),
                ("bad_state_name", 13),
                ("next_unknown", 50),
                ("next_unknown", 52),
                ("next_unknown", 52),
                ("initial_unknown", 90),
                ("terminal_unknown", 90),
            ]
        );
        let errors = compile(&broken).unwrap_err();
        assert_eq!(errors[1].help.as_deref(), Some("it is declared on line 10 already"));
        assert_eq!(errors[3].help.as_deref(), Some("did you mean `building`?"));
        assert_eq!(errors[6].message, "the initial state `nowhere` does not exist");
    }

    #[test]
    fn a_machine_needs_a_state_and_a_beginning() {
        assert_eq!(problems(&source(&[], &[], &[], &[])), [("no_state", 1)]);
        let begun = compile(&source(&["a", "b"], &[], &["b"], &[])).unwrap_err();
        assert_eq!(begun.iter().map(|one| one.code).collect::<Vec<_>>(), ["no_initial"]);
        assert_eq!(begun[0].help.as_deref(), Some("add the line `[*] --> a`, or name another state in it"));
    }

    #[test]
    fn odd_machines_are_made_with_a_warning() {
        let odd = source(&["a", "b", "c"], &["a"], &["c"], &[("a", "b"), ("a", "b"), ("b", "b"), ("c", "a")]);
        assert_eq!(problems(&odd), [("duplicate_target", 51), ("unreachable_state", 12), ("no_path_to_terminal", 1)]);
        assert_eq!(compile(&odd).unwrap().machine.transitions().len(), 3);
    }

    #[test]
    fn states_from_which_no_run_can_end_are_told() {
        let edges = [("a", "b"), ("a", "c"), ("b", "b"), ("c", "d"), ("d", "b")];
        let trap = source(&["a", "b", "c", "d", "e"], &["a"], &["c"], &edges[..3]);
        assert_eq!(
            problems(&trap),
            [("unreachable_state", 13), ("unreachable_state", 14), ("no_path_to_terminal", 11)]
        );
        let two = compile(&source(&["a", "b", "c", "d"], &["a"], &["c"], &edges)).unwrap().warnings;
        assert_eq!(two[0].message, "no path leads from `b` and 1 more to a terminal state: a run could not end");
    }

    #[test]
    fn a_colon_in_a_name_is_refused_since_it_sets_an_agent_apart() {
        assert_eq!(problems(&source(&["a:b"], &["a:b"], &["a:b"], &[])), [("bad_state_name", 10)]);
    }

    #[test]
    fn transitions_that_differ_by_label_are_two() {
        let mut labelled = source(&["a", "b"], &["a"], &["b"], &[("a", "b"), ("a", "b")]);
        labelled.transitions[1].label = Some("retry".into());
        assert_eq!(problems(&labelled), []);
        assert_eq!(compile(&labelled).unwrap().machine.transitions().len(), 2);
    }

    #[test]
    fn repeated_marks_count_once_and_order_is_kept() {
        let machine = compile(&source(&["b", "a"], &["a", "b", "a"], &["b", "b"], &[])).unwrap().machine;
        assert_eq!(machine.initial().iter().map(StateName::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(machine.terminal().len(), 1);
        assert_eq!(machine.states()[0].name.as_str(), "b");
    }

    #[test]
    fn a_hostile_definition_is_refused_quickly_and_briefly() {
        let states = (0..limits::STATES).map(|at| format!("state-{at}")).collect::<Vec<_>>();
        let states = states.iter().map(String::as_str).collect::<Vec<_>>();
        let wrong = (0..limits::TRANSITIONS).map(|at| format!("stade-{at}{}", "é".repeat(40))).collect::<Vec<_>>();
        let edges = wrong.iter().map(|to| ("state-1", to.as_str())).collect::<Vec<_>>();
        let begin = std::time::Instant::now();
        let errors = compile(&source(&states, &["state-0"], &[], &edges)).unwrap_err();
        assert_eq!(errors.len(), limits::VIOLATIONS);
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
        let more = [&edges[..], &edges[..1]].concat();
        assert_eq!(compile(&source(&states, &["state-0"], &[], &more)).unwrap_err()[0].code, "too_large");
    }
}
