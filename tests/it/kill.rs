//! A death before every call that changes something, for every command that writes: afterwards every run is in its old state
//! or in its new one, the next command works, and the same command again does its work exactly once.
//!
//! The deaths are this process's own, at every call of the file system; a few of each command are real ones, of the real
//! program by SIGKILL. `conformance.rs` shows that both make the same calls.

use crate::support::cases::{CASES, case};
use crate::support::{Sandbox, Scene, Tally, Tree, Trouble, calls, can_inject, killed_at, quick, scaled, try_all};

/// Beginnings of the rows that the tests below take from the table.
const TAKEN: [&str; 22] = [
    "init", "start", "fork", "record-activity", "emit", "advance", "block", "unblock", "complete", "fail", "cancel",
    "reopen", "set", "resume", "session-end", "workflow", "mode", "interview", "doctor", "prune", "exec", "replay",
];

/// Kills the commands whose rows begin like this before every call that changes something, also where renames have no flags.
/// Of the deaths of the real program, one of so many is tried.
#[track_caller]
fn dies_everywhere(rows: &[&str], test: &str) {
    let (deaths, plain) = (scaled(23, 6), scaled(4, 2));
    let tally = Tally::of_rows(rows, &[Trouble::Kill, Trouble::KillWithPlainRenames("EINVAL")], 1, deaths, test);
    assert!(tally.states >= 20, "only {} deaths were found", tally.states);
    tally.assert_clean();
    Tally::of_rows(rows, &[Trouble::PlainRenames("EINVAL"), Trouble::PlainRenames("ENOSYS")], 1, plain, test)
        .assert_clean();
}

#[test]
fn every_command_that_writes_is_killed() {
    for case in CASES {
        assert!(TAKEN.iter().any(|row| case.name.starts_with(row)), "{} is in no test here", case.name);
    }
}

#[test]
fn a_killed_init_or_first_start_is_made_good_by_the_next() {
    dies_everywhere(&["init", "start, first"], "a_killed_init_or_first_start_is_made_good_by_the_next");
}

#[test]
fn a_killed_start_makes_a_whole_run_or_none() {
    dies_everywhere(&["start, further", "fork"], "a_killed_start_makes_a_whole_run_or_none");
}

#[test]
fn a_killed_report_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["emit", "advance"], "a_killed_report_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_record_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["record-activity"], "a_killed_record_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_change_of_status_is_there_wholly_or_not_at_all() {
    let rows = ["block", "unblock", "complete", "fail", "cancel", "reopen", "set"];
    dies_everywhere(&rows, "a_killed_change_of_status_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_claim_or_session_end_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["resume", "session-end"], "a_killed_claim_or_session_end_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_adoption_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["workflow"], "a_killed_adoption_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_change_of_modes_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["mode"], "a_killed_change_of_modes_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_interview_loses_no_answer_that_was_given() {
    dies_everywhere(&["interview"], "a_killed_interview_loses_no_answer_that_was_given");
}

#[test]
fn a_killed_repair_is_there_wholly_or_not_at_all() {
    dies_everywhere(&["doctor"], "a_killed_repair_is_there_wholly_or_not_at_all");
}

#[test]
fn a_killed_run_of_a_command_is_recorded_as_far_as_it_was_seen() {
    dies_everywhere(&["exec", "replay"], "a_killed_run_of_a_command_is_recorded_as_far_as_it_was_seen");
}

#[test]
fn a_killed_prune_leaves_each_run_in_one_place() {
    dies_everywhere(&["prune"], "a_killed_prune_leaves_each_run_in_one_place");
}

#[test]
fn the_kill_sweep_catches_a_run_yaml_that_is_there_without_its_line() {
    let test = "the_kill_sweep_catches_a_run_yaml_that_is_there_without_its_line";
    if !can_inject(test) {
        return;
    }
    for row in ["record-activity", "block"] {
        let scene = Scene::new(case(row), &quick());
        let mut states = Trouble::Kill.states(&scene);
        // The system takes the line, and never writes it.
        let calls = scene.calls(&[]);
        let line =
            calls.windows(2).find(|pair| pair[0].name == "write" && pair[1].name == "fdatasync").unwrap()[0].clone();
        let (_, len) = line.shown.rsplit_once(" = ").unwrap();
        let lost = ["-e".to_owned(), format!("inject=write:retval={len}:when={}", line.nth)];
        for prefix in states.iter_mut().map(|state| &mut state.prefix) {
            let at = prefix.iter().position(|word| word == "-e").unwrap();
            prefix.splice(at..at, lost.clone());
        }
        let tally = Tally::of_scene(&scene, &states);
        let found = tally.violations.iter().any(|violation| violation.contains("and the log ends at"));
        assert!(found, "{row}: not caught in {} states: {:#?}", tally.states, tally.violations);
    }
}

#[test]
fn killed_writers_of_the_decision_journal_leave_it_whole_and_nothing_beside_it() {
    if !can_inject("killed_writers_of_the_decision_journal_leave_it_whole_and_nothing_beside_it") {
        return;
    }
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "preflight-done");
    let (flow, decisions) = (Tree::of(&sandbox.path(".flow")), Tree::of(&sandbox.path(".decisions")));
    let before = decisions.text("issue-42.md");
    let args = ["complete", &run, "--skip-reason", "enough"];
    let (answer, calls) = calls(&sandbox, &args);
    answer.ok();
    let at = calls.iter().position(|call| call.shown.contains(".decisions")).expect("no journal was written");
    let changing: Vec<_> = calls[at..].iter().filter(|call| call.changes_something()).collect();
    try_all(&changing, |call| {
        flow.restore(&sandbox.path(".flow"));
        decisions.restore(&sandbox.path(".decisions"));
        killed_at(&sandbox, call, &args);
        let text = Tree::of(&sandbox.path(".decisions")).text("issue-42.md");
        assert!(text == before || text.contains("completed"), "torn after {call:?}: {text}");
        sandbox.flow(["start", "start-issue", "--issue", "42"]).ok();
        let beside: Vec<_> = Tree::of(&sandbox.path(".decisions")).files().map(std::path::Path::to_owned).collect();
        let strays: Vec<_> = beside.iter().filter(|file| file.to_string_lossy().ends_with(".tmp")).collect();
        assert!(strays.is_empty(), "left behind after {call:?}: {strays:?}");
    });
}
