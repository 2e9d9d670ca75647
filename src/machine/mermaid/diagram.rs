//! Combines the lines of a diagram.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::machine::check::{shown, too_many};
use crate::machine::diagnostic::push_within_limit;
use crate::machine::lines::SourceLine;
use crate::machine::mermaid::grammar::{End, ParseResult, StateDeclaration, Statement};
use crate::machine::mermaid::lexer::is_comment;
use crate::machine::mermaid::statements::{END_OF_SETTING, Statements};
use crate::machine::{Diagnostic, MachineSource, Name, Notation, SourceState, SourceTransition};
use crate::model::limits;

const HEADER: &str = "stateDiagram-v2";

/// Whether a Mermaid text is a state diagram, even an invalid one.
pub(in crate::machine) fn is_state_diagram(lines: &[SourceLine<'_>]) -> bool {
    let Some((at, _)) = header(lines) else { return false };
    lines[at].text.trim_start().starts_with("stateDiagram")
}

/// Reads a diagram; `id` is the workflow's id.
///
/// Returns no source if there is an error: checking half a diagram would only report further problems.
pub(in crate::machine) fn parse(lines: &[SourceLine<'_>], id: Name) -> (Option<MachineSource>, Vec<Diagnostic>) {
    let mut diagram = Diagram::new(id);
    let Some((at, rest)) = header(lines).filter(|_| is_state_diagram(lines)) else {
        let at = match header(lines) {
            Some((at, _)) => lines[at].whole(),
            None => Name::nowhere(""),
        };
        let mut problem =
            Diagnostic::error("not_a_state_diagram", &at, format!("a state diagram begins with `{HEADER}`"));
        problem.help = begun_with(&at.text);
        return (None, vec![problem]);
    };
    // A problem of the workflow as a whole is shown at the header.
    let header = lines[at].whole();
    diagram.source.id.place = header.place;
    diagram.source.id.span = header.span;
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
        if diagram.source.states.len() > limits::STATES || diagram.source.transitions.len() > limits::TRANSITIONS {
            // A diagram of this size is a mistake, and reading on would take long.
            diagram.report(too_many(&line.whole()));
            break;
        }
    }
    let has_errors = diagram.diagnostics.iter().any(Diagnostic::is_error);
    let (source, diagnostics) = diagram.finish();
    ((!has_errors).then_some(source), diagnostics)
}

/// How many transitions from or to `[*]` have a label, which a machine cannot represent.
pub(in crate::machine) fn labels_of_stars(lines: &[SourceLine<'_>]) -> usize {
    let first = match header(lines) {
        Some((at, _)) => at + 1,
        None => 0,
    };
    let mut count = 0;
    for (_, found) in Statements::new(lines.get(first..).unwrap_or_default()) {
        let Ok(Statement::Transition { from, to, label: Some(_) }) = found else { continue };
        // With two stars it is ignored as a whole.
        if matches!(from, End::Star(_)) != matches!(to, End::Star(_)) {
            count += 1;
        }
    }
    count
}

/// Whether a word is the header of a state diagram.
pub(in crate::machine) fn is_header(word: &str) -> bool {
    [HEADER, "stateDiagram"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// What to write in place of the line with which a text begins that is not a state diagram.
fn begun_with(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    if ["```", "~~~"].iter().any(|fence| line.starts_with(fence)) {
        return Some("this file holds only the diagram; remove the lines with the fence".to_owned());
    }
    if word == "---" {
        return Some("the front matter has no end: write a second line `---` below it".to_owned());
    }
    if word.to_ascii_lowercase().starts_with("statediagram") {
        return Some(format!("write `{HEADER}`, with these letters"));
    }
    if ["flowchart", "graph"].contains(&word) {
        return Some(format!(
            "write `{HEADER}` in place of `{}`, and each edge as `a --> b` or `a --> b : label`",
            shown(line)
        ));
    }
    let has_transition = line.contains("-->");
    has_transition.then(|| format!("write `{HEADER}` on a line above this one"))
}

/// The index of the line with the header, and further text on that line. Blank lines, comments, `%%{init}%%` over
/// several lines, and the YAML front matter of Mermaid's own tools may be before it.
fn header(lines: &[SourceLine<'_>]) -> Option<(usize, Option<Name>)> {
    let mut at = 0;
    // If one `%%{` has no end, do not search again for the others: that would take quadratic time.
    let mut closed = true;
    while let Some(line) = lines.get(at) {
        let text = line.text.trim();
        let rest = &lines[at + 1..];
        at += match text {
            _ if closed && text.starts_with("%%{") && !text.contains(END_OF_SETTING) => {
                if let Some(end) = rest.iter().position(|line| line.text.contains(END_OF_SETTING)) {
                    end + 2
                } else {
                    closed = false;
                    1
                }
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
    let (word, rest) = line.text[start..].split_once(char::is_whitespace).unwrap_or((&line.text[start..], ""));
    let (begin, rest) = (line.text.len() - rest.trim_start().len(), rest.trim());
    // Behind another word it may be anything, and the word alone is reported.
    if !is_header(word) || rest.is_empty() || is_comment(rest) {
        return Some((at, None));
    }
    Some((at, Some(line.name(begin..begin + rest.len()))))
}

/// A diagram being read.
struct Diagram {
    source: MachineSource,
    /// The index of each state in the source, and whether that is more than a bare declaration.
    known: HashMap<SmolStr, (usize, bool)>,
    diagnostics: Vec<Diagnostic>,
}

impl Diagram {
    fn new(id: Name) -> Self {
        let source = MachineSource::new(id, Notation::Mermaid);
        Self { source, known: HashMap::new(), diagnostics: Vec::new() }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        push_within_limit(&mut self.diagnostics, diagnostic);
    }

    fn take(&mut self, found: ParseResult<Statement>) {
        match found {
            Ok(Statement::Skipped(None, _)) => {}
            Ok(Statement::Skipped(Some(told), _)) => self.report(told),
            Ok(Statement::State(declared)) => self.declare(declared),
            Ok(Statement::Transition { from, to, label }) => self.connect(from, to, label),
            Err(problem) => self.report(*problem),
        }
    }

    fn declare(&mut self, declared: StateDeclaration) {
        let StateDeclaration { name, label, replaced, kind } = declared;
        let bare = label.is_none() && kind.is_none();
        let at = self.mention(&name, !bare);
        let state = &mut self.source.states[at];
        // As in Mermaid, the last one counts.
        let old = replaced.or(state.label.take());
        if let (Some(old), Some(_)) = (&old, &label) {
            let message = format!("`{}` has a description already; this one replaces it", name.text);
            let warning = Diagnostic::warning("description_replaced", &name, message)
                .with_help(format!("the other one is \"{old}\""));
            state.label = label;
            self.report(warning);
            return;
        }
        state.label = label.or(old);
        state.kind = kind.or(state.kind.take());
    }

    /// The index of a state. A new one is added at the end. A bare `state x` does not determine the order if the
    /// diagram uses `x` elsewhere, as in other Mermaid readers.
    fn mention(&mut self, name: &Name, orders: bool) -> usize {
        if let Some(&(at, ordered)) = self.known.get(name.text.as_str())
            && (ordered || !orders)
        {
            return at;
        }
        let at = self.source.states.len();
        self.known.insert(name.text.clone(), (at, orders));
        self.source.states.push(SourceState::named(name.clone()));
        at
    }

    fn connect(&mut self, from: End, to: End, label: Option<String>) {
        match (from, to) {
            (End::Star(begin), End::Star(_)) => {
                let message = "`[*] --> [*]` names no state; flow ignores it";
                self.report(Diagnostic::warning("direct_end_ignored", &begin, message));
            }
            (End::Star(_), End::State(first)) => {
                self.mention(&first, true);
                self.source.initial.push(first);
            }
            (End::State(last), End::Star(_)) => {
                self.mention(&last, true);
                self.source.terminal.push(last);
            }
            (End::State(from), End::State(to)) => {
                self.mention(&from, true);
                self.mention(&to, true);
                self.source.transitions.push(SourceTransition { from, to, label });
            }
        }
    }

    fn finish(self) -> (MachineSource, Vec<Diagnostic>) {
        let Self { mut source, known, diagnostics } = self;
        // A state that was declared before it was used is in the list twice; keep the later one.
        let mut at = 0;
        source.states.retain(|state| {
            at += 1;
            matches!(known.get(&state.name.text), Some((last, _)) if *last == at - 1)
        });
        (source, diagnostics)
    }
}
