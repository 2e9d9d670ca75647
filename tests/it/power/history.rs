//! From system calls to operations: which inode each call changed, and how.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Entry, Ino, Named, Node, Operation, ROOT};
use super::trace::Call;

/// What one or more commands did to a directory.
#[derive(Debug, Clone)]
pub struct History {
    /// The directory before them. Inodes that they made are there, empty and without a name.
    pub base: Disk,
    /// What they did, in order.
    pub operations: Vec<Operation>,
    /// The path at which each inode first appeared, for messages.
    pub names: Vec<String>,
    /// The directory after them.
    live: Disk,
    /// Data is lost and kept in pieces of so many bytes.
    block: usize,
    root: PathBuf,
}

/// What a descriptor leads to.
#[derive(Debug, Clone)]
struct Open {
    ino: Ino,
    at: usize,
    append: bool,
}

impl History {
    /// Begins with the files that are in `root` now. They count as being on stable storage.
    pub fn begin(root: &Path, block: usize) -> Self {
        let base = Disk::of(root);
        let mut names = vec![String::new(); base.0.len()];
        name_all(&base, ROOT, "", &mut names);
        let root = root.canonicalize().unwrap();
        Self { live: base.clone(), base, operations: Vec::new(), names, block, root }
    }

    /// The same commands, killed before operation `until`. They go on in the files of another root.
    pub fn killed(&self, until: usize, root: &Path) -> Self {
        let operations = self.operations[..until].to_vec();
        let mut live = self.base.clone();
        operations.iter().for_each(|operation| live.apply(operation));
        Self { operations, live, root: root.canonicalize().unwrap(), ..self.clone() }
    }

    /// Adds what the next command did.
    ///
    /// # Panics
    /// When a call is not understood: a state that was left out would be a promise that was not checked.
    pub fn add(&mut self, calls: &[Call]) {
        self.operations.push(Operation::Begin);
        self.go_on(calls);
    }

    /// Adds what a command did that makes good what a killed one began: to whoever waits for the answer both are one.
    pub fn go_on(&mut self, calls: &[Call]) {
        // Descriptors belong to one process.
        let mut open = BTreeMap::new();
        for call in calls {
            self.call(call, &mut open);
        }
    }

    /// Compares what the operations come to with what is there.
    #[track_caller]
    pub fn assert_explains(&self, root: &Path) {
        let there = Disk::of(root);
        assert_eq!(self.live.contents(), there.contents(), "the trace does not explain the files that are there");
    }

    /// An operation in words.
    pub fn tell(&self, at: usize) -> String {
        format!("{at} ({})", Named::new(&self.operations[at], &self.names))
    }

    fn call(&mut self, call: &Call, open: &mut BTreeMap<i64, Open>) {
        match call.name.as_str() {
            "open" | "openat" | "creat" | "openat2" => self.open(call, open),
            "close" => drop(call.number(0).and_then(|fd| open.remove(&fd))),
            "read" | "lseek" => {
                if let Some(open) = call.number(0).and_then(|fd| open.get_mut(&fd)) {
                    let result = usize::try_from(call.result).unwrap();
                    open.at = if call.name == "lseek" { result } else { open.at + result };
                }
            }
            "write" if call.number(0) == Some(1) => self.operations.push(Operation::Said),
            "write" | "pwrite64" => self.write(call, open),
            "ftruncate" => {
                if let Some(open) = open.get(&call.number(0).unwrap()) {
                    let len = usize::try_from(call.number(1).unwrap()).unwrap();
                    self.push(Operation::Size(open.ino, len));
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(open) = open.get(&call.number(0).unwrap()) {
                    self.operations.push(Operation::Sync(open.ino));
                }
            }
            "mkdir" | "mkdirat" | "unlink" | "unlinkat" | "rmdir" | "rename" | "renameat" | "renameat2" => {
                self.name(call, open);
            }
            // What git is given to read is made outside of the project.
            "symlink" if self.entry(None, call.path(1), open).is_none() => {}
            // The working directory of the program is the root, and none of its files has two descriptors.
            "mmap" => assert!(!(call.has("MAP_SHARED") && call.has("PROT_WRITE")), "not modelled: {call:?}"),
            "dup" | "dup2" | "dup3" => assert!(!open.contains_key(&call.number(0).unwrap()), "not modelled: {call:?}"),
            _ => panic!("not modelled: {call:?}"),
        }
    }

    /// The entry that a descriptor and a path name; `None` outside the root.
    fn entry(&self, fd: Option<&str>, path: &str, open: &BTreeMap<i64, Open>) -> Option<Entry> {
        let path = Path::new(path);
        let (dir, path) = match fd.and_then(|fd| fd.parse::<i64>().ok()) {
            Some(fd) if path.is_relative() => (open.get(&fd)?.ino, path),
            _ => (ROOT, if path.is_absolute() { path.strip_prefix(&self.root).ok()? } else { path }),
        };
        let mut dir = dir;
        for part in path.parent().into_iter().flatten() {
            match &self.live.0[dir] {
                Node::Dir(entries) => dir = *entries.get(part.to_str()?)?,
                Node::File(_) => return None,
            }
        }
        Some((dir, path.file_name().map_or("", |name| name.to_str().unwrap()).into()))
    }

    fn lookup(&self, (dir, name): &Entry) -> Option<Ino> {
        match &self.live.0[*dir] {
            Node::Dir(entries) if name.is_empty() => entries.get(".").copied().or(Some(*dir)),
            Node::Dir(entries) => entries.get(name).copied(),
            Node::File(_) => None,
        }
    }

    fn open(&mut self, call: &Call, open: &mut BTreeMap<i64, Open>) {
        open.remove(&call.result);
        let fd = call.name.starts_with("openat").then(|| call.args[0].clone());
        let Some(entry) = self.entry(fd.as_deref(), call.path(0), open) else { return };
        // `.git` is there, but no part of the model.
        if &*entry.1 == ".git" {
            return;
        }
        let found = self.lookup(&entry);
        let ino = found.unwrap_or_else(|| {
            assert!(call.has("O_CREAT"), "a file that should not be there was opened: {call:?}");
            self.enter(entry, Node::File(Vec::new()))
        });
        if found.is_some() && call.has("O_TRUNC") {
            self.push(Operation::Size(ino, 0));
        }
        open.insert(call.result, Open { ino, at: 0, append: call.has("O_APPEND") });
    }

    fn enter(&mut self, entry: Entry, node: Node) -> Ino {
        let ino = self.base.0.len();
        let dir = &self.names[entry.0];
        self.names.push(if dir.is_empty() { entry.1.to_string() } else { format!("{dir}/{}", entry.1) });
        self.base.0.push(node.clone());
        self.live.0.push(node);
        self.push(Operation::Enter(entry, ino));
        ino
    }

    fn write(&mut self, call: &Call, open: &mut BTreeMap<i64, Open>) {
        let Some(open) = open.get_mut(&call.number(0).unwrap()) else { return };
        let ino = open.ino;
        let written = usize::try_from(call.result).unwrap();
        let len = self.live.file(ino).len();
        let start = match (call.name == "pwrite64", open.append) {
            (true, false) => usize::try_from(call.number(3).unwrap()).unwrap(),
            (_, true) => len,
            (false, false) => open.at,
        };
        if call.name == "write" {
            open.at = start + written;
        }
        if start + written > len {
            self.push(Operation::Size(ino, start + written));
        }
        let mut at = start;
        while at < start + written {
            let end = ((at / self.block + 1) * self.block).min(start + written);
            self.push(Operation::Data(ino, at, call.strings[0][at - start..end - start].into()));
            at = end;
        }
    }

    fn name(&mut self, call: &Call, open: &BTreeMap<i64, Open>) {
        let relative = call.name.contains("at");
        let fd = |at: usize| relative.then(|| call.args[at].as_str());
        let Some(first) = self.entry(fd(0), call.path(0), open) else { return };
        match call.name.as_str() {
            "mkdir" | "mkdirat" => drop(self.enter(first, Node::Dir(BTreeMap::new()))),
            "unlink" | "unlinkat" | "rmdir" => self.push(Operation::Leave(first)),
            _ => {
                let second = self.entry(fd(2), call.path(1), open).expect("renamed out of the project");
                let old = self.lookup(&first).expect("a missing file was renamed");
                if call.has("RENAME_EXCHANGE") {
                    let new = self.lookup(&second).expect("exchanged with a missing file");
                    self.push(Operation::Exchange(first, second, old, new));
                } else {
                    self.push(Operation::Rename(first, second, old));
                }
            }
        }
    }

    fn push(&mut self, operation: Operation) {
        self.live.apply(&operation);
        self.operations.push(operation);
    }
}

fn name_all(disk: &Disk, ino: Ino, path: &str, names: &mut [String]) {
    path.clone_into(&mut names[ino]);
    if let Node::Dir(entries) = &disk.0[ino] {
        for (name, &child) in entries {
            name_all(disk, child, &if path.is_empty() { name.to_string() } else { format!("{path}/{name}") }, names);
        }
    }
}
