//! `drive`: a graph goes on where it was, whatever ends its driver.

#[cfg(feature = "network")]
use std::io::{Read, Write};
#[cfg(feature = "network")]
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Person, Sandbox, Tree, calls, can_inject, has_terminals, killed_at, run};

const GRAPH: &str = "\
initial: plan
states:
  plan:
    description: Make a plan
    type: agent
    transition:
      next: [work]
  work:
    description: Do it
    type: tool
    transition:
      next: [work, review]
  review:
    description: Look at it
    type: agent
    transition:
      next: [work, ask]
  ask:
    description: Is it good?
    type: user
    transition:
      next: [end]
  end:
    type: terminal
";

struct Project(Sandbox);

impl Project {
    fn new(graph: &str) -> Self {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path("job.graph.yaml"), graph).unwrap();
        Self(sandbox)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.0.flow_command();
        // The commands of states find the program that is tested.
        command.env("FLOW", env!("CARGO_BIN_EXE_flow"));
        command.args(["drive", "job.graph.yaml", "--run-id", "r1"]).args(more);
        command
    }

    fn drive(&self, more: &[&str]) -> Answer {
        run(self.command(more), "")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// What the commands of states wrote down, a word each.
    fn noted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("noted")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn resumed(&self) -> Value {
        self.0.flow(["resume", "r1", "--json"]).json()
    }
}

/// Writes down its state.
const NOTE: &str = "echo $FLOW_DRIVEN_STATE >> noted";

#[test]
fn what_each_state_gave_is_recorded_and_given_to_the_next() {
    let project = Project::new(GRAPH);
    let agent = "cat > told-$FLOW_DRIVEN_STATE; echo what $FLOW_DRIVEN_STATE gave";
    let args =
        ["--on", &format!("agent={agent}"), "--on", "tool=echo made", "--on", "user=echo yes", "--goal", "a bridge"];
    let choose = [
        "--choose",
        "cat > asked-$$; grep -q '\"work\",\"ask\"' asked-$$ && echo ask || { mv asked-$$ asked; echo review; }",
    ];
    let stopped = project.drive(&[&args[..], &choose, &["--json", "--max-iter", "2"]].concat()).exits(4).json();
    assert_eq!((&stopped["stop"], &stopped["state"], &stopped["ran"]), (&json!("limit"), &json!("work"), &json!(2)));
    assert!(!project.path("asked").exists(), "it asked for a choice and threw it away");
    let ended = project.drive(&[&args[..], &choose, &["--json"]].concat()).ok().json();
    assert_eq!((&ended["stop"], &ended["ran"]), (&json!("ended"), &json!(3)));
    let files = project.0.activity_files("r1");
    assert_eq!(files, ["001-plan.yaml", "002-work.yaml", "003-review.yaml", "004-ask.yaml", "005-end.yaml"]);
    let plan = project.0.read("r1", "activities/001-plan.yaml");
    insta::assert_snapshot!(plan, @r#"
    apiVersion: flow.synapti.ai/v1
    kind: FlowActivity
    metadata:
      id: plan
      run_id: r1
      workflow: job
      phase: plan
    activity:
      type: agent
      status: passed
      completed_at: "2026-05-20T14:30:11.000Z"
    result:
      summary: what plan gave
    "#);
    let told: Value = serde_json::from_str(&std::fs::read_to_string(project.path("told-review")).unwrap()).unwrap();
    assert_eq!(told["state"]["name"], "review");
    assert_eq!(told["about"]["goal"], "a bridge");
    assert_eq!(
        told["done"],
        json!([{ "state": "plan", "output": "what plan gave" }, { "state": "work", "output": "made" }])
    );
    assert_eq!(told["next"]["tt"], json!(["work", "ask"]));
    let asked: Value = serde_json::from_str(&std::fs::read_to_string(project.path("asked")).unwrap()).unwrap();
    assert_eq!(asked["schema"]["properties"]["next_state"]["enum"], json!(["work", "review"]));
    assert_eq!(project.0.flow(["list", "--json"]).ok().json()["runs"][0]["status"], "completed");
    project.0.flow(["verify", "r1"]).ok();
}

#[test]
fn where_a_run_can_end_or_go_on_the_chooser_is_asked_and_its_choice_is_recorded() {
    let sandbox = Sandbox::new();
    let diagram = "stateDiagram-v2\n[*] --> draft\ndraft --> review\nreview --> draft : once more\nreview --> [*]\n";
    std::fs::write(sandbox.path("loop.mmd"), diagram).unwrap();
    let drive = |choose: &[&str]| {
        let args = ["drive", "loop.mmd", "--run-id", "r1", "--on", "state=cat > told-$FLOW_DRIVEN_STATE; echo done"];
        sandbox.flow([&args[..], choose, &["--json"]].concat())
    };
    // Without a chooser a person is needed, as for every other choice.
    let asked = drive(&[]).exits(4).json();
    assert_eq!(asked["warnings"], json!([]));
    assert_eq!((&asked["stop"], &asked["state"], &asked["ran"]), (&json!("needs_human"), &json!("review"), &json!(2)));
    assert_eq!(
        asked["reason"],
        "the run can end or go on (draft): end it with `flow complete r1`, or choose with `flow advance r1 --to STATE`"
    );
    let told: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.path("told-review")).unwrap()).unwrap();
    assert_eq!(told["next"], json!({ "tt": ["draft", "[*]"], "td": ["", "The run ends here"] }));
    let resumed = sandbox.flow(["resume", "r1", "--json"]).json();
    assert_eq!((&resumed["verdict"], &resumed["status"]), (&json!("continue"), &json!("active")), "{resumed}");
    // A command chooses: once more, and at the second time the end.
    let choose = "cat > asked; [ -e again ] && echo '[*]' || { touch again; echo draft; }";
    let ended = drive(&["--choose", choose]).ok().json();
    assert_eq!((&ended["stop"], &ended["ran"]), (&json!("ended"), &json!(2)));
    let asked: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.path("asked")).unwrap()).unwrap();
    assert_eq!(asked["schema"]["properties"]["next_state"]["enum"], json!(["draft", "[*]"]));
    assert_eq!(asked["next"]["tt"], json!(["draft", "[*]"]));
    let files = sandbox.activity_files("r1");
    assert_eq!(files, ["001-draft.yaml", "002-review.yaml", "003-draft.yaml", "004-review.yaml"]);
    let log = sandbox.read("r1", "events.jsonl");
    let ends = log.lines().find(|line| line.contains(r#""ends":true"#)).unwrap();
    assert!(ends.contains(r#""next_state":"[*]""#), "{log}");
    assert_eq!(sandbox.flow(["list", "--json"]).ok().json()["runs"][0]["status"], "completed");
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn killed_anywhere_the_same_command_goes_on_and_repeats_no_finished_state() {
    for victim in ["plan", "work", "review", "ask", "chooser"] {
        let project = Project::new(GRAPH);
        let die = |at: &str| {
            format!("if [ \"{at}\" = {victim} ] && [ ! -e died ]; then touch died; kill -9 $PPID; sleep 0.3; fi")
        };
        let state = format!("{}; {NOTE}; cat > /dev/null; echo done", die("$FLOW_DRIVEN_STATE"));
        let on = ["agent", "tool", "user"].map(|kind| format!("{kind}={state}"));
        let choose = format!("{}; cat | grep -q '\"work\",\"ask\"' && echo ask || echo review", die("chooser"));
        let args = ["--on", &on[0], "--on", &on[1], "--on", &on[2], "--choose", &choose];
        let mut first = project.command(&args);
        let killed = first.stdin(Stdio::null()).output().unwrap();
        assert_eq!(killed.status.signal(), Some(9), "{victim}: {killed:?}");
        let resumed = project.resumed();
        let wanted = if victim == "chooser" { "continue" } else { "reconcile" };
        assert_eq!(resumed["verdict"], wanted, "{victim}: {resumed}");
        // What the dead driver left running has to end first.
        let deadline = Instant::now() + Duration::from_secs(20);
        let ended = loop {
            let answer = project.drive(&args);
            if answer.code != Some(5) || Instant::now() > deadline {
                break answer.ok();
            }
            assert!(answer.stderr.contains("still works on `"), "{answer:?}");
            thread::sleep(Duration::from_millis(50));
        };
        assert!(ended.stdout.starts_with("ended: r1"), "{ended:?}");
        let mut noted = project.noted();
        // The state whose command was left behind may have got as far as its note.
        noted.dedup();
        assert_eq!(noted, ["plan", "work", "review", "ask"], "{victim}");
        assert_eq!(project.0.activity_files("r1").len(), 5, "{victim}");
        project.0.assert_sound("r1");
        project.0.flow(["verify", "r1"]).ok();
    }
}

#[test]
fn what_a_killed_driver_left_running_is_told_and_nothing_is_begun_or_reported_beside_it() {
    let project = Project::new(GRAPH);
    let left = "agent=echo $$ > pid; kill -9 $PPID; exec sleep 60";
    let args = ["--on", left, "--on", "tool=echo t", "--choose", "echo review"];
    let killed = project.command(&args).stdin(Stdio::null()).output().unwrap();
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let process: i32 = std::fs::read_to_string(project.path("pid")).unwrap().trim().parse().unwrap();
    let resumed = project.resumed();
    assert_eq!(resumed["reason"], format!("process {process} still works on `plan`"));
    assert_eq!((&resumed["in_doubt"][0]["alive"], &resumed["in_doubt"][0]["process"]), (&json!(true), &json!(process)));
    let waits = json!([{ "when": "its end is to be waited for", "command": "flow wait r1 --commands" }]);
    assert_eq!(resumed["next"]["alternatives"], waits);
    assert!(resumed["notes"].to_string().contains(&format!("`kill {process}` ends it")), "{resumed}");
    assert_eq!(project.0.flow(["attention", "--json"]).ok().json()["runs"], json!([]));
    let line = project.0.flow(["hud"]).ok().stdout;
    assert!(line.contains(&format!("process {process} still works on it")), "{line}");
    for status in ["failed", "completed"] {
        let data = json!({ "status": status }).to_string();
        let report = ["emit", "--workflow", "job", "--run-id", "r1", "--type", "status_change", "--step", "plan"];
        project.0.flow(report.iter().copied().chain(["--data", &data])).exits(5);
    }
    let refused = project.0.flow(["advance", "r1", "--to", "work", "--json"]).exits(5).error();
    assert_eq!(refused["code"], "still_running");
    assert!(project.drive(&args).exits(5).stderr.contains(&format!("kill {process}")));
    let pid = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    project.0.flow(["wait", "r1", "--commands"]).ok();
    let resumed = project.resumed();
    assert_eq!(resumed["reason"], "`plan` was begun and its outcome is unknown");
    assert_eq!(resumed["in_doubt"][0]["alive"], json!(null));
    let first = resumed["next"]["alternatives"][0]["command"].as_str().unwrap();
    assert!(first.starts_with("flow drive "), "{first}");
    project.0.flow(["cancel", "r1", "--reason", "it is given up"]).ok();
    let over = project.drive(&args).exits(1).stdout;
    assert!(over.contains("the run is cancelled; `flow reopen r1 --reason 'why'` lets it go on"), "{over}");
}

#[test]
fn killed_before_any_call_the_same_command_goes_on() {
    if !can_inject("killed_before_any_call_the_same_command_goes_on") {
        return;
    }
    let quiet = "initial: a\nstates:\n  a:\n    type: decision\n    transition:\n      next: [b]\n  b:\n    type: decision\n    \
                 transition:\n      next: [end]\n  end:\n    type: terminal\n";
    let args = ["drive", "job.graph.yaml", "--run-id", "r1"];
    let begun = || {
        let project = Project::new(quiet);
        project.0.flow(["init"]).ok();
        project
    };
    let project = begun();
    let empty = Tree::of(&project.0.root());
    project.0.forget_answers_of_git();
    let (answer, calls) = calls(&project.0, &args);
    answer.ok();
    let deaths: Vec<_> = calls.iter().filter(|call| call.changes_something()).collect();
    assert!(deaths.len() > 60, "only {} calls", deaths.len());
    // A whole sweep takes as long as the other tests here together.
    let every = if std::env::var_os("FLOW_DRIVE").is_some_and(|which| which == "all") { 1 } else { 5 };
    for death in deaths.iter().step_by(every) {
        empty.restore(&project.0.root());
        project.0.forget_answers_of_git();
        let killed = killed_at(&project.0, death, &args);
        assert_eq!(killed.code, None, "{death:?}: {killed:?}");
        let ended = project.0.flow(args).ok();
        assert!(ended.stdout.starts_with("ended: r1"), "{death:?}: {ended:?}");
        // Nobody wrote to a run that was over already.
        project.0.flow(["doctor", "--repair"]).ok();
        assert_eq!(project.0.activity_files("r1"), ["001-a.yaml", "002-b.yaml", "003-end.yaml"], "{death:?}");
        project.0.assert_sound("r1");
    }
}

#[test]
fn an_invalid_choice_is_retried_with_the_reason_and_then_a_person_is_needed() {
    let project = Project::new(GRAPH);
    let on = ["--on", "agent=echo a", "--on", "tool=echo t"];
    let bad = ["--choose", "cat >> asked; echo >> asked; echo '{\"next_state\": \"end\"}'"];
    let answer = project.drive(&[&on[..], &bad, &["--json"]].concat()).exits(4).json();
    assert_eq!((&answer["stop"], &answer["state"]), (&json!("needs_human"), &json!("work")));
    let reason = answer["reason"].as_str().unwrap();
    insta::assert_snapshot!(reason, @"no valid choice of what follows `work` in 3 tries (`end` is not among the states that can follow: work, review); it can be `work`, `review`");
    let asked = std::fs::read_to_string(project.path("asked")).unwrap();
    let problems: Vec<_> =
        asked.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["problem"].clone()).collect();
    let named = json!("`end` is not among the states that can follow: work, review");
    assert_eq!(problems, [json!(null), named.clone(), named]);
    // Somebody chooses, and the driver goes on from there.
    project.0.flow(["advance", "r1", "--to", "review"]).ok();
    let answer = project.drive(&[&on[..], &["--json"]].concat()).exits(4).json();
    assert_eq!(
        (&answer["stop"], &answer["state"], &answer["ran"]),
        (&json!("needs_human"), &json!("review"), &json!(1))
    );
    assert!(answer["reason"].as_str().unwrap().contains("flow advance r1 --to STATE"), "{answer}");
}

/// Answers one question after another as a model would.
#[cfg(feature = "network")]
fn endpoint(replies: Vec<&'static str>) -> (String, thread::JoinHandle<Vec<(String, Value)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut asked = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap().to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let message = json!({ "choices": [{ "message": { "content": reply } }] }).to_string();
            let status = match reply {
                "fail" => "400 Oops",
                "broken" => "503 Busy",
                "too many" => "429 Slow down\r\nretry-after: 1",
                "an hour" => "429 Slow down\r\nretry-after: 3600",
                _ => "200 OK",
            };
            // A server may echo what it was sent.
            let key = head.lines().find_map(|line| line.strip_prefix("authorization: bearer ")).unwrap_or_default();
            let message = if status == "200 OK" { message } else { format!("invalid api key \"{key}\" given") };
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{message}",
                message.len()
            )
            .unwrap();
            asked.push((head, serde_json::from_slice(&body).unwrap()));
        }
        asked
    });
    (url, server)
}

#[test]
#[cfg(feature = "network")]
fn a_model_behind_an_endpoint_chooses_with_the_schema_as_structured_output() {
    let project = Project::new(GRAPH);
    let (url, server) =
        endpoint(vec!["```json\n{\"next_state\":\"nowhere\"}\n```", "{\"next_state\":\"review\"}", "fail"]);
    let on = ["--on", "agent=echo a", "--on", "tool=echo t", "--choose-url", &url, "--json"];
    let unnamed = project.drive(&on).exits(2).error();
    assert!(unnamed["message"].as_str().unwrap().contains("FLOW_CHOOSE_MODEL"), "{unnamed}");
    let mut command = project.command(&on);
    command.env("FLOW_CHOOSE_MODEL", "small-one").env("FLOW_CHOOSE_KEY", "s3cret");
    let answer = run(command, "").exits(4);
    assert!(!answer.stdout.contains("s3cret") && !answer.stderr.contains("s3cret"));
    let stopped = answer.json();
    assert_eq!(
        (&stopped["stop"], &stopped["state"], &stopped["ran"]),
        (&json!("needs_human"), &json!("review"), &json!(3))
    );
    assert!(
        stopped["reason"]
            .as_str()
            .unwrap()
            .contains("it answered 400 Bad Request: invalid api key \"[the key]\" given"),
        "{stopped}"
    );
    let asked = server.join().unwrap();
    let (head, body) = &asked[0];
    assert!(head.starts_with("post /v1/chat/completions") && head.contains("authorization: bearer s3cret"), "{head}");
    assert_eq!(body["model"], "small-one");
    let format = &body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["schema"]["properties"]["next_state"]["enum"], json!(["work", "review"]));
    assert!(asked[1].1.to_string().contains("`nowhere` is not among the states"), "{}", asked[1].1);
    assert!(!project.0.read("r1", "events.jsonl").contains("s3cret"));
}

#[test]
fn a_user_state_asks_on_the_terminal_or_waits_for_an_answer() {
    let graph = "initial: ask\nstates:\n  ask:\n    description: Which colour?\n    type: user\n    transition:\n      next: [paint]\n  \
                 paint:\n    type: tool\n    transition:\n      next: [end]\n  end:\n    type: terminal\n";
    let project = Project::new(graph);
    let on = ["--on", "tool=cat > told", "--json"];
    for _ in 0..2 {
        let stopped = project.drive(&on).exits(4).json();
        assert_eq!((&stopped["stop"], &stopped["reason"]), (&json!("needs_human"), &json!("Which colour?")));
    }
    let asked = project.0.events("r1").iter().filter(|event| event["reports"][0]["type"] == "waiting_for_user").count();
    assert_eq!(asked, 1, "it asked again");
    let resumed = project.resumed();
    assert_eq!((&resumed["verdict"], &resumed["next"]["action"]), (&json!("needs_human"), &json!("answer")));
    let answer =
        ["emit", "--workflow", "job", "--run-id", "r1", "--type", "user_answered", "--data", r#"{"answer":"red"}"#];
    project.0.flow(answer).ok();
    assert_eq!(project.drive(&on).ok().json()["stop"], "ended");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(project.path("told")).unwrap()).unwrap();
    assert_eq!(told["done"], json!([{ "state": "ask", "output": "red" }]));
}

#[test]
fn a_state_that_fails_or_takes_too_long_is_tried_again_by_the_same_command() {
    let project = Project::new(GRAPH);
    let agent = format!("{NOTE}; if [ ! -e fine ]; then echo 'no key' >&2; exit 7; fi; echo done");
    let args =
        ["--on", &format!("agent={agent}"), "--on", "tool=echo $$ > pid; sleep 60", "--timeout", "0.5", "--json"];
    let failed = project.drive(&args).exits(1).json();
    assert_eq!((&failed["stop"], &failed["state"]), (&json!("failed"), &json!("plan")));
    assert!(failed["reason"].as_str().unwrap().contains("exit status: 7: no key"), "{failed}");
    assert_eq!(project.resumed()["next"]["action"], "retry_phase");
    std::fs::write(project.path("fine"), "").unwrap();
    let slow = project.drive(&args).exits(1).json();
    assert_eq!((&slow["stop"], &slow["state"]), (&json!("failed"), &json!("work")));
    assert!(slow["reason"].as_str().unwrap().contains("took longer than 0.5 s"), "{slow}");
    let pid = std::fs::read_to_string(project.path("pid")).unwrap();
    assert!(!PathBuf::from(format!("/proc/{}/exe", pid.trim())).exists(), "the command outlived its time");
    assert_eq!(project.noted(), ["plan", "plan"]);
}

#[test]
fn a_type_without_a_command_and_a_way_out_of_the_graph_are_refused() {
    let project = Project::new(GRAPH);
    let missing = project.drive(&["--on", "agent=echo a", "--json"]).exits(2).error();
    assert!(missing["message"].as_str().unwrap().contains("--on tool='COMMAND'"), "{missing}");
    assert!(!project.path(".flow").exists(), "something was made before everything was known");
    let twice = project.drive(&["--on", "agent=a", "--on", "agent=b", "--on", "tool=c", "--json"]).exits(2).error();
    assert!(twice["message"].as_str().unwrap().contains("registered already"), "{twice}");
    let out = ["--on", "agent=echo '{\"next_state\":\"end\"}'", "--on", "tool=true", "--json"];
    let failed = project.drive(&out).exits(1).json();
    let reason = "`plan` failed: `plan` names `end` as the next state, and no transition leads there; the same command tries \
                  it again";
    assert_eq!(failed["reason"], reason);
    for (answer, why) in [("[\"b\"]", "has [\"b\"] as `next_state`"), ("5", "has 5 as `next_state`")] {
        let agent = format!("agent=echo '{{\"next_state\":{answer}}}'");
        let failed = project.drive(&["--on", &agent, "--on", "tool=true", "--json"]).exits(1).json();
        assert!(failed["reason"].as_str().unwrap().contains(why), "{failed}");
    }
    // Mended, it goes on.
    let mended =
        project.drive(&["--on", "agent=echo a", "--on", "tool=true", "--on", "agnet=x", "--json"]).exits(4).json();
    assert_eq!(mended["state"], "work");
    assert!(mended["warnings"][0].as_str().unwrap().contains("did you mean `agent`?"), "{mended}");
}

#[test]
fn what_a_state_leaves_in_the_background_neither_takes_its_output_nor_keeps_the_next_driver_out() {
    let project = Project::new(GRAPH);
    let daemon = ["--on", "agent=sleep 20 & echo kept", "--on", "tool=echo t", "--max-iter", "1", "--json"];
    project.drive(&daemon).exits(4);
    let shown = project.0.flow(["show", "r1", "--json"]).ok().json();
    assert_eq!(shown["activities"][0]["summary"], "kept");
    let choose = ["--choose", "sleep 20 & echo end"];
    let answer = project.drive(&[&daemon[..4], &choose, &["--json"]].concat()).exits(4).json();
    assert!(answer["reason"].as_str().unwrap().contains("`end` is not among the states"), "{answer}");
}

#[test]
fn another_graph_of_the_same_name_is_not_mistaken_for_the_runs_own() {
    let graph = |first: &str| {
        format!(
            "initial: {first}\nstates:\n  {first}: {{type: agent, transition: {{next: [end]}}}}\n  end: {{type: terminal}}\n"
        )
    };
    let project = Project::new(&graph("one"));
    let args = ["--on", "agent=echo a", "--max-iter", "1", "--json"];
    project.drive(&args).exits(4);
    std::fs::write(project.path("job.graph.yaml"), graph("two")).unwrap();
    let answer = project.drive(&args).exits(4).json();
    assert_eq!(answer["stop"], "needs_human");
    assert!(answer["reason"].as_str().unwrap().contains("state `one` removed"), "{answer}");
}

#[test]
fn a_graph_in_a_file_that_was_edited_can_be_adopted_by_the_command_that_is_told() {
    let graph = |next: &str| {
        format!(
            "initial: one\nstates:\n  one: {{type: agent, transition: {{next: [{next}]}}}}\n  \
             two: {{type: agent, transition: {{next: [end]}}}}\n  end: {{type: terminal}}\n"
        )
    };
    let project = Project::new(&graph("end, two"));
    let args = ["--on", "agent=echo a", "--max-iter", "1", "--json"];
    project.drive(&args).exits(4);
    std::fs::write(project.path("job.graph.yaml"), graph("two")).unwrap();
    let stopped = project.drive(&args).exits(4).json();
    let reason = stopped["reason"].as_str().unwrap();
    insta::assert_snapshot!(reason, @"run r1 began with another graph, and where it stands they differ (transition `one` → `end` removed): move it over with `flow workflow adopt r1 --from job.graph.yaml`, or begin another one with --run-id");
    std::fs::write(project.path("other.graph.yaml"), graph("two")).unwrap();
    let adopt = |file: &str| project.0.flow(["workflow", "adopt", "r1", "--from", file, "--json"]);
    let refused = adopt("other.graph.yaml").exits(2).error();
    assert_eq!(refused["message"], "other.graph.yaml defines the workflow other, and run r1 follows job");
    assert_eq!(adopt("job.graph.yaml").ok().json()["changed"], true);
    assert_eq!(project.drive(&["--on", "agent=echo a", "--json"]).ok().json()["stop"], "ended");
    project.0.assert_sound("r1");
}

#[test]
fn an_answer_is_the_output_of_its_state_whoever_completes_it() {
    let graph = "initial: ask\nstates:\n  ask: {type: user, description: Who are you?, transition: {next: [work]}}\n  \
                 work: {type: agent, transition: {next: [end]}}\n  end: {type: terminal}\n";
    let project = Project::new(graph);
    project.drive(&["--on", "agent=cat", "--json"]).exits(4);
    let emit = |data: &str, kind: &str| {
        let step = ["--step", "ask", "--type", kind, "--data", data];
        project.0.flow([&["emit", "--workflow", "job", "--run-id", "r1"][..], &step].concat()).ok();
    };
    emit(r#"{"answer":"Ada"}"#, "user_answered");
    emit(r#"{"status":"completed"}"#, "status_change");
    project.drive(&["--on", "agent=cat > seen"]).ok();
    let seen: Value = serde_json::from_str(&std::fs::read_to_string(project.path("seen")).unwrap()).unwrap();
    assert_eq!(seen["done"][0], json!({ "state": "ask", "output": "Ada" }));
}

#[test]
fn only_one_driver_holds_a_run_and_its_commands_may_record() {
    let project = Project::new(GRAPH);
    let record = "\"$FLOW\" record-activity --run-id \"$FLOW_DRIVEN_RUN\" --id within --summary 'seen from inside' >&2";
    let agent = format!("agent={record} && touch began; until [ -e go ]; do sleep 0.05; done; echo a");
    let args = ["--on", &agent, "--on", "tool=echo t", "--json"];
    let mut first = project.command(&args);
    let child = first.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !project.path("began").exists() {
        assert!(Instant::now() < deadline, "its first state did not begin");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(project.resumed()["verdict"], "held");
    // Whoever reads this must not be told to kill the command of a driver that lives.
    assert_eq!(project.drive(&args).exits(5).error()["code"], "run_held");
    std::fs::write(project.path("go"), "").unwrap();
    let first = child.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(4), "{first:?}");
    assert_eq!(project.0.records_of("r1", "within"), 1);
    assert_eq!(project.resumed()["verdict"], "continue", "the run is free again");
}

#[test]
fn without_a_name_the_open_run_of_the_graph_is_driven_and_none_twice() {
    let project = Project::new(GRAPH);
    let unnamed = |max: &str| {
        let mut command = project.0.flow_command();
        command.args(["drive", "job.graph.yaml", "--on", "agent=echo a", "--on", "tool=echo t", "--max-iter", max]);
        run(command, "").exits(4)
    };
    unnamed("1");
    unnamed("1");
    let runs = project.0.runs();
    assert_eq!(runs.len(), 1, "it began again");
    assert_eq!(project.0.activity_files(&runs[0]), ["001-plan.yaml", "002-work.yaml"]);
    // A run that cannot be read may be the one that is meant.
    std::fs::write(project.0.run_dir(&runs[0]).join("run.yaml"), "{").unwrap();
    let mut command = project.0.flow_command();
    command.args(["drive", "job.graph.yaml", "--on", "agent=echo a", "--on", "tool=echo t", "--json"]);
    assert_eq!(run(command, "").exits(65).error()["code"], "no_active_run");
    assert_eq!(project.0.runs().len(), 1);
}

#[test]
fn nothing_that_a_terminal_obeys_comes_through_from_a_command() {
    let project = Project::new(GRAPH);
    let on = ["--on", "agent=printf 'a\\033]52;c;eA==\\007b\\n' >&2; printf 'x\\033[31my'", "--on", "tool=false"];
    let answer = project.drive(&on).exits(1);
    insta::assert_snapshot!(answer.stderr, @r"
    plan begins
      a]52;c;eA==b
    plan is done
      x[31my
    work begins
    ");
    assert!(!answer.stderr.contains('\u{1b}') && !answer.stdout.contains('\u{1b}'), "{answer:?}");
}

#[test]
fn a_run_that_is_removed_while_it_is_driven_does_not_begin_again() {
    for what in [".flow/runs/r1", ".flow"] {
        let project = Project::new(GRAPH);
        let refused = project.drive(&["--on", &format!("agent=rm -r {what}; echo said"), "--on", "tool=true"]).exits(3);
        assert!(refused.stderr.contains("said"), "what the state put out is lost: {}", refused.stderr);
        assert!(!project.path(".flow/runs/r1").exists(), "{}", refused.stderr);
    }
}

#[test]
fn a_run_goes_on_when_its_definition_is_gone_or_broken() {
    let sandbox = Sandbox::new();
    let path = sandbox.path(".flow/workflows/job.graph.yaml");
    sandbox.flow(["init"]).ok();
    let graph = "initial: a\nstates:\n  a: {type: agent, transition: {next: b}}\n  b: {type: terminal}\n";
    std::fs::write(&path, graph).unwrap();
    let drive = ["drive", "job", "--run-id", "r1", "--on", "agent=echo x", "--json"];
    sandbox.flow(drive.iter().chain(&["--max-iter", "1"])).exits(4);
    std::fs::remove_file(&path).unwrap();
    let gone = sandbox.flow(drive).ok().json();
    let warnings = ["the run goes on with the graph that it began with: there is no workflow `job`"];
    assert_eq!((&gone["stop"], &gone["warnings"]), (&json!("ended"), &json!(warnings)), "{gone}");
    // By its path as well, the way on is told.
    let told = sandbox.flow(["drive", "./job.yaml", "--run-id", "r1", "--on", "agent=echo x"]).exits(2).stderr;
    insta::assert_snapshot!(told, @r"
    error: there is no workflow ./job.yaml; run r1 keeps the one that it follows, and `flow drive job --run-id r1` goes on with it
      help: see `flow help drive`
    ");
    // Without a run there is nothing to go on with.
    let error = sandbox.flow(["drive", "job", "--run-id", "r2", "--on", "agent=echo x", "--json"]).exits(3).error();
    assert_eq!(error["code"], "unknown_workflow");
}

#[test]
fn what_a_state_gives_to_a_run_that_is_over_meanwhile_is_shown() {
    let project =
        Project::new("initial: a\nstates:\n  a: {type: agent, transition: {next: b}}\n  b: {type: terminal}\n");
    let command = "agent=env -u FLOW_SESSION -u FLOW_EPOCH \"$FLOW\" cancel r1 >&2 && echo precious";
    let report = project.drive(&["--on", command, "--json"]).exits(1).json();
    assert_eq!(
        report["reason"],
        "the output of `a` is not recorded: the run is cancelled now. The output is: precious"
    );
    assert_eq!(report["stop"], "failed");
}

#[test]
#[cfg(feature = "network")]
fn a_busy_endpoint_is_asked_again_within_bounds() {
    let chosen = "{\"next_state\":\"review\"}";
    let asked = |replies: Vec<&'static str>, limit: &str| {
        let project = Project::new(GRAPH);
        let (url, server) = endpoint(replies);
        let on = [
            "--on", "agent=echo a", "--on", "tool=echo t", "--choose-url", &url, "--timeout", limit, "--max-iter", "3",
        ];
        let mut command = project.command(&[&on[..], &["--json"]].concat());
        command.env("FLOW_CHOOSE_MODEL", "m").env("FLOW_CHOOSE_KEY", "s3cret-key");
        let begun = std::time::Instant::now();
        let answer = run(command, "").exits(4);
        assert!(!answer.stdout.contains("s3cret") && !answer.stderr.contains("s3cret"), "{answer:?}");
        (answer.json(), server.join().unwrap().len(), begun.elapsed())
    };
    let (waited, given_up) = std::thread::scope(|scope| {
        let waited = scope.spawn(|| asked(vec!["broken", "too many", chosen], "60"));
        let given_up = asked(vec!["broken"; 4], "60");
        (waited.join().unwrap(), given_up)
    });
    let (report, times, took) = waited;
    assert_eq!((&report["state"], times), (&json!("review"), 3), "{report}");
    assert!(took >= std::time::Duration::from_millis(1500), "{took:?}: it did not wait");
    let (report, _, _) = given_up;
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("it answered 503") && reason.contains("[the key]"), "{report}");
    assert!(reason.contains("(asked 4 times)"), "{report}");
    // A word of the question that serves as a key stays what it is in an answer.
    let project = Project::new(GRAPH);
    let (url, server) = endpoint(vec![chosen]);
    let on = ["--on", "agent=echo a", "--on", "tool=echo t", "--choose-url", &url, "--max-iter", "3", "--json"];
    let mut command = project.command(&on);
    command.env("FLOW_CHOOSE_MODEL", "m").env("FLOW_CHOOSE_KEY", "e");
    assert_eq!(run(command, "").exits(4).json()["state"], "review");
    server.join().unwrap();
    // Longer than there is time.
    let (report, _, took) = asked(vec!["an hour"], "60");
    assert!(report["reason"].as_str().unwrap().contains("it answered 429"), "{report}");
    assert!(took < std::time::Duration::from_secs(30), "{took:?}");
}

#[test]
#[cfg(feature = "network")]
fn an_address_that_is_none_is_refused_before_anything_runs_and_a_password_is_never_shown() {
    let project = Project::new(GRAPH);
    let drive = |url: &str| {
        let mut command = project.command(&["--on", "agent=true", "--on", "tool=true", "--choose-url", url, "--json"]);
        command.env("FLOW_CHOOSE_MODEL", "m");
        run(command, "")
    };
    for address in ["nonsense", "ftp://example.org/v1", "http://"] {
        assert_eq!(drive(address).exits(2).error()["code"], "usage", "{address}");
    }
    assert!(project.0.runs().is_empty(), "something was begun");
    // Nobody listens where a listener was closed.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let answer = drive(&format!("http://ada:secret@127.0.0.1:{port}/v1")).exits(4);
    let shown = format!("{}{}", answer.stdout, answer.stderr);
    assert!(shown.contains(&format!("http://127.0.0.1:{port}/v1")) && !shown.contains("secret"), "{shown}");
}

#[test]
#[cfg(not(feature = "network"))]
fn without_the_network_no_model_is_asked_and_nothing_is_begun() {
    let project = Project::new(GRAPH);
    let on = ["--on", "agent=true", "--on", "tool=true", "--choose-url", "http://127.0.0.1:1/v1", "--json"];
    assert_eq!(project.drive(&on).exits(2).error()["code"], "no_network");
    assert!(project.0.runs().is_empty(), "something was begun");
}

#[test]
fn a_graph_with_types_of_its_own_needs_a_command_for_each_and_gives_them_its_settings() {
    // The complete example of the source, with its own types, and a setting.
    let graph = "\
initial: agent_reply
states:
  ask_user: {description: Waiting for user input, type: user, transition: {next: [agent_reply]}}
  agent_reply: {type: agent, transition: {next: [agent_reply, ask_user, use_tool, autonomous_plan, learn_skill]}}
  use_tool: {type: tool, transition: {next: [agent_reply, ask_user]}}
  autonomous_plan: {type: planner, greeting: Hi there!, transition: {next: [execute_step, ask_user]}}
  execute_step: {type: executor, transition: {next: [execute_step, verify_progress]}}
  verify_progress: {type: verifier, transition: {next: [execute_step, autonomous_plan, agent_reply, ask_user]}}
  learn_skill: {type: skill_builder, transition: {next: [agent_reply, autonomous_plan]}}
";
    let project = Project::new(graph);
    let checked = project.0.flow(["workflow", "check", "job.graph.yaml", "--json"]).ok().json();
    let told: Vec<_> = checked["diagnostics"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert_eq!(told.iter().filter(|code| **code == "unknown_type").count(), 4, "{checked}");
    let some = ["--on", "agent=echo autonomous_plan", "--on", "tool=true", "--on", "planner=cat > told; echo planned"];
    let refused = project.drive(&[&some[..], &["--json"]].concat()).exits(2).error();
    assert_eq!(
        refused["message"],
        "there is no command for states of the type `executor` (state `execute_step`), `verifier` (state \
         `verify_progress`), `skill_builder` (state `learn_skill`): give one for each with --on executor='COMMAND' --on \
         verifier='COMMAND' --on skill_builder='COMMAND', or leave a type to a person with --type TYPE"
    );
    assert!(project.0.runs().is_empty(), "something was begun");
    let rest = ["executor=true", "verifier=true", "skill_builder=true"].map(|on| ["--on", on]).concat();
    let choose = ["--type", "more", "--choose", "echo autonomous_plan", "--max-iter", "2", "--json"];
    let stopped = project.drive(&[&some[..], &rest, &choose].concat()).exits(4).json();
    assert_eq!((&stopped["state"], &stopped["warnings"]), (&json!("autonomous_plan"), &json!([])), "{stopped}");
    let events = project.0.events("r1").len();
    project.drive(&some).exits(2);
    assert_eq!(project.0.events("r1").len(), events, "a refused driver claims no run");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(project.path("told")).unwrap()).unwrap();
    assert_eq!(told["state"]["config"], json!({ "greeting": "Hi there!" }));
}

#[test]
fn what_a_state_gave_is_shown_and_a_person_is_asked_below_it() {
    let graph = "initial: think\nstates:\n  think: {type: agent, transition: {next: [quiet]}}\n  \
                 quiet: {type: tool, transition: {next: [ask]}}\n  \
                 ask: {description: Is that right?, type: user, transition: {next: [end]}}\n  end: {type: terminal}\n";
    let project = Project::new(graph);
    let args = ["--on", "agent=printf 'One.\\nTwo.'", "--on", "tool=true"];
    let stopped = project.drive(&args).exits(4);
    insta::assert_snapshot!(stopped.stderr, @r"
    think begins
    think is done
      One.
      Two.
    quiet begins
    quiet is done
    ask begins
    ");
    // Another process shows what it rests on, since that may have scrolled away.
    let again = project.drive(&args).exits(4);
    assert_eq!(again.stderr, "  One.\n  Two.\n");
    let json = project.drive(&[&args[..], &["--json"]].concat()).exits(4).json();
    assert_eq!(json["given"], json!({ "state": "think", "output": "One.\nTwo." }));
    if !has_terminals("what_a_state_gave_is_shown_and_a_person_is_asked_below_it") {
        return;
    }
    let mut person = Person::before(&project.command(&args));
    assert!(person.sees("  One.\r\n  Two.\r\nIs that right?\r\n> ", 1), "{}", person.seen());
    person.types("yes\n");
    assert_eq!(person.ended().code(), Some(0), "{}", person.seen());
    assert!(!person.seen().contains("  yes"), "{}", person.seen());
}

#[test]
fn a_command_may_say_that_a_person_is_needed_or_that_it_is_not_done_yet() {
    let graph = "initial: call\nstates:\n  call: {type: tool, transition: {next: [end]}}\n  end: {type: terminal}\n";
    let project = Project::new(graph);
    let says = |answer: &str| format!("tool=cat > told; echo '{answer}'");
    let drive = |answer: &str| project.drive(&["--on", &says(answer), "--json"]);
    let asks = r#"{"needs_human": "Let flow read your mail", "link": "https://example.com/auth"}"#;
    for _ in 0..2 {
        let stopped = drive(asks).exits(4).json();
        let reason = "Let flow read your mail (https://example.com/auth)";
        assert_eq!((&stopped["stop"], &stopped["reason"]), (&json!("needs_human"), &json!(reason)), "{stopped}");
    }
    let asked = || project.0.events("r1").iter().filter(|e| e["reports"][0]["type"] == "waiting_for_user").count();
    assert_eq!(asked(), 1, "it asked again");
    let resumed = project.resumed();
    assert_eq!((&resumed["verdict"], &resumed["next"]["action"]), (&json!("needs_human"), &json!("answer")));
    drive(r#"{"needs_human": "Another thing"}"#).exits(4);
    assert_eq!(asked(), 2, "another question is another one");
    let answer =
        ["emit", "--workflow", "job", "--run-id", "r1", "--type", "user_answered", "--data", r#"{"answer":"go"}"#];
    project.0.flow(answer).ok();
    // The answer reaches the command that asked. It waits for something, which is no failure and nothing to answer.
    for _ in 0..2 {
        let waits = drive(r#"{"not_ready": "the build runs"}"#).exits(4).json();
        let reason = "`call` is not ready: the build runs; the same command looks again";
        assert_eq!((&waits["stop"], &waits["reason"]), (&json!("not_ready"), &json!(reason)), "{waits}");
    }
    let resumed = project.resumed();
    assert_eq!(
        (&resumed["verdict"], &resumed["reason"]),
        (&json!("needs_human"), &json!("`call` waits: the build runs"))
    );
    let waits = project.0.events("r1").iter().filter(|e| e["reports"][0]["data"]["status"] == "waiting").count();
    assert_eq!(waits, 1, "it said so again");
    let failed = drive(r#"{"needs_human": 5}"#).exits(1).json();
    assert!(failed["reason"].as_str().unwrap().contains("has 5 as `needs_human`, which is not a string"), "{failed}");
    assert_eq!(drive(r#"{"made": true}"#).ok().json()["stop"], "ended");
    project.0.assert_sound("r1");
    project.0.flow(["verify", "r1"]).ok();
}

#[test]
fn the_answer_that_a_command_asked_for_reaches_it() {
    let graph = "initial: call\nstates:\n  call: {type: tool, transition: {next: [end]}}\n  end: {type: terminal}\n";
    let project = Project::new(graph);
    let tool = "tool=cat > told; grep -q '\"answer\":\"go\"' told && echo went || echo '{\"needs_human\": \"Go?\"}'";
    project.drive(&["--on", tool]).exits(4);
    let answer =
        ["emit", "--workflow", "job", "--run-id", "r1", "--type", "user_answered", "--data", r#"{"answer":"go"}"#];
    project.0.flow(answer).ok();
    project.drive(&["--on", tool]).ok();
    assert!(project.0.read("r1", "activities/001-call.yaml").contains("summary: went"));
}

#[test]
fn a_fork_is_driven_by_the_command_of_its_parent_and_not_its_parent() {
    let project = Project::new(GRAPH);
    project.drive(&["--on", "agent=false", "--on", "tool=true", "--max-iter", "1"]);
    let before = project.0.events("r1").len();
    project.0.flow(["fork", "r1", "--id", "child"]).ok();
    let next = project.0.flow(["resume", "child", "--json"]).json()["next"].to_string();
    assert!(next.contains("flow drive job.graph.yaml --run-id child --on agent=false"), "{next}");
    assert!(!next.contains("--run-id r1"), "{next}");
    assert_eq!(project.0.events("r1").len(), before);
}

#[test]
fn a_run_knows_the_command_that_drives_it_and_resume_advises_it() {
    let project = Project::new(GRAPH);
    let agent = r#"agent=printf %s "it's $FLOW_DRIVEN_STATE"; cat > told-$FLOW_DRIVEN_STATE"#;
    let args = ["--on", agent, "--on", "tool=true", "--choose", "echo review", "--max-iter", "1"];
    project.drive(&args).exits(4);
    let resumed = project.resumed();
    let next = &resumed["next"];
    let first = &next["alternatives"][0];
    assert_eq!(next["command"], json!(null), "{resumed}");
    assert_eq!(first["when"], "you drive it further, with the same commands");
    let command = first["command"].as_str().unwrap();
    assert!(command.starts_with("flow drive job.graph.yaml --run-id r1 --on 'agent=printf"), "{command}");
    let events = project.0.events("r1").len();
    // It is the same command.
    let mut shell = project.0.command("sh");
    let path = PathBuf::from(env!("CARGO_BIN_EXE_flow"));
    let paths = format!("{}:{}", path.parent().unwrap().display(), std::env::var("PATH").unwrap());
    shell.env("PATH", paths).args(["-c", &format!("{command} --max-iter 2")]);
    run(shell, "").exits(4);
    assert_eq!(project.0.activity_files("r1"), ["001-plan.yaml", "002-work.yaml", "003-review.yaml"]);
    assert!(project.0.read("r1", "activities/003-review.yaml").contains("it's review"));
    let remembered = project.0.events("r1").into_iter().filter(|event| event["type"] == "run_edited").count();
    assert_eq!((remembered, events < project.0.events("r1").len()), (1, true), "what it knows is not noted again");
    // What is in it stays between the person and flow.
    let told = std::fs::read_to_string(project.path("told-review")).unwrap();
    assert!(!told.contains("flow drive"), "{told}");
    project.0.assert_sound("r1");
    project.0.flow(["verify", "r1"]).ok();
    // Whatever else somebody writes there is no command that flow advises.
    project.0.edit("r1", "  drive: ", "  drive: rm -rf . # ");
    assert!(!project.resumed().to_string().contains("rm -rf"), "{}", project.resumed());
}
