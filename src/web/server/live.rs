//! The feeds of the projects, kept up to date by a thread of their own.
//!
//! That thread looks at all runs every few seconds, which is what pages rely on, and sooner at those runs of which the
//! system says that their files changed. Subscribers get a notice of each run that changed, and ask the feed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::broadcast;

use crate::host::{Clock, Watcher, secret};
use crate::model::{RunId, Timestamp, slug};
use crate::picture::page::ProjectCards;
use crate::runs::{CardFilter, Context, Feed};
use crate::web::{Error, Result};

/// How often all runs are looked at, with and without a watcher; less often if that takes longer than a hundredth of
/// the time.
const SWEEP: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_secs(2);
/// How often the open runs are looked at without a watcher.
const POLL_OPEN: Duration = Duration::from_millis(250);
/// How long to wait for more hints after one: a commit changes several files.
const SETTLE: Duration = Duration::from_millis(5);
/// How many changes are remembered for pages that lost their connection.
const RING: usize = 4096;
/// How many notices a slow reader may leave unread before it gets everything anew.
const UNREAD: usize = 256;

/// A run changed, or is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Notice {
    pub(super) n: u64,
    pub(super) project: usize,
    pub(super) run: RunId,
}

/// A project that is served.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) name: String,
    root: PathBuf,
    feed: Mutex<Feed>,
}

/// Everything that is served.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) projects: Vec<Served>,
    /// Names this start of the server, so that numbers of another one are not taken for those of this one.
    pub(super) id: String,
    ring: Mutex<VecDeque<Notice>>,
    notices: broadcast::Sender<Notice>,
    clock: Clock,
}

impl Served {
    pub(super) fn feed(&self) -> MutexGuard<'_, Feed> {
        // A feed is a cache of the files: after a panic the next look puts it right.
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Reads the projects of these directories, otherwise that of the context.
    pub(super) fn open(cx: &Context, dirs: &[PathBuf]) -> Result<Self> {
        let feeds: Vec<Feed> = if dirs.is_empty() {
            vec![Feed::open(cx)?]
        } else {
            let open = |dir: &PathBuf| {
                let fault = |source| Error::Project { dir: dir.clone(), source: Box::new(source) };
                Feed::open(&cx.in_project(dir)).map_err(fault)
            };
            dirs.iter().map(open).collect::<Result<_>>()?
        };
        let mut names = BTreeSet::new();
        let serve = |feed: Feed| {
            let root = feed.root().to_owned();
            let name = free_name(&root, &mut names);
            Served { name, root, feed: Mutex::new(feed) }
        };
        let projects = feeds.into_iter().map(serve).collect();
        let id = secret()[..16].to_owned();
        Ok(Self {
            projects,
            id,
            ring: Mutex::default(),
            notices: broadcast::Sender::new(UNREAD),
            clock: cx.clock.clone(),
        })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.projects.iter().map(|project| project.name.clone()).collect()
    }

    pub(super) fn roots(&self) -> Vec<PathBuf> {
        self.projects.iter().map(|project| project.root.clone()).collect()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Served> {
        self.projects.iter().find(|project| project.name == name)
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last notice.
    pub(super) fn last(&self) -> u64 {
        self.ring().back().map_or(0, |notice| notice.n)
    }

    /// The runs that changed after the notice `n` of the server's start `id`; `None` if that is not known any more.
    pub(super) fn changed_since(&self, id: &str, n: u64) -> Option<BTreeSet<(usize, RunId)>> {
        let ring = self.ring();
        let first = ring.front().map_or(1, |notice| notice.n);
        let last = ring.back().map_or(0, |notice| notice.n);
        let is_known = id == self.id && n.saturating_add(1) >= first && n <= last;
        is_known.then(|| {
            let later = ring.iter().filter(|notice| notice.n > n);
            later.map(|notice| (notice.project, notice.run.clone())).collect()
        })
    }

    fn tell(&self, project: usize, runs: Vec<RunId>) {
        for run in runs {
            let notice = {
                let mut ring = self.ring();
                let notice = Notice { n: ring.back().map_or(0, |notice| notice.n) + 1, project, run };
                ring.push_back(notice.clone());
                if ring.len() > RING {
                    ring.pop_front();
                }
                notice
            };
            // An error means that there is no subscriber.
            let _ = self.notices.send(notice);
        }
    }

    /// Looks at all runs of all projects. Runs that cannot be listed now are tried again at the next look.
    fn look(&self) {
        for (at, project) in self.projects.iter().enumerate() {
            let changed = project.feed().look();
            self.tell(at, changed.unwrap_or_default());
        }
    }

    fn look_at(&self, hinted: HashMap<usize, BTreeSet<RunId>>) {
        for (at, runs) in hinted {
            let runs: Vec<_> = runs.into_iter().collect();
            let changed = self.projects[at].feed().look_at(&runs);
            self.tell(at, changed.unwrap_or_default());
        }
    }

    fn look_at_open(&self) {
        for (at, project) in self.projects.iter().enumerate() {
            let changed = project.feed().look_at_open();
            self.tell(at, changed.unwrap_or_default());
        }
    }
}

/// A name for the project at `root` that no other project has.
fn free_name(root: &Path, taken: &mut BTreeSet<String>) -> String {
    let own = root.file_name().and_then(|name| name.to_str()).and_then(|name| slug(name, 40));
    let own = own.filter(|name| !["api", "ws"].contains(&name.as_str())).unwrap_or_else(|| "project".to_owned());
    let names = std::iter::once(own.clone()).chain((2..).map(|n| format!("{own}-{n}")));
    let free = names.into_iter().find(|name| taken.insert(name.clone()));
    free.unwrap_or(own)
}

/// Starts the thread that keeps the feeds up to date.
pub(super) fn keep(live: &Arc<Live>, poll: bool) -> std::io::Result<()> {
    let live = Arc::clone(live);
    let (send, hints) = mpsc::channel();
    thread::Builder::new().name("feeds".to_owned()).spawn(move || Keeper::new(live, send, poll).run(&hints))?;
    Ok(())
}

/// A hint: something changed at this path of a project.
type Hint = (usize, PathBuf);

struct Keeper {
    live: Arc<Live>,
    /// A watcher for each project; none if files are polled.
    watchers: Vec<Option<Watcher>>,
    /// Keeps the receiver of hints waiting even if there is no watcher.
    _send: Sender<Hint>,
}

impl Keeper {
    fn new(live: Arc<Live>, send: Sender<Hint>, poll: bool) -> Self {
        let watch = |at: usize| {
            let send = send.clone();
            // The thread ends with the process, so the receiver is there.
            Watcher::new(move |path| drop(send.send((at, path)))).ok()
        };
        let watchers = (0..live.projects.len()).map(|at| if poll { None } else { watch(at) }).collect();
        Self { live, watchers, _send: send }
    }

    fn run(mut self, hints: &Receiver<Hint>) {
        self.watch();
        let mut due = Instant::now() + SWEEP;
        loop {
            let polls = self.watchers.iter().any(Option::is_none);
            let until = due.saturating_duration_since(Instant::now());
            let wait = if polls { until.min(POLL_OPEN) } else { until };
            match hints.recv_timeout(wait) {
                Ok(told) => {
                    let hinted = self.gather(told, hints);
                    self.live.look_at(hinted);
                    self.watch();
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < due => self.live.look_at_open(),
                Err(_) => {
                    let begun = Instant::now();
                    self.live.look();
                    self.watch();
                    due = Instant::now() + if polls { POLL } else { SWEEP }.max(100 * begun.elapsed());
                }
            }
        }
    }

    /// The runs that are hinted at within a short time.
    fn gather(&mut self, first: Hint, hints: &Receiver<Hint>) -> HashMap<usize, BTreeSet<RunId>> {
        let mut hinted: HashMap<usize, BTreeSet<RunId>> = HashMap::new();
        let (live, watchers) = (&self.live, &mut self.watchers);
        let mut note = |(at, path): Hint| {
            if let Some(run) = live.projects[at].feed().run_at(&path) {
                hinted.entry(at).or_default().insert(run);
            }
            // When it is a directory that is watched, that directory itself was moved or removed.
            watchers[at].iter_mut().for_each(|watcher| watcher.forget(&path));
        };
        note(first);
        let end = Instant::now() + SETTLE;
        while let Ok(told) = hints.recv_timeout(end.saturating_duration_since(Instant::now())) {
            note(told);
        }
        hinted
    }

    /// Watches the directory of runs, and those of the open runs. What cannot be watched is polled.
    fn watch(&mut self) {
        for (project, slot) in self.live.projects.iter().zip(&mut self.watchers) {
            let Some(watcher) = slot else { continue };
            if watcher.set(project.feed().places_of_open()).is_err() {
                *slot = None;
            }
        }
    }
}

/// The cards of all projects.
pub(super) fn cards(live: &Live, filter: &CardFilter) -> Vec<ProjectCards> {
    let of = |project: &Served| ProjectCards { project: project.name.clone(), cards: project.feed().cards(filter) };
    live.projects.iter().map(of).collect()
}

/// A function panicked.
#[derive(Debug)]
pub(super) struct Panicked;

/// Calls `read` on a thread where it may wait for the disk and for other readers.
pub(super) async fn apart<T: Send + 'static>(
    live: &Arc<Live>,
    read: impl FnOnce(&Live) -> T + Send + 'static,
) -> std::result::Result<T, Panicked> {
    let live = Arc::clone(live);
    tokio::task::spawn_blocking(move || read(&live)).await.map_err(|_| Panicked)
}
