//! After each of many random edits, what `flow verify --evidence` says of a command that was run before them is compared with an own
//! look at the files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::storm::Dice;
use crate::support::{Sandbox, run, scaled};

/// How many edits are tried, and where everything is tried.
const EDITS: usize = 100;
const ALL_EDITS: usize = 1000;
/// How many edits follow each other before the files are as they were at first.
const IN_A_ROW: usize = 4;
const SEED: u64 = 20_261_130;

/// Files of many kinds, a submodule in a submodule, and what git is told to ignore and to convert.
const PROJECT: &str = "git config core.autocrlf false; echo .flow >> .git/info/exclude
for lib in deep lib; do
  git init -q ../$lib && (cd ../$lib && echo one > in && git add in && git commit -qm one && echo two > in && git commit -qam two)
done
(cd ../lib && git submodule --quiet add \"$PWD/../deep\" deep && git commit -qm deep)
printf 'build/\\n*.ign\\n' > .gitignore
printf '*.txt text eol=crlf\\n*.bin filter=lfs -text\\n' > .gitattributes
mkdir -p dir/sub && for f in a b c dir/d dir/e dir/sub/f Case; do echo \"text of $f\" > $f; done
printf 'one\\r\\ntwo\\r\\n' > eol.txt; echo large > large.bin; ln -s a link; printf x > \"$(printf 'odd\\377')\"
git submodule --quiet add \"$PWD/../lib\" sub && git submodule --quiet update --init --recursive
git add -A && git commit -qm base && mkdir build && echo o > build/out
";

/// The files are again as they were at first. git would leave a file with other line ends as it is.
const BACK: &str =
    "git ls-files -v | sed -n 's/^[a-zS] //p' | git update-index --no-assume-unchanged --no-skip-worktree --stdin
git sparse-checkout disable 2>/dev/null; git config --unset core.sparseCheckout
rm -rf eol.txt && git checkout -qf -B base first && git reset -q --hard && git clean -fdqq && git stash clear
git submodule --quiet update --init --recursive --force
git submodule foreach --recursive --quiet 'git reset -q --hard && git clean -fdqq'
git status --porcelain --ignore-submodules=none
";

/// The edits. `$f` is some file, `$n` a number of its own, and `$o` a directory outside of the repository.
const KINDS: [&str; 38] = [
    // Content, also with the length and the time that it had.
    "echo $n >> $f",
    "tr 'a-z' 'b-za' < $f > $o/new; touch -r $f $o/new; cat $o/new > $f; touch -r $o/new $f",
    "tr 'a-z' 'b-za' < $f > $o/new; cp $f $o/old; cat $o/new > $f; git status > $o/status; cat $o/old > $f",
    ": > $f",
    "touch $f",
    "cp $f $o/same; rm $f; cp $o/same $f",
    // Names, modes, kinds.
    "mv $f moved$n",
    "git mv $f moved$n",
    "mv Case case",
    "chmod +x $f",
    "chmod +x $f; chmod -x $f",
    "rm $f; ln -s somewhere $f",
    "rm $f; mkdir $f; echo in > $f/in",
    "rm -r dir/sub; echo file > dir/sub",
    "rm $f",
    "rm link; ln -s b link",
    "rm link; printf a > link",
    "mkdir empty$n",
    // Submodules.
    "echo $n >> sub/in",
    "git -C sub checkout -q HEAD~1",
    "echo $n >> sub/deep/in",
    "git -C sub/deep checkout -q HEAD~1",
    "echo $n > sub/new",
    "git submodule --quiet deinit -f sub",
    // What git ignores, or is told to hide.
    "echo $n >> build/out; echo $n > some.ign",
    "git update-index --assume-unchanged $f; echo $n >> $f",
    "git update-index --skip-worktree $f; echo $n >> $f",
    "echo $n > intent$n; git add -N intent$n",
    "git sparse-checkout set --no-cone '/*' '!/dir/'",
    // What git converts.
    "touch large.bin eol.txt",
    "echo $n >> large.bin",
    "printf 'one\\ntwo\\n' > eol.txt",
    "printf x$n > \"$(printf 'odd\\377')\"",
    // What git has.
    "echo $n >> $f; git stash -q -u; git stash pop -q",
    "echo $n >> $f; git stash -q -u",
    "git checkout -q -b other$n; echo $n >> $f; git commit -qam other; git checkout -q -",
    "echo $n > new$n; git add -A; git commit -qm dirty",
    "git add -f .flow; git commit -qm flow; git rm -rq --cached .flow; git commit -qm none",
];

/// A path, and what is there: its kind, and its bytes.
type Files = BTreeMap<Vec<u8>, (char, Vec<u8>)>;

/// What git prints in this directory.
fn git(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> Vec<u8> {
    sandbox.command("git").arg("-C").arg(dir).args(args).output().unwrap().stdout
}

/// The tracked and untracked files below `dir`, read by themselves; `prefix` is where that is.
fn read(sandbox: &Sandbox, dir: &Path, prefix: &[u8], files: &mut Files) {
    let listed = git(sandbox, dir, &["ls-files", "-z", "-co", "--exclude-standard"]);
    for path in listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let place = dir.join(OsStr::from_bytes(path));
        let whole = [prefix, path].concat();
        if whole.starts_with(b".flow/") {
            continue;
        }
        if let Some(nested) = whole.strip_suffix(b"/") {
            // A repository that is not a submodule: git does not look into it.
            files.insert(nested.to_vec(), ('n', Vec::new()));
            continue;
        }
        let Ok(meta) = place.symlink_metadata() else { continue };
        if meta.is_symlink() {
            files.insert(whole, ('l', fs::read_link(&place).unwrap().as_os_str().as_bytes().to_vec()));
        } else if meta.is_file() {
            let kind = if meta.permissions().mode() & 0o100 == 0 { 'f' } else { 'x' };
            files.insert(whole, (kind, fs::read(&place).unwrap()));
        } else if place.join(".git").exists() {
            read(sandbox, &place, &[&whole[..], b"/"].concat(), files);
        }
    }
}

fn files_of(sandbox: &Sandbox, dir: &Path) -> Files {
    let mut files = Files::new();
    read(sandbox, dir, b"", &mut files);
    files
}

/// Lines for a shell in `dir`.
fn shell(sandbox: &Sandbox, dir: &Path, script: &str) -> String {
    let mut command = sandbox.command("sh");
    let set = [
        ("user.name", "Ada"),
        ("user.email", "ada@example.org"),
        ("protocol.file.allow", "always"),
        ("init.defaultBranch", "base"),
    ];
    command.env("GIT_CONFIG_COUNT", set.len().to_string());
    for (nth, (key, value)) in set.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{nth}"), key).env(format!("GIT_CONFIG_VALUE_{nth}"), value);
    }
    command.current_dir(dir).args(["-c", script]);
    let told = run(command, "");
    format!("{}{}", told.stdout, told.stderr)
}

/// What flow says of the command.
fn told(sandbox: &Sandbox, dir: &Path) -> Value {
    let mut command = sandbox.flow_command();
    command.arg("-C").arg(dir).args(["verify", "r1", "--evidence", "--json"]);
    run(command, "").json()["evidence"][0].clone()
}

/// The paths whose files differ.
fn differences(one: &Files, other: &Files) -> BTreeSet<String> {
    let paths = one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path));
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

/// In the checkout of the command: fresh if no file differs, else stale, and what is named differs. Whether it is fresh.
fn check_here(sandbox: &Sandbox, before: &Files, trail: &[String]) -> bool {
    let state = told(sandbox, &sandbox.root());
    let differ = differences(before, &files_of(sandbox, &sandbox.root()));
    let right = if differ.is_empty() { "fresh" } else { "stale" };
    assert_eq!(state["freshness"], right, "{trail:#?}\n{differ:?}\n{state:#}");
    for named in state["changed"].as_array().unwrap() {
        let named = named.as_str().unwrap().trim_end_matches('/');
        let within = format!("{named}/");
        let is_right = differ.iter().any(|path| path == named || path.starts_with(&within));
        assert!(is_right, "{named} is as it was: {trail:#?}\n{differ:?}");
    }
    differ.is_empty()
}

/// In another checkout, a clone or a worktree: fresh if no file differs, or if both are clean and their commits have the same files; else
/// unknown.
fn check_elsewhere(sandbox: &Sandbox, before: &Files, trail: &[String], number: usize) {
    let root = sandbox.root();
    for (make, is_whole) in
        [("git clone -q --recurse-submodules . $c 2>/dev/null", true), ("git worktree add -q --detach $c", false)]
    {
        let other = root.with_file_name(format!("other-{number}"));
        shell(sandbox, &root, &format!("c='{}'; {make}; cp -R .flow $c/.flow", other.display()));
        let same = git(sandbox, &root, &["diff", "--name-only", "first", "HEAD"]).is_empty();
        let is_fresh = differences(before, &files_of(sandbox, &other)).is_empty() || same && is_whole;
        let state = told(sandbox, &other);
        assert_eq!(state["freshness"], if is_fresh { "fresh" } else { "unknown" }, "{make}: {trail:#?}\n{state:#}");
        shell(sandbox, &root, &format!("rm -rf '{}'; git worktree prune", other.display()));
    }
}

/// One of them.
fn of<'i, T>(items: &'i [T], dice: &mut Dice) -> &'i T {
    &items[usize::try_from(dice.below(u64::try_from(items.len()).unwrap())).unwrap()]
}

#[test]
fn after_each_of_many_random_edits_evidence_is_fresh_exactly_if_the_files_are_the_same() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let made = shell(&sandbox, &root, PROJECT);
    shell(&sandbox, &root, "git tag first");
    let mut exec = sandbox.flow_command();
    exec.args(["exec", "--run-id", "r1", "--id", "t", "--", "true"]);
    run(exec, "").ok();
    let before = files_of(&sandbox, &root);
    assert!(before.contains_key(&b"sub/deep/in"[..]) && before.len() > 15, "{made}\n{:?}", before.keys());
    let (mut dice, mut trail, mut fresh) = (Dice::new(SEED), Vec::new(), 0);
    check_here(&sandbox, &before, &trail);
    for number in 0..scaled(EDITS, ALL_EDITS) {
        if number % IN_A_ROW == 0 {
            let left = shell(&sandbox, &root, BACK);
            trail = vec!["all as it was".to_owned()];
            assert_eq!(differences(&before, &files_of(&sandbox, &root)), BTreeSet::new(), "{left}");
            check_here(&sandbox, &before, &trail);
        }
        let tracked: Vec<_> =
            ["a", "b", "c", "dir/d", "dir/e"].iter().filter(|file| root.join(file).is_file()).collect();
        let file = if tracked.is_empty() { "a" } else { *of(&tracked, &mut dice) };
        let edit = *of(&KINDS, &mut dice);
        trail.push(format!("f={file} n={number}: {edit}"));
        let outside = root.with_file_name("outside");
        fs::create_dir_all(&outside).unwrap();
        shell(&sandbox, &root, &format!("f={file}; n={number}; o='{}'; {edit}", outside.display()));
        fresh += usize::from(check_here(&sandbox, &before, &trail));
        if number % 25 == 24 {
            check_elsewhere(&sandbox, &before, &trail, number);
        }
    }
    let edits = scaled(EDITS, ALL_EDITS);
    assert!(fresh > edits / 20 && fresh < edits / 2, "{fresh} of {edits} were fresh");
}
