//! The campaign: every command that writes, in every trouble, at every point, on every file system that is here.
//!
//!     cargo test --locked --test campaign                       everything
//!     cargo test --locked --test campaign -- NAME               only the section of this name
//!     cargo test --locked --test campaign -- --only=TEXT        only cells with TEXT in "row, column"
//!     cargo test --locked --test campaign -- --continue         only what this very program has not gone through yet
//!     cargo test --locked --test campaign -- --write            and the table into docs/durability.md
//!
//! It takes an hour or more, needs strace, and makes file systems of its own when it runs as root. It ends with 1 when a
//! promise was broken.
#![expect(clippy::disallowed_methods, reason = "tests set up and look at files, clocks and processes directly")]
#![allow(clippy::unwrap_used, reason = "a campaign that cannot go on has failed")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program of its own, for people")]

mod commands;
mod kept;
#[path = "../it/power/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
mod power;
mod power_cuts;
mod section;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
mod support;
mod table;
mod whole;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use kept::Kept;
use section::{Plan, Row};

/// Set once mounts are this program's own.
const APART: &str = "__FLOW_CAMPAIGN_APART";

fn main() -> ExitCode {
    keep_mounts_apart();
    support::try_everything();
    // A broken promise is told in the words of its row.
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (options, names): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| arg.starts_with("--"));
    let (write, go_on) = (options.contains(&"--write".to_owned()), options.contains(&"--continue".to_owned()));
    let only = options.iter().filter_map(|option| option.strip_prefix("--only=")).map(str::to_owned).collect();
    let plan = Plan { only, kept: Kept::of_this_program(go_on) };
    let known = |option: &String| ["--write", "--continue"].contains(&option.as_str()) || option.starts_with("--only=");
    if let Some(unknown) = options.iter().find(|option| !known(option)) {
        eprintln!("unknown option {unknown}");
        return ExitCode::from(2);
    }
    let sections = section::all();
    if let Some(unknown) = names.iter().find(|name| sections.iter().all(|section| section.name != **name)) {
        let known: Vec<_> = sections.iter().map(|section| section.name).collect();
        eprintln!("there is no section {unknown}, only {}", known.join(", "));
        return ExitCode::from(2);
    }
    let mut rows: Vec<Row> = Vec::new();
    for section in sections.iter().filter(|section| names.is_empty() || names.iter().any(|name| name == section.name)) {
        println!("{}", section.name);
        match (section.run)(&plan) {
            Ok(found) => rows.extend(found),
            Err(why) => eprintln!("SKIPPED: {}: {why}", section.name),
        }
    }
    let text = table::text(&rows);
    println!("\n{text}");
    let kept = rows.iter().all(|row| row.violations.is_empty());
    if write && let Err(error) = table::write(&text) {
        eprintln!("cannot write the table: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::from(!kept))
}

/// Starts this program again where its mounts are seen by nobody else and end with it, also when it is killed.
fn keep_mounts_apart() {
    if std::env::var_os(APART).is_some() || !rustix::process::geteuid().is_root() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut apart = Command::new("unshare");
    apart.args(["--mount", "--"]).arg(program).args(std::env::args_os().skip(1)).env(APART, "1");
    // When this comes back, there is no unshare: the guards of the mounts have to do.
    let error = apart.exec();
    eprintln!("mounts are not kept apart: unshare: {error}");
}
