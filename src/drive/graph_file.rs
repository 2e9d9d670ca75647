//! A graph from a file, for programs that bring their own states.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::catalog::{CatalogError, definition_text};
use crate::disk::{Os, read_named};
use crate::drive::agent::{Registry, RegistryError, StateHandler};
use crate::machine::{Diagnostic, Form, StateTypes, compile_text};
use crate::model::limits;
use crate::runs::workflow::id_of_file;

/// Why no agent can go through the graph in a file.
#[derive(Debug, Error)]
pub enum GraphFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The graph does not compile. The message has a line for each error: file, line and column, what is wrong, and how to
    /// fix it.
    #[error("{}", lines(.path, .diagnostics))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All problems, warnings included.
        diagnostics: Vec<Diagnostic>,
    },
    /// The type of a state is not registered.
    #[error("{}: {source}", .path.display())]
    Types {
        /// The file.
        path: PathBuf,
        /// The state and its type.
        source: RegistryError,
    },
}

fn lines(path: &Path, diagnostics: &[Diagnostic]) -> String {
    let mut lines = Vec::new();
    // Warnings alone refuse no graph.
    for Diagnostic { place, message, help, .. } in diagnostics.iter().filter(|one| one.is_error()) {
        let help = help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        lines.push(format!("{}:{}:{}: {message}{help}", path.display(), place.line, place.column));
    }
    lines.join("\n")
}

impl<'m> StateHandler<'m> {
    /// Reads and compiles the graph in a file, and makes its states. Besides the usual types, the graph may use those of
    /// `registry`.
    ///
    /// # Errors
    /// [`GraphFileError`].
    pub fn from_file(path: impl AsRef<Path>, registry: &Registry<'m>) -> Result<Self, GraphFileError> {
        let path = path.as_ref();
        let invalid = |diagnostics| GraphFileError::Invalid { path: path.to_owned(), diagnostics };
        let bytes = read_named(&Os, path, limits::WORKFLOW_BYTES);
        let bytes = bytes.map_err(|source| GraphFileError::Read { path: path.to_owned(), source })?;
        let text = match definition_text(path, bytes) {
            Ok(text) => text,
            Err(CatalogError::Invalid { diagnostics, .. }) => return Err(invalid(diagnostics)),
            Err(error) => return Err(GraphFileError::Read { path: path.to_owned(), source: io::Error::other(error) }),
        };
        let form = Form::of_file(&path.to_string_lossy(), &text);
        let checked = compile_text(form, &text, &id_of_file(path), &StateTypes::with(registry.kinds()));
        let machine = checked.machine.ok_or_else(|| invalid(checked.diagnostics))?;
        Self::new(machine, registry).map_err(|source| GraphFileError::Types { path: path.to_owned(), source })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "graphs of tests are files")]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_a_graph_file_has_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.graph.yaml");
        let graph = "\
initial: a
states:
  a:
    type: user
    transition:
      next: [b]
  b:
    type: terminal
";
        let save = |text: &str| std::fs::write(&path, text).unwrap();
        let registry = Registry::new();
        save(&graph.replace("initial: a", "initial: aa").replace("[b]", "[bb]"));
        let refused = StateHandler::from_file(&path, &registry).unwrap_err();
        let shown = refused.to_string().replace(&*dir.path().to_string_lossy(), "DIR");
        insta::assert_snapshot!(shown, @r"
        DIR/job.graph.yaml:1:10: the initial state `aa` does not exist (did you mean `a`?)
        DIR/job.graph.yaml:6:14: there is no state `bb` (did you mean `b`?)
        ");

        save(graph);
        let handler = StateHandler::from_file(&path, &registry).unwrap();
        assert_eq!((handler.machine().id().as_str(), handler.initial_state().as_str()), ("job", "a"));

        save(&graph.replace("user", "tool"));
        let refused = StateHandler::from_file(&path, &registry).unwrap_err();
        assert!(matches!(refused, GraphFileError::Types { .. }), "{refused}");
        let away = StateHandler::from_file(dir.path().join("away.yaml"), &registry).unwrap_err();
        assert!(matches!(&away, GraphFileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound));
    }
}
