//! Every odd kind of file at every place of a tree, whoever opens it; places that change while they are used; file
//! systems that forbid or mix up what others allow.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::hostile::{
    Odd, Picture, as_user, can_become_others, clear, copy, limited, lock_bytes, picture, sane,
};
use crate::support::{Answer, Lack, Sandbox, run, scaled, skipped, temporary};

fn with_run() -> (Sandbox, String) {
    begun(Sandbox::new())
}

fn begun(sandbox: Sandbox) -> (Sandbox, String) {
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "first");
    (sandbox, run)
}

/// Every command that looks at or writes to a tree.
fn commands(run: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["record-activity", "--run-id", run, "--phase", "preflight", "--id", "next"],
        vec!["list"],
        vec!["init"],
        vec!["show", run],
        vec!["start", "debug", "--issue", "42"],
        vec!["resume"],
        vec!["block", run, "--reason", "why"],
        vec!["log", run],
        vec!["unblock", run],
        vec!["validate"],
        vec!["start", "mine"],
        vec!["resume", run],
        vec!["session-end", "--session", "s1"],
        vec!["workflow", "list"],
        vec!["complete", run],
        vec!["show", run, "--at", "1"],
        vec!["resume", run, "--claim", "--session", "s9"],
        vec!["workflow", "show", "mine"],
        vec!["resume", run, "--take-over", "--session", "s9"],
        vec!["validate", run],
        vec!["fail", run, "--reason", "why"],
        vec!["workflow", "check", ".flow/workflows/mine.workflow.yaml"],
        vec!["cancel", run],
        vec!["prune", "--older-than", "0d", "--to", "archive"],
        vec!["prune", "--older-than", "0d", "--yes"],
    ]
}

/// Every place that flow opens, makes, renames or removes.
fn places(run: &str) -> Vec<PathBuf> {
    let dir = PathBuf::from(".flow/runs").join(run);
    let mut places: Vec<PathBuf> = [
        "",
        "/runs",
        "/.lock",
        "/.gitignore",
        "/.gitattributes",
        "/config.yaml",
        "/workflows",
        "/workflows/mine.workflow.yaml",
        "/schemas",
        "/schemas/run.schema.json",
        "/.init.tmp",
        "/pruned.jsonl",
        "/.prune.tmp",
    ]
    .map(|name| format!(".flow{name}").into())
    .to_vec();
    places.push(dir.clone());
    places.extend(
        [
            "run.yaml",
            "events.jsonl",
            ".lock",
            "activities",
            "activities/001-first.yaml",
            "activities/002-next.yaml",
            "activities/.act.tmp",
            ".run.tmp",
            ".run.merge.tmp",
            ".events.tmp",
            ".quarantine",
        ]
        .map(|name| dir.join(name)),
    );
    places.extend([".decisions", ".decisions/issue-42.md", ".git"].map(PathBuf::from));
    places
}

/// What can stand there: an odd kind of file, or another name of the victim's.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trap {
    Odd(Odd),
    LinkToFile,
    LinkToDirectory,
    HardLink,
}

const TRAPS: [Trap; 10] = [
    Trap::Odd(Odd::Fifo),
    Trap::LinkToFile,
    Trap::Odd(Odd::Socket),
    Trap::LinkToDirectory,
    Trap::Odd(Odd::Directory),
    Trap::HardLink,
    Trap::Odd(Odd::File),
    Trap::Odd(Odd::Device),
    Trap::Odd(Odd::Dangling),
    Trap::Odd(Odd::Loop),
];

impl Trap {
    fn put(self, path: &Path, victim: &Path) -> bool {
        match self {
            Self::Odd(odd) => return odd.put(path),
            Self::LinkToFile => symlink(victim.join("file"), path).unwrap(),
            Self::LinkToDirectory => symlink(victim, path).unwrap(),
            Self::HardLink => std::fs::hard_link(victim.join("file"), path).unwrap(),
        }
        true
    }
}

/// A directory that is none of flow's business.
fn victim(sandbox: &Sandbox) -> PathBuf {
    let victim = sandbox.path("../victim");
    std::fs::create_dir_all(victim.join("runs")).unwrap();
    std::fs::write(victim.join("file"), "secret\n").unwrap();
    victim
}

#[test]
fn no_odd_file_anywhere_is_followed_waited_for_or_written_through_by_any_command() {
    let (sandbox, run_id) = with_run();
    sandbox.flow(["init"]).ok();
    let mine = include_str!("../../workflows/debug.workflow.yaml").replace("id: debug", "id: mine");
    std::fs::write(sandbox.path(".flow/workflows/mine.workflow.yaml"), mine).unwrap();
    let template = sandbox.path("../template");
    copy(&sandbox.path(".flow"), &template);
    let git = sandbox.path("../git");
    std::fs::rename(sandbox.path(".git"), &git).unwrap();
    let victim = victim(&sandbox);
    let theirs = picture(&victim);
    // One command of so many is tried on each trap; all of them with `FLOW_TRAPS=all`.
    let all = std::env::var_os("FLOW_TRAPS").is_some_and(|value| value == "all");
    let step = if all { 1 } else { scaled(13, 9) };
    let commands = commands(&run_id);
    let mut turn = 0;
    for place in places(&run_id) {
        for trap in TRAPS {
            clear(&sandbox.path(".flow"));
            clear(&sandbox.path(".decisions"));
            clear(&sandbox.path(".git"));
            copy(&template, &sandbox.path(".flow"));
            let path = sandbox.path(&place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            clear(&path);
            if !trap.put(&path, &victim) {
                continue;
            }
            for (at, command) in commands.iter().enumerate() {
                if (at + turn) % step == 0 {
                    let answer = sandbox.attack(command);
                    let known = [0, 1, 2, 3, 4, 5, 65, 74, 77];
                    assert!(known.contains(&answer.code.unwrap()), "{trap:?} {place:?} {command:?}: {answer:?}");
                    assert_eq!(picture(&victim), theirs, "{trap:?} {place:?} {command:?}: {answer:?}");
                }
            }
            turn += 1;
        }
    }
    clear(&sandbox.path(".git"));
    std::fs::rename(git, sandbox.path(".git")).unwrap();
}

/// Exchanges two names without end while the commands run. Says how often.
fn while_flipping(one: &Path, other: &Path, work: impl FnOnce()) -> usize {
    let (stop, flips) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                flips.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The flipper must end, also when the work fails.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    flips.into_inner()
}

/// All bytes of a tree, those of lock files included.
fn whole(root: &Path) -> (Picture, std::collections::BTreeMap<PathBuf, Vec<u8>>) {
    (picture(root), lock_bytes(root))
}

const RECORDS: usize = 15;

#[test]
#[expect(clippy::print_stdout, reason = "shown with --nocapture: how hard it was tried")]
fn no_place_that_flips_to_a_link_lets_a_byte_out() {
    for spot in
        ["/runs/ID/activities", "/runs/ID", "/runs", "", "/runs/ID/events.jsonl", "/runs/ID/run.yaml", "/runs/ID/.lock"]
    {
        let (sandbox, run_id) = with_run();
        let spot = sandbox.path(format!(".flow{}", spot.replace("ID", &run_id)));
        // The victim would serve: whoever follows the link writes into it.
        let victim = sandbox.path("../victim");
        if spot.is_dir() {
            copy(&spot, &victim)
        } else {
            std::fs::copy(&spot, &victim).unwrap();
        }
        let before = (whole(&victim), std::fs::read(&victim).ok());
        let evil = sandbox.path("../evil");
        symlink(&victim, &evil).unwrap();
        let mut acknowledged = Vec::new();
        let flips = while_flipping(&spot, &evil, || {
            for at in 0..RECORDS {
                let id = format!("swap-{at}");
                let answer =
                    sandbox.attack(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", &id]);
                let known = [0, 5, 65, 74, 77];
                assert!(known.contains(&answer.code.unwrap()), "{spot:?}: {answer:?}");
                if answer.code == Some(0) {
                    acknowledged.push(id);
                }
                let reader = [["show", &run_id], ["validate", &run_id], ["log", &run_id], ["resume", &run_id]];
                sandbox.attack(reader[at % reader.len()]);
            }
        });
        println!("{}: {flips} flips, {} of {RECORDS} acknowledged", spot.display(), acknowledged.len());
        assert!(flips >= RECORDS, "{flips} flips are no race");
        assert_eq!((whole(&victim), std::fs::read(&victim).ok()), before, "{spot:?}: something came out");
        if spot.is_symlink() {
            renameat_with(CWD, &spot, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
        }
        for id in &acknowledged {
            assert_eq!(sandbox.records_of(&run_id, id), 1, "{spot:?}: {id} was acknowledged");
        }
    }
}

#[test]
fn a_file_that_flips_to_a_pipe_keeps_no_reader_waiting() {
    for name in ["run.yaml", "events.jsonl", "activities/001-first.yaml"] {
        let (sandbox, run_id) = with_run();
        let pipe = sandbox.path("../pipe");
        assert!(Odd::Fifo.put(&pipe));
        let file = sandbox.run_dir(&run_id).join(name);
        while_flipping(&file, &pipe, || {
            for _ in 0..12 {
                for command in [["validate", &run_id], ["show", &run_id], ["log", &run_id]] {
                    sandbox.attack(command);
                }
            }
        });
    }
}

#[test]
fn names_in_a_tree_that_nobody_would_give_disturb_nobody() {
    let (sandbox, run_id) = with_run();
    let long = "x".repeat(255);
    let names: [&[u8]; 14] = [
        b"a\nb",
        b"\xff\xfe",
        b" ",
        b"-rf",
        b"CON",
        "é".as_bytes(),
        b"a\x1b[31m",
        b"...",
        b"$(id)",
        b"a;b",
        b"*",
        b"\\",
        "\u{202e}x".as_bytes(),
        long.as_bytes(),
    ];
    for name in names {
        std::fs::create_dir(sandbox.path(".flow/runs").join(OsStr::from_bytes(name))).unwrap();
        std::fs::write(sandbox.run_dir(&run_id).join(OsStr::from_bytes(name)), "theirs\n").unwrap();
        let activity = sandbox.run_dir(&run_id).join("activities").join(OsStr::from_bytes(name));
        std::fs::write(activity, "theirs\n").unwrap();
    }
    for name in
        ["99999999999999999999-x.yaml", "-1-x.yaml", "0-x.yaml", "002-x.yaml.bak", "2-y.yaml", "281474976710657-z.yaml"]
    {
        std::fs::write(sandbox.run_dir(&run_id).join("activities").join(name), "theirs\n").unwrap();
    }
    for command in
        commands(&run_id).iter().filter(|command| !["init", "complete", "fail", "cancel"].contains(&command[0]))
    {
        let answer = sandbox.attack(command);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{command:?}: {said:?}");
    }
    let listed = sandbox.attack(["list", "--json"]).ok().json();
    assert!(listed["runs"].as_array().unwrap().iter().any(|one| one["run_id"] == run_id.as_str()), "{listed}");
    let next = sandbox.record(&run_id, "preflight", "later");
    let number: u64 = next["number"].as_str().unwrap().parse().unwrap();
    assert!(number < 1000, "a stray name pushed the numbers up: {next}");
    for name in names {
        assert!(sandbox.path(".flow/runs").join(OsStr::from_bytes(name)).is_dir());
        assert!(sandbox.run_dir(&run_id).join(OsStr::from_bytes(name)).is_file());
    }
}

/// The immutable or append-only flag of a file, taken off again in the end.
struct Flag<'a>(&'a str, PathBuf);

impl<'a> Flag<'a> {
    fn put(flag: &'a str, path: PathBuf) -> Option<Self> {
        let done = Command::new("chattr").arg(format!("+{flag}")).arg(&path).output();
        done.is_ok_and(|output| output.status.success()).then_some(Self(flag, path))
    }
}

/// Why there are no flags: no program, or a file system without them.
fn no_flags() -> Lack {
    match Command::new("chattr").output() {
        Ok(_) => Lack::of("flags", "flags of files cannot be set here"),
        Err(_) => Lack::of("chattr", "chattr is missing"),
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg(format!("-{}", self.0)).arg(&self.1).output();
    }
}

#[test]
fn what_may_not_be_changed_is_named_and_the_run_goes_on_when_it_may_again() {
    const TEST: &str = "what_may_not_be_changed_is_named_and_the_run_goes_on_when_it_may_again";
    for (flag, name, codes) in [
        ("i", "", [74, 74]),
        ("i", "activities", [74, 74]),
        ("i", "events.jsonl", [74, 74]),
        ("i", ".lock", [74, 74]),
        // The line is on the disk before the rename: the record counts, and run.yaml follows later.
        ("i", "run.yaml", [0, 74]),
        ("a", "events.jsonl", [0, 0]),
        ("a", "run.yaml", [0, 74]),
    ] {
        // Files in memory have no flags in older kernels.
        let (sandbox, run_id) = begun(Sandbox::within(&temporary()));
        let spot = sandbox.run_dir(&run_id).join(name);
        let Some(set) = Flag::put(flag, spot.clone()) else {
            return skipped(TEST, &no_flags());
        };
        let mut recorded = 1;
        for (at, expected) in codes.into_iter().enumerate() {
            let id = format!("next-{at}");
            let answer = sandbox.attack(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", &id]);
            assert!([0, expected].contains(&answer.code.unwrap()), "+{flag} {name} {at}: {answer:?}");
            if answer.code == Some(0) {
                recorded += 1;
            } else {
                let named = [spot.file_name().unwrap().to_str().unwrap(), ".run.tmp"];
                let named = named.iter().any(|name| answer.stderr.contains(name));
                assert!(named, "+{flag} {name} {at}: {answer:?}");
                assert!(answer.stderr.contains("not permitted"), "+{flag} {name}: {answer:?}");
            }
        }
        for reader in [["show", &run_id], ["log", &run_id], ["resume", &run_id]] {
            sandbox.attack(reader).ok();
        }
        drop(set);
        for at in 0..2 {
            sandbox.record(&run_id, "preflight", &format!("next-{at}"));
        }
        sandbox.record(&run_id, "preflight", "afterwards");
        assert!(recorded >= 1);
        sandbox.assert_sound(&run_id);
        assert_eq!(sandbox.records(&run_id).len(), 4, "+{flag} {name}");
    }
}

/// A command in a mount namespace of its own, after this preparation; the mounts end with it.
fn in_namespace(sandbox: &Sandbox, prepare: &str, args: &[&str]) -> Answer {
    let mut command = sandbox.command("unshare");
    let script = format!("{prepare} && exec \"$@\"");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_flow")])
        .args(args);
    run(limited(&command), "")
}

#[test]
fn a_read_only_file_system_can_be_read_and_says_so_to_writers() {
    const TEST: &str = "a_read_only_file_system_can_be_read_and_says_so_to_writers";
    let (sandbox, run_id) = with_run();
    let freeze = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"";
    if in_namespace(&sandbox, freeze, &["--version"]).code != Some(0) {
        return skipped(TEST, &Lack::of("mount", "mounting needs unshare, mount and the right to do so"));
    }
    let before = whole(&sandbox.root());
    for command in [["list"].as_slice(), &["show", &run_id], &["log", &run_id], &["resume"], &["validate"]] {
        let answer = sane(in_namespace(&sandbox, freeze, command));
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{command:?}: {answer:?}");
    }
    for command in
        commands(&run_id).iter().filter(|command| ["record-activity", "block", "cancel", "fail"].contains(&command[0]))
    {
        let answer = sane(in_namespace(&sandbox, freeze, command));
        assert_eq!(answer.code, Some(74), "{command:?}: {answer:?}");
        assert!(answer.stderr.contains("Read-only file system"), "{command:?}: {answer:?}");
    }
    let start = sane(in_namespace(&sandbox, freeze, &["start", "debug"]));
    assert_eq!(start.code, Some(74), "{start:?}");
    sane(in_namespace(&sandbox, freeze, &["session-end", "--unowned"])).ok();
    assert_eq!(whole(&sandbox.root()), before);
}

#[test]
fn on_a_file_system_that_knows_no_case_no_two_runs_share_a_directory() {
    const TEST: &str = "on_a_file_system_that_knows_no_case_no_two_runs_share_a_directory";
    let sandbox = Sandbox::new();
    let image = sandbox.path("../image");
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let made =
        Command::new("mkfs.ext4").args(["-q", "-O", "casefold", "-E", "encoding=utf8"]).arg(&image).output().ok();
    let fold =
        "mkdir -p folded && mount -o loop ../image folded && mkdir folded/p && chattr +F folded/p && cd folded/p";
    let mounts = made.as_ref().is_some_and(|output| output.status.success())
        && in_namespace(&sandbox, fold, &["--version"]).code == Some(0);
    if mounts {
        let script = r#"
            "$0" start debug --id run-A && ! "$0" start debug --id run-a && "$0" record-activity --run-id run-A --id x &&
            ! "$0" record-activity --run-id RUN-A --id y && "$0" validate"#;
        let mut command = sandbox.command("unshare");
        let script = format!("{fold} && exec sh -c '{script}' {}", env!("CARGO_BIN_EXE_flow"));
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        return drop(sane(run(limited(&command), "")).ok());
    }
    if made.is_none() {
        skipped(TEST, &Lack::of("mkfs.ext4", "mkfs.ext4 is missing"));
    }
    skipped(TEST, &Lack::of("casefold", "no ext4 that folds case can be mounted; its answers are simulated"));
    // There, run-a opens the directory of run-A: what is found in it is not what was asked for.
    sandbox.attack(["start", "debug", "--id", "run-A"]).ok();
    std::fs::rename(sandbox.run_dir("run-A"), sandbox.run_dir("run-a")).unwrap();
    let before = picture(&sandbox.root());
    for args in [
        ["record-activity", "--run-id", "run-a", "--id", "x"].as_slice(),
        &["block", "run-a", "--reason", "x"],
        &["show", "run-a"],
        &["resume", "run-a"],
    ] {
        let error = sandbox.refused(args, 65);
        assert!(error["message"].as_str().unwrap().contains("run-A"), "{args:?}: {error}");
        assert_eq!(picture(&sandbox.root()), before, "{args:?}");
    }
}

/// Opens a tree to everybody.
fn open_up(root: &Path) {
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry.unwrap();
        let mode = if entry.file_type().is_dir() { 0o777 } else { 0o666 };
        std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn in_a_tree_that_everybody_may_write_nothing_of_another_user_is_used() {
    const TEST: &str = "in_a_tree_that_everybody_may_write_nothing_of_another_user_is_used";
    if !can_become_others(TEST) {
        return;
    }
    let (sandbox, run_id) = with_run();
    for dir in ["..", "."] {
        std::fs::set_permissions(sandbox.path(dir), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    open_up(&sandbox.path(".flow"));
    // Open rights are no reason to refuse: there are machines without others.
    sandbox.record(&run_id, "preflight", "second");
    let as_another = |script: &str| {
        let mut command = sandbox.command("sh");
        command.args(["-c", script]).current_dir(sandbox.run_dir(&run_id));
        run(as_user(12345, command), "").ok();
    };
    let victim = victim(&sandbox);
    let theirs = picture(&victim);
    for (what, script, undo) in [
        ("a log of another user", "mv events.jsonl keep && cp keep events.jsonl", "mv -f keep events.jsonl"),
        ("a lock of another user", "mv .lock keep && cp keep .lock", "mv -f keep .lock"),
        (
            "a directory of another user",
            "mv activities keep && mkdir activities",
            "rmdir activities && mv keep activities",
        ),
        (
            "a link to a directory",
            "mv activities keep && ln -s ../../../../victim activities",
            "rm activities && mv keep activities",
        ),
        (
            "a link to a file",
            "mv events.jsonl keep && ln -s ../../../../victim/file events.jsonl",
            "mv -f keep events.jsonl",
        ),
    ] {
        as_another(script);
        let error = sandbox.refused(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", "no"], 77);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("belongs to user 12345") || message.contains("symbolic link"), "{what}: {error}");
        assert_eq!(picture(&victim), theirs, "{what}");
        as_another(undo);
    }
    // A temporary file that another user holds open is not the one that becomes run.yaml.
    as_another("echo 'goal: stolen' > .run.tmp; echo stolen > activities/.act.tmp; echo '{}' > .events.tmp");
    let answer = sandbox.attack(["record-activity", "--run-id", &run_id, "--phase", "preflight", "--id", "third"]);
    assert!(matches!(answer.code, Some(0 | 77)), "{answer:?}");
    let text = sandbox.read(&run_id, "run.yaml");
    assert!(!text.contains("stolen"), "{text}");
    sandbox.record(&run_id, "preflight", "fourth");
    assert_eq!(sandbox.records_of(&run_id, "no"), 0);
    sandbox.assert_sound(&run_id);
}

#[test]
fn a_reader_goes_into_no_directory_of_another_user_and_says_why() {
    const TEST: &str = "a_reader_goes_into_no_directory_of_another_user_and_says_why";
    if !can_become_others(TEST) {
        return;
    }
    for spot in [".flow", ".flow/runs", ".flow/runs/ID"] {
        let (sandbox, run_id) = with_run();
        for path in [sandbox.root(), sandbox.path(spot.replace("ID", &run_id))] {
            std::os::unix::fs::chown(path, Some(12345), Some(12345)).unwrap();
        }
        let before = whole(&sandbox.root());
        for command in [
            ["list"].as_slice(),
            &["show", &run_id],
            &["log", &run_id],
            &["resume", &run_id],
            &["session-end", "--unowned"],
        ] {
            let answer = sandbox.attack(command);
            let said = format!("{}{}", answer.stdout, answer.stderr);
            assert!(said.contains("belongs to user 12345"), "{spot} {command:?}: {answer:?}");
            assert!(!said.contains("preflight"), "{spot} {command:?} looked into it: {answer:?}");
            assert_eq!(whole(&sandbox.root()), before, "{spot} {command:?}");
        }
        let mut trusting = sandbox.flow_command();
        trusting.env("FLOW_TRUST_OWNER", "1").args(["show", &run_id]);
        sane(run(limited(&trusting), "")).ok();
    }
}
