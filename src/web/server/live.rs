//! The feeds of the projects. Subscribers get a notice of each run that changed, and ask the feed.
//!
//! One thread reads all files: it looks for changes and renders what pages show, one task after the other. A second thread
//! would mostly wait for the same feed, and the allocator would keep the memory for the longest log once for each thread.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::sync::broadcast;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::sleep;

use crate::host::{Clock, secret};
use crate::model::{Explain as _, Problem, RunId, slug};
use crate::picture::page::ProjectCards;
use crate::runs::{CardFilter, Context, Error, Keeper, Result};
use crate::web::Serving;
use crate::web::server::hide::Hide;

/// How many changes are remembered for pages that lost their connection.
const RING: usize = 4096;
/// How long to wait after a look that panicked.
const AGAIN: Duration = Duration::from_secs(5);
/// How many actions are done at once. Each may wait for the writer of its run.
pub(super) const ACTIONS: usize = 4;
/// How many notices a slow reader may leave unread before it gets everything again.
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
pub(super) struct ServedProject {
    pub(super) name: String,
    root: PathBuf,
    /// For verbs that are not about one run.
    pub(super) cx: Context,
    keeper: Mutex<Keeper>,
}

/// A hint: something changed at this path of a project.
type Hint = (usize, PathBuf);

/// Everything that is served.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) projects: Vec<ServedProject>,
    /// Names this start of the server, so that numbers of another one are not taken for those of this one.
    pub(super) id: String,
    /// Whether pages may act.
    pub(super) actions: bool,
    ring: Mutex<VecDeque<Notice>>,
    pub(super) notices: broadcast::Sender<Notice>,
    pub(super) clock: Clock,
    reading: Arc<Semaphore>,
    pub(super) acting: Arc<Semaphore>,
    /// What clients are not told.
    pub(super) hide: Hide,
}

impl ServedProject {
    pub(super) fn keeper(&self) -> MutexGuard<'_, Keeper> {
        // A feed is a cache of the files: after a panic the next look puts it right.
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Reads the projects to serve. Hints for [`keep`] are sent to `hints`; a server that polls has none.
    pub(super) fn open(cx: &Context, serving: &Serving, hints: &UnboundedSender<Hint>) -> Result<Self> {
        let mut keepers = Vec::new();
        if serving.dirs.is_empty() {
            keepers.push(open(cx, serving.poll, 0, hints)?);
        }
        let mut roots = BTreeSet::new();
        for dir in &serving.dirs {
            let cx = cx.in_project(dir);
            let project = cx.project().map_err(|error| of_directory(dir, error))?;
            // Two directories of one project, or two names of one directory, are one project.
            if !roots.insert(project.root().to_owned()) {
                continue;
            }
            let keeper = open(&cx, serving.poll, keepers.len(), hints);
            keepers.push(keeper.map_err(|error| of_directory(dir, error))?);
        }
        let mut names = BTreeSet::new();
        let mut projects = Vec::with_capacity(keepers.len());
        for keeper in keepers {
            let root = keeper.feed.root().to_owned();
            let name = free_name(&root, &mut names);
            projects.push(ServedProject { name, cx: cx.working_in(&root).offline(), root, keeper: Mutex::new(keeper) });
        }
        let id = secret()[..16].to_owned();
        Ok(Self {
            hide: Hide::new(projects.iter().map(|project| project.root.clone()).collect()),
            projects,
            id,
            actions: serving.allow_actions,
            ring: Mutex::default(),
            notices: broadcast::Sender::new(UNREAD),
            clock: cx.clock.clone(),
            // As the module says: one thread reads.
            reading: Arc::new(Semaphore::new(1)),
            acting: Arc::new(Semaphore::new(ACTIONS)),
        })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.projects.iter().map(|project| project.name.clone()).collect()
    }

    pub(super) fn roots(&self) -> Vec<PathBuf> {
        self.projects.iter().map(|project| project.root.clone()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<&ServedProject> {
        self.projects.iter().find(|project| project.name == name)
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last notice.
    pub(super) fn last(&self) -> u64 {
        self.ring().back().map_or(0, |notice| notice.n)
    }

    /// `FEED:N`: the position of a client that has received every notice so far.
    pub(super) fn since(&self) -> String {
        format!("{}:{}", self.id, self.last())
    }

    /// The runs that changed after the notice `n` of the server's start `id`; `None` if that is no longer known.
    pub(super) fn changed_since(&self, id: &str, n: u64) -> Option<BTreeSet<(usize, RunId)>> {
        let ring = self.ring();
        let first = ring.front().map_or(1, |notice| notice.n);
        let last = ring.back().map_or(0, |notice| notice.n);
        if id != self.id || n.saturating_add(1) < first || n > last {
            return None;
        }
        let later = ring.iter().filter(|notice| notice.n > n);
        Some(later.map(|notice| (notice.project, notice.run.clone())).collect())
    }

    fn tell(&self, project: usize, runs: Vec<RunId>) {
        for run in runs {
            // The ring is free again before subscribers hear of it: they look at it.
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

    /// Looks at what is due.
    fn look(&self) {
        for (at, project) in self.projects.iter().enumerate() {
            let changed = project.keeper().look();
            self.tell(at, changed);
        }
    }

    fn wait(&self) -> Duration {
        self.projects.iter().map(|project| project.keeper().wait()).min().unwrap_or_default()
    }
}

/// The error of a directory, which its sentence may name already.
fn of_directory(dir: &Path, error: Error) -> Error {
    let (dir, told) = (dir.display().to_string(), error.to_string());
    if told.contains(&dir) {
        return error;
    }
    Problem { message: format!("{dir}: {told}"), ..error.problem() }.into()
}

/// Opens a project whose hints have this number.
fn open(cx: &Context, poll: bool, at: usize, hints: &UnboundedSender<Hint>) -> Result<Keeper> {
    let hints = hints.clone();
    // The receiver ends with the process.
    Keeper::open(cx, poll, move |path| drop(hints.send((at, path))))
}

/// A name for the project at `root` that no other project has.
fn free_name(root: &Path, taken: &mut BTreeSet<String>) -> String {
    let dir = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let fits = !dir.is_empty()
        && dir.len() <= 40
        && dir.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let own = match if fits { Some(dir.to_owned()) } else { slug(dir, 40) } {
        // Addresses that are not of projects begin with the others.
        Some(name) if name != "api" && name != "ws" => name,
        _ => "project".to_owned(),
    };
    let mut name = own.clone();
    let mut n = 2;
    while !taken.insert(name.clone()) {
        name = format!("{own}-{n}");
        n += 1;
    }
    name
}

/// Keeps the feeds up to date for as long as the server runs. `hints` has another sender than the watchers, since without
/// them there is nothing to wait for but the time.
pub(super) async fn keep(live: Arc<Live>, (sender, mut hints): (UnboundedSender<Hint>, UnboundedReceiver<Hint>)) {
    let _sender = sender;
    let mut wait = Duration::ZERO;
    loop {
        let first = tokio::select! {
            hint = hints.recv() => hint,
            () = sleep(wait) => None,
        };
        let mut hinted: Vec<Hint> = first.into_iter().collect();
        // One look for all that came meanwhile.
        while let Ok(hint) = hints.try_recv() {
            hinted.push(hint);
        }
        let looked = on_reader(&live, move |live| {
            for (at, path) in &hinted {
                live.projects[*at].keeper().hint(path);
            }
            live.look();
            live.wait()
        });
        wait = looked.await.unwrap_or(AGAIN);
    }
}

/// The cards of all projects.
pub(super) fn cards(live: &Live, filter: &CardFilter) -> Vec<ProjectCards> {
    let mut all = Vec::with_capacity(live.projects.len());
    for project in &live.projects {
        let keeper = project.keeper();
        let mut cards = keeper.feed.cards(filter);
        let names = keeper.feed.short_names(&cards);
        drop(keeper);
        for run in &mut cards.unreadable {
            run.reason = live.hide.in_text(&run.reason);
        }
        if let Some(unseen) = &mut cards.unseen_store {
            unseen.told = live.hide.in_text(&unseen.told);
        }
        all.push(ProjectCards { project: project.name.clone(), cards, names });
    }
    all
}

/// A function panicked.
#[derive(Debug)]
pub(super) struct Panicked;

/// Calls `read` on the thread that may wait for the disk.
pub(super) async fn on_reader<T: Send + 'static>(
    live: &Arc<Live>,
    read: impl FnOnce(&Live) -> T + Send + 'static,
) -> std::result::Result<T, Panicked> {
    call(live, &live.reading, read).await
}

/// Calls `function` on one of these threads.
pub(super) async fn call<T: Send + 'static>(
    live: &Arc<Live>,
    threads: &Arc<Semaphore>,
    function: impl FnOnce(&Live) -> T + Send + 'static,
) -> std::result::Result<T, Panicked> {
    let thread = Arc::clone(threads).acquire_owned().await.map_err(|_| Panicked)?;
    let live = Arc::clone(live);
    let called = tokio::task::spawn_blocking(move || {
        let done = function(&live);
        // Not before: the function goes on when its client is gone.
        drop(thread);
        done
    });
    called.await.map_err(|_| Panicked)
}
