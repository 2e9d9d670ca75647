//! Content that may seem to be in a tree, and is not: behind links, and in files that git does not list.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::host::path::without_dots;
use crate::host::tree::digest::Tree;
use crate::host::tree::path::shown_path;

impl Tree {
    /// The links behind which are no files of the tree, at most `most`; `top` is where it is. Of a link only its target's name is in the
    /// digest.
    #[must_use]
    pub fn links_out(&self, top: &Path, most: usize) -> Vec<String> {
        // Where links end is told without links.
        let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
        self.links().filter(|path| self.leads_out(&top, path)).take(most).map(shown_path).collect()
    }

    /// Whether a file is at this path of the checkout at `top`, and not in the tree. One behind a link is not in the checkout.
    #[must_use]
    pub fn leaves_out(&self, top: &Path, path: &str) -> bool {
        if self.has(path.as_bytes()) {
            return false;
        }
        let at = top.join(path);
        at.symlink_metadata().is_ok_and(|meta| !meta.is_dir())
            && at.parent().is_some_and(|dir| dir.canonicalize().is_ok_and(|end| end == dir))
    }

    fn leads_out(&self, top: &Path, path: &[u8]) -> bool {
        let link = top.join(OsStr::from_bytes(path));
        if let Ok(end) = link.canonicalize() {
            return end.strip_prefix(top).ok().is_none_or(|within| !self.has(within.as_os_str().as_bytes()));
        }
        let (Ok(target), Some(dir)) = (link.read_link(), link.parent()) else { return false };
        let target = without_dots(&dir.join(target));
        let Ok(within) = target.strip_prefix(top) else { return true };
        // A link that leads nowhere, and is ignored. What appears later within the tree changes the digest then.
        target.symlink_metadata().is_ok() && !self.has(within.as_os_str().as_bytes())
    }
}
