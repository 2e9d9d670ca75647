//! References of shared runs that other programs deleted, brought back, or put there.

use crate::remote::{Team, record};
use crate::support::run;

/// What git answers in the repository that is `origin` of both.
fn in_hub(team: &Team, args: &[&str]) -> String {
    run(team.laptop.command_in_hub(&team.hub, args), "").ok().stdout
}

/// The references of runs there, and of what they are about.
fn refs(team: &Team) -> Vec<String> {
    let names = in_hub(team, &["for-each-ref", "--format=%(refname)", "refs/flow"]);
    names.lines().map(|name| name.trim_start_matches("refs/flow/").to_owned()).collect()
}

fn delete(team: &Team, name: &str) {
    in_hub(team, &["update-ref", "-d", &format!("refs/flow/{name}")]);
}

/// As `git push --mirror` of a clone that never fetched them does.
fn delete_all(team: &Team) {
    for name in refs(team) {
        delete(team, &name);
    }
}

#[test]
fn runs_about_the_same_are_all_put_there_again() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--pr", "5", "--id", "first"]).ok();
    laptop.flow(["start", "debug", "--pr", "5", "--another", "--id", "second"]).ok();
    delete_all(&team);
    laptop.flow(["doctor", "--repair"]).ok();
    let all = refs(&team);
    assert_eq!(all.iter().filter(|name| name.starts_with("open/")).count(), 2, "{all:?}");
    // One of them is marked, so no third one begins.
    server.flow(["start", "debug", "--pr", "5", "--id", "third"]).exits(1);
}

#[test]
fn a_run_that_the_store_has_lost_can_be_put_there_and_ended_beside_another_one_about_the_same() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    for id in ["pushed", "ended"] {
        laptop.flow(["start", "debug", "--issue", "42", "--another", "--id", id]).ok();
    }
    delete_all(&team);
    server.flow(["start", "debug", "--issue", "42", "--id", "later"]).ok();
    laptop.flow(["remote", "push", "pushed"]).ok();
    laptop.flow(["cancel", "ended", "--reason", "it is done elsewhere"]).ok();
    let mut all = refs(&team);
    all.retain(|name| !name.starts_with("work/"));
    assert_eq!(all, ["open/later", "open/pushed", "over/ended"]);
}

#[test]
fn a_local_run_beside_a_shared_one_about_the_same_is_shared_only_with_another() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--issue", "42", "--id", "here", "--local"]).ok();
    server.flow(["start", "debug", "--issue", "42", "--id", "there"]).ok();
    laptop.flow(["remote", "push", "here"]).exits(1);
    laptop.flow(["remote", "push", "here", "--another"]).ok();
    assert!(refs(&team).contains(&"open/here".to_owned()));
}

#[test]
fn a_mark_whose_run_is_gone_keeps_no_run_away() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--issue", "42", "--id", "gone"]).ok();
    delete(&team, "open/gone");
    let found = server.flow(["doctor", "--json"]).ok().json();
    assert_eq!(found["findings"][0]["code"], "store_mark_left", "{found}");
    server.flow(["start", "debug", "--issue", "42", "--id", "next"]).ok();
    assert!(!server.flow(["doctor"]).ok().stdout.contains("store_mark_left"));
    laptop.flow(["start", "debug", "--issue", "42", "--id", "third"]).exits(1);
}

#[test]
fn an_older_reference_that_comes_back_beside_the_one_of_the_end_is_found_and_removed() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    let old = in_hub(&team, &["rev-parse", "refs/flow/open/r1"]);
    record(laptop, "r1", "one").ok();
    laptop.flow(["cancel", "r1", "--reason", "not now"]).ok();
    let back = || in_hub(&team, &["update-ref", "refs/flow/open/r1", old.trim()]);
    back();
    let found = laptop.flow(["doctor"]).exits(65).stdout;
    assert!(
        found.contains("refs/flow/open/r1 has come back, and refs/flow/over/r1 has the events behind it"),
        "{found}"
    );
    laptop.flow(["doctor", "--repair"]).ok();
    assert_eq!(refs(&team), ["over/r1"]);
    // A write of a machine without a copy goes on from the end as well.
    back();
    server.flow(["reopen", "r1", "--reason", "after all"]).ok();
    assert_eq!(refs(&team), ["open/r1"]);
    assert_eq!(server.flow(["log", "r1", "--json"]).ok().json()["events"].as_array().unwrap().len(), 4);
}

#[test]
fn what_another_program_put_in_the_place_of_a_run_is_told_at_once() {
    let team = Team::sharing();
    let blob = in_hub(&team, &["hash-object", "-w", "--stdin"]);
    in_hub(&team, &["update-ref", "refs/flow/open/r1", blob.trim()]);
    let refused = team.laptop.flow(["start", "debug", "--id", "r1"]).exits(65).stderr;
    assert!(refused.contains("refs/flow/open/r1 does not name a commit"), "{refused}");
}
