//! What a reference to evidence names: a file, an address, or neither.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use crate::disk::{FileType, Links};
use crate::runs::context::{Context, OpenedProject};
use crate::store::{Document, StoredRun};

/// How FlowRun names a record of evidence with this id.
const RECORD: &str = ".evidence.yaml";
/// The directory of a run in which evidence is.
pub(in crate::runs) const DIRECTORY: &str = "evidence/";
/// The longest ending of a file's name.
const ENDING: usize = 8;

/// What a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runs) enum Referent {
    /// A file in the run's `evidence/`, with its length if it is there.
    Evidence { name: String, bytes: Option<u64> },
    /// A file or directory of the project.
    InProject { bytes: Option<u64> },
    /// A file outside of the project.
    Outside,
    /// A file of the project that is not there.
    Missing,
    /// An address on the web.
    Link,
    /// Other text, such as a job or a commit.
    Text,
}

/// What `reference` names in a run whose `evidence/` has these files, each with its length.
pub(in crate::runs) fn referent(
    project: &OpenedProject,
    run: &dyn StoredRun,
    reference: &str,
    files: &BTreeMap<String, u64>,
) -> Referent {
    let own = format!("{}/", run.address(Document::Run).from(project.root()));
    let plain = reference.trim_start_matches("./");
    let plain = plain.strip_prefix(&own).unwrap_or(plain);
    let inside = plain.strip_prefix(DIRECTORY);
    let name = inside.unwrap_or(plain);
    // FlowRun refers to a record by its id, without the ending of its file.
    for known in [name.to_owned(), format!("{name}{RECORD}")] {
        if let Some(&bytes) = files.get(&known) {
            return Referent::Evidence { name: known, bytes: Some(bytes) };
        }
    }
    match inside {
        Some(name) if !name.contains('/') => return Referent::Evidence { name: name.to_owned(), bytes: None },
        Some(_) => return Referent::Missing,
        None => {}
    }
    if is_web(plain) {
        return Referent::Link;
    }
    let place = project.relative(Path::new(without_line(reference)));
    if place.as_os_str().is_empty() || !is_inside(&place) {
        return if is_path(reference) { Referent::Outside } else { Referent::Text };
    }
    match path_state(&project.cx, &project.root().join(&place)) {
        PathState::There { bytes } => Referent::InProject { bytes },
        PathState::Missing if is_path(reference) => Referent::Missing,
        PathState::Missing | PathState::Unknown => Referent::Text,
    }
}

/// Whether something is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runs) enum PathState {
    /// Yes; a file has a length.
    There {
        bytes: Option<u64>,
    },
    Missing,
    /// The system does not say.
    Unknown,
}

/// Whether something is at `path`. It is only looked at, so links are followed.
pub(in crate::runs) fn path_state(cx: &Context, path: &Path) -> PathState {
    match cx.disk.look(path, Links::Follow) {
        Ok(stat) => PathState::There { bytes: (stat.kind == FileType::RegularFile).then_some(stat.len) },
        Err(errno) => match io::Error::from(errno).kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => PathState::Missing,
            _ => PathState::Unknown,
        },
    }
}

pub(in crate::runs) fn is_web(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Whether a reference is meant as a path, although nothing is there: it begins like one, or ends like the name of a file.
/// `docs/plan.md` and `test.log:12` are paths; `ci/17`, `v1.2`, `acme/widgets#42` and `main` could be anything.
pub(in crate::runs) fn is_path(reference: &str) -> bool {
    let place = without_line(reference);
    if !place.chars().all(|c| c.is_alphanumeric() || "/._-+~=,%".contains(c)) {
        return false;
    }
    if place.starts_with('/') || place.starts_with("./") || place.starts_with("../") {
        return true;
    }
    let name = place.rsplit('/').next().unwrap_or(place);
    matches!(name.rsplit_once('.'), Some((stem, ending)) if !stem.is_empty() && is_ending(ending))
}

fn is_ending(ending: &str) -> bool {
    // It begins with a letter, so that a version such as `v1.2` is not a path.
    ending.len() <= ENDING
        && ending.starts_with(|first: char| first.is_ascii_alphabetic())
        && ending.bytes().all(|letter| letter.is_ascii_alphanumeric())
}

/// A reference without the place in the file: `a.rs:12:5`, `a.rs#L12`.
pub(in crate::runs) fn without_line(reference: &str) -> &str {
    let mut place = reference.split('#').next().unwrap_or(reference);
    while let Some((before, line)) = place.rsplit_once(':') {
        let is_line = !line.is_empty() && line.bytes().all(|digit| digit.is_ascii_digit() || digit == b'-');
        if !is_line {
            break;
        }
        place = before;
    }
    place
}

/// Whether a path stays below the directory from which it begins.
fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_other_text() {
        for path in [
            "nosuch.log",
            "docs/plan.md",
            "./logs/build",
            "/tmp/out",
            "../out.txt",
            "test.log:12",
            "a.rs:12:5",
            "a.rs#L12-L20",
            "a.tar.gz",
            "Bericht-März.pdf",
            "logs/2026-05-20T14.json",
        ] {
            assert!(is_path(path), "{path}");
        }
        for other in [
            "",
            "main",
            "ci/17",
            "v1.2",
            "acme/widgets#42",
            "#42",
            "see the log.",
            "job.17",
            "https://example.com/a.log",
            "s3://bucket/a.log",
            "ada@example.com",
            ".env",
            "refs/heads/main",
            "all green",
            "889a90db",
            "urn:ietf:rfc:2648",
        ] {
            assert!(!is_path(other), "{other}");
        }
    }
}
