//! The program's command lines within this process. Starting the program, and git from it, takes ten times as long; what
//! comes of a command is the same library's work either way, as `conformance.rs` shows.

use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flowrun::disk::{Disk, Os};
use flowrun::hooks::{Call, HostInput, hook};
use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::{Explain as _, SessionId};
use flowrun::modes::ModesObserver;
use flowrun::runs::{self, Budget, Context, Error, Options, SessionEndRequest, StopOptions};
use serde_json::{Value, json};

use super::faulty::{FaultyDisk, Mistake};
use super::shaky::Died;
use super::{Answer, Sandbox};

/// The real file system, for one command at a time: it takes no locks. Other tests of this process start programs, and
/// until such a program runs it holds each lock that this process has, so that a command would wait for itself.
pub fn alone() -> Arc<dyn Disk> {
    Arc::new(FaultyDisk::new(Arc::new(Os), Mistake::NoLocks))
}

impl Sandbox {
    /// As [`Self::flow`], in this process, and without git: what only git can tell is absent.
    pub fn inside<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        self.inside_on(alone(), &[], args)
    }

    /// As [`Self::inside`], in another directory.
    pub fn inside_at<S: AsRef<OsStr>>(&self, cwd: &Path, args: impl IntoIterator<Item = S>) -> Answer {
        self.inside_of(cwd, alone(), &[], args)
    }

    /// As [`Self::inside`], on another file system and with these variables. A process that dies there has no exit status.
    pub fn inside_on<S: AsRef<OsStr>>(
        &self,
        disk: Arc<dyn Disk>,
        env: &[(&'static str, String)],
        args: impl IntoIterator<Item = S>,
    ) -> Answer {
        self.inside_of(&self.root(), disk, env, args)
    }

    /// Lets a host report an event, in this process; `None` if that died.
    pub fn hooked(
        &self,
        disk: Arc<dyn Disk>,
        env: &[(&'static str, String)],
        called: (&str, &str),
        payload: &Value,
    ) -> Option<String> {
        self.hooked_reading(Budget::Whole, disk, env, called, payload)
    }

    /// As [`Self::hooked`], where only so much may be read.
    pub fn hooked_reading(
        &self,
        budget: Budget,
        disk: Arc<dyn Disk>,
        env: &[(&'static str, String)],
        (host, event): (&str, &str),
        payload: &Value,
    ) -> Option<String> {
        let options = Options {
            command: "flow hook".to_owned(),
            lock_wait: Some(Duration::from_millis(1)),
            budget,
            ..Options::default()
        };
        let cx = self.context(&self.root(), disk, env, options).observed_by(Arc::new(ModesObserver));
        let call = Call { host, event, stop: StopOptions { continues: true, gates: true } };
        let given = HostInput::Text(payload.to_string());
        match catch_unwind(AssertUnwindSafe(|| hook(&cx, call, &given))) {
            Ok(answer) => Some(answer),
            Err(died) if died.is::<Died>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }

    fn context(&self, cwd: &Path, disk: Arc<dyn Disk>, env: &[(&'static str, String)], options: Options) -> Context {
        let (now, seed) = self.tick();
        let (clock, ids) = (Clock::fixed(now.parse().unwrap()), Ids::seeded(seed.into_bytes()));
        let lookup = |name| env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let env = Env::from_lookup(lookup, Some(cwd.to_owned()));
        // No program has such a name, so that none is started only to find that out.
        Context::new(clock, ids, env, Git::new("no\0git"), options).on(disk)
    }

    /// As [`Self::inside_on`], in another directory.
    pub fn inside_of<S: AsRef<OsStr>>(
        &self,
        cwd: &Path,
        disk: Arc<dyn Disk>,
        env: &[(&'static str, String)],
        args: impl IntoIterator<Item = S>,
    ) -> Answer {
        let mut line: Vec<OsString> = vec!["flow".into()];
        line.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let flow = |options| self.context(cwd, disk, env, options);
        match catch_unwind(AssertUnwindSafe(|| answer(&line, flow))) {
            Ok(answer) => answer,
            Err(died) if died.is::<Died>() => Answer { stdout: String::new(), stderr: String::new(), code: None },
            Err(panic) => resume_unwind(panic),
        }
    }
}

fn answer(line: &[OsString], flow: impl FnOnce(Options) -> Context) -> Answer {
    if line[1] == "session-end" {
        let flow = flow(Options { command: "flow session-end".to_owned(), ..Options::default() });
        return session_end(line, &flow.observed_by(Arc::new(ModesObserver)));
    }
    let answered = flowrun::cli::within(line, |options| Ok(flow(options)));
    Answer { stdout: answered.stdout, stderr: answered.stderr, code: Some(i32::from(answered.exit.status())) }
}

/// A hook looks into standard input for what its host has to say, and this process's is not the test's.
fn session_end(line: &[OsString], flow: &Context) -> Answer {
    let named = line.iter().position(|arg| arg == "--session").map(|at| line[at + 1].to_str().unwrap());
    let session = named.map(|id| SessionId::new(id).unwrap());
    let unowned = line.iter().any(|arg| arg == "--unowned");
    let request = SessionEndRequest { session, unowned, ..Default::default() };
    let (stdout, stderr) = match runs::session_end(flow, &request) {
        Ok(report) => (serde_json::to_string(&report).unwrap(), String::new()),
        Err(Error::NoProject { .. }) => (String::new(), String::new()),
        Err(error) => (String::new(), json!({ "error": error.problem() }).to_string()),
    };
    Answer { stdout, stderr, code: Some(0) }
}
