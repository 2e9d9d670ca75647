//! What is not committed: flow's own files do not count, and nothing that a repository names is run to find out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Sandbox, answered, run, spawned};

/// Keys of a repository's configuration whose value is a command, each of its own kind.
const COMMANDS: [&str; 37] = [
    "filter.cleaner.clean",
    "filter.cleaner.smudge",
    "filter.processor.process",
    "filter.odd=name.clean",
    "core.fsmonitor",
    "core.pager",
    "pager.status",
    "pager.config",
    "core.editor",
    "sequence.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.shown.command",
    "diff.shown.textconv",
    "interactive.diffFilter",
    "merge.shown.driver",
    "mergetool.shown.cmd",
    "difftool.shown.cmd",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "uploadpack.packObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "gc.recentObjectsHook",
    "tar.shown.command",
    "trailer.shown.command",
    "browser.shown.cmd",
    "man.shown.cmd",
    "guitool.shown.cmd",
    "instaweb.httpd",
    "sendemail.sendmailCmd",
    "imap.tunnel",
];
/// Keys whose value is a command behind an exclamation mark.
const WITH_A_MARK: [&str; 6] =
    ["alias.status", "alias.ls-files", "alias.config", "alias.rev-parse", "alias.symbolic-ref", "submodule.sub.update"];
/// Every hook that git knows.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];
/// Files whose bytes git hands to a filter when they were touched, with the attributes that choose it.
const FILES: [(&str, &str); 8] = [
    ("cleaned", "filter=cleaner diff=shown merge=shown"),
    ("processed", "filter=processor"),
    ("odd", "filter=odd=name"),
    ("included", "filter=included"),
    ("conditional", "filter=conditional"),
    ("of-the-worktree", "filter=worktree"),
    ("required", "filter=required"),
    ("plain", "text=auto"),
];

/// A repository full of commands; each leaves a file of its name in `marks` when it is run.
struct Mined {
    sandbox: Sandbox,
    marks: PathBuf,
}

impl Mined {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let marks = sandbox.path("../marks");
        fs::create_dir(&marks).unwrap();
        let mined = Self { sandbox, marks };
        mined.commit_files();
        mined.add_submodule();
        mined.plant();
        mined
    }

    /// A command that tells that it was run, and answers as a filter does.
    fn command(&self, name: &str) -> String {
        format!("touch '{}/{name}'; cat", self.marks.display())
    }

    fn commit_files(&self) {
        let mut attributes = String::new();
        for (name, chosen) in FILES {
            attributes += &format!("{name} {chosen}\n");
            fs::write(self.sandbox.path(name), format!("{name}\n").repeat(60_000)).unwrap();
        }
        fs::write(self.sandbox.path(".gitattributes"), attributes).unwrap();
        fs::write(self.sandbox.path("changed"), "before\n").unwrap();
        self.sandbox.git(&["add", "--all"]);
        self.sandbox.git(&["commit", "-q", "-m", "files"]);
    }

    /// A submodule with a filter and a monitor of its own.
    fn add_submodule(&self) {
        let git = |args: &[&str]| self.sandbox.git(args);
        git(&["init", "-q", "-b", "main", "../origin"]);
        fs::write(self.sandbox.path("../origin/inner"), "inner\n".repeat(60_000)).unwrap();
        fs::write(self.sandbox.path("../origin/.gitattributes"), "inner filter=inner\n").unwrap();
        git(&["-C", "../origin", "add", "--all"]);
        git(&["-C", "../origin", "commit", "-q", "-m", "inner"]);
        let origin = self.sandbox.path("../origin").display().to_string();
        git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &origin, "sub"]);
        git(&["commit", "-q", "-m", "sub"]);
        git(&["-C", "sub", "config", "filter.inner.clean", &self.command("submodule-filter")]);
        git(&["-C", "sub", "config", "core.fsmonitor", &self.command("submodule-fsmonitor")]);
    }

    fn plant(&self) {
        let git = |args: &[&str]| self.sandbox.git(args);
        let included = self.sandbox.path("../included");
        let conditional = self.sandbox.path("../conditional");
        for (path, filter) in [(&included, "included"), (&conditional, "conditional")] {
            let path = path.to_str().unwrap();
            git(&["config", "--file", path, &format!("filter.{filter}.clean"), &self.command(filter)]);
        }
        for hook in HOOKS {
            for dir in [".git/hooks", "../hooks"] {
                let script = format!("#!/bin/sh\n{}\n", self.command(&format!("hook-{hook}")));
                executable(&self.sandbox.path(dir).join(hook), &script);
            }
        }
        git(&["config", "filter.required.clean", &self.command("required")]);
        git(&["config", "filter.required.required", "true"]);
        git(&["config", "include.path", included.to_str().unwrap()]);
        git(&["config", "includeIf.gitdir:**.path", conditional.to_str().unwrap()]);
        git(&["config", "extensions.worktreeConfig", "true"]);
        git(&["config", "--worktree", "filter.worktree.clean", &self.command("worktree")]);
        git(&["config", "core.hooksPath", self.sandbox.path("../hooks").to_str().unwrap()]);
        for key in COMMANDS {
            git(&["config", key, &self.command(key)]);
        }
        for key in WITH_A_MARK {
            git(&["config", key, &format!("!{}", self.command(key))]);
        }
    }

    /// Touches what git knows, so that it has to look into every file again, and forgets what was run until now.
    fn touch(&self) {
        fs::remove_dir_all(&self.marks).unwrap();
        fs::create_dir(&self.marks).unwrap();
        for name in FILES.iter().map(|(name, _)| *name).chain(["sub/inner"]) {
            let bytes = fs::read(self.sandbox.path(name)).unwrap();
            fs::remove_file(self.sandbox.path(name)).unwrap();
            fs::write(self.sandbox.path(name), bytes).unwrap();
        }
    }

    /// Which commands were run since then.
    fn run(&self) -> BTreeSet<String> {
        let marks = fs::read_dir(&self.marks).unwrap();
        marks.map(|mark| mark.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn executable(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_journal_leaves_no_lock_behind_and_neither_counts_as_a_change() {
    for (journal, named) in
        [(".decisions/issue-7.md", None), ("docs/j.md", Some("docs/j.md")), ("j.md", Some("./j.md"))]
    {
        let sandbox = Sandbox::new();
        let start = ["start", "debug", "--id", "r1", "--issue", "7"];
        sandbox.flow(start.into_iter().chain(named.into_iter().flat_map(|path| ["--journal", path]))).ok();
        let tree = || sandbox.flow(["resume", "r1", "--json"]).ok().json()["working_tree"].clone();
        assert!(sandbox.path(journal).exists());
        assert_eq!(tree(), json!({"state": "clean", "paths": [], "reason": null}), "{journal}");
        let lock = sandbox.path(format!("{journal}.lock"));
        assert!(!lock.exists(), "{journal}");
        // As the original scripts leave one, and a writer that was killed.
        fs::write(&lock, "").unwrap();
        fs::write(sandbox.path(format!("{journal}.orig")), "").unwrap();
        let others = match named {
            Some(_) => json!({"state": "dirty", "paths": [format!("{journal}.orig")], "reason": null}),
            None => json!({"state": "clean", "paths": [], "reason": null}),
        };
        assert_eq!(tree(), others, "{journal}");
    }
}

#[test]
fn the_journal_of_another_open_run_is_no_change_either() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--issue", "7"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2", "--journal", "docs/other.md"]).ok();
    let tree = sandbox.flow(["resume", "r1", "--json"]).ok().json()["working_tree"].clone();
    assert_eq!(tree["paths"], json!([]), "{tree}");
}

#[test]
fn many_that_write_a_journal_at_once_leave_every_note_and_no_lock() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let starts: Vec<_> = (0..12)
        .map(|nth| {
            let mut start = sandbox.flow_command();
            start.args(["start", "debug", "--id", &format!("r{nth}"), "--issue", "7", "--another"]);
            spawned(start)
        })
        .collect();
    for start in starts {
        let started = answered(start).ok();
        assert!(
            started.stderr.starts_with("in phase preflight (1 of 5): ") && started.stderr.lines().count() == 1,
            "{started:?}"
        );
    }
    let text = fs::read_to_string(sandbox.path(".decisions/issue-7.md")).unwrap();
    assert_eq!(text.matches("workflow-run").count(), 12, "{text}");
    let left: Vec<_> =
        fs::read_dir(sandbox.path(".decisions")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["issue-7.md"]);
}

#[test]
fn no_command_that_a_repository_names_is_run() {
    let mined = Mined::new();
    let sandbox = &mined.sandbox;
    // Git itself runs them: otherwise this would prove nothing.
    mined.touch();
    sandbox.command("git").args(["status", "--porcelain"]).output().unwrap();
    let run = mined.run();
    for trap in ["filter.cleaner.clean", "filter.processor.process", "filter.odd=name.clean", "core.fsmonitor"] {
        assert!(run.contains(trap), "git does not run {trap}: {run:?}");
    }
    for trap in ["included", "conditional", "worktree", "required", "submodule-filter", "submodule-fsmonitor"] {
        assert!(run.contains(trap), "git does not run {trap}: {run:?}");
    }
    fs::write(sandbox.path("changed"), "after\n").unwrap();
    fs::write(sandbox.path("new"), "new\n").unwrap();
    for args in [
        &["start", "debug", "--id", "r1", "--issue", "7"][..],
        &["resume", "r1", "--json"],
        &["resume"],
        &["record-activity", "--run-id", "r1", "--id", "one"],
        &["list"],
        &["show", "r1"],
        &["doctor"],
        &["workflow", "list"],
        &["session-end", "--unowned"],
        &["complete", "r1", "--skip-reason", "enough"],
    ] {
        mined.touch();
        let answer = sandbox.flow(args).ok();
        assert_eq!(mined.run(), BTreeSet::new(), "{args:?}: {answer:?}");
    }
    // And it sees what is changed, and nothing else.
    let seen = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(seen["working_tree"], json!({"state": "dirty", "paths": ["changed", "new"], "reason": null}));
    fs::write(sandbox.path("sub/inner"), "changed\n").unwrap();
    let seen = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    assert_eq!(seen["working_tree"]["paths"], json!(["changed", "new", "sub"]));
    assert_eq!(mined.run(), BTreeSet::new());
}

#[test]
fn what_a_partial_clone_left_out_is_not_fetched() {
    let sandbox = Sandbox::new();
    let git = |args: &[&str]| sandbox.git(args);
    let text = "a line that a rename keeps\n".repeat(50);
    fs::write(sandbox.path("old"), &text).unwrap();
    git(&["add", "--all"]);
    git(&["commit", "-q", "-m", "old"]);
    git(&["config", "uploadpack.allowFilter", "true"]);
    let origin = format!("file://{}", sandbox.root().display());
    git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &origin, "../partial"]);
    let partial = sandbox.path("../partial");
    let mark = sandbox.path("../fetched");
    let uploads = format!("touch '{}'; git-upload-pack", mark.display());
    git(&["-C", "../partial", "config", "remote.origin.uploadpack", &uploads]);
    // To see whether it is a rename, git would fetch the old text.
    fs::write(partial.join("new"), text + "and one more\n").unwrap();
    git(&["-C", "../partial", "add", "new"]);
    let flow = |args: &[&str]| {
        let mut command = sandbox.flow_command();
        crate::support::run(
            {
                command.args(args).current_dir(&partial);
                command
            },
            "",
        )
        .ok()
    };
    flow(&["start", "debug", "--id", "r1"]);
    let seen = flow(&["resume", "r1", "--json"]).json();
    assert!(!mark.exists(), "{seen}");
    assert_ne!(seen["working_tree"]["state"], "clean", "{seen}");
    let mut plain = sandbox.command("git");
    plain.args(["status", "--porcelain"]).current_dir(&partial).output().unwrap();
    assert!(mark.exists(), "git fetches nothing here, so this proves nothing");
}

/// A `git` that stops when it is asked for the status, and says by which process.
fn slow_git(sandbox: &Sandbox) -> (std::ffi::OsString, PathBuf) {
    let (bin, mark) = (sandbox.path("../bin"), sandbox.path("../asked"));
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *status*) echo $$ >'{0}.new'; mv '{0}.new' '{0}'; exec sleep 600;; esac\nexec '{1}' \"$@\"\n",
        mark.display(),
        real.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path))).unwrap();
    (path, mark)
}

/// Ends `resume` by `signal` while it waits for git.
fn ended_resume(sandbox: &Sandbox, signal: Signal, git: &(std::ffi::OsString, PathBuf), vary: impl Fn(&mut Command)) {
    let (path, mark) = git;
    let mut resume = sandbox.flow_command();
    resume.args(["resume"]).env("PATH", path).env("TMPDIR", sandbox.path("../tmp"));
    vary(&mut resume);
    let child = spawned(resume);
    let until = Instant::now() + Duration::from_secs(60);
    while !mark.exists() {
        assert!(Instant::now() < until, "git is not asked");
        std::thread::sleep(Duration::from_millis(2));
    }
    // Most gits have answered before it pays to watch for signals.
    while signal != Signal::KILL && !catches(child.id(), signal) {
        assert!(Instant::now() < until, "nothing watches for {signal:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    assert_eq!(answered(child).code, None, "{signal:?}");
    let asked: i32 = fs::read_to_string(mark).unwrap().trim().parse().unwrap();
    if signal == Signal::KILL {
        kill_process(Pid::from_raw(asked).unwrap(), Signal::KILL).unwrap();
    }
    // It is a zombie until something waits for it.
    let state = fs::read_to_string(format!("/proc/{asked}/stat")).unwrap_or_default();
    assert!(signal == Signal::KILL || state.is_empty() || state.contains(") Z "), "{signal:?}: git lives: {state}");
    fs::remove_file(mark).unwrap();
}

/// Whether a process has a handler for a signal.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or_default() >> (signal.as_raw() - 1) & 1 == 1
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_resume_that_a_signal_ends_leaves_nothing_in_the_temporary_directory() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    fs::create_dir(sandbox.path("../tmp")).unwrap();
    let git = slow_git(&sandbox);
    let before = names_in(&sandbox.root());
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        ended_resume(&sandbox, signal, &git, |_| {});
        assert_eq!(names_in(&sandbox.path("../tmp")), [""; 0], "{signal:?}");
    }
    // The same directory was used each time, and is used again.
    let state = sandbox.path("../.local/state/flow");
    let kept: Vec<_> = names_in(&state).into_iter().filter(|name| name.starts_with("git-")).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let tree = || sandbox.flow(["resume", "--json"]).ok().json()["working_tree"].clone();
    assert_eq!(tree()["state"], "clean");
    fs::write(sandbox.path("new"), "").unwrap();
    assert_eq!(tree(), json!({ "state": "dirty", "paths": ["new"], "reason": null }));
    // Whatever became of it, git gets no other configuration and no hooks.
    let kept = state.join(&kept[0]);
    let config = fs::read(kept.join("config")).unwrap();
    fs::write(kept.join("config"), "[core]\n\tfsmonitor = touch /nowhere\n").unwrap();
    assert_eq!(tree()["state"], "dirty");
    assert_eq!(fs::read(kept.join("config")).unwrap(), config);
    fs::create_dir(kept.join("hooks")).unwrap();
    assert_eq!(tree()["state"], "dirty");
    assert!(!kept.join("hooks").exists());
    fs::remove_file(kept.join("info")).unwrap();
    assert_eq!(tree()["state"], "dirty");
    assert!(kept.join("info").symlink_metadata().is_ok());
    fs::remove_file(sandbox.path("new")).unwrap();
    assert_eq!(names_in(&sandbox.root()), before);
    assert_eq!(names_in(&sandbox.path("../tmp")), [""; 0]);
}

#[test]
fn where_no_state_directory_can_be_used_the_next_resume_removes_what_a_dead_one_left() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let tmp = sandbox.path("../tmp");
    fs::create_dir(&tmp).unwrap();
    let git = slow_git(&sandbox);
    let alive = tmp.join(format!("flow-git-{}-abc", std::process::id()));
    fs::create_dir(&alive).unwrap();
    // None is set, or it would be below the project.
    for inside in [false, true] {
        let vary = |resume: &mut Command| {
            resume.env_remove("HOME");
            if inside {
                resume.env("XDG_STATE_HOME", sandbox.path("state/home"));
            }
        };
        ended_resume(&sandbox, Signal::KILL, &git, vary);
        assert_eq!(names_in(&tmp).len(), 2);
        let mut resume = sandbox.flow_command();
        resume.args(["resume", "--json"]).env("TMPDIR", &tmp);
        vary(&mut resume);
        assert_eq!(run(resume, "").ok().json()["working_tree"]["state"], "clean");
        assert_eq!(names_in(&tmp), [alive.file_name().unwrap().to_str().unwrap()]);
        assert!(!sandbox.path("state").exists());
    }
}

#[test]
fn two_hundred_common_directories_are_kept_and_none_that_others_could_change_is_used() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["resume"]).ok();
    let state = sandbox.path("../.local/state/flow");
    let kept = || names_in(&state).into_iter().filter(|name| name.starts_with("git-")).collect::<Vec<_>>();
    let own = kept();
    assert_eq!(own.len(), 1, "{own:?}");
    // What others could change is made anew.
    let dir = state.join(&own[0]);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o770)).unwrap();
    sandbox.flow(["resume"]).ok();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    if crate::support::hostile::is_root() {
        std::os::unix::fs::lchown(&dir, Some(12345), Some(12345)).unwrap();
        sandbox.flow(["resume"]).ok();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&fs::metadata(&dir).unwrap()), 0);
    }
    for n in 0..210 {
        fs::create_dir(state.join(format!("git-{n:016x}"))).unwrap();
    }
    fs::remove_dir_all(&dir).unwrap();
    sandbox.flow(["resume"]).ok();
    assert_eq!(kept().len(), 200);
}

#[test]
fn resume_asks_git_once_of_a_run_that_was_written_here() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    // What git says of its configuration is kept once the file has not changed for 20 ms.
    std::thread::sleep(Duration::from_millis(50));
    sandbox.flow(["resume"]).ok();
    let (bin, asked) = (sandbox.path("../bin"), sandbox.path("../asked"));
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>{}\nPATH=${{PATH#*:}} exec git \"$@\"\n", asked.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let calls = |arg: &str| {
        let mut command = sandbox.flow_command();
        command.arg(arg).env("PATH", &path);
        run(command, "").ok();
        let told = fs::read_to_string(&asked).unwrap_or_default();
        let _ = fs::remove_file(&asked);
        told
    };
    // The run only began, and git does not have it.
    let told = calls("resume");
    assert_eq!(told.lines().count(), 1, "{told}");
    sandbox.record("r1", "preflight", "look");
    let told = calls("resume");
    assert_eq!(told.lines().count(), 1, "{told}");
}
