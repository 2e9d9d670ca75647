//! Commands that flow runs, the state of the files on which they ran, and forks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::project::Project;
use super::table::{Bound, Row, Table};
use super::timing::{Timed, alternate, processor_time};

/// Files of a small checkout and of a large one.
const FILES: (usize, usize) = (200, 50_000);
/// So many of the large one are changed and not committed.
const CHANGED: usize = 100;

/// `exec`, `verify --evidence` and `fork`.
pub fn rows(home: &Path, events: usize, rounds: usize, table: &mut Table) {
    commands(home, rounds, table);
    trees(home, rounds, table);
    forks(home, events, rounds, table);
}

/// What `exec` costs beyond the command.
fn commands(home: &Path, rounds: usize, table: &mut Table) {
    let project = Project::in_checkout(home, FILES.0);
    let alone = || {
        let mut command = Command::new("true");
        command.current_dir(home);
        command
    };
    let mut timed = [Timed::new("true", alone), Timed::new("exec", || project.call_there("exec -- true"))];
    let medians = alternate(&mut timed, rounds);
    let what = format!("`exec -- true` in a checkout of {} files, without `true`", FILES.0);
    let against = ("30 ms", Duration::from_millis(30), Bound::AtMost(1.0));
    table.push(Row::new(&what, medians[1].saturating_sub(medians[0]), Some(against)));
}

/// Looks at all files, beside what git alone takes for that.
fn trees(home: &Path, rounds: usize, table: &mut Table) {
    let project = Project::in_checkout(home, FILES.1);
    project.change_files(CHANGED);
    assert!(project.call_there("exec -- true").output().unwrap().status.success());
    let mut timed = [
        Timed::new("git status", || project.git_status()),
        Timed::new("warm", || project.call("verify --evidence")),
        Timed::new("cold", || project.call_without_cache("verify --evidence")),
    ];
    let medians = alternate(&mut timed, rounds);
    let checkout = format!("in a checkout of {} files, {CHANGED} of them changed", FILES.1);
    table.push(Row::new(&format!("`git status` {checkout}"), medians[0], None));
    let to_git = |most| Some(("`git status`", medians[0], Bound::AtMost(most)));
    table.push(Row::new(&format!("`verify --evidence` {checkout}"), medians[1], to_git(1.5)));
    table.push(Row::new("the same without its cache", medians[2], to_git(8.0)));
    let git = processor_time(|| project.git_status(), rounds);
    let ours = processor_time(|| project.call("verify --evidence"), rounds);
    table.push(Row::new(
        "`verify --evidence` there, time of processors",
        ours,
        Some(("that of `git status`", git, Bound::AtMost(1.6))),
    ));
}

/// A fork reads its parent's log and starts a run.
fn forks(home: &Path, events: usize, rounds: usize, table: &mut Table) {
    let project = Project::with_events(home, 100, events);
    let mut timed = [
        Timed::new("start", || project.verb("start")),
        Timed::new("log", || project.of_run("log")),
        Timed::new("fork", || project.of_run("fork")),
    ];
    let medians = alternate(&mut timed, rounds);
    let against = Some(("`start` and `log` together", medians[0] + medians[1], Bound::AtMost(1.5)));
    table.push(Row::new(&format!("`fork` of a run of {events} events"), medians[2], against));
}
