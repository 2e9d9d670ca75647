//! Hints that files changed, from the operating system. They may be missing, late or superfluous, so nothing may depend
//! on them but how soon something is looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches directories, each without those in it.
#[derive(Debug)]
pub(crate) struct Watcher {
    inner: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Watcher {
    /// A watcher that calls `tell`, on a thread of its own, with the path of each file or directory that changed.
    pub(crate) fn new(tell: impl Fn(PathBuf) + Send + 'static) -> notify::Result<Self> {
        let inner = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event
                && is_change(event.kind)
            {
                event.paths.into_iter().for_each(&tell);
            }
        })?;
        Ok(Self { inner, watched: BTreeSet::new() })
    }

    /// Forgets a directory: another one may have taken its place, which the next [`Self::set`] watches.
    pub(crate) fn forget(&mut self, dir: &Path) {
        if self.watched.remove(dir) {
            // It may be gone.
            let _ = self.inner.unwatch(dir);
        }
    }

    /// Watches exactly these directories from now on. One that does not exist is left out.
    ///
    /// # Errors
    /// When the system allows no more watches.
    pub(crate) fn set(&mut self, dirs: BTreeSet<PathBuf>) -> notify::Result<()> {
        for gone in self.watched.difference(&dirs) {
            // A directory that was removed is no longer watched.
            let _ = self.inner.unwatch(gone);
        }
        for new in dirs.difference(&self.watched) {
            match self.inner.watch(new, RecursiveMode::NonRecursive) {
                Err(error) if is_missing(&error) => {}
                watched => watched?,
            }
        }
        self.watched = dirs;
        Ok(())
    }
}

/// Whether an event is a change. Reading a file makes events too, and this program reads all the time.
fn is_change(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}
