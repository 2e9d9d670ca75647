//! Runs in a git repository that several machines share, beside what git alone takes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::flow;
use super::table::{Bound, Row, Table};
use super::timing::{Timed, alternate};

/// A checkout, and the bare repository that is its `origin`.
struct Checkout {
    home: PathBuf,
    used: AtomicUsize,
}

impl Checkout {
    /// With so many open runs in the store.
    fn with_open_runs(home: &Path, runs: usize) -> Self {
        let home = tempfile::tempdir_in(home).unwrap().keep();
        let checkout = Self { home, used: AtomicUsize::new(0) };
        checkout.shell("git init -q --bare origin.git && git init -q raw && git init -q here && mkdir here/.flow");
        checkout.shell("for at in here raw; do git -C $at remote add origin ../origin.git; done");
        checkout.shell("echo 'store: git:origin' > here/.flow/config.yaml");
        checkout.run(&["remote", "use", "git:origin"]);
        for nth in 0..runs {
            checkout.run(&["start", "debug", "--id", &format!("run-{nth}")]);
        }
        checkout.shell("cd raw && git commit-tree -m begun $(git mktree </dev/null) > tip && git push -q origin $(cat tip):refs/raw/tip");
        checkout
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = flow();
        command.arg("-C").arg(self.home.join("here")).args(args);
        // What was accepted is kept there.
        command.env("XDG_STATE_HOME", &self.home);
        command
    }

    fn run(&self, args: &[&str]) {
        let done = self.command(args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn sh(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-ec").arg(script).current_dir(&self.home);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        command
    }

    fn shell(&self, script: &str) {
        let done = self.sh(script).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// One more record in the first run.
    fn record(&self) -> Command {
        let id = format!("timed-{}", self.used.fetch_add(1, Ordering::Relaxed));
        self.command(&["record-activity", "--run-id", "run-0", "--id", &id, "--summary", "what came out of it"])
    }

    /// A commit behind the last one, and its push, as a record needs them.
    fn push(&self) -> Command {
        self.sh("cd raw; old=$(cat tip); new=$(echo 'what came out of it' | git commit-tree -p $old $old^{tree}); \
                 git push -q --no-verify --force-with-lease=refs/raw/tip:$old origin $new:refs/raw/tip; echo $new > tip")
    }

    /// A fetch of what is there already.
    fn fetch(&self) -> Command {
        self.sh("cd raw; git fetch -q --no-tags --no-write-fetch-head origin '+refs/flow/*:refs/flow/*'")
    }
}

/// Records and readers of shared runs.
pub fn rows(home: &Path, rounds: usize, table: &mut Table) {
    let checkout = Checkout::with_open_runs(home, 30);
    let mut timed = [
        Timed::new("git push", || checkout.push()),
        Timed::new("record", || checkout.record()),
        Timed::new("git fetch", || checkout.fetch()),
        Timed::new("resume", || checkout.command(&["resume", "run-0"])),
        Timed::new("hud", || checkout.command(&["hud"])),
    ];
    let medians = alternate(&mut timed, rounds);
    table.push(Row::new("a commit and its `git push` to a repository on this disk", medians[0], None));
    let against = Some(("`git push`", medians[0], Bound::AtMost(1.3)));
    table.push(Row::new("`record-activity` in a run that this repository keeps", medians[1], against));
    table.push(Row::new("`git fetch` of 30 open runs, nothing new", medians[2], None));
    let against = Some(("`git fetch`", medians[2], Bound::None));
    table.push(Row::new("`resume` of one of them", medians[3], against));
    table.push(Row::new("`hud` beside them, which asks no one", medians[4], None));
}
