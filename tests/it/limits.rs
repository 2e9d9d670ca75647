//! Little is allowed or nobody listens: small files, few descriptors, standard streams that are closed, full or unread.
//!
//! The commands that are tried in every state write all kinds of files between them; the others are tried in every
//! so manieth, and in all of them in the campaign.

use crate::support::cases::{CASES, case};
use flowrun::model::limits;

use crate::support::{Lack, Sandbox, Scene, Tally, Trouble, can_inject, quick, run, scaled, skipped};

/// Whether this machine can do what all of this needs; says so loudly when not.
fn can_limit(test: &str) -> bool {
    let here = std::process::Command::new("prlimit").arg("--version").output().is_ok();
    if !here {
        skipped(test, &Lack::of("prlimit", "prlimit is missing"));
    }
    here && can_inject(test)
}

/// Every `step`-th state of every command, beginning with another one for each.
fn some(trouble: Trouble, step: usize) -> Tally {
    let mut tally = Tally::default();
    for (at, case) in CASES.into_iter().enumerate() {
        let scene = Scene::new(case, &quick());
        let states = trouble.states(&scene).into_iter().skip(at % step).step_by(step);
        tally.add(Tally::of_scene(&scene, &states.collect::<Vec<_>>()));
    }
    tally
}

#[test]
fn a_file_size_limit_is_an_error_like_a_full_disk_and_ends_nothing_by_a_signal() {
    if !can_limit("a_file_size_limit_is_an_error_like_a_full_disk_and_ends_nothing_by_a_signal") {
        return;
    }
    for (at, row) in
        ["record-activity", "start, further", "record-activity after a dead writer"].into_iter().enumerate()
    {
        let scene = Scene::new(case(row), &quick());
        let trouble = Trouble::FileSize { ignored: at % 2 == 0 };
        let states: Vec<_> = trouble.states(&scene).into_iter().step_by(scaled(5, 1)).collect();
        assert!(states.len() > 10, "{row}: only {} sizes", states.len());
        Tally::of_scene(&scene, &states).assert_clean();
    }
    some(Trouble::FileSize { ignored: false }, scaled(53, 11)).assert_clean();
}

#[test]
fn too_many_open_files_are_an_error_that_loses_nothing() {
    if !can_limit("too_many_open_files_are_an_error_that_loses_nothing") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    let states = Trouble::Descriptors.states(&scene);
    // The first leave no room for anything, and the last are enough.
    assert!(states.len() > 10);
    Tally::of_scene(&scene, &states).assert_clean();
    some(Trouble::Descriptors, scaled(9, 2)).assert_clean();
}

#[test]
fn closed_full_and_unread_streams_neither_stop_a_command_nor_reach_its_files() {
    if !can_inject("closed_full_and_unread_streams_neither_stop_a_command_nor_reach_its_files") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    Tally::of_scene(&scene, &Trouble::Streams.states(&scene)).assert_clean();
    some(Trouble::Streams, scaled(6, 2)).assert_clean();
}

#[test]
fn a_record_whose_answer_cannot_be_delivered_stays_and_says_so() {
    use std::process::Stdio;
    if !can_inject("a_record_whose_answer_cannot_be_delivered_stays_and_says_so") {
        return;
    }
    let scene = Scene::new(case("record-activity"), &quick());
    for json in [false, true] {
        scene.restore();
        let mut command = scene.sandbox.flow_command();
        command.args(&scene.order.args).args(json.then_some("--json"));
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(74), "{stderr}");
        assert!(stderr.contains("recorded") && stderr.contains("002"), "{stderr}");
        assert_eq!(json, stderr.starts_with("{\"error\":{\"code\":\"io_error\","), "{stderr}");
        assert_eq!(scene.view(), scene.new);
        let again = run(
            {
                let mut again = scene.sandbox.flow_command();
                again.args(&scene.order.args).arg("--json");
                again
            },
            "",
        );
        assert_eq!(again.ok().json()["repeated"], true);
    }
}

#[test]
fn a_run_that_is_full_takes_no_more_work_and_can_be_blocked_and_ended() {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["start", "debug", "--id", "r1"]).ok();
    let record = |id: &str| sandbox.inside(["record-activity", "--run-id", "r1", "--id", id]);
    let grow = |to: usize| {
        let text = sandbox.read("r1", "run.yaml");
        let mut notes = "# a long note of a person\n".repeat((to - text.len()) / 26);
        notes += &"\n".repeat(to - text.len() - notes.len());
        std::fs::write(sandbox.run_dir("r1").join("run.yaml"), text + &notes).unwrap();
    };
    assert_eq!(record("early").ok().stderr, "");
    grow(limits::FULL_RUN_BYTES / 100 * 80);
    let warned = record("late").ok().stderr;
    assert_eq!(warned, "warning: run.yaml is 80 % full; end this run soon and start another one\n");
    grow(limits::FULL_RUN_BYTES - 5);
    let answer = sandbox.inside(["record-activity", "--run-id", "r1", "--id", "too-late", "--json"]);
    let error = answer.exits(1).error();
    assert_eq!(error["code"], "run_full");
    assert!(error["help"].as_str().unwrap().contains("flow complete r1"), "{error}");
    let resumed = sandbox.inside(["resume", "r1"]).ok().stdout;
    assert!(resumed.contains("% full; end this run soon and start another one"), "{resumed}");
    let answer = sandbox.inside(["block", "r1", "--reason", &"It is full. ".repeat(9000), "--json"]);
    let error = answer.exits(1).error();
    assert!(error["message"].as_str().unwrap().contains("the text is too long"), "{error}");
    assert!(error["help"].as_str().unwrap().contains("shorter"), "{error}");
    sandbox.inside(["block", "r1", "--reason", &"It is full. ".repeat(300)]).ok();
    sandbox.inside(["unblock", "r1", "--reason", "Enough."]).ok();
    sandbox.inside(["resume", "r1", "--claim", "--session", "s1"]).ok();
    sandbox.inside(["cancel", "r1", "--reason", "The rest is another run.", "--session", "s1"]).ok();
    sandbox.inside(["verify", "r1"]).ok();
    sandbox.inside(["show", "r1"]).ok();
}

#[test]
fn a_run_with_as_many_entries_as_fit_can_be_changed_and_is_valid() {
    let sandbox = Sandbox::within(&quick());
    sandbox.inside(["start", "debug", "--id", "r1"]).ok();
    let entries: String = (0..60_000).map(|nth| format!("\n    - w{nth:05}")).collect();
    sandbox.edit("r1", "completed_activities: []", &format!("completed_activities:{entries}"));
    // Written by a person, so that it is read in full.
    sandbox.edit("r1", "\nstate:", "\n  note: [a, b]\nstate:");
    sandbox.inside(["set", "r1", "--goal", "All of it"]).ok();
    sandbox.inside(["record-activity", "--run-id", "r1", "--id", "one-more"]).ok();
    sandbox.inside(["validate", "r1"]).ok();
    sandbox.inside(["verify", "r1"]).ok();
}

#[test]
fn a_long_note_of_a_person_is_cut_where_a_run_is_changed() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.edit("r1", "\nstate:", &format!("\n  note: {}\nstate:", "long ".repeat(50_000)));
    let told = sandbox.flow(["set", "r1", "--goal", "x"]).ok().stdout;
    assert!(told.len() < 10_000, "{} bytes", told.len());
}

#[test]
fn a_limit_that_is_not_one_is_named_with_what_it_may_be() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    for wrong in ["0", "-1", "many", ""] {
        let told = sandbox.flow(["set", "r1", "--limit", &format!("max_iterations={wrong}")]).exits(2).stderr;
        let wanted = format!("{wrong:?} is not a limit: give a whole number from 1 to 281474976710656, or none");
        assert!(told.contains(&wanted), "{told}");
    }
    sandbox.flow(["set", "r1", "--limit", "max_iterations=1"]).ok();
}
