//! The common directory of flow's own that git uses in place of a repository's: links to what git needs of the repository,
//! and a `config` without its commands.
//!
//! It depends on nothing but the repository's path and the values of its `config`, and its name is a digest of both. So it
//! is made once, in the user's state directory, and used again: a call that a signal ends leaves nothing behind. Where no
//! state directory can be used, it is made in the temporary directory for one call. What dead processes left in either is
//! removed when the next one is made there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::host::git::kept::{keep, remove, sweep};
use crate::model::hex;

/// The entries of a common directory that git needs. No hooks and no configuration.
const LINKED: [&str; 6] = ["objects", "refs", "packed-refs", "reftable", "info", "shallow"];
const CONFIG: &str = "config";
/// What names in the state directory begin with; a digest follows.
const KEPT: &str = "git-";
/// What names in the temporary directory begin with; the process that made it follows.
const TEMPORARY: &str = "flow-git-";

/// A common directory that git can use.
#[derive(Debug)]
pub(super) enum Common {
    /// In the state directory, for the next call as well.
    Kept(PathBuf),
    /// For this call alone.
    Temporary(TempDir),
}

/// A directory for one call. What dead processes left is removed.
pub(super) fn temporary_dir() -> io::Result<TempDir> {
    temporary_dir_of(TEMPORARY)
}

/// A directory for one call that only the user can look into, with a name that begins with `prefix`. What dead processes left
/// under such names is removed.
pub(super) fn temporary_dir_of(prefix: &str) -> io::Result<TempDir> {
    sweep(&std::env::temp_dir(), |name| name.strip_prefix(prefix)?.split_once('-')?.0.parse().ok());
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(&format!("{prefix}{}-", std::process::id())).permissions(private).tempdir()
}

impl Common {
    /// The directory for the repository whose own one is `repository`. `state` is the user's state directory.
    pub(super) fn of(repository: &Path, config: &[u8], state: Option<&Path>) -> io::Result<Self> {
        let content = CommonContent { repository, config };
        if let Some(state) = state
            && let Ok(kept) = content.keep(state)
        {
            return Ok(Self::Kept(kept));
        }
        let own = temporary_dir()?;
        content.fill(own.path())?;
        Ok(Self::Temporary(own))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(dir) => dir.path(),
        }
    }
}

/// What is in a common directory.
struct CommonContent<'c> {
    repository: &'c Path,
    config: &'c [u8],
}

impl CommonContent<'_> {
    /// The directory in `state`, which is made if it is not there.
    fn keep(&self, state: &Path) -> io::Result<PathBuf> {
        let name = self.name();
        let kept = state.join(&name);
        if !self.is_in(&kept) {
            keep(state, KEPT, &name, |new| self.put(new, &kept))?;
        }
        Ok(kept)
    }

    /// Makes the directory as `new`, and renames it to `kept`, so that others never see a part of it.
    #[expect(clippy::disallowed_methods, reason = "a private directory in the user's state directory, for git to read")]
    fn put(&self, new: &Path, kept: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(new)?;
        self.fill(new)?;
        if fs::rename(new, kept).is_ok() {
            return Ok(());
        }
        // Another process was faster, or what is there is damaged.
        if self.is_in(kept) {
            return remove(new);
        }
        remove(kept)?;
        fs::rename(new, kept)
    }

    #[expect(clippy::disallowed_methods, reason = "a file in a private directory, for git to read")]
    fn fill(&self, dir: &Path) -> io::Result<()> {
        for name in LINKED {
            symlink(self.repository.join(name), dir.join(name))?;
        }
        fs::write(dir.join(CONFIG), self.config)
    }

    /// Whether `dir` has this content and nothing else, and only this user can change it: git would run the hooks and the
    /// commands that anything else there names.
    fn is_in(&self, dir: &Path) -> bool {
        let own = rustix::process::geteuid().as_raw();
        let (Ok(names), Ok(meta)) = (fs::read_dir(dir), dir.symlink_metadata()) else { return false };
        let is_private = meta.is_dir() && meta.uid() == own && meta.mode() & 0o077 == 0;
        if !is_private || names.count() != LINKED.len() + 1 {
            return false;
        }
        for name in LINKED {
            if fs::read_link(dir.join(name)).ok() != Some(self.repository.join(name)) {
                return false;
            }
        }
        let config = dir.join(CONFIG);
        config.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() == self.config.len() as u64)
            && fs::read(config).is_ok_and(|bytes| bytes == self.config)
    }

    fn name(&self) -> String {
        let mut digest = Sha256::new();
        let path = self.repository.as_os_str().as_bytes();
        // The length keeps the two apart.
        digest.update((path.len() as u64).to_le_bytes());
        digest.update(path);
        digest.update(self.config);
        format!("{KEPT}{}", hex(&digest.finalize()[..8]))
    }
}
