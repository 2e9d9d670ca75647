//! The rules that every machine keeps, whatever notation it comes from.

use std::collections::{HashMap, HashSet};

use crate::codec;
use crate::machine::machine::Parts;
use crate::machine::{Diagnostic, Machine, MachineSource, Name, State, Transition};
use crate::model::{StateName, WorkflowId, limits};

/// How many diagnostics may carry a "did you mean", and among how many states it is sought: looking for a similar name
/// costs more than everything else, and a hostile definition can have thousands of both.
const SUGGESTIONS: usize = 20;
const CANDIDATES: usize = 1000;

/// A machine, and what is odd about its definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// The machine.
    pub machine: Machine,
    /// What was probably not meant.
    pub warnings: Vec<Diagnostic>,
}

/// Checks `source` and makes a machine of it.
///
/// # Errors
/// All problems of the definition, at least one of them an error; [`limits::VIOLATIONS`] of each severity at most.
pub fn compile(source: &MachineSource) -> Result<Compiled, Vec<Diagnostic>> {
    let mut check = Check::new(source);
    let id = check.id();
    let states = check.states();
    let transitions = check.transitions();
    let initial = check.marked(&source.initial, "initial");
    let terminal = check.marked(&source.terminal, "terminal");
    check.beginning(&initial);
    check.reachability(&initial, &terminal, &transitions);
    match id {
        Some(id) if check.errors.is_empty() => Ok(Compiled {
            machine: Machine::new(Parts {
                id,
                version: source.version,
                notation: source.notation,
                states,
                initial,
                terminal,
                transitions,
            }),
            warnings: check.warnings,
        }),
        _ => {
            check.errors.append(&mut check.warnings);
            Err(check.errors)
        }
    }
}

/// A check in progress.
struct Check<'a> {
    source: &'a MachineSource,
    /// The states by name, each where it was declared first.
    declared: HashMap<&'a str, &'a Name>,
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
        match WorkflowId::new(&self.source.id.text) {
            Ok(id) => Some(id),
            Err(error) => {
                self.report(Diagnostic::error("bad-workflow-id", &self.source.id, error.to_string()));
                None
            }
        }
    }

    fn states(&mut self) -> Vec<State> {
        let mut states = Vec::new();
        for state in &self.source.states {
            let name = &state.name;
            if let Some(first) = self.declared.get(name.text.as_str()) {
                let help = format!("it is declared on line {} already", first.place.line);
                let message = format!("the state `{}` is declared twice", name.text);
                self.report(Diagnostic::error("duplicate-state", name, message).with_help(help));
                continue;
            }
            // A bad name is declared all the same, so that it is not reported as unknown as well.
            self.declared.insert(&name.text, name);
            match StateName::new(&name.text) {
                Ok(name) => states.push(State {
                    name,
                    label: state.label.clone(),
                    kind: state.kind.clone(),
                    description: state.description.clone(),
                }),
                Err(error) => self.report(Diagnostic::error("bad-state-name", name, error.to_string())),
            }
        }
        if self.source.states.is_empty() {
            let message = "the workflow has no states";
            self.report(Diagnostic::error("no-state", &self.source.id, message));
        }
        states
    }

    /// The state that `name` refers to; an unknown one is reported.
    fn refer(&mut self, name: &Name) -> Option<StateName> {
        if self.declared.contains_key(name.text.as_str()) {
            return StateName::new(&name.text).ok();
        }
        let mut diagnostic =
            Diagnostic::error("unknown-state", name, format!("there is no state `{}`", shown(&name.text)));
        if self.errors.len() < limits::VIOLATIONS && self.suggestions < SUGGESTIONS {
            self.suggestions += 1;
            let known = self.source.states.iter().take(CANDIDATES);
            let meant = codec::similar(&name.text, known.map(|state| state.name.text.as_str()));
            diagnostic.help = meant.map(|meant| format!("did you mean `{meant}`?"));
        }
        self.report(diagnostic);
        None
    }

    fn transitions(&mut self) -> Vec<Transition> {
        let mut transitions = Vec::new();
        let mut seen = HashSet::new();
        for one in &self.source.transitions {
            let (from, to) = (self.refer(&one.from), self.refer(&one.to));
            let (Some(from), Some(to)) = (from, to) else { continue };
            if !seen.insert((&one.from.text, &one.to.text, &one.label)) {
                let message = format!("the transition from `{from}` to `{to}` is there twice");
                self.report(Diagnostic::warning("duplicate-transition", &one.to, message));
                continue;
            }
            let label = one.label.clone();
            transitions.push(Transition { from, to, label });
        }
        transitions
    }

    /// The states that the source marks as initial or terminal.
    fn marked(&mut self, names: &[Name], what: &str) -> Vec<StateName> {
        let mut seen = HashSet::new();
        let mut marked = Vec::new();
        for name in names.iter().filter(|name| seen.insert(&name.text)) {
            let errors = self.errors.len();
            marked.extend(self.refer(name));
            if let Some(error) = self.errors.get_mut(errors) {
                error.message = format!("the {what} state `{}` does not exist", shown(&name.text));
            }
        }
        marked
    }

    fn beginning(&mut self, initial: &[StateName]) {
        if initial.is_empty() && self.source.initial.is_empty() && !self.source.states.is_empty() {
            let message = "no initial state: a run could not begin";
            self.report(Diagnostic::error("no-initial", &self.source.id, message));
        }
    }

    /// Warns about states that no run reaches, and about a machine whose runs never end.
    fn reachability(&mut self, initial: &[StateName], terminal: &[StateName], transitions: &[Transition]) {
        // With an error in the names, these would be consequences and not problems of their own.
        if !self.errors.is_empty() {
            return;
        }
        let mut next = HashMap::<&StateName, Vec<&StateName>>::new();
        for transition in transitions {
            next.entry(&transition.from).or_default().push(&transition.to);
        }
        let mut reached = initial.iter().collect::<HashSet<_>>();
        let mut open = initial.iter().collect::<Vec<_>>();
        while let Some(state) = open.pop() {
            let targets = next.get(state).into_iter().flatten().copied();
            open.extend(targets.filter(|target| reached.insert(target)));
        }
        for state in &self.source.states {
            if StateName::new(&state.name.text).is_ok_and(|name| !reached.contains(&name)) {
                let message = format!("no run can reach the state `{}`", state.name.text);
                self.report(Diagnostic::warning("unreachable-state", &state.name, message));
            }
        }
        if !terminal.iter().any(|state| reached.contains(state)) {
            let message = "no terminal state can be reached: a run could not end";
            self.report(Diagnostic::warning("no-terminal", &self.source.id, message));
        }
    }
}

/// A name from a file, short enough for a sentence.
fn shown(name: &str) -> String {
    if name.chars().count() <= 60 {
        return name.to_owned();
    }
    let head = name.chars().take(59).collect::<String>();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Place;
    use crate::machine::{Notation, SourceState, SourceTransition};

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
                .map(|(line, text)| SourceState { name: name(text, line), label: None, kind: None, description: None })
                .collect(),
            initial: names(initial),
            terminal: names(terminal),
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
                ("bad-workflow-id", 1),
                ("duplicate-state", 12),
                ("bad-state-name", 13),
                ("unknown-state", 50),
                ("unknown-state", 52),
                ("unknown-state", 52),
                ("unknown-state", 90),
                ("unknown-state", 90),
            ]
        );
        let errors = compile(&broken).unwrap_err();
        assert_eq!(errors[1].help.as_deref(), Some("it is declared on line 10 already"));
        assert_eq!(errors[3].help.as_deref(), Some("did you mean `building`?"));
        assert_eq!(errors[6].message, "the initial state `nowhere` does not exist");
    }

    #[test]
    fn a_machine_needs_a_state_and_a_beginning() {
        assert_eq!(problems(&source(&[], &[], &[], &[])), [("no-state", 1)]);
        assert_eq!(problems(&source(&["a"], &[], &["a"], &[])), [("no-initial", 1)]);
    }

    #[test]
    fn odd_machines_are_made_with_a_warning() {
        let odd = source(&["a", "b", "c"], &["a"], &["c"], &[("a", "b"), ("a", "b"), ("b", "b"), ("c", "a")]);
        assert_eq!(problems(&odd), [("duplicate-transition", 51), ("unreachable-state", 12), ("no-terminal", 1)]);
        assert_eq!(compile(&odd).unwrap().machine.transitions().len(), 3);
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
        let states = (0..50_000).map(|at| format!("state-{at}")).collect::<Vec<_>>();
        let states = states.iter().map(String::as_str).collect::<Vec<_>>();
        let wrong = (0..50_000).map(|at| format!("stade-{at}{}", "é".repeat(40))).collect::<Vec<_>>();
        let edges = wrong.iter().map(|to| ("state-1", to.as_str())).collect::<Vec<_>>();
        let begin = std::time::Instant::now();
        let errors = compile(&source(&states, &["state-0"], &[], &edges)).unwrap_err();
        assert_eq!(errors.len(), limits::VIOLATIONS);
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    }
}
