//! A command about to be given in a prepared project, again and again from the very same files.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use super::calls::calls_of;
use super::inside::alone;
use super::mount::Memory;
use super::shaky::{DiskCall, Ill, Shaky};
use super::trouble::Disk;
use super::{Answer, Call, Lack, Sandbox, Tree, essence, whole};

/// How a command behaves when it is given once more after it did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It answers the same and changes nothing.
    Same,
    /// It is refused, because the name that it wants is taken: `start --id`.
    Taken,
    /// It does another piece of the same work: `start`.
    Another,
    /// It writes one more event that says the same: `resume --take-over`.
    Again,
    /// There is nothing left to do it to: `interview finish`.
    Over,
    /// It does all of its work once more: `exec` without an id.
    OnceMore,
}

/// A command, and what is right about it.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its arguments.
    pub args: Vec<String>,
    /// Further environment.
    pub env: Vec<(&'static str, String)>,
    /// What the same command again does.
    pub retry: Retry,
    /// The next commands, at least one for each run that this one writes, and their exit statuses.
    pub then: Vec<(Vec<String>, i32)>,
    /// What every `run.yaml` of the run `r1` says at every moment.
    pub keeps: Option<&'static str>,
    /// What is in quarantine in the end, and nothing else.
    pub puts_aside: Vec<String>,
    /// A person's text that is put aside as well when it cannot be removed after it was adopted.
    pub may_put_aside: Option<String>,
    /// Whether a run learns of it in several events, so that it may be seen between them.
    pub is_told_in_steps: bool,
    /// Whether it exits 0 whatever happens, and says on standard output what it did: `session-end`.
    pub is_a_hook: bool,
    /// Whether it answers with what it could not read, and exits 65: `doctor`.
    pub is_a_doctor: bool,
    /// Whether it leaves the runs that it could not read, says so, and exits 0: `prune`.
    pub is_a_prune: bool,
    /// Whether it runs nothing where it could not read that it may, says so, and exits 1: `replay`.
    pub is_a_replay: bool,
}

impl Order {
    /// A command that can be repeated, and the one after it.
    pub fn new(args: &[&str], then: (&[&str], i32)) -> Self {
        let owned = |args: &[&str]| args.iter().map(|&arg| arg.to_owned()).collect();
        Self {
            args: owned(args),
            env: Vec::new(),
            retry: Retry::Same,
            then: vec![(owned(then.0), then.1)],
            keeps: None,
            puts_aside: Vec::new(),
            may_put_aside: None,
            is_told_in_steps: false,
            is_a_hook: false,
            is_a_doctor: false,
            is_a_prune: false,
            is_a_replay: false,
        }
    }

    /// One more command behind it.
    pub fn and(mut self, args: &[&str]) -> Self {
        self.then.push((args.iter().map(|&arg| arg.to_owned()).collect(), 0));
        self
    }
}

/// A row of the table of commands.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name in the table.
    pub name: &'static str,
    /// Prepares a new repository, and gives the command.
    pub prepare: fn(&Sandbox) -> Order,
}

/// What readers say about one run, or about the modes.
pub type RunView = Value;

/// Stands for the modes where the runs have their names.
pub const MODES: &str = ".modes";
/// Stands for the document of an interview there.
pub const DOCUMENT: &str = ".document";

/// What readers say about every run, and about the modes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View(pub BTreeMap<String, RunView>);

impl View {
    /// The same, but for when it was.
    pub fn without_times(&self) -> Self {
        self.without(|key| key == "at" || key.ends_with("_at"))
    }

    /// The same, without the facts of the checkout that `seen` lacks: flow asks git for them, and what git could not be
    /// asked is absent, but never something else. Why a command has no tree is as `seen` says.
    pub fn as_far_as_told(&self, seen: &Self) -> Self {
        let mut told = self.clone();
        for (run, view) in &mut told.0 {
            if let Some(seen) = seen.0.get(run) {
                forget_untold(view, seen);
            }
        }
        told
    }

    fn without(&self, left_out: fn(&str) -> bool) -> Self {
        Self(self.0.iter().map(|(run, view)| (run.clone(), without(view, left_out))).collect())
    }
}

fn forget_untold(wanted: &mut Value, seen: &Value) {
    match (wanted, seen) {
        (Value::Array(wanted), Value::Array(seen)) => {
            wanted.iter_mut().zip(seen).for_each(|(w, s)| forget_untold(w, s))
        }
        (Value::Object(wanted), Value::Object(seen)) => {
            for (key, part) in wanted.iter_mut() {
                // Where the file system fails, that is the reason.
                if *part == "the project is not in a git repository"
                    && let Some(Value::String(why)) = seen.get(key)
                {
                    *part = why.as_str().into();
                }
                match (key.as_str(), part.as_object_mut(), seen.get(key)) {
                    ("context", Some(context), Some(seen)) => {
                        for fact in ["repo", "branch", "head"] {
                            match seen.get(fact).and_then(Value::as_str) {
                                None => drop(context.shift_remove(fact)),
                                Some("") => drop(context.insert(fact.to_owned(), "".into())),
                                Some(_) => {}
                            }
                        }
                    }
                    (_, _, Some(seen)) => forget_untold(part, seen),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn without(value: &Value, left_out: fn(&str) -> bool) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|value| without(value, left_out)).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !left_out(key));
            Value::Object(kept.map(|(key, value)| (key.clone(), without(value, left_out))).collect())
        }
        other => other.clone(),
    }
}

/// A prepared project and a command.
pub struct Scene {
    /// The row.
    pub case: Case,
    /// The project.
    pub sandbox: Sandbox,
    /// The command.
    pub order: Order,
    /// What is known of it.
    known: Arc<Known>,
    /// What was found whole already, by [`Self::is_new`].
    seen: RefCell<HashSet<u64>>,
    /// The files that are there, while nothing else is done to them.
    left: RefCell<Option<Files>>,
    /// The tmpfs in which the project is, when it has one of its own.
    memory: Option<Memory>,
}

/// What a command begins with, and what it does when nothing is in its way.
#[derive(Debug)]
pub struct Known {
    /// The command.
    order: Order,
    /// What readers say before it.
    pub old: View,
    /// What readers say after it.
    pub new: View,
    /// Types of the events after it.
    pub events: BTreeMap<String, Vec<String>>,
    root: PathBuf,
    repository: Tree,
    base: Files,
    done: Files,
    clock: u64,
    calls: OnceLock<Vec<Call>>,
    disk_calls: OnceLock<Vec<DiskCall>>,
}

/// By the names of their rows, the commands that were prepared in this process already: the same again takes no process.
static PREPARED: Mutex<BTreeMap<&str, Arc<Known>>> = Mutex::new(BTreeMap::new());

impl Known {
    /// The same files in a new repository in `dir`, and the command there.
    fn moved(&self, dir: &Path) -> (Sandbox, Order) {
        let sandbox = Sandbox::of(&self.repository, self.clock, dir);
        let (old, new) = (self.root.display().to_string(), sandbox.root().display().to_string());
        let mut order = self.order.clone();
        for arg in &mut order.args {
            *arg = arg.replace(&old, &new);
        }
        (sandbox, order)
    }

    /// Whether nothing but the command's arguments says where the repository is.
    fn is_movable(&self) -> bool {
        let root = self.root.display().to_string();
        let trees = [&self.repository, &self.done.flow, &self.done.decisions, &self.done.docs];
        !trees.iter().any(|tree| tree.mentions(&root))
            && !self.order.env.iter().any(|(_, value)| value.contains('/'))
            && !format!("{:?}{:?}{:?}", self.old, self.new, self.order.then).contains(&root)
    }
}

impl Deref for Scene {
    type Target = Known;

    fn deref(&self) -> &Known {
        &self.known
    }
}

/// All that flow writes in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Files {
    /// `.flow`.
    pub flow: Tree,
    /// Decision journals.
    pub decisions: Tree,
    /// Documents of interviews.
    pub docs: Tree,
}

impl Files {
    /// As they are now.
    pub fn of(sandbox: &Sandbox) -> Self {
        let tree = |dir| Tree::of(&sandbox.path(dir));
        Self { flow: tree(".flow"), decisions: tree(".decisions"), docs: tree("docs") }
    }

    /// Puts them back where these are `now`.
    fn restore_over(&self, now: &Self, sandbox: &Sandbox) {
        self.flow.restore_over(&now.flow, &sandbox.path(".flow"));
        self.decisions.restore_over(&now.decisions, &sandbox.path(".decisions"));
        self.docs.restore_over(&now.docs, &sandbox.path("docs"));
    }

    /// Puts them back.
    pub fn restore(&self, sandbox: &Sandbox) {
        self.flow.restore(&sandbox.path(".flow"));
        self.decisions.restore(&sandbox.path(".decisions"));
        self.docs.restore(&sandbox.path("docs"));
    }

    /// The files of the project itself: neither runs nor modes nor locks nor what is only there to be quick.
    pub fn own(&self) -> BTreeMap<PathBuf, String> {
        let aside = |file: &Path| {
            file.starts_with("runs")
                || file.starts_with("state")
                || file.starts_with(".cache")
                || file.ends_with(".lock")
        };
        let own = self.flow.files().filter(|file| !aside(file));
        own.map(|file| (file.to_owned(), comparable(file, self.flow.text(file)))).collect()
    }

    /// Decision journals: neither locks nor what a writer at work leaves.
    pub fn journals(&self) -> BTreeMap<PathBuf, String> {
        let journals = self.decisions.files().filter(|file| file.extension().is_some_and(|end| end == "md"));
        journals.map(|file| (file.to_owned(), self.decisions.text(file))).collect()
    }

    /// What writers of journals that died left.
    pub fn strays(&self) -> Vec<PathBuf> {
        self.decisions.files().filter(|file| is_stray(file)).map(Path::to_owned).collect()
    }

    /// What writers of other documents that died left.
    pub fn strays_of_documents(&self) -> Vec<PathBuf> {
        self.docs.files().filter(|file| is_stray(file)).map(Path::to_owned).collect()
    }
}

/// The text of a file. Which runs were pruned, without when and in which order: the command that is given once more may note
/// some of them later.
fn comparable(file: &Path, text: String) -> String {
    if !file.ends_with("pruned.jsonl") {
        return text;
    }
    let parsed = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let mut lines: Vec<_> = text.lines().map(|line| without(&parsed(line), |key| key == "at").to_string()).collect();
    lines.sort();
    lines.join("\n")
}

fn is_stray(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "tmp" || end == "swap")
}

/// Time between the command and what is done to it.
const LATER: u64 = 100;
/// Options of a tmpfs that is as large as anybody could want.
const ROOMY: &str = "size=64m,nr_inodes=10000";

/// A disk that is sound again when this is dropped.
pub struct Troubled<'a>(Option<&'a Memory>);

impl Drop for Troubled<'_> {
    fn drop(&mut self) {
        if let Some(memory) = self.0 {
            memory.remount(&format!("rw,{ROOMY}")).unwrap();
        }
    }
}

impl Scene {
    /// The case in a new repository in `dir`, with the command's answer to nothing in its way.
    pub fn new(case: Case, dir: &Path) -> Self {
        Self::prepare(case, dir, None)
    }

    /// As [`Self::new`], in a tmpfs that can be filled up and made read-only.
    pub fn on_a_disk(case: Case) -> Result<Self, Lack> {
        let memory = Memory::new(ROOMY)?;
        let dir = memory.path().to_owned();
        Ok(Self::prepare(case, &dir, Some(memory)))
    }

    fn prepare(case: Case, dir: &Path, memory: Option<Memory>) -> Self {
        let prepared = PREPARED.lock().unwrap().get(case.name).map(Arc::clone).filter(|_| !whole());
        if let Some(known) = prepared {
            let (sandbox, order) = known.moved(dir);
            return Self { case, sandbox, order, known, seen: RefCell::default(), left: RefCell::default(), memory };
        }
        let sandbox = Sandbox::within(dir);
        let order = (case.prepare)(&sandbox);
        let known = Known {
            order: order.clone(),
            old: View::default(),
            new: View::default(),
            events: BTreeMap::new(),
            root: sandbox.root(),
            repository: Tree::of(&sandbox.root()),
            base: Files::of(&sandbox),
            done: Files::default(),
            clock: sandbox.now(),
            calls: OnceLock::new(),
            disk_calls: OnceLock::new(),
        };
        let (known, seen, left) = (Arc::new(known), RefCell::default(), RefCell::default());
        let mut scene = Self { case, sandbox, order, known, seen, left, memory };
        let old = scene.view();
        scene.known_mut().old = old;
        scene.assert_works(&super::run(scene.command(&[]), ""));
        let (done, new, events) = (Files::of(&scene.sandbox), scene.view(), scene.events_now());
        assert_ne!(done, scene.base, "{} changes nothing", case.name);
        let known = scene.known_mut();
        (known.done, known.new, known.events) = (done, new, events);
        if scene.is_movable() {
            PREPARED.lock().unwrap().insert(case.name, Arc::clone(&scene.known));
        }
        scene
    }

    fn known_mut(&mut self) -> &mut Known {
        Arc::get_mut(&mut self.known).unwrap()
    }

    /// Everything as it was before the command, and the clock as well.
    pub fn restore(&self) {
        match self.left.take() {
            Some(left) => self.base.restore_over(&left, &self.sandbox),
            None => self.base.restore(&self.sandbox),
        }
        self.sandbox.forget_answers_of_git();
        self.sandbox.put_clock(self.clock);
    }

    /// Whether these files, and what else the aftermath depends on, were never seen here before. Most calls that fail leave
    /// what others left: the clock and all ids are the same each time. Where they were, they are to be restored next.
    pub fn is_new(&self, beside: impl Hash) -> bool {
        let files = Files::of(&self.sandbox);
        let mut hasher = DefaultHasher::new();
        // The cache remembers when the system last changed files, and nothing rests on it.
        files.flow.without(".cache").hash(&mut hasher);
        (&files.decisions, &files.docs, beside).hash(&mut hasher);
        let is_new = self.seen.borrow_mut().insert(hasher.finish());
        self.left.replace((!is_new).then_some(files));
        is_new
    }

    /// The files as they are without trouble.
    pub fn undisturbed(&self) -> &Files {
        &self.done
    }

    /// The files as they are before the command.
    pub fn before(&self) -> &Files {
        &self.base
    }

    /// The system calls of the command when strace does `injects` to it. It must do its work all the same.
    pub fn calls(&self, injects: &[String]) -> Vec<Call> {
        if injects.is_empty() {
            return self.known.calls.get_or_init(|| self.see_calls(injects)).clone();
        }
        self.see_calls(injects)
    }

    fn see_calls(&self, injects: &[String]) -> Vec<Call> {
        self.restore();
        let (answer, calls) = calls_of(&self.sandbox, injects, |command| self.complete(command));
        self.assert_works(&answer);
        calls
    }

    /// What the command asks of the file system, in this process. It must do its work all the same.
    pub fn disk_calls(&self, ills: &[Ill]) -> Vec<DiskCall> {
        if ills.is_empty() {
            return self.known.disk_calls.get_or_init(|| self.see_disk_calls(ills)).clone();
        }
        self.see_disk_calls(ills)
    }

    fn see_disk_calls(&self, ills: &[Ill]) -> Vec<DiskCall> {
        self.restore();
        let disk = Shaky::new(alone(), ills);
        self.assert_works(&self.inside(&disk));
        disk.calls()
    }

    /// The command in this process, on this disk and at its own time.
    pub fn inside(&self, disk: &Shaky) -> Answer {
        self.sandbox.put_clock(self.clock);
        self.sandbox.inside_on(Arc::new(disk.clone()), &self.order.env, self.args())
    }

    fn args(&self) -> impl Iterator<Item = &str> {
        self.order.args.iter().map(String::as_str).chain(["--json"])
    }

    #[track_caller]
    fn assert_works(&self, answer: &Answer) {
        assert!(answer.stderr.is_empty(), "{}: {answer:?}", self.case.name);
        assert!(self.did_its_work(answer), "{}: {answer:?}", self.case.name);
    }

    /// Appends the program and the command's arguments.
    fn complete(&self, command: &mut Command) {
        command.arg(env!("CARGO_BIN_EXE_flow")).args(self.args());
        command.envs(self.order.env.iter().map(|(key, value)| (key, value)));
    }

    /// The command behind a prefix of words that start another one, at its own time.
    pub fn command(&self, prefix: &[String]) -> Command {
        self.sandbox.put_clock(self.clock);
        let mut command = self.sandbox.command("timeout");
        command.args(["-k", "1", "60"]).args(prefix);
        self.complete(&mut command);
        command
    }

    /// The same command once more, later and without trouble.
    pub fn again(&self) -> Answer {
        self.sandbox.put_clock(self.clock + LATER);
        self.sandbox.inside_on(alone(), &self.order.env, self.args())
    }

    /// As [`Self::again`], by the real program.
    pub fn again_as_a_process(&self) -> Answer {
        self.sandbox.put_clock(self.clock + LATER);
        let mut command = self.sandbox.flow_command();
        command.args(self.args()).envs(self.order.env.iter().map(|(key, value)| (key, value)));
        super::run(command, "")
    }

    /// Whether the answer says that the work was done.
    pub fn did_its_work(&self, answer: &Answer) -> bool {
        if self.order.is_a_hook {
            let report: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
            let marked = report["persisted"].as_array().map_or(0, Vec::len);
            return marked == self.old.0.len() && report["warnings"] == serde_json::json!([]);
        }
        if self.order.is_a_prune && answer.stdout.contains("it cannot be read") {
            return false;
        }
        // `resume` answers with its verdict, also when it gives the run to somebody.
        !answer.stdout.is_empty() && (answer.code == Some(0) || answer.stdout.contains("\"claim\":{"))
    }

    /// Brings the project's disk into trouble for a while.
    pub fn troubled(&self, disk: Disk) -> Troubled<'_> {
        if disk == Disk::Sound {
            return Troubled(None);
        }
        let memory = self.memory.as_ref().expect("a scene without a disk of its own");
        let now = rustix::fs::statvfs(memory.path()).unwrap();
        let used = (now.f_blocks - now.f_bfree) * now.f_frsize;
        let options = match disk {
            Disk::Sound => ROOMY.to_owned(),
            // No size at all would mean no bound.
            Disk::Pages(free) => format!("size={}k", (used >> 10) + 4 * free),
            Disk::Files(free) => format!("nr_inodes={}", now.f_files - now.f_ffree + free),
            Disk::ReadOnly => "ro".to_owned(),
        };
        memory.remount(&options).unwrap();
        Troubled(Some(memory))
    }

    /// What readers say now.
    #[track_caller]
    pub fn view(&self) -> View {
        self.sandbox.put_clock(self.clock + 2 * LATER);
        let document = self.document().map(|document| (DOCUMENT.to_owned(), document));
        let list = self.sandbox.inside(["list", "--json"]);
        if list.code == Some(3) {
            return View(document.into_iter().collect());
        }
        let list = list.ok().json();
        assert_eq!(list["unreadable"], serde_json::json!([]), "a run cannot be read");
        let named = list["runs"].as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned());
        let named: Vec<String> = named.collect();
        assert_eq!(named.len(), self.sandbox.runs().len(), "not every run is listed");
        let mut views: BTreeMap<_, _> = named.into_iter().map(|run| (run.clone(), self.view_of(&run))).collect();
        views.extend(document);
        let modes = self.sandbox.inside(["mode", "list", "--all", "--json"]);
        if modes.code != Some(3) {
            let modes = modes.ok().json();
            if modes["modes"] != serde_json::json!([]) {
                views.insert(MODES.to_owned(), modes);
            }
        }
        View(views)
    }

    /// The document of an interview, with the time at which it began beside its text.
    fn document(&self) -> Option<RunView> {
        let text = std::fs::read_to_string(self.sandbox.path("docs/charter.md")).ok()?;
        let (started, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("<!-- Started:"));
        Some(serde_json::json!({ "started_at": started, "text": rest }))
    }

    fn view_of(&self, run: &str) -> RunView {
        self.sandbox.put_clock(self.clock + 3 * LATER);
        let resumed = self.sandbox.inside(["resume", run, "--json"]);
        let mut shown = self.sandbox.inside(["show", run, "--json"]).ok().json();
        // A hand edit that is adopted, but not yet recorded upon, differs in these.
        for volatile in ["last_seq", "updated_at"] {
            shown["state"][volatile] = Value::Null;
        }
        for volatile in ["notes", "events"] {
            shown[volatile] = Value::Null;
        }
        serde_json::json!({ "exit": resumed.code, "resume": essence(&resumed.json()), "show": shown })
    }

    /// The types of the events of every run.
    #[track_caller]
    pub fn events_now(&self) -> BTreeMap<String, Vec<String>> {
        let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
        let types = |run: &String| self.sandbox.events(run).iter().map(kind).collect();
        let mut events: BTreeMap<String, Vec<String>> =
            self.sandbox.runs().into_iter().map(|run| (run.clone(), types(&run))).collect();
        let modes: Vec<String> = self.sandbox.mode_events().iter().map(kind).collect();
        if !modes.is_empty() {
            events.insert(MODES.to_owned(), modes);
        }
        events
    }
}
