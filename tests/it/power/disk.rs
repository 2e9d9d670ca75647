//! A file system on paper: inodes, and the operations that make one state of it from another.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// Which file or directory, whatever its name is at the moment.
pub type Ino = usize;
/// The directory that the program works in.
pub const ROOT: Ino = 0;

/// A directory and a name in it.
pub type Entry = (Ino, Rc<str>);

/// A file or a directory.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Its entries.
    Dir(BTreeMap<Rc<str>, Ino>),
    /// Its bytes.
    File(Vec<u8>),
}

/// All inodes, also those that no name leads to yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk(pub Vec<Node>);

/// One change of a file system that happens wholly or not at all, or a point in time.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A new file or directory gets its name.
    Enter(Entry, Ino),
    /// A name goes away.
    Leave(Entry),
    /// A file or directory changes its name, maybe onto that of another.
    Rename(Entry, Entry, Ino),
    /// Two files change places: the first name leads to the second file, the second to the first.
    Exchange(Entry, Entry, Ino, Ino),
    /// A file gets longer or shorter.
    Size(Ino, usize),
    /// Bytes within one block of a file.
    Data(Ino, usize, Rc<[u8]>),
    /// Everything about the file or directory is on stable storage from here on.
    Sync(Ino),
    /// The program said something: what it did is acknowledged.
    Said,
    /// The next command begins.
    Begin,
}

impl Operation {
    /// Whether it is about names.
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Enter(..) | Self::Leave(_) | Self::Rename(..) | Self::Exchange(..))
    }

    /// The file whose bytes it changes.
    pub fn file(&self) -> Option<Ino> {
        match self {
            Self::Size(ino, _) | Self::Data(ino, ..) => Some(*ino),
            _ => None,
        }
    }

    /// Whether `sync` of this inode, once it is over, keeps the operation from being lost.
    pub fn forced_by(&self, sync: Ino) -> bool {
        match self {
            Self::Enter((dir, _), _) | Self::Leave((dir, _)) => *dir == sync,
            Self::Rename((from, _), (to, _), _) | Self::Exchange((from, _), (to, _), ..) => {
                *from == sync || *to == sync
            }
            Self::Size(ino, _) | Self::Data(ino, ..) => *ino == sync,
            Self::Sync(_) | Self::Said | Self::Begin => false,
        }
    }
}

impl Disk {
    /// What is below `root` now, without `.git`.
    pub fn of(root: &Path) -> Self {
        let mut disk = Self(Vec::new());
        disk.load(root);
        let Node::Dir(entries) = &mut disk.0[ROOT] else { unreachable!("the root is a directory") };
        entries.remove(".git");
        disk
    }

    fn load(&mut self, path: &Path) -> Ino {
        let ino = self.0.len();
        if !path.is_dir() {
            self.0.push(Node::File(std::fs::read(path).unwrap()));
            return ino;
        }
        self.0.push(Node::Dir(BTreeMap::new()));
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let own = |name: &std::ffi::OsString| ino != ROOT || name != ".git";
        for name in names.into_iter().filter(own) {
            let child = self.load(&path.join(&name));
            self.dir(ino).insert(name.into_string().unwrap().into(), child);
        }
        ino
    }

    /// The entries of a directory.
    pub fn dir(&mut self, ino: Ino) -> &mut BTreeMap<Rc<str>, Ino> {
        match &mut self.0[ino] {
            Node::Dir(entries) => entries,
            Node::File(_) => panic!("inode {ino} is no directory"),
        }
    }

    /// The bytes of a file.
    pub fn file(&mut self, ino: Ino) -> &mut Vec<u8> {
        match &mut self.0[ino] {
            Node::File(bytes) => bytes,
            Node::Dir(_) => panic!("inode {ino} is no file"),
        }
    }

    /// Makes the operation happen. Others that it builds on may never have happened: a name simply leads where the
    /// operation says.
    pub fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Enter((dir, name), ino) => drop(self.dir(*dir).insert(name.clone(), *ino)),
            Operation::Leave((dir, name)) => drop(self.dir(*dir).remove(name)),
            Operation::Rename((from, old), (to, new), ino) => {
                if self.dir(*from).get(old) == Some(ino) {
                    self.dir(*from).remove(old);
                }
                self.dir(*to).insert(new.clone(), *ino);
            }
            Operation::Exchange((a, first), (b, second), ino_a, ino_b) => {
                self.dir(*a).insert(first.clone(), *ino_b);
                self.dir(*b).insert(second.clone(), *ino_a);
            }
            Operation::Size(ino, len) => self.file(*ino).resize(*len, 0),
            Operation::Data(ino, at, bytes) => write(self.file(*ino), *at, bytes),
            Operation::Sync(_) | Operation::Said | Operation::Begin => {}
        }
    }

    /// All that a name leads to: paths with the inode of a file, or none for a directory.
    pub fn listing(&self) -> Vec<(String, Option<Ino>)> {
        let mut found = Vec::new();
        self.walk(ROOT, "", &mut found);
        found
    }

    fn walk(&self, dir: Ino, below: &str, found: &mut Vec<(String, Option<Ino>)>) {
        let Node::Dir(entries) = &self.0[dir] else { return };
        for (name, &ino) in entries {
            let path = if below.is_empty() { name.to_string() } else { format!("{below}/{name}") };
            let is_file = matches!(self.0[ino], Node::File(_));
            found.push((path.clone(), is_file.then_some(ino)));
            self.walk(ino, &path, found);
        }
    }

    /// Paths and contents, for comparing two disks whose inodes have different numbers.
    pub fn contents(&self) -> BTreeMap<String, Option<&[u8]>> {
        let bytes = |ino: Ino| match &self.0[ino] {
            Node::File(bytes) => bytes.as_slice(),
            Node::Dir(_) => &[],
        };
        self.listing().into_iter().map(|(path, ino)| (path, ino.map(bytes))).collect()
    }
}

/// Bytes that reached the disk although the new length of their file did not are there, but nobody sees them: the caller
/// gives back the length.
fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if file.len() < at + bytes.len() {
        file.resize(at + bytes.len(), 0);
    }
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A file's bytes after some of the operations on it. A length that was lost hides what lies behind it.
pub fn bytes_after<'a>(base: &[u8], operations: impl Iterator<Item = &'a Operation>) -> Vec<u8> {
    let mut bytes = base.to_vec();
    let mut len = base.len();
    for operation in operations {
        match operation {
            Operation::Size(_, size) => {
                len = *size;
                bytes.resize(len, 0);
            }
            Operation::Data(_, at, new) => write(&mut bytes, *at, new),
            other => panic!("{other:?} changes no bytes"),
        }
    }
    bytes.truncate(len);
    bytes
}

/// Operations with the names that the inodes had, for messages.
pub struct Named<'a> {
    operation: &'a Operation,
    names: &'a [String],
}

impl<'a> Named<'a> {
    /// `names` by inode.
    pub fn new(operation: &'a Operation, names: &'a [String]) -> Self {
        Self { operation, names }
    }

    fn entry(&self, (dir, name): &Entry) -> String {
        match self.names[*dir].as_str() {
            "" => name.to_string(),
            dir => format!("{dir}/{name}"),
        }
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Operation::Enter(entry, _) => write!(f, "create {}", self.entry(entry)),
            Operation::Leave(entry) => write!(f, "remove {}", self.entry(entry)),
            Operation::Rename(from, to, _) => write!(f, "rename {} to {}", self.entry(from), self.entry(to)),
            Operation::Exchange(a, b, ..) => write!(f, "exchange {} and {}", self.entry(a), self.entry(b)),
            Operation::Size(ino, len) => write!(f, "{} is {len} bytes long", self.names[*ino]),
            Operation::Data(ino, at, bytes) => {
                write!(f, "bytes {at} to {} of {}", at + bytes.len(), self.names[*ino])
            }
            Operation::Sync(ino) => write!(f, "flush {}", self.names[*ino]),
            Operation::Said => f.write_str("acknowledge"),
            Operation::Begin => f.write_str("begin a command"),
        }
    }
}
