//! From a set of operations to files.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::TempDir;

use super::disk::{Disk, Ino, Node, Operation, bytes_after};
use super::history::History;

/// A state in short: every path, with the number of its contents, or none for a directory. Equal states are equal.
pub type State = Vec<(Rc<str>, Option<usize>)>;

/// All states of a history, with everything that two of them share kept once.
pub struct States<'a> {
    history: &'a History,
    /// Directories alone; files are empty.
    names: Disk,
    listings: HashMap<Vec<usize>, Rc<Listing>>,
    of_file: HashMap<(Ino, Vec<usize>), usize>,
    numbers: HashMap<Rc<[u8]>, usize>,
    contents: Vec<Rc<[u8]>>,
}

type Listing = Vec<(Rc<str>, Option<Ino>)>;

impl<'a> States<'a> {
    /// The states of this history.
    pub fn of(history: &'a History) -> Self {
        let empty = |node: &Node| match node {
            Node::Dir(entries) => Node::Dir(entries.clone()),
            Node::File(_) => Node::File(Vec::new()),
        };
        Self {
            history,
            names: Disk(history.base.0.iter().map(empty).collect()),
            listings: HashMap::new(),
            of_file: HashMap::new(),
            numbers: HashMap::new(),
            contents: Vec::new(),
        }
    }

    /// The state in which just these operations, in their order, reached the disk.
    pub fn state(&mut self, survivors: &[usize]) -> State {
        let operations = &self.history.operations;
        let names: Vec<_> = survivors.iter().copied().filter(|&at| operations[at].is_name()).collect();
        let mut of_file: HashMap<Ino, Vec<usize>> = HashMap::new();
        for &at in survivors {
            if let Some(ino) = operations[at].file() {
                of_file.entry(ino).or_default().push(at);
            }
        }
        let listing = self.listing(names);
        let number = |(path, ino): &(Rc<str>, Option<Ino>)| {
            let content = ino.map(|ino| self.content(ino, of_file.get(&ino).cloned().unwrap_or_default()));
            (path.clone(), content)
        };
        listing.iter().map(number).collect()
    }

    fn listing(&mut self, names: Vec<usize>) -> Rc<Listing> {
        if let Some(known) = self.listings.get(&names) {
            return Rc::clone(known);
        }
        let mut disk = self.names.clone();
        names.iter().for_each(|&at| disk.apply(&self.history.operations[at]));
        let listing: Listing = disk.listing().into_iter().map(|(path, ino)| (path.into(), ino)).collect();
        let listing = Rc::new(listing);
        self.listings.insert(names, Rc::clone(&listing));
        listing
    }

    fn content(&mut self, ino: Ino, operations: Vec<usize>) -> usize {
        if let Some(&known) = self.of_file.get(&(ino, operations.clone())) {
            return known;
        }
        let Node::File(base) = &self.history.base.0[ino] else { panic!("inode {ino} is no file") };
        let applied: Vec<&Operation> = operations.iter().map(|&at| &self.history.operations[at]).collect();
        let bytes: Rc<[u8]> = bytes_after(base, applied.into_iter()).into();
        let next = self.contents.len();
        let number = *self.numbers.entry(Rc::clone(&bytes)).or_insert(next);
        if number == next {
            self.contents.push(bytes);
        }
        self.of_file.insert((ino, operations), number);
        number
    }

    /// Makes `root` hold exactly this state.
    pub fn write(&self, root: &Path, state: &State) {
        for entry in std::fs::read_dir(root).unwrap() {
            let entry = entry.unwrap();
            // The repository of a sandbox is no part of the states.
            if entry.file_name() == ".git" {
                continue;
            }
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
        for (path, content) in state {
            match content {
                None => std::fs::create_dir(root.join(&**path)).unwrap(),
                Some(number) => std::fs::write(root.join(&**path), &self.contents[*number]).unwrap(),
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
    made.or_else(|_| tempfile::tempdir()).unwrap()
}
