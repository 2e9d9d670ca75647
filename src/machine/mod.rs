//! Workflow definitions, compiled.
//!
//! A definition is text in one of several notations. A front end (`phases`) turns the text into a [`MachineSource`]:
//! names with the places where they stand. [`compile`] checks such a source, the same way for every notation, and is
//! the only maker of a [`Machine`]. Every problem becomes a [`Diagnostic`] and all of them are reported at once.
//!
//! Nothing here does I/O; the catalog finds the texts.

mod check;
mod diagnostic;
#[expect(clippy::module_inception, reason = "one noun a file, and the noun of this room is the machine")]
mod machine;
mod phases;
mod source;

pub use check::{Compiled, compile};
pub use diagnostic::{Diagnostic, Severity, render};
pub use machine::{Machine, MachineError, Notation, State, Transition};
pub use source::{MachineSource, Name, SourceState, SourceTransition};

/// What came out of a definition's text.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The machine; none when a diagnostic is an error.
    pub machine: Option<Machine>,
    /// All problems, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a definition's `text`; `id` names it where the text does not.
#[must_use]
pub fn compile_text(notation: Notation, text: &str, id: &str) -> Checked {
    let (source, mut diagnostics) = match notation {
        Notation::Phases => phases::parse(text, id),
        Notation::Mermaid | Notation::Graph => (None, vec![unreadable(notation)]),
    };
    let mut machine = None;
    match source.as_ref().map(compile) {
        Some(Ok(compiled)) => {
            machine = Some(compiled.machine);
            diagnostics.extend(compiled.warnings);
        }
        Some(Err(problems)) => diagnostics.extend(problems),
        None => {}
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.place);
    if diagnostics.iter().any(Diagnostic::is_error) {
        machine = None;
    }
    Checked { machine, diagnostics }
}

fn unreadable(notation: Notation) -> Diagnostic {
    Diagnostic::error(
        "unreadable-notation",
        &Name::nowhere(""),
        format!("this version of flow cannot read definitions in the {notation} notation"),
    )
}
