//! `hooks plugin` and `hooks skill`: what hosts can be given of flow besides hooks in their settings.
//!
//! The files are those of the repository's own plugin, so that both cannot differ.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::settings::change::ChangeOutcome;
use crate::hooks::settings::file::UserFile;
use crate::model::{Kind, Problem, quoted};
use crate::runs::{Context, Result};

const RESUME: &str = include_str!("../../../plugins/flow/skills/resume/SKILL.md");
const RUN_STATE: &str = include_str!("../../../plugins/flow/skills/run-state/SKILL.md");

/// The plugin, which Claude Code, Codex, Copilot CLI and Qwen Code read.
const PLUGIN: [(&str, &str); 6] = [
    (".claude-plugin/marketplace.json", include_str!("../../../.claude-plugin/marketplace.json")),
    ("plugins/flow/.claude-plugin/plugin.json", include_str!("../../../plugins/flow/.claude-plugin/plugin.json")),
    ("plugins/flow/README.md", include_str!("../../../plugins/flow/README.md")),
    ("plugins/flow/hooks/hooks.json", include_str!("../../../plugins/flow/hooks/hooks.json")),
    ("plugins/flow/skills/resume/SKILL.md", RESUME),
    ("plugins/flow/skills/run-state/SKILL.md", RUN_STATE),
];

/// The directories in which hosts look for skills.
const SKILL_DIRECTORIES: [&str; 2] = [".claude/skills", ".agents/skills"];

/// Where to write the plugin.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksPluginRequest {
    /// The directory; it is created if it does not exist.
    pub dir: PathBuf,
    /// Whether to replace files with another text.
    #[serde(default)]
    pub replace: bool,
}

/// Where to write the skills.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HooksSkillRequest {
    /// The directory with `.claude` and `.agents`; the project's unless it is given.
    pub dir: Option<PathBuf>,
    /// Whether to replace files with another text.
    pub replace: bool,
}

/// The files that were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HooksFilesReport {
    /// The directory.
    pub dir: PathBuf,
    /// The files.
    pub files: Vec<WrittenFile>,
    /// Commands that tell hosts of them, to be given by a person.
    pub next: Vec<String>,
}

/// A file of the plugin, and what was done to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenFile {
    /// The path below the directory.
    pub path: PathBuf,
    /// Whether it was created, changed or left as it was.
    pub outcome: ChangeOutcome,
}

/// Writes the plugin for Claude Code, Codex, Copilot CLI and Qwen Code: hooks, skills, and the server for tools.
///
/// # Errors
/// If a file exists with another text and is not to be replaced, or cannot be written, or if a link in the project leads
/// out of it.
pub fn plugin(cx: &Context, request: &HooksPluginRequest) -> Result<HooksFilesReport> {
    let dir = absolute(cx, &request.dir)?;
    let files = PLUGIN.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
    let place = quoted(&dir.display().to_string());
    let next = vec![
        format!("claude plugin marketplace add {place}"),
        "claude plugin install flow@flow".to_owned(),
        format!("codex plugin marketplace add {place}"),
        "codex plugin add flow@flow".to_owned(),
        format!("copilot plugin marketplace add {place}"),
        "copilot plugin install flow@flow".to_owned(),
        format!("qwen extensions install {}", quoted(&format!("{}:flow", dir.display()))),
    ];
    write(cx, dir, &files, request.replace, next)
}

/// Writes the skills for hosts that are not given the plugin.
///
/// # Errors
/// As [`plugin`].
pub fn skill(cx: &Context, request: &HooksSkillRequest) -> Result<HooksFilesReport> {
    let dir = match &request.dir {
        Some(dir) => absolute(cx, dir)?,
        None => cx.root()?,
    };
    let files = SKILL_DIRECTORIES.map(skills_in).concat();
    write(cx, dir, &files, request.replace, Vec::new())
}

/// The skills below the directory in which a host looks for them.
pub(super) fn skills_in(directory: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    // Outside of a plugin, the name says whose skill it is.
    for (name, text) in [("resume", RESUME), ("run-state", RUN_STATE)] {
        let path = Path::new(directory).join(format!("flow-{name}")).join("SKILL.md");
        let text = text.replacen(&format!("name: {name}\n"), &format!("name: flow-{name}\n"), 1);
        let text = text.replace("skill `run-state`", "skill `flow-run-state`");
        files.push((path, text.replace("`/flow:resume`", "the skill `flow-resume`")));
    }
    files
}

fn absolute(cx: &Context, dir: &Path) -> Result<PathBuf> {
    Ok(cx.absolute(dir)?.components().collect())
}

/// The directory that links must not leave when files are written below `dir`: that of the project if `dir` is in it, by
/// its name or by where its links lead. Otherwise the authors of the project could choose which files of the user to change.
fn within(cx: &Context, dir: &Path) -> Result<Option<PathBuf>> {
    let root = cx.root()?;
    let real = cx.disk.canonical(&root).unwrap_or_else(|_| root.clone());
    let is_inside = |dir: &Path| dir.starts_with(&root) || dir.starts_with(&real);
    let mut inside = is_inside(dir);
    if !inside {
        // The part of the path that exists, without links.
        let there = dir.ancestors().find_map(|dir| cx.disk.canonical(dir).ok());
        inside = there.is_some_and(|there| is_inside(&there));
    }
    Ok(if inside { Some(root) } else { None })
}

/// Looks at every file before it writes any.
fn write(
    cx: &Context,
    dir: PathBuf,
    files: &[(PathBuf, String)],
    replace: bool,
    next: Vec<String>,
) -> Result<HooksFilesReport> {
    let within = within(cx, &dir)?;
    let mut planned = Vec::new();
    for (path, text) in files {
        let file = UserFile::of_path(cx, dir.join(path), within.clone())?;
        let outcome = outcome(&file, file.read()?.as_deref(), text, replace)?;
        planned.push((file, text, WrittenFile { path: path.clone(), outcome }));
    }
    let mut files = Vec::new();
    for (file, text, written) in planned {
        if written.outcome == ChangeOutcome::Unchanged {
            file.settle();
        } else {
            // Judged again under the lock: someone may have written there since.
            file.edit(&mut |old| {
                outcome(&file, old, text, replace)?;
                Ok(Some(text.clone()))
            })?;
        }
        files.push(written);
    }
    Ok(HooksFilesReport { dir, files, next })
}

/// What becomes of the file, whose text is `old`, when `text` is written there.
fn outcome(file: &UserFile, old: Option<&str>, text: &str, replace: bool) -> Result<ChangeOutcome> {
    let outcome = ChangeOutcome::between(old, Some(text));
    if outcome == ChangeOutcome::Changed && !replace {
        let message = format!("{} exists and differs", file.path.display());
        return Err(Problem::new(Kind::Refused, "file_exists", message)
            .help("name another directory, or replace it with --replace. Nothing was written")
            .into());
    }
    Ok(outcome)
}
