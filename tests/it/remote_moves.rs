//! Runs of a checkout beside shared ones: what goes into the store while others write it, and what forks elsewhere need.

use crate::remote::Team;
use crate::support::Sandbox;

/// A run of this checkout alone, with evidence.
fn begin_local(machine: &Sandbox, id: &str) {
    machine.flow(["start", "debug", "--local", "--another", "--id", id]).ok();
    machine.flow(["exec", "--run-id", id, "--id", "e1", "--", "echo", "proof"]).ok();
}

/// The runs that stay although they are old enough, and why.
fn stay(machine: &Sandbox) -> Vec<String> {
    let report = machine.flow(["prune", "--older-than", "0d", "--yes", "--json"]).ok().json();
    let kept = report["kept"].as_array().unwrap().iter();
    let told = kept.map(|run| format!("{}: {}", run["run_id"].as_str().unwrap(), run["why"].as_str().unwrap()));
    told.filter(|told| told.contains("fork")).collect()
}

#[test]
fn evidence_stays_that_an_open_fork_on_another_machine_refers_to() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    begin_local(laptop, "loc");
    laptop.flow(["cancel", "loc"]).ok();
    laptop.flow(["fork", "loc", "--id", "sh1"]).ok();
    laptop.flow(["remote", "push", "sh1"]).ok();
    server.flow(["fork", "sh1", "--id", "sh2"]).ok();
    laptop.flow(["cancel", "sh1"]).ok();
    assert_eq!(stay(laptop), ["loc: the open fork sh2 refers to its evidence"]);
    assert!(laptop.run_dir("loc").exists());
    server.flow(["cancel", "sh2"]).ok();
    laptop.flow(["list"]).ok();
    let away = team.without_hub(|| stay(laptop));
    let [away] = &away[..] else { panic!("{away:?}") };
    let why = "loc: an open fork on another machine may refer to its evidence: git:origin was not reached: ";
    assert!(away.starts_with(why), "{away}");
    assert!(stay(laptop).is_empty());
    assert!(!laptop.run_dir("loc").exists());
}

#[test]
fn where_the_store_was_not_accepted_evidence_that_forks_there_may_need_stays() {
    let team = Team::new();
    let laptop = &team.laptop;
    crate::remote::name_store(laptop, "git:origin");
    begin_local(laptop, "proof");
    laptop.flow(["start", "debug", "--local", "--another", "--id", "plain"]).ok();
    for run in ["proof", "plain"] {
        laptop.flow(["cancel", run]).ok();
    }
    let stay = stay(laptop);
    let [told] = &stay[..] else { panic!("{stay:?}") };
    assert!(told.starts_with("proof: an open fork on another machine may refer to its evidence: "), "{told}");
    assert!(told.ends_with("; `flow remote use git:origin` accepts it"), "{told}");
    assert!(!laptop.run_dir("plain").exists());
}
