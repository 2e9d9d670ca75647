//! Where definitions are looked for, and under which names.

use std::path::{Path, PathBuf};

/// A directory with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    /// Whether symbolic links are followed: not below `.flow`.
    pub(super) links: bool,
}

/// How the definitions of a directory are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `<id>.workflow.yaml` and the like.
    Definitions,
    /// `<id>/SKILL.md`.
    Skills,
    /// `<id>.md`.
    Agents,
}

/// What follows the id in the name of a definition's file, the first one winning.
pub(super) const SUFFIXES: [&str; 5] = [".workflow.yaml", ".graph.yaml", ".yaml", ".mmd", ".md"];
/// What follows the id of a skill.
const SKILL: &str = "/SKILL.md";

impl Layout {
    /// What follows an id in the name of its file, the first one winning.
    pub(super) fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Definitions => &SUFFIXES,
            Self::Skills => &[SKILL],
            Self::Agents => &[".md"],
        }
    }
}

/// Where the coding agents keep their skills and agents, below the project.
const AGENTS: [(&str, Layout); 4] = [
    (".claude/skills", Layout::Skills),
    (".claude/agents", Layout::Agents),
    (".codex/skills", Layout::Skills),
    (".codex/agents", Layout::Agents),
];

/// The directories of the project whose `.flow` directory is `flow_dir`, in the order in which they are asked; `more`
/// are those of its configuration.
pub(super) fn places(flow_dir: &Path, more: &[PathBuf]) -> Vec<Place> {
    let root = flow_dir.parent().unwrap_or(flow_dir);
    let own = Place { path: flow_dir.join("workflows"), layout: Layout::Definitions, links: false };
    let agents = AGENTS.map(|(path, layout)| Place { path: root.join(path), layout, links: true });
    let more = more.iter().flat_map(|path| {
        [Layout::Definitions, Layout::Skills].map(|layout| Place { path: root.join(path), layout, links: true })
    });
    std::iter::once(own).chain(agents).chain(more).collect()
}
