//! From a set of operations to files.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::TempDir;

use super::disk::{Disk, Ino, Node, bytes_after};
use super::history::History;

/// A state in short: a number, which is the same for the same files. Only the [`States`] that gave it knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State(usize);

/// All states of a history, with everything that two of them share kept once. There are hundreds of thousands of them, so
/// each is told from the others by a few small numbers, without looking at paths or bytes again.
pub struct States<'a> {
    history: &'a History,
    /// Directories alone; files are empty.
    names: Disk,
    /// By the operations on names that reached the disk.
    listings: HashMap<Vec<usize>, Rc<Listing>>,
    /// Paths, and which of them are files.
    shapes: Numbered<Vec<(Rc<str>, bool)>>,
    /// Of each file, the number of its contents by the operations on it that reached the disk.
    of_file: Vec<HashMap<Vec<usize>, usize>>,
    contents: Numbered<Rc<[u8]>>,
    /// The number of the shape, then those of the contents of its files.
    states: Numbered<Rc<[usize]>>,
    /// Of each file, the operations that reached the disk in the state at hand.
    touched: Vec<Vec<usize>>,
    /// What was asked last of each file: from one state to the next, most files stay as they are.
    latest: Vec<Option<(Vec<usize>, usize)>>,
}

/// What names lead to.
struct Listing {
    shape: usize,
    files: Vec<Ino>,
}

/// Things with numbers: equal ones have the same.
struct Numbered<T> {
    numbers: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }

    fn number<Q: ?Sized + Eq + Hash>(&mut self, thing: &Q) -> usize
    where
        T: Borrow<Q> + for<'a> From<&'a Q>,
    {
        if let Some(&known) = self.numbers.get(thing) {
            return known;
        }
        let thing = T::from(thing);
        self.numbers.insert(thing.clone(), self.all.len());
        self.all.push(thing);
        self.all.len() - 1
    }
}

impl<'a> States<'a> {
    /// The states of this history.
    pub fn of(history: &'a History) -> Self {
        let empty = |node: &Node| match node {
            Node::Dir(entries) => Node::Dir(entries.clone()),
            Node::File(_) => Node::File(Vec::new()),
        };
        let nodes = history.base.0.len();
        Self {
            history,
            names: Disk(history.base.0.iter().map(empty).collect()),
            listings: HashMap::new(),
            shapes: Numbered::new(),
            of_file: vec![HashMap::new(); nodes],
            contents: Numbered::new(),
            states: Numbered::new(),
            touched: vec![Vec::new(); nodes],
            latest: vec![None; nodes],
        }
    }

    /// The state in which just these operations, in their order, reached the disk.
    pub fn state(&mut self, survivors: &[usize]) -> State {
        self.touched.iter_mut().for_each(Vec::clear);
        let mut names = Vec::with_capacity(survivors.len());
        for &at in survivors {
            let operation = &self.history.operations[at];
            match operation.file() {
                Some(ino) => self.touched[ino].push(at),
                None if operation.is_name() => names.push(at),
                None => {}
            }
        }
        let listing = self.listing(names);
        let mut state = Vec::with_capacity(1 + listing.files.len());
        state.push(listing.shape);
        for &ino in &listing.files {
            let number = self.content(ino);
            state.push(number);
        }
        State(self.states.number(state.as_slice()))
    }

    fn listing(&mut self, names: Vec<usize>) -> Rc<Listing> {
        if let Some(known) = self.listings.get(&names) {
            return Rc::clone(known);
        }
        let mut disk = self.names.clone();
        names.iter().for_each(|&at| disk.apply(&self.history.operations[at]));
        let found = disk.listing();
        let files = found.iter().filter_map(|(_, ino)| *ino).collect();
        let shape: Vec<(Rc<str>, bool)> = found.into_iter().map(|(path, ino)| (path.into(), ino.is_some())).collect();
        let listing = Rc::new(Listing { shape: self.shapes.number(shape.as_slice()), files });
        self.listings.insert(names, Rc::clone(&listing));
        listing
    }

    /// The number of what is in a file after the operations on it that reached the disk.
    fn content(&mut self, ino: Ino) -> usize {
        let touched = &self.touched[ino];
        match &self.latest[ino] {
            Some((operations, number)) if operations == touched => return *number,
            _ => {}
        }
        let number = match self.of_file[ino].get(touched) {
            Some(&known) => known,
            None => {
                let Node::File(base) = &self.history.base.0[ino] else { panic!("inode {ino} is no file") };
                let bytes = bytes_after(base, touched.iter().map(|&at| &self.history.operations[at]));
                let number = self.contents.number(bytes.as_slice());
                self.of_file[ino].insert(touched.clone(), number);
                number
            }
        };
        self.latest[ino] = Some((touched.clone(), number));
        number
    }

    /// Makes `root` hold exactly this state.
    pub fn write(&self, root: &Path, state: State) {
        for entry in std::fs::read_dir(root).unwrap() {
            let entry = entry.unwrap();
            // The repository of a sandbox is no part of the states.
            if entry.file_name() == ".git" {
                continue;
            }
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
        let state = &self.states.all[state.0];
        let mut contents = state[1..].iter();
        for (path, is_file) in &self.shapes.all[state[0]] {
            if *is_file {
                std::fs::write(root.join(&**path), &self.contents.all[*contents.next().unwrap()]).unwrap();
            } else {
                std::fs::create_dir(root.join(&**path)).unwrap();
            }
        }
    }
}

/// Makes the lock files in `root` those of an earlier start of the machine, as a power cut does.
pub fn reboot(root: &Path) {
    let files = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    for lock in files.filter(|entry| entry.file_name() == ".lock" && entry.file_type().is_file()) {
        let text = String::from_utf8(std::fs::read(lock.path()).unwrap()).unwrap();
        let Some((before, boot)) = text.split_once("\"boot\":\"") else { continue };
        let (boot, after) = boot.split_once('"').unwrap_or((boot, ""));
        let other = "x".repeat(boot.len());
        std::fs::write(lock.path(), format!("{before}\"boot\":\"{other}\"{after}")).unwrap();
    }
}

/// The operations of `pending` that are not among the survivors, in words.
pub fn lost(history: &History, until: usize, survivors: &[usize]) -> Vec<String> {
    let survivors: BTreeSet<_> = survivors.iter().collect();
    let change = |at: &usize| history.operations[*at].is_name() || history.operations[*at].file().is_some();
    (0..until).filter(change).filter(|at| !survivors.contains(at)).map(|at| history.tell(at)).collect()
}

/// A directory for files that live a millisecond: in memory where that can be had.
pub fn scratch() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = tempfile::Builder::new().prefix("flow-power").tempdir_in(memory);
    let made = made.or_else(|_| tempfile::tempdir()).unwrap();
    // A top of its own, so that no `.flow` that another program has above it is found.
    std::fs::create_dir(made.path().join(".git")).unwrap();
    made
}
