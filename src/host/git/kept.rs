//! What is kept for git in the user's state directory, so that the next call need not make it or ask again.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::host::process::answers;

/// What the name of one that is being made ends with, behind the process that makes it.
const NEW: &str = ".new";
/// How many of a kind are kept; the ones that were made first go first.
const MOST: usize = 200;
/// How many names of a directory are looked at.
const LOOKED_AT: usize = 10_000;

/// Lets `put` make one as the path that it gets, and put it into its place `name` in `state`. Names of its kind begin with
/// `prefix`. What dead processes left and the oldest of this kind are removed before.
pub(super) fn keep(
    state: &Path,
    prefix: &str,
    name: &str,
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    sweep(state, |name| name.strip_prefix(prefix)?.strip_suffix(NEW)?.split('.').nth(1)?.parse().ok());
    drop_oldest(state, prefix);
    // Threads of this process may make the same one.
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let new = state.join(format!("{name}.{}.{made}{NEW}", std::process::id()));
    put(&new).inspect_err(|_| drop(remove(&new)))
}

/// Removes what dead processes left in `dir`. `maker` gives the process from a name.
pub(super) fn sweep(dir: &Path, maker: impl Fn(&str) -> Option<u32>) {
    for name in names(dir) {
        if let Some(pid) = maker(&name)
            && !answers(pid)
        {
            let _ = remove(&dir.join(name));
        }
    }
}

/// Makes room in the state directory for one more of those whose names begin with `prefix`.
fn drop_oldest(state: &Path, prefix: &str) {
    let mut kept = Vec::new();
    for name in names(state) {
        // One that is being made is left to its process.
        if name.starts_with(prefix) && !name.ends_with(NEW) {
            let path = state.join(name);
            let changed = path.symlink_metadata().and_then(|meta| meta.modified());
            kept.push((changed.ok(), path));
        }
    }
    kept.sort();
    let surplus = (kept.len() + 1).saturating_sub(MOST);
    for (_, path) in &kept[..surplus] {
        let _ = remove(path);
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().take(LOOKED_AT).flatten() {
        names.extend(entry.file_name().into_string());
    }
    names
}

/// Removes a directory, with whatever else stands in it, or a file. Links are removed and not followed.
#[expect(clippy::disallowed_methods, reason = "only names that flow gave, in a directory that is no project's")]
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
