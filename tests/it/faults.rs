//! A call fails, once or from then on: then the work is acknowledged and there, or the command says so in one sentence
//! and the same command again does it exactly once.
//!
//! Every call of the file system fails here, of every command that writes, in one of four ways; of a repair, which makes
//! most calls, every third one. Of the real program one call in about two hundred fails, another one for each command; with
//! the other errors it is likewise a sample. The campaign (`cargo test --locked --test campaign`) lets every call fail in all
//! ways.

use crate::support::cases::{CASES, case};
use crate::support::{Scene, Tally, Trouble, can_inject, injecting, quick, run, scaled};

/// Lets every call fail of the commands whose rows begin like this. Of the real program, one failure of so many is tried.
#[track_caller]
fn fails_everywhere(rows: &[&str], test: &str) {
    fails_at(1, rows, test);
}

/// As [`fails_everywhere`], of every `nth` call.
#[track_caller]
fn fails_at(nth: usize, rows: &[&str], test: &str) {
    let troubles =
        [Trouble::Fails("EIO"), Trouble::Fails("ENOSPC"), Trouble::KeepsFailing("EIO"), Trouble::ShortAppend];
    let tally = Tally::of_rows(rows, &troubles, scaled(nth * troubles.len(), 1), scaled(199, 80), test);
    assert!(tally.states > 40, "only {} calls were found", tally.states);
    tally.assert_clean();
}

#[test]
fn a_failed_call_of_a_start_loses_and_repeats_nothing() {
    fails_everywhere(&["init", "start", "fork"], "a_failed_call_of_a_start_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_record_loses_and_repeats_nothing() {
    fails_everywhere(&["record-activity"], "a_failed_call_of_a_record_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_report_loses_and_repeats_nothing() {
    fails_everywhere(&["emit", "advance"], "a_failed_call_of_a_report_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_change_of_status_loses_and_repeats_nothing() {
    let rows = ["block", "unblock", "complete", "fail", "cancel", "reopen", "set", "workflow"];
    fails_everywhere(&rows, "a_failed_call_of_a_change_of_status_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_claim_or_session_end_loses_and_repeats_nothing() {
    fails_everywhere(&["resume", "session-end"], "a_failed_call_of_a_claim_or_session_end_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_change_of_modes_loses_and_repeats_nothing() {
    fails_everywhere(&["mode"], "a_failed_call_of_a_change_of_modes_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_an_interview_loses_and_repeats_nothing() {
    fails_everywhere(&["interview"], "a_failed_call_of_an_interview_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_command_that_flow_runs_loses_and_repeats_nothing() {
    fails_everywhere(&["exec", "replay"], "a_failed_call_of_a_command_that_flow_runs_loses_and_repeats_nothing");
}

#[test]
fn a_failed_call_of_a_prune_loses_and_repeats_nothing() {
    fails_everywhere(&["prune"], "a_failed_call_of_a_prune_loses_and_repeats_nothing");
}

#[test]
fn a_repair_neither_replaces_nor_moves_what_it_could_not_read() {
    fails_at(3, &["doctor"], "a_repair_neither_replaces_nor_moves_what_it_could_not_read");
}

/// Every command, in every `step`-th of the states that these troubles lead the real program to.
#[track_caller]
fn some_really(troubles: &[Trouble], step: usize) {
    let mut tally = Tally::default();
    for (at, case) in CASES.into_iter().enumerate() {
        let scene = Scene::new(case, &quick());
        let states = troubles.iter().flat_map(|trouble| trouble.states(&scene));
        tally.add(Tally::of_scene(&scene, &states.skip(at % step).step_by(step).collect::<Vec<_>>()));
    }
    tally.assert_clean();
}

/// One command, in every `step`-th of these states of the real program.
#[track_caller]
fn really(row: &str, troubles: &[Trouble], step: usize) -> Tally {
    let scene = Scene::new(case(row), &quick());
    let states: Vec<_> = troubles.iter().flat_map(|trouble| trouble.states(&scene)).step_by(step).collect();
    let tally = Tally::of_scene(&scene, &states);
    tally.assert_clean();
    tally
}

#[test]
fn other_errors_of_every_command_lose_and_repeat_nothing() {
    if can_inject("other_errors_of_every_command_lose_and_repeat_nothing") {
        some_really(&["EDQUOT", "EROFS", "EACCES"].map(Trouble::Fails), scaled(149, 53));
    }
}

#[test]
fn a_failing_call_of_a_journal_or_of_a_repair_loses_and_repeats_nothing() {
    if can_inject("a_failing_call_of_a_journal_or_of_a_repair_loses_and_repeats_nothing") {
        really("complete", &[Trouble::Fails("EIO"), Trouble::Fails("ENOSPC")], scaled(13, 2));
        really("doctor --repair", &[Trouble::Fails("EIO")], scaled(41, 9));
    }
}

#[test]
fn an_interrupted_call_is_repeated_or_reported() {
    if can_inject("an_interrupted_call_is_repeated_or_reported") {
        really("record-activity", &[Trouble::Fails("EINTR")], scaled(5, 1));
        some_really(&[Trouble::Fails("EINTR")], scaled(79, 40));
    }
}

#[test]
fn what_is_being_written_is_not_given_up_for_a_signal() {
    if !can_inject("what_is_being_written_is_not_given_up_for_a_signal") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    for write in scene.calls(&[]).iter().filter(|call| ["write", "pwrite64"].contains(&call.name.as_str())) {
        scene.restore();
        let inject = format!("{}:error=EINTR:when={}", write.name, write.nth);
        let args: Vec<&str> = scene.order.args.iter().map(String::as_str).collect();
        run(injecting(&scene.sandbox, &[&inject], &args), "").ok();
    }
}

#[test]
fn the_fault_sweep_catches_a_flush_whose_failure_is_ignored() {
    let test = "the_fault_sweep_catches_a_flush_whose_failure_is_ignored";
    if !can_inject(test) {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    let mut flushes: Vec<_> = Trouble::Fails("EIO").states(&scene).into_iter().filter(|state| state.no_flush).collect();
    // The system does not say that it failed.
    for word in flushes.iter_mut().flat_map(|state| &mut state.prefix) {
        *word = word.replace("error=EIO", "retval=0");
    }
    let tally = Tally::of_scene(&scene, &flushes);
    let found = tally.violations.iter().any(|violation| violation.contains("acknowledged without a word"));
    assert!(found, "not caught in {} states: {:#?}", tally.states, tally.violations);
}

#[test]
fn flow_never_asks_the_kernel_to_resolve_a_path_for_it() {
    if !can_inject("flow_never_asks_the_kernel_to_resolve_a_path_for_it") {
        return;
    }
    for case in CASES {
        let scene = Scene::new(case, &quick());
        // Old kernels and containers refuse openat2 in these ways. Whoever does not call it does not care.
        for error in ["ENOSYS", "EPERM"] {
            let calls = scene.calls(&[format!("openat2:error={error}")]);
            let asked: Vec<_> = calls.iter().filter(|call| call.name == "openat2").collect();
            assert!(asked.is_empty(), "{}: {asked:?}", case.name);
        }
    }
}

#[test]
fn a_short_append_is_taken_back() {
    if !can_inject("a_short_append_is_taken_back") {
        return;
    }
    for row in ["record-activity", "record-activity over a hand edit", "block"] {
        let tally = really(row, &[Trouble::ShortAppend], 1);
        assert!(tally.states > 0, "{row}: the log was not written");
    }
}

#[test]
fn a_lost_file_that_cannot_be_looked_at_is_restored_later() {
    if !can_inject("a_lost_file_that_cannot_be_looked_at_is_restored_later") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    let args: Vec<&str> = scene.order.args.iter().map(String::as_str).collect();
    let lost = scene.sandbox.run_dir("r1").join("activities/001-preflight-done.yaml");
    let opened = scene.calls(&[]).into_iter().find(|call| call.shown.contains("001-preflight-done.yaml")).unwrap();
    for error in ["EIO", "EMFILE"] {
        scene.restore();
        std::fs::write(&lost, "").unwrap();
        let fails = format!("{}:error={error}:when={}", opened.name, opened.nth);
        run(injecting(&scene.sandbox, &[&fails], &args), "").exits(74);
        scene.again_as_a_process().ok();
        scene.sandbox.assert_sound("r1");
        assert!(
            std::fs::read_to_string(&lost).unwrap().contains("preflight-done"),
            "{error}: the file is lost for good"
        );
    }
}

#[test]
fn a_failed_flush_that_cannot_be_taken_back_is_recovered_on_a_new_file() {
    use std::os::unix::fs::MetadataExt;
    if !can_inject("a_failed_flush_that_cannot_be_taken_back_is_recovered_on_a_new_file") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    let args: Vec<&str> = scene.order.args.iter().map(String::as_str).collect();
    for flush in scene.calls(&[]).iter().filter(|call| call.is_a_flush()) {
        scene.restore();
        let log = scene.sandbox.run_dir("r1").join("events.jsonl");
        let before = std::fs::metadata(&log).unwrap().ino();
        let flush_fails = format!("{}:error=EIO:when={}", flush.name, flush.nth);
        let answer = run(injecting(&scene.sandbox, &[&flush_fails, "ftruncate:error=EIO"], &args), "").exits(74);
        assert!(answer.stderr.contains("--id"), "the way out is not told: {}", answer.stderr);
        scene.again_as_a_process().ok();
        // Pages of a failed flush may count as clean without being on the disk: only a copy can be flushed again.
        assert_ne!(std::fs::metadata(&log).unwrap().ino(), before, "{flush:?}");
        assert_eq!(scene.sandbox.records_of("r1", "explore-done"), 1);
        scene.sandbox.assert_sound("r1");
    }
}
