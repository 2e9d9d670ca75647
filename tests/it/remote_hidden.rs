//! Runs of one checkout that have the id of a shared run.

use std::fs;

use serde_json::{Value, json};

use crate::remote::{Team, accept, found, ids, log, record};
use crate::support::Sandbox;

/// The server has the run that the laptop had when it was shared, as a branch brings it, and records in it.
fn with_two_records_more(team: &Team) {
    let Team { laptop, server, .. } = team;
    laptop.flow(["start", "debug", "--goal", "com", "--id", "r1"]).ok();
    let (from, to) = (laptop.run_dir("r1"), server.run_dir("r1"));
    server.flow(["init"]).ok();
    fs::create_dir_all(&to).unwrap();
    for name in ["events.jsonl", "run.yaml"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    record(server, "r1", "from-b").ok();
    record(server, "r1", "from-b2").ok();
    accept(laptop);
    laptop.flow(["remote", "push", "r1"]).ok();
    accept(server);
}

fn told(machine: &Sandbox, args: &[&str]) -> String {
    let answer = machine.flow(args);
    answer.stdout + &answer.stderr
}

#[test]
fn a_push_sends_what_a_run_of_this_checkout_has_more_than_the_shared_one() {
    let team = Team::new();
    let Team { laptop, server, .. } = &team;
    with_two_records_more(&team);
    server.edit("r1", "goal: com", "goal: typed");
    let here = server.run_dir("r1").display().to_string();
    let short = format!("git:origin has run r1 without its last events, which are in {here}");
    let refused = record(server, "r1", "three").exits(1).stderr;
    assert!(
        refused.contains(&short) && refused.contains("`flow remote push r1` puts there what it lacks"),
        "{refused}"
    );
    for args in [&["show", "r1"][..], &["resume", "r1"], &["list"], &["next", "r1"], &["verify", "r1"]] {
        assert!(told(server, args).contains(&short), "{args:?}: {}", told(server, args));
    }
    let resumed = server.flow(["resume", "r1", "--json"]).exits(4).json();
    assert_eq!(resumed["next"]["alternatives"][0]["command"], "flow remote push r1", "{resumed}");
    let found_here = found(server).into_iter().map(|found| found[0].clone()).collect::<Vec<_>>();
    assert_eq!(found_here, [json!("run_hidden"), json!("run_yaml_edited")]);
    team.without_hub(|| {
        server.flow(["remote", "push", "r1"]).exits(74);
    });
    let pushed = server.flow(["remote", "push", "r1", "--json"]).ok().json();
    assert_eq!(pushed["seq"], 4);
    assert!(!server.run_dir("r1").exists());
    record(laptop, "r1", "three").ok();
    server.flow(["list"]).ok();
    let shown = server.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["state"]["completed_activities"], json!(["from-b", "from-b2", "three"]));
    assert_eq!(shown["metadata"]["goal"], "typed");
    assert!(found(server).iter().all(|found| found[0] == "quarantine"), "{:?}", found(server));
    assert_eq!(log(laptop, "r1"), log(server, "r1"));
}

#[test]
fn a_push_of_a_run_that_went_on_otherwise_than_the_shared_one_is_refused() {
    let team = Team::new();
    let Team { laptop, server, .. } = &team;
    with_two_records_more(&team);
    record(laptop, "r1", "from-a").ok();
    let before = (log(laptop, "r1"), fs::read(server.run_dir("r1").join("events.jsonl")).unwrap());
    let refused = server.flow(["remote", "push", "r1", "--json"]).exits(1).error();
    let here = server.run_dir("r1").display().to_string();
    let other = format!("git:origin has another run r1, which is shown instead of the one in {here}");
    assert_eq!((&refused["code"], &refused["message"]), (&json!("run_hidden"), &json!(other)));
    assert!(refused["help"].as_str().unwrap().contains("move this directory to OTHER/runs/r1"), "{refused}");
    let after = (log(laptop, "r1"), fs::read(server.run_dir("r1").join("events.jsonl")).unwrap());
    assert_eq!(before, after);
}

#[test]
fn a_shared_run_that_hides_one_of_this_checkout_is_not_written_from_there() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "debug", "--local", "--id", "same"]).ok();
    server.flow(["start", "debug", "--id", "same"]).ok();
    assert_eq!(ids(laptop), ["same"]);
    let writes: [&[&str]; 4] = [
        &["record-activity", "--run-id", "same", "--id", "one", "--status", "passed"],
        &["cancel", "same"],
        &["resume", "same", "--claim", "--session", "s1"],
        &["exec", "--run-id", "same", "--id", "two", "--", "true"],
    ];
    for args in writes {
        let refused = laptop.flow(args.iter().chain(&["--json"])).exits(1).error();
        assert_eq!(refused["code"], "run_hidden", "{args:?}: {refused}");
    }
    let resumed: Value = laptop.flow(["resume", "same", "--json"]).exits(4).json();
    assert!(resumed["reason"].to_string().contains("git:origin has another run same"), "{resumed}");
    assert!(resumed["notes"].to_string().contains("move this directory to OTHER/runs/same"), "{resumed}");
    // Only a person can say which of both counts, so no command is proposed that would be refused.
    assert_eq!((&resumed["verdict"], &resumed["next"]["alternatives"]), (&json!("needs_human"), &json!([])));
    assert_eq!(resumed["next"]["command"], json!(null));
    for args in [&["attention"][..], &["watch", "--once"]] {
        assert!(told(laptop, args).contains("git:origin has another run same"), "{args:?}: {}", told(laptop, args));
    }
    assert_eq!(log(laptop, "same").lines().count(), 1);
    record(server, "same", "one").ok();
    // As the help says.
    fs::create_dir_all(laptop.path("other/runs")).unwrap();
    fs::rename(laptop.run_dir("same"), laptop.path("other/runs/same")).unwrap();
    record(laptop, "same", "two").ok();
    assert_eq!(log(laptop, "same").lines().count(), 3);
    let notes = laptop.flow(["resume", "same", "--json"]).ok().json()["notes"].clone();
    assert!(!notes.to_string().contains("another run"), "{notes}");
}

#[test]
fn a_run_that_a_branch_brings_as_it_was_later_than_the_copy_hides_nothing() {
    let team = Team::new();
    let Team { laptop, server, .. } = &team;
    with_two_records_more(&team);
    server.flow(["remote", "push", "r1"]).ok();
    // The laptop has a copy of one event, and three in its checkout.
    let here = laptop.run_dir("r1");
    fs::create_dir_all(&here).unwrap();
    fs::write(here.join("events.jsonl"), log(server, "r1")).unwrap();
    record(laptop, "r1", "three").ok();
    assert_eq!(log(laptop, "r1").lines().count(), 4);
    assert!(found(laptop).iter().all(|found| found[0] != "run_hidden"), "{:?}", found(laptop));
}
