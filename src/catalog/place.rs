//! The directories that may have definitions, and the names of the files.

use std::path::{Path, PathBuf};

/// A directory with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    /// Whether to follow symbolic links; `false` below `.flow`.
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

/// The suffixes of a definition's file after the id. The first match wins.
pub(super) const SUFFIXES: [&str; 5] = [".workflow.yaml", ".graph.yaml", ".yaml", ".mmd", ".md"];
/// The suffix of a skill after the id.
const SKILL: &str = "/SKILL.md";

impl Layout {
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
const AGENTS: [(&str, Layout); 4] = [
    (".claude/skills", Layout::Skills),
    (".claude/agents", Layout::Agents),
    (".codex/skills", Layout::Skills),
    (".codex/agents", Layout::Agents),
];

/// The directories to search for definitions, in this order, for the project whose `.flow` directory is `flow_dir`.
/// `more` are those of its configuration.
pub(super) fn places(flow_dir: &Path, more: &[PathBuf]) -> Vec<Place> {
    let root = flow_dir.parent().unwrap_or(flow_dir);
    let own = Place { path: flow_dir.join("workflows"), layout: Layout::Definitions, links: false };
    let agents = AGENTS.map(|(path, layout)| Place { path: root.join(path), layout, links: true });
    let more = more.iter().flat_map(|path| {
        [Layout::Definitions, Layout::Skills].map(|layout| Place { path: root.join(path), layout, links: true })
    });
    std::iter::once(own).chain(agents).chain(more).collect()
}
