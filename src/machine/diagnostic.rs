//! Problems of a definition, and how to show them.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;

use crate::codec::{Place, YamlError, YamlFault};
use crate::machine::Name;
use crate::model::{is_terminal_control, limits};

/// Whether a definition can be used despite a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot be used.
    Error,
    /// It can be used, but probably does not mean what was intended.
    Warning,
}

/// The code of a gate or requirement that flow does not read, so that a run passes it.
pub(super) const GATE_UNREAD: &str = "gate_unread";
/// The code for a document that does not try to define a state machine.
pub(super) const ABSENT: &str = "no_state_machine";
/// The code for a file of another system.
pub(super) const FOREIGN: &str = "foreign_workflow";
/// The code for another file that is not a workflow of flow.
pub(super) const NOT_A_WORKFLOW: &str = "not_a_workflow";

/// A problem of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// The severity of the problem.
    pub severity: Severity,
    /// A stable code for programs.
    pub code: &'static str,
    /// What is wrong, for people.
    pub message: String,
    /// The place where it begins.
    #[serde(flatten)]
    pub place: Place,
    /// The range of bytes; empty if only the beginning is known.
    #[serde(skip)]
    pub span: Range<usize>,
    /// How to fix it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `name`.
    #[must_use]
    pub fn error(code: &'static str, name: &Name, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: sentence(message.into()),
            place: name.place,
            span: name.span.clone(),
            help: None,
        }
    }

    /// A warning at `name`.
    #[must_use]
    pub fn warning(code: &'static str, name: &Name, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, name, message) }
    }

    /// Adds help.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(sentence(help.into()));
        self
    }

    /// Whether the definition cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it is about a state diagram that stands where flow does not look for one.
    pub(crate) fn is_of_stray_diagram(&self) -> bool {
        self.code == ABSENT && !self.span.is_empty()
    }

    /// Whether it says that the file does not try to define a workflow of flow.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        [ABSENT, FOREIGN, NOT_A_WORKFLOW].contains(&self.code)
    }

    /// Whether it is about a gate or a requirement that flow does not read. A run would pass it without a word.
    #[must_use]
    pub fn is_of_unread_gate(&self) -> bool {
        self.code == GATE_UNREAD
    }

    /// What is wrong and how to fix it, in one line that names the workflow.
    #[must_use]
    pub fn in_workflow(&self, id: &str) -> String {
        let help = self.help.as_deref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("the workflow `{id}`, line {}: {}{help}", self.place.line, self.message)
    }
}

/// Adds a problem unless there are many of its severity. Warnings must not push errors out: half a definition would pass
/// for a whole one.
pub(super) fn push_within_limit(diagnostics: &mut Vec<Diagnostic>, diagnostic: Diagnostic) {
    let alike = diagnostics.iter().filter(|one| one.severity == diagnostic.severity);
    if alike.count() < limits::VIOLATIONS {
        diagnostics.push(diagnostic);
    }
}

/// The diagnostic for a text that is not YAML that flow reads.
pub(super) fn yaml_problem(error: YamlError) -> Diagnostic {
    let mut at = Name::nowhere("");
    // The parser gives no place for some texts. Then the problem is shown at the beginning of the file.
    at.place = error.place.unwrap_or(at.place);
    let code = match error.fault {
        YamlFault::Syntax | YamlFault::Apostrophe => "yaml_syntax",
        YamlFault::Documents => "multiple_documents",
        YamlFault::Tag => "unsafe_tag",
    };
    // The parser says this of a wrong indentation, and names neither the cause nor the remedy.
    let is_misplaced = error.message.contains("did not find expected key");
    let problem = Diagnostic::error(code, &at, error.message);
    if !is_misplaced {
        return problem;
    }
    problem.with_help("this line is indented by less or more than the lines that it should stand under")
}

/// The longest message, in characters. It may quote text from a file, which can be long and have many lines.
const SENTENCE: usize = 500;
/// How much of the end of a longer message to keep: it often says what is wrong.
const END: usize = 100;

fn sentence(text: String) -> String {
    let chars = text.chars().count();
    if chars <= SENTENCE && !text.contains(['\n', '\r']) {
        return text;
    }
    let in_line = text.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c });
    if chars <= SENTENCE {
        return in_line.collect();
    }
    let head = in_line.clone().take(SENTENCE - END - 1);
    head.chain(['…']).chain(in_line.skip(chars - END)).collect()
}

/// How much of a long line to show after the problem, in bytes.
const LINE_REST: usize = 200;

/// Renders `diagnostic` for people: `path:line:column`, the line with the problem underlined, and the help.
#[must_use]
pub fn render(path: &str, text: &str, diagnostic: &Diagnostic, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // They may come with a clone, and a terminal must not act on what is in them.
    let path = shown(path);
    let message = shown(&diagnostic.message);
    let (line, span) = excerpt(text, diagnostic);
    let snippet = Snippet::source(line)
        .line_start(diagnostic.place.line)
        .path(path)
        .annotation(AnnotationKind::Primary.span(span));
    let mut group = level.primary_title(&*message).id(diagnostic.code).element(snippet);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(shown(help)));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// Replaces characters that a terminal would act on. Keeps the number of characters.
fn shown(text: &str) -> String {
    text.chars().map(|c| if is_terminal_control(c) && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The line of the problem, and the range of the problem in it.
///
/// Uses only the place to find them, because the span may be empty or cover many lines.
fn excerpt(text: &str, diagnostic: &Diagnostic) -> (String, Range<usize>) {
    let place = diagnostic.place;
    let line = shown(text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default());
    let start = line.char_indices().nth(place.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let rest = line[start..].trim_end().len();
    let len = match diagnostic.span.len() {
        0 => rest,
        len => len.min(rest),
    };
    // `shown` replaces characters by longer ones, so what the span counts may end inside of one.
    let end = ceil_boundary(&line, start + len.min(LINE_REST));
    let cut = ceil_boundary(&line, end + LINE_REST);
    (line[..cut].to_owned(), start..end)
}

/// The first character boundary at or after `at`, at most the end of `text`.
fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(place: Place, span: Range<usize>) -> Diagnostic {
        let name = Name { text: "bulding".into(), span, place };
        Diagnostic::error("next_unknown", &name, "there is no state `bulding`").with_help("did you mean `building`?")
    }

    #[test]
    fn a_sentence_is_one_line_and_never_as_long_as_what_it_quotes() {
        let quoting = |text: &str| sentence(format!("`{text}` is not known"));
        assert_eq!(quoting("a\nb"), "`a b` is not known");
        let long = quoting(&"é\n".repeat(4000));
        assert_eq!(long.chars().count(), SENTENCE);
        assert!(long.starts_with("`é é") && long.contains('…') && long.ends_with("` is not known"), "{long}");
        assert_eq!(quoting(&"x".repeat(SENTENCE)).chars().count(), SENTENCE);
    }

    #[test]
    fn a_diagnostic_shows_path_line_and_help() {
        let text = "phases:\n  - id: é\n    next: bulding # odd\n";
        let shown = render("a.workflow.yaml", text, &unknown(Place { line: 3, column: 11 }, 29..36), false);
        insta::assert_snapshot!(shown, @r"
        error[next_unknown]: there is no state `bulding`
         --> a.workflow.yaml:3:11
          |
        3 |     next: bulding # odd
          |           ^^^^^^^
          |
          = help: did you mean `building`?
        ");
    }

    #[test]
    fn impossible_places_and_hostile_text_are_shown_without_harm() {
        let texts = ["", "a", "é\u{1b}[31m\u{202e}", &"x".repeat(100_000)];
        for text in texts {
            for (line, column) in [(1, 1), (1, 2), (9, 9), (0, 0), (1, usize::MAX)] {
                for span in [0..0, 0..1, 5..usize::MAX] {
                    let shown = render("a\u{1b}b", text, &unknown(Place { line, column }, span), false);
                    assert!(shown.contains("next_unknown") && shown.len() < 2000, "{shown}");
                    assert!(!shown.contains('\u{1b}'));
                }
            }
        }
    }

    #[test]
    fn programs_get_line_and_column() {
        let value = serde_json::to_value(unknown(Place { line: 3, column: 11 }, 0..0)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "severity": "error", "code": "next_unknown", "message": "there is no state `bulding`",
                "line": 3, "column": 11, "help": "did you mean `building`?",
            })
        );
    }
}
