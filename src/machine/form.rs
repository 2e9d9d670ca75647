//! How to read the text of a definition.

use crate::machine::diagnostic::ABSENT;
use crate::machine::lines::SourceLine;
use crate::machine::{
    Diagnostic, Machine, Name, Notation, StateTypes, compile, gates, graph, markdown, mermaid, phases,
};
use crate::model::limits;

/// How a definition is written: its notation, and whether it is in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Phases in YAML.
    Phases,
    /// Only a Mermaid diagram.
    Mermaid,
    /// A Mermaid diagram in a Markdown document.
    Markdown,
    /// A graph of states in YAML.
    Graph,
}

impl Form {
    /// The form of a file, from its name. For a YAML file, `text` decides too.
    #[must_use]
    pub fn of_file(name: &str, text: &str) -> Self {
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdx" => Self::Markdown,
            "mmd" | "mermaid" => Self::Mermaid,
            _ if is_phases(name, text) => Self::Phases,
            _ => Self::Graph,
        }
    }

    /// The notation.
    #[must_use]
    pub fn notation(self) -> Notation {
        match self {
            Self::Phases => Notation::Phases,
            Self::Mermaid | Self::Markdown => Notation::Mermaid,
            Self::Graph => Notation::Graph,
        }
    }
}

/// Whether a YAML text has phases: it has their keys, or it is named like one and has no states.
fn is_phases(name: &str, text: &str) -> bool {
    let mut has_states = false;
    // Not parsed: a text that is not valid YAML has a notation, too.
    for line in text.lines() {
        match line.split_once(':') {
            Some(("phases" | "kind" | "apiVersion", _)) => return true,
            Some(("states", _)) => has_states = true,
            _ => {}
        }
    }
    name.ends_with(".workflow.yaml") && !has_states
}

/// The result of compiling a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledText {
    /// The machine; `None` if a diagnostic is an error.
    pub machine: Option<Machine>,
    /// All problems, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl CompiledText {
    /// Whether the text is a document that does not try to define a state machine. That is not an error in the
    /// document.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.diagnostics.iter().any(|one| one.code == ABSENT)
    }

    /// Whether the text is another kind of file, which does not try to define a workflow of flow.
    #[must_use]
    pub fn is_of_another_kind(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_of_another_kind)
    }
}

/// Compiles a definition. `id` is the workflow's id if the text has none; `types` are the types of states that a graph
/// may use.
#[must_use]
pub fn compile_text(form: Form, text: &str, id: &str, types: &StateTypes) -> CompiledText {
    let most = if form == Form::Markdown { limits::MARKDOWN_BYTES } else { limits::WORKFLOW_BYTES };
    if text.len() > most {
        let message = format!("the definition is larger than {most} bytes");
        let diagnostics = vec![Diagnostic::error("too_large", &Name::nowhere(""), message)];
        return CompiledText { machine: None, diagnostics };
    }
    let (mut source, mut diagnostics) = match form {
        Form::Phases => phases::parse(text, id),
        Form::Graph => graph::parse(text, id, types),
        Form::Mermaid => mermaid::parse(&SourceLine::all(text), Name::nowhere(id)),
        Form::Markdown => {
            let (lines, mut problems) = markdown::find(text);
            // Without lines, the document said why.
            let (source, more) = match lines {
                Some(lines) => {
                    problems.extend(gates::in_block(&lines));
                    mermaid::parse(&lines, Name::nowhere(id))
                }
                None => Default::default(),
            };
            problems.extend(more);
            (source, problems)
        }
    };
    if form.notation() == Notation::Mermaid {
        // Also without a source, so that the problems of the gates and of the diagram come at once.
        let matter = gates::find(text);
        diagnostics.extend(matter.diagnostics);
        if let Some(source) = &mut source {
            source.gates = matter.gates;
            source.requires = matter.requires;
        }
    }
    let is_read = !diagnostics.iter().any(Diagnostic::is_error);
    let mut machine = None;
    if let Some(source) = source {
        let mut problems = match compile(&source) {
            Ok(compiled) => {
                machine = Some(compiled.machine).filter(|_| is_read);
                compiled.warnings
            }
            Err(problems) => problems,
        };
        if !is_read {
            // Warnings about the part that could be read may only be caused by the part that could not.
            problems.retain(Diagnostic::is_error);
        }
        diagnostics.extend(problems);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.place);
    CompiledText { machine, diagnostics }
}
