//! Where the other repositories are that a repository names.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::host::git::command::{Git, NO_SUCH_KEY};
use crate::host::git::running::{Silence, reason};
use crate::host::git::settings::{KEYS, Setting, settings_in};

impl Git {
    /// Where commits of the repository that contains `dir` are pushed for the remote `name`. `None` if it has no such remote.
    /// `state` is the user's state directory, where git's answers are kept.
    ///
    /// # Errors
    /// Why git did not answer.
    pub fn push_url(&self, name: &str, dir: &Path, state: Option<PathBuf>) -> Result<Option<String>, String> {
        let settings = self.remote_settings(dir, state).map_err(Silence::why)?;
        let pushed = last_of(&settings, &format!("remote.{name}.pushurl"));
        Ok(pushed.or_else(|| last_of(&settings, &format!("remote.{name}.url"))))
    }

    /// Where commits of the remote `name` are fetched from.
    pub(super) fn remote_url(&self, name: &str, dir: &Path, state: Option<PathBuf>) -> Result<Option<String>, Silence> {
        Ok(last_of(&self.remote_settings(dir, state)?, &format!("remote.{name}.url")))
    }

    fn remote_settings(&self, dir: &Path, state: Option<PathBuf>) -> Result<Vec<Setting>, Silence> {
        if let Some(places) = self.places(dir)
            && let Some(settings) = self.own_settings(&places, state.as_deref(), Instant::now() + self.limit)?
        {
            return Ok(settings);
        }
        // `--local`: if git does not find the repository, it would otherwise read only the user's configuration.
        let answer = self.ask(dir, &["config", "--local", "--includes", "-z", "--get-regexp", KEYS])?;
        match answer.status.code() {
            Some(0 | NO_SUCH_KEY) => Ok(settings_in(&answer.out)),
            _ => Err(Silence::NoAnswer(reason(&answer))),
        }
    }

    /// The headers that the repository which contains `dir` sends to web servers to log in, as settings.
    pub(super) fn headers(&self, dir: &Path) -> Vec<(String, String)> {
        let question = ["config", "--local", "--includes", "-z", "--get-regexp", "^http\\.(.*\\.)?extraheader$"];
        let Ok(answer) = self.ask(dir, &question) else { return Vec::new() };
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
        let settings = settings_in(&answer.out).into_iter();
        settings.filter_map(|(key, value)| Some((text(key)?, text(value?)?))).collect()
    }

    /// Whether the user configured a program of their own for SSH. What a repository says is not asked.
    pub(super) fn has_own_ssh(&self, dir: &Path) -> bool {
        ["--global", "--system"].iter().any(|scope| {
            let asked = self.ask(dir, &["config", scope, "--includes", "--get", "core.sshCommand"]);
            asked.is_ok_and(|answer| answer.status.success())
        })
    }

    /// The directory of git's files that all worktrees of the repository share which contains `dir`.
    #[must_use]
    pub fn common_dir(&self, dir: &Path) -> Option<PathBuf> {
        Some(self.places(dir)?.common)
    }
}

/// The last value of a key counts, as for git.
fn last_of(settings: &[Setting], wanted: &str) -> Option<String> {
    let found = settings.iter().rfind(|(key, _)| key == wanted.as_bytes());
    Some(String::from_utf8_lossy(found?.1.as_ref()?).into_owned())
}
