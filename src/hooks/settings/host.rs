//! The hosts, and where they have their settings.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runs::{AgentHost, Context, Error, Result};

/// Which hosts a command is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostChoice {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// All that flow knows.
    #[default]
    All,
}

/// Where settings apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SettingsScope {
    /// In everything that the user does.
    #[default]
    User,
    /// In the project, for everyone who has it.
    Project,
    /// In this checkout of the project; Claude Code only.
    Local,
}

impl HostChoice {
    /// The hosts.
    pub(super) fn hosts(self) -> &'static [AgentHost] {
        match self {
            Self::ClaudeCode => &[AgentHost::ClaudeCode],
            Self::Codex => &[AgentHost::Codex],
            Self::All => &AgentHost::ALL,
        }
    }
}

impl SettingsScope {
    /// All scopes, the widest first.
    pub(super) const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// An event that flow answers: its name in the settings, and its name on flow's command line.
pub(super) type Event = (&'static str, &'static str);

/// The event at which a run is continued when that is turned on.
pub(super) const STOP: Event = ("Stop", "stop");

/// Whether hosts heed a matcher at this event. At others they run all handlers.
pub(super) fn has_matcher(event: &str) -> bool {
    !["UserPromptSubmit", STOP.0].contains(&event)
}

impl AgentHost {
    /// The events that flow answers.
    pub(super) fn events(self) -> &'static [Event] {
        const ALL: [Event; 4] = [
            ("SessionStart", "session-start"),
            ("UserPromptSubmit", "user-prompt-submit"),
            ("SessionEnd", "session-end"),
            ("PreCompact", "pre-compact"),
        ];
        match self {
            Self::ClaudeCode => &ALL,
            // Codex reads nothing before a compaction.
            Self::Codex => &ALL[..3],
        }
    }

    /// The file of the settings below [`Self::directory`]; `None` if the host has no settings of this scope.
    pub(super) fn file(self, scope: SettingsScope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCode, SettingsScope::User | SettingsScope::Project) => Some("settings.json"),
            (Self::ClaudeCode, SettingsScope::Local) => Some("settings.local.json"),
            (Self::Codex, SettingsScope::User | SettingsScope::Project) => Some("hooks.json"),
            (Self::Codex, SettingsScope::Local) => None,
        }
    }

    /// The directory of the settings.
    pub(super) fn directory(self, cx: &Context, scope: SettingsScope) -> Result<PathBuf> {
        let (own, name) = match self {
            Self::ClaudeCode => (&cx.env.claude_home, ".claude"),
            Self::Codex => (&cx.env.codex_home, ".codex"),
        };
        match (scope, own, &cx.env.home) {
            (SettingsScope::Project | SettingsScope::Local, ..) => Ok(project_root(cx)?.join(name)),
            (SettingsScope::User, Some(own), _) => Ok(own.clone()),
            (SettingsScope::User, None, Some(home)) => Ok(home.join(name)),
            (SettingsScope::User, None, None) => {
                Err(Error::Usage("HOME is not set, so the user's settings cannot be found".to_owned()))
            }
        }
    }
}

/// The directory of the project: the one with `.flow`, or the one in which `flow init` would create it.
pub(super) fn project_root(cx: &Context) -> Result<PathBuf> {
    match cx.project() {
        Ok(project) => Ok(project.root().to_owned()),
        Err(_) => cx.root_to_be(),
    }
}
