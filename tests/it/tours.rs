//! The tours of the README and of other pages, run line by line: what they show is what the program does.
//!
//! In a `console` block a line `$ …` is a command, `> …` continues it, and everything else is what it prints, on either
//! stream. `[..]` stands for anything inside a line, `...` for any number of lines. `$ exit` ends the shell; what follows
//! runs in a new one. A command that fails must be followed by `$ echo $?`, so that the reader sees its status.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;

/// A command of the tour and what it is said to print.
struct Step {
    line: usize,
    script: String,
    shown: Vec<String>,
}

fn steps(name: &str, page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), line.strip_prefix("> "), steps.last_mut()) {
                (Some(script), ..) => {
                    steps.push(Step { line: at + 1, script: script.to_owned(), shown: Vec::new() });
                }
                (None, Some(more), Some(step)) if step.shown.is_empty() => write!(step.script, "\n{more}").unwrap(),
                (None, _, Some(step)) => step.shown.push(line.to_owned()),
                (None, _, None) => panic!("{name}:{}: output before the first command", at + 1),
            },
        }
    }
    steps
}

/// A shell whose variables, directory and last status outlive the process that runs one command.
struct Shell<'a> {
    sandbox: &'a Sandbox,
    home: PathBuf,
    status: i32,
}

impl<'a> Shell<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let home = sandbox.root().parent().unwrap().to_owned();
        let bin = home.join("bin");
        fs::create_dir_all(&bin).unwrap();
        // One minute and one seed a command: the same two twice would make the same ids.
        let wrapper = format!(
            "#!/bin/sh\nn=$(cat '{0}/count' 2>/dev/null || echo 0)\necho $((n + 1)) >'{0}/count'\n\
             __FLOW_NOW=$(printf '2026-05-20T%02d:%02d:00Z' $((14 + (30 + n) / 60)) $(((30 + n) % 60)))\n\
             __FLOW_SEED=\"seed $n\"\nexport __FLOW_NOW __FLOW_SEED\nexec '{1}' \"$@\"\n",
            home.display(),
            env!("CARGO_BIN_EXE_flow"),
        );
        fs::write(bin.join("flow"), wrapper).unwrap();
        make_executable(&bin.join("flow"));
        let shell = Self { sandbox, home, status: 0 };
        shell.forget();
        shell
    }

    /// A new shell: no variables of the old one.
    fn forget(&self) {
        fs::write(self.home.join("variables"), "").unwrap();
        fs::write(self.home.join("cwd"), self.sandbox.root().to_str().unwrap()).unwrap();
    }

    /// What `script` prints on both streams.
    fn run(&mut self, script: &str) -> String {
        if script == "exit" {
            self.forget();
            self.status = 0;
            return String::new();
        }
        let home = self.home.display();
        let script = format!(
            "set -a; . '{home}/variables'; cd \"$(cat '{home}/cwd')\"; exec 2>&1\n\
             trap 'status=$?; export -p >\"{home}/variables\"; pwd >\"{home}/cwd\"; exit $status' EXIT\n\
             (exit {})\n{script}\n",
            self.status
        );
        let mut command = self.sandbox.command("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{home}/bin:{path}")).args(["-c", &script]);
        let output = command.output().unwrap();
        self.status = output.status.code().expect("no signal ended it");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether `shown`, with its wildcards, says `printed`.
pub(crate) fn says(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=printed.len()).any(|skipped| says(rest, &printed[skipped..])),
        (Some((pattern, rest)), Some((line, more))) => matches(pattern, line) && says(rest, more),
        _ => false,
    }
}

/// Whether `pattern`, in which `[..]` stands for any text, says `line`.
fn matches(pattern: &str, line: &str) -> bool {
    let Some((head, tail)) = pattern.split_once("[..]") else {
        return pattern == line;
    };
    let Some(rest) = line.strip_prefix(head) else { return false };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.any(|at| matches(tail, &rest[at..]))
}

/// Runs the tour of a page that has at least so many commands.
#[track_caller]
fn is_true(name: &str, least: usize) {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let steps = steps(name, &page);
    assert!(steps.len() > least, "the tour got lost: {} commands", steps.len());
    steps_are_true(name, &steps);
}

/// Runs steps in a project and a shell of their own.
#[track_caller]
fn steps_are_true(name: &str, steps: &[Step]) {
    let sandbox = Sandbox::new();
    // Most projects keep no decisions.
    fs::remove_dir(sandbox.path(".decisions")).unwrap();
    let mut shell = Shell::new(&sandbox);
    let mut wrong = String::new();
    for (at, step) in steps.iter().enumerate() {
        let printed = shell.run(&step.script);
        let printed: Vec<_> = printed.lines().map(str::trim_end).collect();
        let shown: Vec<_> = step.shown.iter().map(|line| line.trim_end()).collect();
        if !says(&shown, &printed) {
            let printed = printed.join("\n");
            writeln!(wrong, "{name}:{}: $ {}\nprints\n{printed}\n", step.line, step.script).unwrap();
        }
        let status_is_shown = steps.get(at + 1).is_some_and(|next| next.script == "echo $?");
        if shell.status != 0 && !status_is_shown {
            writeln!(wrong, "{name}:{}: $ {}\nexits {}, unsaid\n", step.line, step.script, shell.status).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether a word of `text` has the beginning of an id that flow makes, such as `2026-05-20T143000Z-`.
fn has_dated_id(text: &str) -> bool {
    let shape = "0000-00-00T000000Z-";
    text.as_bytes().windows(shape.len()).any(|word| {
        word.iter()
            .zip(shape.bytes())
            .all(|(byte, like)| if like == b'0' { byte.is_ascii_digit() } else { *byte == like })
    })
}

/// The tests set the clock, readers do not: such an id is of their own day.
#[test]
fn no_command_of_a_page_names_a_run_by_the_day_on_which_it_began() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs")).unwrap() {
        pages.extend(Some(entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let mut found = Vec::new();
    for page in &pages {
        let mut block = None;
        for (at, line) in fs::read_to_string(page).unwrap().lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                block = (!language.is_empty()).then(|| language.to_owned());
            }
            let is_command = match block.as_deref() {
                Some("console") => line.starts_with("$ ") || line.starts_with("> "),
                Some("sh") => true,
                _ => false,
            };
            if is_command && has_dated_id(line) {
                found.push(format!("{}:{}: {line}", page.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "name the part that every reader has, such as `issue-42`: {found:#?}");
    assert!(has_dated_id("$ flow log 2026-05-20T143000Z-issue-42"));
}

#[test]
fn the_tour_of_the_readme_is_true() {
    is_true("README.md", 3);
}

#[test]
fn the_tutorial_is_true() {
    is_true("docs/tutorial.md", 30);
}

#[test]
fn every_recipe_of_the_cookbook_is_true() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cookbook.md")).unwrap();
    let mut headings: Vec<usize> = Vec::new();
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("## ") {
            headings.push(at + 1);
        }
    }
    let mut steps = steps("docs/cookbook.md", &page);
    for heading in headings.into_iter().rev() {
        let first = steps.iter().position(|step| step.line > heading).expect("the recipe has commands");
        steps_are_true("docs/cookbook.md", &steps.split_off(first));
    }
    assert!(steps.is_empty());
}

#[test]
fn the_tour_of_reports_is_true() {
    is_true("docs/reports.md", 10);
}

#[test]
fn the_tour_of_drivers_is_true() {
    is_true("docs/drive.md", 10);
}

#[test]
fn the_page_about_interviews_is_true() {
    is_true("docs/interviews.md", 10);
}

#[test]
fn the_page_about_modes_is_true() {
    is_true("docs/modes.md", 6);
}

#[test]
fn wildcards_stand_for_what_they_say() {
    assert!(says(&["a[..]c", "...", "z"], &["abc", "x", "y", "z"]));
    assert!(says(&["...", "z"], &["z"]));
    assert!(!says(&["a[..]c"], &["abd"]));
    assert!(!says(&["a"], &["a", "b"]));
}
