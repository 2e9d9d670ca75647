//! Combines the lines of a diagram.

use std::collections::HashMap;

use serde_json::Map;
use smol_str::SmolStr;

use crate::machine::check::{shown, too_many};
use crate::machine::lines::Line;
use crate::machine::mermaid::grammar::{Declared, End, Parsed, Statement};
use crate::machine::mermaid::lexer::is_comment;
use crate::machine::mermaid::statements::{END_OF_SETTING, Statements};
use crate::machine::{Diagnostic, MachineSource, Name, Notation, SourceState, SourceTransition};
use crate::model::limits;

const HEADER: &str = "stateDiagram-v2";

/// Whether a Mermaid text is a state diagram, even an invalid one.
pub(in crate::machine) fn is_state_diagram(lines: &[Line<'_>]) -> bool {
    header(lines).is_some_and(|(at, _)| lines[at].text.trim_start().starts_with("stateDiagram"))
}

/// Reads a diagram; `id` is the workflow's id.
///
/// Returns no source if there is an error: checking half a diagram would only report further problems.
pub(in crate::machine) fn parse(lines: &[Line<'_>], id: Name) -> (Option<MachineSource>, Vec<Diagnostic>) {
    let mut diagram = Diagram::new(id);
    let Some((at, rest)) = header(lines).filter(|_| is_state_diagram(lines)) else {
        let at = header(lines).map_or_else(|| Name::nowhere(""), |(at, _)| lines[at].whole());
        let message = format!("a state diagram begins with `{HEADER}`");
        return (None, vec![Diagnostic::error("not_a_state_diagram", &at, message)]);
    };
    diagram.id.place = lines[at].whole().place;
    diagram.id.span = lines[at].whole().span;
    let word = lines[at].text.split_whitespace().next().unwrap_or_default();
    if !is_header(word) {
        let message = format!("`{}` is not the header of a state diagram", shown(word));
        let problem = Diagnostic::error("not_a_state_diagram", &lines[at].whole(), message);
        diagram.report(problem.with_help(format!("write `{HEADER}`")));
    }
    if let Some(rest) = rest {
        let message = format!("only `{HEADER}` stands on the first line of a diagram");
        diagram.report(Diagnostic::error("mermaid_syntax", &rest, message));
    }
    for (line, found) in Statements::new(&lines[at + 1..]) {
        diagram.take(found);
        if diagram.states.len() > limits::STATES || diagram.transitions.len() > limits::TRANSITIONS {
            // A diagram of this size is a mistake, and reading on would take long.
            diagram.report(too_many(&line.whole()));
            break;
        }
    }
    let errors = diagram.diagnostics.iter().any(Diagnostic::is_error);
    let (source, diagnostics) = diagram.finish();
    ((!errors).then_some(source), diagnostics)
}

/// How many transitions from or to `[*]` have a label, which a machine cannot represent.
pub(in crate::machine) fn labels_of_stars(lines: &[Line<'_>]) -> usize {
    let first = header(lines).map_or(0, |(at, _)| at + 1);
    let ends = Statements::new(lines.get(first..).unwrap_or_default()).filter_map(|(_, found)| found.ok());
    let is_labelled = |one: &Statement| match one {
        Statement::Transition { from, to, label } => {
            let has_star = matches!(from, End::Star(_)) != matches!(to, End::Star(_));
            has_star && label.is_some()
        }
        _ => false,
    };
    ends.filter(is_labelled).count()
}

/// Whether a word is the header of a state diagram.
pub(in crate::machine) fn is_header(word: &str) -> bool {
    [HEADER, "stateDiagram"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The index of the line with the header, and further text on that line. Blank lines, comments, `%%{init}%%` over
/// several lines, and the YAML front matter of Mermaid's own tools may be before it.
fn header(lines: &[Line<'_>]) -> Option<(usize, Option<Name>)> {
    let mut at = 0;
    // If one `%%{` has no end, do not search again for the others: that would take quadratic time.
    let mut closed = true;
    while let Some(line) = lines.get(at) {
        let text = line.text.trim();
        let rest = &lines[at + 1..];
        at += match text {
            _ if closed && text.starts_with("%%{") && !text.contains(END_OF_SETTING) => {
                let end = rest.iter().position(|line| line.text.contains(END_OF_SETTING));
                closed = end.is_some();
                end.map_or(1, |end| end + 2)
            }
            "---" => match rest.iter().position(|line| line.text.trim() == "---") {
                Some(end) => end + 2,
                None => break,
            },
            _ if text.is_empty() || is_comment(text) => 1,
            _ => break,
        };
    }
    let line = lines.get(at)?;
    let start = line.text.len() - line.text.trim_start().len();
    let word = line.text[start..].find(char::is_whitespace).map_or(line.text.len(), |end| start + end);
    let known = is_header(&line.text[start..word]);
    let rest = line.text[word..].trim();
    let rest = (known && !rest.is_empty() && !is_comment(rest)).then(|| {
        let begin = line.text.len() - line.text[word..].trim_start().len();
        line.name(begin..begin + rest.len())
    });
    Some((at, rest))
}

/// A diagram being read.
struct Diagram {
    id: Name,
    states: Vec<SourceState>,
    /// The index of each state in `states`, and whether that is more than a bare declaration.
    known: HashMap<SmolStr, (usize, bool)>,
    initial: Vec<Name>,
    terminal: Vec<Name>,
    transitions: Vec<SourceTransition>,
    diagnostics: Vec<Diagnostic>,
}

impl Diagram {
    fn new(id: Name) -> Self {
        Self {
            id,
            states: Vec::new(),
            known: HashMap::new(),
            initial: Vec::new(),
            terminal: Vec::new(),
            transitions: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Warnings must not push errors out: half a diagram would pass for a whole one.
    fn report(&mut self, diagnostic: Diagnostic) {
        let alike = self.diagnostics.iter().filter(|one| one.severity == diagnostic.severity);
        if alike.count() < limits::VIOLATIONS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn take(&mut self, found: Parsed<Statement>) {
        match found {
            Ok(Statement::Skipped(None, _)) => {}
            Ok(Statement::Skipped(Some(told), _)) => self.report(told),
            Ok(Statement::State(declared)) => self.declare(declared),
            Ok(Statement::Transition { from, to, label }) => self.connect(from, to, label),
            Err(problem) => self.report(*problem),
        }
    }

    fn declare(&mut self, declared: Declared) {
        let Declared { name, label, kind } = declared;
        let bare = label.is_none() && kind.is_none();
        let at = self.mention(&name, !bare);
        let state = &mut self.states[at];
        if let (Some(old), Some(_)) = (&state.label, &label) {
            let message = format!("`{}` has a description already; this one replaces it", name.text);
            let warning = Diagnostic::warning("description_replaced", &name, message)
                .with_help(format!("the other one is \"{old}\""));
            state.label = label;
            self.report(warning);
            return;
        }
        state.label = label.or(state.label.take());
        state.kind = kind.or(state.kind.take());
    }

    /// The index of a state. A new one is added at the end. A bare `state x` does not determine the order if the
    /// diagram uses `x` elsewhere, as in other Mermaid readers.
    fn mention(&mut self, name: &Name, orders: bool) -> usize {
        match self.known.get_mut(name.text.as_str()) {
            Some((at, ordered)) if *ordered || !orders => *at,
            _ => {
                let at = self.states.len();
                self.known.insert(name.text.clone(), (at, orders));
                self.states.push(SourceState {
                    name: name.clone(),
                    label: None,
                    kind: None,
                    description: None,
                    config: Map::new(),
                });
                at
            }
        }
    }

    fn connect(&mut self, from: End, to: End, label: Option<String>) {
        match (from, to) {
            (End::Star(begin), End::Star(_)) => {
                let message = "`[*] --> [*]` names no state; flow ignores it";
                self.report(Diagnostic::warning("direct_end_ignored", &begin, message));
            }
            (End::Star(_), End::State(first)) => {
                self.mention(&first, true);
                self.initial.push(first);
            }
            (End::State(last), End::Star(_)) => {
                self.mention(&last, true);
                self.terminal.push(last);
            }
            (End::State(from), End::State(to)) => {
                self.mention(&from, true);
                self.mention(&to, true);
                self.transitions.push(SourceTransition { from, to, label });
            }
        }
    }

    fn finish(self) -> (MachineSource, Vec<Diagnostic>) {
        let Self { id, mut states, known, initial, terminal, transitions, diagnostics } = self;
        // A state that was declared before it was used is in the list twice; keep the later one.
        let mut at = 0;
        states.retain(|state| {
            at += 1;
            known.get(&state.name.text).is_some_and(|(last, _)| *last == at - 1)
        });
        let source = MachineSource {
            id,
            version: 1,
            notation: Notation::Mermaid,
            states,
            initial,
            terminal,
            gates: Vec::new(),
            transitions,
        };
        (source, diagnostics)
    }
}
