//! The gates of a state diagram, and what its states require: `flow: {gates: [confirm], requires: {verify: [{exec: test}]}}`
//! in the front matter of its file.

use crate::codec::{self, Node, Place, Tree};
use crate::machine::lines::SourceLine;
use crate::machine::requires::{self, REQUIRES};
use crate::machine::source::SourceRequirement;
use crate::machine::{Diagnostic, Name, unread};

/// The key in front matter, and one of those below it.
const FLOW: &str = "flow";
const GATES: &str = "gates";

/// What the front matter says of the states of a diagram.
#[derive(Debug, Default)]
pub(super) struct FrontMatter {
    /// Those that only a person lets a run leave.
    pub(super) gates: Vec<Name>,
    /// What must have been seen to pass before a run leaves one.
    pub(super) requires: Vec<SourceRequirement>,
    /// What is wrong with it.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// What the front matter of a document or of a bare diagram says of its states. Other front matter is not flow's and may be
/// anything, but where it has the key `flow` it has to be read: a gate that is overlooked would be open.
pub(super) fn find(text: &str) -> FrontMatter {
    let lines = SourceLine::all(text);
    let mut found = FrontMatter::default();
    let Some(matter) = front_matter(&lines) else {
        found.diagnostics = unread::in_odd_front_matter(&lines);
        return found;
    };
    let (Some(first), Some(last)) = (matter.first(), matter.last()) else { return found };
    // A line inside another value may look like the key.
    let key = matter.iter().find(|line| is_key(line.text));
    let root = match (codec::parse(&text[first.offset..last.offset + last.text.len()]), key) {
        (Ok(root), _) => root,
        (Err(error), Some(key)) => {
            let message = format!("the front matter names gates or requirements and is not valid YAML: {error}");
            let wrong = error.place.and_then(|place| matter.get(place.line - 1)).unwrap_or(key);
            found.diagnostics.push(Diagnostic::error("yaml_syntax", &wrong.whole(), message));
            return found;
        }
        (Err(_), None) => {
            found.diagnostics = unread::in_lines(matter, &[]);
            return found;
        }
    };
    let mut reader = Reader { first: *first, diagnostics: Vec::new() };
    let mut read = Vec::new();
    if let Some(flow) = root.get(FLOW) {
        found.gates = reader.gates(flow);
        found.requires = reader.requires(flow);
        read.extend(flow.entries().iter().map(|(key, _)| reader.named(key).place.line));
        // Anything but a mapping gets one error for all that stands below the key.
        if !matches!(flow.tree, Tree::Mapping(_)) {
            read.extend(below_key(matter, key));
        }
    }
    found.diagnostics = reader.diagnostics;
    found.diagnostics.extend(unread::in_lines(matter, &read));
    let behind = lines.iter().position(|line| line.offset > last.offset).map_or(lines.len(), |end| end + 1);
    found.diagnostics.extend(unread::in_more_front_matter(lines.get(behind..).unwrap_or_default()));
    found
}

/// What is reported about gates in the front matter of a diagram inside a document: that of the document counts.
pub(super) fn in_block(lines: &[SourceLine<'_>]) -> Vec<Diagnostic> {
    front_matter(lines).map(|matter| unread::in_lines(matter, &[])).unwrap_or_default()
}

/// The numbers of the lines that belong to the key in a line.
fn below_key(matter: &[SourceLine<'_>], key: Option<&SourceLine<'_>>) -> Vec<usize> {
    let begins = |line: &&SourceLine<'_>| key.is_some_and(|key| key.offset == line.offset);
    let mut own = Vec::new();
    for line in matter.iter().skip_while(|line| !begins(line)) {
        let is_below = line.text.is_empty() || line.text.starts_with([' ', '\t', '-']);
        if !begins(&line) && !is_below {
            break;
        }
        own.push(line.place.line);
    }
    own
}

fn is_key(line: &str) -> bool {
    let line = line.trim_start_matches(['"', '\'', '{', ' ']);
    let Some(rest) = line.strip_prefix(FLOW) else { return false };
    rest.trim_start_matches(['"', '\'', ' ']).starts_with(':')
}

/// The lines between two lines of hyphens. Blank lines and comments of Mermaid may be above them.
pub(super) fn front_matter<'l, 'a>(lines: &'l [SourceLine<'a>]) -> Option<&'l [SourceLine<'a>]> {
    let begin = lines.iter().position(|line| !line.text.trim().is_empty() && !line.text.trim().starts_with("%%"))?;
    if lines[begin].text.trim_end() != "---" {
        return None;
    }
    let rest = &lines[begin + 1..];
    let end = rest.iter().position(|line| ["---", "..."].contains(&line.text.trim_end()))?;
    Some(&rest[..end])
}

struct Reader<'a> {
    /// The line in which the YAML begins.
    first: SourceLine<'a>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn gates(&mut self, flow: &Node) -> Vec<Name> {
        if !matches!(flow.tree, Tree::Mapping(_)) {
            self.error(flow, "`flow` must hold `gates:` with the names of states");
            return Vec::new();
        }
        for (key, _) in flow.entries() {
            // A gate behind a misspelt key would be open.
            if !matches!(key.text(), Some(GATES | REQUIRES)) {
                self.error(key, "`flow` has the keys `gates` and `requires`");
            }
        }
        let Some(gates) = flow.get(GATES) else { return Vec::new() };
        let names: Vec<&Node> = match &gates.tree {
            Tree::Null => Vec::new(),
            Tree::Sequence(items) => items.iter().collect(),
            _ => vec![gates],
        };
        let mut found = Vec::new();
        for name in names {
            if name.text().is_some() {
                found.push(self.named(name));
            } else {
                self.error(name, "`gates` lists the names of states");
            }
        }
        found
    }

    fn requires(&mut self, flow: &Node) -> Vec<SourceRequirement> {
        let Some(requires) = flow.get(REQUIRES) else { return Vec::new() };
        let mut found = Vec::new();
        let mut problems = Vec::new();
        if !matches!(requires.tree, Tree::Null | Tree::Mapping(_)) {
            problems.push(requires::invalid(&Name::of_node(requires), "`requires` maps states to what they require"));
        }
        for (state, list) in requires.entries() {
            problems.extend(requires::read(list, &Name::of_node(state), &mut found));
        }
        for problem in problems {
            let at = self.placed(Name { text: "".into(), span: problem.span.clone(), place: problem.place });
            self.diagnostics.push(Diagnostic { span: at.span, place: at.place, ..problem });
        }
        for one in &mut found {
            one.state = self.placed(one.state.clone());
            one.exec = self.placed(one.exec.clone());
        }
        found
    }

    /// The name in a node, with its place in the whole file.
    fn named(&self, node: &Node) -> Name {
        self.placed(Name::of_node(node))
    }

    /// A name in the front matter, with its place in the whole file.
    fn placed(&self, name: Name) -> Name {
        Name {
            span: self.first.offset + name.span.start..self.first.offset + name.span.end,
            place: Place { line: self.first.place.line + name.place.line - 1, column: name.place.column },
            ..name
        }
    }

    fn error(&mut self, node: &Node, message: &str) {
        let help = "write `flow: {gates: [STATE]}`";
        self.diagnostics.push(Diagnostic::error("gate_invalid", &self.named(node), message).with_help(help));
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::{CompiledText, Form, StateTypes, compile_text};

    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> scan\nscan --> confirm\nconfirm --> [*]\n";

    fn check(form: Form, matter: &str) -> CompiledText {
        let text = match form {
            Form::Markdown => format!("---\n{matter}\n---\n# T\n\n## STATE-MACHINE\n\n```mermaid\n{DIAGRAM}```\n"),
            _ => format!("---\n{matter}\n---\n{DIAGRAM}"),
        };
        compile_text(form, &text, "w", &StateTypes::default())
    }

    #[test]
    fn the_gates_of_a_diagram_stand_in_the_front_matter_of_its_file() {
        for form in [Form::Markdown, Form::Mermaid] {
            for matter in [
                "name: x\nflow: {gates: [confirm]}",
                "flow:\n  gates:\n    - confirm\n    - confirm",
                "flow: {gates: confirm}",
                "\"flow\": {gates: [confirm]}",
            ] {
                let checked = check(form, matter);
                assert_eq!(checked.diagnostics, [], "{matter}");
                let gates = checked.machine.unwrap();
                let gates = gates.gates().iter().map(|gate| gate.as_str()).collect::<Vec<_>>();
                assert_eq!(gates, ["confirm"], "{matter}");
            }
            for none in ["name: x", "description: a: b", "flow: {gates: []}", "workflow: {gates: [confirm]}"] {
                assert_eq!(check(form, none).machine.unwrap().gates(), [], "{none}");
            }
        }
    }

    #[test]
    fn a_gate_that_is_misspelt_is_an_error_and_never_open() {
        for form in [Form::Markdown, Form::Mermaid] {
            for (matter, code, line, help) in [
                ("flow: {gates: [confrim]}", "gate_unknown", 2, "did you mean `confirm`?"),
                ("name: x\nflow:\n  gates: [scan, nope]", "gate_unknown", 4, ""),
                ("flow: {gate: [confirm]}", "gate_invalid", 2, "write `flow: {gates: [STATE]}`"),
                ("flow: [confirm]", "gate_invalid", 2, "write `flow: {gates: [STATE]}`"),
                ("name: x\nflow: |\n  gates: [confirm]\n\n  x", "gate_invalid", 4, "write `flow: {gates: [STATE]}`"),
                ("flow:\n- gates: [confirm]\nb: c", "gate_invalid", 3, "write `flow: {gates: [STATE]}`"),
                ("flow: {gates: [{a: b}]}", "gate_invalid", 2, "write `flow: {gates: [STATE]}`"),
                ("flow: {gates: [confirm]}\nb: c: d", "yaml_syntax", 3, ""),
            ] {
                let checked = check(form, matter);
                assert!(checked.machine.is_none(), "{matter}");
                let one = &checked.diagnostics[0];
                assert_eq!((one.code, one.place.line), (code, line), "{matter}");
                assert_eq!(checked.diagnostics.len(), 1, "{matter}: {:?}", checked.diagnostics);
                assert_eq!(one.help.as_deref().unwrap_or_default(), help, "{matter}");
            }
        }
    }
}
