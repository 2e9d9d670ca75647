//! The corpora of the fuzzer, each file against its property.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::properties::{ALL, Property};
use crate::support::try_all;

fn fuzz_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpora_keeps_its_promise() {
    let cases = ALL.iter().flat_map(|(name, holds)| {
        let files = files(&fuzz_dir().join("corpus").join(name));
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        files.into_iter().map(|file| Case { file, holds: *holds })
    });
    let cases: Vec<_> = cases.collect();
    // As much stack as a program's main thread has: without optimisation the parser needs much of it.
    let replay = move || try_all(&cases, |case| (case.holds)(&std::fs::read(&case.file).unwrap()));
    let replayed = std::thread::Builder::new().stack_size(8 << 20).spawn(replay).unwrap().join();
    replayed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// A file and what holds for it.
struct Case {
    file: PathBuf,
    holds: Property,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

#[test]
fn every_property_has_a_fuzz_target_and_a_small_corpus() {
    let names: Vec<_> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stems = |dir: &str| -> Vec<String> {
        let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        files(&fuzz_dir().join(dir)).into_iter().map(stem).collect()
    };
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(stems("fuzz_targets"), sorted);
    assert_eq!(stems("corpus"), sorted);
    let manifest = std::fs::read_to_string(fuzz_dir().join("Cargo.toml")).unwrap();
    let campaign = std::fs::read_to_string(fuzz_dir().join("campaign")).unwrap();
    for name in &names {
        let target = std::fs::read_to_string(fuzz_dir().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("properties::{name}::holds")), "{target}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
        assert!(campaign.contains(name.as_str()), "{name} is not in fuzz/campaign");
    }
    let bytes: u64 = names
        .iter()
        .flat_map(|name| files(&fuzz_dir().join("corpus").join(name)))
        .map(|file| file.metadata().unwrap().len())
        .sum();
    assert!(bytes < 1 << 20, "the corpora have grown to {bytes} bytes: minimise them");
}
