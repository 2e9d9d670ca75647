//! The files that globs name: what evidence covers beside, or without, what git lists.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use crate::host::tree::entry::is_missing;

/// The most globs of one command.
const GLOBS: usize = 100;
/// The longest glob, in bytes.
const GLOB_BYTES: usize = 1 << 10;
/// How often a glob may go through directories of any depth: each multiplies the ways to match a path.
const RECURSIONS: usize = 4;
/// The most paths that are looked at.
const PATHS: usize = 4_000_000;
/// What is never covered: the repository itself, and what flow writes.
const LEFT_OUT: [&str; 3] = [".git", ".flow", ".decisions"];
/// What people write there. Runs change with each record, so they cannot be inputs of one.
const DEFINITIONS: [&str; 5] =
    [".flow/workflows", ".flow/schemas", ".flow/interviews", ".flow/config.yaml", ".flow/modes.yaml"];
/// A star stops at a slash, and a dot is a letter.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// Globs that name files, relative to the top of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputGlobs(Vec<InputGlob>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct InputGlob {
    given: String,
    pattern: Pattern,
    /// The directory that all matches are in, or the only path that can match.
    below: PathBuf,
    /// Whether it has no special characters: then a directory stands for everything in it.
    is_plain: bool,
}

/// What globs name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputFiles {
    /// The files and links, relative to the top of the project; sorted.
    pub files: Vec<Vec<u8>>,
    /// Directories on the way that cannot be read.
    pub unreadable: Vec<Vec<u8>>,
    /// The globs that name nothing.
    pub unmatched: Vec<String>,
}

impl InputGlobs {
    /// Reads globs.
    ///
    /// # Errors
    /// A sentence about one that cannot be used.
    pub fn parse(globs: &[String]) -> Result<Self, String> {
        if globs.len() > GLOBS {
            return Err(format!("there are {} globs, and {GLOBS} are allowed", globs.len()));
        }
        let mut parsed = Vec::new();
        for given in globs {
            parsed.push(InputGlob::parse(given).map_err(|why| format!("the glob {given:?} {why}"))?);
        }
        Ok(Self(parsed))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files below `root` that they name. No link is followed.
    ///
    /// # Errors
    /// When there are too many.
    pub fn files(&self, root: &Path) -> Result<InputFiles, String> {
        let (mut found, mut left) = (InputFiles::default(), PATHS);
        for glob in &self.0 {
            let before = found.files.len();
            glob.add(root, &mut found, &mut left)?;
            if found.files.len() == before {
                found.unmatched.push(glob.given.clone());
            }
        }
        found.files.sort_unstable();
        found.files.dedup();
        found.unreadable.sort_unstable();
        found.unreadable.dedup();
        Ok(found)
    }
}

impl InputGlob {
    fn parse(given: &str) -> Result<Self, String> {
        if given.len() > GLOB_BYTES {
            return Err(format!("is longer than {GLOB_BYTES} bytes"));
        }
        let mut parts = Vec::new();
        for part in Path::new(given.trim_end_matches('/')).components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
                _ => return Err("leads out of the project; it is relative to its top, without `..`".to_owned()),
            }
        }
        if parts.is_empty() || given.contains('\0') {
            return Err("names nothing".to_owned());
        }
        if given.matches("**").count() > RECURSIONS {
            return Err(format!("has `**` more than {RECURSIONS} times"));
        }
        let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '[', ']'])).count();
        let pattern = Pattern::new(&parts.join("/")).map_err(|error| format!("is not valid: {}", error.msg))?;
        let below = parts[..plain].iter().collect();
        Ok(Self { given: given.to_owned(), pattern, below, is_plain: plain == parts.len() })
    }

    fn add(&self, root: &Path, found: &mut InputFiles, left: &mut usize) -> Result<(), String> {
        if !is_reached(root, &self.below) {
            return Ok(());
        }
        let mut dirs = Vec::new();
        let start = root.join(&self.below);
        if start.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            dirs.push(start);
        } else if self.names(&self.below) {
            found.files.push(bytes(&self.below));
        }
        while let Some(dir) = dirs.pop() {
            let entries = match fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(error) if is_missing(&error) => continue,
                Err(_) => {
                    found.unreadable.push(below(root, &dir));
                    continue;
                }
            };
            for entry in entries.flatten() {
                *left =
                    left.checked_sub(1).ok_or_else(|| format!("the glob {:?} leads to too many files", self.given))?;
                if LEFT_OUT.iter().any(|out| entry.file_name() == *out) {
                    continue;
                }
                let path = entry.path();
                // What is behind a link is not in the project; the link is.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    dirs.push(path);
                } else if path.strip_prefix(root).is_ok_and(|path| self.names(path)) {
                    found.files.push(below(root, &path));
                }
            }
        }
        Ok(())
    }

    /// Whether it names this path of the project, which is in the directory that it stands for if it is plain.
    fn names(&self, path: &Path) -> bool {
        self.is_plain || self.pattern.matches_with(&path.to_string_lossy(), OPTIONS)
    }
}

fn below(root: &Path, path: &Path) -> Vec<u8> {
    bytes(path.strip_prefix(root).unwrap_or(path))
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_owned()
}

/// Whether something is at `path` below `root`, behind directories alone, none of which is left out.
fn is_reached(root: &Path, path: &Path) -> bool {
    let mut at = root.to_owned();
    let is_definition = DEFINITIONS.iter().any(|definitions| path.starts_with(definitions));
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let is_way = is_definition && at == root;
        if !is_way && LEFT_OUT.iter().any(|out| part.as_os_str() == *out) {
            return false;
        }
        at.push(part);
        match at.symlink_metadata() {
            Ok(meta) if meta.is_dir() || parts.peek().is_none() => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests set up files directly")]
mod tests {
    use super::*;

    fn named(root: &Path, globs: &[&str]) -> (Vec<String>, Vec<String>) {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let found = InputGlobs::parse(&globs).unwrap().files(root).unwrap();
        let files = found.files.into_iter().map(|path| String::from_utf8(path).unwrap()).collect();
        (files, found.unmatched)
    }

    #[test]
    fn globs_name_files_below_the_top_and_follow_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        for file in ["a.env", "out/b.o", "out/deep/c.o", "out/d.txt", ".git/x", "out/.git/z", ".hidden"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        for file in
            [".flow/y", ".flow/workflows/w.mmd", ".flow/config.yaml", ".flow/runs/r/run.yaml", "out/.flow/workflows/w"]
        {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(dir.path().join("outside.o"), "x").unwrap();
        std::os::unix::fs::symlink("..", root.join("out/up")).unwrap();
        std::os::unix::fs::symlink("out", root.join("link")).unwrap();
        let all = ["out/b.o", "out/d.txt", "out/deep/c.o", "out/up"];
        for (glob, wanted) in [
            ("*.env", &["a.env"][..]),
            ("./a.env", &["a.env"]),
            ("out", &all),
            ("out/", &all),
            ("out/**", &all),
            ("out/*.o", &["out/b.o"]),
            ("**/*.o", &["out/b.o", "out/deep/c.o"]),
            ("out/?.[ot]*", &["out/b.o", "out/d.txt"]),
            (".*", &[".hidden"]),
            ("link", &["link"]),
        ] {
            assert_eq!(named(&root, &[glob]), (wanted.iter().map(ToString::to_string).collect(), vec![]), "{glob}");
        }
        assert_eq!(named(&root, &[".flow/workflows/**"]).0, [".flow/workflows/w.mmd"]);
        assert_eq!(named(&root, &[".flow/config.yaml"]).0, [".flow/config.yaml"]);
        let left_out = [".git", ".git/workflows", ".flow", ".flow/**", ".flow/y", ".flow/runs/**", "out/.git/z"];
        let absent = ["nothing", "link/b.o", "link/*", "out/up/*", "out/up/outside.o", "out/.flow/workflows/w.mmd"];
        for glob in left_out.into_iter().chain(absent) {
            assert_eq!(named(&root, &[glob]), (vec![], vec![glob.to_owned()]), "{glob}");
        }
        assert_eq!(named(&root, &["a.env", "*.env", "no"]).1, ["no"]);
    }

    #[test]
    fn globs_that_lead_out_of_the_project_are_refused() {
        for glob in [
            "",
            ".",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../b",
            "a/..",
            "a\0b",
            "a***b",
            "[a",
            "**/a/**/b/**/c/**/d/**",
        ] {
            assert!(InputGlobs::parse(&[glob.to_owned()]).is_err(), "{glob}");
        }
        assert!(InputGlobs::parse(&["x".repeat(2000)]).is_err());
        assert!(InputGlobs::parse(&vec!["x".to_owned(); 101]).is_err());
    }
}
