//! How long installing takes, and how large packages are. Builds everything twice, so only when asked for by name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::table::{Bound, Row, Table};

/// What `cargo install` may take, on two processors that have nothing else to do.
const INSTALL: (&str, Duration) = ("3.5 minutes", Duration::from_secs(210));
/// How large the program of the packages may be.
const PACKAGED: (&str, f64) = ("13 MB", 13e6);

/// What is built with nothing built before.
pub fn rows(home: &Path, table: &mut Table) {
    let built = home.join("built");
    let (time, _) = build("release", &built);
    let against = Some((INSTALL.0, INSTALL.1, Bound::AtMost(1.0)));
    table.push(Row::new("`cargo install`, with nothing built before", time, against));
    let (time, program) = build("packaged", &built);
    table.push(Row::new("the same for packages", time, None));
    let size = std::fs::metadata(program).unwrap().len() as f64;
    table.push(Row::of_size("the program in packages", size, PACKAGED));
}

fn build(profile: &str, target: &Path) -> (Duration, PathBuf) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--bin", "flow", "--profile", profile, "--target-dir"]).arg(target);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let begun = Instant::now();
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    let time = begun.elapsed();
    let mut found = walkdir::WalkDir::new(target).into_iter().flatten();
    let program = found.find(|entry| entry.path().ends_with(Path::new(profile).join("flow"))).unwrap();
    (time, program.into_path())
}
