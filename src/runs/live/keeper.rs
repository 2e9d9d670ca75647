//! Keeps a feed up to date, without a thread of its own: its owner waits, passes hints on, and lets it look.
//!
//! All runs are looked at every few seconds, which is what is relied on; and sooner those of which the system says that
//! their files changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::host::Watcher;
use crate::model::RunId;
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::live::asking::StoreAsker;
use crate::runs::live::feed::Feed;

/// How often all runs are looked at, with and without hints; less often if that takes longer than a hundredth of the
/// time.
const SWEEP: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_secs(2);
/// How often the open runs are looked at without hints.
const POLL_OPEN: Duration = Duration::from_millis(250);
/// How long to wait for more hints after one: a commit changes several files.
const SETTLE: Duration = Duration::from_millis(5);

/// A feed that is kept up to date.
#[derive(Debug)]
pub struct Keeper {
    /// What is kept up to date.
    pub feed: Feed,
    _asker: StoreAsker,
    /// None if files are polled.
    watcher: Option<Watcher>,
    hinted: BTreeSet<RunId>,
    /// When the runs that were hinted at are looked at.
    settled: Option<Instant>,
    /// When the open runs are looked at, if files are polled.
    open_due: Instant,
    due: Instant,
}

impl Keeper {
    /// Reads the runs of the context's project. `tell` gets the paths to pass to [`Self::hint`], on another thread; with
    /// `poll` there are none.
    ///
    /// # Errors
    /// As [`Feed::open`].
    pub fn open(cx: &Context, poll: bool, tell: impl Fn(PathBuf) + Send + 'static) -> Result<Self> {
        // The watcher's thread starts before the runs are read. Started later, it would get the allocator's arena of a
        // thread that read them, and this thread would allocate as much memory a second time.
        let watcher = if poll { None } else { Watcher::new(tell).ok() };
        let asker = StoreAsker::begin(cx);
        let feed = Feed::open(&cx.offline())?;
        let now = Instant::now();
        let mut keeper = Self {
            feed,
            _asker: asker,
            watcher,
            hinted: BTreeSet::new(),
            settled: None,
            open_due: now + POLL_OPEN,
            due: now,
        };
        keeper.watch();
        keeper.due = now + keeper.period();
        Ok(keeper)
    }

    fn period(&self) -> Duration {
        if self.watcher.is_some() { SWEEP } else { POLL }
    }

    /// How long its owner may wait before the next look.
    #[must_use]
    pub fn wait(&self) -> Duration {
        let mut next = self.settled.unwrap_or(self.due).min(self.due);
        if self.watcher.is_none() {
            next = next.min(self.open_due);
        }
        next.saturating_duration_since(Instant::now())
    }

    /// Something changed at this path.
    pub fn hint(&mut self, path: &Path) {
        if let Some(run) = self.feed.run_at(path) {
            self.hinted.insert(run);
        }
        if let Some(watcher) = &mut self.watcher {
            // When it is a directory that is watched, that directory itself was moved or removed.
            watcher.forget(path);
        }
        // Counted from the first hint: a run that is written all the time is to be shown as well.
        self.settled.get_or_insert(Instant::now() + SETTLE);
    }

    /// Looks at what is due. Returns the runs that changed or are gone. Runs that cannot be listed now are tried again at
    /// the next look.
    pub fn look(&mut self) -> Vec<RunId> {
        let now = Instant::now();
        if now >= self.due {
            let changed = self.feed.look();
            self.watch();
            self.due = Instant::now() + self.period().max(100 * self.feed.cost);
            return changed.unwrap_or_default();
        }
        if let Some(settled) = self.settled
            && now >= settled
        {
            self.settled = None;
            let hinted: Vec<_> = std::mem::take(&mut self.hinted).into_iter().collect();
            let changed = self.feed.look_at(&hinted);
            self.watch();
            return changed.unwrap_or_default();
        }
        if self.watcher.is_none() && now >= self.open_due {
            self.open_due = now + POLL_OPEN;
            return self.feed.look_at_open().unwrap_or_default();
        }
        Vec::new()
    }

    /// Watches the directory of runs, and those of the open runs. What cannot be watched is polled.
    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        if watcher.set(self.feed.places_of_open()).is_err() {
            self.watcher = None;
        }
    }
}
