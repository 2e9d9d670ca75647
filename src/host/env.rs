//! The environment variables that flow reads, once at the start.
#![expect(clippy::disallowed_methods, reason = "this is where the environment comes from")]

use std::ffi::OsString;
use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::host::agents::{self, Agent, HostSigns};
use crate::host::known::AgentHost;
use crate::host::setting::{BadSetting, Setting};
use crate::model::SessionId;

const FLOW_SESSION: &str = "FLOW_SESSION";
const FLOW_HOLDER_PID: &str = "FLOW_HOLDER_PID";

/// What the names of variables have in them whose values are secrets.
const SECRETS: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "KEY"];

/// The values of the variables whose names say that they are secrets.
pub(crate) fn secrets() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy().to_ascii_uppercase();
        if SECRETS.iter().any(|word| name.contains(word)) {
            found.push(value.into_encoded_bytes());
        }
    }
    found
}

/// A snapshot of the environment. Empty variables count as unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env {
    /// `FLOW_DIR`: the `.flow` directory to use instead of the one found.
    pub flow_dir: Option<PathBuf>,
    /// `FLOW_RUN`: the run that commands are about which name none.
    pub run: Option<Setting>,
    /// `FLOW_SESSION`, else the session that the agent's host names.
    pub session: Option<Setting>,
    /// The agent that calls, if its host shows. An agent that another one started inherits the other's variables; then the
    /// nearer host counts.
    pub caller: Option<Agent>,
    /// What hosts show to their hooks. Inherited by other hosts as well, which see that it is not the session of their
    /// payload.
    pub signs: HostSigns,
    /// `FLOW_EPOCH`: which claim of a run the caller acts under.
    pub epoch: Option<Setting>,
    /// `FLOW_RUN_TOKEN`: lets sub-agents with sessions of their own report on their units.
    pub run_token: Option<Setting>,
    /// `FLOW_HOLDER_PID`, or the agent's own variable: the process that lives as long as the session.
    pub holder_pid: Option<Setting>,
    /// `FLOW_HOOK_CONTINUE`: whether a session may go on by itself after its turn.
    pub hook_continue: Option<Setting>,
    /// `FLOW_LOCK_TIMEOUT`: how long to wait for another writer, in seconds.
    pub lock_timeout: Option<Setting>,
    /// `FLOW_TRUST_OWNER`: whether files of other users may be used.
    pub trust_owner: Option<Setting>,
    /// `FLOW_CHOOSE_MODEL`: the model that chooses among states.
    pub choose_model: Option<Setting>,
    /// `FLOW_CHOOSE_KEY`: the key for the model's endpoint.
    pub choose_key: Option<Setting>,
    /// `HOME`: where agents' hosts have their settings.
    pub home: Option<PathBuf>,
    /// The directories of hosts' settings that their variables name, `CLAUDE_CONFIG_DIR` for instance.
    pub host_homes: Vec<(AgentHost, PathBuf)>,
    /// `PATH`: where programs are.
    pub path: Option<OsString>,
    /// The project of the session, as its host names it to hooks: `CLAUDE_PROJECT_DIR` and others.
    pub host_project: Option<PathBuf>,
    /// `XDG_STATE_HOME`, otherwise `.local/state` in `HOME`: where programs keep what they need the next time.
    pub state_home: Option<PathBuf>,
    /// `SHELL`: the user's shell.
    pub shell: Option<OsString>,
    /// The variable by which an agent shows that started this process, if there is one.
    pub agent: Option<String>,
    /// Whether a person uses this process, even if an agent started it.
    pub is_of_a_person: bool,
    /// `LOGNAME`, otherwise `USER`: what the system calls the user.
    pub user: Option<String>,
    /// The working directory; `None` if it was deleted or cannot be read.
    pub cwd: Option<PathBuf>,
    /// Why the working directory cannot be read, as an error number; `None` if it was deleted.
    pub cwd_errno: Option<i32>,
}

impl Env {
    /// Reads the environment of this process.
    #[must_use]
    pub fn read() -> Self {
        let (cwd, cwd_errno) = match std::env::current_dir() {
            Ok(cwd) => (Some(cwd), None),
            // A directory that was deleted is the usual case, and says so by itself.
            Err(error) if error.kind() == ErrorKind::NotFound => (None, None),
            Err(error) => (None, error.raw_os_error()),
        };
        Self { cwd_errno, ..Self::from_lookup(std::env::var_os, cwd) }
    }

    /// Reads an environment from a function.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<OsString>, cwd: Option<PathBuf>) -> Self {
        let setting = |variable| Setting::of(variable, &lookup);
        let raw = |variable| Some(setting(variable)?.raw);
        let caller = Agent::shown_by(&lookup);
        let home = raw("HOME").map(PathBuf::from);
        let state_home = match raw("XDG_STATE_HOME").map(PathBuf::from) {
            Some(dir) if dir.is_absolute() => Some(dir),
            // Its specification has relative paths ignored.
            _ => home.as_ref().map(|home| home.join(".local/state")),
        };
        let user = raw("LOGNAME").or_else(|| raw("USER"));
        Self {
            flow_dir: raw("FLOW_DIR").map(PathBuf::from),
            run: setting("FLOW_RUN"),
            session: setting(FLOW_SESSION).or_else(|| caller.as_ref()?.session.clone()),
            signs: HostSigns::shown_by(&lookup),
            epoch: setting("FLOW_EPOCH"),
            run_token: setting("FLOW_RUN_TOKEN"),
            holder_pid: setting(FLOW_HOLDER_PID).or_else(|| caller.as_ref()?.pid.clone()),
            hook_continue: setting("FLOW_HOOK_CONTINUE"),
            lock_timeout: setting("FLOW_LOCK_TIMEOUT"),
            choose_model: setting("FLOW_CHOOSE_MODEL"),
            choose_key: setting("FLOW_CHOOSE_KEY"),
            trust_owner: setting("FLOW_TRUST_OWNER"),
            state_home,
            home,
            host_homes: agents::homes(&lookup),
            path: raw("PATH"),
            host_project: agents::project_of_host(&lookup),
            shell: raw("SHELL"),
            agent: agents::sign(&lookup),
            caller,
            is_of_a_person: false,
            user: user.map(|user| user.to_string_lossy().into_owned()),
            cwd,
            cwd_errno: None,
        }
    }

    /// This environment for another session. The process that an agent's variable names belongs to the session that the
    /// variables name, so it is dropped.
    #[must_use]
    pub fn of_session(&self, session: &SessionId) -> Self {
        let session = Setting { variable: FLOW_SESSION, raw: session.as_str().into() };
        let holder_pid = self.holder_pid.clone().filter(|setting| setting.variable == FLOW_HOLDER_PID);
        Self { session: Some(session), caller: None, signs: HostSigns::default(), holder_pid, ..self.clone() }
    }

    /// This environment for a person, who belongs to no session, even if a session started the process.
    #[must_use]
    pub fn of_a_person(&self) -> Self {
        Self {
            session: None,
            caller: None,
            signs: HostSigns::default(),
            epoch: None,
            run_token: None,
            holder_pid: None,
            is_of_a_person: true,
            ..self.clone()
        }
    }

    /// The parsed session id.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a session id.
    pub fn session_id(&self) -> Result<Option<SessionId>, BadSetting> {
        self.session.as_ref().map(Setting::parse).transpose()
    }

    /// The name of the run that commands are about which name none.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not UTF-8.
    pub fn run_name(&self) -> Result<Option<String>, BadSetting> {
        self.run.as_ref().map(Setting::parse).transpose()
    }

    /// The parsed epoch.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a number.
    pub fn epoch_number(&self) -> Result<Option<u64>, BadSetting> {
        self.epoch.as_ref().map(|setting| setting.number("give a whole number from 0 on")).transpose()
    }

    /// The token of a run.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not UTF-8.
    pub fn token(&self) -> Result<Option<String>, BadSetting> {
        self.run_token.as_ref().map(Setting::parse).transpose()
    }

    /// The parsed process id of the holder.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a number or is zero.
    pub fn holder(&self) -> Result<Option<u32>, BadSetting> {
        let Some(setting) = &self.holder_pid else { return Ok(None) };
        let pid: NonZeroU32 = setting.number("give the number of a process, from 1 on")?;
        Ok(Some(pid.get()))
    }

    /// Whether `FLOW_SESSION` names the session, not a variable of the agent.
    pub(crate) fn names_session(&self) -> bool {
        matches!(&self.session, Some(setting) if setting.variable == FLOW_SESSION)
    }

    /// Whether `FLOW_HOLDER_PID` names the holder, not a variable of the agent.
    pub(crate) fn names_holder(&self) -> bool {
        matches!(&self.holder_pid, Some(setting) if setting.variable == FLOW_HOLDER_PID)
    }

    /// How long to wait for a lock. Fractions of a second are allowed.
    ///
    /// # Errors
    /// [`BadSetting`] if it is not a number of seconds.
    pub fn lock_wait(&self) -> Result<Option<Duration>, BadSetting> {
        let Some(setting) = &self.lock_timeout else { return Ok(None) };
        let needed = "give a number of seconds from 0 on, such as 0.5";
        Duration::try_from_secs_f64(setting.number(needed)?).map(Some).map_err(|_| setting.bad(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> Env {
        Env::from_lookup(
            |name| {
                let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
                Some(OsString::from(value))
            },
            None,
        )
    }

    #[test]
    fn flows_own_session_wins_and_is_not_judged_yet() {
        let env = env(&[("FLOW_SESSION", "a b"), ("CLAUDE_CODE_SESSION_ID", "other")]);
        let error = env.session_id().unwrap_err();
        assert_eq!(error.variable, "FLOW_SESSION");
        assert!(error.to_string().starts_with("FLOW_SESSION is \"a b\": the session id"), "{error}");
    }

    #[test]
    fn an_agents_session_is_taken_only_when_it_fits() {
        let session = |id| env(&[("FLOW_SESSION", ""), ("CLAUDE_CODE_SESSION_ID", id)]).session_id();
        assert_eq!(session("abc-1"), Ok(Some(SessionId::new("abc-1").unwrap())));
        assert_eq!(session("a/b"), Ok(None));
    }

    #[test]
    fn the_nearer_of_two_agents_counts() {
        let (claude, codex) = (("CLAUDE_CODE_SESSION_ID", "c1"), ("CODEX_SESSION_ID", "x1"));
        let session = |variables: &[(&str, &str)]| {
            let env = env(variables);
            (env.session_id().unwrap().unwrap().to_string(), env.holder().unwrap())
        };
        assert_eq!(session(&[codex]), ("x1".to_owned(), None));
        let parent = std::os::unix::process::parent_id();
        let of_parent = parent.to_string();
        assert_eq!(session(&[claude, codex, ("CLAUDE_PID", &of_parent)]), ("c1".to_owned(), Some(parent)));
        // This process is not its own ancestor, so Claude's is not visible.
        let own = std::process::id().to_string();
        assert_eq!(session(&[claude, codex, ("CLAUDE_PID", &own)]), ("x1".to_owned(), None));
        assert_eq!(session(&[claude, codex]), ("x1".to_owned(), None));
    }

    #[test]
    fn another_session_does_not_take_the_process_of_the_first_one() {
        let other = SessionId::new("s2").unwrap();
        let env_of = |variables| env(variables).of_session(&other);
        let claudes = env_of(&[("CLAUDE_CODE_SESSION_ID", "s1"), ("CLAUDE_PID", "12")]);
        assert_eq!((claudes.session_id(), claudes.holder()), (Ok(Some(other.clone())), Ok(None)));
        assert_eq!(env_of(&[("FLOW_SESSION", "s1"), ("FLOW_HOLDER_PID", "12")]).holder(), Ok(Some(12)));
    }

    #[test]
    fn numbers_are_checked_where_they_are_used() {
        let good = env(&[("FLOW_EPOCH", "3"), ("CLAUDECODE", "1"), ("CLAUDE_PID", "12"), ("FLOW_LOCK_TIMEOUT", "0.5")]);
        assert_eq!(good.epoch_number(), Ok(Some(3)));
        assert_eq!(good.holder(), Ok(Some(12)));
        assert_eq!(good.lock_wait(), Ok(Some(Duration::from_millis(500))));
        for bad in ["-1", "x", "NaN", "inf"] {
            let env = env(&[("FLOW_EPOCH", bad), ("FLOW_HOLDER_PID", bad), ("FLOW_LOCK_TIMEOUT", bad)]);
            let told = [env.epoch_number().err(), env.holder().err(), env.lock_wait().err()];
            let told = told.map(|error| error.expect(bad).to_string());
            assert_eq!(
                told,
                [
                    format!("FLOW_EPOCH is {bad:?}: give a whole number from 0 on"),
                    format!("FLOW_HOLDER_PID is {bad:?}: give the number of a process, from 1 on"),
                    format!("FLOW_LOCK_TIMEOUT is {bad:?}: give a number of seconds from 0 on, such as 0.5"),
                ]
            );
        }
        assert!(env(&[("FLOW_HOLDER_PID", "0")]).holder().is_err());
        assert_eq!(env(&[("CLAUDE_PID", "x")]).holder(), Ok(None));
        assert_eq!(env(&[]), Env::default());
    }

    #[test]
    fn yes_and_no_are_understood_and_nothing_else() {
        let trust = |text| env(&[("FLOW_TRUST_OWNER", text)]);
        for yes in ["1", "true", "YES", "on"] {
            assert_eq!(trust(yes).trust_owner.unwrap().yes(), Ok(true), "{yes}");
        }
        for no in ["0", "False", "no", "off"] {
            assert_eq!(trust(no).trust_owner.unwrap().yes(), Ok(false), "{no}");
        }
        let bad = trust("maybe");
        let said = bad.trust_owner.unwrap().yes().unwrap_err().to_string();
        assert_eq!(said, "FLOW_TRUST_OWNER is \"maybe\": it is 1 or 0 (true or false, yes or no, on or off)");
    }

    #[cfg(unix)]
    #[test]
    fn text_that_is_not_utf8_is_an_error_and_no_panic() {
        use std::os::unix::ffi::OsStringExt;
        let env = Env::from_lookup(|_| Some(OsString::from_vec(vec![0xff])), None);
        assert_eq!(env.session_id().unwrap_err().reason, "not UTF-8");
        assert_eq!(env.holder().unwrap_err().variable, "FLOW_HOLDER_PID");
    }

    #[test]
    fn the_real_environment_can_be_read() {
        assert!(Env::read().cwd.is_some());
    }
}
