//! How long flow takes, as ratios within one run: `cargo bench --bench ratios`.
//!
//! Whole processes are timed, alternating with what they are compared to, so that both meet the same machine. With
//! `-- --write` the table goes into `docs/performance.md`. `-- --quick` takes fewer rounds and smaller projects.
//! `-- --without FLOW` compares with a flow that was built without the dashboard and the screen:
//! `cargo build --release --no-default-features --features mcp,network --target-dir target/without`.
#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes and looks at the clock")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

#[path = "../../tests/it/support/lack.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod lack;
#[path = "../../tests/it/support/mount.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod mount;
mod project;
mod table;
mod timing;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use lack::Lack;
use mount::{FileSystem, Image};
use project::{Floor, Project};
use table::{Bound, Row, Table};
use timing::{Timed, alternate, slowest, together};

/// The program as it is installed.
static FLOW: OnceLock<PathBuf> = OnceLock::new();

fn flow() -> Command {
    Command::new(FLOW.get().unwrap())
}

/// Copies a program, as installing it does. A linker leaves the pages of its output in memory one by one, and mapping
/// them costs each start a fifth more than mapping the pages of a file that was written in one go.
fn install(program: &Path, dir: &Path) -> PathBuf {
    let installed = dir.join("bin").join(program.file_name().unwrap());
    std::fs::create_dir_all(dir.join("bin")).unwrap();
    std::fs::copy(program, &installed).unwrap();
    installed
}

struct Sizes {
    rounds: usize,
    few: usize,
    some: usize,
    many: usize,
}

fn main() {
    let args: Vec<_> = std::env::args().collect();
    let quick = args.iter().any(|arg| arg == "--quick");
    let sizes = if quick {
        Sizes { rounds: 30, few: 10, some: 100, many: 1000 }
    } else {
        Sizes { rounds: 200, few: 10, some: 1000, many: 10_000 }
    };
    let home = tempfile::tempdir().unwrap();
    FLOW.set(install(Path::new(env!("CARGO_BIN_EXE_flow")), home.path())).unwrap();
    let floor = Floor::build(home.path());
    let mut table = Table::default();
    let images: Vec<_> = [FileSystem::Ext4, FileSystem::Xfs].map(|kind| (kind, Image::new(kind, 512, &[]))).into();
    // The file system of temporary files is unknown, so the bound applies to it only if no image can be mounted.
    let record = if images.iter().any(|(_, image)| image.is_ok()) { Bound::None } else { Bound::AtMost(2.0) };
    records(home.path(), "", record, &floor, &sizes, &mut table);
    for (kind, image) in &images {
        match image {
            Ok(image) => {
                let on = format!("on {}: ", kind.name());
                records(&image.path(), &on, Bound::AtMost(2.0), &floor.at(&image.path()), &sizes, &mut table);
            }
            Err(why) => println!("SKIPPED: records on {}: {why}", kind.name()),
        }
    }
    drop(images);
    reports(home.path(), &sizes, &mut table);
    proofs(home.path(), &sizes, &mut table);
    crowd(home.path(), &sizes, &mut table);
    runs(home.path(), &floor, &sizes, &mut table);
    readers(home.path(), &sizes, &mut table);
    hooks(home.path(), &sizes, &mut table);
    definitions(home.path(), &sizes, &mut table);
    match args.iter().position(|arg| arg == "--without").and_then(|at| args.get(at + 1)) {
        Some(without) => faces(home.path(), Path::new(without), &sizes, &mut table),
        None => println!("SKIPPED: what the dashboard and the screen cost: needs --without FLOW"),
    }
    println!("{table}");
    if args.iter().any(|arg| arg == "--write") {
        table.write(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md")));
    }
    if table.is_broken() && !quick {
        std::process::exit(1);
    }
}

/// `record-activity` in runs of different lengths; `on` names the file system when it is not that of temporary files.
fn records(home: &Path, on: &str, record: Bound, floor: &Floor, sizes: &Sizes, table: &mut Table) {
    let projects: Vec<_> =
        [sizes.few, sizes.some, sizes.many].iter().map(|&length| Project::with_activities(home, length)).collect();
    let mut timed = vec![Timed::new("floor", || floor.append()), Timed::new("version", version)];
    timed.extend(projects.iter().map(|project| Timed::new("record", || project.record())));
    let medians = alternate(&mut timed, sizes.rounds);
    let (least, start_up, first) = (medians[0], medians[1], medians[2]);
    table.push(Row::new(&format!("{on}a process that appends a line and flushes it (the floor)"), least, None));
    if on.is_empty() {
        table.push(Row::new("`flow --version`: start-up alone", start_up, Some(("the floor", least, Bound::None))));
    }
    for (length, &median) in [sizes.few, sizes.some, sizes.many].iter().zip(&medians[2..]) {
        let bound = if *length == sizes.few { record } else { Bound::None };
        let what = format!("{on}`record-activity` in a run of {length} activities");
        table.push(Row::new(&what, median, Some(("the floor", least, bound))));
        if *length == sizes.many {
            let what = format!("{on}the same, compared with {}", sizes.few);
            table.push(Row::new(&what, median, Some(("the shortest run", first, Bound::AtMost(1.5)))));
        }
    }
}

/// `emit`, which records an activity as `record-activity` does.
fn reports(home: &Path, sizes: &Sizes, table: &mut Table) {
    let (recorded, reported) = (Project::with_activities(home, sizes.few), Project::with_activities(home, 0));
    reported.begin_reports();
    let mut timed = [Timed::new("record", || recorded.record()), Timed::new("emit", || reported.emit())];
    let medians = alternate(&mut timed, sizes.rounds);
    let against = Some(("`record-activity`", medians[0], Bound::AtMost(1.25)));
    table.push(Row::new("`emit` of a step, which completes and records another one", medians[1], against));
}

/// `verify`, compared with showing all events of the same run.
fn proofs(home: &Path, sizes: &Sizes, table: &mut Table) {
    for length in [sizes.some, sizes.many] {
        let project = Project::with_activities(home, length);
        let mut timed =
            [Timed::new("log", || project.of_run("log")), Timed::new("verify", || project.of_run("verify"))];
        let medians = alternate(&mut timed, (sizes.rounds / 10).max(5));
        table.push(Row::new(&format!("`log` of a run of {length} activities"), medians[0], None));
        let against = Some(("`log` of the same run", medians[0], Bound::AtMost(4.0)));
        table.push(Row::new(&format!("`verify` of a run of {length} activities"), medians[1], against));
    }
}

/// One recorder and sixteen at once.
fn crowd(home: &Path, sizes: &Sizes, table: &mut Table) {
    let project = Project::with_activities(home, sizes.few);
    let (mut alone, mut crowded) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        alone.push(together(1, sizes.rounds, || project.record()));
        crowded.push(together(16, sizes.rounds, || project.record()));
    }
    let (alone, crowded) = (timing::median(&mut alone), timing::median(&mut crowded));
    table.push(Row::new("a record of one recorder after another", alone, None));
    table.push(Row::new("a record of sixteen at once", crowded, Some(("one recorder", alone, Bound::AtMost(1.0)))));
}

/// `start`, `resume` and `list` among finished runs.
fn runs(home: &Path, floor: &Floor, sizes: &Sizes, table: &mut Table) {
    let projects: Vec<_> =
        [sizes.few, sizes.some, sizes.many].iter().map(|&runs| Project::with_runs(home, runs)).collect();
    for (verb, bound) in [("resume", Some(1.5)), ("start", None), ("list", None)] {
        let mut timed = vec![Timed::new("floor", || floor.append())];
        timed.extend(projects.iter().map(|project| Timed::new(verb, || project.verb(verb))));
        let rounds = if verb == "resume" { sizes.rounds } else { sizes.rounds / 4 };
        let medians = alternate(&mut timed, rounds);
        for (runs, &median) in [sizes.few, sizes.some, sizes.many].iter().zip(&medians[1..]) {
            let what = format!("`{verb}` among {runs} finished runs");
            let grown = bound.filter(|_| *runs == sizes.many).map_or(Bound::None, Bound::AtMost);
            table.push(Row::new(&what, median, Some(("the fewest runs", medians[1], grown))));
        }
    }
    let project = &projects[2];
    let mut timed = [
        Timed::new("read", || floor.read(project)),
        Timed::new("list", || project.list(true)),
        Timed::new("list", || project.list(false)),
    ];
    let medians = alternate(&mut timed, (sizes.rounds / 10).max(5));
    let what = format!("reading {} `run.yaml` one after another (a process that does only that)", sizes.many);
    table.push(Row::new(&what, medians[0], None));
    let what = format!("`list` of {} finished runs, which the cache knows", sizes.many);
    table.push(Row::new(&what, medians[1], Some(("reading the files", medians[0], Bound::AtMost(0.5)))));
    table.push(Row::new(
        "the same without the cache",
        medians[2],
        Some(("reading the files", medians[0], Bound::None)),
    ));
}

/// Readers of one run, which may be long.
fn readers(home: &Path, sizes: &Sizes, table: &mut Table) {
    let payload = payload(home);
    let lengths = [sizes.few, sizes.some, sizes.many];
    let projects = lengths.map(|length| Project::with_activities(home, length));
    for call in ["resume", "next", "attention", "hud", "hook codex session-start", "hook codex user-prompt-submit"] {
        let timed = projects.iter().map(|project| Timed::new(call, || project.call(call)).reading(&payload));
        let medians = alternate(&mut timed.collect::<Vec<_>>(), sizes.rounds / 2);
        for (length, &median) in lengths.iter().zip(&medians) {
            let what = format!("`{call}` in a run of {length} activities");
            let grown = if *length == sizes.many { Bound::AtMost(1.4) } else { Bound::None };
            table.push(Row::new(&what, median, Some(("the shortest run", medians[0], grown))));
        }
    }
}

/// What a host hands over to a hook.
fn payload(home: &Path) -> PathBuf {
    let payload = home.join("payload.json");
    let text = r#"{"session_id": "timed", "source": "startup", "prompt": "go on", "stop_hook_active": false}"#;
    std::fs::write(&payload, text).unwrap();
    payload
}

/// Hooks and the status line, for which hosts wait: among finished runs, and beside one open run and many.
fn hooks(home: &Path, sizes: &Sizes, table: &mut Table) {
    let payload = payload(home);
    let calls = [
        "hook codex session-start",
        "hook codex user-prompt-submit",
        "hook codex stop --continue",
        "hook codex session-end",
        "hud",
    ];
    let projects = [
        (Project::with_runs(home, sizes.some), format!("among {} finished runs", sizes.some), 5),
        (Project::with_open_runs(home, 1), "beside 1 open run".to_owned(), 5),
        (Project::with_open_runs(home, sizes.some), format!("beside {} open runs", sizes.some), 10),
    ];
    for (project, place, of_hud) in projects {
        let timed = calls.iter().map(|call| Timed::new(call, || project.call(call)).reading(&payload));
        let times = slowest(&mut timed.collect::<Vec<_>>(), sizes.rounds);
        for (call, time) in calls.iter().zip(times) {
            let limit = if *call == "hud" { of_hud } else { 10 };
            let limit = (if limit == 5 { "5 ms" } else { "10 ms" }, Duration::from_millis(limit), Bound::AtMost(1.0));
            table.push(Row::new(&format!("`{call}` {place}, 95th percentile"), time, Some(limit)));
        }
    }
}

/// Definitions that were never seen before.
fn definitions(home: &Path, sizes: &Sizes, table: &mut Table) {
    let project = Project::with_activities(home, 1);
    let large = project.large_definitions(1 << 20);
    let mut timed = vec![Timed::new("version", version), Timed::new("shipped", || project.check("debug"))];
    timed.extend(large.iter().map(|(of, file)| Timed::new(of, || project.check(file.to_str().unwrap()))));
    let medians = alternate(&mut timed, (sizes.rounds / 4).max(5));
    table.push(Row::new(
        "`workflow check` of a shipped definition",
        medians[1],
        Some(("start-up", medians[0], Bound::None)),
    ));
    for ((of, _), &median) in large.iter().zip(&medians[2..]) {
        let what = format!("`workflow check` of one MiB of {of}");
        table.push(Row::new(&what, median, Some(("start-up", medians[0], Bound::None))));
    }
}

/// What the dashboard and the screen cost a command that does not use them.
fn faces(home: &Path, without: &Path, sizes: &Sizes, table: &mut Table) {
    // Beside each other, and under names of the same length.
    let other = home.join("bin").join("less");
    std::fs::copy(without, &other).unwrap();
    let [ours, theirs] = [sizes.few; 2].map(|length| Project::with_activities(home, length));
    let mut timed = [Timed::new("without", || theirs.record_by(&other)), Timed::new("with", || ours.record())];
    let medians = alternate(&mut timed, 4 * sizes.rounds);
    table.push(Row::new("`record-activity` of a flow without `serve` and `watch`", medians[0], None));
    let against = Some(("a flow without them", medians[0], Bound::AtMost(1.03)));
    table.push(Row::new("`record-activity` of this flow", medians[1], against));
    let size = |path: &Path| std::fs::metadata(path).unwrap().len() as f64;
    let more = size(FLOW.get().unwrap()) - size(&other);
    table.push(Row::of_size("what `serve` and `watch` add to the program", more, ("2 MB", 2e6)));
}

fn version() -> Command {
    let mut command = flow();
    command.arg("--version");
    command
}
