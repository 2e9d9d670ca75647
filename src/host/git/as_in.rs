//! Files that are as a commit has them, whatever the index says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::host::git::command::{Git, check_commit_id};
use crate::host::git::running::Silence;
use crate::host::git::tree::LISTING;

/// The modes of files and links in a tree.
const FILES: [&[u8]; 3] = [b"100644 ", b"100755 ", b"120000 "];

impl Git {
    /// Those of `paths` whose files on the disk are as `commit` has them, or neither there nor in it. They are relative to the top of
    /// the checkout that contains `dir`. `state` gives the user's state directory, where what git needs for this is kept.
    ///
    /// # Errors
    /// Why git cannot tell, in one line.
    pub fn files_as_in(
        &self,
        dir: &Path,
        commit: &str,
        paths: &[&str],
        state: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<BTreeSet<String>, String> {
        let mut same = BTreeSet::new();
        if paths.is_empty() {
            return Ok(same);
        }
        check_commit_id(commit)?;
        let deadline = Instant::now() + LISTING;
        let apart = self.apart(dir, state(), deadline)?;
        let question = [&["ls-tree", "-z", "--full-tree", "--", commit], paths].concat();
        let listed = self.start(&apart.variables, &apart.top, &question).map_err(Silence::why)?.output(deadline)?;
        let (mut entries, mut known) = (Vec::new(), BTreeSet::new());
        for entry in listed.split(|&byte| byte == 0) {
            let Some(tab) = memchr::memchr(b'\t', entry) else { continue };
            let Ok(path) = str::from_utf8(&entry[tab + 1..]) else { continue };
            known.insert(path);
            if FILES.iter().any(|mode| entry.starts_with(mode)) {
                entries.extend([entry, b"\0"].concat());
                same.insert(path.to_owned());
            }
        }
        for path in paths {
            if !known.contains(path) && apart.top.join(path).symlink_metadata().is_err() {
                same.insert((*path).to_owned());
            }
        }
        for edited in self.differing(&apart, &entries, deadline)? {
            same.remove(&*String::from_utf8_lossy(&edited));
        }
        Ok(same)
    }
}
