//! The directories on the way to the files of a tree.
//!
//! Each is opened in the one above it. So no link leads out of the tree, and for each file the system looks up one name and not
//! a whole path.

use std::iter::once;
use std::mem::replace;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use crate::host::tree::entry::os;

/// For a directory that is passed through: it need not be readable.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A directory in which a file is looked up.
pub(super) enum DirectoryAbove {
    Open(OwnedFd),
    /// It or one above it is missing, or a link, or no directory.
    Gone,
    /// It cannot be entered.
    Closed,
}

/// The directories on the way to the last path that was asked for.
pub(super) struct DirectoriesAbove {
    top: DirectoryAbove,
    below: Vec<(Vec<u8>, DirectoryAbove)>,
    /// How many of them, from the top, [were given](Self::entered).
    given: usize,
}

impl DirectoriesAbove {
    pub(super) fn of(top: &Path) -> Self {
        Self { top: opened(open(top, PASSED, Mode::empty())), below: Vec::new(), given: 0 }
    }

    /// The directory of the file at `path`. Paths that are sorted open each directory once.
    pub(super) fn lead_to(&mut self, path: &[u8]) -> &DirectoryAbove {
        while let Some((dir, _)) = self.below.last() {
            if path.starts_with(dir) && path.get(dir.len()) == Some(&b'/') {
                break;
            }
            self.below.pop();
            self.given = self.given.min(self.below.len() + 1);
        }
        let mut from = self.below.last().map_or(0, |(dir, _)| dir.len() + 1);
        while let Some(len) = memchr::memchr(b'/', &path[from..]) {
            let next = match self.last() {
                DirectoryAbove::Open(above) => {
                    opened(openat(above, os(&path[from..from + len]), PASSED | OFlags::NOFOLLOW, Mode::empty()))
                }
                DirectoryAbove::Gone => DirectoryAbove::Gone,
                DirectoryAbove::Closed => DirectoryAbove::Closed,
            };
            self.below.push((path[..from + len].to_owned(), next));
            from += len + 1;
        }
        self.last()
    }

    /// The open directories on the way to the last path that were not given before, from the top on.
    pub(super) fn entered(&mut self) -> impl Iterator<Item = (&[u8], &OwnedFd)> {
        let given = replace(&mut self.given, self.below.len() + 1);
        let all = once((&b""[..], &self.top)).chain(self.below.iter().map(|(path, dir)| (&path[..], dir)));
        all.skip(given).filter_map(|(path, dir)| match dir {
            DirectoryAbove::Open(dir) => Some((path, dir)),
            DirectoryAbove::Gone | DirectoryAbove::Closed => None,
        })
    }

    fn last(&self) -> &DirectoryAbove {
        self.below.last().map_or(&self.top, |(_, last)| last)
    }
}

fn opened(answer: Result<OwnedFd, Errno>) -> DirectoryAbove {
    match answer {
        Ok(dir) => DirectoryAbove::Open(dir),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => DirectoryAbove::Gone,
        Err(_) => DirectoryAbove::Closed,
    }
}
