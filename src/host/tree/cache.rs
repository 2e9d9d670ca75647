//! The cache of digests by stamps. It is never flushed and may be deleted.
//!
//! An entry is kept only if the file's change time is older than the moment at which this look at the tree began, both told
//! by the file system. Otherwise a later edit within the same tick of its clock would keep the stamp. The change time is set
//! by the kernel alone, so the same length and the same modification time hide no edit.

use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use crate::host::tree::entry::{EntryKind, FileStamp};
use crate::model::DiskTime;

/// What a cache begins with. Change it with the format.
pub(crate) const BEGINS: &[u8] = b"flow tree 1\n";
/// The length of the digest at its end, which shows that it is whole.
const SUM: usize = 8;
/// The length of an entry without its path.
const FIXED: usize = 4 + 1 + 8 * 7 + 32;

/// A file in the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownFile<'c> {
    path: &'c [u8],
    stamp: FileStamp,
    digest: [u8; 32],
}

/// What is known of the files of a tree from the last look at them, sorted by their paths.
#[derive(Debug, Default)]
pub struct KnownTree<'c> {
    pub(super) files: Vec<KnownFile<'c>>,
}

impl<'c> KnownTree<'c> {
    /// What the last call of [`read_tree`](super::read_tree) gave as cache; nothing if it is damaged.
    #[must_use]
    pub fn of(cache: &'c [u8]) -> Self {
        let Some(mut rest) = whole(cache) else { return Self::default() };
        let mut files = Vec::with_capacity(rest.len() / (FIXED + 40));
        while !rest.is_empty() {
            let Some((file, behind)) = parse_one(rest) else { return Self::default() };
            files.push(file);
            rest = behind;
        }
        Self { files }
    }
}

/// The files in the cache, and how far a reader that asks for sorted paths has come.
#[derive(Debug, Clone)]
pub(super) struct KnownFiles<'c> {
    files: &'c [KnownFile<'c>],
}

impl<'c> KnownFiles<'c> {
    pub(super) fn of(files: &'c [KnownFile<'c>]) -> Self {
        Self { files }
    }

    /// Goes on to `path`, which comes behind all that were asked for before. Gives what is known of it.
    pub(super) fn find(&mut self, path: &[u8]) -> Option<&'c KnownFile<'c>> {
        while let [first, rest @ ..] = self.files {
            match first.path.cmp(path) {
                Ordering::Less => self.files = rest,
                Ordering::Equal => return Some(first),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

impl KnownFile<'_> {
    /// The digest, if the file still has the stamp.
    pub(super) fn digest(&self, stamp: &FileStamp) -> Option<[u8; 32]> {
        (self.stamp == *stamp).then_some(self.digest)
    }
}

fn whole(cache: &[u8]) -> Option<&[u8]> {
    let (text, sum) = cache.split_at_checked(cache.len().checked_sub(SUM)?)?;
    let body = text.strip_prefix(BEGINS)?;
    (Sha256::digest(text)[..SUM] == *sum).then_some(body)
}

fn parse_one(bytes: &[u8]) -> Option<(KnownFile<'_>, &[u8])> {
    let (fixed, rest) = bytes.split_at_checked(FIXED)?;
    let len = u32::from_le_bytes(fixed[..4].try_into().ok()?);
    let mut numbers = [0; 7];
    for (number, at) in numbers.iter_mut().zip(fixed[5..FIXED - 32].chunks_exact(8)) {
        *number = u64::from_le_bytes(at.try_into().ok()?);
    }
    let [device, inode, len_of_file, modified, modified_nanos, changed, changed_nanos] = numbers;
    let stamp = FileStamp {
        kind: EntryKind::of_byte(fixed[4])?,
        device,
        inode,
        len: len_of_file,
        modified: (modified.cast_signed(), modified_nanos.cast_signed()),
        changed: (changed.cast_signed(), changed_nanos.cast_signed()),
    };
    let (path, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    Some((KnownFile { path, stamp, digest: fixed[FIXED - 32..].try_into().ok()? }, rest))
}

/// A cache that is being made; paths are put in sorted.
pub(super) struct NewCache {
    bytes: Vec<u8>,
    /// When the look at the tree began; without it nothing more is kept.
    began: Option<DiskTime>,
}

impl NewCache {
    pub(super) fn new(began: Option<DiskTime>) -> Self {
        Self { bytes: BEGINS.to_vec(), began }
    }

    /// Whether a later edit of a file that was read with this stamp must show in the stamp.
    pub(super) fn may_keep(&self, stamp: &FileStamp) -> bool {
        let Some(began) = self.began else { return false };
        // Another file system may have another clock.
        stamp.device == began.device && stamp.changed < began.changed
    }

    pub(super) fn put(&mut self, path: &[u8], stamp: &FileStamp, digest: &[u8; 32]) {
        let Ok(len) = u32::try_from(path.len()) else { return };
        self.bytes.extend(len.to_le_bytes());
        self.bytes.push(stamp.kind.byte());
        let (modified, changed) = (stamp.modified, stamp.changed);
        for number in [stamp.device, stamp.inode, stamp.len] {
            self.bytes.extend(number.to_le_bytes());
        }
        for number in [modified.0, modified.1, changed.0, changed.1] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(digest);
        self.bytes.extend(path);
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        let sum = Sha256::digest(&self.bytes);
        self.bytes.extend(&sum[..SUM]);
        self.bytes
    }
}
