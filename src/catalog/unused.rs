//! What looks like a definition, or like a directory of them, and is passed over: reported, since its author expects it to
//! count.

use std::path::PathBuf;

use crate::catalog::config::{CONFIG_FILE, Config};
use crate::catalog::find::Catalog;
use crate::catalog::folder::Folder;
use crate::catalog::place::{DefinitionDir, WORKFLOW_SUFFIXES, WORKFLOWS};
use crate::machine::{Form, compile_text};
use crate::model::{WorkflowId, slug};

/// Endings that flow does not read, and those that it reads instead.
const LIKE: [(&str, &str); 8] = [
    (".workflow.yml", ".workflow.yaml"),
    (".workflow.json", ".workflow.yaml"),
    (".graph.yml", ".graph.yaml"),
    (".yml", ".yaml"),
    (".json", ".yaml"),
    (".mermaid", ".mmd"),
    (".markdown", ".md"),
    (".mdx", ".md"),
];

/// A file that defines a workflow, under a name that flow does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadFile {
    /// The workflow's id if it were read.
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    /// What is wrong with its name, and what to do.
    pub(crate) message: String,
}

impl Catalog {
    /// The files in the directories of definitions that flow passes over because of their names, sorted. What cannot be read
    /// is reported elsewhere.
    pub(crate) fn unread_files(&self) -> Vec<UnreadFile> {
        let config = self.config().unwrap_or_default();
        let mut unread = Vec::new();
        for dir in self.definition_dirs(&config) {
            if dir.suffixes == WORKFLOW_SUFFIXES {
                self.unread_in(&dir, &config, &mut unread);
            }
        }
        self.unread_below_own(&config, &mut unread);
        unread.sort_by(|one, other| one.path.cmp(&other.path));
        unread
    }

    fn unread_in(&self, dir: &DefinitionDir, config: &Config, unread: &mut Vec<UnreadFile>) {
        let Ok(Some(folder)) = Folder::open(&self.disk, &dir.path, dir.links) else { return };
        let names = folder.names().unwrap_or_default();
        for name in &names {
            let Some((id, right)) = id_and_name(name).filter(|(_, right)| right != name) else { continue };
            if !tries_to_be_one(&folder, name, &id, config) {
                continue;
            }
            let message = if names.contains(&right) {
                format!("flow does not read {name}, but {right}; remove one of them")
            } else {
                format!("flow does not read {name}; rename it to {right}")
            };
            unread.push(UnreadFile { id, path: folder.join(name), message });
        }
    }

    /// Those in directories in the project's own directory of definitions.
    fn unread_below_own(&self, config: &Config, unread: &mut Vec<UnreadFile>) {
        let Ok(Some(own)) = self.own(Some(WORKFLOWS)) else { return };
        for dir in own.names().unwrap_or_default() {
            let Ok(Some(folder)) = Folder::open(&self.disk, &own.join(&dir), false) else { continue };
            for name in folder.names().unwrap_or_default() {
                let Some((id, right)) = id_and_name(&name) else { continue };
                if tries_to_be_one(&folder, &name, &id, config) {
                    let message = format!("flow reads no directories in {WORKFLOWS}; move {dir}/{name} to {right}");
                    unread.push(UnreadFile { id, path: folder.join(&name), message });
                }
            }
        }
    }

    /// What is wrong with the directories that the configuration names.
    pub(crate) fn absent_dirs(&self, config: &Config) -> Vec<String> {
        let root = self.flow_dir.as_deref().and_then(std::path::Path::parent);
        let mut absent = Vec::new();
        for dir in &config.definitions {
            let path = root.map(|root| root.join(dir)).unwrap_or_default();
            if !self.disk.is_dir(&path) {
                let what = if self.disk.is_file(&path) { "is a file, not a directory" } else { "does not exist" };
                absent.push(format!("{CONFIG_FILE}: `definitions` names {}, which {what}", dir.display()));
            }
        }
        absent
    }
}

/// The id of the workflow that a file may define by its name, and the name under which flow reads it. A name that is no id
/// is made one.
fn id_and_name(name: &str) -> Option<(String, String)> {
    let lower = name.to_ascii_lowercase();
    let known = WORKFLOW_SUFFIXES.iter().map(|known| (*known, *known));
    let (ending, right) = known.chain(LIKE).find(|(ending, _)| lower.ends_with(ending))?;
    let id = &name[..name.len() - ending.len()];
    let id = if WorkflowId::new(id).is_ok() { id.to_owned() } else { slug(id, 80)? };
    let right = format!("{id}{right}");
    Some((id, right))
}

fn tries_to_be_one(folder: &Folder, name: &str, id: &str, config: &Config) -> bool {
    let Ok(Some(text)) = folder.read(name) else { return false };
    !compile_text(Form::of_file(name, &text), &text, id, &config.types()).is_of_another_kind()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files directly")]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::catalog::{CatalogError, Origin};
    use crate::disk::Os;

    const GRAPH: &str = "initial: a\nstates:\n  a: {type: terminal}\n";
    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> a\na --> [*]\n";

    #[test]
    fn a_definition_whose_ending_is_not_read_is_told_with_the_right_one() {
        let dir = tempfile::tempdir().unwrap();
        let flow_dir = dir.path().join(".flow");
        let place = flow_dir.join("workflows");
        fs::create_dir_all(&place).unwrap();
        fs::create_dir(dir.path().join("more")).unwrap();
        fs::write(flow_dir.join("config.yaml"), "definitions: [more, absent, file]\n").unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        fs::write(dir.path().join("more/far.yml"), GRAPH).unwrap();
        let document = format!("## STATE-MACHINE\n\n```mermaid\n{DIAGRAM}```\n");
        fs::create_dir(place.join("team")).unwrap();
        for (name, text) in [
            ("team/below.yaml", GRAPH),
            ("team/README.md", "# Notes\n"),
            ("a.yml", GRAPH),
            ("b.workflow.yml", "kind: FlowWorkflow\n"),
            ("c.JSON", "{\"initial\": \"a\", \"states\": {\"a\": {\"type\": \"terminal\"}}}"),
            ("d.mermaid", DIAGRAM),
            ("e.markdown", &document),
            ("f.YAML", GRAPH),
            ("both.yml", GRAPH),
            ("both.yaml", GRAPH),
            ("My flow.mmd", DIAGRAM),
            // Files of others.
            ("package.json", "{\"name\": \"x\"}"),
            ("ci.yml", "on: [push]\njobs: {}\n"),
            ("README.markdown", "# Notes\n"),
            ("notes.txt", GRAPH),
        ] {
            fs::write(place.join(name), text).unwrap();
        }
        let catalog = Catalog::new(Arc::new(Os), Some(flow_dir));
        let unread = catalog.unread_files();
        let told: Vec<_> = unread.iter().map(|one| one.message.as_str()).collect();
        let wanted = [
            "flow does not read My flow.mmd; rename it to my-flow.mmd",
            "flow does not read a.yml; rename it to a.yaml",
            "flow does not read b.workflow.yml; rename it to b.workflow.yaml",
            "flow does not read both.yml, but both.yaml; remove one of them",
            "flow does not read c.JSON; rename it to c.yaml",
            "flow does not read d.mermaid; rename it to d.mmd",
            "flow does not read e.markdown; rename it to e.md",
            "flow does not read f.YAML; rename it to f.yaml",
            "flow reads no directories in workflows; move team/below.yaml to below.yaml",
            "flow does not read far.yml; rename it to far.yaml",
        ];
        assert_eq!(told, wanted);
        let Err(CatalogError::Unknown { unread: Some(unread), .. }) = catalog.find("a") else { panic!("it is read") };
        assert_eq!(unread, wanted[1]);
        let absent = [
            "config.yaml: `definitions` names absent, which does not exist",
            "config.yaml: `definitions` names file, which is a file, not a directory",
        ];
        assert_eq!(catalog.warnings(), absent);
    }

    #[test]
    fn files_of_other_programs_in_a_directory_that_is_not_flows_own_hide_no_workflow() {
        let dir = tempfile::tempdir().unwrap();
        let flow_dir = dir.path().join(".flow");
        fs::create_dir_all(flow_dir.join("workflows")).unwrap();
        fs::create_dir(dir.path().join("ci")).unwrap();
        fs::write(flow_dir.join("config.yaml"), "definitions: [ci]\n").unwrap();
        fs::write(dir.path().join("ci/release.yaml"), "on: [push]\njobs: {}\n").unwrap();
        fs::write(dir.path().join("ci/nightly.yaml"), "on: [push]\njobs: {}\n").unwrap();
        fs::write(dir.path().join("ci/debug.yaml"), "initial: a\nstates: {}\n").unwrap();
        let catalog = Catalog::new(Arc::new(Os), Some(flow_dir.clone()));
        assert_eq!(catalog.find("release").unwrap().origin, Origin::Shipped);
        // Who names it is told what it is.
        assert!(matches!(catalog.find("nightly"), Err(CatalogError::Invalid { .. })));
        let listed = catalog.list().unwrap();
        assert!(listed.iter().all(|one| one.id != "nightly"));
        // One that tries to be a workflow counts, and so does one that was put into flow's own directory.
        assert!(catalog.find("debug").is_err());
        fs::write(flow_dir.join("workflows/release.yaml"), "on: [push]\njobs: {}\n").unwrap();
        assert!(catalog.find("release").is_err());
    }

    #[test]
    fn a_diagram_that_is_not_read_is_told_where_a_shipped_workflow_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let flow_dir = dir.path().join(".flow");
        let skill = dir.path().join(".claude/skills/build");
        fs::create_dir_all(&skill).unwrap();
        fs::create_dir(&flow_dir).unwrap();
        let catalog = Catalog::new(Arc::new(Os), Some(flow_dir));
        let file = skill.join("SKILL.md");
        fs::write(&file, "# Build\n\nNo diagram.\n").unwrap();
        assert_eq!(catalog.find("build").unwrap().unread_diagram, None);
        fs::write(&file, format!("# Build\n\n## Workflow\n\n```mermaid\n{DIAGRAM}```\n")).unwrap();
        let told = catalog.find("build").unwrap().unread_diagram.unwrap();
        let wanted = "SKILL.md, line 5, is not read, since it stands below no heading `## STATE-MACHINE`: the shipped workflow build is used";
        assert!(told.ends_with(wanted), "{told}");
        let listed = catalog.list().unwrap();
        assert_eq!(listed.iter().find(|one| one.id == "build").unwrap().unread_diagram, Some(told));
    }
}
