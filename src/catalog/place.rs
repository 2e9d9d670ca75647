//! The directories that may have definitions, and the names of the files.

use std::path::{Path, PathBuf};

/// A directory with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefinitionDir {
    pub(super) path: PathBuf,
    pub(super) naming: FileNaming,
    /// Whether to follow symbolic links; `false` below `.flow`.
    pub(super) links: bool,
}

/// How the definitions of a directory are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileNaming {
    /// `<id>.workflow.yaml` and the like.
    Definitions,
    /// `<id>/SKILL.md`.
    Skills,
    /// `<id>.md`.
    Agents,
}

/// The suffixes of a definition's file after the id. The first match wins.
pub(super) const SUFFIXES: [&str; 5] = [".workflow.yaml", ".graph.yaml", ".yaml", ".mmd", ".md"];
/// The suffix of a skill after the id.
const SKILL: &str = "/SKILL.md";

impl FileNaming {
    /// The suffixes of a file after the id. The first match wins.
    pub(super) fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Definitions => &SUFFIXES,
            Self::Skills => &[SKILL],
            Self::Agents => &[".md"],
        }
    }
}

/// Where coding agents keep skills and agents, relative to the project.
const AGENTS: [(&str, FileNaming); 4] = [
    (".claude/skills", FileNaming::Skills),
    (".claude/agents", FileNaming::Agents),
    (".codex/skills", FileNaming::Skills),
    (".codex/agents", FileNaming::Agents),
];

/// The directories to search for definitions, in this order, for the project whose `.flow` directory is `flow_dir`.
/// `more` are those of its configuration.
pub(super) fn definition_dirs(flow_dir: &Path, more: &[PathBuf]) -> Vec<DefinitionDir> {
    let root = flow_dir.parent().unwrap_or(flow_dir);
    let own = DefinitionDir { path: flow_dir.join("workflows"), naming: FileNaming::Definitions, links: false };
    let mut dirs = vec![own];
    for (path, naming) in AGENTS {
        dirs.push(DefinitionDir { path: root.join(path), naming, links: true });
    }
    for path in more {
        // A directory that the configuration names may have either.
        for naming in [FileNaming::Definitions, FileNaming::Skills] {
            dirs.push(DefinitionDir { path: root.join(path), naming, links: true });
        }
    }
    dirs
}
