//! The questions, asked of real repositories.

use super::running::LIMIT;
use super::running::{self, reason};
use super::tree::{PATHS, changed_paths};
use super::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OWN: [&str; 2] = [".flow/", ".decisions/"];

/// The uncommitted changes in `dir` besides those of `own`.
fn changes(git: &Git, dir: &Path, own: &[&str], state: Option<PathBuf>) -> WorkingTree {
    let own = own.iter().map(|&own| own.to_owned()).collect();
    git.ask_for_changes(dir, own, || state).answer()
}

/// A temporary repository, or an empty directory, untouched by the machine's git configuration.
struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("repo")).unwrap();
        Self { dir }
    }

    fn new() -> Self {
        let sandbox = Self::empty();
        sandbox.run(&["init", "--quiet", "--initial-branch=main"]);
        sandbox
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    fn git(&self) -> Git {
        let environment = [
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CEILING_DIRECTORIES", self.dir.path().into()),
            ("HOME", self.dir.path().into()),
        ];
        Git { environment: environment.map(|(name, value)| (name.into(), value)).into(), ..Git::default() }
    }

    fn run(&self, args: &[&str]) {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
        let args: Vec<_> = identity.iter().chain(args).copied().collect();
        let answer = self.git().ask(&self.repo(), &args).unwrap();
        assert!(answer.status.success(), "{args:?}: {}", reason(&answer));
    }

    fn write(&self, path: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a text long enough to be recognised after a rename\n").unwrap();
    }

    fn commit(&self) {
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "--message=x"]);
    }

    fn facts(&self) -> GitFacts {
        self.git().facts(&self.repo(), || self.state())
    }

    /// The user's state directory.
    fn state(&self) -> Option<PathBuf> {
        let state = self.dir.path().join("state");
        fs::create_dir_all(&state).unwrap();
        Some(state)
    }

    fn tree(&self) -> WorkingTree {
        changes(&self.git(), &self.repo(), &OWN, self.state())
    }
}

fn dirty(paths: &[&str]) -> WorkingTree {
    WorkingTree::Dirty(paths.iter().map(|path| (*path).to_owned()).collect())
}

#[test]
fn a_new_repository_has_a_branch_and_no_commit() {
    let sandbox = Sandbox::new();
    let facts = sandbox.facts();
    assert_eq!(facts.repo.as_deref(), Some("repo"));
    assert_eq!(facts.branch.as_deref(), Some("main"));
    assert_eq!(facts.head, None);
    assert_eq!(sandbox.tree(), WorkingTree::Clean);
}

#[test]
fn a_commit_is_known_also_when_no_branch_is() {
    let sandbox = Sandbox::new();
    sandbox.write("a");
    sandbox.commit();
    sandbox.run(&["tag", "main"]);
    sandbox.run(&["remote", "add", "origin", "git@example.org:owner/name.git"]);
    let facts = sandbox.facts();
    assert_eq!(facts.repo.as_deref(), Some("owner/name"));
    assert_eq!(facts.branch.as_deref(), Some("main"));
    let head = facts.head.unwrap();
    assert_eq!(head.len(), 40);
    sandbox.run(&["checkout", "--quiet", "--detach"]);
    let facts = sandbox.facts();
    assert!(head.starts_with(facts.branch.as_deref().unwrap()), "{facts:?}");
    assert_eq!(facts.head, Some(head));
}

#[test]
fn the_files_of_a_repository_say_what_git_says_is_checked_out() {
    for form in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
        let sandbox = Sandbox::empty();
        sandbox.run(&[&["init", "--quiet", "--initial-branch=main"], form].concat());
        let agree = |what: &str| {
            let git = sandbox.git();
            let (told, head) = (git.head_from_git(&sandbox.repo()), git.head(&sandbox.repo()));
            assert_eq!(head.is_none(), form.iter().any(|form| form.contains("reftable")), "{what} {form:?}");
            assert_eq!(head.unwrap_or_else(|| told.clone()), told, "{what} {form:?}");
            assert_eq!(sandbox.facts().head, told.commit, "{what} {form:?}");
        };
        agree("no commit yet");
        sandbox.write("a");
        sandbox.commit();
        agree("a commit");
        sandbox.run(&["switch", "--quiet", "-c", "feat/über"]);
        agree("a name with a slash");
        sandbox.run(&["pack-refs", "--all"]);
        agree("packed references");
        sandbox.write("b");
        sandbox.commit();
        agree("a commit beside packed references");
        sandbox.run(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        sandbox.run(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
        agree("another name of a branch");
        sandbox.run(&["checkout", "--quiet", "--detach", "main"]);
        agree("no branch");
    }
}

#[test]
fn a_run_is_at_its_branch_or_at_the_commit_that_it_noted() {
    let head = |branch: Option<&str>| Head { branch: branch.map(str::to_owned), commit: Some("0123456789".repeat(4)) };
    assert!(head(Some("main")).is_at("main") && !head(Some("main")).is_at("0123456"));
    assert!(head(None).is_at("0123456") && head(None).is_at("01234567890") && !head(None).is_at("main"));
    assert!(!head(None).is_at("0") && !head(None).is_at(""), "too short to name a commit");
    assert_eq!(head(None).name().as_deref(), Some("0123456"));
}

#[test]
fn what_is_no_repository_has_nothing_checked_out() {
    let sandbox = Sandbox::new();
    let head = sandbox.repo().join(".git/HEAD");
    for text in ["", "ref: ../../etc/passwd", "ref: refs/heads/../../config", "nonsense", "ref: "] {
        fs::write(&head, text).unwrap();
        let commit = sandbox.git().head(&sandbox.repo()).and_then(|head| head.commit);
        assert_eq!(commit, None, "{text}");
    }
    fs::remove_file(&head).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &head, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(sandbox.git().head(&sandbox.repo()), None, "it has no writer");
}

#[test]
fn a_copy_is_made_of_a_whole_commit_id_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a");
    sandbox.commit();
    let (git, repo) = (sandbox.git(), sandbox.repo());
    let commit = git.head(&repo).and_then(|head| head.commit).unwrap();
    assert!(git.copy_of(&repo, &commit).unwrap().top().join("a").exists());
    for other in ["HEAD", "--orphan=x", "-f", "", &commit[..39]] {
        assert_eq!(git.copy_of(&repo, other).unwrap_err(), "a commit has no valid id", "{other}");
    }
}

#[test]
fn a_worktree_and_a_subdirectory_find_their_top() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/dir/a");
    sandbox.commit();
    sandbox.run(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let side = sandbox.dir.path().join("side");
    assert!(side.join(".git").is_file());
    let git = sandbox.git();
    assert_eq!(git.top(&side.join("sub/dir")), Some(side.clone()));
    assert_eq!(git.top(&sandbox.repo().join("sub")), Some(sandbox.repo()));
    assert_eq!(git.facts(&side.join("sub"), || None).branch.as_deref(), Some("side"));
    fs::write(side.join("new"), "x").unwrap();
    assert_eq!(changes(&git, &side.join("sub/dir"), &OWN, None), dirty(&["new"]));
    assert_eq!(sandbox.tree(), WorkingTree::Clean);
}

#[test]
fn the_files_of_a_repository_say_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/dir/a");
    sandbox.commit();
    sandbox.run(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    sandbox.run(&["init", "--quiet", "--separate-git-dir=../apart.git", "../apart"]);
    sandbox.run(&["init", "--quiet", "module"]);
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
    sandbox.run(&[&["-C", "module"], &identity[..], &["commit", "--quiet", "--allow-empty", "--message=x"]].concat());
    sandbox.run(&["submodule", "--quiet", "add", "./module", "module"]);
    sandbox.run(&["submodule", "--quiet", "absorbgitdirs"]);
    assert!(sandbox.repo().join("module/.git").is_file());
    std::os::unix::fs::symlink(sandbox.repo(), sandbox.dir.path().join("link")).unwrap();
    let git = Git { environment: sandbox.git().environment, ..Git::default() };
    for place in ["repo", "repo/sub/dir", "side/sub", "apart", "repo/module", "link/sub"] {
        let dir = sandbox.dir.path().join(place);
        let deadline = Instant::now() + LIMIT;
        let told = git.places_from_git(&dir, deadline).unwrap();
        assert_eq!(git.places(&dir).as_ref(), Some(&told), "{place}");
    }
    let no_repository = sandbox.dir.path().join("other");
    fs::create_dir_all(no_repository.join(".git/refs")).unwrap();
    assert_eq!(git.places(&no_repository), None);
}

#[test]
fn a_working_tree_that_is_elsewhere_is_asked_of_git() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("new"), "x").unwrap();
    sandbox.run(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    assert_eq!(sandbox.tree(), dirty(&["new"]));
}

#[test]
fn only_changes_outside_flows_files_count() {
    let sandbox = Sandbox::new();
    sandbox.write("a");
    sandbox.commit();
    sandbox.write(".flow/runs/r/run.yaml");
    sandbox.write(".decisions/issue-1.md");
    assert_eq!(sandbox.tree(), WorkingTree::Clean);
    sandbox.write("new/b");
    fs::write(sandbox.repo().join("a"), "changed").unwrap();
    assert_eq!(sandbox.tree(), dirty(&["a", "new/b"]));
    assert_eq!(
        changes(&sandbox.git(), &sandbox.repo(), &["new/"], None),
        dirty(&["a", ".decisions/issue-1.md", ".flow/runs/r/run.yaml"])
    );
}

#[test]
fn a_staged_rename_counts_where_the_file_is_now() {
    let sandbox = Sandbox::new();
    sandbox.write("old name");
    sandbox.write(".flow/x");
    sandbox.commit();
    sandbox.run(&["mv", "old name", "neuer Name ü\n日本"]);
    assert_eq!(sandbox.tree(), dirty(&["neuer Name ü\n日本"]));
    sandbox.run(&["config", "status.renames", "false"]);
    assert_eq!(sandbox.tree(), dirty(&["neuer Name ü\n日本"]));
    // What is flow's own is not looked at: there the file has gone.
    sandbox.run(&["mv", "neuer Name ü\n日本", ".flow/y"]);
    assert_eq!(sandbox.tree(), dirty(&["old name"]));
    sandbox.run(&["mv", ".flow/x", "x"]);
    assert_eq!(sandbox.tree(), dirty(&["x"]), "it is where the file is now");
}

#[test]
fn at_most_a_thousand_paths_are_listed() {
    let sandbox = Sandbox::new();
    for n in 0..PATHS + 5 {
        fs::write(sandbox.repo().join(format!("f{n}")), "").unwrap();
    }
    let WorkingTree::Dirty(paths) = sandbox.tree() else {
        panic!("{:?}", sandbox.tree());
    };
    assert_eq!(paths.len(), PATHS);
}

#[test]
fn what_cannot_be_told_is_unknown_with_a_reason() {
    let unknown = |git: &Git, dir: &Path| match changes(git, dir, &OWN, None) {
        WorkingTree::Unknown(reason) => reason,
        known => panic!("{known:?}"),
    };
    let outside = Sandbox::empty();
    assert_eq!(unknown(&outside.git(), &outside.repo()), "not a git repository");
    assert_eq!(outside.facts(), GitFacts { repo: Some("repo".to_owned()), ..GitFacts::default() });

    let no_path = "x/".repeat(5000);
    assert_eq!(outside.git().facts(Path::new(&no_path), || None), GitFacts::default(), "it was not looked for");

    let sandbox = Sandbox::new();
    let missing = Git::new("no-such-git");
    assert_eq!(unknown(&missing, &sandbox.repo()), "there is no program `no-such-git`");
    assert_eq!(missing.facts(&sandbox.repo(), || None).repo.as_deref(), Some("repo"));

    // It has no writer, so a reader waits for one.
    let config = sandbox.repo().join(".git/config");
    fs::remove_file(&config).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &config, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let mut hurried = sandbox.git();
    hurried.limit = Duration::from_millis(50);
    assert_eq!(unknown(&hurried, &sandbox.repo()), "git took longer than 0.05 s");
    let branch = Some("main".to_owned());
    let facts = GitFacts { branch, ..GitFacts::default() };
    assert_eq!(hurried.facts(&sandbox.repo(), || None), facts, "it has a name that was not given to it");

    fs::write(outside.repo().join(".git"), "gitdir: /nowhere\n").unwrap();
    let reason = unknown(&outside.git(), &outside.repo());
    assert!(reason.contains("/nowhere") && !reason.contains('\n'), "{reason}");
}

#[test]
fn a_git_that_is_slow_or_says_nothing_more_and_stays_is_not_waited_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let program = sandbox.dir.path().join("slow");
    let silent = "git took longer than 0.3 s";
    let said = "git took longer than 0.3 s; it said: no route to the host";
    for (script, wanted) in [
        ("exec sleep 5", silent),
        ("exec sleep 5 >&- 2>&-", silent),
        ("sleep 5 & exit 0", silent),
        ("echo 'fatal: no route to the host' >&2; exec sleep 5", said),
    ] {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git { limit: Duration::from_millis(300), ..Git::new(&program) };
        let Err(silence) = git.ask(&sandbox.repo(), &["status"]) else { panic!("{script} ended") };
        assert_eq!(silence.why(), wanted, "{script}");
    }
}

#[test]
fn of_a_longer_limit_only_a_git_that_does_nothing_is_given_up_before() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let program = sandbox.dir.path().join("idle");
    let write = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let git = || Git { limit: Duration::from_secs(60), idle: Duration::from_millis(300), ..Git::new(&program) };
    for script in ["exec sleep 60", "echo begun; exec sleep 60"] {
        write(script);
        let began = Instant::now();
        let Err(silence) = git().ask(&sandbox.repo(), &["ls-files"]) else { panic!("{script} ended") };
        assert_eq!(silence.why(), "git took longer than 0.3 s", "{script}");
        assert!(began.elapsed() < Duration::from_secs(20), "{script}");
    }
    // It takes longer than it may do nothing, and says something all the time.
    write("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done");
    assert_eq!(git().ask(&sandbox.repo(), &["ls-files"]).map(|answer| answer.out.len()).unwrap_or(0), 16);
    // One that waits for another machine does nothing itself.
    let mut command = std::process::Command::new("sleep");
    let limit = Duration::from_secs(60);
    let asked = running::RunningGit::start(command.arg("0.6"), std::process::Stdio::null(), limit).unwrap();
    assert!(asked.answer(Instant::now() + limit).is_ok_and(|answer| answer.status.success()));
}

#[test]
fn a_git_that_did_not_answer_about_a_checkout_is_not_asked_about_it_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let (program, log) = (sandbox.dir.path().join("slow"), sandbox.dir.path().join("log"));
    fs::write(&program, format!("#!/bin/sh\necho x >> {}\nexec sleep 5\n", log.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let git = Git { limit: Duration::from_millis(300), ..Git::new(&program) };
    let why = |git: &Git, dir: &Path| git.ask(dir, &["status"]).map(drop).unwrap_err().why();
    assert_eq!(why(&git, &sandbox.repo()), "git took longer than 0.3 s");
    // Those that were made of it know it as well.
    for again in [&git, &git.clone()] {
        assert_eq!(why(again, &sandbox.repo()), "git did not answer before, so it is not asked again");
    }
    let other = sandbox.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    assert_eq!(why(&git, &other), "git took longer than 0.3 s");
    assert_eq!(fs::read_to_string(&log).unwrap(), "x\nx\n");
}

#[test]
fn a_git_that_says_much_is_read_to_a_limit_and_its_complaints_are_no_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let program = sandbox.dir.path().join("talker");
    let says = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Git::new(&program).ask(&sandbox.repo(), &["status"]).unwrap()
    };
    let answer = says("yes a | head -c 200000 >&2; yes b | head -c 200000; yes a | head -c 200000 >&2");
    assert!(answer.status.success());
    assert_eq!((answer.out.len(), answer.complaint.len()), (200_000, 4 << 10));

    let endless = says("exec yes");
    assert!(!endless.status.success() && running::is_cut(&endless.out));
    assert_eq!(endless.out.len(), 8 << 20);
}

#[test]
fn half_an_entry_is_not_taken_for_a_path() {
    let paths = |out: &[u8]| changed_paths(out, &[]).into_iter().map(|changed| changed.path).collect::<Vec<_>>();
    assert_eq!(paths(b"?? a\0R  new\0old\0 M b"), ["a", "new"]);
    assert!(paths(b"").is_empty());
    assert!(paths(b"?? a").is_empty());
}

/// What git was asked, a line each.
fn asked(sandbox: &Sandbox, ask: impl FnOnce(&Git)) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let (program, log) = (sandbox.dir.path().join("git"), sandbox.dir.path().join("log"));
    fs::write(&program, format!("#!/bin/sh\necho \"$*\" >> {}\nexec git \"$@\"\n", log.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = fs::remove_file(&log);
    ask(&Git { program: program.into(), ..sandbox.git() });
    fs::read_to_string(log).unwrap_or_default()
}

/// So that a kept answer about a file that was just written counts.
fn settle() {
    std::thread::sleep(Duration::from_millis(50));
}

#[test]
fn the_configuration_is_asked_for_once() {
    let sandbox = Sandbox::new();
    sandbox.run(&["remote", "add", "origin", "git@example.org:owner/name.git"]);
    sandbox.write("a");
    sandbox.commit();
    settle();
    let tree = |git: &Git| assert_eq!(changes(git, &sandbox.repo(), &OWN, sandbox.state()), WorkingTree::Clean);
    let first = asked(&sandbox, tree);
    assert_eq!(first.lines().filter(|line| line.contains(" config ")).count(), 1, "{first}");
    let next = asked(&sandbox, tree);
    assert_eq!(next.lines().count(), 1, "{next}");
    assert!(!next.contains(" config "), "{next}");
    let remote = |git: &Git| {
        let facts = git.facts(&sandbox.repo(), || sandbox.state());
        assert_eq!(facts.repo.as_deref(), Some("owner/name"));
    };
    assert_eq!(asked(&sandbox, remote), "");
    // Only the user may read it.
    use std::os::unix::fs::MetadataExt as _;
    let kept = fs::read_dir(sandbox.state().unwrap()).unwrap().flatten();
    let kept: Vec<_> = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("asked-")).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_the_configuration_says_now_counts_whatever_it_said_before() {
    let sandbox = Sandbox::new();
    sandbox.write("a");
    sandbox.commit();
    let repo = sandbox.repo();
    let config = repo.join(".git/config");
    let other = sandbox.dir.path().join("other");
    sandbox.write("b.log");
    let excludes = sandbox.dir.path().join("excludes");
    fs::write(&excludes, "*.log\n").unwrap();
    let excludes = excludes.to_str().unwrap().to_owned();
    let plain = fs::read_to_string(&config).unwrap();
    let excluding = format!("{plain}[core]\n\texcludesFile = {excludes}\n");
    type Step<'s> = (&'s str, Box<dyn Fn() + 's>);
    let steps: [Step<'_>; 9] = [
        ("nothing", Box::new(|| {})),
        ("a key by git", Box::new(|| sandbox.run(&["config", "core.excludesFile", &excludes]))),
        ("without it", Box::new(|| sandbox.run(&["config", "--unset", "core.excludesFile"]))),
        ("a key by hand", Box::new(|| fs::write(&config, &excluding).unwrap())),
        ("by hand as before", Box::new(|| fs::write(&config, &plain).unwrap())),
        (
            "an included file",
            Box::new(|| {
                fs::write(&other, format!("[core]\n\texcludesFile = {excludes}\n")).unwrap();
                fs::write(&config, format!("{plain}[Include]\n\tpath = {}\n", other.display())).unwrap();
            }),
        ),
        ("the included file changed", Box::new(|| fs::write(&other, "[core]\n").unwrap())),
        (
            "one of the worktree",
            Box::new(|| {
                fs::write(&config, &plain).unwrap();
                sandbox.run(&["config", "extensions.worktreeConfig", "true"]);
                sandbox.run(&["config", "--worktree", "core.excludesFile", &excludes]);
            }),
        ),
        ("that one changed", Box::new(|| sandbox.run(&["config", "--worktree", "--unset", "core.excludesFile"]))),
    ];
    let expected = [false, true, false, true, false, true, false, true, false];
    for ((what, step), hides) in steps.iter().zip(expected) {
        step();
        for wait in [false, true, true] {
            if wait {
                settle();
            }
            let now = if hides { WorkingTree::Clean } else { dirty(&["b.log"]) };
            assert_eq!(sandbox.tree(), now, "{what}, {wait}");
        }
    }
}

#[test]
fn a_kept_answer_that_another_may_have_written_is_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.run(&["remote", "add", "origin", "git@example.org:owner/name.git"]);
    settle();
    assert_eq!(sandbox.facts().repo.as_deref(), Some("owner/name"));
    let state = sandbox.state().unwrap();
    let kept = fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&kept).unwrap();
    let forged = String::from_utf8(whole.clone()).unwrap().replace("owner/name", "other/evil");
    let name = || sandbox.facts().repo.unwrap();
    fs::write(&kept, &forged).unwrap();
    assert_eq!(name(), "other/evil", "the user's own file is the user's");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(name(), "owner/name");
    for damage in [&b""[..], b"v1", &whole[..whole.len() / 4], b"v4 []\n"] {
        fs::write(&kept, damage).unwrap();
        assert_eq!(name(), "owner/name");
    }
    fs::remove_file(&kept).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &kept).unwrap();
    assert_eq!(name(), "owner/name");
}

#[test]
fn an_address_with_a_password_is_not_kept() {
    let sandbox = Sandbox::new();
    sandbox.run(&["remote", "add", "origin", "https://example.org/owner/name.git"]);
    let kept = || fs::read_dir(sandbox.state().unwrap()).unwrap().count();
    for (address, is_kept) in [
        ("https://name:secret@example.org/owner/name.git", false),
        ("https://example.org/owner/name.git", true),
        ("https://example.org/owner/name.git?token=secret", false),
        ("ssh://git@example.org/owner/name.git", true),
        ("https://token@example.org/owner/name.git", false),
    ] {
        sandbox.run(&["remote", "set-url", "origin", address]);
        settle();
        for _ in 0..2 {
            assert_eq!(sandbox.facts().repo.as_deref(), Some("owner/name"));
        }
        assert_eq!(kept(), usize::from(is_kept), "{address}");
    }
    // An earlier version kept it.
    sandbox.run(&["remote", "set-url", "origin", "https://example.org/owner/name.git"]);
    settle();
    sandbox.facts();
    let file = fs::read_dir(sandbox.state().unwrap()).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen("v4", "v3", 1)).unwrap();
    sandbox.run(&["remote", "set-url", "origin", "https://name:secret@example.org/owner/name.git"]);
    settle();
    sandbox.facts();
    assert_eq!(kept(), 0);
}

#[test]
fn many_references_are_put_into_one_file_and_none_is_lost() {
    let sandbox = Sandbox::empty();
    let bare = BareRepository::new(sandbox.git(), sandbox.dir.path().join("bare"), String::new(), None);
    bare.ensure().unwrap();
    let commit = bare.commit(None, &[], "x\n", 0).unwrap();
    let place = sandbox.dir.path().join("bare/refs/flow/over");
    for (upto, left) in [(200, 200), (300, 0)] {
        let names = (0..upto).map(|nth| format!("refs/flow/over/r{nth}"));
        let changes = names.map(|name| RefChange { name, from: None, to: Some(commit.clone()) });
        bare.set_refs(&changes.collect::<Vec<_>>()).unwrap();
        bare.pack_refs("refs/flow/over").unwrap();
        assert_eq!(fs::read_dir(&place).map_or(0, Iterator::count), left);
        assert_eq!(bare.refs(&["refs/flow/over"]).unwrap().len(), upto);
    }
}
