//! `next` and `advance`: where a run can go, and going there.

use serde_json::json;

use crate::support::Sandbox;

const GRAPH: &str = "\
initial: ask
states:
  ask:
    description: What is wanted
    type: user
    transition:
      next: [answer, search]
  answer:
    description: Say it
    type: agent
    transition:
      next: [end]
  search:
    type: tool
    transition:
      next: [answer, ask]
  end:
    description: Good bye
    type: terminal
";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/workflows/chat.graph.yaml"), GRAPH).unwrap();
    sandbox.flow(["start", "chat", "--id", "r1"]).ok();
    sandbox
}

#[test]
fn next_gives_candidates_with_descriptions_and_a_schema_for_a_model() {
    let sandbox = project();
    let answer = sandbox.flow(["next", "r1", "--json"]).ok().json();
    assert_eq!(answer["state"], "ask");
    assert_eq!(answer["terminal"], false);
    assert_eq!(answer["tt"], json!(["answer", "search"]));
    assert_eq!(answer["td"], json!(["Say it", ""]));
    let schema = &answer["schema"];
    assert_eq!(schema["properties"]["next_state"]["enum"], json!(["answer", "search"]));
    assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["next_state"]), &json!(false)));
    // It is a schema that tells right from wrong.
    let validator = jsonschema::validator_for(schema).unwrap();
    assert!(validator.is_valid(&json!({ "next_state": "search" })));
    for wrong in [json!({ "next_state": "ask" }), json!({}), json!("search"), json!({ "next_state": "search", "x": 1 })]
    {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
    let page = sandbox.flow(["next"]).ok().stdout;
    assert_eq!(page, "ask  r1  chat\n  answer  Say it\n  search\n");
}

#[test]
fn advance_goes_where_a_transition_leads_and_records_what_it_leaves() {
    let sandbox = project();
    let refused = sandbox.flow(["advance", "r1", "--to", "end", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "invalid_transition");
    let several = sandbox.flow(["advance", "r1", "--json"]).exits(1).error();
    assert_eq!(several["code"], "ambiguous_next_phase");
    let page = sandbox.flow(["advance", "r1", "--to", "search", "--summary", "the weather"]).ok().stdout;
    assert_eq!(page, "r1 is in search\n  recorded 001 ask (passed)\n");
    assert!(sandbox.read("r1", "activities/001-ask.yaml").contains("summary: the weather"));
    let answer = sandbox.flow(["advance", "r1", "--to", "answer", "--json"]).ok().json();
    assert_eq!((&answer["from"], &answer["phase"]), (&json!("search"), &json!("answer")));
    assert_eq!((&answer["next"]["tt"], &answer["run_status"]), (&json!(["end"]), &json!("running")));
    // A state of the type `terminal` is the end.
    let page = sandbox.flow(["advance", "r1"]).ok().stdout;
    assert_eq!(page, "r1 is completed in end\n  recorded 003 answer (passed)\n  recorded 004 end (passed)\n");
    let over = sandbox.flow(["next", "r1", "--json"]).ok().json();
    assert_eq!((&over["terminal"], &over["tt"], &over["schema"]), (&json!(true), &json!([]), &json!(null)));
    sandbox.flow(["advance", "r1", "--to", "ask"]).exits(1);
    sandbox.assert_sound("r1");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn the_same_advance_again_with_the_same_id_goes_nowhere_twice() {
    let sandbox = project();
    let advance = ["advance", "r1", "--to", "search", "--id", "k1", "--json"];
    sandbox.flow(advance).ok();
    let again = sandbox.flow(advance).ok().json();
    assert_eq!((&again["repeated"], &again["phase"]), (&json!(true), &json!("search")));
    assert_eq!(sandbox.events("r1").len(), 2);
}

#[test]
fn nobody_advances_to_the_step_of_an_agent_or_from_a_run_that_is_over() {
    let sandbox = project();
    let refused = sandbox.flow(["advance", "r1", "--to", "helper:search"]).exits(2);
    insta::assert_snapshot!(refused.stderr, @r"
    error: --to names a state of the workflow; report a step of the agent helper with flow emit
      help: see `flow help advance`
    ");
    assert_eq!(sandbox.events("r1").len(), 1);
    sandbox.flow(["cancel", "r1", "--reason", "enough"]).ok();
    let over = sandbox.flow(["advance", "r1"]).exits(1);
    insta::assert_snapshot!(over.stderr, @r"
    error: run r1: the run is cancelled; it accepts no more records
      help: go on with it: `flow reopen r1 --reason 'TEXT'`; or start another run with `flow start WORKFLOW`
    ");
    let next = sandbox.flow(["next", "r1", "--json"]).ok().json();
    assert_eq!((&next["terminal"], &next["tt"]), (&json!(false), &json!([])));
    assert_eq!(next["notes"], json!(["the run is cancelled"]));
}

#[test]
fn a_definition_that_is_no_text_is_told_with_its_place_by_path_as_by_name() {
    let sandbox = project();
    std::fs::write(sandbox.path(".flow/workflows/bytes.mmd"), b"stateDiagram-v2\n[*] --> \xff\n").unwrap();
    for target in ["bytes", ".flow/workflows/bytes.mmd"] {
        let answer = sandbox.flow(["workflow", "check", target, "--json"]).exits(1).json();
        let found = &answer["diagnostics"][0];
        assert_eq!(
            (&found["code"], &found["line"], &found["column"]),
            (&json!("not_utf8"), &json!(2), &json!(9)),
            "{target}"
        );
    }
}

#[test]
fn several_transitions_between_two_states_are_one_way() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let diagram = "stateDiagram-v2\n[*] --> a\na --> b : on success\na --> b : on timeout\nb --> [*]\n";
    std::fs::write(sandbox.path(".flow/workflows/twice.mmd"), diagram).unwrap();
    sandbox.flow(["start", "twice", "--id", "r1"]).ok();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["next"]["choices"], json!(["b"]));
    sandbox.flow(["record-activity", "--run-id", "r1", "--id", "done", "--advance"]).ok();
    assert_eq!(sandbox.flow(["next", "r1", "--json"]).ok().json()["state"], "b");
}

#[test]
fn other_words_of_a_definition_are_shown_and_can_be_adopted() {
    let sandbox = project();
    let newer = GRAPH.replace("Say it", "Say it well").replace("type: tool", "type: agent");
    std::fs::write(sandbox.path(".flow/workflows/chat.graph.yaml"), newer).unwrap();
    assert_eq!(sandbox.flow(["resume", "r1", "--json"]).ok().json()["verdict"], "continue");
    assert_eq!(sandbox.flow(["next", "r1", "--json"]).ok().json()["td"][0], "Say it");
    let adopted = sandbox.flow(["workflow", "adopt", "r1", "--json"]).ok().json();
    let differences = ["the description of `answer` changed", "the type of `search` was `tool` and is `agent`"];
    assert_eq!(adopted["differences"], json!(differences));
    assert_eq!(sandbox.flow(["next", "r1", "--json"]).ok().json()["td"][0], "Say it well");
}

#[test]
fn every_command_for_one_run_takes_its_name_with_run_id_as_well() {
    let sandbox = project();
    sandbox.flow(["start", "debug", "--id", "other"]).ok();
    let advance = &["advance", "--summary", "clean"][..];
    for command in [&["next"][..], &["show"], &["log"], &["verify"], &["resume"], &["workflow", "adopt"], advance] {
        sandbox.flow(command.iter().chain(&["--run-id", "other"])).ok();
    }
    let refused = sandbox.flow(["next", "--json"]);
    if refused.code != Some(0) {
        assert_eq!(refused.exits(2).error()["help"], "name one of them with --run-id");
    }
}

#[test]
fn a_definition_in_its_own_notation_keeps_every_word() {
    let sandbox = Sandbox::new();
    let text = "# why\nkind: FlowWorkflow\napiVersion: flow.synapti.ai/v1\nmetadata: {id: w, command: /w}\nphases: [{id: a, gate: blocking}]\n";
    std::fs::write(sandbox.path("w.workflow.yaml"), text).unwrap();
    let report = sandbox.flow(["workflow", "convert", "w.workflow.yaml", "--to", "phases", "--json"]).ok().json();
    assert_eq!((report["text"].as_str(), &report["losses"]), (Some(text), &serde_json::json!([])));
}

/// A driver that asks a person, whatever the state.
fn asks(sandbox: &Sandbox, graph: &str) {
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    let says = r#"echo '{"needs_human":"Merge it?"}'"#;
    let on = ["agent", "tool"].map(|kind| format!("{kind}={says}"));
    sandbox.flow(["drive", "job.graph.yaml", "--run-id", "r1", "--on", &on[0], "--on", &on[1]]).exits(4);
}

#[test]
fn a_run_does_not_advance_past_an_open_question() {
    let of_command = "initial: auth\nstates:\n  auth: {type: tool, transition: {next: [work]}}\n  \
                      work: {type: agent, transition: {next: [auth, done]}}\n  done: {type: terminal}\n";
    let of_person = of_command.replace("type: tool", "type: user, description: Merge it?");
    for graph in [of_command, of_person.as_str()] {
        let asked = || {
            let sandbox = Sandbox::new();
            asks(&sandbox, graph);
            sandbox
        };
        let sandbox = asked();
        let events = sandbox.events("r1").len();
        let refused = sandbox.flow(["advance", "--run-id", "r1", "--json"]).exits(1).error();
        assert_eq!(refused["code"], "phase_not_done");
        assert_eq!(refused["message"], "run r1: `auth` is not done: it waits for an answer to: Merge it?");
        let help = "answer with `flow emit --workflow job --run-id r1 --type user_answered --step auth --data \
                    '{\"answer\":\"…\"}'`, or say what came out of `auth` with --summary TEXT";
        assert_eq!(refused["help"], help);
        assert_eq!(sandbox.events("r1").len(), events, "something was written");
        // An answer lets it go on.
        let answer =
            ["emit", "--workflow", "job", "--run-id", "r1", "--type", "user_answered", "--data", r#"{"answer":"yes"}"#];
        sandbox.flow(answer).ok();
        let page = sandbox.flow(["advance", "--run-id", "r1"]).ok().stdout;
        assert_eq!(page, "r1 is in work\n  recorded 001 auth (passed)\n");
        // So does what came out, when that is said.
        let sandbox = asked();
        let page = sandbox.flow(["advance", "r1", "--summary", "it is merged"]).ok().stdout;
        assert_eq!(page, "r1 is in work\n  recorded 001 auth (passed)\n");
        sandbox.assert_sound("r1");
    }
}

#[test]
fn who_lost_the_run_is_told_that_and_not_what_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1", "--session", "a"]).ok();
    sandbox.flow(["resume", "r1", "--take-over", "--session", "b"]).ok();
    let commands: [(&[&str], &str); 3] = [
        (&["advance", "r1"], "phase_not_done"),
        (&["complete", "r1"], "nothing_recorded"),
        (&["record-activity", "--run-id", "r1", "--id", "x", "--phase", "fix"], "invalid_transition"),
    ];
    for (command, code) in commands {
        let by = |session| sandbox.flow(command.iter().chain(&["--session", session, "--json"]));
        assert_eq!(by("a").exits(5).error()["code"], "run_held", "{command:?}");
        assert_eq!(by("b").exits(1).error()["code"], code, "{command:?}");
    }
}

#[test]
fn a_run_goes_back_past_an_open_question_only_when_that_completes_nothing() {
    let graph = "initial: work\nstates:\n  work: {type: agent, transition: {next: [look]}}\n  \
                 look: {type: user, description: Merge it?, transition: {next: [work, done]}}\n  done: {type: terminal}\n";
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
    sandbox.flow(["drive", "job.graph.yaml", "--run-id", "r1", "--on", "agent=true"]).exits(4);
    let refused = sandbox.flow(["advance", "r1", "--to", "work", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "phase_not_done");
    let report = |kind: &str, data: &str| {
        let step = ["--step", "look", "--type", kind, "--data", data];
        sandbox.flow([&["emit", "--workflow", "job", "--run-id", "r1"][..], &step].concat()).ok();
    };
    report("status_change", r#"{"status":"failed"}"#);
    report("waiting_for_user", r#"{"prompt":"Try again?"}"#);
    sandbox.flow(["advance", "r1", "--to", "work"]).ok();
    assert_eq!(sandbox.activity_files("r1"), ["001-work.yaml", "002-look.yaml"]);
}

#[test]
fn next_of_a_run_that_is_over_does_not_look_for_a_definition() {
    let sandbox = project();
    sandbox.flow(["cancel", "r1", "--reason", "no"]).ok();
    let told = sandbox.flow(["next", "r1"]).ok().stdout;
    insta::assert_snapshot!(told, @r"
    ask  r1  chat
      nothing follows: the run is over
      note        the run is cancelled
    ");
    assert_eq!(sandbox.flow(["next", "r1", "--json"]).ok().json()["tt"], json!([]));
}

const REVIEW: &str = "\
stateDiagram-v2
    [*] --> draft
    draft --> review
    review --> approved
    review --> draft
    review --> [*]
    approved --> [*]
    approved --> closed
";

/// A run in `review`, where it can end or go on.
fn in_review(run: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    std::fs::write(sandbox.path(".flow/workflows/rev.mmd"), REVIEW).unwrap();
    sandbox.flow(["start", "rev", "--id", run]).ok();
    sandbox.flow(["advance", run, "--to", "review", "--summary", "wrote it"]).ok();
    sandbox
}

#[test]
fn a_run_goes_on_from_a_state_in_which_it_can_also_end() {
    for (to, summary) in [("approved", true), ("approved", false), ("draft", true), ("draft", false)] {
        let sandbox = in_review("r1");
        let summary: &[&str] = if summary { &["--summary", "looked at it"] } else { &[] };
        let args = [&["advance", "r1", "--to", to], summary].concat();
        let moved = sandbox.flow(args).ok();
        assert_eq!((moved.stdout.lines().next(), &*moved.stderr), (Some(&*format!("r1 is in {to}")), ""), "{moved:?}");
        sandbox.assert_sound("r1");
        sandbox.flow(["verify", "r1"]).ok();
    }
    let poll = "stateDiagram-v2\n[*] --> poll\npoll --> poll\npoll --> [*]\n";
    let sandbox = in_review("r1");
    std::fs::write(sandbox.path(".flow/workflows/poll.mmd"), poll).unwrap();
    sandbox.flow(["start", "poll", "--id", "p1"]).ok();
    let again = sandbox.flow(["advance", "p1", "--to", "poll", "--summary", "nothing yet"]).ok();
    assert_eq!((&*again.stdout, &*again.stderr), ("p1 is in poll\n  recorded 001 poll (passed)\n", ""));
}

#[test]
fn what_is_proposed_where_a_run_can_end_says_which_command_ends_it() {
    let sandbox = in_review("r1");
    let resumed = sandbox.flow(["resume", "r1", "--json"]).ok().json();
    let ways: Vec<_> = resumed["next"]["alternatives"].as_array().unwrap().iter().take(3).cloned().collect();
    let done =
        r#"flow emit --workflow rev --run-id r1 --type status_change --step review --data '{"status":"completed"}'"#;
    assert_eq!(
        ways,
        [
            json!({ "when": "it ended well, and the run goes on to `approved`", "command": "flow advance r1 --to approved --summary 'what was done'" }),
            json!({ "when": "it ended well, and the run goes on to `draft`", "command": "flow advance r1 --to draft --summary 'what was done'" }),
            json!({ "when": "it ended well, and the run ends here", "command": done }),
        ]
    );
}

#[test]
fn advance_goes_nowhere_else_whatever_the_state_before_led_to() {
    let sandbox = in_review("r1");
    sandbox.flow(["advance", "r1", "--to", "approved", "--summary", "fine"]).ok();
    // `draft` follows `review` as `approved` does, and nothing leads there from here.
    let refused = sandbox.flow(["advance", "r1", "--to", "draft", "--summary", "no", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "invalid_transition", "{refused}");
    assert_eq!(refused["message"], "run r1: the run cannot go from `approved` to `draft`");
}
