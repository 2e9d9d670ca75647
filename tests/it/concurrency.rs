//! Many writers and readers at once, and a person who saves `run.yaml` meanwhile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Answer, Call, Sandbox, Tree, answered, calls, can_inject, injecting, run, spawned};

/// Starts all commands, then waits for all.
fn at_once(commands: Vec<Command>) -> Vec<Answer> {
    let children: Vec<_> = commands.into_iter().map(spawned).collect();
    children.into_iter().map(answered).collect()
}

fn flow(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.flow_command();
    command.args(args);
    command
}

fn numbers(answers: Vec<Answer>) -> Vec<u64> {
    let number = |answer: Answer| answer.ok().json()["number"].as_str().unwrap().parse().unwrap();
    let mut numbers: Vec<u64> = answers.into_iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn recorders_of_the_same_document_are_all_recorded() {
    for n in [8, 16] {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        let document = sandbox.path("work.yaml");
        let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata:\n  id: look\n  phase: preflight\n\
                    activity:\n  type: task\n  status: passed\n";
        std::fs::write(&document, text).unwrap();
        let file = document.to_str().unwrap();
        let args = ["record-activity", "--run-id", &run, "--activity-file", file, "--json"];
        let answers = at_once((0..n).map(|_| flow(&sandbox, &args)).collect());
        assert_eq!(numbers(answers), (1..=n).collect::<Vec<u64>>());
        sandbox.assert_sound(&run);
        assert_eq!(sandbox.records_of(&run, "look"), n as usize);
        let shown = sandbox.flow(["resume", &run, "--json"]).ok().json();
        assert_eq!(shown["completed"].as_array().unwrap().len(), n as usize, "{shown}");
    }
}

#[test]
fn recorders_of_different_activities_are_all_recorded() {
    for n in [8, 16] {
        let sandbox = Sandbox::new();
        let run = sandbox.start("start-issue");
        let commands = (0..n).map(|at| {
            let id = format!("look-{at}");
            flow(&sandbox, &["record-activity", "--run-id", &run, "--phase", "preflight", "--id", &id, "--json"])
        });
        let answers = at_once(commands.collect());
        assert_eq!(numbers(answers), (1..=n).collect::<Vec<u64>>());
        sandbox.assert_sound(&run);
        let text = sandbox.read(&run, "run.yaml");
        for at in 0..n {
            assert_eq!(text.matches(&format!("- look-{at}\n")).count(), 1, "{text}");
        }
    }
}

#[test]
fn the_same_operation_from_many_processes_happens_once() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let args = ["record-activity", "--run-id", &run, "--phase", "preflight", "--id", "once", "--json"];
    let answers = at_once((0..8).map(|_| flow(&sandbox, &args)).collect());
    let told: BTreeSet<_> = answers.into_iter().map(|answer| answer.ok().json()["seq"].to_string()).collect();
    assert_eq!(told, BTreeSet::from(["2".to_owned()]));
    assert_eq!(sandbox.records_of(&run, "once"), 1);
    sandbox.assert_sound(&run);
}

#[test]
fn starts_in_the_same_second_are_different_whole_runs() {
    let sandbox = Sandbox::new();
    let commands = (0..8).map(|_| {
        let mut command = flow(&sandbox, &["start", "start-issue", "--issue", "7", "--another"]);
        command.env("__FLOW_NOW", "2026-05-20T15:00:00Z");
        command
    });
    let answers = at_once(commands.collect());
    let told: BTreeSet<_> = answers.into_iter().map(|answer| answer.ok().line().to_owned()).collect();
    assert_eq!(told.len(), 8, "{told:?}");
    assert_eq!(told, sandbox.runs().into_iter().collect());
    told.iter().for_each(|run| sandbox.assert_sound(run));
    assert_eq!(sandbox.find(".flow", ".new-"), None);
}

/// A person's editor. It saves by exchanging two names, which is what a rename does, and also shows what was replaced.
struct Editor {
    file: PathBuf,
    aside: PathBuf,
    /// Notes that the person overwrote without having seen them.
    overwritten: BTreeSet<usize>,
}

fn notes(text: &str) -> BTreeSet<usize> {
    text.lines().filter_map(|line| line.strip_prefix("# note ")?.parse().ok()).collect()
}

impl Editor {
    fn new(sandbox: &Sandbox, run: &str) -> Self {
        let file = sandbox.run_dir(run).join("run.yaml");
        Self { file, aside: sandbox.path("editor.swp"), overwritten: BTreeSet::new() }
    }

    /// Opens the file, adds a line, saves.
    fn add(&mut self, note: usize) {
        let text = std::fs::read_to_string(&self.file).unwrap();
        assert!(text.contains("kind: FlowRun") && text.contains("last_seq"), "a torn run.yaml: {text:?}");
        self.save(&text, note);
    }

    /// Adds a line to a text that was opened before, saves.
    fn save(&mut self, text: &str, note: usize) {
        let text = text.replacen("\nstate:", &format!("\n# note {note}\nstate:"), 1);
        std::fs::write(&self.aside, &text).unwrap();
        let swap = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &self.aside, rustix::fs::CWD, &self.file, swap).unwrap();
        let replaced = std::fs::read_to_string(&self.aside).unwrap();
        self.overwritten.extend(notes(&replaced).difference(&notes(&text)));
        std::fs::remove_file(&self.aside).unwrap();
    }
}

/// Every note is in `run.yaml` or in quarantine, unless the person's own save took it out.
#[track_caller]
fn assert_notes_kept(
    sandbox: &Sandbox,
    run: &str,
    written: impl IntoIterator<Item = usize>,
    gone: &BTreeSet<usize>,
    when: &str,
) {
    let mut found = notes(&sandbox.read(run, "run.yaml"));
    for text in sandbox.quarantined(run) {
        found.extend(notes(&text));
    }
    let lost: Vec<_> = written.into_iter().filter(|note| !found.contains(note) && !gone.contains(note)).collect();
    assert!(lost.is_empty(), "a person's notes {lost:?} are gone after {when}; found {found:?}");
}

#[test]
fn a_person_who_saves_run_yaml_among_recorders_loses_nothing_and_costs_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let mut editor = Editor::new(&sandbox, &run);
    let recorders: Vec<Vec<Command>> = (0..4)
        .map(|writer| {
            let record = |at| {
                let id = format!("look-{writer}-{at}");
                flow(&sandbox, &["record-activity", "--run-id", &run, "--phase", "preflight", "--id", &id, "--json"])
            };
            (0..6).map(record).collect()
        })
        .collect();
    let written = std::thread::scope(|scope| {
        let recorders: Vec<_> = recorders
            .into_iter()
            .map(|commands| scope.spawn(|| commands.into_iter().map(|one| answered(spawned(one))).collect::<Vec<_>>()))
            .collect();
        let mut written = 0;
        while !recorders.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            editor.add(written);
            written += 1;
        }
        let answers = recorders.into_iter().flat_map(|recorder| recorder.join().unwrap());
        assert_eq!(numbers(answers.collect()), (1..=24).collect::<Vec<u64>>());
        written
    });
    sandbox.record(&run, "preflight", "afterwards");
    sandbox.assert_sound(&run);
    assert_eq!(sandbox.records(&run).len(), 25);
    let shown = sandbox.flow(["resume", &run, "--all", "--json"]).ok().json();
    assert_eq!(shown["completed"].as_array().unwrap().len(), 25, "{shown}");
    assert_notes_kept(&sandbox, &run, 0..written, &editor.overwritten, "many saves");
}

/// Waits for a file of a process that a test holds up at the right moment.
fn wait_for(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} never came", path.display());
        std::thread::yield_now();
    }
}

/// Names its run, so that it does nothing but record.
fn look(run: &str) -> [&str; 7] {
    ["record-activity", "--run-id", run, "--phase", "preflight", "--id", "look"]
}

/// The place in the trace of the call that ends with `run.yaml` taking a new text.
fn onto_run_yaml(calls: &[Call]) -> &Call {
    let renames = calls.iter().filter(|call| call.name.starts_with("renameat"));
    let mut onto = renames.filter(|call| call.shown.contains("\"run.yaml\""));
    onto.next().expect("run.yaml was never replaced")
}

/// A recorder that is held up for half a second before it exchanges `run.yaml`; with `more` as `+`, before each of its
/// later renames too.
fn held_recorder(sandbox: &Sandbox, run: &str, more: &str) -> Child {
    let base = Tree::of(&sandbox.path(".flow"));
    let (answer, calls) = calls(sandbox, &look(run));
    answer.ok();
    base.restore(&sandbox.path(".flow"));
    let call = onto_run_yaml(&calls);
    let delay = format!("{}:delay_enter=500000:when={}{more}", call.name, call.nth);
    let recorder = spawned(injecting(sandbox, &[&delay], &look(run)));
    wait_for(&sandbox.run_dir(run).join("activities/001-look.yaml"));
    recorder
}

#[test]
fn a_save_just_before_the_exchange_is_merged() {
    if !can_inject("a_save_just_before_the_exchange_is_merged") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let recorder = held_recorder(&sandbox, &run, "");
    Editor::new(&sandbox, &run).add(1);
    answered(recorder).ok();
    assert!(sandbox.read(&run, "run.yaml").contains("# note 1\n"));
    assert_eq!(sandbox.shown_seq(&run), 2);
    sandbox.record(&run, "preflight", "more");
    sandbox.assert_sound(&run);
    assert_notes_kept(&sandbox, &run, [1], &BTreeSet::new(), "one save");
}

#[test]
fn two_saves_of_which_neither_knows_the_other_are_both_kept() {
    if !can_inject("two_saves_of_which_neither_knows_the_other_are_both_kept") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let old = sandbox.read(&run, "run.yaml");
    let recorder = held_recorder(&sandbox, &run, "+");
    let mut editor = Editor::new(&sandbox, &run);
    editor.add(1);
    // The first save is out of sight while it is merged, and an editor still has the text from before it.
    let deadline = Instant::now() + Duration::from_secs(10);
    while sandbox.read(&run, "run.yaml").contains("# note 1\n") {
        assert!(Instant::now() < deadline, "the save was never exchanged");
    }
    editor.save(&old, 2);
    assert!(editor.overwritten.is_empty(), "{:?}", editor.overwritten);
    answered(recorder).ok();
    sandbox.record(&run, "preflight", "more");
    sandbox.assert_sound(&run);
    assert_notes_kept(&sandbox, &run, [1, 2], &BTreeSet::new(), "two saves");
}

#[test]
fn a_second_save_during_the_merge_survives_a_kill() {
    if !can_inject("a_second_save_during_the_merge_survives_a_kill") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let base = Tree::of(&sandbox.path(".flow"));
    let (answer, calls) = calls(&sandbox, &look(&run));
    answer.ok();
    let call = onto_run_yaml(&calls);
    for killed in [false, true] {
        base.restore(&sandbox.path(".flow"));
        let delay = format!("{}:delay_enter=500000:when={}+", call.name, call.nth);
        // The rename that follows the merge's exchange.
        let kill = "renameat:signal=KILL:when=1".to_owned();
        let injects = if killed { vec![delay.as_str(), kill.as_str()] } else { vec![delay.as_str()] };
        let recorder = spawned(injecting(&sandbox, &injects, &look(&run)));
        wait_for(&sandbox.run_dir(&run).join("activities/001-look.yaml"));
        let mut editor = Editor::new(&sandbox, &run);
        editor.add(1);
        wait_for(&sandbox.run_dir(&run).join(".run.merge.tmp"));
        // The person goes on with the text that they have on their screen.
        let text = std::fs::read_to_string(sandbox.run_dir(&run).join(".run.tmp")).unwrap();
        let text = text.replacen("\n# note 1\n", "\n# note 1\n# note 2\n", 1);
        std::fs::write(&editor.aside, text).unwrap();
        std::fs::rename(&editor.aside, &editor.file).unwrap();
        let answer = answered(recorder);
        assert_eq!(answer.code == Some(0), !killed, "{answer:?}");
        sandbox.flow(look(&run)).ok();
        sandbox.record(&run, "preflight", "more");
        sandbox.assert_sound(&run);
        assert_eq!(sandbox.records_of(&run, "look"), 1);
        let told = if killed { "killed" } else { "not killed" };
        assert_notes_kept(&sandbox, &run, [1, 2], &BTreeSet::new(), told);
    }
}

#[test]
fn a_save_during_recovery_is_not_lost() {
    if !can_inject("a_save_during_recovery_is_not_lost") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let older = sandbox.read(&run, "run.yaml");
    sandbox.record(&run, "preflight", "before");
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), older).unwrap();
    let base = Tree::of(&sandbox.path(".flow"));
    let (answer, calls) = calls(&sandbox, &look(&run));
    answer.ok();
    base.restore(&sandbox.path(".flow"));
    let call = onto_run_yaml(&calls);
    let delay = format!("{}:delay_enter=500000:when={}", call.name, call.nth);
    let recorder = spawned(injecting(&sandbox, &[&delay], &look(&run)));
    wait_for(&sandbox.run_dir(&run).join(".run.tmp"));
    Editor::new(&sandbox, &run).add(1);
    answered(recorder).ok();
    sandbox.record(&run, "preflight", "more");
    sandbox.assert_sound(&run);
    assert_notes_kept(&sandbox, &run, [1], &BTreeSet::new(), "one save");
}

#[test]
fn an_old_text_saved_during_the_adoption_of_an_edit_does_not_keep_the_record_out() {
    if !can_inject("an_old_text_saved_during_the_adoption_of_an_edit_does_not_keep_the_record_out") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let older = sandbox.read(&run, "run.yaml");
    sandbox.record(&run, "preflight", "before");
    // An edit of the older text: the record catches up first, then adopts, then records.
    let edited = older.replacen("\nstate:", "\n# note 1\nstate:", 1);
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), edited).unwrap();
    let base = Tree::of(&sandbox.path(".flow"));
    let (answer, calls) = calls(&sandbox, &look(&run));
    answer.ok();
    base.restore(&sandbox.path(".flow"));
    let exchanges: Vec<_> = calls.iter().filter(|call| call.name == "renameat2").cloned().collect();
    let call = onto_run_yaml(&exchanges);
    let delay = format!("{}:delay_enter=500000:when={}", call.name, call.nth);
    let recorder = spawned(injecting(&sandbox, &[&delay], &look(&run)));
    let deadline = Instant::now() + Duration::from_secs(10);
    while !sandbox.read(&run, "events.jsonl").contains("run_edited") {
        assert!(Instant::now() < deadline, "the edit was not adopted");
    }
    // The editor had the file open since before the last record.
    let aside = sandbox.path("editor.swp");
    std::fs::write(&aside, older.replacen("\nstate:", "\n# note 1\n# note 2\nstate:", 1)).unwrap();
    std::fs::rename(&aside, sandbox.run_dir(&run).join("run.yaml")).unwrap();
    let answer = answered(recorder);
    assert_notes_kept(&sandbox, &run, [1, 2], &BTreeSet::new(), "an old text was saved");
    answer.ok();
    sandbox.record(&run, "preflight", "more");
    sandbox.assert_sound(&run);
    assert_eq!(sandbox.records_of(&run, "look"), 1);
    assert_notes_kept(&sandbox, &run, [1, 2], &BTreeSet::new(), "an old text was saved");
}

/// What one reader saw, checked as it came in.
fn watch(mut command: Command, over: &AtomicBool, fine: &[i32], check: impl Fn(&Value)) -> usize {
    let mut reads = 0;
    while !over.load(Ordering::Relaxed) || reads == 0 {
        let output = command.output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(fine.contains(&output.status.code().unwrap_or(-1)), "{:?}: {stdout} {stderr}", output.status);
        check(&serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout:?}")));
        reads += 1;
    }
    reads
}

/// `run.yaml` first and the log second, as any program may read them.
fn watch_files(dir: &Path, over: &AtomicBool) -> usize {
    let mut reads = 0;
    while !over.load(Ordering::Relaxed) || reads == 0 {
        let text = std::fs::read_to_string(dir.join("run.yaml")).unwrap();
        let shown = text.lines().find_map(|line| line.trim().strip_prefix("last_seq: ")).expect("a torn run.yaml");
        let log = std::fs::read_to_string(dir.join("events.jsonl")).unwrap();
        let whole = log.rfind('\n').map_or(0, |at| at + 1);
        let last: Value = serde_json::from_str(log[..whole].lines().next_back().unwrap()).unwrap();
        assert!(shown.parse::<u64>().unwrap() <= last["seq"].as_u64().unwrap(), "run.yaml is ahead of the log");
        reads += 1;
    }
    reads
}

/// Completed activities are numbered without a gap, whatever moment a reader catches; the latest are told of.
fn check_completed(answer: &Value) {
    let done = answer["completed"].as_array().unwrap().iter();
    let numbers: Vec<u64> = done.map(|done| done["number"].as_str().unwrap().parse().unwrap()).collect();
    let all = answer["completed_activities"].as_u64().unwrap();
    assert_eq!(numbers, (all - numbers.len() as u64 + 1..=all).collect::<Vec<_>>(), "{answer}");
    assert_eq!(answer["unreadable"], serde_json::json!([]), "{answer}");
}

#[test]
fn readers_among_writers_never_fail_and_never_see_torn_data() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let record = |at: usize| {
        let id = format!("look-{at}");
        flow(&sandbox, &["record-activity", "--run-id", &run, "--phase", "preflight", "--id", &id])
    };
    let mut writers: Vec<Vec<Command>> =
        (0..3).map(|writer| (0..8).map(|at| record(writer * 8 + at)).collect()).collect();
    let toggles = (0..6).flat_map(|at| {
        let reason = format!("question {at}");
        [flow(&sandbox, &["block", &run, "--reason", &reason]), flow(&sandbox, &["unblock", &run, "--reason", &reason])]
    });
    writers.push(toggles.collect());
    let resume = flow(&sandbox, &["resume", &run, "--json"]);
    let list = flow(&sandbox, &["list", "--json"]);
    let show = flow(&sandbox, &["show", &run, "--json"]);
    let over = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let (over, dir) = (&over, sandbox.run_dir(&run));
        let readers = [
            scope.spawn(move || watch(resume, over, &[0, 4], check_completed)),
            scope.spawn(move || watch(list, over, &[0], |list| assert_eq!(list["runs"].as_array().unwrap().len(), 1))),
            scope.spawn(move || watch(show, over, &[0], |show| assert_eq!(show["kind"], "FlowRun", "{show}"))),
            scope.spawn(move || watch_files(&dir, over)),
        ];
        let writers: Vec<_> = writers
            .into_iter()
            .map(|commands| scope.spawn(|| commands.into_iter().map(run_one).collect::<Vec<_>>()))
            .collect();
        let answers: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        over.store(true, Ordering::Relaxed);
        for answer in answers.into_iter().flat_map(Result::unwrap) {
            // A record during a block may be refused; nothing else may happen.
            assert!([Some(0), Some(1), Some(4)].contains(&answer.code), "{answer:?}");
        }
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(reads.iter().all(|&reads| reads > 0), "{reads:?}");
    sandbox.flow(["unblock", &run]).ok();
    sandbox.record(&run, "preflight", "afterwards");
    sandbox.assert_sound(&run);
}

fn run_one(command: Command) -> Answer {
    run(command, "")
}

#[test]
fn recorders_killed_at_any_moment_among_others_lose_and_repeat_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    let commands: Vec<_> = (0..24)
        .map(|at| {
            let id = format!("look-{at}");
            flow(&sandbox, &["record-activity", "--run-id", &run, "--phase", "preflight", "--id", &id, "--json"])
        })
        .collect();
    let mut children: Vec<_> = commands.into_iter().map(spawned).collect();
    // Every third dies at whatever point it has come to while the others wait for each other.
    let mut killed = BTreeSet::new();
    for (at, child) in children.iter_mut().enumerate().filter(|(at, _)| at % 3 == 0) {
        child.kill().unwrap();
        killed.insert(at);
    }
    let answers: Vec<_> = children.into_iter().map(answered).collect();
    for (at, answer) in answers.into_iter().enumerate() {
        if !killed.contains(&at) || !answer.stdout.is_empty() {
            let seq = answer.json()["seq"].as_u64().unwrap();
            let events = sandbox.events(&run);
            let id = &events[usize::try_from(seq).unwrap() - 1]["activity"]["metadata"]["id"];
            assert_eq!(*id, format!("look-{at}"), "acknowledged, but not there");
        }
    }
    for at in 0..24 {
        sandbox.record(&run, "preflight", &format!("look-{at}"));
    }
    sandbox.assert_sound(&run);
    assert_eq!(sandbox.records(&run).len(), 24);
}
