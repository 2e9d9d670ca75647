//! The digest of all files of a tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::thread;

use sha2::{Digest as _, Sha256};

use crate::host::git::{IndexedFile, IndexedFiles, TreeFiles};
use crate::host::tree::cache::{KnownFile, KnownFiles, KnownTree, NewCache};
use crate::host::tree::directories::{DirectoriesAbove, DirectoryAbove};
use crate::host::tree::entry::{Content, EntryKind, NESTED, ReadFile, UNREADABLE, look, os};
use crate::host::tree::path::shown_path;
use crate::model::{DiskTime, FileTime, NotCovered, hex};

/// What a digest begins with. Change it with anything that changes the digest of the same files.
const BEGINS: &[u8] = b"flow tree 1\n";
/// From how many files on threads help: starting one takes as long as looking at a few hundred.
const MANY: usize = 2000;
/// How much is digested at a time, in bytes.
const PART: usize = 32 << 10;
/// The most threads.
const THREADS: usize = 8;
/// The name of a file of rules by which git ignores others.
const RULES: &str = ".gitignore";
/// How many hexadecimal digits tell two contents of one path apart.
const SHORT: usize = 16;

/// The files of a checkout, as they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Each path that exists, sorted.
    entries: Vec<(Vec<u8>, Content)>,
    /// When each was last changed, if it was read.
    changed: Vec<Option<FileTime>>,
    /// What each `.gitignore` beside them has that git does not list.
    pub(super) rules: BTreeMap<Vec<u8>, [u8; 32]>,
}

/// What was found of some of the files.
#[derive(Default)]
struct FoundFiles<'l> {
    files: Vec<FoundPath<'l>>,
    /// As in a [`Tree`].
    rules: BTreeMap<Vec<u8>, [u8; 32]>,
}

/// A path with what was found there.
struct FoundPath<'l> {
    path: &'l [u8],
    file: ReadFile,
}

/// Reads the files that git listed. `known` has what the last call gave. `began` is the time of a file that was made right
/// before; without it no more is cached. Also gives the cache for the next call, if it is another one.
#[must_use]
pub fn read_tree(listed: &TreeFiles, known: &KnownTree<'_>, began: Option<DiskTime>) -> (Tree, Option<Vec<u8>>) {
    let known = &known.files;
    let FoundFiles { files: mut found, rules } = look_at_all(listed, known);
    for (paths, why) in [(&listed.nested, NESTED), (&listed.unreadable, UNREADABLE)] {
        for path in paths {
            found.push(FoundPath { path, file: ReadFile::not_covered(why) });
        }
    }
    found.sort_by(|one, other| one.path.cmp(other.path));
    let next = next_cache(&found, known.len(), began);
    let changed = found.iter().map(|found| found.file.stamp.map(|stamp| stamp.changed)).collect();
    let entries = found.into_iter().map(|found| (found.path.to_owned(), found.file.content)).collect();
    (Tree { entries, changed, rules }, next)
}

/// The cache for the next look, if it is another one than that of `known` files.
fn next_cache(found: &[FoundPath<'_>], known: usize, began: Option<DiskTime>) -> Option<Vec<u8>> {
    let mut next = NewCache::new(began);
    let (mut kept, mut added) = (0, 0);
    for FoundPath { file, .. } in found {
        kept += usize::from(file.is_known);
        added += usize::from(!file.is_known && file.stamp.is_some_and(|stamp| next.may_keep(&stamp)));
    }
    // Files that are gone cost a little, until something else is written.
    if added == 0 && kept >= known / 2 {
        return None;
    }
    for FoundPath { path, file } in found {
        if let (Content::Covered(_, digest), Some(stamp)) = (&file.content, &file.stamp)
            && (file.is_known || next.may_keep(stamp))
        {
            next.put(path, stamp, digest);
        }
    }
    Some(next.into_bytes())
}

fn look_at_all<'l>(listed: &'l TreeFiles, known: &[KnownFile<'_>]) -> FoundFiles<'l> {
    let files = &listed.files[..];
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    if files.len() < MANY || threads == 1 {
        return look_at(listed, files, known);
    }
    let part = files.len().div_ceil(threads);
    let mut found = FoundFiles::default();
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        for files in files.chunks(part) {
            let helper = thread::Builder::new().spawn_scoped(scope, || look_at(listed, files, known));
            helpers.push((files, helper));
        }
        for (files, helper) in helpers {
            match helper.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(part)) => found.add(part),
                // No thread could be had, so this one does its work.
                _ => found.add(look_at(listed, files, known)),
            }
        }
    });
    found
}

/// Looks at `files`, which are some of those listed.
fn look_at<'l>(listed: &TreeFiles, files: &'l [Vec<u8>], known: &[KnownFile<'_>]) -> FoundFiles<'l> {
    let mut known = KnownFiles::of(known);
    let mut directories = DirectoriesAbove::of(&listed.top);
    let mut found = FoundFiles { files: Vec::with_capacity(files.len()), rules: BTreeMap::new() };
    // There are rules at the top also where all files are ignored.
    found.note_rules(&mut directories, listed);
    for path in files {
        let known = known.find(path);
        let file = match directories.lead_to(path) {
            DirectoryAbove::Open(dir) => look(dir.as_fd(), name(path), |stamp| known?.digest(stamp)),
            // A file behind a link is not in the tree; git lists the link.
            DirectoryAbove::Gone => None,
            DirectoryAbove::Closed => Some(ReadFile::not_covered(UNREADABLE)),
        };
        if let Some(file) = file {
            found.files.push(FoundPath { path, file });
        }
        found.note_rules(&mut directories, listed);
    }
    found
}

impl<'l> FoundFiles<'l> {
    fn add(&mut self, mut other: FoundFiles<'l>) {
        self.files.append(&mut other.files);
        self.rules.append(&mut other.rules);
    }

    /// Notes what git ignores by files that it does not list, in the directories that were entered.
    fn note_rules(&mut self, directories: &mut DirectoriesAbove, listed: &TreeFiles) {
        for (within, dir) in directories.entered() {
            let mut path = within.to_owned();
            if !within.is_empty() {
                path.push(b'/');
            }
            path.extend(RULES.as_bytes());
            if listed.files.binary_search(&path).is_ok() {
                continue;
            }
            if let Some(ReadFile { content: Content::Covered(_, digest), stamp: Some(stamp), .. }) =
                look(dir.as_fd(), OsStr::new(RULES), |_| None)
                && stamp.len > 0
            {
                self.rules.insert(path, digest);
            }
        }
    }
}

/// Whether git sees an edit of a file by its change time and that in the index, which has the last 32 bits of its second.
fn is_seen(changed: FileTime, known: (u32, u32)) -> bool {
    let is_same_second = changed.0 & i64::from(u32::MAX) == i64::from(known.0);
    !is_same_second || changed.1 == i64::from(known.1)
}

/// The last part of a path.
fn name(path: &[u8]) -> &OsStr {
    os(&path[memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)..])
}

impl Tree {
    /// The digest: SHA-256 over the kind, the path and the digest of the bytes of each file, in the order of the paths.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        // Many small parts take longer than one of the same length.
        let mut part = BEGINS.to_vec();
        for (path, content) in &self.entries {
            part.extend((path.len() as u64).to_le_bytes());
            part.extend(path);
            match content {
                Content::Covered(kind, bytes) => {
                    part.push(kind.byte());
                    part.extend(bytes);
                }
                Content::NotCovered(why) => {
                    part.push(b'?');
                    part.extend(Sha256::digest(why));
                }
            }
            if part.len() >= PART {
                digest.update(&part);
                part.clear();
            }
        }
        digest.update(&part);
        hex(&digest.finalize())
    }

    /// How many files it covers.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.entries.iter().filter(|(_, content)| matches!(content, Content::Covered(..))).count() as u64
    }

    /// What it does not cover.
    #[must_use]
    pub fn not_covered(&self) -> Vec<NotCovered> {
        let mut paths = Vec::new();
        for (path, content) in &self.entries {
            if let Content::NotCovered(why) = content {
                paths.push(NotCovered { path: shown_path(path), why: (*why).to_owned() });
            }
        }
        paths
    }

    /// The paths of its links.
    pub(super) fn links(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter_map(|(path, content)| match content {
            Content::Covered(EntryKind::Link, _) => Some(path.as_slice()),
            _ => None,
        })
    }

    /// Whether `path`, or something in it, is in the tree; all of it if `path` is empty.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        let within = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
        let from = self.entries.partition_point(|(known, _)| *known < within);
        self.entries.get(from).is_some_and(|(known, _)| known.starts_with(&within))
            || self.entries.binary_search_by(|(known, _)| known.as_slice().cmp(path)).is_ok()
    }

    /// The files in an index whose edits git may not have seen, by [their times](crate::host::git::IndexedFiles).
    #[must_use]
    pub fn edited_unseen<'i>(&self, index: &'i IndexedFiles) -> Vec<IndexedFile<'i>> {
        let mut unseen = Vec::new();
        for file in index.files() {
            let whole = index.whole(file.path);
            let at = self.entries.binary_search_by(|(known, _)| known.cmp(&whole));
            let changed = at.ok().and_then(|at| self.changed[at]);
            if !changed.zip(file.changed).is_some_and(|(changed, known)| is_seen(changed, known)) {
                unseen.push(file);
            }
        }
        unseen
    }

    /// What tells the content of `path`, a file or a directory, from another one; empty if nothing is there.
    #[must_use]
    pub fn mark(&self, path: impl AsRef<[u8]>) -> String {
        let path = path.as_ref();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        match self.entries.binary_search_by(|(known, _)| known.as_slice().cmp(path)) {
            Ok(at) => mark(&self.entries[at].1),
            Err(_) => self.mark_of_directory(&[path, b"/"].concat()),
        }
    }

    /// As [`Self::mark`], of a submodule; `within` ends with a slash.
    fn mark_of_directory(&self, within: &[u8]) -> String {
        let from = self.entries.partition_point(|(known, _)| known.as_slice() < within);
        let inside: Vec<_> = self.entries[from..].iter().take_while(|(known, _)| known.starts_with(within)).collect();
        if inside.is_empty() {
            return String::new();
        }
        let mut digest = Sha256::new();
        for (path, content) in inside {
            digest.update(path);
            digest.update(mark(content));
        }
        format!("d{}", &hex(&digest.finalize())[..SHORT])
    }

    /// The paths whose content differs in `other`.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (mut one, mut two) = (self.entries.as_slice(), other.entries.as_slice());
        let mut paths = Vec::new();
        loop {
            let path = match (one.first(), two.first()) {
                (Some((path, _)), Some((other, _))) => path.min(other),
                (Some((path, _)), None) | (None, Some((path, _))) => path,
                (None, None) => return paths,
            };
            let (here, there) = (take(&mut one, path), take(&mut two, path));
            if here != there {
                paths.push(shown_path(path));
            }
        }
    }
}

/// Takes the first entry if it is that of `path`.
fn take(entries: &mut &[(Vec<u8>, Content)], path: &[u8]) -> Option<Content> {
    let ((first, content), rest) = entries.split_first()?;
    if first != path {
        return None;
    }
    *entries = rest;
    Some(*content)
}

fn mark(content: &Content) -> String {
    match content {
        Content::Covered(kind, digest) => format!("{}{}", char::from(kind.byte()), &hex(digest)[..SHORT]),
        Content::NotCovered(_) => "?".to_owned(),
    }
}
