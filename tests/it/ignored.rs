//! What git ignores decides which files evidence is about: rules outside of them do not get a run past what its phase requires.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::storm::Dice;
use crate::support::{Answer, Sandbox, run, scaled};

const PHASES: &str = "apiVersion: flow.synapti.ai/v1
kind: FlowWorkflow
metadata: {id: w}
phases:
  - id: verify
    requires: [{exec: test}]
    next: report
  - id: report
";

/// A project with the run `r1` in `verify`, whose command `test` passes.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    fs::create_dir_all(sandbox.path("src")).unwrap();
    fs::write(sandbox.path(".flow/workflows/w.workflow.yaml"), PHASES).unwrap();
    fs::write(sandbox.path(".flow/config.yaml"), "commands: {test: 'true'}\n").unwrap();
    fs::write(sandbox.path("src/old.c"), "good\n").unwrap();
    sandbox.git(&["add", "src"]);
    sandbox.git(&["commit", "-q", "-m", "code"]);
    sandbox.flow(["trust", "--yes"]).ok();
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox
}

/// Runs lines of a shell in which `flow` is the program.
fn shell(sandbox: &Sandbox, dir: &Path, script: &str) -> Answer {
    let mut command = sandbox.command("sh");
    let name = env!("CARGO_BIN_EXE_flow");
    let git =
        "git() { command git -c user.name=Ada -c user.email=ada@example.org -c protocol.file.allow=always \"$@\"; }";
    command.current_dir(dir).args(["-c", &format!("flow() {{ '{name}' \"$@\"; }}\n{git}\n{script}")]);
    run(command, "")
}

/// What is told of the command behind these lines.
fn told(sandbox: &Sandbox, script: &str) -> Value {
    let report = shell(sandbox, &sandbox.root(), &format!("{script}\nflow verify r1 --evidence --json"));
    report.json()["evidence"].as_array().unwrap().last().unwrap().clone()
}

/// Ways to hide `src/new.c` from git that change no file which it lists, how each is taken back, and what is named.
const WAYS: [(&str, &str, &str); 8] = [
    ("echo /src/new.c >> .git/info/exclude", ": > .git/info/exclude", ".git/info/exclude"),
    (
        "echo new.c > $HOME/rules; git config core.excludesFile '~/rules'",
        "git config --unset core.excludesFile",
        "the file of core.excludesFile",
    ),
    (
        "mkdir -p $HOME/.config/git; echo new.c > $HOME/.config/git/ignore",
        "rm $HOME/.config/git/ignore",
        "the file of core.excludesFile",
    ),
    (
        "mkdir -p $HOME/xdg/git; echo new.c > $HOME/xdg/git/ignore; export XDG_CONFIG_HOME=$HOME/xdg",
        "unset XDG_CONFIG_HOME",
        "the file of core.excludesFile",
    ),
    (
        "export GIT_CONFIG_GLOBAL=$HOME/config; echo new.c > $HOME/rules; git config --global core.excludesFile $HOME/rules",
        "export GIT_CONFIG_GLOBAL=/dev/null",
        "the file of core.excludesFile",
    ),
    ("printf '/.gitignore\\nnew.c\\n' > .gitignore", "rm .gitignore", "a .gitignore that git does not list"),
    ("printf '.gitignore\\nnew.c\\n' > src/.gitignore", "rm src/.gitignore", "a .gitignore that git does not list"),
    (
        "git update-index --add --cacheinfo 100644,$(echo new.c | git hash-object -w --stdin),src/.gitignore
        git update-index --skip-worktree src/.gitignore",
        "git update-index --force-remove src/.gitignore",
        "a .gitignore that git does not list",
    ),
];

#[test]
fn rules_of_git_that_are_in_no_listed_file_get_no_run_past_what_its_phase_requires() {
    for (hide, show, named) in WAYS {
        let sandbox = sandbox();
        sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
        assert_eq!(told(&sandbox, "")["freshness"], "fresh", "{hide}");
        let state = told(&sandbox, &format!("echo broken > src/new.c; {hide}"));
        let why = format!("what git ignores here has changed since it was run: look at {named}, and run it again");
        assert_eq!((&state["freshness"], &state["why"]), (&json!("unknown"), &json!(why)), "{hide}");
        // What a variable says holds for one call.
        let variable = if hide.contains("export") { hide } else { "" };
        let left = format!("{variable}\nflow record-activity --run-id r1 --phase report --id report");
        let refused = shell(&sandbox, &sandbox.root(), &left).exits(1).stderr;
        assert!(refused.contains("what git ignores here has changed") && refused.contains("flow exec"), "{refused}");
        shell(&sandbox, &sandbox.root(), &format!("{variable}\nflow complete r1")).exits(1);
        let state = told(&sandbox, &format!("{variable}\n{show}"));
        assert_eq!((&state["freshness"], &state["changed"]), (&json!("stale"), &json!(["src/new.c"])), "{hide}");
    }
}

#[test]
fn another_run_under_the_new_rules_of_git_counts_under_them() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    fs::write(sandbox.path(".git/info/exclude"), "*.o\n").unwrap();
    assert_eq!(told(&sandbox, "")["freshness"], "unknown");
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    assert_eq!(told(&sandbox, "")["freshness"], "fresh");
    // In another checkout other rules are in force anyway.
    let root = sandbox.root();
    shell(
        &sandbox,
        &root,
        "git clone -q . ../clone && cp -R .flow ../clone/.flow && git worktree add -q ../tree && cp -R .flow ../tree",
    )
    .ok();
    fs::write(sandbox.path(".git/info/exclude"), "*.a\n").unwrap();
    for other in ["clone", "tree"] {
        let report = shell(&sandbox, &root.with_file_name(other), "flow verify r1 --evidence --json").json();
        assert_eq!(report["evidence"][1]["freshness"], "fresh", "{other}: {report}");
    }
    assert_eq!(told(&sandbox, "")["freshness"], "unknown");
}

#[test]
fn no_variable_that_configures_git_says_which_files_are_looked_at() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    shell(&sandbox, &sandbox.root(), "echo broken > src/new.c; echo new.c > $HOME/rules").ok();
    for variables in [
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.excludesFile GIT_CONFIG_VALUE_0=$HOME/rules",
        "export GIT_CONFIG_PARAMETERS=\"'core.excludesFile=$HOME/rules'\"",
        "export GIT_CONFIG_PARAMETERS=\"'core.excludesFile'='$HOME/rules'\"",
        "export GIT_CONFIG=$HOME/config; git config --file $HOME/config core.excludesFile $HOME/rules",
    ] {
        let state = told(&sandbox, variables);
        assert_eq!((&state["freshness"], &state["changed"]), (&json!("stale"), &json!(["src/new.c"])), "{variables}");
    }
    fs::remove_file(sandbox.path("src/new.c")).unwrap();
    // The question for the file of rules is not led astray either.
    shell(&sandbox, &sandbox.root(), "git config core.excludesFile $HOME/rules; echo broken > src/new.c").ok();
    let state = told(&sandbox, ": > $HOME/empty; export GIT_CONFIG=$HOME/empty");
    assert_eq!(state["freshness"], "unknown", "{state}");
}

/// How many edits are tried, and where everything is tried.
const EDITS: usize = 80;
const ALL_EDITS: usize = 800;
/// How many edits follow each other before all is as it was at first.
const IN_A_ROW: usize = 4;
const SEED: u64 = 20_261_201;

/// A project with a submodule, and rules in all places.
const PROJECT: &str = "git init -q ../lib && (cd ../lib && mkdir in && echo one > in/one && git add in && git commit -qm one)
git config core.excludesFile \"$HOME/rules\"; echo '*.rules' > $HOME/rules; mkdir -p $HOME/.config/git
echo '*.xdg' > $HOME/.config/git/ignore; echo '*.info' > .git/info/exclude; mkdir -p dir/deep build
echo a > a; echo b > dir/deep/b; printf 'build/\\n.flow\\n' > .gitignore; printf '/.gitignore\\n*.own\\n' > dir/.gitignore
git submodule --quiet add \"$PWD/../lib\" sub && git submodule --quiet update --init
git add -A && git commit -qm base && git tag first && echo o > build/out
";

const BACK: &str = "rm -rf dir && git reset -q --hard first && git clean -fdq && mkdir -p build
printf '/.gitignore\\n*.own\\n' > dir/.gitignore; git config core.excludesFile \"$HOME/rules\"
echo '*.rules' > $HOME/rules; echo '*.xdg' > $HOME/.config/git/ignore; echo '*.info' > .git/info/exclude
rm -f .git/modules/sub/info/exclude sub/in/.gitignore dir/deep/.gitignore; git -C sub config --unset core.excludesFile
git -C sub reset -q --hard; git -C sub clean -fdq; git clean -fdqx -e .flow -e dir/.gitignore -e build
";

/// The edits. `$n` is a number of its own.
const KINDS: [&str; 24] = [
    ": > .git/info/exclude",
    "rm -f .git/info/exclude",
    "echo \"f$n\" >> .git/info/exclude; echo new > f$n",
    "echo '*.info' > .git/info/exclude",
    "touch .git/info/exclude $HOME/rules",
    "echo \"f$n\" >> $HOME/rules; echo new > f$n",
    "echo '*.rules' > $HOME/rules",
    "echo \"f$n\" >> $HOME/.config/git/ignore",
    "git config core.excludesFile \"$HOME/other\"; echo \"f$n\" > $HOME/other; echo new > dir/f$n",
    "git config core.excludesFile \"$HOME/other\"; echo '*.rules' > $HOME/other",
    "git config core.excludesFile '~/rules'",
    "git config core.excludesFile ''",
    "git config --unset core.excludesFile",
    "echo \"f$n\" >> dir/.gitignore; echo new > dir/deep/f$n",
    "rm -f dir/.gitignore",
    "printf '*.own\\n' > dir/.gitignore",
    "printf '/.gitignore\\n*.own\\n' > dir/.gitignore",
    "printf '.gitignore\\nf*\\n' > dir/deep/.gitignore; echo new > dir/deep/f$n",
    "echo \"f$n\" >> .gitignore; echo new > f$n",
    "mkdir -p .git/modules/sub/info; echo \"f$n\" > .git/modules/sub/info/exclude; echo new > sub/f$n",
    "git -C sub config core.excludesFile \"$HOME/sub\"; echo \"f$n\" > $HOME/sub; echo new > sub/f$n",
    "printf '.gitignore\\nf*\\n' > sub/in/.gitignore; echo new > sub/in/f$n",
    "echo new > build/f$n; echo new > f$n.info; echo new > f$n.rules; echo new > dir/f$n.own",
    "git stash -q -u; git stash pop -q",
];

/// What decides: each listed file with its content, and each file of rules that is not among them.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    files: BTreeMap<PathBuf, Vec<u8>>,
    rules: BTreeMap<PathBuf, Vec<u8>>,
}

impl Seen {
    /// As git tells it of the repository at `dir`.
    fn add(&mut self, sandbox: &Sandbox, dir: &Path) {
        let git = |args: &[&str]| sandbox.command("git").current_dir(dir).args(args).output().unwrap().stdout;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        let listed = git(&["ls-files", "-z", "-co", "--exclude-standard"]);
        let listed: BTreeSet<_> = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
        let mut within = BTreeSet::new();
        for path in listed {
            let path = dir.join(OsStr::from_bytes(path));
            if path.starts_with(sandbox.path(".flow")) {
                continue;
            }
            if path.is_dir() {
                self.add(sandbox, &path);
            } else if let Ok(bytes) = fs::read(&path) {
                let above = path.ancestors().skip(1).take_while(|above| above.starts_with(dir));
                within.extend(above.map(|above| above.join(".gitignore")));
                self.files.insert(path, bytes);
            }
        }
        let common = dir.join(text(git(&["rev-parse", "--git-common-dir"])));
        let excludes = text(git(&["config", "--type=path", "--get", "core.excludesFile"]));
        let is_named = sandbox.command("git").current_dir(dir).args(["config", "core.excludesFile"]).output().unwrap();
        let default = sandbox.command("sh").args(["-c", "echo $HOME/.config/git/ignore"]).output().unwrap();
        let excludes = if is_named.status.success() { excludes } else { text(default.stdout) };
        let others = [(dir.join("info"), common.join("info/exclude")), (dir.join("excludes"), PathBuf::from(excludes))];
        let ignored = within.into_iter().filter(|path| !self.files.contains_key(path)).map(|path| (path.clone(), path));
        for (name, path) in ignored.chain(others) {
            let bytes = fs::read(path).unwrap_or_default();
            if !bytes.is_empty() {
                self.rules.insert(name, bytes);
            }
        }
    }
}

#[test]
fn after_each_of_many_edits_of_rules_evidence_is_fresh_exactly_if_files_and_rules_are_the_same() {
    let sandbox = sandbox();
    let root = sandbox.root();
    let made = shell(&sandbox, &root, PROJECT);
    shell(&sandbox, &root, BACK);
    sandbox.flow(["exec", "--run-id", "r1", "test"]).ok();
    let seen = || {
        let mut seen = Seen::default();
        seen.add(&sandbox, &root);
        seen
    };
    let before = seen();
    assert!(before.files.len() > 5 && before.rules.len() >= 3, "{made:?} {before:?}");
    let (mut dice, mut trail, mut counts) = (Dice::new(SEED), Vec::new(), BTreeMap::new());
    for number in 0..scaled(EDITS, ALL_EDITS) {
        if number % IN_A_ROW == 0 {
            let left = shell(&sandbox, &root, BACK);
            trail.clear();
            assert_eq!(seen(), before, "{left:?}");
        }
        let edit = KINDS[usize::try_from(dice.below(KINDS.len() as u64)).unwrap()];
        trail.push(format!("n={number}: {edit}"));
        shell(&sandbox, &root, &format!("n={number}; {edit}"));
        let now = seen();
        let right = match (now.files == before.files, now.rules == before.rules) {
            (false, _) => "stale",
            (true, false) => "unknown",
            (true, true) => "fresh",
        };
        let state = told(&sandbox, "");
        assert_eq!(state["freshness"], right, "{trail:#?}\n{state:#}\n{before:?}\n{now:?}");
        *counts.entry(right).or_insert(0) += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| *count > EDITS / 20), "{counts:?}");
}
