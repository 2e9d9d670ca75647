//! Gates: what only a person lets a run pass, whoever else tries.

use serde_json::{Value, json};

use crate::support::{Answer, Person, Sandbox, has_terminals};

/// A run of merge-pr that waits in `confirm`.
fn waiting() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let id = sandbox.start("merge-pr");
    for phase in ["preflight", "verify", "confirm"] {
        sandbox.record(&id, phase, phase);
    }
    (sandbox, id)
}

fn resume(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.flow(["resume", id, "--json"]).json()
}

/// A person runs this at a terminal of their own, and types that when they are asked. Gives what was shown.
#[track_caller]
fn at_a_terminal(sandbox: &Sandbox, args: &[&str], typed: &str, ends: i32) -> String {
    let mut command = sandbox.flow_command();
    command.args(args).env("LOGNAME", "ada");
    let mut person = Person::alone(&command);
    if !typed.is_empty() {
        person.shows("(y/N) ").types(typed);
    }
    person.shows(&format!("it ended: {ends}"));
    person.seen()
}

#[track_caller]
fn needs_approval(answer: &Answer, way: &str) {
    assert_eq!(answer.code, Some(4), "{way}: {answer:?}");
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains("person"), "{way}: {said}");
}

#[test]
fn a_status_line_says_that_a_gate_waits() {
    let (sandbox, _) = waiting();
    let waits = sandbox.flow(["hud", "--format", "{verdict}: {waits}"]).ok().stdout;
    assert_eq!(waits, "needs_human: `confirm` waits for a person's decision\n");
}

/// Before it, there is nothing to approve, and another way to go on.
#[test]
fn a_run_that_has_not_come_to_its_gate_is_sent_there() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("release");
    for args in [&["complete", &id][..], &["complete", &id, "--skip-reason", "w"]] {
        let error = sandbox.flow(args.iter().chain(&["--json"])).exits(4).error();
        assert_eq!(error["message"], format!("run {id}: a person has to decide in `tag` before the run can end"));
        let help = format!(
            "`flow resume {id}` says how to come to it, and `flow cancel {id} --reason 'why'` gives the run up"
        );
        assert_eq!(error["help"], help);
    }
}

#[test]
fn who_would_leave_a_gate_before_its_work_is_done_is_sent_to_the_work() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let phases = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n  - id: code\n  - id: ship\n    gate: person\n  - id: after\n";
    std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/w.workflow.yaml"), phases).unwrap();
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "code", "code");
    for status in ["running", "failed"] {
        sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "ship", "--id", "s", "--status", status]).ok();
        let error = sandbox.flow(["record-activity", "--run-id", "r1", "--phase", "after", "--id", "a", "--json"]);
        let error = error.exits(4).error();
        let why = "run r1: a person has to decide in `ship`, and the work there is not done yet";
        assert_eq!(error["message"], why, "{status}");
        assert!(error["help"].as_str().unwrap().starts_with("`flow resume r1` says what"), "{error}");
    }
}

#[test]
fn a_person_who_decides_sees_what_was_left_undone_and_why() {
    if !has_terminals("a_person_who_decides_sees_what_was_left_undone_and_why") {
        return;
    }
    let sandbox = Sandbox::new();
    let id = sandbox.start("merge-pr");
    sandbox.record(&id, "preflight", "preflight");
    let skips = ["--phase", "confirm", "--id", "confirm", "--skip-reason", "the runner is down"];
    let over = ["record-activity", "--run-id", &id, "--phase", "verify", "--id", "v", "--status", "failed"];
    sandbox.flow(over).ok();
    sandbox.flow(["record-activity", "--run-id", &id].iter().chain(&skips)).ok();
    let seen = at_a_terminal(&sandbox, &["approve", &id], "n\r", 4);
    assert!(seen.contains("verify: 002 v failed"), "{seen}");
    assert!(seen.contains("verify (event 4): the runner is down"), "{seen}");
}

#[test]
fn no_command_of_an_agent_leaves_a_gate() {
    let (sandbox, id) = waiting();
    let before = sandbox.events(&id);
    let status = |step: &str, status: &str| {
        let data = json!({ "status": status }).to_string();
        ["emit", "--workflow", "merge-pr", "--run-id", &id, "--type", "status_change", "--step", step, "--data", &data]
            .map(str::to_owned)
            .to_vec()
    };
    let batch = |reports: Value| {
        let reports = reports.to_string();
        ["emit", "--workflow", "merge-pr", "--run-id", &id, "--batch", &reports].map(str::to_owned).to_vec()
    };
    let own = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let report =
        |step: &str, status: &str| json!({ "type": "status_change", "step": step, "data": { "status": status } });
    let ways = [
        own(&["record-activity", "--phase", "merge", "--id", "m"]),
        own(&["record-activity", "--phase", "merge", "--id", "m", "--skip-reason", "it was agreed"]),
        own(&["record-activity", "--phase", "verify", "--id", "m"]),
        own(&["record-activity", "--id", "c2", "--advance"]),
        own(&["record-activity", "--id", "c2", "--advance", "merge", "--skip-reason", "w"]),
        own(&["record-activity", "--id", "c2", "--advance", "verify"]),
        own(&["record-activity", "--id", "c2", "--status", "skipped", "--advance"]),
        own(&["record-activity", "--id", "approval"]),
        own(&["record-activity", "--id", "approval", "--advance"]),
        own(&["advance"]),
        own(&["advance", "--to", "merge"]),
        own(&["advance", "--to", "merge", "--summary", "Ada agreed"]),
        own(&["advance", "--to", "verify"]),
        own(&["complete"]),
        own(&["complete", "--skip-reason", "it was agreed"]),
        own(&["complete", "--reason", "Ada agreed"]),
        own(&["approve"]),
        own(&["approve", &id]),
        own(&["approve", &id, "--seen", "4"]),
        own(&["approve", &id, "--reason", "Ada agreed", "--id", "k"]),
        own(&["reject", &id, "--reason", "no"]),
        status("merge", "running"),
        status("merge", "completed"),
        status("merge", "skipped"),
        status("merge", "failed"),
        status("merge", "waiting"),
        status("merge", "not_started"),
        status("verify", "running"),
        batch(json!([report("confirm", "completed"), report("merge", "running")])),
        batch(json!([report("confirm", "running"), report("confirm", "completed"), report("merge", "completed")])),
        batch(json!([report("merge", "running"), report("merge", "completed")])),
    ];
    for way in &ways {
        needs_approval(&sandbox.flow(way), &way.join(" "));
        let session = [&way[..], &own(&["--session", "s1"])].concat();
        if !["approve", "reject"].contains(&way[0].as_str()) {
            needs_approval(&sandbox.flow(&session), &session.join(" "));
        }
    }
    assert_eq!(sandbox.events(&id), before, "nothing of it is in the log");
    // Work in the gate is recorded as ever.
    sandbox.record(&id, "confirm", "note");
    assert_eq!(sandbox.flow(status("confirm", "completed")).ok().json()["data"]["runStatus"], "running");
    let report = resume(&sandbox, &id);
    assert_eq!((&report["verdict"], &report["phase"]), (&json!("needs_human"), &json!("confirm")));
}

#[test]
fn every_reader_says_that_a_person_decides() {
    let (sandbox, id) = waiting();
    let report = sandbox.flow(["resume", &id, "--json"]).exits(4).json();
    assert_eq!(report["reason"], "`confirm` waits for a person's decision");
    assert_eq!((&report["next"]["action"], &report["next"]["command"]), (&json!("decide"), &json!(null)));
    let ways = &report["next"]["alternatives"];
    assert_eq!(ways[0]["command"], format!("flow approve {id} --seen 4"));
    assert_eq!(ways[1]["command"], format!("flow reject {id} --seen 4 --reason 'what is missing'"));
    assert!(ways.as_array().unwrap().iter().all(|way| way["by"] == "person"), "{ways}");
    let page = sandbox.flow(["resume", &id]).exits(4).stdout;
    insta::assert_snapshot!(page, @"
    needs_human  2026-05-20T143003Z-issue-42  merge-pr
      why         `confirm` waits for a person's decision
      phase       confirm
      next        confirm: A person has agreed to merge exactly the noted head commit.
      if a person agrees (a person, in their own terminal):
        flow approve 2026-05-20T143003Z-issue-42 --seen 4
      if a person does not agree (a person, in their own terminal):
        flow reject 2026-05-20T143003Z-issue-42 --seen 4 --reason 'what is missing'
      completed
        001  preflight  preflight  passed, claimed
        002  verify     verify     passed, claimed
        003  confirm    confirm    passed, claimed
    ");
    let card = sandbox.flow(["attention", "--json"]).ok().json()["runs"][0].clone();
    assert_eq!(
        (&card["group"], &card["need"], &card["doing"]),
        (&json!("waits"), &json!("approval"), &json!("waiting"))
    );
    for args in [&["list", "--json"][..], &["list", "--json", "--status", "waiting"]] {
        assert_eq!(sandbox.flow(args).ok().json()["runs"][0]["doing"], "waiting");
    }
    assert_eq!(report["doing"], "waiting");
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!((&shown["doing"], &shown["approvals"]), (&json!("waiting"), &json!([])));
    assert!(sandbox.flow(["show", &id]).ok().stdout.starts_with("waiting "));
}

#[test]
fn a_gate_waits_from_its_beginning_and_another_phase_when_something_passed_and_nothing_runs_or_failed() {
    let sandbox = Sandbox::new();
    let id = sandbox.start("merge-pr");
    sandbox.record(&id, "preflight", "preflight");
    sandbox.record(&id, "verify", "verify");
    sandbox.flow(["record-activity", "--phase", "confirm", "--id", "ask", "--status", "running"]).ok();
    assert_eq!(resume(&sandbox, &id)["next"]["action"], "decide");

    let id = sandbox.start("release");
    let verdict = || resume(&sandbox, &id)["next"]["action"].clone();
    let record = |name: &str, status: &str| {
        let args = ["record-activity", "--run-id", &id, "--phase", "tag", "--id", name, "--status", status];
        sandbox.flow(args).ok();
    };
    sandbox.record(&id, "preflight", "preflight");
    sandbox.record(&id, "bump", "bump");
    record("tag", "running");
    assert_eq!(verdict(), "reconcile");
    needs_approval(&sandbox.flow(["record-activity", "--run-id", &id, "--phase", "push", "--id", "p"]), "push");
    record("tag", "failed");
    assert_eq!(verdict(), "retry_phase");
    record("note", "passed");
    assert_eq!(verdict(), "retry_phase", "something failed");
    record("tag", "passed");
    assert_eq!(verdict(), "decide");
    record("more", "running");
    assert_eq!(verdict(), "reconcile");
    record("more", "passed");
    assert_eq!(verdict(), "decide");
}

#[test]
fn a_person_whom_the_environment_does_not_name_approves_as_the_user_of_the_process() {
    if !has_terminals("a_person_whom_the_environment_does_not_name_approves_as_the_user_of_the_process") {
        return;
    }
    let of_process = format!("user {}", rustix::process::geteuid().as_raw());
    for (user, by) in [(None, &*of_process), (Some(""), &*of_process), (Some("grace"), "grace")] {
        let (sandbox, id) = waiting();
        let mut command = sandbox.flow_command();
        command.args(["approve", &id]).env_remove("LOGNAME").env_remove("USER");
        if let Some(user) = user {
            command.env("USER", user);
        }
        let mut person = Person::alone(&command);
        person.shows("(y/N) ").types("yes\r").shows("it ended: 0");
        assert_eq!(sandbox.flow(["show", &id, "--json"]).ok().json()["approvals"][0]["by"], by);
    }
}

#[test]
fn what_was_typed_before_the_gate_was_shown_does_not_approve_it() {
    if !has_terminals("what_was_typed_before_the_gate_was_shown_does_not_approve_it") {
        return;
    }
    let (sandbox, id) = waiting();
    let mut command = sandbox.flow_command();
    command.args(["approve", &id]);
    let mut person = Person::alone(&command);
    person.types("yes\r").shows("not taken for an answer: yes)").shows("(y/N) ").types("\r").shows("it ended: 4");
    assert_eq!(sandbox.flow(["show", &id, "--json"]).ok().json()["approvals"], json!([]));
}

#[test]
fn a_person_approves_at_a_terminal_and_a_record_after_it_voids_that() {
    if !has_terminals("a_person_approves_at_a_terminal_and_a_record_after_it_voids_that") {
        return;
    }
    let (sandbox, id) = waiting();
    let shown = at_a_terminal(&sandbox, &["approve", &id], "no\r", 4);
    assert!(shown.contains("A person has agreed to merge") && shown.contains("003  confirm"), "{shown}");
    // Colours, and not what is left of them.
    assert_eq!(shown.matches("[1m").count(), shown.matches("\u{1b}[1m").count(), "{shown}");
    assert_eq!(sandbox.events(&id).len(), 4);
    let shown = at_a_terminal(&sandbox, &["approve", &id, "--id", "k1"], "yes\r", 0);
    assert!(shown.contains("approved confirm as 004 approval; the run may go on"), "{shown}");
    // A retry is answered with the record.
    let again = at_a_terminal(&sandbox, &["approve", &id, "--id", "k1"], "", 0);
    insta::assert_snapshot!(again, @r"
    already approved confirm as 004 approval; the run may go on
    it ended: 0
    ");
    let report = resume(&sandbox, &id);
    assert_eq!((&report["verdict"], &report["next"]["phase"]), (&json!("continue"), &json!("merge")));
    let shown = sandbox.flow(["show", &id, "--json"]).ok().json();
    assert_eq!(
        shown["approvals"],
        json!([{ "phase": "confirm", "number": "004", "approved": true, "by": "ada", "how": "terminal", "seen": 4,
                 "at": shown["approvals"][0]["at"], "reason": null }])
    );
    assert_eq!(shown["state"]["gates"], json!({ "confirm": "approved" }));
    // Whatever comes after it was not seen by the person.
    sandbox.record(&id, "confirm", "later");
    needs_approval(&sandbox.flow(["record-activity", "--phase", "merge", "--id", "m"]), "after a record");
    let late = at_a_terminal(&sandbox, &["approve", &id, "--seen", "4"], "", 5);
    assert!(late.contains("it moved on"), "{late}");
    // Who holds the run is nothing that the person decides on.
    sandbox.flow(["resume", &id, "--claim", "--session", "s1"]).exits(4);
    sandbox.flow(["session-end", "--session", "s1"]).ok();
    at_a_terminal(&sandbox, &["approve", &id, "--seen", "6"], "", 0);
    sandbox.record(&id, "merge", "merge");
    sandbox.flow(["complete", &id]).ok();
    sandbox.flow(["verify", &id]).ok();
    sandbox.flow(["validate", &id]).ok();
}

#[test]
fn what_a_person_rejects_goes_back_to_work_and_waits_again() {
    if !has_terminals("what_a_person_rejects_goes_back_to_work_and_waits_again") {
        return;
    }
    let (sandbox, id) = waiting();
    at_a_terminal(&sandbox, &["reject", &id], "", 2);
    at_a_terminal(&sandbox, &["reject", &id, "--reason", "the tests are red"], "y\r", 0);
    let report = resume(&sandbox, &id);
    assert_eq!(report["verdict"], "continue");
    assert!(report["reason"].as_str().unwrap().ends_with(": the tests are red"), "{report}");
    let ways = report["next"]["alternatives"].to_string();
    assert!(ways.contains("`confirm` shows that `verify` needs more work"), "{ways}");
    // It goes back to work, so it waits for no one.
    let attention = sandbox.flow(["attention", "--json"]).ok().json();
    assert!(!attention.to_string().contains("\"waits\""), "{attention:#}");
    needs_approval(&sandbox.flow(["record-activity", "--phase", "merge", "--id", "m"]), "after a rejection");
    sandbox.record(&id, "verify", "verify-2");
    sandbox.record(&id, "confirm", "confirm-2");
    assert_eq!(resume(&sandbox, &id)["next"]["action"], "decide");
    // Without going back as well.
    at_a_terminal(&sandbox, &["reject", &id, "--seen", &last(&sandbox, &id), "--reason", "still red"], "", 0);
    sandbox.record(&id, "confirm", "explained");
    assert_eq!(resume(&sandbox, &id)["next"]["action"], "decide");
    at_a_terminal(&sandbox, &["approve", &id, "--seen", &last(&sandbox, &id)], "", 0);
    sandbox.record(&id, "merge", "merge");
    assert_eq!(resume(&sandbox, &id)["left_undone"], json!([]));
    sandbox.flow(["complete", &id]).ok();
}

fn last(sandbox: &Sandbox, id: &str) -> String {
    sandbox.events(id).last().unwrap()["seq"].to_string()
}

#[test]
fn who_approves_before_the_required_command_passed_is_told_that_the_run_may_not_go_on() {
    if !has_terminals("who_approves_before_the_required_command_passed_is_told_that_the_run_may_not_go_on") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let phases = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: w}\nphases:\n\
                  - {id: ship, gate: person, requires: [{exec: test}]}\n- {id: after}\n";
    std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/w.workflow.yaml"), phases).unwrap();
    sandbox.flow(["start", "w", "--id", "r1"]).ok();
    sandbox.record("r1", "ship", "s");
    let seen = at_a_terminal(&sandbox, &["approve", "r1"], "y\r", 0);
    assert!(seen.contains("the run may not go on yet: `ship` requires that `test` was seen to pass"), "{seen}");
}

#[test]
fn an_agent_is_refused_at_a_terminal_too_by_the_variable_or_process_that_shows_it() {
    if !has_terminals("an_agent_is_refused_at_a_terminal_too_by_the_variable_or_process_that_shows_it") {
        return;
    }
    let (sandbox, id) = waiting();
    for variable in ["CLAUDECODE", "GEMINI_CLI", "AI_AGENT", "FLOW_SESSION"] {
        let mut command = sandbox.flow_command();
        command.args(["approve", &id, "--seen", "4"]).env(variable, "1");
        let mut person = Person::alone(&command);
        person.shows(&format!("{variable} shows that an agent began this")).shows("it ended: 4");
    }
    // A program of this name above it.
    let agent = sandbox.path("claude");
    std::fs::write(&agent, "#!/bin/sh\n\"$@\"\nexit $?\n").unwrap();
    let mut shell = sandbox.command("sh");
    shell.args(["-c", "sh ./claude \"$@\"", "sh", env!("CARGO_BIN_EXE_flow"), "approve", &id, "--seen", "4"]);
    Person::alone(&shell).shows("claude (process ").shows("it ended: 4");
    assert_eq!(sandbox.events(&id).len(), 4);
    // Without a terminal nobody can be asked.
    needs_approval(&sandbox.flow(["approve", &id, "--seen", "4"]), "in a pipe");
}

#[test]
fn neither_an_edit_nor_a_new_definition_nor_a_reopened_run_passes_a_gate() {
    if !has_terminals("neither_an_edit_nor_a_new_definition_nor_a_reopened_run_passes_a_gate") {
        return;
    }
    let held = |sandbox: &Sandbox, id: &str, phase: &str, way: &str| {
        let report = resume(sandbox, id);
        assert_eq!((&report["verdict"], &report["phase"]), (&json!("needs_human"), &json!(phase)), "{way}: {report:#}");
        for args in [
            &["record-activity", "--run-id", id, "--id", "more"][..],
            &["record-activity", "--run-id", id, "--id", "more", "--skip-reason", "w"],
            &["advance", "--run-id", id],
            &["complete", id, "--skip-reason", "w"],
        ] {
            needs_approval(&sandbox.flow(args), way);
        }
        // The first command adopted what was changed by hand.
        at_a_terminal(sandbox, &["approve", id, "--seen", &last(sandbox, id)], "", 0);
        assert_eq!(resume(sandbox, id)["verdict"], "continue", "{way}");
        sandbox.flow(["record-activity", "--run-id", id, "--id", "more"]).ok();
        sandbox.flow(["verify", id]).ok();
    };
    // The position is adopted, and nothing goes on from it.
    let (sandbox, id) = waiting();
    sandbox.edit(&id, "current_phase: confirm", "current_phase: merge");
    held(&sandbox, &id, "merge", "an edit out of the gate");
    let sandbox = Sandbox::new();
    let id = sandbox.start("merge-pr");
    sandbox.record(&id, "preflight", "preflight");
    sandbox.edit(&id, "current_phase: preflight", "current_phase: merge");
    held(&sandbox, &id, "merge", "an edit over the gate");
    // What flow keeps there is put right.
    let (sandbox, id) = waiting();
    sandbox.edit(&id, "confirm: closed", "confirm: approved");
    assert_eq!(resume(&sandbox, &id)["verdict"], "needs_human");
    needs_approval(&sandbox.flow(["record-activity", "--phase", "merge", "--id", "m"]), "an edit of the gate");
    // A definition without the gate, or without its phase.
    for (old, new) in [("gate: person", "gate: blocking"), ("id: confirm", "id: confirmed")] {
        let (sandbox, id) = waiting();
        let shipped = include_str!("../../workflows/merge-pr.workflow.yaml");
        std::fs::write(sandbox.path(".flow/workflows/merge-pr.workflow.yaml"), shipped.replace(old, new)).unwrap();
        if old == "gate: person" {
            sandbox.flow(["workflow", "adopt", &id]).ok();
            held(&sandbox, &id, "confirm", new);
        } else {
            assert_eq!(sandbox.flow(["workflow", "adopt", &id, "--json"]).exits(1).error()["code"], "position_gone");
        }
    }
    let (sandbox, id) = waiting();
    sandbox.flow(["cancel", &id]).ok();
    sandbox.flow(["reopen", &id, "--reason", "again"]).ok();
    needs_approval(&sandbox.flow(["record-activity", "--phase", "merge", "--id", "m"]), "reopened");
}

#[test]
fn a_run_from_before_the_gate_keeps_its_definition_and_is_told_of_the_new_one() {
    let sandbox = Sandbox::new();
    sandbox.without_gates();
    let id = sandbox.start("merge-pr");
    std::fs::remove_file(sandbox.path(".flow/workflows/merge-pr.workflow.yaml")).unwrap();
    let notes = resume(&sandbox, &id)["notes"].to_string();
    let told =
        format!("in today's definition a person decides in `confirm`; `flow workflow adopt {id}` moves the run to it");
    assert!(notes.contains(&told), "{notes}");
    for phase in ["preflight", "verify", "confirm", "merge"] {
        sandbox.record(&id, phase, phase);
    }
    sandbox.flow(["complete", &id]).ok();
}

#[test]
fn diagrams_and_graphs_have_gates_as_well() {
    if !has_terminals("diagrams_and_graphs_have_gates_as_well") {
        return;
    }
    let diagram = "---\nflow: {gates: [ask]}\n---\nstateDiagram-v2\n[*] --> work\nwork --> ask\nask --> ship\nask --> fix\n\
                   fix --> ask\nship --> [*]\n";
    let graph = "initial: work\nstates:\n  work: {type: agent, transition: {next: [ask]}}\n  \
                 ask: {type: agent, gate: person, transition: {next: [ship, fix]}}\n  \
                 fix: {type: agent, transition: {next: [ask]}}\n  ship: {type: agent, transition: {next: []}}\n";
    for (file, text) in [("own.mmd", diagram), ("own.yaml", graph)] {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        std::fs::write(sandbox.path(".flow/workflows").join(file), text).unwrap();
        assert_eq!(sandbox.flow(["workflow", "show", "own", "--json"]).ok().json()["gates"], json!(["ask"]));
        let report = |step: &str, status: &str| {
            let data = json!({ "status": status }).to_string();
            let args =
                ["emit", "--workflow", "own", "--run-id", "r1", "--type", "status_change", "--step", step, "--data"];
            sandbox.flow(args.iter().copied().chain([data.as_str()]))
        };
        report("work", "running").ok();
        report("ask", "running").ok();
        needs_approval(&report("ship", "running"), file);
        report("ask", "completed").ok();
        assert_eq!(resume(&sandbox, "r1")["next"]["action"], "decide", "{file}");
        needs_approval(&report("ship", "completed"), file);
        needs_approval(&report("fix", "running"), file);
        needs_approval(&sandbox.flow(["advance", "--run-id", "r1", "--to", "ship"]), file);
        // Whoever rejects sends the run back to where it comes to the gate again.
        at_a_terminal(&sandbox, &["reject", "r1", "--seen", &last(&sandbox, "r1"), "--reason", "red"], "", 0);
        needs_approval(&report("ship", "running"), file);
        report("fix", "running").ok();
        report("ask", "completed").ok();
        at_a_terminal(&sandbox, &["approve", "r1", "--seen", &last(&sandbox, "r1")], "", 0);
        report("ship", "completed").ok();
        assert_eq!(resume(&sandbox, "r1")["verdict"], "done", "{file}");
        sandbox.flow(["verify", "r1"]).ok();
    }
}

fn record(sandbox: &Sandbox, id: &str, more: &[&str]) -> Answer {
    sandbox.flow(["record-activity", "--run-id", id].iter().chain(more))
}

#[test]
fn a_gate_that_the_run_comes_to_again_is_closed_however_it_comes_there() {
    if !has_terminals("a_gate_that_the_run_comes_to_again_is_closed_however_it_comes_there") {
        return;
    }
    let (sandbox, id) = waiting();
    at_a_terminal(&sandbox, &["approve", &id, "--seen", "4"], "", 0);
    // Back and there again with one record.
    record(&sandbox, &id, &["--phase", "verify", "--id", "new-head", "--advance", "confirm"]).ok();
    needs_approval(&record(&sandbox, &id, &["--phase", "merge", "--id", "m", "--skip-reason", "w"]), "another round");
    assert_eq!(resume(&sandbox, &id)["next"]["action"], "decide");
    at_a_terminal(&sandbox, &["reject", &id, "--seen", &last(&sandbox, &id), "--reason", "no"], "", 0);
    record(&sandbox, &id, &["--phase", "verify", "--id", "newer", "--advance", "confirm"]).ok();
    assert_eq!(resume(&sandbox, &id)["next"]["action"], "decide");
    // An end and a new beginning as well.
    at_a_terminal(&sandbox, &["approve", &id, "--seen", &last(&sandbox, &id)], "", 0);
    sandbox.flow(["cancel", &id]).ok();
    sandbox.flow(["reopen", &id, "--reason", "on"]).ok();
    needs_approval(&record(&sandbox, &id, &["--phase", "merge", "--id", "m"]), "reopened");
}

#[test]
fn a_run_is_not_completed_over_a_gate_that_it_did_not_come_to() {
    let sandbox = Sandbox::new();
    let unit = |run: &str, workflow: &str, step: &str| {
        let args = ["emit", "--workflow", workflow, "--run-id", run, "--type", "status_change", "--step", step];
        sandbox.flow(args.iter().chain(&["--unit", "T1", "--data", r#"{"status":"completed"}"#])).ok();
        sandbox.flow(["complete", run, "--skip-reason", "all units are done"])
    };
    needs_approval(&unit("r1", "merge-pr", "preflight"), "units alone");
    // Where there is no gate, units alone end a run of phases with a reason.
    assert_eq!(unit("r2", "start-issue", "preflight").code, Some(0));
    sandbox.flow(["start", "merge-pr", "--id", "r3"]).ok();
    sandbox.record("r3", "preflight", "x");
    needs_approval(&sandbox.flow(["complete", "r3", "--skip-reason", "w"]), "before the gate");
    sandbox.flow(["start", "merge-pr", "--id", "r4", "--phase", "merge"]).ok();
    needs_approval(&record(&sandbox, "r4", &["--id", "x"]), "a run that starts behind the gate");
    let reason = "`confirm` was passed without a person's decision";
    assert_eq!(resume(&sandbox, "r4")["reason"], reason);
    let error = sandbox.flow(["complete", "r4", "--json"]).exits(4).error();
    assert_eq!(error["message"], format!("run r4: {reason}"));
    // An edit says that it is completed.
    let (sandbox, id) = waiting();
    sandbox.edit(&id, "status: active", "status: completed");
    assert_eq!(resume(&sandbox, &id)["verdict"], "needs_human");
}

#[test]
fn a_definition_that_leads_around_a_gate_or_drops_one_that_was_open_needs_a_person() {
    if !has_terminals("a_definition_that_leads_around_a_gate_or_drops_one_that_was_open_needs_a_person") {
        return;
    }
    let shipped = include_str!("../../workflows/release.workflow.yaml");
    let around = shipped.replace("  - id: bump\n", "  - id: bump\n    next: [tag, push]\n");
    let (sandbox, id) = (Sandbox::new(), "r1");
    sandbox.flow(["start", "release", "--id", id]).ok();
    sandbox.record(id, "preflight", "preflight");
    sandbox.record(id, "bump", "bump");
    std::fs::write(sandbox.path(".flow/workflows/release.workflow.yaml"), around).unwrap();
    sandbox.flow(["workflow", "adopt", id]).ok();
    needs_approval(&record(&sandbox, id, &["--phase", "push", "--id", "p"]), "around the gate");
    let report = resume(&sandbox, id);
    assert_eq!(report["reason"], "the definition that the run follows now dropped the gate `tag`");
    at_a_terminal(&sandbox, &["approve", id, "--seen", &last(&sandbox, id)], "", 0);
    record(&sandbox, id, &["--phase", "push", "--id", "p"]).ok();

    let (sandbox, id) = waiting();
    at_a_terminal(&sandbox, &["approve", &id, "--seen", "4"], "", 0);
    let shipped = include_str!("../../workflows/merge-pr.workflow.yaml");
    let dropped = shipped.replace("gate: person", "gate: blocking");
    std::fs::write(sandbox.path(".flow/workflows/merge-pr.workflow.yaml"), dropped).unwrap();
    sandbox.flow(["workflow", "adopt", &id]).ok();
    needs_approval(&record(&sandbox, &id, &["--phase", "merge", "--id", "m"]), "an open gate is dropped");
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn a_repair_opens_no_gate_and_leaves_a_run_that_verifies() {
    if !has_terminals("a_repair_opens_no_gate_and_leaves_a_run_that_verifies") {
        return;
    }
    let (sandbox, id) = waiting();
    at_a_terminal(&sandbox, &["approve", &id, "--seen", "4"], "", 0);
    let log = sandbox.run_dir(&id).join("events.jsonl");
    std::fs::write(&log, "").unwrap();
    sandbox.flow(["doctor", &id, "--repair"]);
    sandbox.flow(["verify", &id]).ok();
    needs_approval(&record(&sandbox, &id, &["--phase", "merge", "--id", "m"]), "a repaired log");
    assert_eq!(resume(&sandbox, &id)["verdict"], "needs_human");
    // The position may be one behind the gate.
    let (sandbox, id) = waiting();
    std::fs::remove_file(sandbox.run_dir(&id).join("events.jsonl")).unwrap();
    sandbox.edit(&id, "current_phase: confirm", "current_phase: merge");
    sandbox.flow(["doctor", &id, "--repair"]);
    needs_approval(&record(&sandbox, &id, &["--id", "m"]), "a lost log and an edit");
    sandbox.flow(["verify", &id]).ok();
}

#[test]
fn what_resume_calls_done_is_what_a_gate_waits_with() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "release", "--id", "r1"]).ok();
    sandbox.record("r1", "preflight", "preflight");
    sandbox.record("r1", "bump", "bump");
    record(&sandbox, "r1", &["--phase", "tag", "--id", "sign", "--status", "failed"]).ok();
    // Nothing that is printed would pass the gate.
    let ways = resume(&sandbox, "r1")["next"]["alternatives"].to_string();
    assert!(!ways.contains("--phase push"), "{ways}");
    record(&sandbox, "r1", &["--id", "sign-alt", "--settles", "sign"]).ok();
    assert_eq!(resume(&sandbox, "r1")["next"]["action"], "decide");
    let report = |status: &str| {
        let data = json!({ "status": status }).to_string();
        let args = ["emit", "--workflow", "release", "--run-id", "r1", "--type", "status_change", "--step", "tag"];
        sandbox.flow(args.iter().chain(&["--data", &data])).ok();
    };
    report("failed");
    assert_eq!(resume(&sandbox, "r1")["doing"], "failing");
    record(&sandbox, "r1", &["--id", "other"]).ok();
    let done = resume(&sandbox, "r1");
    assert_eq!((&done["next"]["action"], &done["doing"]), (&json!("decide"), &json!("waiting")), "{done:#}");
}

/// What a person saw in `run.yaml` before flow recorded it is what they decide on.
#[test]
fn a_decision_counts_on_the_edit_that_was_shown_and_on_no_other_one() {
    if !has_terminals("a_decision_counts_on_the_edit_that_was_shown_and_on_no_other_one") {
        return;
    }
    let begin = || {
        let (sandbox, id) = waiting();
        sandbox.edit(&id, "current_phase: confirm", "current_phase: merge");
        (sandbox, id)
    };
    let proposed = |sandbox: &Sandbox, id: &str, way: usize| {
        let command = resume(sandbox, id)["next"]["alternatives"][way]["command"].as_str().unwrap().to_owned();
        command.split(' ').skip(1).take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    let decide = |sandbox: &Sandbox, args: &[String], ends: i32| {
        let reason = ["--reason", "it was said"];
        let args: Vec<_> = args.iter().map(String::as_str).chain(reason).collect();
        at_a_terminal(sandbox, &args, "", ends)
    };
    for way in [0, 1] {
        let (sandbox, id) = begin();
        decide(&sandbox, &proposed(&sandbox, &id, way), 0);
        // The decision says that the edit was seen, which is an event now.
        let events = sandbox.events(&id);
        assert_eq!((&events[4]["type"], &events[5]["approval"]["seen"]), (&json!("run_edited"), &json!(5)));
    }
    // Recorded by another command meanwhile, it is the same edit.
    let (sandbox, id) = begin();
    let seen = proposed(&sandbox, &id, 0);
    sandbox.flow(["resume", &id, "--claim", "--session", "s1"]).exits(4);
    assert_eq!(last(&sandbox, &id), "6");
    decide(&sandbox, &seen, 0);
    // One that was never shown, another one, one that was taken back, and one after which more is recorded.
    let (sandbox, id) = begin();
    let shown = decide(&sandbox, &["approve", &id, "--seen", "4"].map(str::to_owned), 5);
    assert!(shown.contains("it was seen up to event 4, and is at event 5 now"), "{shown}");
    type Meanwhile = fn(&Sandbox, &str);
    let meanwhile: [Meanwhile; 3] = [
        |sandbox, id| sandbox.edit(id, "max_iterations: 10", "max_iterations: 11"),
        |sandbox, id| sandbox.edit(id, "current_phase: merge", "current_phase: confirm"),
        |sandbox, id| drop(sandbox.flow(["set", id, "--limit", "max_iterations=12"]).ok()),
    ];
    for meanwhile in meanwhile {
        let (sandbox, id) = begin();
        let seen = proposed(&sandbox, &id, 0);
        meanwhile(&sandbox, &id);
        let told = decide(&sandbox, &seen, 5);
        assert!(told.contains("it moved on"), "{told}");
    }
}

#[test]
fn a_report_says_why_the_run_is_blocked_or_over_and_that_it_waits() {
    let (sandbox, id) = waiting();
    let says = |status: &str, doing: Value, reason: Value| {
        let told = sandbox.flow(["report", &id, "--format", "json"]).ok().json();
        assert_eq!((&told["status"], &told["doing"], &told["reason"]), (&json!(status), &doing, &reason));
        let text = sandbox.flow(["report", &id]).ok().stdout;
        let word = doing.as_str().unwrap_or(status);
        assert!(text.starts_with(&format!("## `{id}` {word}\n\nWorkflow `merge-pr`, in `confirm`.\n")), "{text}");
        let why = reason.as_str().unwrap();
        let why = if why.contains('`') { format!("`` {why} ``") } else { format!("`{why}`") };
        assert!(text.contains(&format!("\nReason: {why}\n")), "{text}");
    };
    let gate = "`confirm` waits for a person's decision";
    says("active", json!("waiting"), json!(gate));
    sandbox.flow(["block", &id, "--reason", "no access"]).ok();
    says("blocked", json!(null), json!("no access"));
    sandbox.flow(["unblock", &id]).ok();
    for (verb, status) in [("fail", "failed"), ("cancel", "cancelled")] {
        sandbox.flow([verb, &id, "--reason", "the branch is gone"]).ok();
        says(status, json!(null), json!("the branch is gone"));
        let shown = sandbox.flow(["show", &id]).ok().stdout;
        assert!(shown.contains("  why         the branch is gone\n"), "{shown}");
        assert_eq!(sandbox.flow(["show", &id, "--json"]).ok().json()["end_reason"], "the branch is gone");
        sandbox.flow(["reopen", &id, "--reason", "it is back"]).ok();
        says("active", json!("waiting"), json!(gate));
    }
}

#[test]
fn a_run_that_an_edit_completed_before_the_decision_is_not_over_for_any_reader() {
    let (sandbox, id) = waiting();
    sandbox.flow(["list"]).ok();
    sandbox.edit(&id, "status: active", "status: completed");
    for adopted in [false, true] {
        assert_eq!(sandbox.flow(["wait", &id, "--timeout", "5"]).exits(4).stdout.split(' ').next(), Some("approval"));
        for (reader, what) in [
            (&["attention"][..], "confirm"),
            (&["list"], "approval"),
            (&["watch", "--once"], "Waits for you"),
            (&["show", &id], "the run waits for a person: no one decided in `confirm`"),
            (&["report", &id], "the run waits for a person: no one decided in `confirm`"),
        ] {
            let shown = sandbox.flow(reader).ok().stdout;
            assert!(shown.contains(what), "{reader:?}, {adopted}: {shown}");
        }
        assert_eq!(sandbox.flow(["attention", "--json"]).ok().json()["runs"][0]["need"], "approval", "{adopted}");
        let pruned = sandbox.flow(["prune", "--older-than", "0m", "--dry-run", "--json"]).ok().json()["pruned"].clone();
        assert_eq!(pruned, json!([]), "{adopted}");
        sandbox.flow(["set", &id, "--goal", &format!("g{adopted}")]).ok();
    }
}

#[test]
fn a_gate_on_a_way_that_a_repaired_run_did_not_take_keeps_it_from_no_end() {
    let graph = "initial: plan\nstates:\n  plan: {type: agent, transition: {next: [risky, safe]}}\n  \
                 risky: {type: agent, gate: person, transition: {next: [end]}}\n  \
                 safe: {type: agent, transition: {next: [end]}}\n  end: {type: terminal}\n";
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path(".flow/workflows")).unwrap();
    std::fs::write(sandbox.path(".flow/workflows/job.graph.yaml"), graph).unwrap();
    sandbox.flow(["start", "job", "--id", "r1"]).ok();
    sandbox.flow(["record-activity", "--id", "look"]).ok();
    sandbox.flow(["record-activity", "--id", "more"]).ok();
    let log = sandbox.read("r1", "events.jsonl").replace("\"look\"", "\"lxxk\"");
    std::fs::write(sandbox.path(".flow/runs/r1/events.jsonl"), log).unwrap();
    sandbox.flow(["doctor", "r1", "--repair"]).ok();
    sandbox.flow(["advance", "r1", "--to", "safe", "--summary", "planned"]).ok();
    sandbox.flow(["advance", "r1", "--summary", "done"]).ok();
    let listed = sandbox.flow(["list", "--json"]).ok().json()["runs"][0].clone();
    assert_eq!((&listed["status"], &listed["doing"]), (&json!("completed"), &Value::Null));
    sandbox.flow(["wait", "r1", "--timeout", "5"]).ok();
    assert_eq!(sandbox.flow(["attention", "--json"]).ok().json()["runs"], json!([]));
    assert_eq!(
        sandbox.flow(["prune", "--older-than", "0m", "--dry-run", "--json"]).ok().json()["pruned"][0]["run_id"],
        "r1"
    );
}
