//! Finds workflow definitions by name.
//!
//! A name is looked up among the project's definitions in `.flow/workflows/` first and among the shipped ones after
//! that. A definition of the project that is broken hides the shipped one all the same: silently following another
//! workflow than the one in the repository would be worse than an error.
//!
//! Definitions inside skill and agent files (`.claude/skills/*/SKILL.md`, `.claude/agents/*.md`, their `.codex/`
//! counterparts and the directories that `.flow/config.yaml` names) join as further places between these two, with an
//! [`Origin`] of their own.
//!
//! The files come with a clone, so they are untrusted: no symbolic link is followed below `.flow`, and only regular
//! files of bounded size are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::codec::{self, Place};
use crate::machine::{Checked, Diagnostic, Machine, Name, Notation, compile_text};
use crate::model::{WorkflowId, limits};

/// What follows the id in the name of a definition's file.
const SUFFIX: &str = ".workflow.yaml";

macro_rules! shipped {
    ($($id:literal),*) => {
        /// The definitions inside this program, by id.
        const SHIPPED: &[(&str, &str)] = &[
            $(($id, include_str!(concat!("../workflows/", $id, ".workflow.yaml")))),*
        ];
    };
}
shipped!("address-pr", "debug", "merge-pr", "release", "review-pr", "start-issue");

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is part of this program.
    Shipped,
    /// It is this file of the project.
    Project(PathBuf),
}

/// A definition that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The compiled workflow.
    pub machine: Machine,
    /// Where it comes from.
    pub origin: Origin,
    /// The definition as it is written.
    pub text: String,
    /// Warnings about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A line of [`Catalog::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The workflow's id.
    pub id: String,
    /// The notation of its definition.
    pub notation: Notation,
    /// Where it comes from.
    pub origin: Origin,
    /// What it is for.
    pub description: Option<String>,
    /// Why it cannot be used; none when it can.
    pub error: Option<String>,
}

/// Why a workflow cannot be had.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// Nothing has this name.
    #[error("there is no workflow `{}`", shown(.name))]
    Unknown {
        /// The name as given.
        name: String,
        /// All names there are, sorted.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// The definition is there and breaks the rules.
    #[error("the workflow in {} cannot be used: {}", .path.display(), summary(.diagnostics))]
    Invalid {
        /// Its file.
        path: PathBuf,
        /// Its text, for excerpts.
        text: String,
        /// All problems, warnings included.
        diagnostics: Vec<Diagnostic>,
    },
    /// The path leads to something that flow does not open.
    #[error("{} {reason}", .path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// What it is, as the end of a sentence.
        reason: &'static str,
    },
    /// The system refused.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The workflows that a project can use.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// `.flow/`, when there is one.
    flow_dir: Option<PathBuf>,
}

impl Catalog {
    /// The catalog of the project whose `.flow` directory is `flow_dir`; the shipped workflows alone without one.
    #[must_use]
    pub fn new(flow_dir: Option<PathBuf>) -> Self {
        Self { flow_dir }
    }

    /// The workflow called `name`.
    ///
    /// # Errors
    /// [`CatalogError`] when there is none, or when the definition that has the name cannot be used.
    pub fn find(&self, name: &str) -> Result<Found, CatalogError> {
        let Ok(id) = WorkflowId::new(name) else {
            return Err(self.unknown(name)?);
        };
        if let Some(folder) = self.folder()?
            && let Some(text) = folder.read(&format!("{id}{SUFFIX}"))?
        {
            let path = folder.path.join(format!("{id}{SUFFIX}"));
            return load(&id, text, Origin::Project(path));
        }
        match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            Some((_, text)) => load(&id, (*text).to_owned(), Origin::Shipped),
            None => Err(self.unknown(name)?),
        }
    }

    /// All workflows, sorted by id; one that cannot be used is listed with the reason.
    ///
    /// # Errors
    /// [`CatalogError`] when the project's directory of definitions cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, CatalogError> {
        let mut entries = BTreeMap::new();
        for (id, text) in SHIPPED {
            entries.insert((*id).to_owned(), entry(id, Origin::Shipped, Ok((*text).to_owned())));
        }
        if let Some(folder) = self.folder()? {
            for id in folder.ids()? {
                let file = format!("{id}{SUFFIX}");
                let origin = Origin::Project(folder.path.join(&file));
                // None: removed since the directory was read.
                if let Some(text) = folder.read(&file).transpose() {
                    entries.insert(id.clone(), entry(&id, origin, text));
                }
            }
        }
        Ok(entries.into_values().collect())
    }

    fn unknown(&self, name: &str) -> Result<CatalogError, CatalogError> {
        let mut known = SHIPPED.iter().map(|(id, _)| (*id).to_owned()).collect::<Vec<_>>();
        if let Some(folder) = self.folder()? {
            known.extend(folder.ids()?);
        }
        known.sort_unstable();
        known.dedup();
        let suggestion = codec::similar(name, known.iter().map(String::as_str)).map(str::to_owned);
        Ok(CatalogError::Unknown { name: name.to_owned(), known, suggestion })
    }

    /// The project's directory of definitions, when there is one.
    fn folder(&self) -> Result<Option<Folder>, CatalogError> {
        let Some(flow_dir) = &self.flow_dir else {
            return Ok(None);
        };
        let path = flow_dir.join("workflows");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(flow_dir, flags, Mode::empty())
            .and_then(|parent| rustix::fs::openat(&parent, "workflows", flags | OFlags::NOFOLLOW, Mode::empty()));
        match opened {
            Ok(handle) => Ok(Some(Folder { handle, path })),
            Err(Errno::NOENT) => Ok(None),
            // With O_DIRECTORY, Linux reports a symbolic link as ENOTDIR.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(CatalogError::Refused {
                path,
                reason: "is not a directory of its own; flow follows no symbolic links below .flow",
            }),
            Err(error) => Err(io_error(&path, error)),
        }
    }
}

/// An open `.flow/workflows/`.
struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// The ids of the definitions, unsorted. A file whose name makes no id is not a definition.
    fn ids(&self) -> Result<Vec<String>, CatalogError> {
        let mut ids = Vec::new();
        let entries = Dir::read_from(&self.handle).map_err(|error| io_error(&self.path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| io_error(&self.path, error))?;
            let id = entry.file_name().to_str().ok().and_then(|name| name.strip_suffix(SUFFIX));
            ids.extend(id.filter(|id| WorkflowId::new(*id).is_ok()).map(str::to_owned));
        }
        Ok(ids)
    }

    /// The text of `file`; none when there is no such file.
    fn read(&self, file: &str) -> Result<Option<String>, CatalogError> {
        let path = self.path.join(file);
        // Not to wait for the writer of a FIFO, the file is opened without blocking and looked at afterwards.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let refused = |path, reason| Err(CatalogError::Refused { path, reason });
        let file = match rustix::fs::openat(&self.handle, file, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return refused(path, "is a symbolic link; flow follows none below .flow"),
            Err(Errno::NXIO) => return refused(path, "is not a regular file"),
            Err(error) => return Err(io_error(&path, error)),
        };
        let at_path = |source| CatalogError::Io { path: path.clone(), source };
        if !file.metadata().map_err(at_path)?.is_file() {
            return refused(path, "is not a regular file");
        }
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file that is too large, also when it grows while it is read.
        let bound = u64::try_from(limits::WORKFLOW_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        file.take(bound).read_to_end(&mut bytes).map_err(at_path)?;
        text(path, bytes).map(Some)
    }
}

/// The bytes of the file at `path` as text of bounded size.
fn text(path: PathBuf, bytes: Vec<u8>) -> Result<String, CatalogError> {
    let invalid = |text: String, code, message: String, place| {
        let mut name = Name::nowhere("");
        name.place = place;
        let diagnostics = vec![Diagnostic::error(code, &name, message)];
        Err(CatalogError::Invalid { path, text, diagnostics })
    };
    if bytes.len() > limits::WORKFLOW_BYTES {
        let message = format!("the definition is larger than {} bytes", limits::WORKFLOW_BYTES);
        return invalid(String::new(), "too-large", message, Place { line: 1, column: 1 });
    }
    String::from_utf8(bytes).or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let place = Place::of(&text, valid);
        invalid(text, "not-utf8", "the definition is not UTF-8 text".into(), place)
    })
}

fn io_error(path: &Path, error: Errno) -> CatalogError {
    CatalogError::Io { path: path.to_owned(), source: error.into() }
}

/// Compiles the definition of `id`.
fn load(id: &WorkflowId, text: String, origin: Origin) -> Result<Found, CatalogError> {
    let Checked { machine, mut diagnostics } = compile_text(Notation::Phases, &text, id.as_str());
    if let Some(machine) = machine {
        if machine.id() == id {
            return Ok(Found { machine, origin, text, diagnostics });
        }
        diagnostics.push(other_id(id, machine.id(), &text));
    }
    let path = match origin {
        Origin::Project(path) => path,
        Origin::Shipped => format!("workflows/{id}{SUFFIX}").into(),
    };
    Err(CatalogError::Invalid { path, text, diagnostics })
}

/// A run finds its workflow by the id that its definition gives, so a file under another name would be lost to it.
fn other_id(id: &WorkflowId, written: &WorkflowId, text: &str) -> Diagnostic {
    let place =
        codec::parse(text).map_or_else(|_| Name::nowhere(""), |root| Name::of_node(root.nearest("/metadata/id")));
    Diagnostic::error("id-mismatch", &place, format!("the file is named after `{id}` and defines `{written}`"))
        .with_help(format!("write `id: {id}`, or rename the file to `{written}{SUFFIX}`"))
}

fn entry(id: &str, origin: Origin, text: Result<String, CatalogError>) -> Entry {
    let description = text.as_deref().ok().and_then(description);
    let loaded = text.and_then(|text| match WorkflowId::new(id) {
        Ok(id) => load(&id, text, origin.clone()),
        Err(_) => unreachable!("BUG: a listed workflow without a valid id"),
    });
    Entry {
        id: id.to_owned(),
        notation: Notation::Phases,
        origin,
        description,
        error: loaded.err().map(|error| match error {
            // The entry names the file already.
            CatalogError::Invalid { diagnostics, .. } => summary(&diagnostics),
            CatalogError::Io { source, .. } => source.to_string(),
            CatalogError::Refused { reason, .. } => reason.to_owned(),
            CatalogError::Unknown { .. } => error.to_string(),
        }),
    }
}

fn description(text: &str) -> Option<String> {
    let value = codec::parse_value(text).ok()?;
    value["metadata"]["description"].as_str().map(str::to_owned)
}

/// The first error, and how many others there are.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|one| one.is_error());
    let Some(first) = errors.next() else {
        return "it has no errors".into();
    };
    let line = first.place.line;
    match errors.count() {
        0 => format!("line {line}: {}", first.message),
        1 => format!("line {line}: {} (and 1 more error)", first.message),
        more => format!("line {line}: {} (and {more} more errors)", first.message),
    }
}

/// A name from the command line, short enough for a sentence.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files and processes directly")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Project {
        dir: tempfile::TempDir,
    }

    impl Project {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join(".flow/workflows")).unwrap();
            Self { dir }
        }

        fn path(&self, file: &str) -> PathBuf {
            self.dir.path().join(".flow/workflows").join(file)
        }

        fn write(&self, file: &str, text: impl AsRef<[u8]>) {
            fs::write(self.path(file), text).unwrap();
        }

        fn catalog(&self) -> Catalog {
            Catalog::new(Some(self.dir.path().join(".flow")))
        }

        fn errors(&self) -> Vec<(String, String)> {
            let entries = self.catalog().list().unwrap().into_iter();
            entries.filter_map(|entry| Some((entry.id, entry.error?))).collect()
        }
    }

    fn definition(id: &str, phase: &str) -> String {
        format!("apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata:\n  id: {id}\nphases:\n  - id: {phase}\n")
    }

    #[test]
    fn the_shipped_workflows_have_the_phases_of_the_table() {
        let table = [
            ("address-pr", "preflight categorize resolve verify"),
            ("debug", "preflight reproduce diagnose fix verify"),
            ("merge-pr", "preflight verify confirm merge"),
            ("release", "preflight bump tag push"),
            ("review-pr", "preflight fan-out consolidate report"),
            ("start-issue", "preflight explore plan code verify"),
        ];
        let catalog = Catalog::new(None);
        let listed = catalog.list().unwrap();
        assert_eq!(listed.len(), table.len());
        for ((id, phases), entry) in table.into_iter().zip(listed) {
            let found = catalog.find(id).unwrap();
            assert_eq!((found.origin, found.diagnostics), (Origin::Shipped, vec![]));
            let machine = &found.machine;
            let mut phase = &machine.initial()[0];
            let mut walked = vec![phase.as_str()];
            while let Some(transition) = machine.successors(phase).next() {
                phase = &transition.to;
                walked.push(phase.as_str());
            }
            assert_eq!(walked.join(" "), phases, "{id}");
            assert_eq!(machine.terminal(), std::slice::from_ref(phase));
            assert!(machine.states().iter().all(|state| state.description.is_some() && state.kind.is_some()));
            assert_eq!((entry.id.as_str(), entry.error), (id, None));
            assert!(entry.description.is_some());
        }
    }

    #[test]
    fn a_definition_of_the_project_shadows_the_shipped_one_also_when_it_is_broken() {
        let project = Project::new();
        assert_eq!(project.catalog().find("debug").unwrap().origin, Origin::Shipped);
        project.write("debug.workflow.yaml", definition("debug", "look"));
        let found = project.catalog().find("debug").unwrap();
        assert_eq!(found.origin, Origin::Project(project.path("debug.workflow.yaml")));
        assert_eq!(found.machine.states()[0].name.as_str(), "look");
        project.write("debug.workflow.yaml", "phases: [");
        let error = project.catalog().find("debug").unwrap_err();
        assert!(error.to_string().contains("debug.workflow.yaml"), "{error}");
        assert_eq!(project.errors()[0].0, "debug");
    }

    #[test]
    fn an_unknown_name_says_what_was_probably_meant() {
        let project = Project::new();
        project.write("deploy.workflow.yaml", definition("deploy", "a"));
        project.write("notes.txt", "");
        for (name, meant) in [
            ("dploy", Some("deploy")),
            ("Debug", Some("debug")),
            ("xyz", None),
            ("../debug", Some("debug")),
            ("", None),
        ] {
            match project.catalog().find(name).unwrap_err() {
                CatalogError::Unknown { known, suggestion, .. } => {
                    assert_eq!(known.len(), 7);
                    assert!(known.is_sorted() && known.contains(&"deploy".to_owned()));
                    assert_eq!(suggestion.as_deref(), meant, "{name}");
                }
                other => panic!("{name}: {other}"),
            }
        }
    }

    #[test]
    fn a_file_under_another_name_is_refused_with_help() {
        let project = Project::new();
        project.write("mine.workflow.yaml", definition("debug", "a"));
        let CatalogError::Invalid { diagnostics, .. } = project.catalog().find("mine").unwrap_err() else {
            panic!("not refused as invalid");
        };
        assert_eq!(diagnostics[0].code, "id-mismatch");
        assert_eq!(diagnostics[0].place, Place { line: 4, column: 7 });
        assert!(diagnostics[0].help.as_deref().unwrap().contains("debug.workflow.yaml"));
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read_and_nothing_hangs() {
        let project = Project::new();
        project.write("target", definition("link", "a"));
        symlink("target", project.path("link.workflow.yaml")).unwrap();
        symlink("nowhere", project.path("debug.workflow.yaml")).unwrap();
        fs::create_dir(project.path("folder.workflow.yaml")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            project.path("pipe.workflow.yaml"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(project.path("sock.workflow.yaml")).unwrap();
        project.write("big.workflow.yaml", vec![b'#'; limits::WORKFLOW_BYTES + 1]);
        project.write("bytes.workflow.yaml", b"a: 1\nb: \xff\n");
        project.write("a b.workflow.yaml", "");
        let errors = project.errors();
        let codes = errors.iter().map(|(id, error)| (id.as_str(), error.as_str())).collect::<Vec<_>>();
        assert_eq!(
            codes,
            [
                ("big", "line 1: the definition is larger than 1048576 bytes"),
                ("bytes", "line 2: the definition is not UTF-8 text"),
                ("debug", "is a symbolic link; flow follows none below .flow"),
                ("folder", "is not a regular file"),
                ("link", "is a symbolic link; flow follows none below .flow"),
                ("pipe", "is not a regular file"),
                ("sock", "is not a regular file"),
            ]
        );
        assert!(matches!(project.catalog().find("debug"), Err(CatalogError::Refused { .. })));
    }

    #[test]
    fn a_linked_directory_of_definitions_is_refused() {
        let project = Project::new();
        project.write("mine.workflow.yaml", definition("mine", "a"));
        let flow = project.dir.path().join("other");
        fs::create_dir(&flow).unwrap();
        symlink(project.path(""), flow.join("workflows")).unwrap();
        let catalog = Catalog::new(Some(flow));
        assert!(matches!(catalog.list(), Err(CatalogError::Refused { .. })));
        assert!(matches!(catalog.find("debug"), Err(CatalogError::Refused { .. })));
    }

    #[test]
    fn a_project_without_definitions_has_the_shipped_ones() {
        let dir = tempfile::tempdir().unwrap();
        for flow_dir in [dir.path().to_owned(), dir.path().join("absent")] {
            let catalog = Catalog::new(Some(flow_dir));
            assert_eq!(catalog.list().unwrap().len(), SHIPPED.len());
            assert!(catalog.find("release").is_ok());
        }
    }
}
