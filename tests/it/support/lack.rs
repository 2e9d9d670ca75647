//! What a machine lacks for a check: said by the check, required by `FLOW_TEST_REQUIRE`, and listed when all is over.
//!
//! libtest shows nothing of a test that passes, so each check that is left out is noted in a file, which `tests/skipped.rs`
//! prints: cargo runs it last. `FLOW_TEST_REQUIRE` names what must be here, or says `all`; a check that is left out for
//! want of that has failed.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that says what must not be lacking: names of needs, or `all`.
pub const REQUIRE: &str = "FLOW_TEST_REQUIRE";
/// What `all` does not stand for: a kernel or a moment can lack it and nobody can install it, or it comes from a package
/// registry that is not Cargo's.
const NEVER_IN_ALL: [&str; 5] = ["casefold", "mermaid", "quota", "speed", "weed"];
/// What `all` stands for, in words.
pub const ALL: &str = "everything but casefold, mermaid, quota, speed and weed";
/// Notes of test runs that never printed them are removed after this time.
const FORGOTTEN: Duration = Duration::from_hours(24);

/// Something that a check needs and that is not here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lack {
    /// Its name: a program, or `root`, `mount`, `casefold`, …
    pub need: String,
    /// What was found instead.
    pub why: String,
}

impl Lack {
    /// `need` is not here.
    pub fn of(need: impl Into<String>, why: impl Into<String>) -> Self {
        Self { need: need.into(), why: why.into() }
    }

    /// The lack of a right that only root has.
    pub fn of_root(why: &str) -> Self {
        Self::of("root", why)
    }

    fn is_required(&self, wanted: &str) -> bool {
        let mut wanted = wanted.split([',', ' ']);
        wanted.any(|name| name == self.need || (name == "all" && !NEVER_IN_ALL.contains(&&*self.need)))
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<Lack> for String {
    fn from(lack: Lack) -> Self {
        lack.why
    }
}

/// Says that `test`, or a part of it, tested nothing.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that could not run must not look like one that passed")]
pub fn skipped(test: &str, lack: &Lack) {
    eprintln!("SKIPPED: {test}: {lack}");
    // A target directory that cannot be written keeps no notes; the line above is said all the same.
    let _ = note(test, lack);
    let wanted = std::env::var(REQUIRE).unwrap_or_default();
    assert!(!lack.is_required(&wanted), "{test} needs {}, which {REQUIRE}={wanted} asks for: {lack}", lack.need);
}

fn note(test: &str, lack: &Lack) -> std::io::Result<()> {
    let notes = notes();
    if let Some(dir) = notes.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = std::fs::File::options().append(true).create(true).open(notes)?;
    // One write: tests run side by side.
    file.write_all([&lack.need, "\t", test, "\t", &lack.why.replace(['\n', '\t'], " "), "\n"].concat().as_bytes())
}

/// What was left out in this run of cargo, sorted by what is lacking: it, the test, and what was found instead.
pub fn noted() -> Vec<(Lack, String)> {
    let path = notes();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(&path);
    path.parent().map(forget);
    let note = |line: &str| {
        let mut parts = line.split('\t');
        let (need, test, why) = (parts.next()?, parts.next()?, parts.next()?);
        Some((Lack::of(need, why), test.to_owned()))
    };
    let mut noted: Vec<_> = text.lines().filter_map(note).collect();
    noted.sort();
    noted.dedup();
    noted
}

/// Removes the notes of test runs that ended before they printed them.
fn forget(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > FORGOTTEN));
        if old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The notes of one run of cargo, which is what all test programs of that run were started by.
fn notes() -> PathBuf {
    let cargo = std::os::unix::process::parent_id();
    // Numbers of processes come again; the time at which one began does not.
    let stat = std::fs::read_to_string(format!("/proc/{cargo}/stat")).unwrap_or_default();
    let begun = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).unwrap_or("0");
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped").join(format!("{cargo}-{begun}"))
}
