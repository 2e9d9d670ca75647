//! The mistakes of `list.yaml`, and where they stand in the sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A mistake.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "who only looks for its place needs no more")]
pub struct Mutation {
    pub name: String,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub tests: String,
}

/// All mistakes of the list.
pub fn mutations() -> Vec<Mutation> {
    serde_yaml::from_str(include_str!("list.yaml")).unwrap()
}

/// The texts of the files below `src/` of the project at `root`.
pub fn texts(root: &Path) -> BTreeMap<PathBuf, String> {
    let files = walkdir::WalkDir::new(root.join("src")).into_iter().flatten().filter(|entry| entry.path().is_file());
    files.map(|entry| (entry.path().to_owned(), std::fs::read_to_string(entry.path()).unwrap())).collect()
}

/// Mistakes by the file and the part of it that is exchanged.
pub type Places<'m> = BTreeMap<(PathBuf, usize, usize), Vec<&'m Mutation>>;

/// The places of all mistakes, each with the mistakes that may be made there: several in one place, but none within another's.
///
/// # Errors
/// As [`Mutation::place`]; or if two places overlap.
pub fn places<'m>(files: &BTreeMap<PathBuf, String>, all: &'m [Mutation]) -> Result<Places<'m>, String> {
    let mut places = Places::new();
    for one in all {
        let (path, start, end) = one.place(files)?;
        places.entry((path.to_owned(), start, end)).or_default().push(one);
    }
    let following = places.iter().zip(places.iter().skip(1));
    for (((path, _, end), outer), ((next, start, _), inner)) in following {
        if path == next && start < end {
            return Err(format!("the places of `{}` and `{}` overlap", outer[0].name, inner[0].name));
        }
    }
    Ok(places)
}

impl Mutation {
    /// The file and the part of it that is exchanged.
    ///
    /// # Errors
    /// If its text does not stand once there, or is not whole: what is exchanged becomes an arm of a `match`.
    pub fn place<'f>(&self, files: &'f BTreeMap<PathBuf, String>) -> Result<(&'f Path, usize, usize), String> {
        let mut found = Vec::new();
        for (path, text) in files {
            found.extend(ranges(text, &self.at).into_iter().map(|(start, end)| (path, text, start, end)));
        }
        let [(path, text, start, end)] = found[..] else {
            return Err(format!("{}: its text stands {} times below src/", self.name, found.len()));
        };
        let (begin, end) = match &self.from {
            None => (start, end),
            Some(from) => match ranges(&text[start..end], from)[..] {
                [(from, to)] => (start + from, start + to),
                _ => return Err(format!("{}: `from` does not stand once in `at`", self.name)),
            },
        };
        for part in [&text[begin..end], &self.to] {
            let binds = part.starts_with("let ") && !part.starts_with("let _ ");
            if binds || !closes_what_it_opens(part) {
                return Err(format!("{}: `{part}` is not an expression", self.name));
            }
        }
        Ok((path, begin, end))
    }
}

fn closes_what_it_opens(part: &str) -> bool {
    ["()", "[]", "{}"].iter().all(|pair| {
        let (open, close) = pair.split_at(1);
        part.matches(open).count() == part.matches(close).count()
    })
}

/// Where a text stands, whatever white space is between its words.
fn ranges(text: &str, sought: &str) -> Vec<(usize, usize)> {
    let words: Vec<&str> = sought.split_whitespace().collect();
    let ends_at = |start: usize| {
        let mut at = start;
        for (nth, word) in words.iter().enumerate() {
            let rest = &text[at..];
            let gap = if nth == 0 { 0 } else { rest.len() - rest.trim_start().len() };
            if nth > 0 && gap == 0 || !rest[gap..].starts_with(word) {
                return None;
            }
            at += gap + word.len();
        }
        Some((start, at))
    };
    text.match_indices(words[0]).filter_map(|(start, _)| ends_at(start)).collect()
}
