//! States that no test has to wait for: what a crash, a power cut, git or a person leaves, made by hand.

use crate::support::{PHASES, Past, Sandbox, Tree, essence};

#[test]
fn a_log_ahead_of_run_yaml_is_shown_by_readers_and_caught_up_with_by_the_next_record() {
    for shown in 0..3 {
        let past = Past::new();
        past.put_back("run.yaml", shown);
        for (record, phase) in PHASES.iter().enumerate().skip(shown) {
            past.remove(&format!("activities/{:03}-{phase}-done.yaml", record + 1));
        }
        let before = Tree::of(&past.sandbox.run_dir(&past.run));
        assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"]);
        assert_eq!(Tree::of(&past.sandbox.run_dir(&past.run)), before, "a reader wrote");
        assert_eq!(past.go_on()["number"], "004");
        past.assert_all_there();
    }
}

#[test]
fn a_run_behind_its_log_is_shown_as_it_will_be() {
    let past = Past::new();
    past.sandbox.flow(["block", &past.run, "--reason", "which region?"]).ok();
    let whole = past.sandbox.flow(["show", &past.run, "--json"]).ok().json();
    past.put_back("run.yaml", 1);
    let shown = past.sandbox.flow(["show", &past.run, "--json"]).ok().json();
    assert_eq!(shown["state"], whole["state"], "the state in run.yaml, and the records of the log beside it");
    assert_eq!(shown, whole);
    insta::assert_snapshot!(past.sandbox.flow(["show", &past.run]).ok().stdout, @"
    blocked  2026-05-20T143003Z-issue-42
      workflow    start-issue
      phase       plan
      blocked     which region?
      started     2026-05-20T14:30:03.000Z
      changed     2026-05-20T14:30:07.000Z
      event       5
      repository  acme/widgets
      branch      main
      issue       42
      journal     .decisions/issue-42.md
      phases
        preflight  completed
        explore    completed
        plan       completed
        code       not_started
        verify     not_started
      activities
        001  preflight-done  preflight  passed, claimed
        002  explore-done    explore    passed, claimed
        003  plan-done       plan       passed, claimed
    ");
}

#[test]
fn a_run_caught_up_with_is_the_same_run() {
    let past = Past::new();
    let whole = past.trees[3].text("run.yaml");
    past.put_back("run.yaml", 1);
    // A status that is there already writes nothing of its own, so what is left is recovery alone.
    past.sandbox.flow(["unblock", &past.run]).ok();
    assert_eq!(past.read("run.yaml"), whole);
    past.sandbox.assert_sound(&past.run);
}

#[test]
fn what_a_person_wrote_into_an_older_run_yaml_survives_the_catching_up() {
    let past = Past::new();
    let edited = past.trees[1].text("run.yaml").replacen("state:", "# ask Ada first\nstate:", 1);
    past.put("run.yaml", edited);
    past.go_on();
    past.assert_all_there();
    assert!(past.read("run.yaml").contains("# ask Ada first"));
}

#[test]
fn a_torn_last_line_is_never_state_wherever_it_was_cut() {
    let past = Past::new();
    let whole = past.trees[3].text("events.jsonl");
    let kept = past.trees[2].text("events.jsonl").len();
    let last = whole.len() - kept;
    let cuts = [1, 2, 9, last / 3, last / 2, last - 20, last - 3, last - 2];
    for (cut, zeros) in cuts.into_iter().flat_map(|cut| [(cut, 0), (cut, last - cut), (0, cut)]) {
        past.trees[2].restore(&past.sandbox.run_dir(&past.run));
        let mut bytes = whole.as_bytes()[..kept + cut].to_vec();
        bytes.resize(bytes.len() + zeros, 0);
        past.put("events.jsonl", &bytes);
        assert_eq!(past.completed(), ["preflight-done", "explore-done"], "cut at {cut}, {zeros} zeros");
        let again = past.sandbox.record(&past.run, "plan", "plan-done");
        assert_eq!((&again["number"], &again["seq"]), (&"003".into(), &4.into()), "cut at {cut}, {zeros} zeros");
        past.go_on();
        past.assert_all_there();
        let put_aside = past.sandbox.quarantined(&past.run);
        assert_eq!(put_aside.len(), 1, "the torn bytes are kept for a person");
        assert_eq!(put_aside[0].as_bytes(), &bytes[kept..]);
    }
}

#[test]
fn a_last_line_that_lost_a_block_is_cut_off_and_kept() {
    let past = Past::new();
    let kept = past.trees[2].text("events.jsonl").len();
    let mut bytes = past.trees[3].text("events.jsonl").into_bytes();
    past.trees[2].restore(&past.sandbox.run_dir(&past.run));
    // Its end reached the disk, with the line break.
    bytes[kept + 20..kept + 60].fill(0);
    past.put("events.jsonl", &bytes);
    assert_eq!(past.completed(), ["preflight-done", "explore-done"]);
    past.sandbox.record(&past.run, "plan", "plan-done");
    past.go_on();
    past.assert_all_there();
    assert!(!past.read("events.jsonl").contains('\0'));
    let put_aside = past.sandbox.quarantined(&past.run);
    assert_eq!(put_aside.iter().map(String::as_bytes).collect::<Vec<_>>(), [&bytes[kept..]]);
}

#[test]
fn a_line_that_a_merge_brought_twice_counts_once() {
    let past = Past::new();
    let log = past.read("events.jsonl");
    let scan = flowrun::store::LogScan::parse(format!("{log}{log}").as_bytes());
    assert_eq!(scan.lines.len(), log.lines().count());
    assert_eq!(scan.doubles(), []);
}

#[test]
fn a_last_line_that_lost_only_its_line_break_is_still_acknowledged() {
    let past = Past::new();
    // As an editor saves that does not end files with a line break.
    past.put("events.jsonl", past.trees[3].text("events.jsonl").trim_end());
    assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"]);
    past.go_on();
    past.assert_all_there();
}

#[test]
fn missing_and_cut_off_activity_files_behind_run_yaml_are_written_again() {
    let name = "activities/003-plan-done.yaml";
    let past = Past::new();
    let whole = past.trees[3].text(name);
    for left in [None, Some(String::new()), Some("\0".repeat(40)), Some(whole[..whole.len() / 2].to_owned())] {
        past.trees[3].restore(&past.sandbox.run_dir(&past.run));
        past.put_back("run.yaml", 2);
        match &left {
            None => past.remove(name),
            Some(text) => past.put(name, text),
        }
        past.go_on();
        past.assert_all_there();
        assert_eq!(past.read(name), whole, "{left:?}");
    }
}

#[test]
fn a_person_s_change_of_an_activity_file_is_kept_by_recovery() {
    let past = Past::new();
    let name = "activities/003-plan-done.yaml";
    let edited = format!("# as agreed with Ada\n{}", past.read(name));
    past.put(name, &edited);
    past.put_back("run.yaml", 2);
    past.go_on();
    past.assert_all_there();
    assert_eq!(past.read(name), edited);
}

#[test]
fn a_missing_activity_file_of_a_settled_record_disturbs_nobody() {
    let past = Past::new();
    past.remove("activities/001-preflight-done.yaml");
    assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"]);
    assert_eq!(past.go_on()["number"], "004");
}

#[test]
fn an_empty_run_yaml_is_named_and_left_alone_until_it_is_removed() {
    for text in ["", "\n", "\0\0\0\0"] {
        let past = Past::new();
        past.put("run.yaml", text);
        let before = past.read("events.jsonl");
        let refused = past.sandbox.flow(["resume", &past.run, "--json"]).exits(65);
        assert!(refused.error()["message"].as_str().unwrap().contains("run.yaml"), "{refused:?}");
        past.sandbox.flow(["record-activity", "--run-id", &past.run, "--phase", "code"]).exits(65);
        assert_eq!((past.read("events.jsonl"), past.read("run.yaml").as_str()), (before, text));
        past.remove("run.yaml");
        past.go_on();
        past.assert_all_there();
    }
}

#[test]
fn a_missing_run_yaml_is_read_and_rebuilt_from_the_log() {
    let past = Past::new();
    let whole = past.trees[3].text("run.yaml");
    past.remove("run.yaml");
    assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"]);
    let list = past.sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(list["runs"][0]["run_id"], past.run.as_str(), "{list}");
    past.sandbox.flow(["unblock", &past.run]).ok();
    assert_eq!(past.read("run.yaml"), whole);
    past.go_on();
    past.assert_all_there();
}

#[test]
fn a_missing_log_is_named_as_damage_and_counting_goes_on() {
    let past = Past::new();
    past.remove("events.jsonl");
    let answer = past.sandbox.flow(["resume", &past.run, "--json"]).exits(65).json();
    assert_eq!(answer["verdict"], "corrupt");
    let record = past.go_on();
    assert_eq!((&record["seq"], &record["number"]), (&5.into(), &"004".into()));
    assert_eq!(past.sandbox.shown_seq(&past.run), 5);
}

#[test]
fn a_lost_log_does_not_lift_the_iron_law() {
    let past = Past::new();
    past.remove("events.jsonl");
    past.go_on();
    // From `code` no transition leads back to `preflight`, whether the log is there or not.
    let jump = ["record-activity", "--run-id", &past.run, "--phase", "preflight", "--id", "again"];
    let answer = past.sandbox.flow(jump);
    assert_ne!(answer.code, Some(0), "an invalid transition was recorded: {answer:?}");
}

#[test]
fn garbage_in_the_middle_of_a_log_is_skipped_and_kept() {
    for garbage in ["<<<<<<< ours", "{\"half\":", "\u{0}\u{0}\u{0}", "=======\n>>>>>>> theirs"] {
        let past = Past::new();
        let lines: Vec<_> = past.read("events.jsonl").lines().map(str::to_owned).collect();
        let text = format!("{}\n{}\n{garbage}\n{}\n{}\n", lines[0], lines[1], lines[2], lines[3]);
        past.put("events.jsonl", &text);
        assert_eq!(past.completed(), ["preflight-done", "explore-done", "plan-done"], "{garbage:?}");
        assert_eq!(past.go_on()["seq"], 5);
        assert!(past.read("events.jsonl").starts_with(&text), "{garbage:?} was touched");
        past.sandbox.flow(["validate", &past.run, "--json"]).exits(1);
        let skipped = past.sandbox.flow(["log", &past.run, "--json"]).ok().json()["skipped"].clone();
        assert_eq!(skipped[0]["line"], 3, "{skipped}");
    }
}

#[test]
fn a_flipped_byte_in_the_middle_is_corrupt_and_recording_goes_on() {
    for line in 0..4 {
        let past = Past::new();
        let mut bytes = past.read("events.jsonl").into_bytes();
        let starts: Vec<_> = std::iter::once(0)
            .chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        let at = (starts[line] + starts[line + 1]) / 2;
        bytes[at] ^= 0x01;
        past.put("events.jsonl", &bytes);
        let answer = past.sandbox.flow(["resume", &past.run, "--json"]).exits(65).json();
        assert_eq!(answer["verdict"], "corrupt", "line {}", line + 1);
        assert!(answer["reason"].as_str().unwrap().contains(&format!("event {}", line + 1)), "{answer}");
        // What can be trusted is shown.
        assert!(answer["completed"].as_array().unwrap().len() >= 2, "{answer}");
        let record = past.go_on();
        assert_eq!((&record["seq"], &record["number"]), (&5.into(), &"004".into()));
        let kept = std::fs::read(past.sandbox.run_dir(&past.run).join("events.jsonl")).unwrap();
        assert!(kept.starts_with(&bytes), "sealed lines were rewritten");
        assert_eq!(past.sandbox.flow(["resume", &past.run, "--json"]).exits(65).json()["verdict"], "corrupt");
        past.sandbox.flow(["validate", &past.run, "--json"]).exits(1);
    }
}

#[test]
fn flow_s_own_leftovers_disappear_with_the_next_record() {
    let past = Past::new();
    let run = past.trees[3].text("run.yaml");
    let log = past.trees[3].text("events.jsonl");
    let old = past.trees[2].text("run.yaml");
    let ahead = run.replacen("last_seq: 4", "last_seq: 5", 1);
    for (name, left) in [
        (".run.tmp", ""),
        (".run.tmp", "\0\0\0\0"),
        (".run.tmp", run.as_str()),
        (".run.tmp", old.as_str()),
        (".run.tmp", ahead.as_str()),
        (".events.tmp", &log[..log.len() / 2]),
        ("activities/.act.tmp", "apiVersion: flow.syn"),
    ] {
        past.trees[3].restore(&past.sandbox.run_dir(&past.run));
        past.put(name, left);
        assert_eq!(past.completed().len(), 3);
        past.go_on();
        past.assert_all_there();
        assert_eq!(past.sandbox.quarantined(&past.run), Vec::<String>::new(), "{name} holding {left:?}");
    }
}

#[test]
fn a_cut_off_run_tmp_is_never_in_the_way() {
    let past = Past::new();
    let run = past.trees[3].text("run.yaml");
    for cut in [1, run.len() / 4, run.len() / 2, run.len() - 1] {
        past.trees[3].restore(&past.sandbox.run_dir(&past.run));
        past.put(".run.tmp", &run[..cut]);
        past.go_on();
        past.assert_all_there();
    }
}

#[test]
fn a_person_s_text_in_a_leftover_goes_to_quarantine() {
    let past = Past::new();
    let theirs = past.read("run.yaml").replacen("state:", "# only here: call Ada\nstate:", 1);
    // `.run.tmp` holds what an exchange swapped out; `.run.merge.tmp` does so too, between the two renames of a merge.
    for name in [".run.tmp", ".run.merge.tmp"] {
        for text in [theirs.as_str(), "not: [a run, # call Ada", "call Ada\n"] {
            past.trees[3].restore(&past.sandbox.run_dir(&past.run));
            past.put(name, text);
            past.go_on();
            past.assert_all_there();
            assert_eq!(past.sandbox.quarantined(&past.run), [text], "in {name}");
        }
    }
}

#[test]
fn quarantined_texts_of_the_same_second_do_not_replace_each_other() {
    let past = Past::new();
    for (at, text) in ["one: 1\n", "two: 2\n", "three: 3\n"].into_iter().enumerate() {
        past.put(".run.tmp", text);
        let mut command = past.sandbox.flow_command();
        command.env("__FLOW_NOW", "2026-05-20T15:00:00Z");
        command.args(["record-activity", "--run-id", &past.run, "--phase", "code", "--id", &format!("code-{at}")]);
        crate::support::run(command, "").ok();
    }
    let mut kept = past.sandbox.quarantined(&past.run);
    kept.sort();
    assert_eq!(kept, ["one: 1\n", "three: 3\n", "two: 2\n"]);
}

#[test]
fn deleted_activity_files_never_free_their_numbers() {
    let past = Past::new();
    for name in past.sandbox.activity_files(&past.run) {
        past.remove(&format!("activities/{name}"));
    }
    assert_eq!(past.go_on()["number"], "004");
    let past = Past::new();
    for name in past.sandbox.activity_files(&past.run) {
        past.remove(&format!("activities/{name}"));
    }
    past.remove("run.yaml");
    assert_eq!(past.go_on()["number"], "004");
}

#[test]
fn an_activity_file_that_somebody_put_there_is_not_overwritten() {
    let past = Past::new();
    past.put("activities/004-code-done.yaml", "mine: true\n");
    assert_eq!(past.go_on()["number"], "005");
    assert_eq!(past.read("activities/004-code-done.yaml"), "mine: true\n");
}

#[test]
fn an_older_log_put_back_never_leads_to_a_used_position_or_number() {
    for (records, due) in PHASES.into_iter().enumerate() {
        // The log alone, and all that git knows of: everything but the lock.
        for all in [false, true] {
            let past = Past::new();
            past.put_back("events.jsonl", records);
            if all {
                past.put_back("run.yaml", records);
                for (record, phase) in PHASES.iter().enumerate().skip(records) {
                    past.remove(&format!("activities/{:03}-{phase}-done.yaml", record + 1));
                }
            }
            let verdict = past.sandbox.flow(["resume", &past.run, "--json"]).json()["verdict"].clone();
            let due = if all { due } else { "code" };
            let mut position = 5;
            if verdict == "rewound" {
                let refused = ["record-activity", "--run-id", &past.run, "--phase", due, "--id", "next", "--json"];
                assert_eq!(past.sandbox.flow(refused).exits(4).error()["code"], "log_rewound");
                past.sandbox.flow(["doctor", &past.run, "--repair"]).ok();
                position += 1;
            }
            let record = past.sandbox.record(&past.run, due, "next");
            let counters = (record["seq"].as_u64().unwrap(), record["number"].as_str().unwrap().to_owned());
            assert_eq!(counters, (position, "004".to_owned()), "back to {records}, everything: {all}");
            past.sandbox.flow(["list", "--json"]).ok();
        }
    }
}

#[test]
fn an_older_log_put_back_after_changes_without_a_record_leads_to_no_used_number() {
    // The lock knows the numbers, and what the repair wrote knows them when the lock is gone.
    for loses_lock in [false, true] {
        let past = Past::new();
        past.sandbox.flow(["block", "--run-id", &past.run, "--reason", "wait"]).ok();
        past.sandbox.flow(["unblock", "--run-id", &past.run]).ok();
        past.put_back("events.jsonl", 1);
        past.put_back("run.yaml", 1);
        past.remove("activities/002-explore-done.yaml");
        past.remove("activities/003-plan-done.yaml");
        past.sandbox.flow(["doctor", &past.run, "--repair"]).ok();
        if loses_lock {
            past.remove(".lock");
        }
        let record = past.sandbox.record(&past.run, "explore", "next");
        assert_eq!((&record["seq"], &record["number"]), (&8.into(), &"004".into()), "{loses_lock}");
    }
}

#[test]
fn a_retry_after_an_older_log_was_put_back_says_where_it_is_or_records_it_whole() {
    let past = Past::new();
    past.put_back("events.jsonl", 2);
    past.put_back("run.yaml", 2);
    past.remove("activities/003-plan-done.yaml");
    past.sandbox.flow(["record-activity", "--run-id", &past.run, "--phase", "plan", "--id", "plan-done"]).exits(4);
    past.sandbox.flow(["doctor", &past.run, "--repair"]).ok();
    past.sandbox.record(&past.run, "plan", "plan-done");
    past.sandbox.record(&past.run, "plan", "plan-done");
    assert_eq!(past.sandbox.records_of(&past.run, "plan-done"), 1);
}

#[test]
fn a_line_that_somebody_echoes_into_the_log_is_shown_and_is_not_state() {
    for ending in ["\n", "", "\r\n"] {
        let past = Past::new();
        let old = essence(&past.sandbox.flow(["resume", &past.run, "--json"]).ok().json());
        let foreign = format!("{{\"event\":\"deploy\",\"seq\":99}}{ending}");
        past.put("events.jsonl", past.read("events.jsonl") + &foreign);
        assert_eq!(essence(&past.sandbox.flow(["resume", &past.run, "--json"]).ok().json()), old, "{ending:?}");
        assert_eq!(past.go_on()["seq"], 5);
        assert!(past.read("events.jsonl").contains(&foreign), "{ending:?}");
        let log = past.sandbox.flow(["log", &past.run, "--json"]).ok().json();
        assert_eq!(log["events"].as_array().unwrap().len(), 5, "{log}");
        assert!(log["skipped"][0]["why"].as_str().unwrap().contains("unsealed"), "{log}");
        assert_eq!(past.completed().len(), 4);
        past.sandbox.flow(["validate", &past.run, "--json"]).ok();
        assert_eq!(past.sandbox.quarantined(&past.run), Vec::<String>::new());
    }
}

#[test]
fn a_note_without_line_break_that_is_no_json_is_kept_in_quarantine() {
    let past = Past::new();
    past.put("events.jsonl", past.read("events.jsonl") + "remember to call Ada");
    past.go_on();
    past.assert_all_there();
    assert_eq!(past.sandbox.quarantined(&past.run), ["remember to call Ada"]);
}

#[test]
fn a_long_torn_tail_is_kept_whole() {
    let past = Past::new();
    let torn = "x".repeat(9 << 20);
    past.put("events.jsonl", past.read("events.jsonl") + &torn);
    past.go_on();
    past.assert_all_there();
    assert!(past.sandbox.quarantined(&past.run) == [torn], "a part of the tail is gone");
}

#[test]
fn half_made_runs_of_dead_creators_are_no_runs_and_disappear() {
    let past = Past::new();
    for dir in ["activities", "evidence"] {
        std::fs::create_dir_all(past.sandbox.path(".flow/.new-2026-05-20T143003Z-x").join(dir)).unwrap();
    }
    std::fs::write(past.sandbox.path(".flow/.new-2026-05-20T143003Z-x/events.jsonl"), "{\"v\":1,").unwrap();
    assert_eq!(past.sandbox.flow(["list", "--json"]).ok().json()["runs"].as_array().unwrap().len(), 1);
    past.sandbox.start("start-issue");
    assert_eq!(past.sandbox.find(".flow", ".new-"), None);
    assert_eq!(past.sandbox.runs().len(), 2);
}

/// The start was killed before its name was flushed, another command began to work in the run, and a power cut took the
/// name back.
#[test]
fn a_run_whose_name_a_power_cut_took_back_can_be_started_again() {
    let sandbox = Sandbox::new();
    let start = ["start", "start-issue", "--id", "2026-05-20T143003Z-x"];
    sandbox.flow(start).ok();
    let run = sandbox.path(".flow/runs/2026-05-20T143003Z-x");
    for left in [".lock", ".run.tmp", ".events.tmp", ".run.merge.tmp", "activities/.act.tmp"] {
        std::fs::write(run.join(left), "half").unwrap();
    }
    std::fs::rename(&run, sandbox.path(".flow/.new-2026-05-20T143003Z-x")).unwrap();
    sandbox.flow(start).ok();
    assert_eq!(sandbox.find(".flow", ".new-"), None);
}

#[test]
fn a_hand_edit_is_an_event_from_which_run_yaml_can_be_rebuilt() {
    let past = Past::new();
    past.sandbox.edit(&past.run, "\nstate:", "\n# ask Ada first\nstate:");
    past.go_on();
    let events = past.sandbox.events(&past.run);
    assert!(events.iter().any(|event| event["type"] == "run_edited"), "the edit was not noticed");
    past.remove("run.yaml");
    past.sandbox.flow(["unblock", &past.run]).ok();
    assert!(past.read("run.yaml").contains("# ask Ada first"));
}

#[test]
fn a_hand_edit_to_an_unknown_phase_is_refused() {
    let past = Past::new();
    past.sandbox.edit(&past.run, "current_phase: plan", "current_phase: plann");
    past.sandbox.flow(["record-activity", "--run-id", &past.run, "--id", "more"]).exits(65);
    assert_eq!(past.sandbox.events(&past.run).len(), 4);
}

#[test]
fn a_rebuild_that_was_killed_does_not_stand_in_its_own_way() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "one");
    sandbox.record(&run, "reproduce", "two");
    let whole = sandbox.read(&run, "run.yaml");
    for half in [whole.as_str(), "", "apiVersion"] {
        std::fs::remove_file(sandbox.run_dir(&run).join("run.yaml")).unwrap();
        std::fs::write(sandbox.run_dir(&run).join(".run.tmp"), half).unwrap();
        std::fs::remove_file(sandbox.run_dir(&run).join("activities/001-one.yaml")).unwrap();
        // Says what is so already, and brings everything back.
        sandbox.flow(["unblock", &run]).ok();
        assert_eq!(sandbox.read(&run, "run.yaml"), whole);
        assert!(sandbox.read(&run, "activities/001-one.yaml").contains("id: one"));
    }
}

#[test]
fn the_latest_activity_file_comes_back_when_a_power_cut_took_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "one");
    let file = sandbox.run_dir(&run).join("activities/001-one.yaml");
    let whole = std::fs::read_to_string(&file).unwrap();
    let zeros = "\0".repeat(whole.len());
    let half = format!("{}{}", &whole[..whole.len() / 2], "\0".repeat(whole.len() - whole.len() / 2));
    for lost in ["", &zeros, &half] {
        std::fs::write(&file, lost).unwrap();
        sandbox.flow(["unblock", &run]).ok();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    }
    // What a person wrote into it is theirs.
    std::fs::write(&file, format!("{whole}# mine\n")).unwrap();
    sandbox.flow(["unblock", &run]).ok();
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("# mine\n"));
}

#[test]
fn counters_that_no_run_can_reach_are_not_believed() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    for number in ["20260520143000123", "18446744073709551615"] {
        std::fs::write(sandbox.run_dir(&run).join(format!("activities/{number}-x.yaml")), "a: b\n").unwrap();
    }
    assert_eq!(sandbox.record(&run, "preflight", "one")["number"], "001");
}

#[test]
fn nothing_is_written_on_top_of_a_log_merged_from_two_branches() {
    let sandbox = Sandbox::new();
    let run = sandbox.start("debug");
    sandbox.record(&run, "preflight", "one");
    let base = sandbox.read(&run, "events.jsonl");
    sandbox.record(&run, "preflight", "two");
    sandbox.record(&run, "preflight", "three");
    let ours = sandbox.read(&run, "events.jsonl");
    // Theirs: another event 3, behind ours after a union merge; run.yaml and lock as in a fresh clone.
    let theirs = ours[base.len()..].lines().next().unwrap();
    let object = flowrun::codec::unseal(theirs.as_bytes()).unwrap();
    let mut object = object;
    object.insert("id".into(), "theirs".into());
    let log = format!("{ours}{}", flowrun::codec::seal(&object));
    std::fs::write(sandbox.run_dir(&run).join("events.jsonl"), log).unwrap();
    std::fs::remove_file(sandbox.run_dir(&run).join(".lock")).unwrap();
    let before = sandbox.read(&run, "events.jsonl");
    let next = ["record-activity", "--run-id", &run, "--id", "four", "--json"];
    assert_eq!(sandbox.flow(next).exits(65).error()["code"], "run_conflict");
    assert_eq!(sandbox.read(&run, "events.jsonl"), before);
    sandbox.flow(["doctor", &run, "--repair"]).ok();
    sandbox.flow(next).ok();
    for id in ["one", "two", "three", "four"] {
        assert_eq!(sandbox.records_of(&run, id), if id == "two" { 2 } else { 1 }, "{id}");
    }
}

#[test]
fn a_run_whose_directory_was_copied_or_renamed_is_told_and_never_taken_for_the_other() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "one"]).ok();
    let runs = sandbox.path(".flow/runs");
    crate::support::hostile::copy(&runs.join("one"), &runs.join("two"));
    // A repair by hand makes the copy look like a run.
    std::fs::remove_file(runs.join("two/run.yaml")).unwrap();
    let log = std::fs::read(runs.join("two/events.jsonl")).unwrap();
    let listed = sandbox.flow(["list", "--json"]).ok().json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["unreadable"][0]["run_id"], "two");
    for command in [
        &["resume", "two"][..],
        &["show", "two"],
        &["cancel", "two", "--reason", "a copy"],
        &["record-activity", "--run-id", "two", "--id", "x"],
        &["fork", "two"],
    ] {
        let mut command = command.to_vec();
        command.push("--json");
        let error = sandbox.flow(command).exits(65).error();
        assert_eq!(error["code"], "run_misplaced", "{error}");
        assert_eq!(
            error["message"],
            format!("{} has the run `one`: a run cannot be copied or renamed by hand", runs.join("two").display())
        );
        assert!(error["help"].as_str().unwrap().starts_with("move the copy out of .flow/runs"), "{error}");
    }
    let told = sandbox.flow(["doctor", "--repair", "--json"]).exits(65).json();
    assert_eq!(told["findings"][0]["code"], "run_misplaced");
    assert_eq!(told["findings"][0]["state"], "left");
    sandbox.flow(["doctor", "two", "--repair"]).exits(65);
    assert_eq!(std::fs::read(runs.join("two/events.jsonl")).unwrap(), log);
    assert!(!runs.join("two/run.yaml").exists());
    assert_eq!(sandbox.flow(["hud"]).ok().stdout.lines().count(), 1);

    std::fs::remove_dir_all(runs.join("two")).unwrap();
    std::fs::rename(runs.join("one"), runs.join("three")).unwrap();
    let error = sandbox.flow(["resume", "three", "--json"]).exits(65).error();
    assert_eq!(error["help"], "give the directory its name `one` back");
    std::fs::rename(runs.join("three"), runs.join("one")).unwrap();
    sandbox.flow(["record-activity", "--id", "x"]).ok();
    sandbox.flow(["doctor"]).ok();
}
