//! A directory kept in memory, to begin again from the very same files.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// All directories and regular files below a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tree(BTreeMap<PathBuf, Option<(Vec<u8>, u32)>>);

impl Tree {
    /// What is below `root` now; nothing when there is no such directory.
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        if root.exists() {
            collect(root, Path::new(""), &mut entries);
        }
        Self(entries)
    }

    /// Makes `root` hold exactly this again, or vanish when it was not there.
    pub fn restore(&self, root: &Path) {
        if root.exists() {
            std::fs::remove_dir_all(root).unwrap();
        }
        self.0.iter().for_each(|(path, entry)| write(&root.join(path), entry.as_ref()));
    }

    /// As [`Self::restore`], of a `root` that holds `now`: what is there already stays.
    pub fn restore_over(&self, now: &Self, root: &Path) {
        let differs = |path: &Path| self.0.get(path) != now.0.get(path);
        for (path, entry) in now.0.iter().rev().filter(|(path, _)| differs(path)) {
            let path = root.join(path);
            if entry.is_some() { std::fs::remove_file(&path) } else { std::fs::remove_dir(&path) }.unwrap();
        }
        self.0
            .iter()
            .filter(|(path, _)| differs(path))
            .for_each(|(path, entry)| write(&root.join(path), entry.as_ref()));
    }

    /// Whether any file contains this text.
    pub fn mentions(&self, text: &str) -> bool {
        self.contents().any(|(_, bytes)| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    }

    /// The same without one of the names at its top.
    pub fn without(&self, name: &str) -> Self {
        let kept = self.0.iter().filter(|(path, _)| !path.starts_with(name));
        Self(kept.map(|(path, entry)| (path.clone(), entry.clone())).collect())
    }

    /// The files, with their contents.
    pub fn contents(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.0.iter().filter_map(|(path, entry)| Some((path.as_path(), entry.as_ref()?.0.as_slice())))
    }

    /// The contents of one file, as text.
    pub fn text(&self, path: impl AsRef<Path>) -> String {
        let entry = self.0.get(path.as_ref()).and_then(Option::as_ref);
        let (bytes, _) = entry.unwrap_or_else(|| panic!("no file {}", path.as_ref().display()));
        String::from_utf8(bytes.clone()).unwrap()
    }

    /// The contents of one file, when it is there.
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.0.get(path)?.as_ref().map(|(bytes, _)| bytes.as_slice())
    }

    /// The paths of all files, in order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.0.iter().filter(|(_, entry)| entry.is_some());
        files.map(|(path, _)| path.as_path())
    }
}

/// Makes a directory, or a file with this mode.
fn write(path: &Path, entry: Option<&(Vec<u8>, u32)>) {
    let Some((bytes, mode)) = entry else { return std::fs::create_dir(path).unwrap() };
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)).unwrap();
}

fn collect(root: &Path, below: &Path, entries: &mut BTreeMap<PathBuf, Option<(Vec<u8>, u32)>>) {
    entries.insert(below.to_owned(), None);
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(root, &path, entries);
        } else if kind.is_file() {
            let mode = entry.metadata().unwrap().permissions().mode();
            entries.insert(path, Some((std::fs::read(entry.path()).unwrap(), mode)));
        }
    }
}
