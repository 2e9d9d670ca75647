//! The workflows of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::CatalogError;
use crate::catalog::config::{Config, NamedCommand, named_commands};
use crate::catalog::folder::Folder;
use crate::catalog::place::{AGENTS, DefinitionDir, definition_dirs, id_of_file};
use crate::catalog::shipped::SHIPPED;
use crate::codec;
use crate::disk::Disk;
use crate::machine::{CompiledText, Diagnostic, Form, Machine, Name, Notation, StateTypes, compile_text, description};
use crate::model::WorkflowId;

/// Where a definition is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of this program.
    Shipped,
    /// A file of the project.
    Project(PathBuf),
}

/// A definition that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundWorkflow {
    /// The compiled workflow.
    pub machine: Machine,
    /// Where the definition is from.
    pub origin: Origin,
    /// The text of the definition.
    pub text: String,
    /// Warnings about it.
    pub diagnostics: Vec<Diagnostic>,
    /// That a diagram of this name in the project is not read, so that this shipped workflow takes its place.
    pub unread_diagram: Option<String>,
}

impl FoundWorkflow {
    /// What its text says of gates and requirements where flow does not read it.
    #[must_use]
    pub fn unread_gates(&self) -> Vec<Diagnostic> {
        self.diagnostics.iter().filter(|one| one.is_of_unread_gate()).cloned().collect()
    }
}

/// A line of [`Catalog::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorkflow {
    /// The workflow's id.
    pub id: String,
    /// The notation of its definition.
    pub notation: Notation,
    /// Where the definition is from.
    pub origin: Origin,
    /// What it is for.
    pub description: Option<String>,
    /// Why it cannot be used; `None` if it can.
    pub error: Option<String>,
    /// Whether it is that of an agent which a skill calls.
    pub is_agent: bool,
    /// Its gates and requirements that flow does not read.
    pub unread_gates: Vec<Diagnostic>,
    /// As in [`FoundWorkflow::unread_diagram`].
    pub unread_diagram: Option<String>,
}

/// A definition of the project's own.
pub(crate) struct OwnDefinition {
    pub(crate) path: PathBuf,
    /// Why it cannot be used.
    pub(crate) error: Option<CatalogError>,
    /// Its gates and requirements that flow does not read.
    pub(crate) unread_gates: Vec<Diagnostic>,
}

/// The workflows that a project can use.
#[derive(Debug, Clone)]
pub struct Catalog {
    pub(super) disk: Arc<dyn Disk>,
    /// `.flow/`, if there is one.
    pub(super) flow_dir: Option<PathBuf>,
}

impl Catalog {
    /// The catalog of the project whose `.flow` directory on `disk` is `flow_dir`. Without one it has the shipped
    /// workflows.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, flow_dir: Option<PathBuf>) -> Self {
        Self { disk, flow_dir }
    }

    /// The project's directory of definitions: `folder` in `.flow`, or `.flow` itself. `None` if it does not exist.
    pub(crate) fn own(&self, folder: Option<&str>) -> Result<Option<Folder>, CatalogError> {
        let Some(flow_dir) = &self.flow_dir else { return Ok(None) };
        match folder {
            Some(folder) => Folder::open(&self.disk, &flow_dir.join(folder), false),
            None => Folder::open(&self.disk, flow_dir, false),
        }
    }

    /// The types of states that this project's graphs may use.
    ///
    /// # Errors
    /// [`CatalogError::Config`] when the project's configuration cannot be understood.
    pub fn state_types(&self) -> Result<StateTypes, CatalogError> {
        Ok(self.config()?.types())
    }

    /// Settings of the project that have no effect: unknown keys, and directories that are not there.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let config = self.config().unwrap_or_default();
        let mut warnings = config.unknown_keys();
        warnings.extend(self.absent_dirs(&config));
        warnings
    }

    /// The store that the project names for its runs.
    ///
    /// # Errors
    /// [`CatalogError::Config`] when the project's configuration cannot be understood.
    pub(crate) fn store(&self) -> Result<Option<String>, CatalogError> {
        Ok(self.config()?.store)
    }

    /// Whether the project asks for a decision journal of each issue.
    ///
    /// # Errors
    /// [`CatalogError::Config`] when the project's configuration cannot be understood.
    pub(crate) fn keeps_journals(&self) -> Result<bool, CatalogError> {
        Ok(self.config()?.journal)
    }

    /// The commands that the project names, in their order.
    ///
    /// # Errors
    /// When the configuration cannot be read, or what it says of a command is none.
    pub(crate) fn named_commands(&self) -> Result<Vec<NamedCommand>, CatalogError> {
        match &self.flow_dir {
            Some(flow_dir) => named_commands(self.config()?.commands, flow_dir),
            None => Ok(Vec::new()),
        }
    }

    /// The workflow called `name`.
    ///
    /// # Errors
    /// [`CatalogError`] if there is none, or if its definition cannot be used.
    pub fn find(&self, name: &str) -> Result<FoundWorkflow, CatalogError> {
        let Ok(id) = WorkflowId::new(name) else {
            return Err(self.unknown(name)?);
        };
        let config = self.config()?;
        let mut passed_over = Vec::new();
        for dir in self.definition_dirs(&config) {
            let Some(folder) = Folder::open(&self.disk, &dir.path, dir.links)? else { continue };
            for suffix in dir.suffixes {
                let file = format!("{id}{suffix}");
                let Some(text) = folder.read(&file)? else { continue };
                match load(&id, &file, text, Origin::Project(folder.join(&file)), &config.types()) {
                    // A skill without a state machine defines nothing, so the next file may.
                    Err(error) if passes_over(&dir, &error) => passed_over.push(error),
                    // A broken definition counts: no other one takes its place.
                    loaded => return loaded,
                }
            }
        }
        if let Some((_, file, text)) = SHIPPED.iter().find(|(shipped, ..)| *shipped == name) {
            let mut found = load(&id, file, (*text).to_owned(), Origin::Shipped, &config.types())?;
            found.unread_diagram = passed_over.iter().find_map(|error| error.unread_diagram(name));
            return Ok(found);
        }
        match passed_over.into_iter().next() {
            Some(error) => Err(error),
            None => Err(self.unknown(name)?),
        }
    }

    /// All workflows, sorted by id. One that cannot be used has [`ListedWorkflow::error`].
    ///
    /// # Errors
    /// [`CatalogError`] when a directory of definitions or the configuration cannot be read.
    pub fn list(&self) -> Result<Vec<ListedWorkflow>, CatalogError> {
        let config = self.config()?;
        let (mut entries, mut unread) = (BTreeMap::new(), BTreeMap::new());
        for (id, file, text) in SHIPPED {
            let known = WorkflowId::new(*id).expect("BUG: a shipped workflow has a valid id");
            let shipped = entry(&known, file, Origin::Shipped, Ok((*text).to_owned()), None, &config.types())?;
            entries.insert((*id).to_owned(), shipped);
        }
        // Later insertions win, so go from the last place to the first.
        for dir in self.definition_dirs(&config).iter().rev() {
            let Some(folder) = Folder::open(&self.disk, &dir.path, dir.links)? else { continue };
            for id in ids(&folder, dir)? {
                for suffix in dir.suffixes.iter().rev() {
                    let file = format!("{id}{suffix}");
                    let origin = Origin::Project(folder.join(&file));
                    let Some(text) = folder.read(&file).transpose() else { continue };
                    match entry(&id, &file, origin, text, Some(dir), &config.types()) {
                        Ok(one) => drop(entries.insert(id.to_string(), one)),
                        Err(error) => {
                            unread.extend(error.unread_diagram(id.as_str()).map(|told| (id.to_string(), told)));
                        }
                    }
                }
            }
        }
        for (id, entry) in &mut entries {
            if entry.origin == Origin::Shipped {
                entry.unread_diagram = unread.remove(id);
            }
        }
        Ok(entries.into_values().collect())
    }

    /// The definitions of the project's own.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub(crate) fn own_definitions(&self) -> Result<Vec<OwnDefinition>, CatalogError> {
        let mut own = Vec::new();
        for entry in self.list()? {
            let Origin::Project(path) = entry.origin else { continue };
            // A line of the list has the first error only.
            let error = if entry.error.is_some() { self.find(&entry.id).err() } else { None };
            own.push(OwnDefinition { path, error, unread_gates: entry.unread_gates });
        }
        Ok(own)
    }

    /// The project's configuration; empty without a project, or without the file.
    ///
    /// # Errors
    /// [`CatalogError::Config`] when it cannot be understood.
    pub(crate) fn config(&self) -> Result<Config, CatalogError> {
        match &self.flow_dir {
            Some(flow_dir) => Config::read(&self.disk, flow_dir),
            None => Ok(Config::default()),
        }
    }

    pub(super) fn definition_dirs(&self, config: &Config) -> Vec<DefinitionDir> {
        self.flow_dir.as_deref().map(|flow_dir| definition_dirs(flow_dir, &config.definitions)).unwrap_or_default()
    }

    fn unknown(&self, name: &str) -> Result<CatalogError, CatalogError> {
        let known: Vec<String> = self.list()?.into_iter().map(|entry| entry.id).collect();
        let id = id_of_file(name).filter(|id| known.iter().any(|known| known == id));
        let suggestion = id.or_else(|| codec::similar(name, known.iter().map(String::as_str))).map(str::to_owned);
        let unread = self.unread_files().into_iter().find(|file| file.id == name).map(|file| file.message);
        Ok(CatalogError::Unknown { name: name.to_owned(), known, suggestion, unread })
    }
}

/// Whether a file of `dir` that cannot be used for this reason defines nothing, so that another one of its name may. Other
/// programs keep files in directories that are not flow's own.
fn passes_over(dir: &DefinitionDir, error: &CatalogError) -> bool {
    let is_own = !dir.links;
    matches!(error, CatalogError::NoMachine { .. }) || !is_own && error.is_of_another_kind()
}

/// The ids of the definitions that may be in a directory. A file whose name does not give a valid id is not a definition.
fn ids(folder: &Folder, dir: &DefinitionDir) -> Result<BTreeSet<WorkflowId>, CatalogError> {
    let mut ids = BTreeSet::new();
    for name in folder.names()? {
        if let Some(id) = without_suffix(&name, dir) {
            ids.extend(WorkflowId::new(id));
        }
    }
    Ok(ids)
}

/// What stands before the suffix of a definition's name; `None` for another name.
fn without_suffix<'n>(name: &'n str, dir: &DefinitionDir) -> Option<&'n str> {
    for suffix in dir.suffixes {
        // A skill is a directory, so its suffix goes on below the name.
        let end = suffix.split('/').next().unwrap_or(suffix);
        if let Some(id) = name.strip_suffix(end) {
            return Some(id);
        }
    }
    None
}

/// Compiles the definition of `id`.
fn load(
    id: &WorkflowId,
    file: &str,
    text: String,
    origin: Origin,
    types: &StateTypes,
) -> Result<FoundWorkflow, CatalogError> {
    let checked = compile_text(Form::of_file(file, &text), &text, id.as_str(), types);
    let absent = checked.is_absent();
    let CompiledText { machine, mut diagnostics } = checked;
    if let Some(machine) = machine {
        if machine.id() == id {
            return Ok(FoundWorkflow { machine, origin, text, diagnostics, unread_diagram: None });
        }
        diagnostics.push(other_id(id, machine.id(), &text));
    }
    let path = match origin {
        Origin::Project(path) => path,
        Origin::Shipped => file.into(),
    };
    if absent {
        let diagram = diagnostics.iter().find(|one| one.is_of_stray_diagram()).map(|one| one.place.line);
        return Err(CatalogError::NoMachine { path, diagram });
    }
    Err(CatalogError::Invalid { path, text, diagnostics })
}

/// A run looks its workflow up by the id in the definition, so it could not find a file with another name.
fn other_id(id: &WorkflowId, written: &WorkflowId, text: &str) -> Diagnostic {
    let place = match codec::parse(text) {
        Ok(root) => Name::of_node(root.nearest("/metadata/id")),
        // A definition in Mermaid or Markdown is not YAML.
        Err(_) => Name::nowhere(""),
    };
    Diagnostic::error("id_mismatch", &place, format!("the file is named after `{id}` and defines `{written}`"))
        .with_help(format!("write `id: {id}`, or rename the file to `{written}.workflow.yaml`"))
}

/// A line of the list.
///
/// # Errors
/// Why `dir`, in which the document stands, passes over it.
fn entry(
    id: &WorkflowId,
    file: &str,
    origin: Origin,
    text: Result<String, CatalogError>,
    dir: Option<&DefinitionDir>,
    types: &StateTypes,
) -> Result<ListedWorkflow, CatalogError> {
    let read = text.as_deref().unwrap_or_default();
    let notation = Form::of_file(file, read).notation();
    let description = description(read);
    let is_agent = is_of_agent(file, &origin);
    let (error, unread_gates) = match text.and_then(|text| load(id, file, text, origin.clone(), types)) {
        Err(error) if dir.is_some_and(|dir| passes_over(dir, &error)) => return Err(error),
        Err(error) => (Some(error.in_list()), Vec::new()),
        Ok(found) => (None, found.unread_gates()),
    };
    let (id, unread_diagram) = (id.to_string(), None);
    Ok(ListedWorkflow { id, notation, origin, description, error, is_agent, unread_gates, unread_diagram })
}

/// Whether a definition is an agent's: hosts keep agents in directories of this name, and so does this program.
fn is_of_agent(file: &str, origin: &Origin) -> bool {
    let path = match origin {
        Origin::Shipped => Path::new(file),
        Origin::Project(path) => path,
    };
    path.parent().is_some_and(|dir| dir.ends_with(AGENTS))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files and processes directly")]
mod tests {
    use super::*;
    use crate::codec::Place;
    use crate::disk::Os;
    use crate::model::limits;
    use rustix::fs::Mode;
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
            Catalog::new(Arc::new(Os), Some(self.dir.path().join(".flow")))
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
    fn the_shipped_workflows_have_the_phases_of_the_tables() {
        let agent = |first: &str| format!("{first}^>completed,failed completed$ failed$");
        let table = [
            ("address-pr", "preflight^>categorize categorize>resolve resolve>verify verify$>resolve".to_owned()),
            ("blueprint", "detect^>charter,prd charter$ prd$".to_owned()),
            (
                "build",
                "requirements^>design design>tasks tasks>build build>verify verify>build,archive archive$".to_owned(),
            ),
            ("build-fast", "plan^>build build>review review$".to_owned()),
            (
                "debug",
                "preflight^>reproduce reproduce>diagnose diagnose>fix fix>verify,diagnose verify$>fix,diagnose"
                    .to_owned(),
            ),
            ("deep-research", "clarify^>plan plan>explore explore>synthesize synthesize>report report$".to_owned()),
            ("feature-verifier", agent("verifying")),
            ("hypothesis-tester", agent("testing")),
            ("merge-pr", "preflight^>verify verify>confirm confirm>merge,verify merge$>verify".to_owned()),
            ("pr-review", "split^>review review>synthesize synthesize>post post$".to_owned()),
            ("release", "preflight^>bump bump>tag tag>push,bump push$>bump".to_owned()),
            ("review-pr", "preflight^>fan-out fan-out>consolidate consolidate>report,fan-out report$".to_owned()),
            ("start-issue", "preflight^>explore explore>plan plan>code code>verify,plan verify$>code".to_owned()),
            ("task-builder", agent("building")),
            ("task-reviewer", agent("reviewing")),
        ];
        let catalog = Catalog::new(Arc::new(Os), None);
        let listed = catalog.list().unwrap();
        assert_eq!(listed.len(), table.len());
        for ((id, expected), entry) in table.into_iter().zip(listed) {
            let found = catalog.find(id).unwrap();
            assert_eq!((found.origin, found.diagnostics), (Origin::Shipped, vec![]));
            let machine = &found.machine;
            let shape = machine.states().iter().map(|state| {
                let next: Vec<_> = machine.successors(&state.name).map(|one| one.to.as_str()).collect();
                let arrow = if next.is_empty() { "" } else { ">" };
                let begin = if machine.initial().contains(&state.name) { "^" } else { "" };
                let end = if machine.is_terminal(&state.name) { "$" } else { "" };
                format!("{}{begin}{end}{arrow}{}", state.name, next.join(","))
            });
            assert_eq!(shape.collect::<Vec<_>>().join(" "), expected, "{id}");
            assert!(machine.states().iter().all(|state| state.description.is_some() || state.label.is_some()));
            assert_eq!((entry.id.as_str(), entry.notation, entry.error), (id, machine.notation(), None));
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
                    assert_eq!(known.len(), SHIPPED.len() + 1);
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
        assert_eq!(diagnostics[0].code, "id_mismatch");
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
        symlink("target", project.path("linked.md")).unwrap();
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
                ("big", "line 1: the file is larger than 1048576 bytes"),
                ("bytes", "line 2: the file is not UTF-8 text"),
                ("debug", "is a symbolic link; flow follows none below .flow"),
                ("folder", "is not a regular file"),
                ("link", "is a symbolic link; flow follows none below .flow"),
                ("linked", "is a symbolic link; flow follows none below .flow"),
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
        let catalog = Catalog::new(Arc::new(Os), Some(flow));
        assert!(matches!(catalog.list(), Err(CatalogError::Refused { .. })));
        assert!(matches!(catalog.find("debug"), Err(CatalogError::Refused { .. })));
    }

    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> FIRST\nFIRST --> [*]\n";

    /// A definition in every notation, with one state called `first`.
    fn written(form: Form, first: &str) -> String {
        let diagram = DIAGRAM.replace("FIRST", first);
        match form {
            Form::Phases => definition("x", first),
            Form::Mermaid => diagram,
            Form::Markdown => format!("---\ndescription: D\n---\n## STATE-MACHINE\n```mermaid\n{diagram}```\n"),
            Form::Graph => format!("description: D\ninitial: {first}\nstates:\n  {first}: {{type: terminal}}\n"),
        }
    }

    #[test]
    fn a_name_is_looked_up_where_agents_keep_their_definitions() {
        let project = Project::new();
        let root = project.dir.path();
        fs::write(root.join(".flow/config.yaml"), "definitions: [flows]\nstate_types: [planner]\n").unwrap();
        // From the last place to the first, each hiding the one before.
        for (at, (file, form)) in [
            ("flows/x/SKILL.md", Form::Markdown),
            ("flows/x.yaml", Form::Graph),
            (".codex/agents/x.md", Form::Markdown),
            (".codex/skills/x/SKILL.md", Form::Markdown),
            (".claude/agents/x.md", Form::Markdown),
            (".claude/skills/x/SKILL.md", Form::Markdown),
            (".flow/workflows/x.md", Form::Markdown),
            (".flow/workflows/x.mmd", Form::Mermaid),
            (".flow/workflows/x.yaml", Form::Graph),
            (".flow/workflows/x.graph.yaml", Form::Graph),
            (".flow/workflows/x.workflow.yaml", Form::Phases),
        ]
        .into_iter()
        .enumerate()
        {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, written(form, &format!("s{at}"))).unwrap();
            let found = project.catalog().find("x").unwrap();
            assert_eq!(
                (found.machine.id().as_str(), found.machine.states()[0].name.to_string()),
                ("x", format!("s{at}"))
            );
            assert_eq!((found.machine.notation(), &found.origin), (form.notation(), &Origin::Project(path.clone())));
            let listed = project.catalog().list().unwrap().into_iter().find(|entry| entry.id == "x").unwrap();
            assert_eq!((listed.notation, listed.origin, listed.error), (form.notation(), Origin::Project(path), None));
            assert_eq!(listed.description.is_some(), matches!(form, Form::Markdown | Form::Graph), "{file}");
        }
        project.write(
            "g.yaml",
            "initial: a\nstates:\n  a: {type: planner, transition: {next: [b]}}\n  b: {type: terminal}\n",
        );
        assert!(project.catalog().find("g").is_ok());
    }

    #[test]
    fn a_skill_without_a_state_machine_hides_nothing_and_one_that_tries_hides_all() {
        let project = Project::new();
        let skill = |name: &str, text: &str| {
            let dir = project.dir.path().join(".claude/skills").join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("SKILL.md"), text).unwrap();
        };
        skill("debug", "# Debug\n\n## State Tracking\n\nNote progress.\n");
        skill("merge-pr", "# Merge\n\n## State Machine\n\n```\n[open] --> [merged]\n```\n");
        skill("mine", "# Mine\n");
        skill("release", "### STATE-MACHINE\n```mermaid\nstateDiagram-v2\n[*] --> a\n```\n");
        assert_eq!(project.catalog().find("debug").unwrap().origin, Origin::Shipped);
        assert_eq!(project.catalog().find("merge-pr").unwrap().origin, Origin::Shipped);
        assert!(matches!(project.catalog().find("mine"), Err(CatalogError::NoMachine { .. })));
        assert!(matches!(project.catalog().find("release"), Err(CatalogError::Invalid { .. })));
        let listed = project.catalog().list().unwrap();
        assert!(listed.iter().all(|entry| entry.id != "mine"));
        assert_eq!(project.errors()[0].0, "release");
    }

    #[test]
    fn a_linked_directory_of_skills_is_followed() {
        let project = Project::new();
        let (root, elsewhere) = (project.dir.path(), tempfile::tempdir().unwrap());
        fs::create_dir_all(elsewhere.path().join("x")).unwrap();
        fs::write(elsewhere.path().join("x/SKILL.md"), written(Form::Markdown, "a")).unwrap();
        fs::create_dir(root.join(".claude")).unwrap();
        symlink(elsewhere.path(), root.join(".claude/skills")).unwrap();
        assert!(project.catalog().find("x").is_ok());
    }

    #[test]
    fn a_configuration_that_cannot_be_understood_is_no_empty_one() {
        let project = Project::new();
        let config = project.dir.path().join(".flow/config.yaml");
        for (text, word) in [
            ("# so\ndefinitions: flows\n", "line 2: `definitions` must be a list"),
            ("state_types: 3\n", "`state_types` must be a list"),
            ("journal: if you like\n", "`journal` must be true or false"),
            ("- definitions\n", "it is not a mapping"),
            ("a: [\n", "line"),
        ] {
            fs::write(&config, text).unwrap();
            let error = project.catalog().find("debug").unwrap_err();
            assert!(matches!(error, CatalogError::Config { .. }) && error.to_string().contains(word), "{error}");
        }
        fs::write(&config, "# nothing yet\n").unwrap();
        assert!(project.catalog().find("debug").is_ok());
    }

    #[test]
    fn a_key_of_the_configuration_that_means_nothing_is_a_warning() {
        let project = Project::new();
        let config = project.dir.path().join(".flow/config.yaml");
        fs::write(&config, "definition: [flows]\nours: {a: 1}\n").unwrap();
        assert!(project.catalog().find("debug").is_ok());
        let wanted = [
            "config.yaml: the key `definition` means nothing to flow; did you mean `definitions`?",
            "config.yaml: the key `ours` means nothing to flow",
        ];
        assert_eq!(project.catalog().warnings(), wanted);
    }

    #[test]
    fn a_project_without_definitions_has_the_shipped_ones() {
        let dir = tempfile::tempdir().unwrap();
        for flow_dir in [dir.path().to_owned(), dir.path().join("absent")] {
            let catalog = Catalog::new(Arc::new(Os), Some(flow_dir));
            assert_eq!(catalog.list().unwrap().len(), SHIPPED.len());
            assert!(catalog.find("release").is_ok());
        }
    }
}
