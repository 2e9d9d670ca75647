//! SIGKILL before every system call that changes something: afterwards the run is in its old state or in its new one,
//! the next command works, and the same command again does its work exactly once.

use serde_json::Value;

use crate::support::{Answer, Call, Sandbox, Tree, calls, can_inject, essence, killed_at, try_all};

/// What a command changes outside `.git`.
struct Files {
    flow: Tree,
    decisions: Tree,
}

impl Files {
    fn of(sandbox: &Sandbox) -> Self {
        Self { flow: Tree::of(&sandbox.path(".flow")), decisions: Tree::of(&sandbox.path(".decisions")) }
    }

    fn restore(&self, sandbox: &Sandbox) {
        self.flow.restore(&sandbox.path(".flow"));
        self.decisions.restore(&sandbox.path(".decisions"));
    }
}

/// A command of one run, and what to do after its death.
struct Case<'a> {
    args: &'a [&'a str],
    /// The next command and its exit status.
    next: (&'a [&'a str], i32),
    /// Exit status of `resume` when the command did its work.
    resumed: i32,
    /// Which calls it dies before.
    at: fn(&Call) -> bool,
}

fn resumed(sandbox: &Sandbox, run: &str) -> (Value, Option<i32>) {
    let answer = sandbox.flow(["resume", run, "--json"]);
    (essence(&answer.json()), answer.code)
}

/// Kills the command at each call, and gives how many deaths there were.
fn dies_everywhere(sandbox: &Sandbox, run: &str, case: &Case<'_>) -> usize {
    let base = Files::of(sandbox);
    let old = resumed(sandbox, run);
    let (answer, calls) = calls(sandbox, case.args);
    answer.ok();
    let new = resumed(sandbox, run);
    assert_eq!(new.1, Some(case.resumed));
    let calls: Vec<_> = calls.into_iter().filter(case.at).collect();
    try_all(&calls, |call| {
        base.restore(sandbox);
        let answer = killed_at(sandbox, call, case.args);
        assert_ne!(answer.code, Some(0), "not killed at {call:?}");
        let shown = sandbox.shown_seq(run);
        assert!(shown <= sandbox.events(run).len() as u64, "run.yaml is ahead of the log after {call:?}");
        let seen = resumed(sandbox, run);
        if answer.stdout.is_empty() {
            assert!(seen == old || seen == new, "neither old nor new after {call:?}: {seen:#?}");
        } else {
            assert_eq!(seen, new, "acknowledged, but not there after {call:?}");
        }
        sandbox.flow(case.args).ok();
        assert_eq!(resumed(sandbox, run), new, "the command again after {call:?}");
        sandbox.flow(case.next.0).exits(case.next.1);
        sandbox.assert_sound(run);
        assert_eq!(sandbox.quarantined(run), Vec::<String>::new(), "clutter after {call:?}");
    });
    assert!(calls.len() > 10, "only {} calls were found", calls.len());
    calls.len()
}

fn changing(calls: &[Call]) -> Vec<&Call> {
    calls.iter().filter(|call| call.changes_something()).collect()
}

fn begun() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "preflight-done");
    (sandbox, run)
}

const fn record<'a>(run: &'a str, phase: &'a str, id: &'a str) -> [&'a str; 7] {
    ["record-activity", "--run-id", run, "--phase", phase, "--id", id]
}

#[test]
fn a_killed_record_is_there_wholly_or_not_at_all() {
    if !can_inject("a_killed_record_is_there_wholly_or_not_at_all") {
        return;
    }
    let (sandbox, run) = begun();
    let case = Case {
        args: &record(&run, "explore", "explore-done"),
        next: (&record(&run, "plan", "plan-done"), 0),
        resumed: 0,
        at: Call::touches_files,
    };
    dies_everywhere(&sandbox, &run, &case);
    assert_eq!(sandbox.records_of(&run, "explore-done"), 1);
}

#[test]
fn a_killed_block_is_there_wholly_or_not_at_all() {
    if !can_inject("a_killed_block_is_there_wholly_or_not_at_all") {
        return;
    }
    let (sandbox, run) = begun();
    let case = Case {
        args: &["block", &run, "--reason", "which region?"],
        next: (&["unblock", &run, "--reason", "the near one"], 0),
        resumed: 4,
        at: Call::changes_something,
    };
    dies_everywhere(&sandbox, &run, &case);
}

#[test]
fn a_killed_complete_is_there_wholly_or_not_at_all() {
    if !can_inject("a_killed_complete_is_there_wholly_or_not_at_all") {
        return;
    }
    let (sandbox, run) = begun();
    let case = Case {
        args: &["complete", &run],
        next: (&record(&run, "plan", "plan-done"), 1),
        resumed: 0,
        at: Call::changes_something,
    };
    dies_everywhere(&sandbox, &run, &case);
}

#[test]
fn a_killed_session_end_is_there_wholly_or_not_at_all() {
    if !can_inject("a_killed_session_end_is_there_wholly_or_not_at_all") {
        return;
    }
    let (sandbox, run) = begun();
    let case = Case {
        args: &["session-end", "--session", "s1"],
        next: (&record(&run, "explore", "explore-done"), 0),
        resumed: 0,
        at: Call::changes_something,
    };
    dies_everywhere(&sandbox, &run, &case);
}

#[test]
fn a_kill_during_recovery_is_recovered_from() {
    if !can_inject("a_kill_during_recovery_is_recovered_from") {
        return;
    }
    let (sandbox, run) = begun();
    let dir = sandbox.run_dir(&run);
    let older = Tree::of(&dir).text("run.yaml");
    for phase in ["explore", "plan"] {
        sandbox.record(&run, phase, &format!("{phase}-done"));
    }
    std::fs::write(dir.join("run.yaml"), older).unwrap();
    std::fs::remove_file(dir.join("activities/003-plan-done.yaml")).unwrap();
    std::fs::write(dir.join("activities/002-explore-done.yaml"), "").unwrap();
    let case = Case {
        args: &record(&run, "code", "code-done"),
        next: (&record(&run, "verify", "verify-done"), 0),
        resumed: 0,
        at: Call::changes_something,
    };
    dies_everywhere(&sandbox, &run, &case);
}

#[test]
fn a_kill_during_recovery_loses_nothing_of_what_it_puts_aside() {
    if !can_inject("a_kill_during_recovery_loses_nothing_of_what_it_puts_aside") {
        return;
    }
    let (sandbox, run) = begun();
    let dir = sandbox.run_dir(&run);
    let torn = "{\"v\":1,\"seq\":3,\"id\":\"torn";
    let theirs = "only here: call Ada\n";
    std::fs::write(dir.join("events.jsonl"), sandbox.read(&run, "events.jsonl") + torn).unwrap();
    std::fs::write(dir.join(".run.tmp"), theirs).unwrap();
    let base = Files::of(&sandbox);
    let args = record(&run, "explore", "explore-done");
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    try_all(&changing(&calls), |call| {
        base.restore(&sandbox);
        killed_at(&sandbox, call, &args);
        sandbox.flow(["resume", &run, "--json"]).ok();
        sandbox.flow(args).ok();
        sandbox.assert_sound(&run);
        let kept = sandbox.quarantined(&run);
        // Twice is no harm, never is.
        assert!(kept.iter().any(|text| text == torn), "the torn tail is gone after {call:?}: {kept:?}");
        assert!(kept.iter().any(|text| text == theirs), "a person's text is gone after {call:?}: {kept:?}");
    });
}

#[test]
fn a_kill_during_the_adoption_of_a_hand_edit_keeps_the_edit() {
    if !can_inject("a_kill_during_the_adoption_of_a_hand_edit_keeps_the_edit") {
        return;
    }
    let (sandbox, run) = begun();
    sandbox.edit(&run, "state:", "# ask Ada first\nstate:");
    let base = Files::of(&sandbox);
    let args = record(&run, "explore", "explore-done");
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    let whole = sandbox.read(&run, "run.yaml");
    assert!(whole.contains("# ask Ada first"), "{whole}");
    try_all(&changing(&calls), |call| {
        base.restore(&sandbox);
        killed_at(&sandbox, call, &args);
        assert!(sandbox.read(&run, "run.yaml").contains("# ask Ada first"), "after {call:?}");
        sandbox.flow(args).ok();
        assert!(sandbox.read(&run, "run.yaml").contains("# ask Ada first"), "after {call:?}");
        sandbox.assert_sound(&run);
        assert_eq!(sandbox.records_of(&run, "explore-done"), 1, "after {call:?}");
    });
}

/// All runs are complete, and no creator's work lies about.
fn assert_whole(sandbox: &Sandbox, runs: usize, call: &Call) {
    let names = sandbox.runs();
    assert_eq!(names.len(), runs, "after {call:?}: {names:?}");
    for run in &names {
        sandbox.assert_sound(run);
    }
}

fn started(answer: &Answer) -> bool {
    !answer.stdout.is_empty()
}

#[test]
fn a_killed_start_makes_a_whole_run_or_none() {
    if !can_inject("a_killed_start_makes_a_whole_run_or_none") {
        return;
    }
    let (sandbox, _) = begun();
    let base = Files::of(&sandbox);
    let args = ["start", "start-issue", "--issue", "7"];
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    try_all(&changing(&calls), |call| {
        base.restore(&sandbox);
        let answer = killed_at(&sandbox, call, &args);
        let runs = sandbox.runs().len();
        assert!(runs == 2 || (runs == 1 && !started(&answer)), "after {call:?}: {:?}", sandbox.runs());
        assert_whole(&sandbox, runs, call);
        let list = sandbox.flow(["list", "--json"]).ok().json();
        assert_eq!(list["runs"].as_array().unwrap().len(), runs, "after {call:?}");
        assert_eq!(list["unreadable"], serde_json::json!([]), "after {call:?}");
        sandbox.flow(args).ok();
        assert_whole(&sandbox, runs + 1, call);
        assert_eq!(sandbox.find(".flow", ".new-"), None, "after {call:?}");
    });
}

#[test]
fn a_killed_first_start_is_made_good_by_the_next() {
    if !can_inject("a_killed_first_start_is_made_good_by_the_next") {
        return;
    }
    let sandbox = Sandbox::new();
    let base = Files::of(&sandbox);
    let args = ["start", "start-issue", "--issue", "7"];
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    let whole = Tree::of(&sandbox.path(".flow"));
    let own = |file: &&std::path::Path| !file.starts_with("runs");
    try_all(&changing(&calls), |call| {
        base.restore(&sandbox);
        killed_at(&sandbox, call, &args);
        let resumed = sandbox.flow(["resume", "--json"]);
        assert!([Some(0), Some(3)].contains(&resumed.code), "after {call:?}: {resumed:?}");
        let runs = sandbox.runs().len();
        sandbox.flow(args).ok();
        assert_whole(&sandbox, runs + 1, call);
        let again = Tree::of(&sandbox.path(".flow"));
        let names: Vec<_> = again.files().filter(own).filter(|file| !file.ends_with(".lock")).collect();
        let wanted: Vec<_> = whole.files().filter(own).filter(|file| !file.ends_with(".lock")).collect();
        assert_eq!(names, wanted, "after {call:?}");
        for file in names {
            assert_eq!(again.text(file), whole.text(file), "{} after {call:?}", file.display());
        }
    });
}

#[test]
fn killed_writers_of_the_decision_journal_leave_it_whole_and_nothing_beside_it() {
    if !can_inject("killed_writers_of_the_decision_journal_leave_it_whole_and_nothing_beside_it") {
        return;
    }
    let (sandbox, run) = begun();
    let base = Files::of(&sandbox);
    let before = base.decisions.text("issue-42.md");
    let args = ["complete", &run];
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    let at = calls.iter().position(|call| call.shown.contains(".decisions")).expect("no journal was written");
    try_all(&changing(&calls[at..]), |call| {
        base.restore(&sandbox);
        killed_at(&sandbox, call, &args);
        let text = Tree::of(&sandbox.path(".decisions")).text("issue-42.md");
        assert!(text == before || text.contains("completed"), "torn after {call:?}: {text}");
        sandbox.flow(["start", "start-issue", "--issue", "42"]).ok();
        let beside: Vec<_> = Tree::of(&sandbox.path(".decisions")).files().map(std::path::Path::to_owned).collect();
        let strays: Vec<_> = beside.iter().filter(|file| file.to_string_lossy().ends_with(".tmp")).collect();
        assert!(strays.is_empty(), "left behind after {call:?}: {strays:?}");
    });
}
