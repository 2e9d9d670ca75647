//! Runs of a checkout beside shared ones: what goes into the store while others write it, and what forks elsewhere need.

use serde_json::{Value, json};

use crate::remote::{Team, log, record};
use crate::support::{Sandbox, answered, run, spawned};

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

#[test]
fn a_command_whose_run_goes_into_the_store_while_it_runs_has_its_end_recorded() {
    let Team { laptop, server, .. } = &Team::sharing();
    laptop.flow(["start", "debug", "--local", "--id", "r1"]).ok();
    let flow = laptop.flow_command().get_program().to_owned();
    let mut command = laptop.flow_command();
    command.args(["exec", "--run-id", "r1", "--id", "e1", "--"]).arg(flow).args(["remote", "push", "r1"]);
    run(command, "").ok();
    let shown = server.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["state"]["completed_activities"], json!(["e1"]));
    assert_eq!(laptop.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "continue");
}

#[test]
fn records_that_wait_while_their_run_goes_into_the_store_are_recorded_there() {
    let Team { laptop, .. } = &Team::sharing();
    for round in 0..4 {
        let id = format!("r{round}");
        laptop.flow(["start", "debug", "--local", "--another", "--id", &id]).ok();
        let mut writers = Vec::new();
        for n in 0..8 {
            if n == 3 {
                let mut command = laptop.flow_command();
                command.args(["remote", "push", &id]);
                writers.push(spawned(command));
            }
            let mut command = laptop.flow_command();
            command.args(["record-activity", "--run-id", &id, "--status", "passed", "--id", &format!("a{n}")]);
            writers.push(spawned(command));
        }
        for writer in writers {
            answered(writer).ok();
        }
        let done = laptop.flow(["show", &id, "--json"]).ok().json();
        assert_eq!(done["state"]["completed_activities"].as_array().map(Vec::len), Some(8), "{done}");
        assert_eq!(log(laptop, &id).lines().count(), 9);
        laptop.flow(["verify", &id]).ok();
    }
}

#[test]
fn evidence_that_a_fork_took_over_is_asked_for_as_that_of_its_parent() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--id", "parent"]).ok();
    laptop.flow(["exec", "--run-id", "parent", "--id", "e1", "--", "echo", "proof"]).ok();
    laptop.flow(["fork", "parent", "--id", "fork"]).ok();
    for run in ["parent", "fork"] {
        let listed = server.flow(["evidence", run, "--json"]).ok().json();
        let item = &listed["evidence"][0];
        assert_eq!((&item["run_id"], &item["exists"]), (&json!("parent"), &json!(true)), "{listed}");
    }
    let told = team.without_hub(|| server.flow(["evidence", "fork"]).ok());
    let all = told.stdout.clone() + &told.stderr;
    assert!(all.contains("git:origin was not reached: ") && all.contains("; fork is shown as of event 1 ("), "{all}");
}

#[test]
fn a_report_has_the_same_bytes_whether_or_not_the_store_is_reached() {
    let team = Team::sharing();
    let laptop = &team.laptop;
    laptop.flow(["start", "debug", "--id", "r1"]).ok();
    record(laptop, "r1", "one").ok();
    for format in ["md", "json"] {
        let args = ["report", "r1", "--format", format];
        let here = laptop.flow(args).ok();
        assert_eq!(here.stderr, "");
        let away = team.without_hub(|| laptop.flow(args).ok());
        assert_eq!(away.stdout, here.stdout);
        assert!(away.stderr.starts_with("warning: git:origin was not reached: "), "{}", away.stderr);
        assert!(away.stderr.contains("; r1 is shown as of event 2 ("), "{}", away.stderr);
    }
}

#[test]
fn a_shared_run_whose_id_was_that_of_a_run_that_was_pruned_here_is_found() {
    let Team { laptop, server, .. } = &Team::sharing();
    for (id, report) in [("p1", false), ("p2", true)] {
        laptop.flow(["start", "debug", "--local", "--another", "--id", id]).ok();
        laptop.flow(["cancel", id]).ok();
        laptop.flow(["prune", "--older-than", "0d", "--yes"]).ok();
        assert_eq!(laptop.flow(["show", id, "--json"]).exits(3).error()["code"], "run_pruned");
        server.flow(["start", "build", "--another", "--id", id]).ok();
        if report {
            let data = json!({ "status": "running" }).to_string();
            let emit = ["emit", "--workflow", "build", "--run-id", id, "--type", "status_change"];
            laptop.flow(emit.iter().chain(&["--step", "requirements", "--data", &data])).ok();
        } else {
            record(laptop, id, "one").ok();
        }
        assert_eq!(log(laptop, id).lines().count(), 2);
    }
}

#[test]
fn a_fork_is_where_its_parent_is() {
    let team = Team::sharing();
    let Team { laptop, server, .. } = &team;
    laptop.flow(["start", "debug", "--local", "--id", "here"]).ok();
    laptop.flow(["start", "debug", "--another", "--id", "there"]).ok();
    let fork = |run: &str, id: &str| laptop.flow(["fork", run, "--id", id]).ok();
    let told = team.without_hub(|| fork("here", "f1")).stderr;
    assert!(!told.contains("shared in git:origin"), "{told}");
    let told = fork("there", "f2").stderr;
    assert!(told.ends_with("with 0 completed activities; it is shared in git:origin\n"), "{told}");
    laptop.flow(["fork", "there", "--id", "f3", "--local"]).ok();
    // Once more, it is the same fork.
    for (run, id) in [("here", "f1"), ("there", "f2")] {
        let again = laptop.flow(["fork", run, "--id", id, "--json"]).ok().json();
        assert_eq!(again["created"], false, "{again}");
        assert_eq!(again["store"], if id == "f1" { Value::Null } else { json!("git:origin") });
    }
    for (id, is_here) in [("f1", true), ("f2", false), ("f3", true)] {
        assert_eq!(laptop.run_dir(id).exists(), is_here, "{id}");
    }
    assert_eq!(crate::remote::ids(server), ["f2", "there"]);
}
