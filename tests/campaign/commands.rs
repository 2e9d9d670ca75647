//! Every command that writes × every trouble, on one file system.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::section::{Plan, Row, in_parallel};
use crate::support::cases::CASES;
use crate::support::mount::{FileSystem, Image};
use crate::support::scene::Case;
use crate::support::trouble::State;
use crate::support::{Scene, Tally, Trouble, can_inject, quick, temporary};

/// The columns of the table.
const TROUBLES: [Trouble; 17] = [
    Trouble::Kill,
    Trouble::KillWithPlainRenames("EINVAL"),
    Trouble::PlainRenames("EINVAL"),
    Trouble::PlainRenames("ENOSYS"),
    Trouble::Fails("EIO"),
    Trouble::Fails("ENOSPC"),
    Trouble::Fails("EDQUOT"),
    Trouble::Fails("EROFS"),
    Trouble::Fails("EACCES"),
    Trouble::Fails("EINTR"),
    Trouble::KeepsFailing("EIO"),
    Trouble::KeepsFailing("ENOSPC"),
    Trouble::ShortAppend,
    Trouble::FileSize { ignored: false },
    Trouble::FileSize { ignored: true },
    Trouble::Descriptors,
    Trouble::Streams,
];

/// Those that need a disk which may be filled up.
const SMALL_DISK: [Trouble; 2] = [Trouble::Room, Trouble::ReadOnly];

/// Within this process, at every call of the file system.
pub fn in_this_process(plan: &Plan) -> Result<Vec<Row>, String> {
    let befalls_a_disk = |trouble: &&Trouble| {
        use Trouble::{Fails, KeepsFailing, Kill, KillWithPlainRenames, PlainRenames, ShortAppend};
        matches!(trouble, Kill | KillWithPlainRenames(_) | PlainRenames(_) | Fails(_) | KeepsFailing(_) | ShortAppend)
    };
    let troubles: Vec<_> = TROUBLES.iter().filter(befalls_a_disk).copied().collect();
    let place = "within the process";
    in_parallel(plan, &jobs(plan, &troubles), named(place), |&(case, trouble)| {
        vec![row(place, case, trouble, || Scene::new(case, &quick()), Trouble::states_inside)]
    })
}

/// In memory.
pub fn on_memory(plan: &Plan) -> Result<Vec<Row>, String> {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { product(plan, "tmpfs", &shared) } else { Err("there is no /dev/shm".to_owned()) }
}

/// Where temporary files are.
pub fn in_the_temporary_directory(plan: &Plan) -> Result<Vec<Row>, String> {
    let kind = std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(temporary()).output();
    let kind = kind.map_err(|error| format!("stat: {error}"))?;
    product(plan, &format!("TMPDIR ({})", String::from_utf8_lossy(&kind.stdout).trim()), &temporary())
}

/// On an image of ext4.
pub fn on_ext4(plan: &Plan) -> Result<Vec<Row>, String> {
    on_image(plan, FileSystem::Ext4)
}

/// On an image of XFS.
pub fn on_xfs(plan: &Plan) -> Result<Vec<Row>, String> {
    on_image(plan, FileSystem::Xfs)
}

/// On an image of btrfs.
pub fn on_btrfs(plan: &Plan) -> Result<Vec<Row>, String> {
    on_image(plan, FileSystem::Btrfs)
}

fn on_image(plan: &Plan, kind: FileSystem) -> Result<Vec<Row>, String> {
    let image = Image::new(kind, ROOM, &[])?;
    product(plan, kind.name(), &image.path())
}

/// MiB for a few projects at once.
const ROOM: u64 = 128;

/// In a tmpfs for each command that is filled up or made read-only.
pub fn on_small_disks(plan: &Plan) -> Result<Vec<Row>, String> {
    Scene::on_a_disk(CASES[0])?;
    let place = "small tmpfs";
    in_parallel(plan, &jobs(plan, &SMALL_DISK), named(place), |&(case, trouble)| {
        vec![row(place, case, trouble, || Scene::on_a_disk(case).unwrap(), Trouble::states)]
    })
}

fn product(plan: &Plan, place: &str, dir: &Path) -> Result<Vec<Row>, String> {
    if !can_inject(place) {
        return Err("strace is missing or may not trace".to_owned());
    }
    in_parallel(plan, &jobs(plan, &TROUBLES), named(place), |&(case, trouble)| {
        vec![row(place, case, trouble, || Scene::new(case, dir), Trouble::states)]
    })
}

fn jobs(plan: &Plan, troubles: &[Trouble]) -> Vec<(Case, Trouble)> {
    let all = CASES.iter().flat_map(|&case| troubles.iter().map(move |&trouble| (case, trouble)));
    all.filter(|(case, trouble)| plan.takes(case.name, &trouble.name())).collect()
}

fn named(place: &str) -> impl Fn(&(Case, Trouble)) -> String {
    move |(case, trouble)| format!("{place}: {}, {}", case.name, trouble.name())
}

fn row(
    place: &str,
    case: Case,
    trouble: Trouble,
    scene: impl FnOnce() -> Scene,
    states: fn(Trouble, &Scene) -> Vec<State>,
) -> Row {
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let scene = scene();
        Tally::of_scene(&scene, &states(trouble, &scene))
    }));
    let tally = tried.unwrap_or_else(|_| {
        let violation = format!("{}, {}: the command fails without any trouble", case.name, trouble.name());
        Tally { states: 1, violations: vec![violation] }
    });
    let violations = tally.violations.iter().map(|violation| format!("{place}: {violation}")).collect();
    Row {
        power: false,
        place: place.to_owned(),
        what: case.name.to_owned(),
        trouble: trouble.name(),
        states: tally.states,
        violations,
    }
}
