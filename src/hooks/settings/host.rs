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
    /// Qwen Code.
    Qwen,
    /// Gemini CLI.
    GeminiCli,
    /// Claude Code and Codex, and the others that are there.
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
    /// The hosts. A host that flow has known for long may be installed after flow; the others are taken if the user has their
    /// directory.
    pub(super) fn hosts(self, cx: &Context) -> Vec<AgentHost> {
        let is_there = |host: &AgentHost| match host {
            AgentHost::ClaudeCode | AgentHost::Codex => true,
            _ => host.directory(cx, SettingsScope::User).is_ok_and(|dir| cx.disk.is_dir(&dir)),
        };
        match self {
            Self::ClaudeCode => vec![AgentHost::ClaudeCode],
            Self::Codex => vec![AgentHost::Codex],
            Self::Qwen => vec![AgentHost::Qwen],
            Self::GeminiCli => vec![AgentHost::GeminiCli],
            Self::All => WITH_SETTINGS.into_iter().filter(is_there).collect(),
        }
    }

    /// The choice of one host.
    pub(super) fn of(host: AgentHost) -> Self {
        match host {
            AgentHost::Codex => Self::Codex,
            AgentHost::Qwen => Self::Qwen,
            AgentHost::GeminiCli => Self::GeminiCli,
            AgentHost::ClaudeCode | AgentHost::Copilot | AgentHost::Opencode => Self::ClaudeCode,
        }
    }
}

/// The hosts in whose settings flow puts its hooks.
pub(super) const WITH_SETTINGS: [AgentHost; 4] =
    [AgentHost::ClaudeCode, AgentHost::Codex, AgentHost::Qwen, AgentHost::GeminiCli];

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

/// flow's name of the event at which a run is continued when that is turned on.
pub(super) const STOP: &str = "stop";

/// Whether hosts heed a matcher at this event. At others they run all handlers.
pub(super) fn has_matcher(event: &str) -> bool {
    !["UserPromptSubmit", "Stop", "BeforeAgent", "AfterAgent"].contains(&event)
}

const START: Event = ("SessionStart", "session-start");
const PROMPT: Event = ("UserPromptSubmit", "user-prompt-submit");
const END: Event = ("SessionEnd", "session-end");
const COMPACT: Event = ("PreCompact", "pre-compact");

impl AgentHost {
    /// The events that flow answers.
    pub(super) fn events(self) -> &'static [Event] {
        match self {
            Self::ClaudeCode => &[START, PROMPT, END, COMPACT],
            // Codex and Qwen Code read nothing before a compaction, and Gemini CLI reports one before every request.
            Self::Codex | Self::Qwen => &[START, PROMPT, END],
            Self::GeminiCli => &[START, ("BeforeAgent", "user-prompt-submit"), END],
            Self::Copilot | Self::Opencode => &[],
        }
    }

    /// The event at which a run is continued when that is turned on.
    pub(super) fn stop(self) -> Event {
        if self == Self::GeminiCli { ("AfterAgent", STOP) } else { ("Stop", STOP) }
    }

    /// Those that flow answers, and the one at which a run is continued.
    pub(super) fn all_events(self) -> Vec<Event> {
        self.events().iter().copied().chain([self.stop()]).collect()
    }

    /// How long the host waits for flow, in its unit. Three seconds are what Codex allows at most at the end of a session.
    pub(super) fn timeout(self) -> u32 {
        if self == Self::GeminiCli { 3000 } else { 3 }
    }

    /// The file of the settings below [`Self::directory`]; `None` if the host has no settings of this scope.
    pub(super) fn file(self, scope: SettingsScope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCode | Self::Qwen | Self::GeminiCli, SettingsScope::User | SettingsScope::Project) => {
                Some("settings.json")
            }
            (Self::ClaudeCode, SettingsScope::Local) => Some("settings.local.json"),
            (Self::Codex, SettingsScope::User | SettingsScope::Project) => Some("hooks.json"),
            (Self::Codex | Self::Qwen | Self::GeminiCli, SettingsScope::Local)
            | (Self::Copilot | Self::Opencode, _) => None,
        }
    }

    /// The directory of the settings.
    pub(super) fn directory(self, cx: &Context, scope: SettingsScope) -> Result<PathBuf> {
        let (own, name) = match self {
            Self::ClaudeCode => (&cx.env.claude_home, ".claude"),
            Self::Codex => (&cx.env.codex_home, ".codex"),
            Self::Qwen => (&None, ".qwen"),
            Self::GeminiCli => (&None, ".gemini"),
            Self::Copilot => (&None, ".copilot"),
            Self::Opencode => (&None, ".opencode"),
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
