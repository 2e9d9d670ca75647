//! The digest, asked of real checkouts after every kind of edit.
#![expect(clippy::disallowed_methods, reason = "tests set up files directly, and run git as a user does")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::host::git::{Git, TreeFiles};
use crate::host::tree::cache::KnownTree;
use crate::host::tree::digest::{Tree, read_tree};
use crate::model::DiskTime;

/// A checkout with a cache, untouched by the machine's configuration of git.
struct Checkout {
    dir: tempfile::TempDir,
    cache: Vec<u8>,
}

impl Checkout {
    /// A checkout with a few committed files.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/.flow")).unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        let checkout = Self { dir, cache: Vec::new() };
        checkout.git(&["init", "--quiet", "--initial-branch=main"]);
        checkout.write("a", "one\n");
        checkout.write("dir/b", "two\n");
        checkout.write(".gitignore", "*.ign\n");
        checkout.write(".flow/x", "x");
        checkout.commit();
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("repo").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        self.git_in("", args);
    }

    fn git_in(&self, dir: &str, args: &[&str]) {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
        let out = Command::new("git")
            .arg("-C")
            .arg(self.path(dir))
            .args(identity)
            .args(args)
            .env_clear()
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    fn commit(&self) {
        self.commit_in("");
    }

    fn commit_in(&self, dir: &str) {
        self.git_in(dir, &["add", "--all"]);
        self.git_in(dir, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    }

    fn listed(&self) -> TreeFiles {
        let (git, state) = self.plain_git();
        let own = [".flow/".to_owned()];
        let (listed, _) = git.tree_files(&self.path(""), &own, || state.clone()).unwrap().unwrap();
        // The names alone are found in another way.
        assert_eq!(git.ask_for_files(&self.path(""), &own, || state).unwrap().unwrap().answer().unwrap(), listed);
        listed
    }

    fn plain_git(&self) -> (Git, Option<PathBuf>) {
        let environment = [
            ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null").to_owned()),
            ("GIT_CONFIG_NOSYSTEM", OsStr::new("1").to_owned()),
            ("HOME", self.dir.path().as_os_str().to_owned()),
        ];
        let environment = environment.map(|(name, value)| (name.into(), value)).into();
        let git = Git { environment, ..Git::default() };
        (git, Some(self.dir.path().join("state")))
    }

    fn tree(&mut self) -> Tree {
        let listed = self.listed();
        self.read(&listed)
    }

    fn read(&mut self, listed: &TreeFiles) -> Tree {
        let marker = self.dir.path().join("marker");
        fs::write(&marker, "").unwrap();
        let meta = fs::metadata(&marker).unwrap();
        let now = DiskTime { changed: (meta.ctime(), meta.ctime_nsec()), device: meta.dev() };
        let (tree, cache) = read_tree(listed, &KnownTree::of(&self.cache), Some(now));
        let (cold, _) = read_tree(listed, &KnownTree::default(), None);
        assert_eq!(tree.sha256(), cold.sha256(), "the cache must not change the digest");
        if let Some(cache) = cache {
            self.cache = cache;
        }
        tree
    }

    fn digest(&mut self) -> String {
        self.tree().sha256()
    }

    fn is_clean(&self) -> bool {
        let (git, state) = self.plain_git();
        let own = [".flow/".to_owned()];
        let (listed, changes) = git.tree_files(&self.path(""), &own, || state.clone()).unwrap().unwrap();
        assert_eq!(git.tree_changes(&listed, &own, || state.clone()).unwrap(), changes);
        changes.is_clean && self.edited_unseen().is_empty()
    }

    /// The files whose edits git does not see.
    fn edited_unseen(&self) -> Vec<String> {
        let (git, state) = self.plain_git();
        let (listed, changes) =
            git.tree_files(&self.path(""), &[".flow/".to_owned()], || state.clone()).unwrap().unwrap();
        let (tree, _) = read_tree(&listed, &KnownTree::default(), None);
        let mut edited = Vec::new();
        for index in &changes.indexed {
            let suspect = tree.edited_unseen(index);
            edited.extend(git.edited_files(&listed.top, index, &suspect, state.as_deref()).unwrap().paths);
        }
        edited.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }

    /// Runs `edit` until it is within the second in which `path` was changed before and committed in `repository`. All that is
    /// older than a day.
    fn edit_within_a_second(&self, repository: &str, path: &str, edit: impl Fn(&Self)) {
        let second = |checkout: &Self| checkout.path(path).symlink_metadata().unwrap().ctime();
        for at in 0..20 {
            self.write(path, &format!("{at:02}\n"));
            self.age(path);
            let before = second(self);
            self.git_in(repository, &["commit", "--quiet", "--all", "--allow-empty", "--message=x"]);
            edit(self);
            self.age(path);
            if second(self) == before {
                return;
            }
        }
        panic!("a second is too short");
    }

    fn age(&self, path: &str) {
        let file = File::options().write(true).open(self.path(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(std::time::UNIX_EPOCH)).unwrap();
    }

    /// Checks that `edit` changes the digest in `paths`, and that `undo` brings it back.
    fn changes(&mut self, paths: &[&str], edit: impl FnOnce(&Self), undo: impl FnOnce(&Self)) {
        let before = self.tree();
        edit(self);
        let after = self.tree();
        assert_eq!(before.differences(&after), paths);
        assert_eq!(before.sha256() == after.sha256(), paths.is_empty());
        undo(self);
        assert_eq!(self.digest(), before.sha256(), "{paths:?}");
    }
}

#[test]
fn an_edit_that_keeps_size_and_modification_time_is_seen() {
    let mut checkout = Checkout::new();
    let modified = fs::metadata(checkout.path("a")).unwrap().modified().unwrap();
    let rewrite = |checkout: &Checkout, text: &str| {
        checkout.write("a", text);
        let file = File::options().write(true).open(checkout.path("a")).unwrap();
        file.set_times(FileTimes::new().set_modified(modified)).unwrap();
    };
    checkout.changes(&["a"], |checkout| rewrite(checkout, "eno\n"), |checkout| rewrite(checkout, "one\n"));
}

#[test]
fn an_edit_that_git_does_not_see_is_not_clean() {
    let checkout = Checkout::new();
    checkout.edit_within_a_second("", "a", |checkout| checkout.write("a", "xx\n"));
    let (git, state) = checkout.plain_git();
    let seen = git.tree_files(&checkout.path(""), &[".flow/".to_owned()], || state).unwrap().unwrap().1;
    assert!(seen.is_clean, "git sees it");
    assert_eq!(checkout.edited_unseen(), ["a"]);
    assert!(!checkout.is_clean());
    checkout.commit();
    assert!(!checkout.is_clean(), "git does not see it when it commits either");
    // The same bytes once more are not an edit.
    let name = "dir/b\n\t\"";
    checkout.write(name, "x");
    checkout.git(&["add", "--all"]);
    checkout.edit_within_a_second("", name, |checkout| {
        let text = fs::read(checkout.path(name)).unwrap();
        fs::write(checkout.path(name), text).unwrap();
    });
    assert_eq!(checkout.edited_unseen(), ["a"]);
    checkout.edit_within_a_second("", name, |checkout| checkout.write(name, "xx\n"));
    assert_eq!(checkout.edited_unseen(), ["a", name]);
}

#[test]
fn edits_within_a_tick_of_the_clock_are_seen() {
    let mut checkout = Checkout::new();
    let listed = checkout.listed();
    let mut seen = std::collections::BTreeSet::new();
    for at in 0..200 {
        fs::write(checkout.path("a"), format!("{at:03}")).unwrap();
        assert!(seen.insert(checkout.read(&listed).sha256()), "edit {at} is not seen");
    }
}

#[test]
fn what_changed_in_the_tick_in_which_a_look_begins_is_not_kept_for_the_next_one() {
    let checkout = Checkout::new();
    checkout.write("within-a-tick", "x");
    let listed = checkout.listed();
    let meta = fs::metadata(checkout.path("within-a-tick")).unwrap();
    for (later, is_kept) in [(0, false), (1, true)] {
        let began = DiskTime { changed: (meta.ctime(), meta.ctime_nsec() + later), device: meta.dev() };
        let cache = read_tree(&listed, &KnownTree::default(), Some(began)).1.unwrap_or_default();
        assert_eq!(memchr::memmem::find(&cache, b"within-a-tick").is_some(), is_kept, "{later} ns later");
    }
}

#[test]
fn names_kinds_and_rights_count() {
    let mut checkout = Checkout::new();
    let rename = |from: &'static str, to: &'static str| {
        move |checkout: &Checkout| fs::rename(checkout.path(from), checkout.path(to)).unwrap()
    };
    checkout.changes(&["a", "c"], rename("a", "c"), rename("c", "a"));
    checkout.changes(&["A", "a"], rename("a", "A"), rename("A", "a"));
    let mode = |mode: u32| {
        move |checkout: &Checkout| {
            fs::set_permissions(checkout.path("a"), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    checkout.changes(&["a"], mode(0o755), mode(0o644));
    // Other rights than the one to run it are not in a commit either.
    checkout.changes(&[], mode(0o600), mode(0o644));
    let relink = |target: &'static str| {
        move |checkout: &Checkout| {
            let _ = fs::remove_file(checkout.path("link"));
            symlink(target, checkout.path("link")).unwrap();
        }
    };
    relink("a")(&checkout);
    checkout.changes(&["link"], relink("dir/b"), relink("a"));
    // A link to a file with the same bytes is another thing.
    let replaced = |checkout: &Checkout| {
        fs::remove_file(checkout.path("link")).unwrap();
        checkout.write("link", "a");
    };
    checkout.changes(&["link"], replaced, relink("a"));
}

#[test]
fn a_file_becomes_a_directory_and_a_directory_a_link() {
    let mut checkout = Checkout::new();
    let edit = |checkout: &Checkout| {
        fs::remove_file(checkout.path("a")).unwrap();
        checkout.write("a/in", "one\n");
    };
    let undo = |checkout: &Checkout| {
        fs::remove_dir_all(checkout.path("a")).unwrap();
        checkout.write("a", "one\n");
    };
    checkout.changes(&["a", "a/in"], edit, undo);
    // The files behind the link are not in the tree, although their paths lead to files.
    let edit = |checkout: &Checkout| {
        fs::rename(checkout.path("dir"), checkout.path("other.ign")).unwrap();
        symlink("other.ign", checkout.path("dir")).unwrap();
    };
    let undo = |checkout: &Checkout| {
        fs::remove_file(checkout.path("dir")).unwrap();
        fs::rename(checkout.path("other.ign"), checkout.path("dir")).unwrap();
    };
    checkout.changes(&["dir", "dir/b"], edit, undo);
}

#[test]
fn no_flag_of_the_index_hides_an_edit() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let mut checkout = Checkout::new();
        assert!(checkout.is_clean());
        checkout.git(&["update-index", flag, "a"]);
        checkout.changes(&["a"], |checkout| checkout.write("a", "two\n"), |checkout| checkout.write("a", "one\n"));
        assert!(!checkout.is_clean(), "what is hidden may differ from the commit");
    }
    let mut checkout = Checkout::new();
    checkout.write("new", "x");
    let add = |checkout: &Checkout| checkout.git(&["add", "--intent-to-add", "new"]);
    checkout.changes(&[], add, |checkout| checkout.git(&["reset", "--quiet"]));
    assert!(!checkout.is_clean());
}

#[test]
fn ignored_files_and_those_of_flow_do_not_count() {
    let mut checkout = Checkout::new();
    let before = checkout.digest();
    checkout.write("x.ign", "1");
    checkout.write(".flow/runs/r/run.yaml", "1");
    assert_eq!(checkout.digest(), before);
    assert!(checkout.is_clean());
    checkout.commit();
    assert_eq!(checkout.digest(), before);
    checkout.write("dir/.flow/of-another", "1");
    assert_ne!(checkout.digest(), before);
}

#[test]
fn commits_stashes_and_branches_change_only_what_is_on_the_disk() {
    let mut checkout = Checkout::new();
    let clean = checkout.digest();
    checkout.write("a", "edited\n");
    checkout.write("new", "x");
    let dirty = checkout.digest();
    checkout.git(&["stash", "push", "--quiet", "--include-untracked"]);
    assert_eq!(checkout.digest(), clean);
    checkout.git(&["stash", "pop", "--quiet"]);
    assert_eq!(checkout.digest(), dirty);
    checkout.git(&["checkout", "--quiet", "-b", "other"]);
    checkout.commit();
    assert_eq!(checkout.digest(), dirty, "a commit changes no file");
    assert!(checkout.is_clean());
    checkout.git(&["checkout", "--quiet", "main"]);
    assert_eq!(checkout.digest(), clean);
    checkout.git(&["checkout", "--quiet", "other"]);
    assert_eq!(checkout.digest(), dirty);
}

#[test]
fn filters_and_line_ends_change_nothing_and_run_nothing() {
    let mut checkout = Checkout::new();
    checkout.write(".gitattributes", "*.lfs filter=lfs -text\n*.txt eol=crlf\n*.f filter=mark\n");
    checkout.write("a.txt", "one\r\ntwo\r\n");
    checkout.write("b.lfs", "a large file\n");
    checkout.write("c.f", "x\n");
    checkout.commit();
    let ran = checkout.path("ran.ign");
    let mark = format!("touch {}; cat", ran.display());
    for key in ["filter.mark.clean", "filter.mark.smudge", "filter.lfs.clean", "core.fsmonitor"] {
        checkout.git(&["config", key, &mark]);
    }
    for name in ["a.txt", "b.lfs", "c.f"] {
        let touch = |checkout: &Checkout| {
            let text = fs::read(checkout.path(name)).unwrap();
            fs::write(checkout.path(name), text).unwrap();
        };
        checkout.changes(&[], touch, |_| ());
    }
    let unix = |checkout: &Checkout| checkout.write("a.txt", "one\ntwo\n");
    checkout.changes(&["a.txt"], unix, |checkout| checkout.write("a.txt", "one\r\ntwo\r\n"));
    let edit = |checkout: &Checkout| checkout.write("b.lfs", "a larger file\n");
    checkout.changes(&["b.lfs"], edit, |checkout| checkout.write("b.lfs", "a large file\n"));
    assert!(!ran.exists(), "a command of the repository's configuration ran");
}

#[test]
fn names_need_not_be_text() {
    let mut checkout = Checkout::new();
    let name = |checkout: &Checkout, byte: u8| checkout.path("").join(OsStr::from_bytes(&[b'n', byte, b'\n']));
    fs::write(name(&checkout, 0xff), "1").unwrap();
    let rename =
        |from: u8, to: u8| move |checkout: &Checkout| fs::rename(name(checkout, from), name(checkout, to)).unwrap();
    checkout.changes(&["n\\xfe\n", "n\\xff\n"], rename(0xff, 0xfe), rename(0xfe, 0xff));
}

#[test]
fn submodules_are_entered_also_where_git_is_told_to_ignore_them() {
    let mut checkout = Checkout::new();
    checkout.write("../lib/s", "s\n");
    checkout.git_in("../lib", &["init", "--quiet", "--initial-branch=main"]);
    checkout.git_in("../lib", &["add", "--all"]);
    checkout.git_in("../lib", &["commit", "--quiet", "--message=x"]);
    let source = checkout.path("../lib");
    checkout.git(&["submodule", "--quiet", "add", source.to_str().unwrap(), "sub"]);
    checkout.git_in(
        "sub",
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source.to_str().unwrap(), "inner"],
    );
    checkout.git_in("sub", &["commit", "--quiet", "--all", "--message=inner"]);
    checkout.commit();
    assert!(checkout.is_clean());
    let undo = |checkout: &Checkout| checkout.write("sub/s", "s\n");
    checkout.changes(&["sub/s"], |checkout| checkout.write("sub/s", "t\n"), undo);
    let undo = |checkout: &Checkout| checkout.write("sub/inner/s", "s\n");
    checkout.changes(&["sub/inner/s"], |checkout| checkout.write("sub/inner/s", "t\n"), undo);
    let undo = |checkout: &Checkout| fs::remove_file(checkout.path("sub/new")).unwrap();
    checkout.changes(&["sub/new"], |checkout| checkout.write("sub/new", "t\n"), undo);
    checkout.write("sub/new", "untracked");
    assert!(!checkout.is_clean(), "an untracked file of a submodule is in no commit");
    fs::remove_file(checkout.path("sub/new")).unwrap();
    assert!(checkout.is_clean());
    checkout.edit_within_a_second("sub", "sub/s", |checkout| checkout.write("sub/s", "xx\n"));
    checkout.git(&["commit", "--quiet", "--all", "--message=sub"]);
    assert_eq!(checkout.edited_unseen(), ["sub/s"]);
    checkout.write("sub/s", "s\n");
    checkout.commit_in("sub");
    checkout.commit();
    assert!(checkout.is_clean());
    checkout.git_in("sub", &["config", "core.fileMode", "false"]);
    fs::set_permissions(checkout.path("sub/s"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!checkout.is_clean(), "a submodule's configuration hides no edit");
    fs::set_permissions(checkout.path("sub/s"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(checkout.is_clean());
    checkout.git(&["config", "submodule.sub.ignore", "all"]);
    let undo = |checkout: &Checkout| checkout.write("sub/s", "s\n");
    checkout.changes(&["sub/s"], |checkout| checkout.write("sub/s", "t\n"), undo);
    assert!(!checkout.is_clean(), "git does not look at all of it");
}

#[test]
fn what_is_not_covered_is_named_and_counts() {
    let mut checkout = Checkout::new();
    checkout.git_in("dir", &["init", "--quiet", "nested"]);
    checkout.write("dir/nested/x", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, checkout.path("a.fifo"), rustix::fs::Mode::RUSR).unwrap();
    fs::remove_file(checkout.path("a")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, checkout.path("a"), rustix::fs::Mode::RUSR).unwrap();
    let tree = checkout.tree();
    let named: Vec<_> = tree.not_covered().into_iter().map(|one| (one.path, one.why)).collect();
    let expected = [("a", "neither a file nor a link"), ("dir/nested", "a repository of its own")];
    assert_eq!(named, expected.map(|(path, why)| (path.to_owned(), why.to_owned())));
    assert!(!checkout.is_clean());
    checkout.write("dir/nested/x", "y");
    assert_eq!(checkout.digest(), tree.sha256(), "it is not covered");
    fs::remove_dir_all(checkout.path("dir/nested")).unwrap();
    assert_ne!(checkout.digest(), tree.sha256(), "it is named");
}

#[test]
fn a_cache_that_is_damaged_does_not_count() {
    let mut checkout = Checkout::new();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let digest = checkout.digest();
    let whole = checkout.cache.clone();
    assert!(whole.len() > 100, "the files are in the cache");
    for at in (0..whole.len()).step_by(7) {
        checkout.cache = whole.clone();
        checkout.cache[at] ^= 1;
        assert_eq!(checkout.digest(), digest);
        checkout.cache = whole[..at].to_vec();
        assert_eq!(checkout.digest(), digest);
    }
}

/// All files below `dir` by a plain walk: what the digest must tell apart.
fn walk(dir: &Path, under: &str, found: &mut BTreeMap<String, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".ign") || (under.is_empty() && (name == ".git" || name == ".flow")) {
            continue;
        }
        let meta = entry.path().symlink_metadata().unwrap();
        let path = format!("{under}{name}");
        if meta.is_symlink() {
            found.insert(path, (0, fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec()));
        } else if meta.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found);
        } else {
            found.insert(path, (1 + (meta.mode() & 0o100), fs::read(entry.path()).unwrap()));
        }
    }
}

/// One random edit of a checkout.
fn edit(checkout: &Checkout, random: &mut impl FnMut(usize) -> usize) {
    let names = ["a", "dir/b", "dir", "c", "d/e", "d/f.ign", "d", "x.ign"];
    let path = checkout.path(names[random(names.len())]);
    let is_dir = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let _ = fs::create_dir_all(path.parent().unwrap());
    match random(12) {
        0..4 => {
            // Also through a link.
            let _ = fs::write(&path, format!("{}\r\n", random(40)));
        }
        4 => {
            let _ = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
        5 => {
            let _ = fs::rename(&path, checkout.path(names[random(names.len())]));
        }
        6 if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) => {
            fs::set_permissions(&path, fs::Permissions::from_mode([0o644, 0o755][random(2)])).unwrap();
        }
        7 => {
            let _ = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            let _ = symlink(["a", "dir", "nowhere"][random(3)], &path);
        }
        8 => checkout.git(&["add", "--all"]),
        9 => checkout.commit(),
        10 => checkout.git(&["reset", "--quiet", "--hard"]),
        _ => {
            let _ = fs::create_dir_all(&path);
        }
    }
}

#[test]
fn after_random_edits_two_digests_are_equal_exactly_if_the_files_are() {
    let mut checkout = Checkout::new();
    let mut state = 42_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut by_files = BTreeMap::new();
    let mut by_digest = BTreeMap::new();
    for at in 0..250 {
        edit(&checkout, &mut random);
        let mut files = BTreeMap::new();
        walk(&checkout.path(""), "", &mut files);
        let digest = checkout.digest();
        assert_eq!(by_files.entry(files.clone()).or_insert_with(|| digest.clone()), &digest, "edit {at}: {files:?}");
        assert_eq!(by_digest.entry(digest).or_insert_with(|| files.clone()), &files, "edit {at}");
    }
    assert!(by_files.len() > 30, "{}", by_files.len());
}
