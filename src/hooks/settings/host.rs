//! Which hosts are meant, and where they have their settings.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::settings::AgentHost;
use crate::host::{Handler, HostEvent, Shape};
use crate::model::named;
use crate::runs::{Context, Error, Result};

/// Which hosts a command is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostChoice {
    /// Those that are there: the user has their directory, or their program is in `PATH`.
    #[default]
    All,
    /// This one.
    #[serde(untagged)]
    One(AgentHost),
}

named! {
    /// Where settings apply.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
    pub enum SettingsScope {
        /// In everything that the user does.
        #[default]
        User = "user",
        /// In the project, for everyone who has it.
        Project = "project",
        /// In this checkout of the project; Claude Code only.
        Local = "local",
    }
}

impl HostChoice {
    /// The hosts in whose settings something may be installed.
    ///
    /// # Errors
    /// If none is there.
    pub(super) fn hosts(self, cx: &Context) -> Result<Vec<AgentHost>> {
        if let Self::One(host) = self {
            return Ok(vec![host]);
        }
        let there: Vec<_> = AgentHost::ALL.into_iter().filter(|host| host.is_there(cx)).collect();
        if there.is_empty() {
            let names = AgentHost::ALL.map(AgentHost::as_str).join(", ");
            let why = format!("no host of agents is here, by its directory or its program; name one: {names}");
            return Err(Error::Usage(why));
        }
        Ok(there)
    }

    /// The hosts in whose settings something may have been installed: a host may have gone since then.
    pub(super) fn hosts_with_files(self, cx: &Context) -> Vec<AgentHost> {
        match self {
            Self::One(host) => vec![host],
            Self::All => AgentHost::ALL.into_iter().filter(|host| host.is_there(cx) || host.has_file(cx)).collect(),
        }
    }
}

/// The key of the hooks in a file of settings, and of the handlers in a group.
pub(super) const HOOKS: &str = "hooks";
/// The key of the status line, in Claude Code's settings.
pub(super) const STATUS_LINE: &str = "statusLine";

/// flow's name of the event at which a run is continued when that is turned on.
pub(super) const STOP: &str = "stop";

/// Whether hosts heed a matcher at this event. At others they run all handlers.
pub(super) fn has_matcher(event: &str) -> bool {
    !["UserPromptSubmit", "Stop", "BeforeAgent", "AfterAgent"].contains(&event)
}

impl AgentHost {
    /// Those events that flow answers, and the one at which a run is continued.
    pub(super) fn all_events(self) -> Vec<HostEvent> {
        self.hooks().events.iter().copied().chain(self.hooks().stop).collect()
    }

    /// How a handler is written in its file; `None` if the file is a script.
    pub(super) fn handler(self) -> Option<&'static Handler> {
        match &self.hooks().shape {
            Shape::Groups(handler) | Shape::Flat(handler) => Some(handler),
            Shape::Script => None,
        }
    }

    /// Whether an event has a list of handlers, without groups.
    pub(super) fn is_flat(self) -> bool {
        matches!(self.hooks().shape, Shape::Flat(_))
    }

    /// Whether it is on this machine: the user has its directory, or its program is in `PATH`.
    pub(super) fn is_there(self, cx: &Context) -> bool {
        if self.home(cx).is_ok_and(|dir| cx.disk.is_dir(&dir)) {
            return true;
        }
        let Some(path) = &cx.env.path else { return false };
        for dir in std::env::split_paths(path) {
            // A relative one would be another directory for each caller.
            if dir.is_absolute() && self.programs().iter().any(|name| cx.disk.is_file(&dir.join(name))) {
                return true;
            }
        }
        false
    }

    fn has_file(self, cx: &Context) -> bool {
        let mut scopes = SettingsScope::ALL.into_iter();
        scopes.any(|scope| matches!(self.path(cx, scope), Ok(Some(path)) if cx.disk.is_file(&path)))
    }

    /// The directory of the user's settings.
    pub(super) fn home(self, cx: &Context) -> Result<PathBuf> {
        // A directory that the host's own variable names counts before the usual one.
        if let Some((_, dir)) = cx.env.host_homes.iter().find(|(host, _)| *host == self) {
            return Ok(dir.clone());
        }
        match &cx.env.home {
            Some(home) => Ok(home.join(self.hooks().home.directory)),
            None => Err(Error::Usage("HOME is not set, so the user's settings cannot be found".to_owned())),
        }
    }

    /// The directory of what the host reads in this scope.
    pub(super) fn directory(self, cx: &Context, scope: SettingsScope) -> Result<PathBuf> {
        if scope == SettingsScope::User {
            return self.home(cx);
        }
        let first = Path::new(self.hooks().project_file).iter().next().unwrap_or_default();
        Ok(cx.root()?.join(first))
    }

    /// The file of the settings; `None` if the host has no settings of this scope.
    pub(super) fn path(self, cx: &Context, scope: SettingsScope) -> Result<Option<PathBuf>> {
        let in_project = match scope {
            SettingsScope::User => return Ok(Some(self.home(cx)?.join(self.hooks().user_file))),
            SettingsScope::Project => Some(self.hooks().project_file),
            SettingsScope::Local => self.hooks().local_file,
        };
        let Some(file) = in_project else { return Ok(None) };
        Ok(Some(cx.root()?.join(file)))
    }
}
