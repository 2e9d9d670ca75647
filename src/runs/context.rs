//! The context of every verb: the project, the caller, the time.

use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::catalog::Catalog;
use crate::codec::digest;
use crate::disk::{Disk, DiskError, DocumentPlace, Errno, Guard, Os, Trust};
use crate::engine::Caller;
use crate::host::{Agent, Clock, Env, Git, Holder, Ids, Setting, boot_id};
use crate::model::{Kind, Problem, RunId, SessionId, Timestamp, quoted};
use crate::runs::budget::Budget;
use crate::runs::error::{Error, Result};
use crate::runs::host_note::session_of_process;
use crate::store::{LOCK_WAIT, Project, RunStore, StoreError, WriteRequest, Writer, git_stamp};

/// Settings of a [`Context`] that a caller chooses.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The project's directory; otherwise it is found from the working directory.
    pub project: Option<PathBuf>,
    /// How long to wait for another writer; 30 seconds unless it is given.
    pub lock_wait: Option<Duration>,
    /// The command that runs, to be shown to writers who wait for it: `flow record-activity`.
    pub command: String,
    /// The process that lives as long as the session; otherwise it is looked up.
    pub holder_pid: Option<u32>,
    /// The agent that began this process, if one did; otherwise its environment and ancestors tell.
    pub begun_by: Option<String>,
    /// The boot id of the machine; otherwise the kernel's.
    pub boot: Option<String>,
    /// How long the caller has waited already before it asked.
    pub waited: Duration,
    /// What may be read of the open runs.
    pub budget: Budget,
    /// The session whose runs come first if not all of them can be read.
    pub wanted_by: Option<SessionId>,
    /// Whether what is read is not asked for in the store that machines share.
    pub is_offline: bool,
    /// Whether a `.flow` may be made in the user's home directory.
    pub is_home_meant: bool,
}

/// A part of flow above the runs that has to act when a run or a session ends.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// Called when a run has ended. Gives warnings.
    fn run_ended(&self, project: &OpenedProject, run: &RunId) -> Vec<String>;

    /// Called when a session ends, before its runs are marked. Gives warnings. A host's hook waits for this, so it must not wait
    /// longer than 0.1 s for another writer.
    fn session_ended(&self, project: &OpenedProject, session: &SessionId) -> Vec<String>;
}

/// A part of flow above the runs that knows where those of a project are that several machines share.
pub trait ChoosesStore: std::fmt::Debug + Send + Sync {
    /// The store of the runs of `project`; `None` if they are in its `.flow` alone.
    ///
    /// # Errors
    /// Why the store cannot be used.
    fn store_of(&self, project: &OpenedProject) -> Result<Option<Arc<dyn RunStore>>>;
}

/// The entry to all verbs. Cheap to make; nothing is opened before a verb needs it.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    pub(crate) env: Env,
    pub(crate) git: Git,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    runs: Option<Arc<dyn RunStore>>,
    store: Option<Arc<dyn ChoosesStore>>,
}

impl Context {
    /// A context from its parts; see [`crate::host`] for the real ones.
    #[must_use]
    pub fn new(clock: Clock, ids: Ids, env: Env, git: Git, options: Options) -> Self {
        Self { clock, ids, env, git, disk: Arc::new(Os), options, observers: Vec::new(), runs: None, store: None }
    }

    /// This context with another file system for everything below `.flow`.
    #[must_use]
    pub fn on(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    /// This context with another store of runs; everything else stays in `.flow`.
    #[must_use]
    pub fn with_runs_in(self, store: Arc<dyn RunStore>) -> Self {
        Self { runs: Some(store), ..self }
    }

    /// This context for projects whose runs are where `store` says.
    #[must_use]
    pub fn choosing_stores_by(self, store: Arc<dyn ChoosesStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The project that was opened, with this context's store of runs.
    pub(super) fn own(&self, project: Project) -> Result<OpenedProject> {
        let mut opened = OpenedProject { cx: self.clone(), project, unanswered: OnceLock::new() };
        let store = match (&self.runs, &self.store) {
            (Some(store), _) => Some(Arc::clone(store)),
            (None, Some(choice)) => choice.store_of(&opened)?,
            _ => None,
        };
        if let Some(store) = store {
            opened.project = opened.project.with_runs_in(store);
        }
        Ok(opened)
    }

    /// This context for runs of checkouts alone, whatever stores their projects name.
    pub(crate) fn locally(&self) -> Self {
        Self { store: None, ..self.clone() }
    }

    /// This context for a caller that must not wait for a network.
    #[must_use]
    pub fn offline(&self) -> Self {
        Self { options: Options { is_offline: true, ..self.options.clone() }, ..self.clone() }
    }

    /// This context for a caller that means its home directory.
    #[must_use]
    pub fn also_in_home(&self) -> Self {
        Self { options: Options { is_home_meant: true, ..self.options.clone() }, ..self.clone() }
    }

    /// This context with an `observer` of the ends of runs and sessions.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// This context for the project at `root`, with the same clock and ids.
    pub(crate) fn in_project(&self, root: &Path) -> Self {
        let options = Options { project: Some(root.to_owned()), ..self.options.clone() };
        Self { options, ..self.clone() }
    }

    /// This context for a caller whose working directory is the root of a project.
    #[must_use]
    pub fn working_in(&self, root: &Path) -> Self {
        let mut cx = self.in_project(root);
        cx.env.cwd = Some(root.to_owned());
        cx
    }

    /// This context for a person who uses a process that another one may have started. `wait` is how long to wait for
    /// another writer.
    #[must_use]
    pub fn for_a_person(&self, wait: Duration) -> Self {
        let options = Options { lock_wait: Some(wait), ..self.options.clone() };
        Self { env: self.env.of_a_person(), options, ..self.clone() }
    }

    /// This context with `wait` as the longest wait for another writer, unless the caller set one.
    #[must_use]
    pub fn waiting_for(&self, wait: Duration) -> Self {
        let lock_wait = self.options.lock_wait.or(Some(wait));
        Self { options: Options { lock_wait, ..self.options.clone() }, ..self.clone() }
    }

    /// This context for a caller that has waited so long already before it asks.
    #[must_use]
    pub fn having_waited(&self, waited: Duration) -> Self {
        Self { options: Options { waited, ..self.options.clone() }, ..self.clone() }
    }

    /// This context for a caller that waits so long for what is read, unless it has said what may be read. The runs of `session`
    /// come first.
    #[must_use]
    pub fn reading_for(&self, session: Option<&SessionId>, time: Duration) -> Self {
        let budget = match &self.options.budget {
            Budget::Whole => Budget::lasting(time),
            given => given.clone(),
        };
        Self { options: Options { budget, wanted_by: session.cloned(), ..self.options.clone() }, ..self.clone() }
    }

    /// This context for a process that goes on when the agent that began it is gone: it keeps in mind who that was.
    #[must_use]
    pub fn remembering_who_began_it(&self) -> Self {
        Self { options: Options { begun_by: self.begun_by(), ..self.options.clone() }, ..self.clone() }
    }

    /// The variable or process that shows that an agent began this process; `None` if nothing shows it.
    pub(crate) fn begun_by(&self) -> Option<String> {
        // The ancestors come last, because finding them costs the most.
        self.told_of_agent().or_else(|| Agent::above().map(|agent| agent.sign))
    }

    /// What the caller's environment says of the agent that began this process.
    pub(crate) fn told_of_agent(&self) -> Option<String> {
        self.options.begun_by.clone().or_else(|| self.env.agent.clone())
    }

    /// This context for one call of a process that serves many. `session` is the one that calls; without it the
    /// environment's counts. `command` is shown to writers who wait for the call.
    #[must_use]
    pub fn for_call(&self, session: Option<SessionId>, command: String) -> Self {
        let mut cx = self.clone();
        cx.options.command = command;
        if let Some(session) = session {
            cx.env = cx.env.of_session(&session);
        }
        cx
    }

    pub(super) fn trust(&self) -> Result<Trust> {
        let any = self.env.trust_owner.as_ref().map(Setting::yes).transpose()?;
        Ok(if any == Some(true) { Trust::AnyOwner } else { Trust::OwnFiles })
    }

    /// A context with the clock, the environment and the git of this process.
    ///
    /// # Errors
    /// [`Error::Usage`] when a variable for tests is not valid.
    pub fn of_this_process(options: Options) -> Result<Self> {
        let clock = Clock::from_env().map_err(|error| Error::Usage(error.to_string()))?;
        Ok(Self::new(clock, Ids::from_env(), Env::read(), Git::default(), options))
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The directory in which the search for a project begins.
    pub(crate) fn search_from(&self) -> Result<PathBuf> {
        match (&self.options.project, &self.env.cwd) {
            (Some(dir), cwd) => {
                // The search removes the last part of the path again and again, so the path must not contain dots and
                // links.
                let dir = cwd.clone().unwrap_or_default().join(dir);
                let found = self.disk.canonical(&dir);
                let found = found.map_err(|errno| Error::input(dir.display(), &errno.into()))?;
                if self.disk.is_file(&found) {
                    return Err(Error::input(dir.display(), &Errno::NOTDIR.into()));
                }
                Ok(found)
            }
            (None, Some(cwd)) => Ok(cwd.clone()),
            (None, None) => Err(self.no_working_directory("name the project with -C")),
        }
    }

    /// The error for a command that needs the working directory where there is none. `instead` is what to do then.
    pub(crate) fn no_working_directory(&self, instead: &str) -> Error {
        match self.env.cwd_errno {
            Some(errno) => Problem::new(Kind::Io, "io_error", "cannot read the path of the working directory")
                .help(format!("try again, or {instead}; nothing was written"))
                .caused_by(&std::io::Error::from_raw_os_error(errno))
                .into(),
            None => Error::Usage(format!("the working directory does not exist; {instead}")),
        }
    }

    /// `path` as an absolute path, relative to the working directory.
    ///
    /// # Errors
    /// If the path is relative and there is no working directory.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf> {
        match &self.env.cwd {
            Some(cwd) => Ok(cwd.join(path)),
            None if path.is_absolute() => Ok(path.to_owned()),
            None => Err(self.no_working_directory("name the whole path")),
        }
    }

    /// The directory in which `init` would create a project.
    pub(crate) fn root_to_be(&self) -> Result<PathBuf> {
        let start = self.search_from()?;
        Ok(self.git.top(&start).unwrap_or(start))
    }

    /// The `.flow` directory that the environment names, if the caller does not name the project.
    pub(super) fn named(&self) -> Result<Option<PathBuf>> {
        let Some(given) = &self.env.flow_dir else { return Ok(None) };
        if self.options.project.is_some() {
            return Ok(None);
        }
        let named = self.env.cwd.clone().unwrap_or_default().join(given);
        // Compare components, so that trailing slashes and dots are ignored.
        let mut named: PathBuf = named.components().collect();
        // The directories above a path with `..` in it are not those of its text.
        if named.components().any(|part| part == Component::ParentDir)
            && let (Some(dir), Some(name)) = (named.parent(), named.file_name())
            && let Ok(dir) = self.disk.canonical(dir)
        {
            named = dir.join(name);
        }
        if named.file_name().is_none() {
            let message = format!("FLOW_DIR is {}, which does not name a .flow directory", given.display());
            return Err(Error::Usage(message));
        }
        Ok(Some(named))
    }

    /// Opens the existing project.
    ///
    /// # Errors
    /// [`Error::NoProject`] if there is no `.flow`, [`Error::Store`] if it cannot be used.
    pub fn project(&self) -> Result<OpenedProject> {
        if let Some(named) = self.named()? {
            return self.open_named(&named);
        }
        let start = self.search_from()?;
        match Project::find(&*self.disk, &start, || self.git.top(&start))? {
            Some(parent) => self.own(Project::open(&*self.disk, &parent, self.trust()?)?),
            None => Err(self.no_project(start)),
        }
    }

    /// The error that no `.flow` is in `start` or above.
    fn no_project(&self, start: PathBuf) -> Error {
        let around = self.project_around(&start);
        let mut others = self.git.other_worktrees(&start).into_iter();
        let worktree = others.find(|top| self.disk.is_dir(&Project::path_in(top)));
        Error::NoProject { start, around, worktree }
    }

    /// As [`Self::project`]; `None` if there is no `.flow`.
    pub(crate) fn project_if_any(&self) -> Result<Option<OpenedProject>> {
        match self.project() {
            Ok(project) => Ok(Some(project)),
            Err(Error::NoProject { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The directory of the project, or of the one that would be created, also where the project cannot be opened.
    pub(crate) fn root(&self) -> Result<PathBuf> {
        self.root_of(self.project().ok().as_ref())
    }

    /// The directory of `project`, or of the project that would be created.
    pub(crate) fn root_of(&self, project: Option<&OpenedProject>) -> Result<PathBuf> {
        match project {
            Some(project) => Ok(project.root().to_owned()),
            None => self.root_to_be(),
        }
    }

    /// Opens the `.flow` that the environment names. Only `init` creates it: if other commands did, a typing error
    /// would go unnoticed.
    pub(super) fn open_named(&self, named: &Path) -> Result<OpenedProject> {
        match Project::open_named(&*self.disk, named, self.trust()?) {
            Ok(project) => self.own(project),
            Err(StoreError::Disk(DiskError::NotFound { .. })) => Err(Error::Usage(format!(
                "FLOW_DIR is {}, and there is no such directory; correct or unset it, or make one with `flow init`",
                named.display()
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is no `.flow` in the working directory or above.
    pub(crate) fn finds_no_project(&self) -> bool {
        let Ok(start) = self.search_from() else { return true };
        matches!(Project::find(&*self.disk, &start, || self.git.top(&start)), Ok(None))
    }

    /// The project of the repository that contains the repository of `start`.
    fn project_around(&self, start: &Path) -> Option<PathBuf> {
        // The parent directory of a submodule belongs to the repository around it.
        let outside = self.git.top(start)?.parent()?.to_owned();
        let top = self.git.top(&outside)?;
        Project::find(&*self.disk, &outside, || Some(top)).ok().flatten()
    }

    /// A command of git about paths from `root`, as it works where the caller is.
    pub(crate) fn git_command(&self, root: &Path, command: &str) -> String {
        if self.env.cwd.as_deref() == Some(root) {
            return format!("git {command}");
        }
        format!("git -C {} {command}", quoted(&root.to_string_lossy()))
    }

    /// The available definitions: those of `project`, or of the project that would be created.
    pub(crate) fn catalog(&self, project: Option<&OpenedProject>) -> Catalog {
        if let Some(project) = project {
            return project.catalog();
        }
        let named = self.named().ok().flatten();
        let flow_dir = named.or_else(|| Some(Project::path_in(&self.root_to_be().ok()?)));
        Catalog::new(Arc::clone(&self.disk), flow_dir)
    }

    fn boot(&self) -> String {
        self.options.boot.clone().or_else(boot_id).unwrap_or_default()
    }

    /// How long to wait for the lock of a file or a run of this machine: as the caller or the environment says.
    pub(crate) fn lock_wait(&self) -> Result<Duration> {
        match self.options.lock_wait {
            Some(wait) => Ok(wait),
            None => Ok(self.env.lock_wait()?.unwrap_or(LOCK_WAIT)),
        }
    }

    /// The document `relative` below `root`, of at most `limit` bytes. Its writers wait so long for the lock of its directory.
    pub(crate) fn document<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: usize,
        wait: Duration,
    ) -> DocumentPlace<'a> {
        let (disk, guard) = (&*self.disk, Guard::Directory);
        DocumentPlace { disk, root, relative, limit, guard, wait, copy_of: None, digest, absence: self }
    }

    /// The writer, and how long it waits for another one.
    pub(crate) fn write_request(&self, now: Timestamp, wait: Duration) -> WriteRequest {
        let writer = Writer { pid: std::process::id(), command: self.options.command.clone(), since: now };
        WriteRequest { wait, writer, boot: self.boot() }
    }

    /// The caller: the session given, or that of the environment.
    ///
    /// # Errors
    /// [`Error::Setting`] when the environment has an invalid session or epoch.
    pub fn caller(&self, session: Option<SessionId>, epoch: Option<u64>) -> Result<Caller> {
        let is_named = session.is_some() || self.env.names_session();
        let session = match session {
            Some(session) => Some(session),
            None => self.session()?,
        };
        // A session that the caller did not name may surprise it, so a refusal says what shows another agent.
        let shown_by = if is_named || session.is_none() { None } else { self.begun_by() };
        let epoch = match epoch {
            Some(epoch) => Some(epoch),
            None => self.env.epoch_number()?,
        };
        Ok(Caller { session, epoch, holder_dead: false, shown_by })
    }

    /// The session that calls: the environment's; otherwise, for an agent whose host names none, the one that a hook has bound
    /// to the host's process, or one that stands for that process. `None` for a person.
    ///
    /// # Errors
    /// [`Error::Setting`] when `FLOW_SESSION` is not a session.
    pub(crate) fn session(&self) -> Result<Option<SessionId>> {
        if let Some(session) = self.env.session_id()? {
            return Ok(Some(session));
        }
        let Some((agent, process)) = self.unnamed_agent() else { return Ok(None) };
        if let Ok(project) = self.project()
            && let Some(bound) = session_of_process(&project, agent.host.name, &process)
        {
            return Ok(Some(bound));
        }
        Ok(SessionId::new(format!("{}-{}-{}", agent.host.name, process.pid, process.started)).ok())
    }

    /// The session that the environment names.
    pub(crate) fn named_session(&self) -> Option<SessionId> {
        self.env.session_id().ok().flatten()
    }

    /// The agent that calls without a session of its own, and the process of its host. A fixed clock is that of a test, and
    /// what runs a test does not call.
    pub(super) fn unnamed_agent(&self) -> Option<(Agent, Holder)> {
        if self.env.is_of_a_person || self.env.session.is_some() {
            return None;
        }
        let agent = match &self.env.caller {
            Some(agent) => agent.clone(),
            None if self.clock.is_fixed() => return None,
            None => Agent::above()?,
        };
        let process = agent.process()?;
        Some((agent, process))
    }

    /// Evidence by which others can later tell whether this caller is dead.
    pub(crate) fn holder(&self) -> Result<Option<Holder>> {
        Ok(Holder::current(self.holder_pid()?))
    }

    /// The process that the caller or the environment names as the holder.
    fn holder_pid(&self) -> Result<Option<u32>> {
        match self.options.holder_pid {
            Some(pid) => Ok(Some(pid)),
            None => Ok(self.env.holder()?),
        }
    }

    /// The processes whose life shows that work goes on which this caller begins without a session: the one that the caller
    /// or the environment names, or those that run this process. A fixed clock is that of a test, and what runs a test does
    /// not belong to it.
    pub(crate) fn workers(&self) -> Result<Vec<Holder>> {
        if let Some(holder) = self.holder_pid()?.and_then(Holder::running) {
            return Ok(vec![holder]);
        }
        Ok(if self.clock.is_fixed() { Vec::new() } else { Holder::workers() })
    }

    /// The process that the caller or `FLOW_HOLDER_PID` names as the holder.
    pub(super) fn holder_given_to_flow(&self) -> Result<Option<u32>> {
        let is_given = self.options.holder_pid.is_some() || self.env.names_holder();
        if is_given { self.holder_pid() } else { Ok(None) }
    }
}

/// A project that was opened, and the context in which it was.
#[derive(Debug)]
pub struct OpenedProject {
    pub(crate) cx: Context,
    project: Project,
    /// Why the store of shared runs gave no answer when this was opened: a command waits for that once.
    pub(in crate::runs) unanswered: OnceLock<(String, bool)>,
}

impl Deref for OpenedProject {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl OpenedProject {
    /// Completes a `.flow` without flow's `.gitignore`. Writers call this before they take a lock.
    pub(crate) fn keep_out_of_git(&self, request: &WriteRequest) -> Result<()> {
        if self.is_kept_out_of_git() {
            return Ok(());
        }
        Ok(self.project.keep_out_of_git(&self.cx.left_out_rules(self.root())?, request)?)
    }

    /// The project that has the files of a run: this one, or that of the copies of shared runs.
    pub(crate) fn with_files_of(&self, run: &RunId) -> Result<Project> {
        match self.runs().shared().copies_with(run) {
            Some(copies) => Ok(Project::open_named(&*self.cx.disk, &copies, self.trust())?),
            None => Ok(self.project.clone()),
        }
    }

    /// The runs of this checkout alone, whatever store the project names.
    pub(crate) fn local_runs(&self) -> &dyn RunStore {
        match self.cx.runs {
            Some(_) => self.project.runs(),
            None => &self.project,
        }
    }

    /// Where a run begins: in the store of the project, or in this checkout alone.
    pub(crate) fn runs_to_begin_in(&self, is_local: bool) -> &dyn RunStore {
        if is_local { self.local_runs() } else { self.project.runs() }
    }

    /// Whether the project has the schemas for editors.
    pub(crate) fn has_schemas(&self) -> bool {
        let flow = self.path();
        self.cx.disk.is_file(&flow.join("schemas/run.schema.json"))
    }

    /// The available definitions.
    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::new(Arc::clone(&self.cx.disk), Some(self.path().to_owned()))
    }

    /// How long a commit may take in all: as the caller or the environment says, otherwise as the store needs.
    pub(crate) fn commit_wait(&self) -> Result<Duration> {
        match self.cx.options.lock_wait {
            Some(wait) => Ok(wait),
            None => Ok(self.cx.env.lock_wait()?.unwrap_or_else(|| self.runs().patience())),
        }
    }

    /// The state of the files that git writes, and the boot of the machine: if they are unchanged, neither git nor a power
    /// cut has changed any run. `None` if they cannot be determined.
    pub(crate) fn outside(&self) -> Option<String> {
        let Context { git, disk, .. } = &self.cx;
        let of_git = match git.top(self.root()) {
            Some(top) => git_stamp(&**disk, &git.index(&top)?)?,
            None => "no repository".to_owned(),
        };
        Some(format!("{of_git}|{}", self.cx.boot()))
    }
}
