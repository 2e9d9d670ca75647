//! Mistakes in the program, one after the other, each of which the tests must notice.
//!
//!     cargo test --locked --test mutations                 all of them
//!     cargo test --locked --test mutations -- WORDS        those with WORDS in their name
//!     cargo test --locked --test mutations -- --whole      those that the quick tests miss, against all tests
//!
//! What the tests miss with the cases of every day is tried with all cases of the same tests.
//!
//! `list.yaml` says what they are. A copy of the project below `target/mutations` is built once, with all mistakes in it; a
//! file beside it says which one the copy makes. It ends with 1 when one survives, and leaves nothing but that directory.
#![expect(clippy::disallowed_methods, reason = "it copies files, changes them and starts programs")]
#![allow(clippy::unwrap_used, reason = "without its files it has nothing to do")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program of its own, for people")]

mod place;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use place::{Mutation, mutations, places, texts};

/// How long the tests may take with a mistake that lets them hang, in seconds.
const LIMIT: &str = "900";
/// How long the tests of all mistakes, or all cases of the tests of one, may take together, in seconds.
const LIMIT_OF_ALL: &str = "7200";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (options, words): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| arg.starts_with("--"));
    let whole = options.iter().any(|option| option == "--whole");
    let all = mutations();
    let chosen: Vec<_> =
        all.iter().filter(|one| words.is_empty() || words.iter().any(|word| one.name.contains(word))).collect();
    match tried(&all, &chosen, whole) {
        Ok(survivors) if survivors.is_empty() => {
            println!("{} mistakes, all of them noticed", chosen.len());
            ExitCode::SUCCESS
        }
        Ok(survivors) => {
            println!("{} mistakes, {} survive:", chosen.len(), survivors.len());
            survivors.iter().for_each(|name| println!("  {name}"));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn tried(all: &[Mutation], chosen: &[&Mutation], whole: bool) -> Result<Vec<String>, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../mutations");
    let copy = target.join("copy");
    copied(&copy)?;
    broken(&copy, all)?;
    let programs = built(&copy, &target.join("target"))?;
    // No mistake first: what fails then says nothing.
    let mut filters: Vec<_> = chosen.iter().flat_map(|one| one.tests.split_whitespace()).collect();
    filters.sort_unstable();
    filters.dedup();
    if !passes(&copy, &programs, "", &filters, Cases::OfEveryDay) {
        return Err("the tests fail without any mistake".to_owned());
    }
    let mut survivors = Vec::new();
    for one in chosen {
        let begun = Instant::now();
        let filters: Vec<_> = one.tests.split_whitespace().collect();
        let noticed = if !passes(&copy, &programs, &one.name, &filters, Cases::OfEveryDay) {
            Some("")
        } else if !passes(&copy, &programs, &one.name, &filters, Cases::All) {
            Some(" with all cases")
        } else if whole && !passes(&copy, &programs, &one.name, &[], Cases::OfEveryDay) {
            Some(" by other tests")
        } else {
            None
        };
        let what = noticed.map_or_else(|| "SURVIVES".to_owned(), |by| format!("noticed{by}"));
        println!("{what} ({} s): {}", begun.elapsed().as_secs(), one.name);
        if noticed.is_none() {
            survivors.push(one.name.clone());
        }
    }
    std::fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
    Ok(survivors)
}

/// Copies what git knows of the project, as it is now.
fn copied(copy: &Path) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let _ = std::fs::remove_dir_all(copy);
    let known = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let known = known.map_err(|error| format!("git: {error}"))?.stdout;
    for name in String::from_utf8_lossy(&known).split('\0').filter(|name| root.join(name).is_file()) {
        let to = copy.join(name);
        std::fs::create_dir_all(to.parent().unwrap()).map_err(|error| error.to_string())?;
        std::fs::copy(root.join(name), to).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Puts all mistakes into the copy, each behind the question whether it is to be made.
fn broken(copy: &Path, all: &[Mutation]) -> Result<(), String> {
    let mut files = texts(copy);
    // From the end, so that earlier places stay where they are.
    for ((path, start, end), mistakes) in places(&files, all)?.into_iter().rev() {
        let text = files.get_mut(&path).unwrap();
        let right = &text[start..end];
        let is_statement = right.ends_with(';');
        let arms = mistakes.iter().map(|one| format!("{:?} => {{ {} }} ", one.name, one.to));
        let chosen = format!("match crate::mistake() {{ {}_ => {{ {right} }} }}", arms.collect::<String>());
        text.replace_range(start..end, &if is_statement { chosen } else { format!("({chosen})") });
    }
    let mistake = copy.join("mistake");
    let lib = files.iter_mut().find(|(path, _)| path.ends_with("src/lib.rs")).ok_or("there is no src/lib.rs")?.1;
    lib.push_str(&format!(
        "\nfn mistake() -> &'static str {{\n    static MISTAKE: std::sync::LazyLock<String> =\n        \
         std::sync::LazyLock::new(|| std::fs::read_to_string({mistake:?}).unwrap_or_default());\n    &MISTAKE\n}}\n"
    ));
    files.iter().try_for_each(|(path, text)| std::fs::write(path, text)).map_err(|error| error.to_string())
}

/// Builds the tests of the copy, and gives their programs.
fn built(copy: &Path, target: &Path) -> Result<Vec<PathBuf>, String> {
    let mut build = Command::new(env!("CARGO"));
    build
        .args([
            "test",
            "--locked",
            "--lib",
            "--test",
            "it",
            "--test",
            "conformance",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(copy);
    build.env("CARGO_TARGET_DIR", target).stderr(Stdio::inherit());
    let output = build.output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the copy with the mistakes cannot be built".to_owned());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true);
    let programs: Vec<_> = tests.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect();
    if programs.len() == 3 { Ok(programs) } else { Err(format!("cargo built {programs:?}")) }
}

/// How many cases tests draw that have many.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cases {
    OfEveryDay,
    All,
}

/// Whether the tests with these words in their names pass with this mistake.
fn passes(copy: &Path, programs: &[PathBuf], mistake: &str, filters: &[&str], cases: Cases) -> bool {
    std::fs::write(copy.join("mistake"), mistake).unwrap();
    let limit = if mistake.is_empty() || cases == Cases::All { LIMIT_OF_ALL } else { LIMIT };
    programs.iter().all(|program| {
        let mut tests = Command::new("timeout");
        tests.args(["-k", "5", limit]).arg(program).args(filters).current_dir(copy);
        if cases == Cases::All {
            tests.env("FLOW_TEST_WHOLE", "1");
        }
        tests.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        tests.status().is_ok_and(|status| status.success())
    })
}
