//! Every call of a record fails once: the record is then acknowledged and there, or the command says so and a retry with
//! the same id puts it there exactly once.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{
    Answer, Call, Sandbox, Tree, calls, can_inject, essence, injected, injecting, run, skipped, try_all,
};

const ID: &str = "explore-done";

/// A run with one record, about to get a second.
struct Scene {
    sandbox: Sandbox,
    run: String,
    base: Tree,
    old: Value,
    new: Value,
    calls: Vec<Call>,
}

impl Scene {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        sandbox.record(&run, "preflight", "preflight-done");
        let base = Tree::of(&sandbox.path(".flow"));
        let mut scene = Self { sandbox, run, base, old: Value::Null, new: Value::Null, calls: Vec::new() };
        scene.old = scene.resumed();
        let (answer, calls) = calls(&scene.sandbox, &scene.args());
        answer.ok();
        scene.calls = calls;
        scene.new = scene.resumed();
        scene.restore();
        scene
    }

    fn args(&self) -> [&str; 7] {
        ["record-activity", "--run-id", &self.run, "--phase", "explore", "--id", ID]
    }

    fn restore(&self) {
        self.base.restore(&self.sandbox.path(".flow"));
    }

    fn resumed(&self) -> Value {
        essence(&self.sandbox.flow(["resume", &self.run, "--json"]).ok().json())
    }

    /// What must hold when the trouble is over, whatever the command answered.
    #[track_caller]
    fn assert_recovers(&self, answer: &Answer, trouble: &str) {
        let code = answer.code;
        assert!([Some(0), Some(74), Some(77), Some(65)].contains(&code), "{trouble}: {answer:?}");
        assert!(code == Some(0) || !answer.stderr.is_empty(), "{trouble}: not a word about it");
        assert!(!answer.stderr.contains("panicked"), "{trouble}: {answer:?}");
        assert!(
            self.sandbox.shown_seq(&self.run) <= self.sandbox.events(&self.run).len() as u64,
            "{trouble}: run.yaml is ahead of the log"
        );
        let seen = self.resumed();
        if code == Some(0) {
            assert_eq!(seen, self.new, "{trouble}: acknowledged, but not there");
        } else {
            assert!(seen == self.old || seen == self.new, "{trouble}: neither old nor new: {seen:#}");
        }
        self.sandbox.flow(self.args()).ok();
        assert_eq!(self.resumed(), self.new, "{trouble}: the retry");
        assert_eq!(self.sandbox.records_of(&self.run, ID), 1, "{trouble}");
        self.sandbox.record(&self.run, "plan", "plan-done");
        self.sandbox.assert_sound(&self.run);
    }

    fn fails_with(&self, call: &Call, error: &str) {
        self.restore();
        let trouble = format!("{error} from call {} of {}", call.nth, call.shown);
        let answer = injected(&self.sandbox, &format!("{}:error={error}:when={}", call.name, call.nth), &self.args());
        self.assert_recovers(&answer, &trouble);
        let aside = self.sandbox.quarantined(&self.run);
        assert!(aside.is_empty(), "{trouble}: clutter {aside:?}");
    }
}

#[test]
fn a_failed_call_of_a_record_loses_and_repeats_nothing() {
    if !can_inject("a_failed_call_of_a_record_loses_and_repeats_nothing") {
        return;
    }
    let scene = Scene::new();
    // A failed close or exit is nothing that a program can act on.
    let may_fail = |call: &&Call| call.touches_files() && !["close", "exit_group"].contains(&call.name.as_str());
    let calls: Vec<_> = scene.calls.iter().filter(may_fail).collect();
    assert!(calls.len() > 40, "only {} calls were found", calls.len());
    try_all(&calls, |call| scene.fails_with(call, "EIO"));
}

#[test]
fn a_full_disk_a_quota_and_a_lost_permission_lose_and_repeat_nothing() {
    if !can_inject("a_full_disk_a_quota_and_a_lost_permission_lose_and_repeat_nothing") {
        return;
    }
    let scene = Scene::new();
    let errors = ["ENOSPC", "EROFS", "EDQUOT", "EACCES"];
    let changing = scene.calls.iter().filter(|call| call.changes_something() && call.name != "exit_group");
    // A full disk everywhere, and one of the others in turn.
    let faults = changing.enumerate().flat_map(|(at, call)| [(call, errors[0]), (call, errors[1 + at % 3])]);
    try_all(&faults.collect::<Vec<_>>(), |(call, error)| scene.fails_with(call, error));
}

#[test]
fn a_start_that_fails_makes_a_whole_run_or_none() {
    if !can_inject("a_start_that_fails_makes_a_whole_run_or_none") {
        return;
    }
    let scene = Scene::new();
    let args = ["start", "start-issue", "--issue", "7", "--branch", "main", "--repo", "acme/widgets"];
    let (answer, calls) = calls(&scene.sandbox, &args);
    answer.ok();
    let changing = calls.iter().filter(|call| call.changes_something() && call.name != "exit_group");
    let faults = changing.flat_map(|call| [(call, "EIO"), (call, "ENOSPC")]);
    try_all(&faults.collect::<Vec<_>>(), |(call, error)| {
        scene.restore();
        let inject = format!("{}:error={error}:when={}", call.name, call.nth);
        let answer = injected(&scene.sandbox, &inject, &args);
        assert!([Some(0), Some(74)].contains(&answer.code), "{answer:?}");
        let runs = scene.sandbox.runs().len();
        assert!(runs == 2 || (runs == 1 && answer.code == Some(74)), "{answer:?} {:?}", scene.sandbox.runs());
        scene.sandbox.flow(args).ok();
        assert_eq!(scene.sandbox.runs().len(), runs + 1);
        scene.sandbox.runs().iter().for_each(|run| scene.sandbox.assert_sound(run));
        assert_eq!(scene.sandbox.find(".flow", ".new-"), None);
    });
}

#[test]
fn an_interrupted_call_is_repeated_or_reported() {
    if !can_inject("an_interrupted_call_is_repeated_or_reported") {
        return;
    }
    let scene = Scene::new();
    let slow = |call: &&Call| ["write", "pwrite64", "read", "pread64", "flock"].contains(&call.name.as_str());
    try_all(&scene.calls.iter().filter(slow).collect::<Vec<_>>(), |call| {
        scene.restore();
        let inject = format!("{}:error=EINTR:when={}", call.name, call.nth);
        let answer = injected(&scene.sandbox, &inject, &scene.args());
        // What is being written is not given up for a signal.
        assert!(answer.code == Some(0) || !call.name.contains("write"), "{answer:?}");
        scene.assert_recovers(&answer, &call.shown);
    });
}

#[test]
fn a_short_write_is_completed_or_taken_back() {
    if !can_inject("a_short_write_is_completed_or_taken_back") {
        return;
    }
    let scene = Scene::new();
    // The call is not made at all, so what claims to be half written is missing: only a line taken back is right.
    let log = scene.calls.iter().find(|call| call.name == "write" && call.shown.contains("{\\\"v\\\":1"));
    let log = log.expect("the log was not written");
    let inject = format!("write:retval=20:when={}", log.nth);
    let answer = injected(&scene.sandbox, &inject, &scene.args()).exits(74);
    assert_eq!(scene.resumed(), scene.old);
    scene.assert_recovers(&answer, "a short append");
}

#[test]
fn a_failed_flush_that_cannot_be_taken_back_is_recovered_on_a_new_file() {
    use std::os::unix::fs::MetadataExt;
    if !can_inject("a_failed_flush_that_cannot_be_taken_back_is_recovered_on_a_new_file") {
        return;
    }
    let scene = Scene::new();
    for flush in scene.calls.iter().filter(|call| ["fdatasync", "fsync"].contains(&call.name.as_str())) {
        scene.restore();
        let log = scene.sandbox.run_dir(&scene.run).join("events.jsonl");
        let before = std::fs::metadata(&log).unwrap().ino();
        let injects = [format!("{}:error=EIO:when={}", flush.name, flush.nth), "ftruncate:error=EIO".to_owned()];
        let injects = [injects[0].as_str(), injects[1].as_str()];
        let answer = run(injecting(&scene.sandbox, &injects, &scene.args()), "").exits(74);
        assert!(answer.stderr.contains("--id"), "the way out is not told: {}", answer.stderr);
        scene.sandbox.flow(scene.args()).ok();
        // Pages of a failed flush may count as clean without being on the disk: only a copy can be flushed again.
        assert_ne!(std::fs::metadata(&log).unwrap().ino(), before, "{flush:?}");
        scene.assert_recovers(&answer, "a flush and its taking back");
    }
}

#[test]
fn a_record_whose_answer_cannot_be_delivered_stays_and_says_so() {
    let scene = Scene::new();
    for json in [false, true] {
        scene.restore();
        let mut command = scene.sandbox.flow_command();
        command.args(scene.args()).args(json.then_some("--json"));
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(74), "{stderr}");
        assert!(stderr.contains("recorded") && stderr.contains("002"), "{stderr}");
        assert_eq!(scene.resumed(), scene.new);
        let answer = Answer { stdout: String::new(), stderr, code: Some(74) };
        scene.assert_recovers(&answer, "/dev/full");
    }
}

#[test]
fn closed_streams_neither_stop_a_record_nor_reach_its_files() {
    let scene = Scene::new();
    for redirect in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        scene.restore();
        let mut shell = scene.sandbox.command("sh");
        shell.arg("-c").arg(format!("\"$@\" {redirect}")).arg("sh").arg(env!("CARGO_BIN_EXE_flow")).args(scene.args());
        let mut answer = run(shell, "");
        assert!([Some(0), Some(74)].contains(&answer.code), "{redirect}: {answer:?}");
        assert_eq!(scene.resumed(), scene.new, "{redirect}");
        answer.stderr.push_str("may be closed");
        scene.assert_recovers(&answer, redirect);
    }
}

/// Sizes at which some file of the record does not fit, from the first to none.
fn limits(scene: &Scene) -> Vec<u64> {
    let dir = scene.sandbox.run_dir(&scene.run);
    let size = |name| std::fs::metadata(dir.join(name)).unwrap().len();
    let (log, text) = (size("events.jsonl"), size("run.yaml"));
    vec![0, 100, 512, text / 2, text, log, log + 1, log + 40]
}

#[test]
fn a_file_size_limit_is_an_error_like_a_full_disk() {
    let scene = Scene::new();
    for limit in limits(&scene) {
        scene.restore();
        let mut shell = scene.sandbox.command("sh");
        // The shell passes on that the signal is ignored.
        let script = "trap '' XFSZ; exec prlimit --fsize=\"$0\" \"$@\"";
        shell.arg("-c").arg(script).arg(limit.to_string()).arg(env!("CARGO_BIN_EXE_flow")).args(scene.args());
        let answer = run(shell, "");
        if answer.code == Some(127) {
            return skipped("a_file_size_limit_is_an_error_like_a_full_disk", "prlimit is missing");
        }
        scene.assert_recovers(&answer, &format!("files of at most {limit} bytes"));
    }
}

#[test]
fn a_file_size_limit_does_not_end_the_program_by_a_signal() {
    let scene = Scene::new();
    let mut signals = 0;
    for limit in limits(&scene) {
        scene.restore();
        let mut command = scene.sandbox.command("prlimit");
        command.arg(format!("--fsize={limit}")).arg(env!("CARGO_BIN_EXE_flow")).args(scene.args());
        if Command::new("prlimit").arg("--version").output().is_err() {
            return skipped("a_file_size_limit_does_not_end_the_program_by_a_signal", "prlimit is missing");
        }
        let mut answer = run(command, "");
        signals += usize::from(answer.code.is_none());
        if answer.code.is_none() {
            // The rest holds in any case.
            answer.code = Some(74);
            answer.stderr.push_str("ended by a signal");
        }
        scene.assert_recovers(&answer, &format!("files of at most {limit} bytes"));
    }
    assert_eq!(signals, 0, "the program was ended by a signal instead of reporting a full file");
}

/// A script in a mount namespace of its own, which ends with it.
fn apart(scene: &Scene, script: &str) -> Answer {
    let mut command = scene.sandbox.command("unshare");
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_flow"), &scene.run]);
    run(command, "")
}

/// Whether mounts are allowed here; says so loudly when not.
fn can_mount(scene: &Scene, test: &str) -> bool {
    let works = Command::new("unshare").arg("--version").output().is_ok()
        && apart(scene, "mount -t tmpfs -o size=24k none .flow").code == Some(0);
    if !works {
        skipped(test, "mounting is not permitted");
    }
    works
}

#[test]
fn a_disk_that_fills_up_ends_in_a_clean_failure_and_all_acknowledged_records() {
    let scene = Scene::new();
    if !can_mount(&scene, "a_disk_that_fills_up_ends_in_a_clean_failure_and_all_acknowledged_records") {
        return;
    }
    for size in ["24k", "32k", "40k"] {
        scene.restore();
        // Prints how many records were acknowledged, and leaves a copy of the full disk.
        let script = format!(
            "cp -a .flow/runs/$1 full && mount -t tmpfs -o size={size} none .flow/runs/$1 && cp -a full/. .flow/runs/$1 || exit 99
             n=0 code=0
             while test $n -lt 60; do
                \"$0\" record-activity --run-id $1 --phase preflight --id look-$n >/dev/null || {{ code=$?; break; }}
                n=$((n + 1))
             done
             \"$0\" resume $1 --json >/dev/null || exit 97
             rm -rf full && cp -a .flow/runs/$1 full && echo $n && exit $code"
        );
        let answer = apart(&scene, &script).exits(74);
        assert!(!answer.stderr.contains("panicked"), "{answer:?}");
        let acknowledged: usize = answer.line().parse().unwrap();
        assert!(acknowledged > 0, "{answer:?}");
        let full = scene.sandbox.path("full");
        Tree::of(&full).restore(&scene.sandbox.run_dir(&scene.run));
        std::fs::remove_dir_all(&full).unwrap();
        let records = scene.sandbox.records(&scene.run).len();
        assert_eq!(records, 1 + acknowledged, "{size}: {answer:?}");
        scene.sandbox.record(&scene.run, "preflight", &format!("look-{acknowledged}"));
        scene.sandbox.assert_sound(&scene.run);
        assert_eq!(scene.sandbox.records(&scene.run).len(), 2 + acknowledged);
    }
}

#[test]
fn on_a_read_only_disk_readers_answer_and_writers_fail_cleanly() {
    let scene = Scene::new();
    if !can_mount(&scene, "on_a_read_only_disk_readers_answer_and_writers_fail_cleanly") {
        return;
    }
    let before = Tree::of(&scene.sandbox.run_dir(&scene.run));
    let read_only = "mount --bind .flow .flow && mount -o remount,ro,bind .flow || exit 99";
    for reader in ["resume $1", "list", "show $1", "log $1", "validate $1"] {
        apart(&scene, &format!("{read_only}; \"$0\" {reader} --json")).ok();
    }
    let record = "record-activity --run-id $1 --phase explore --id explore-done";
    for writer in [record, "block $1 --reason why", "complete $1", "start start-issue"] {
        let answer = apart(&scene, &format!("{read_only}; \"$0\" {writer}")).exits(74);
        assert!(answer.stderr.contains("Read-only"), "{answer:?}");
    }
    apart(&scene, &format!("{read_only}; \"$0\" session-end </dev/null")).ok();
    assert_eq!(Tree::of(&scene.sandbox.run_dir(&scene.run)), before);
    assert_eq!(scene.resumed(), scene.old);
    scene.sandbox.flow(scene.args()).ok();
    scene.sandbox.assert_sound(&scene.run);
}

/// Another user's program, who owns the sandbox's files.
fn as_nobody(scene: &Scene, args: &[&str]) -> Answer {
    let mut command = scene.sandbox.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", env!("CARGO_BIN_EXE_flow")]).args(args);
    run(command, "")
}

#[test]
fn without_permission_to_write_readers_answer_and_writers_fail_cleanly() {
    let test = "without_permission_to_write_readers_answer_and_writers_fail_cleanly";
    let scene = Scene::new();
    let home = scene.sandbox.root().parent().unwrap().to_owned();
    let owned = std::os::unix::fs::chown(scene.sandbox.path(".flow"), Some(65534), Some(65534)).is_ok();
    if !owned || Command::new("setpriv").arg("--version").output().is_err() {
        return skipped(test, "this needs setpriv and root");
    }
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    if as_nobody(&scene, &["--version"]).code != Some(0) {
        return skipped(test, "another user cannot reach the program");
    }
    let mut chown = scene.sandbox.command("chown");
    chown.args(["-R", "65534:65534", "."]);
    run(chown, "").ok();
    let dir = scene.sandbox.run_dir(&scene.run);
    for closed in [dir.clone(), dir.join("activities"), dir.join("events.jsonl"), dir.join(".lock")] {
        let mode = std::fs::metadata(&closed).unwrap().permissions().mode();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode & 0o555)).unwrap();
        let before = Tree::of(&dir).text("events.jsonl");
        let seen = as_nobody(&scene, &["resume", &scene.run, "--json"]).ok();
        assert_eq!(essence(&seen.json()), scene.old, "{}", closed.display());
        let answer = as_nobody(&scene, &scene.args());
        assert!([Some(74), Some(77)].contains(&answer.code), "{}: {answer:?}", closed.display());
        assert!(answer.stderr.contains("ermission"), "{answer:?}");
        assert_eq!(Tree::of(&dir).text("events.jsonl"), before);
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    as_nobody(&scene, &scene.args()).ok();
    assert_eq!(as_nobody(&scene, &["resume", &scene.run, "--json"]).ok().json()["completed"][1]["id"], ID);
}
