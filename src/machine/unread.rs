//! Gates and requirements that stand where flow does not read them. A run would pass them without a word.

use crate::codec::Node;
use crate::machine::diagnostic::{GATE_UNREAD, push_within_limit};
use crate::machine::lines::SourceLine;
use crate::machine::requires::EXEC;
use crate::machine::{Diagnostic, Name};

/// Keys by which a gate may be meant.
const GATES: [&str; 3] = ["gates", "gate", "gated"];
/// Keys by which a requirement may be meant.
const REQUIREMENTS: [&str; 4] = ["requires", "require", "required", "requirements"];

/// What is reported about front matter that is not between two lines `---` at the beginning of its file.
pub(super) fn in_odd_front_matter(lines: &[SourceLine<'_>]) -> Vec<Diagnostic> {
    let head = &lines[..lines.iter().position(is_below_head).unwrap_or(lines.len())];
    let Some(begin) = head.iter().position(is_mark) else { return Vec::new() };
    let rest = &head[begin + 1..];
    let end = rest.iter().position(is_mark);
    let warnings = in_lines(&rest[..end.unwrap_or(rest.len())], &[]);
    let is_first = head[..begin].iter().all(|line| line.text.trim().is_empty());
    let mark = head[begin].text.trim_end();
    if warnings.is_empty() || !is_first || mark != "---" {
        return warnings;
    }
    let message = "this front matter has no closing `---`, so flow does not read its gates and requirements";
    let problem = Diagnostic::error("unclosed_front_matter", &head[begin].whole(), message);
    vec![problem.with_help("write `---` on a line of its own below it")]
}

/// Whether a heading or a code block begins here, so that no front matter is behind it. One hash begins a comment in YAML.
fn is_below_head(line: &SourceLine<'_>) -> bool {
    ["```", "~~~", "##"].iter().any(|begin| line.text.trim_start().starts_with(begin))
}

/// What is reported about more front matter behind that of the file: only the first one is read.
pub(super) fn in_more_front_matter(lines: &[SourceLine<'_>]) -> Vec<Diagnostic> {
    let Some(begin) = lines.iter().position(|line| !line.text.trim().is_empty()) else { return Vec::new() };
    if !is_mark(&lines[begin]) {
        return Vec::new();
    }
    let rest = &lines[begin + 1..];
    let end = rest.iter().position(is_mark).unwrap_or(0);
    in_lines(&rest[..end], &[])
}

/// The warning about a key of a whole definition by which gates or requirements of its states are meant.
pub(super) fn at_root(key: &Node) -> Option<Diagnostic> {
    let text = key.text()?;
    let lower = text.to_ascii_lowercase();
    if lower != "flow" && !GATES.contains(&&*lower) && !REQUIREMENTS.contains(&&*lower) {
        return None;
    }
    let message = format!("flow does not read `{text}` here, so a run passes what it names");
    let help = "write `gate: person` or `requires: [{exec: NAME}]` in the state";
    Some(Diagnostic::warning(GATE_UNREAD, &Name::of_node(key), message).with_help(help))
}

/// Whether a line was meant to begin or end front matter.
fn is_mark(line: &SourceLine<'_>) -> bool {
    let text = line.text.split(" #").next().unwrap_or_default().trim();
    text.len() >= 3 && (text.bytes().all(|byte| byte == b'-') || text.bytes().all(|byte| byte == b'+'))
}

/// What is reported about the gates and requirements in lines of front matter. Those in the lines `read` are read.
pub(super) fn in_lines(lines: &[SourceLine<'_>], read: &[usize]) -> Vec<Diagnostic> {
    // Other programs have a key `requires`, too.
    let has_command = lines.iter().any(|line| key(line, EXEC).is_some());
    let mut warnings = Vec::new();
    for line in lines.iter().filter(|line| !read.contains(&line.place.line)) {
        for word in GATES.into_iter().chain(REQUIREMENTS.into_iter().filter(|_| has_command)) {
            let Some(at) = key(line, word) else { continue };
            let message = format!("flow does not read `{word}` here, so a run passes what it names");
            let warning = Diagnostic::warning(GATE_UNREAD, &line.name(at..at + word.len()), message);
            let help = "write `flow: {gates: [STATE], requires: {STATE: [{exec: NAME}]}}`, between two lines `---` with which the file begins";
            push_within_limit(&mut warnings, warning.with_help(help));
        }
    }
    warnings
}

/// Where `word` is a key in `line`.
fn key(line: &SourceLine<'_>, word: &str) -> Option<usize> {
    let lower = line.text.to_ascii_lowercase();
    for (at, _) in lower.match_indices(word) {
        // The key of flow may stand in front of it, whatever joins them.
        let before = lower[..at].strip_suffix(['-', '_', '.']).and_then(|before| before.strip_suffix("flow"));
        let is_part = before.is_none() && (lower[..at].ends_with('-') || lower[..at].ends_with('_'));
        let before = before.unwrap_or(&lower[..at]).trim_end();
        // A comment, or a text in quotation marks.
        if before.starts_with('#') || before.trim_end_matches('"').matches('"').count() % 2 == 1 {
            continue;
        }
        let is_begun = before.is_empty() || before.ends_with(['{', '[', ',', '.', '"', '\'', '-']);
        let behind = lower[at + word.len()..].trim_start_matches(['"', '\'', ' ']);
        if is_begun && !is_part && behind.starts_with([':', '=']) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::machine::{Form, StateTypes, compile_text};

    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> scan\nscan --> confirm\nconfirm --> [*]\n";

    /// The codes and lines of what is reported about a document that begins with `head`, and whether a run can follow it.
    fn told(head: &str, diagram: &str) -> (bool, Vec<(&'static str, usize)>) {
        let text = format!("{head}# T\n\n## STATE-MACHINE\n\n```mermaid\n{diagram}```\n\ngates: [x]\n");
        let checked = compile_text(Form::Markdown, &text, "w", &StateTypes::default());
        let told = checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect();
        (checked.machine.is_some(), told)
    }

    #[test]
    fn gates_that_stand_where_flow_does_not_read_them_are_told_with_their_line() {
        for (head, line) in [
            ("---\nFlow: {gates: [confirm]}\n---\n", 2),
            ("---\nname: x\ngates: [confirm]\n---\n", 3),
            ("---\nname: x\nGates:\n- confirm\n---\n", 3),
            ("---\nflow.gates: [confirm]\n---\n", 2),
            ("---\nmetadata: {flow: {gates: [confirm]}}\n---\n", 2),
            ("---\nmetadata:\n  flow:\n    \"gates\": [confirm]\n---\n", 4),
            ("---\nrequires: {scan: [{exec: test}]}\n---\n", 2),
            ("---\ndescription: Use when: x\nmeta: {gates: [confirm]}\n---\n", 3),
            ("---\nflow: {requires: {scan: [{exec: test}]}}\ngates: [confirm]\n---\n", 3),
            ("+++\n[flow]\ngates = [\"confirm\"]\n+++\n", 3),
            ("----\nflow: {gates: [confirm]}\n----\n", 2),
            (" ---\nflow: {gates: [confirm]}\n ---\n", 2),
            ("<!-- a skill -->\n---\nflow: {gates: [confirm]}\n---\n", 3),
            ("---\ngate: confirm\n---\n", 2),
            ("---\nconfirm: {gate: person}\n---\n", 2),
            ("---\nstates:\n  confirm:\n    gate: person\n---\n", 4),
            ("---\nflow_gates: [confirm]\n---\n", 2),
            ("---\nflow-gates: [confirm]\n---\n", 2),
            ("---\nflow.gate: confirm\n---\n", 2),
            ("---\nrequirements: {scan: [{exec: test}]}\n---\n", 2),
            ("---\nrequire: {scan: [{exec: test}]}\n---\n", 2),
            ("--- # a comment\nflow: {gates: [confirm]}\n---\n", 2),
            ("---\nname: x\n---\n---\nflow: {gates: [confirm]}\n---\n", 5),
            ("---\nname: x\n---\n\n---\nflow: {gates: [confirm]}\n---\n", 6),
        ] {
            assert_eq!(told(head, DIAGRAM), (true, vec![("gate_unread", line)]), "{head}");
        }
        let inside = format!("---\nflow: {{gates: [confirm]}}\n---\n{DIAGRAM}");
        assert_eq!(told("", &inside), (true, vec![("gate_unread", 7)]));
    }

    #[test]
    fn gates_of_a_whole_definition_are_told_as_unread() {
        let phases = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\n";
        for key in ["gates: [code]", "Gates: [code]", "flow: {gates: [code]}", "requires: [{exec: test}]"] {
            let graph = format!("initial: code\n{key}\nstates:\n  code: {{type: agent, transition: {{next: []}}}}\n");
            let phases = format!("{phases}{key}\nphases:\n  - id: code\n");
            for (form, text, line) in [(Form::Graph, graph, 2), (Form::Phases, phases, 4)] {
                let told = compile_text(form, &text, "w", &StateTypes::default()).diagnostics;
                let told: Vec<_> = told.iter().map(|one| (one.code, one.place.line)).collect();
                assert!(told.contains(&("gate_unread", line)), "{text}: {told:?}");
            }
        }
    }

    #[test]
    fn a_requirement_in_capitals_is_told_as_unread() {
        for key in ["Requires", "REQUIRES", "Required"] {
            let text = format!(
                "initial: code\nstates:\n  code:\n    type: agent\n    {key}: [{{exec: test}}]\n    transition: {{next: []}}\n"
            );
            let told = compile_text(Form::Graph, &text, "w", &StateTypes::default()).diagnostics;
            assert_eq!(
                told.iter().map(|one| (one.code, one.place.line)).collect::<Vec<_>>(),
                [("gate_unread", 5)],
                "{text}"
            );
        }
    }

    #[test]
    fn front_matter_that_is_never_closed_is_an_error_where_it_has_gates() {
        for head in [
            "---\nname: x\nflow: {gates: [confirm]}\n\n",
            "---\nflow:\n  gates: [confirm]\n ---\n",
            "---\nflow: {requires: {scan: [{exec: test}]}}\n",
        ] {
            assert_eq!(told(head, DIAGRAM), (false, vec![("unclosed_front_matter", 1)]), "{head}");
        }
    }

    #[test]
    fn front_matter_of_other_programs_is_left_alone() {
        for head in [
            "",
            "---\nname: x\n",
            "---\nrequires: [python]\n---\n",
            "---\ndescription: \"the gates: all of them\"\npre-gates: [a]\n# gates: [a]\n---\n",
            "---\nflow: {gates: [], requires: {}}\n---\n",
            "---\nname: x\n# flow: {gates: [a]}\ndescription: \"flow: {gates: [x]}\"\n---\n",
            "---\nname: x\n---\n\nSome words.\n\n---\ngates: all of them\n\n",
            "It looks at gates: all of them.\n\n",
        ] {
            assert_eq!(told(head, DIAGRAM), (true, vec![]), "{head}");
        }
    }
}
