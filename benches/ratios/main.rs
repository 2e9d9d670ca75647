//! How long flow takes, as ratios within one run: `cargo bench --bench ratios`.
//!
//! Whole processes are timed, alternating with what they are compared to, so that both meet the same machine. With
//! `-- --write` the table goes into `docs/performance.md`. `-- --quick` takes fewer rounds and smaller projects. Words take
//! only the parts of the table with these names: `-- hooks checkouts`. How long installing takes is measured when it is named:
//! `-- builds`.
//! `-- --without FLOW` compares with a flow that was built without the dashboard and the screen:
//! `cargo build --release --no-default-features --features mcp,network --target-dir target/without`.
#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes and looks at the clock")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

mod builds;
mod evidence;
#[path = "../../tests/it/support/lack.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod lack;
#[path = "../../tests/it/support/mount.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod mount;
mod peers;
mod project;
mod shared;
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
    /// Events of the longest run, of which `many` are activities.
    most: usize,
}

/// What every part of the table needs.
struct Bench {
    home: PathBuf,
    floor: Floor,
    sizes: Sizes,
    table: Table,
    /// A flow that was built without the dashboard and the screen.
    without: Option<PathBuf>,
}

type Part = (&'static str, fn(&mut Bench));

/// What takes minutes is measured only when it is named.
const WHEN_NAMED: &str = "builds";

const PARTS: [Part; 15] = [
    ("records", |bench| all_records(bench)),
    ("reports", |bench| reports(&bench.home, &bench.sizes, &mut bench.table)),
    ("proofs", |bench| proofs(&bench.home, &bench.floor, &bench.sizes, &mut bench.table)),
    ("crowd", |bench| crowds(bench)),
    ("runs", |bench| runs(&bench.home, &bench.floor, &bench.sizes, &mut bench.table)),
    ("readers", |bench| readers(&bench.home, &bench.sizes, &mut bench.table)),
    ("retries", |bench| retries(&bench.home, &bench.sizes, &mut bench.table)),
    ("hooks", |bench| hooks(&bench.home, &bench.floor, &bench.sizes, &mut bench.table)),
    ("checkouts", |bench| checkouts(&bench.home, &bench.floor, &bench.sizes, &mut bench.table)),
    ("definitions", |bench| definitions(&bench.home, &bench.sizes, &mut bench.table)),
    ("evidence", |bench| {
        evidence::rows(&bench.home, bench.sizes.many, (bench.sizes.rounds / 10).max(5), &mut bench.table);
    }),
    ("peers", |bench| peers::rows(&bench.home, &bench.floor, bench.sizes.rounds, &mut bench.table)),
    ("shared", |bench| shared::rows(&bench.home, (bench.sizes.rounds / 4).max(5), &mut bench.table)),
    (WHEN_NAMED, |bench| builds::rows(&bench.home, &mut bench.table)),
    ("faces", |bench| match bench.without.clone() {
        Some(without) => faces(&bench.home, &without, &bench.sizes, &mut bench.table),
        None => println!("SKIPPED: what the dashboard and the screen cost: needs --without FLOW"),
    }),
];

fn main() {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    let without = args.iter().position(|arg| arg == "--without").map(|at| args.drain(at..at + 2).nth(1).unwrap());
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let sizes = if has("--quick") {
        Sizes { rounds: 30, few: 10, some: 100, many: 1000, most: 10_000 }
    } else {
        Sizes { rounds: 200, few: 10, some: 1000, many: 10_000, most: 100_000 }
    };
    let home = tempfile::tempdir().unwrap();
    FLOW.set(install(Path::new(env!("CARGO_BIN_EXE_flow")), home.path())).unwrap();
    let floor = Floor::build(home.path());
    let (path, without) = (home.path().to_owned(), without.map(PathBuf::from));
    let mut bench = Bench { home: path, floor, sizes, table: Table::default(), without };
    let names: Vec<_> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    for (name, part) in PARTS {
        let is_asked = names.is_empty() && name != WHEN_NAMED;
        if is_asked || names.iter().any(|wanted| *wanted == name) {
            part(&mut bench);
        }
    }
    println!("{}", bench.table);
    if has("--write") {
        bench.table.write(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md")));
    }
    if bench.table.is_broken() && !has("--quick") {
        std::process::exit(1);
    }
}

/// The images of file systems with a journal, on which a record costs what it costs most users, or why there is none.
fn images() -> Vec<(FileSystem, Result<Image, Lack>)> {
    [FileSystem::Ext4, FileSystem::Xfs].map(|kind| (kind, Image::new(kind, 512, &[]))).into()
}

fn all_records(bench: &mut Bench) {
    let Bench { home, floor, sizes, table, .. } = bench;
    let images = images();
    // The file system of temporary files is unknown, so the bound applies to it only if no image can be mounted.
    let record = if images.iter().any(|(_, image)| image.is_ok()) { Bound::None } else { Bound::AtMost(1.9) };
    records(home, "", record, floor, sizes, table);
    for (kind, image) in &images {
        match image {
            Ok(image) => {
                let on = format!("on {}: ", kind.name());
                records(&image.path(), &on, Bound::AtMost(1.9), &floor.at(&image.path()), sizes, table);
            }
            Err(why) => println!("SKIPPED: records on {}: {why}", kind.name()),
        }
    }
}

/// Recorders of one run, and as many of a run each.
fn crowds(bench: &mut Bench) {
    let Bench { home, sizes, table, .. } = bench;
    crowd(home, sizes, table);
    for (kind, image) in images() {
        match image {
            Ok(image) => many_runs(&image.path(), kind.name(), sizes, table),
            Err(why) => println!("SKIPPED: crowds on {}: {why}", kind.name()),
        }
    }
}

/// Thirty-two recorders at once.
fn many_runs(home: &Path, on: &str, sizes: &Sizes, table: &mut Table) {
    let one = Project::with_activities(home, sizes.few);
    let each: Vec<_> = (0..32).map(|_| Project::with_activities(home, sizes.few)).collect();
    let (mut of_one, mut of_each) = (Vec::new(), Vec::new());
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let next = || &each[turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % each.len()];
    for _ in 0..5 {
        of_one.push(together(32, sizes.rounds, || one.record()));
        of_each.push(together(32, sizes.rounds, || next().record()));
    }
    let (of_one, of_each) = (timing::median(&mut of_one), timing::median(&mut of_each));
    table.push(Row::new(&format!("on {on}: a record of 32 at once, each in a project of its own"), of_each, None));
    let against = Some(("runs of their own", of_each, Bound::None));
    table.push(Row::new(&format!("on {on}: a record of 32 at once in one run"), of_one, against));
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

/// `log` and `verify`. Their bounds hold for a disk on which the floor takes a millisecond.
fn proofs(home: &Path, floor: &Floor, sizes: &Sizes, table: &mut Table) {
    for length in [sizes.some, sizes.many] {
        let project = Project::with_activities(home, length);
        let mut timed = [
            Timed::new("floor", || floor.append()),
            Timed::new("log", || project.of_run("log")),
            Timed::new("verify", || project.of_run("verify")),
        ];
        let medians = alternate(&mut timed, (sizes.rounds / 10).max(5));
        for (verb, &median, most) in [("log", &medians[1], 60.0), ("verify", &medians[2], 350.0)] {
            let bound = if length == sizes.many { Bound::AtMost(most) } else { Bound::None };
            let against = Some(("the floor", medians[0], bound));
            table.push(Row::new(&format!("`{verb}` of a run of {length} activities"), median, against));
        }
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
    table.push(Row::new(&what, medians[1], Some(("reading the files", medians[0], Bound::AtMost(0.7)))));
    table.push(Row::new(
        "the same without the cache",
        medians[2],
        Some(("reading the files", medians[0], Bound::AtMost(1.9))),
    ));
}

/// Projects with a run of each length. The longest one has no more activities than the one before.
fn of_every_length(home: &Path, sizes: &Sizes) -> ([usize; 4], Vec<Project>) {
    let lengths = [sizes.few, sizes.some, sizes.many, sizes.most];
    let mut projects: Vec<_> = lengths[..3].iter().map(|&length| Project::with_activities(home, length)).collect();
    projects.push(Project::with_events(home, sizes.many, sizes.most));
    (lengths, projects)
}

/// Readers of one run, which may be long.
fn readers(home: &Path, sizes: &Sizes, table: &mut Table) {
    let payload = payload(home);
    let (lengths, projects) = of_every_length(home, sizes);
    let calls = [
        "resume",
        "next",
        "attention",
        "hud",
        "list",
        "hook codex session-start",
        "hook codex user-prompt-submit",
        "hook codex stop --continue",
        "log --after",
    ];
    for call in calls {
        let made = |project: &Project| if call == "log --after" { project.log_after() } else { project.call(call) };
        let timed = projects.iter().map(|project| Timed::new(call, move || made(project)).reading(&payload));
        let medians = alternate(&mut timed.collect::<Vec<_>>(), sizes.rounds / 2);
        for (length, &median) in lengths.iter().zip(&medians) {
            let of = if *length == sizes.most { "events" } else { "activities" };
            let what = format!("`{call}` in a run of {length} {of}");
            let grown = match *length {
                length if length == sizes.many => Bound::AtMost(1.4),
                length if length == sizes.most => Bound::AtMost(2.0),
                _ => Bound::None,
            };
            table.push(Row::new(&what, median, Some(("the shortest run", medians[0], grown))));
        }
    }
}

/// A record that is repeated: one of the last, and the first one.
fn retries(home: &Path, sizes: &Sizes, table: &mut Table) {
    let (lengths, projects) = of_every_length(home, sizes);
    let many = lengths.map(|length| length.min(sizes.many));
    for (which, bounds) in [("a late", [1.4, 2.0]), ("the first", [3.0, 15.0])] {
        let timed = projects.iter().zip(many).map(|(project, activities)| {
            let nth = if which == "the first" { 0 } else { activities - activities.min(5) };
            Timed::new("retry", move || project.retry(nth))
        });
        let medians = alternate(&mut timed.collect::<Vec<_>>(), sizes.rounds / 4);
        for (nth, (length, &median)) in lengths.iter().zip(&medians).enumerate() {
            let of = if nth == 3 { "events" } else { "activities" };
            let what = format!("{which} `record-activity` again in a run of {length} {of}");
            let bound = if nth < 2 { Bound::None } else { Bound::AtMost(bounds[nth - 2]) };
            table.push(Row::new(&what, median, Some(("the shortest run", medians[0], bound))));
        }
    }
}

/// `resume` and `start` in a checkout of git.
fn checkouts(home: &Path, floor: &Floor, sizes: &Sizes, table: &mut Table) {
    for files in [2 * sizes.some / 10, 2 * sizes.many] {
        let project = Project::in_checkout(home, files);
        let mut timed = [
            Timed::new("floor", || floor.append()),
            Timed::new("git status", || project.git_status()),
            Timed::new("resume", || project.verb("resume")),
            Timed::new("start", || project.verb("start")),
        ];
        let medians = alternate(&mut timed, (sizes.rounds / 4).max(5));
        let few = files == 2 * sizes.some / 10;
        table.push(Row::new(&format!("`git status` in a checkout of {files} files"), medians[1], None));
        let against = if few {
            ("the floor", medians[0], Bound::AtMost(4.0))
        } else {
            ("`git status`", medians[1], Bound::AtMost(1.5))
        };
        table.push(Row::new(&format!("`resume` in a checkout of {files} files"), medians[2], Some(against)));
        let bound = if few { Bound::AtMost(6.0) } else { Bound::None };
        let against = Some(("the floor", medians[0], bound));
        table.push(Row::new(&format!("`start` in a checkout of {files} files"), medians[3], against));
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
fn hooks(home: &Path, floor: &Floor, sizes: &Sizes, table: &mut Table) {
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
        let mut timed = vec![Timed::new("floor", || floor.append())];
        timed.extend(calls.iter().map(|call| Timed::new(call, || project.call(call)).reading(&payload)));
        let times = slowest(&mut timed, sizes.rounds);
        let medians: Vec<_> = timed.iter_mut().map(Timed::median).collect();
        for ((call, &time), &median) in calls.iter().zip(&times[1..]).zip(&medians[1..]) {
            let (limit, floors) = if *call == "hud" { (of_hud, 3.0) } else { (10, 4.0) };
            let limit = (if limit == 5 { "5 ms" } else { "10 ms" }, Duration::from_millis(limit), Bound::AtMost(1.0));
            table.push(Row::new(&format!("`{call}` {place}, 95th percentile"), time, Some(limit)));
            let bound = if place.starts_with("beside 1 ") { Bound::AtMost(floors) } else { Bound::None };
            table.push(Row::new(&format!("`{call}` {place}"), median, Some(("the floor", medians[0], bound))));
        }
    }
    // As after a clone: the first one looks at all runs, and the next one does not.
    let project = Project::with_runs(home, sizes.many);
    let mut timed = [
        Timed::new("cold", || project.call_without_cache("hook codex user-prompt-submit")).reading(&payload),
        Timed::new("next", || project.call("hook codex user-prompt-submit")).reading(&payload),
    ];
    let medians = alternate(&mut timed, (sizes.rounds / 20).max(5));
    let place = format!("`hook codex user-prompt-submit` among {} finished runs", sizes.many);
    table.push(Row::new(&format!("{place}, the first one after a clone"), medians[0], None));
    let against = Some(("the first one", medians[0], Bound::None));
    table.push(Row::new(&format!("{place}, the next one"), medians[1], against));
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
