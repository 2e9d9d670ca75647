//! What of this runs with every `cargo test`.

use super::commands::{ALL, BEHIND_A_TORN_PAGE, COMPLETE, Case, FIRST_START, ONE_RECORD};
use super::enumerate::{Row, enumerate};
use super::exec::{EXEC_CASES, cut_exec};
use super::failing_flush::{Recorder, ThinDevice, Trial};
use super::interviews::{INTERVIEW_CASES, cut_interview, cut_interview_after_kill};
use super::materialise::reboot;
use super::model::{Effort, Model};
use super::modes::{MODE_CASES, crash_in_recovery_of_modes, cut_modes, cut_modes_after_kill};
use super::nested::{crash_in_recovery, cut_after_kill};
use super::prune::{PRUNE_CASES, cut_prune, cut_prune_after_kill};
use super::real_cut::cut_everywhere;
use super::recorded::{How, Recorded};
use super::repair::cut_repair_after_kill;
use crate::support::faulty::Mistake;
use crate::support::mount::{FileSystem, UNDISTURBED};
use crate::support::{Lack, Sandbox, can_inject, scaled, skipped};

/// Everything.
const COMPLETE_EFFORT: Effort = Effort { drawn: 4000, states: usize::MAX, seed: 1 };
/// A few states of each command.
const SOME: Effort = Effort { drawn: 50, states: 12, seed: 1 };

#[expect(clippy::print_stdout, reason = "shown with --nocapture: how far the enumeration reaches")]
fn show(rows: &[Row]) {
    rows.iter().for_each(|row| println!("{row}"));
}

fn all_models(case: &Case, effort: &Effort) {
    let rows = enumerate(case.name, &Recorded::of(case, How::USUAL), &Model::ALL, effort);
    show(&rows);
    rows.iter().for_each(Row::assert_clean);
}

#[test]
fn no_legal_crash_state_of_a_record_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_a_record_breaks_a_promise") {
        all_models(&ONE_RECORD, &COMPLETE_EFFORT);
    }
}

#[test]
fn no_legal_crash_state_of_a_completed_run_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_a_completed_run_breaks_a_promise") {
        all_models(&COMPLETE, &Effort { states: scaled(120, usize::MAX), ..COMPLETE_EFFORT });
    }
}

#[test]
fn a_torn_page_and_the_end_of_a_new_line_never_make_a_line() {
    if can_inject("a_torn_page_and_the_end_of_a_new_line_never_make_a_line") {
        all_models(&BEHIND_A_TORN_PAGE, &Effort { drawn: 400, ..COMPLETE_EFFORT });
    }
}

#[test]
fn no_sampled_crash_state_of_any_command_breaks_a_promise() {
    if can_inject("no_sampled_crash_state_of_any_command_breaks_a_promise") {
        ALL.iter().for_each(|case| all_models(case, &SOME));
    }
}

#[test]
fn no_legal_crash_state_of_a_change_of_modes_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_a_change_of_modes_breaks_a_promise") {
        for case in &MODE_CASES {
            let rows = cut_modes(case, &Effort { drawn: 100, states: 120, seed: 1 }, None);
            show(&rows);
            rows.iter().for_each(Row::assert_clean);
        }
    }
}

#[test]
fn no_legal_crash_state_of_an_interview_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_an_interview_breaks_a_promise") {
        for case in &INTERVIEW_CASES {
            let rows = cut_interview(case, &Effort { drawn: 100, states: 120, seed: 1 }, None);
            show(&rows);
            rows.iter().for_each(Row::assert_clean);
        }
    }
}

#[test]
fn no_legal_crash_state_of_a_command_that_flow_runs_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_a_command_that_flow_runs_breaks_a_promise") {
        for case in &EXEC_CASES {
            let rows = cut_exec(case, &Effort { drawn: 100, states: scaled(120, 1000), seed: 1 }, None);
            show(&rows);
            rows.iter().for_each(Row::assert_clean);
        }
    }
}

#[test]
fn an_end_of_a_command_that_is_not_flushed_is_noticed() {
    if can_inject("an_end_of_a_command_that_is_not_flushed_is_noticed") {
        for (flush, told) in [("fdatasync", "acknowledged, but lost"), ("fsync", "evidence")] {
            let rows = cut_exec(&EXEC_CASES[0], &Effort { drawn: 100, states: 120, seed: 1 }, Some(flush));
            let found = |row: &Row| row.violations.iter().any(|violation| violation.contains(told));
            assert!(rows.iter().any(found), "{flush}: nobody noticed: {rows:?}");
        }
    }
}

#[test]
fn no_legal_crash_state_of_a_prune_breaks_a_promise() {
    if can_inject("no_legal_crash_state_of_a_prune_breaks_a_promise") {
        for case in &PRUNE_CASES {
            let rows = cut_prune(case, &Effort { drawn: 50, states: scaled(40, 1000), seed: 1 }, None);
            show(&rows);
            rows.iter().for_each(Row::assert_clean);
        }
    }
}

#[test]
fn a_prune_that_is_not_flushed_is_noticed() {
    if can_inject("a_prune_that_is_not_flushed_is_noticed") {
        let rows = cut_prune(&PRUNE_CASES[0], &Effort { drawn: 50, states: 40, seed: 1 }, Some("fsync"));
        let found = |row: &Row| row.violations.iter().any(|violation| violation.contains("without a note"));
        assert!(rows.iter().any(found), "nobody noticed: {rows:?}");
    }
}

#[test]
fn documents_that_are_not_flushed_are_noticed() {
    if can_inject("documents_that_are_not_flushed_are_noticed") {
        let rows = cut_interview(&INTERVIEW_CASES[1], &Effort { drawn: 100, states: 120, seed: 1 }, Some("fsync"));
        let found = |row: &Row| row.violations.iter().any(|violation| violation.contains("acknowledged, but lost"));
        assert!(rows.iter().any(found), "nobody noticed: {rows:?}");
    }
}

#[test]
fn modes_that_are_not_flushed_are_noticed() {
    if !can_inject("modes_that_are_not_flushed_are_noticed") {
        return;
    }
    let rows = cut_modes(&MODE_CASES[1], &Effort { drawn: 100, states: 120, seed: 1 }, Some("fdatasync"));
    // The files of the commit are flushed all the same, so what is missing is its line.
    let found = |row: &Row| row.violations.iter().any(|violation| violation.contains("positions in the log"));
    assert!(rows.iter().any(found), "nobody noticed: {rows:?}");
}

#[test]
fn a_power_cut_during_recovery_breaks_no_promise() {
    if can_inject("a_power_cut_during_recovery_breaks_no_promise") {
        for case in [&ONE_RECORD, &FIRST_START] {
            let row = crash_in_recovery(case, &Effort { states: 5, ..SOME }, &SOME);
            show(std::slice::from_ref(&row));
            row.assert_clean();
        }
        let row = crash_in_recovery_of_modes(&MODE_CASES[1], &Effort { states: 5, ..SOME }, &SOME);
        show(std::slice::from_ref(&row));
        row.assert_clean();
    }
}

#[test]
fn a_power_cut_after_a_killed_command_was_made_good_breaks_no_promise() {
    if can_inject("a_power_cut_after_a_killed_command_was_made_good_breaks_no_promise") {
        for case in [&ONE_RECORD, &FIRST_START] {
            let row = cut_after_kill(case, 4, &Effort { states: 10, ..SOME });
            show(std::slice::from_ref(&row));
            row.assert_clean();
        }
        let row = cut_modes_after_kill(&MODE_CASES[1], 4, &Effort { states: 10, ..SOME });
        show(std::slice::from_ref(&row));
        row.assert_clean();
        // Those whose second call is answered as the first.
        for case in &INTERVIEW_CASES[..2] {
            let row = cut_interview_after_kill(case, &Effort { states: 20, ..SOME });
            show(std::slice::from_ref(&row));
            row.assert_clean();
        }
        for case in &PRUNE_CASES {
            let row = cut_prune_after_kill(case, &Effort { states: 20, ..SOME });
            show(std::slice::from_ref(&row));
            row.assert_clean();
        }
        let row = cut_repair_after_kill(&Effort { states: 20, ..SOME });
        show(std::slice::from_ref(&row));
        row.assert_clean();
    }
}

/// The enumerator has to notice each of these mistakes.
#[test]
fn a_disk_that_is_wrong_on_purpose_is_caught_by_the_enumerator() {
    if !can_inject("a_disk_that_is_wrong_on_purpose_is_caught_by_the_enumerator") {
        return;
    }
    for mistake in [Mistake::NoFlush, Mistake::LateAppend, Mistake::LateFlush] {
        let recorded = Recorded::of(&ONE_RECORD, How { mistake: Some(mistake), ..How::USUAL });
        let rows = enumerate("a mistake", &recorded, &[Model::Weak], &Effort { states: 60, ..SOME });
        show(&rows);
        assert!(!rows[0].violations.is_empty(), "{mistake:?} was not noticed in {} states", rows[0].checked);
    }
}

#[test]
fn a_real_power_cut_breaks_no_promise() {
    let name = "a_real_power_cut_breaks_no_promise";
    for kind in FileSystem::ALL {
        for case in [&ONE_RECORD, &FIRST_START] {
            if let Some(row) = cut(name, kind, case, scaled(3, 6), &[]) {
                row.assert_clean();
            }
        }
    }
}

#[test]
fn a_commit_without_flushes_is_caught_by_a_real_power_cut() {
    let name = "a_commit_without_flushes_is_caught_by_a_real_power_cut";
    let faults = ["-e", "inject=fsync,fdatasync:retval=0"];
    for kind in [FileSystem::Ext4, FileSystem::Xfs] {
        let mut rows = (0..UNDISTURBED).map_while(|_| cut(name, kind, &ONE_RECORD, 1, &faults)).peekable();
        if rows.peek().is_some() {
            assert!(rows.any(|row| !row.violations.is_empty()), "{}: nothing was noticed", kind.name());
        }
    }
}

fn cut(name: &str, kind: FileSystem, case: &Case, cuts: usize, faults: &[&str]) -> Option<Row> {
    if !can_inject(name) {
        return None;
    }
    match cut_everywhere(kind, case, cuts, faults) {
        Ok(row) => {
            show(std::slice::from_ref(&row));
            Some(row)
        }
        Err(lack) => {
            skipped(name, &Lack { why: format!("{}: {}", kind.name(), lack.why), ..lack });
            None
        }
    }
}

/// A device for a test, unless this machine has none.
fn thin_device(name: &str) -> Option<ThinDevice> {
    if !can_inject(name) {
        return None;
    }
    ThinDevice::new().map_err(|why| skipped(name, &why)).ok()
}

#[test]
fn a_record_whose_flush_failed_is_unconfirmed_and_the_retry_durable() {
    let Some(thin) = thin_device("a_record_whose_flush_failed_is_unconfirmed_and_the_retry_durable") else {
        return;
    };
    let (refused, verdict) = Trial { first: PLAIN, second: PLAIN }.acknowledged(thin);
    assert_eq!(refused.code, Some(74), "{refused:?}");
    assert!(refused.stderr.contains("could not be confirmed"), "{refused:?}");
    assert_eq!(verdict, Ok(()));
}

/// The program, and nothing done to it.
const PLAIN: Recorder = Recorder::Program(&[]);
/// Dies when its flush has failed and the line is still in the log.
const DIES: &[&str] = &["-e", "inject=ftruncate:signal=KILL:when=1"];

#[test]
fn a_record_that_died_after_its_flush_failed_is_durable_when_it_is_acknowledged() {
    let name = "a_record_that_died_after_its_flush_failed_is_durable_when_it_is_acknowledged";
    let Some(thin) = thin_device(name) else { return };
    let (died, verdict) = Trial { first: Recorder::Program(DIES), second: PLAIN }.acknowledged(thin);
    assert_eq!(died.stdout, "", "{died:?}");
    assert_eq!(verdict, Ok(()));
}

#[test]
fn flushes_that_nobody_looks_at_and_logs_that_are_trusted_are_caught_by_a_failing_flush() {
    let name = "flushes_that_nobody_looks_at_and_logs_that_are_trusted_are_caught_by_a_failing_flush";
    let Some(thin) = thin_device(name) else { return };
    let library = |mistake| Recorder::Library(mistake);
    let (died, sound, old) = (Recorder::Program(DIES), library(None), library(Some(Mistake::OldLog)));
    let unchecked = library(Some(Mistake::UncheckedFlush));
    let verdict = |first, second| Trial { first, second }.acknowledged(ThinDevice::new().unwrap()).1;
    // What the library does is seen as what the program does.
    assert_eq!(Trial { first: died, second: sound }.acknowledged(thin).1, Ok(()));
    assert_eq!(verdict(sound, sound), Ok(()));
    assert!(verdict(died, old).is_err(), "a log that was trusted was not noticed");
    assert!(verdict(unchecked, unchecked).is_err(), "a flush that nobody looked at was not noticed");
}

/// The minimal form of what the enumerator found with three records in a row: only the latest file was looked after.
#[test]
fn the_first_writer_after_a_power_cut_restores_every_activity_file_that_it_took() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    for phase in ["preflight", "explore", "plan"] {
        sandbox.record(&run, phase, &format!("{phase}-done"));
    }
    let file = |name: &str| sandbox.run_dir(&run).join("activities").join(name);
    let (first, second) = (file("001-preflight-done.yaml"), file("002-explore-done.yaml"));
    let whole = [std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap()];
    std::fs::write(&first, "").unwrap();
    std::fs::write(&second, [&whole[1][..20], &[0; 40], &whole[1][60..]].concat()).unwrap();
    reboot(&sandbox.root());
    sandbox.record(&run, "code", "code-done");
    assert_eq!([std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap()], whole);
    sandbox.assert_sound(&run);
    // In the same boot nobody looks for them again: whoever removes one now meant it.
    std::fs::remove_file(&first).unwrap();
    sandbox.record(&run, "verify", "verify-done");
    assert!(!first.exists());
}

/// Found with a crash between the line of an adopted edit and its `run.yaml`.
#[test]
fn an_edit_whose_adoption_was_cut_short_is_adopted_once() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "preflight-done");
    sandbox.edit(&run, "state:", "# ask Ada first\nstate:");
    let theirs = sandbox.read(&run, "run.yaml");
    sandbox.flow(["block", &run, "--reason", "which region?"]).ok();
    let log = sandbox.read(&run, "events.jsonl");
    let adopted: String = log.split_inclusive('\n').take(3).collect();
    std::fs::write(sandbox.run_dir(&run).join("events.jsonl"), adopted).unwrap();
    std::fs::write(sandbox.run_dir(&run).join("run.yaml"), theirs).unwrap();
    // The counters of the events that never were.
    std::fs::remove_file(sandbox.run_dir(&run).join(".lock")).unwrap();
    sandbox.record(&run, "explore", "explore-done");
    let edits = sandbox.events(&run).iter().filter(|event| event["type"] == "run_edited").count();
    assert_eq!(edits, 1, "{:?}", sandbox.events(&run));
    assert!(sandbox.read(&run, "run.yaml").contains("# ask Ada first"));
    sandbox.assert_sound(&run);
}
