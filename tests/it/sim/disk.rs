//! The file system in memory.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use flowrun::disk::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};

use super::image::{Change, Image, Inode, Kind, Node};
use super::turns::{DEAD, Turns};

/// Where the program thinks it is.
pub const HERE: &str = "/project";
/// Bytes that a disk writes at once.
const BLOCK: usize = 4096;

/// A file system in memory, with a memory of all that happened since it was made.
#[derive(Debug, Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

/// What is to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The process dies before call number `at`.
    Death { at: usize },
    /// Call number `at` fails, and changes nothing.
    Failure { at: usize, errno: Errno },
    /// Call number `at` and all of the same kind after it fail.
    Failures { at: usize, errno: Errno },
    /// Call number `at`, when it is a write, writes only half, and the next write fails with `ENOSPC`.
    ShortWrite { at: usize },
    /// Renames know no flags.
    NoFlags,
}

/// A name: nothing here has one that is not text.
fn text(name: &OsStr) -> &str {
    name.to_str().expect("a name that is not UTF-8")
}

type Hook = Box<dyn FnMut(usize) + Send>;

struct State {
    base: Image,
    live: Image,
    changes: Vec<Change>,
    locks: BTreeMap<Inode, u64>,
    /// The handles that share files.
    shares: Vec<(Inode, u64)>,
    /// Permission bits; a power cut may take those that it likes.
    modes: BTreeMap<Inode, u32>,
    handles: u64,
    next_inode: Inode,
    calls: Vec<&'static str>,
    troubles: Vec<Trouble>,
    dead: bool,
    short: bool,
    between: Option<Hook>,
    turns: Option<Arc<Turns>>,
    /// How many flushes of each file failed.
    failed: BTreeMap<Inode, usize>,
    serial: i64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimDisk with {} changes", self.changes.len())
    }
}

#[derive(Debug)]
struct Handle {
    disk: SimDisk,
    inode: Inode,
    number: u64,
    /// How many failed flushes of the file it knows of.
    seen: AtomicUsize,
}

impl SimDisk {
    /// A disk on which this is stored.
    pub fn holding(base: Image) -> Self {
        static DISKS: AtomicI64 = AtomicI64::new(0);
        let serial = DISKS.fetch_add(1, Ordering::Relaxed);
        let (live, next_inode) = (base.clone(), base.free_inode());
        let (changes, calls, troubles) = (Vec::new(), Vec::new(), Vec::new());
        let (locks, modes, handles, dead, short, between) = (BTreeMap::new(), BTreeMap::new(), 0, false, false, None);
        Self(Arc::new(Mutex::new(State {
            base,
            live,
            changes,
            locks,
            shares: Vec::new(),
            modes,
            handles,
            next_inode,
            calls,
            troubles,
            dead,
            short,
            between,
            turns: None,
            failed: BTreeMap::new(),
            serial,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Lets things go wrong from now on; calls are counted from 1 anew.
    pub fn plan(&self, troubles: &[Trouble]) {
        let mut state = self.state();
        (state.troubles, state.calls, state.dead) = (troubles.to_vec(), Vec::new(), false);
    }

    /// Calls `hook` before every call from now on. Calls that it makes itself are not counted.
    pub fn between(&self, hook: Option<Hook>) {
        self.state().between = hook;
    }

    /// Lets these writers make calls in turns.
    pub fn take_turns(&self, turns: Option<Arc<Turns>>) {
        self.state().turns = turns;
    }

    /// The names of the calls since the last plan.
    pub fn calls(&self) -> Vec<&'static str> {
        self.state().calls.clone()
    }

    /// Whether the process died.
    pub fn died(&self) -> bool {
        self.state().dead
    }

    /// What the caller was told is a change like others: it comes after what was done before.
    pub fn acknowledge(&self) {
        self.state().changes.push(Change::Acknowledged);
    }

    /// What was stored when this disk was made, and all that changed since.
    pub fn history(&self) -> (Image, Vec<Change>) {
        let state = self.state();
        (state.base.clone(), state.changes.clone())
    }

    /// What running programs see.
    pub fn live(&self) -> Image {
        self.state().live.clone()
    }

    /// Ends the process: the next one starts with what was written. Locks went with the handles.
    pub fn end_process(&self) {
        let mut state = self.state();
        (state.troubles, state.dead, state.short) = (Vec::new(), false, false);
    }

    fn handle(&self, state: &mut State, inode: Inode) -> Handle {
        state.handles += 1;
        let seen = AtomicUsize::new(state.failed.get(&inode).copied().unwrap_or_default());
        Handle { disk: self.clone(), inode, number: state.handles, seen }
    }

    /// What a path leads to.
    fn find(state: &State, path: &Path) -> Answer<(Inode, Kind)> {
        let below = path.strip_prefix(HERE).map_err(|_| Errno::NOENT)?;
        state.live.walk(below).ok_or(Errno::NOENT)
    }

    fn open_in(&self, state: &mut State, dir: Inode, name: &str, how: Open) -> Answer<Arc<dyn DiskFile>> {
        let inode = match (state.live.find(dir, name), how) {
            (Some(_), Open::New { .. }) => return Err(Errno::EXIST),
            (Some((inode, Kind::File)), _) | (Some((inode, Kind::Dir)), Open::Read) => inode,
            (Some((_, Kind::Dir)), _) => return Err(Errno::ISDIR),
            (None, Open::Read) => return Err(Errno::NOENT),
            (None, Open::Write { mode } | Open::Append { mode } | Open::New { mode }) => {
                let inode = state.next_inode;
                state.next_inode += 1;
                state.modes.insert(inode, mode & !0o022);
                state.change(Change::Name { at: (dir, name.to_owned()), to: Some((inode, Kind::File)) });
                inode
            }
        };
        Ok(Arc::new(self.handle(state, inode)))
    }

    /// Counts a call, and lets it fail when it shall.
    fn call(&self, name: &'static str) -> Answer<MutexGuard<'_, State>> {
        let mut state = self.state();
        if let Some(turns) = state.turns.clone() {
            drop(state);
            turns.wait(name)?;
            state = self.state();
        }
        if let Some(mut hook) = state.between.take() {
            let at = state.calls.len() + 1;
            drop(state);
            hook(at);
            state = self.state();
            state.between = Some(hook);
            // What the hook did is not this process's.
            state.calls.truncate(at - 1);
        }
        state.calls.push(name);
        let at = state.calls.len();
        for trouble in state.troubles.clone() {
            match trouble {
                Trouble::Death { at: when } if when == at => state.dead = true,
                Trouble::Failure { at: when, errno } if when == at => return Err(errno),
                Trouble::Failures { at: when, errno } if when <= at && state.calls[when - 1] == name => {
                    return Err(errno);
                }
                _ => {}
            }
        }
        if state.dead { Err(Errno::IO) } else { Ok(state) }
    }
}

impl State {
    fn change(&mut self, change: Change) {
        self.live.apply(&change);
        self.changes.push(change);
    }

    fn write(&mut self, file: Inode, offset: usize, bytes: &[u8]) -> Answer<usize> {
        if self.short {
            return Err(Errno::NOSPC);
        }
        let at = self.calls.len();
        self.short = self.troubles.contains(&Trouble::ShortWrite { at });
        let bytes = if self.short { &bytes[..bytes.len() / 2] } else { bytes };
        let end = offset + bytes.len();
        if self.len(file) < end {
            self.change(Change::Len { file, len: end });
        }
        let mut from = offset;
        while from < end {
            let until = end.min((from / BLOCK + 1) * BLOCK);
            let bytes = bytes[from - offset..until - offset].to_vec();
            self.change(Change::Data { file, offset: from, bytes });
            from = until;
        }
        Ok(bytes.len())
    }

    fn len(&self, file: Inode) -> usize {
        match self.live.node(file) {
            Some(Node::File(bytes)) => bytes.len(),
            _ => 0,
        }
    }

    fn stat(&self, (inode, kind): (Inode, Kind)) -> Stat {
        let (kind, mode) = match kind {
            Kind::Dir => (FileType::Directory, 0o755),
            Kind::File => (FileType::RegularFile, self.modes.get(&inode).copied().unwrap_or(0o644)),
        };
        let (owner, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // Whatever was remembered of the clock before a power cut does not fit.
        let changed = (self.serial, i64::try_from(self.changes.len()).unwrap());
        Stat { kind, mode, owner, group, links: 1, device: 1, inode, len: self.len(inode) as u64, changed }
    }

    fn unlock(&mut self, handle: &Handle) {
        self.shares.retain(|(_, number)| *number != handle.number);
        if self.locks.get(&handle.inode) == Some(&handle.number) {
            self.locks.remove(&handle.inode);
        }
    }
}

impl Handle {
    fn try_lock(&self) -> Answer<()> {
        loop {
            let mut state = self.disk.call("lock")?;
            match state.locks.get(&self.inode) {
                Some(&holder) if holder != self.number && Turns::is_one() => {}
                Some(&holder) if holder != self.number => return Err(Errno::WOULDBLOCK),
                _ => {
                    state.locks.insert(self.inode, self.number);
                    return Ok(());
                }
            }
        }
    }

    fn try_share(&self) -> Answer<()> {
        let mut state = self.disk.call("share")?;
        match state.locks.get(&self.inode) {
            Some(&holder) if holder != self.number => Err(Errno::WOULDBLOCK),
            _ => {
                state.locks.remove(&self.inode);
                state.shares.push((self.inode, self.number));
                Ok(())
            }
        }
    }

    fn flush(&self, name: &'static str) -> Answer<()> {
        match self.disk.call(name) {
            Ok(mut state) => {
                state.changes.push(Change::Flushed(self.inode));
                // Linux tells everyone who had the file open when a flush failed, each once.
                let failed = state.failed.get(&self.inode).copied().unwrap_or_default();
                if self.seen.swap(failed, Ordering::Relaxed) < failed {
                    return Err(Errno::IO);
                }
            }
            Err(errno) => {
                let mut state = self.disk.state();
                // What a dead process would have flushed was not tried, and a later flush saves it.
                if !state.dead && errno != DEAD {
                    let failed = state.failed.entry(self.inode).or_default();
                    *failed += 1;
                    self.seen.store(*failed, Ordering::Relaxed);
                    state.changes.push(Change::FlushFailed(self.inode));
                }
                return Err(errno);
            }
        }
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let disk = self.disk.clone();
        disk.state().unlock(self);
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path) -> Answer<Arc<dyn DiskDir>> {
        let mut state = self.call("open")?;
        match Self::find(&state, path)? {
            (inode, Kind::Dir) => Ok(Arc::new(self.handle(&mut state, inode))),
            (_, Kind::File) => Err(Errno::NOTDIR),
        }
    }

    fn look(&self, path: &Path, _links: Links) -> Answer<Stat> {
        let state = self.call("look")?;
        Self::find(&state, path).map(|node| state.stat(node))
    }

    fn open_file(&self, path: &Path, how: Open, _links: Links) -> Answer<Arc<dyn DiskFile>> {
        let mut state = self.call("open")?;
        let (dir, _) = Self::find(&state, path.parent().ok_or(Errno::ISDIR)?)?;
        self.open_in(&mut state, dir, text(path.file_name().ok_or(Errno::ISDIR)?), how)
    }

    fn canonical(&self, path: &Path) -> Answer<PathBuf> {
        let state = self.call("look")?;
        Self::find(&state, path).map(|_| path.components().collect())
    }

    fn walk(&self, root: &Path, skip: &OsStr) -> Answer<Vec<(PathBuf, FileType)>> {
        let state = self.call("names")?;
        let mut found = Vec::new();
        let mut waiting = vec![(root.to_owned(), Self::find(&state, root)?)];
        while let Some((path, node)) = waiting.pop() {
            if path.file_name() != Some(skip) {
                found.push((path.clone(), state.stat(node).kind));
                let below = state.live.names(node.0).into_iter().flatten().rev();
                waiting.extend(below.map(|(name, _)| (path.join(name), state.live.find(node.0, name).unwrap())));
            }
        }
        Ok(found)
    }

    fn may_write(&self, _path: &Path) -> bool {
        true
    }
}

impl DiskDir for Handle {
    fn stat(&self) -> Answer<Stat> {
        Ok(self.disk.call("stat")?.stat((self.inode, Kind::Dir)))
    }

    fn look(&self, name: &OsStr) -> Answer<Stat> {
        let state = self.disk.call("look")?;
        state.live.find(self.inode, text(name)).map(|node| state.stat(node)).ok_or(Errno::NOENT)
    }

    fn open_dir(&self, name: &OsStr) -> Answer<Arc<dyn DiskDir>> {
        let mut state = self.disk.call("open")?;
        let found = if name == "." { Some((self.inode, Kind::Dir)) } else { state.live.find(self.inode, text(name)) };
        match found {
            Some((inode, Kind::Dir)) => Ok(Arc::new(self.disk.handle(&mut state, inode))),
            Some(_) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }

    fn open_file(&self, name: &OsStr, how: Open) -> Answer<Arc<dyn DiskFile>> {
        let mut state = self.disk.call("open")?;
        self.disk.open_in(&mut state, self.inode, text(name), how)
    }

    fn make_dir(&self, name: &OsStr, _mode: u32) -> Answer<()> {
        let mut state = self.disk.call("make_dir")?;
        if state.live.find(self.inode, text(name)).is_some() {
            return Err(Errno::EXIST);
        }
        let inode = state.next_inode;
        state.next_inode += 1;
        state.change(Change::Name { at: (self.inode, text(name).to_owned()), to: Some((inode, Kind::Dir)) });
        Ok(())
    }

    fn rename(&self, from: &OsStr, into: &dyn DiskDir, to: &OsStr, how: Rename) -> Answer<()> {
        let mut state = self.disk.call("rename")?;
        let into = into.as_any().downcast_ref::<Self>().ok_or(Errno::XDEV)?;
        let node = state.live.find(self.inode, text(from)).ok_or(Errno::NOENT)?;
        let there = state.live.find(into.inode, text(to));
        let (from, to) = ((self.inode, text(from).to_owned()), (into.inode, text(to).to_owned()));
        if how != Rename::Replace && state.troubles.contains(&Trouble::NoFlags) {
            return Err(Errno::INVAL);
        }
        match (how, there) {
            (Rename::NoReplace, Some(_)) => return Err(Errno::EXIST),
            (Rename::Exchange, None) => return Err(Errno::NOENT),
            (Rename::Exchange, Some(other)) => state.change(Change::Swap { one: (from, other), other: (to, node) }),
            _ => state.change(Change::Move { from, to, node }),
        }
        Ok(())
    }

    fn remove(&self, name: &OsStr) -> Answer<()> {
        let mut state = self.disk.call("remove")?;
        match state.live.find(self.inode, text(name)) {
            None => Err(Errno::NOENT),
            Some((_, Kind::Dir)) => Err(Errno::ISDIR),
            Some((_, Kind::File)) => {
                state.change(Change::Name { at: (self.inode, text(name).to_owned()), to: None });
                Ok(())
            }
        }
    }

    fn give(&self, _: &OsStr, _: u32, _: u32) -> Answer<()> {
        Ok(())
    }

    fn remove_dir(&self, name: &OsStr) -> Answer<()> {
        let mut state = self.disk.call("remove_dir")?;
        match state.live.find(self.inode, text(name)) {
            None => Err(Errno::NOENT),
            Some((inode, _)) if state.live.names(inode).is_some_and(|names| !names.is_empty()) => Err(Errno::NOTEMPTY),
            Some((_, Kind::File)) => Err(Errno::NOTDIR),
            Some((_, Kind::Dir)) => {
                state.change(Change::Name { at: (self.inode, text(name).to_owned()), to: None });
                Ok(())
            }
        }
    }

    fn names(&self) -> Answer<Vec<OsString>> {
        let state = self.disk.call("names")?;
        Ok(state.live.names(self.inode).into_iter().flatten().map(|(name, _)| name.into()).collect())
    }

    fn sync(&self) -> Answer<()> {
        self.flush("sync_all")
    }

    fn lock(&self, _wait: Wait) -> Answer<()> {
        self.try_lock()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DiskFile for Handle {
    fn stat(&self) -> Answer<Stat> {
        let state = self.disk.call("stat")?;
        let kind = if state.live.names(self.inode).is_some() { Kind::Dir } else { Kind::File };
        let linked = state.live.has_name(self.inode);
        Ok(Stat { links: linked.into(), ..state.stat((self.inode, kind)) })
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Answer<usize> {
        let state = self.disk.call("read")?;
        let Some(Node::File(bytes)) = state.live.node(self.inode) else { return Err(Errno::ISDIR) };
        let rest = bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn append(&self, bytes: &[u8]) -> Answer<usize> {
        let mut state = self.disk.call("write")?;
        let end = state.len(self.inode);
        state.write(self.inode, end, bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Answer<usize> {
        self.disk.call("write")?.write(self.inode, usize::try_from(offset).unwrap(), bytes)
    }

    fn set_len(&self, len: u64) -> Answer<()> {
        let len = usize::try_from(len).unwrap();
        self.disk.call("set_len")?.change(Change::Len { file: self.inode, len });
        Ok(())
    }

    fn set_mode(&self, mode: u32) -> Answer<()> {
        self.disk.call("set_mode")?.modes.insert(self.inode, mode);
        Ok(())
    }

    fn set_owner(&self, _user: Option<u32>, _group: Option<u32>) -> Answer<()> {
        self.disk.call("set_owner").map(drop)
    }

    fn sync_data(&self) -> Answer<()> {
        self.flush("sync_data")
    }

    fn sync_all(&self) -> Answer<()> {
        self.flush("sync_all")
    }

    fn lock(&self, _wait: Wait) -> Answer<()> {
        self.try_lock()
    }

    fn share(&self) -> Answer<()> {
        self.try_share()
    }

    fn is_held(&self) -> Answer<bool> {
        let state = self.disk.call("is_held")?;
        let is_shared = state.shares.iter().any(|(inode, handle)| *inode == self.inode && *handle != self.number);
        Ok(is_shared || state.locks.get(&self.inode).is_some_and(|holder| *holder != self.number))
    }
}
