//! The directories that may have definitions, and the names of the files.

use std::path::{Path, PathBuf};

/// The file of a skill, in a directory of its name.
pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// The directory of agents.
pub(crate) const AGENTS: &str = "agents";

/// The project's own directory of definitions, in `.flow`.
pub(super) const WORKFLOWS: &str = "workflows";

/// A directory with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefinitionDir {
    pub(super) path: PathBuf,
    /// The suffixes of its files after the id. The first match wins.
    pub(super) suffixes: &'static [&'static str],
    /// Whether to follow symbolic links; `false` below `.flow`.
    pub(super) links: bool,
}

/// The suffixes of a definition's file after the id. The first match wins.
pub(super) const WORKFLOW_SUFFIXES: &[&str] = &[".workflow.yaml", ".graph.yaml", ".yaml", ".mmd", ".md"];
/// Those of a skill, which is a directory.
const SKILL_SUFFIXES: &[&str] = &["/SKILL.md"];
/// Those of an agent.
const AGENT_SUFFIXES: &[&str] = &[".md"];

/// Where coding agents keep skills and agents, relative to the project.
const AGENT_DIRS: [(&str, &[&str]); 4] = [
    (".claude/skills", SKILL_SUFFIXES),
    (".claude/agents", AGENT_SUFFIXES),
    (".codex/skills", SKILL_SUFFIXES),
    (".codex/agents", AGENT_SUFFIXES),
];

/// Whether a definition with this name can only be a file.
pub(crate) fn names_a_file(name: &str) -> bool {
    name.contains('/') || [".yaml", ".yml", ".md", ".mmd"].iter().any(|end| name.ends_with(end))
}

/// The id of the workflow that the file with this path would define.
pub(super) fn id_of_file(path: &str) -> Option<&str> {
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == SKILL_FILE {
        return dir.rsplit('/').next();
    }
    WORKFLOW_SUFFIXES.iter().find_map(|suffix| file.strip_suffix(suffix))
}

/// The directories to search for definitions, in this order, for the project whose `.flow` directory is `flow_dir`.
/// `more` are those of its configuration.
pub(super) fn definition_dirs(flow_dir: &Path, more: &[PathBuf]) -> Vec<DefinitionDir> {
    let root = flow_dir.parent().unwrap_or(flow_dir);
    let own = DefinitionDir { path: flow_dir.join(WORKFLOWS), suffixes: WORKFLOW_SUFFIXES, links: false };
    let mut dirs = vec![own];
    for (path, suffixes) in AGENT_DIRS {
        dirs.push(DefinitionDir { path: root.join(path), suffixes, links: true });
    }
    for path in more {
        // A directory that the configuration names may have either.
        for suffixes in [WORKFLOW_SUFFIXES, SKILL_SUFFIXES] {
            dirs.push(DefinitionDir { path: root.join(path), suffixes, links: true });
        }
    }
    dirs
}
