//! What is stored, and the single changes to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The number of a file or directory.
pub type Inode = u64;

/// The directory that the program is started in.
pub const ROOT: Inode = 1;

/// A whole file system.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    nodes: BTreeMap<Inode, Node>,
}

/// A file or a directory.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Names and what they lead to.
    Dir(BTreeMap<String, Inode>),
    /// Bytes.
    File(Vec<u8>),
}

/// Whether a node is a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Dir,
    /// A file.
    File,
}

/// A name in a directory.
pub type Entry = (Inode, String);

/// A single change, or a flush.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A name leads to this node from now on, or to nothing.
    Name { at: Entry, to: Option<(Inode, Kind)> },
    /// A node has another name from now on.
    Move { from: Entry, to: Entry, node: (Inode, Kind) },
    /// Two names lead to these nodes from now on.
    Swap { one: (Entry, (Inode, Kind)), other: (Entry, (Inode, Kind)) },
    /// A file has this length.
    Len { file: Inode, len: usize },
    /// A file has these bytes there. They do not cross the border of a block.
    Data { file: Inode, offset: usize, bytes: Vec<u8> },
    /// All changes of this file or of the names in this directory are on stable storage.
    Flushed(Inode),
    /// A flush of this file failed: its changes may be lost, and no later flush brings them back.
    FlushFailed(Inode),
    /// The program told its caller that it is done.
    Acknowledged,
}

/// A tree as a reader finds it: files with their bytes, directories without.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Image {
    /// An empty root.
    pub fn new() -> Self {
        Self { nodes: BTreeMap::from([(ROOT, Node::Dir(BTreeMap::new()))]) }
    }

    /// A number that no node has.
    pub fn free_inode(&self) -> Inode {
        self.nodes.keys().next_back().map_or(ROOT, |last| last + 1)
    }

    /// The node of this number.
    pub fn node(&self, inode: Inode) -> Option<&Node> {
        self.nodes.get(&inode)
    }

    /// The names in a directory; none in a file.
    pub fn names(&self, dir: Inode) -> Option<&BTreeMap<String, Inode>> {
        match self.nodes.get(&dir)? {
            Node::Dir(names) => Some(names),
            Node::File(_) => None,
        }
    }

    /// What a name leads to.
    pub fn find(&self, dir: Inode, name: &str) -> Option<(Inode, Kind)> {
        let inode = *self.names(dir)?.get(name)?;
        Some((inode, self.kind(inode)))
    }

    /// What a path below the root leads to.
    pub fn walk(&self, path: &Path) -> Option<(Inode, Kind)> {
        path.iter().try_fold((ROOT, Kind::Dir), |(dir, _), name| self.find(dir, name.to_str()?))
    }

    /// The bytes of the file at a path.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<&[u8]> {
        match self.nodes.get(&self.walk(path.as_ref())?.0)? {
            Node::File(bytes) => Some(bytes),
            Node::Dir(_) => None,
        }
    }

    /// Whether any name leads to the node.
    pub fn has_name(&self, inode: Inode) -> bool {
        self.nodes.values().any(|node| matches!(node, Node::Dir(names) if names.values().any(|&named| named == inode)))
    }

    fn kind(&self, inode: Inode) -> Kind {
        match self.nodes.get(&inode) {
            Some(Node::Dir(_)) => Kind::Dir,
            _ => Kind::File,
        }
    }

    fn names_mut(&mut self, dir: Inode) -> &mut BTreeMap<String, Inode> {
        match self.nodes.entry(dir).or_insert_with(|| Node::Dir(BTreeMap::new())) {
            Node::Dir(names) => names,
            Node::File(_) => panic!("{dir} is a file"),
        }
    }

    fn bytes_mut(&mut self, file: Inode) -> &mut Vec<u8> {
        match self.nodes.entry(file).or_insert_with(|| Node::File(Vec::new())) {
            Node::File(bytes) => bytes,
            Node::Dir(_) => panic!("{file} is a directory"),
        }
    }

    fn lead(&mut self, (dir, name): &Entry, (inode, kind): (Inode, Kind)) {
        match kind {
            Kind::Dir => drop(self.names_mut(inode)),
            Kind::File => drop(self.bytes_mut(inode)),
        }
        self.names_mut(*dir).insert(name.clone(), inode);
    }

    /// Makes a change. Changes before it may be missing, as after a power cut.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Name { at, to: Some(node) } => self.lead(at, *node),
            Change::Name { at: (dir, name), to: None } => drop(self.names_mut(*dir).remove(name)),
            Change::Move { from: (dir, name), to, node } => {
                if self.names_mut(*dir).get(name) == Some(&node.0) {
                    self.names_mut(*dir).remove(name);
                }
                self.lead(to, *node);
            }
            Change::Swap { one, other } => {
                self.lead(&one.0, one.1);
                self.lead(&other.0, other.1);
            }
            Change::Len { file, len } => self.bytes_mut(*file).resize(*len, 0),
            Change::Data { file, offset, bytes } => {
                let stored = self.bytes_mut(*file);
                let end = offset + bytes.len();
                if stored.len() < end {
                    stored.resize(end, 0);
                }
                stored[*offset..end].copy_from_slice(bytes);
            }
            Change::Flushed(_) | Change::FlushFailed(_) | Change::Acknowledged => {}
        }
    }

    /// Everything that can be reached.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        self.collect(ROOT, Path::new(""), &mut tree);
        tree
    }

    fn collect(&self, dir: Inode, below: &Path, tree: &mut Tree) {
        for (name, inode) in self.names(dir).into_iter().flatten() {
            let path = below.join(name);
            match &self.nodes[inode] {
                Node::File(bytes) => drop(tree.insert(path, Some(bytes.clone()))),
                Node::Dir(_) => {
                    tree.insert(path.clone(), None);
                    self.collect(*inode, &path, tree);
                }
            }
        }
    }
}
