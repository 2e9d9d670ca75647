//! What work used: tokens, money and time, and what is not known of it.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox
}

fn record(sandbox: &Sandbox, options: &[&str]) {
    sandbox.flow(["record-activity", "--run-id", "r1"].iter().chain(options)).ok();
}

fn usage(sandbox: &Sandbox) -> Value {
    sandbox.flow(["show", "r1", "--json"]).ok().json()["usage"].clone()
}

/// The lines of a page from one with this text on.
fn lines_from(page: &str, first: &str) -> String {
    let lines: Vec<_> = page.lines().skip_while(|line| !line.contains(first)).collect();
    lines.join("\n")
}

#[test]
fn every_way_in_leads_to_the_same_sums() {
    let sandbox = sandbox();
    let options =
        ["--tokens-in", "1200", "--tokens-out", "340", "--cost", "0.1 USD", "--model", "m1", "--duration", "12.5s"];
    record(&sandbox, &[&["--id", "a"][..], &options].concat());
    let document = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata: {id: b, run_id: r1}\n\
                    activity: {type: agent, status: failed}\n\
                    outputs: {usage: {tokens_in: 800, cost: {amount: \"0.20\", currency: USD}, model: m2, cached: 7}}\n";
    sandbox.flow_with(["record-activity", "--activity-file", "-"], document).ok();
    // An option stands over the field of the document, and over no other one.
    let other = document.replace("id: b", "id: c");
    sandbox.flow_with(["record-activity", "--activity-file", "-", "--cost", "3 EUR"], &other).ok();
    record(&sandbox, &["--id", "d", "--summary", "says nothing of it"]);
    sandbox.flow(["exec", "--run-id", "r1", "--id", "e", "--tokens-out", "5", "--duration", "1ms", "--", "true"]).ok();
    let shown = sandbox.flow(["show", "r1"]).ok();
    insta::assert_snapshot!(lines_from(&shown.stdout, "activities"), @"
    activities
      001  a  preflight  passed, claimed  1,200 tokens in, 340 out, 0.1 USD, 12.5s, with m1
      002  b  preflight  failed           800 tokens in, 0.20 USD, with m2
      003  c  preflight  failed           800 tokens in, 3 EUR, with m2
      004  d  preflight  passed, claimed                                                     says nothing of it
      005  e  preflight  running                                                             true
      006  e  preflight  passed, seen     5 tokens out, 0.001s                               true
    usage
      preflight  2,800 tokens in (3 of 5 reported), 345 out (2 of 5 reported), 3 EUR (1 of 5 reported), 0.30 USD (2 of 5 reported), 12.501s (2 of 5 reported)
      with m1    1,200 tokens in, 340 out, 0.1 USD, 12.5s
      with m2    1,600 tokens in, 3 EUR (1 of 2 reported), 0.20 USD (1 of 2 reported)
      all        2,800 tokens in (3 of 5 reported), 345 out (2 of 5 reported), 3 EUR (1 of 5 reported), 0.30 USD (2 of 5 reported), 12.501s (2 of 5 reported)
    evidence (fresh: the tracked and untracked files are the same)
      006  e  preflight  true  passed, seen  fresh
    ");
    let of = usage(&sandbox);
    assert_eq!(of["costs"][0], json!({ "amount": "3", "currency": "EUR", "reported": 1 }));
    assert_eq!(of["costs"][1], json!({ "amount": "0.30", "currency": "USD", "reported": 2 }));
    insta::assert_snapshot!(of["models"][1], @r#"{"model":"m2","work":2,"tokens_in":{"sum":1600,"reported":2},"tokens_out":null,"costs":[{"amount":"3","currency":"EUR","reported":1},{"amount":"0.20","currency":"USD","reported":1}],"duration_ms":null}"#);
    assert_eq!(of["phases"][0]["phase"], "preflight");
    let kept = sandbox.read("r1", "activities/002-b.yaml");
    assert!(kept.contains("cached: 7"), "{kept}");
}

#[test]
fn what_is_wrong_is_refused_with_the_name_of_its_field() {
    let sandbox = sandbox();
    let mut told = Vec::new();
    for (option, value) in [
        ("--tokens-in", "-1"),
        ("--tokens-out", "1.5"),
        ("--cost", "-1 USD"),
        ("--cost", "0.42 usd"),
        ("--cost", "0.42"),
        ("--cost", "1e3 USD"),
        ("--model", ""),
        ("--duration", "12"),
        ("--duration", "-1s"),
    ] {
        let answer = sandbox.flow(["record-activity", "--run-id", "r1", "--id", "a", option, value]).exits(2);
        told.push(answer.stderr.lines().next().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    error: invalid value '-1' for '--tokens-in <N>': give a whole number from 0 to 281474976710656
    error: invalid value '1.5' for '--tokens-out <N>': give a whole number from 0 to 281474976710656
    error: invalid value '-1 USD' for '--cost <AMOUNT CURRENCY>': the amount is "-1"; write a decimal number that is not negative, such as 0.42, with at most 18 digits before the point and 12 behind it
    error: invalid value '0.42 usd' for '--cost <AMOUNT CURRENCY>': the currency is "usd"; write three capital letters, such as USD
    error: invalid value '0.42' for '--cost <AMOUNT CURRENCY>': write an amount and its currency, such as '0.42 USD'
    error: invalid value '1e3 USD' for '--cost <AMOUNT CURRENCY>': the amount is "1e3"; write a decimal number that is not negative, such as 0.42, with at most 18 digits before the point and 12 behind it
    error: invalid value '' for '--model <NAME>': write a name of at most 200 bytes, without control characters
    error: invalid value '12' for '--duration <TIME>': write a number and its unit, ms, s, m or h, such as 12.5s
    error: invalid value '-1s' for '--duration <TIME>': write a number and its unit, ms, s, m or h, such as 12.5s
    "#);
    let mut told = Vec::new();
    for usage in [
        "{tokens_in: -1}",
        "{tokens_in: many}",
        "{cost: {amount: 0.42, currency: USD}}",
        "{cost: {amount: \"-0.42\", currency: USD}}",
        "{cost: {amount: \"0.42\", currency: usd}}",
        "{cost: {amount: \"0.42\"}}",
        "{duration: 12}",
    ] {
        let document = format!(
            "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata: {{id: b, run_id: r1}}\n\
             activity: {{type: agent, status: passed}}\noutputs: {{usage: {usage}}}\n"
        );
        let answer = sandbox.flow_with(["record-activity", "--activity-file", "-"], &document).exits(1);
        told.push(answer.stderr.lines().next().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error: standard input:5:30 is not a valid FlowActivity document: `outputs.usage.tokens_in` is -1; the least is 0
    error: standard input:5:30 is not a valid FlowActivity document: `outputs.usage.tokens_in` must be a whole number or null, not `many`
    error: standard input:5:34 is not a valid FlowActivity document: `outputs.usage.cost.amount` must be text, not 0.42; put it in quotes
    error: standard input:5:34 is not a valid FlowActivity document: `outputs.usage.cost.amount` is `-0.42`; write a decimal number that is not negative, such as 0.42
    error: standard input:5:52 is not a valid FlowActivity document: `outputs.usage.cost.currency` is `usd`; write three capital letters, such as USD
    error: standard input:5:25 is not a valid FlowActivity document: `outputs.usage.cost.currency` is missing
    error: standard input:5:29 is not a valid FlowActivity document: `outputs.usage.duration` must be text or null, not 12; put it in quotes
    ");
    assert_eq!(usage(&sandbox)["work"], 0);
}

#[test]
fn a_report_with_usage_that_is_wrong_is_refused() {
    let sandbox = sandbox();
    let mut told = Vec::new();
    for data in [
        json!({ "status": "completed", "usage": { "tokens_in": -1 } }),
        json!({ "status": "completed", "usage": { "cost": { "amount": "1", "currency": "usd" } } }),
        json!({ "status": "completed", "usage": { "tokens": 1 } }),
        json!({ "status": "running", "usage": { "tokens_in": 1 } }),
    ] {
        let data = data.to_string();
        let emit = ["emit", "--workflow", "debug", "--type", "status_change", "--run-id", "r1", "--step", "preflight"];
        let answer = sandbox.flow(emit.iter().chain(&["--data", data.as_str()])).exits(2);
        told.push(answer.stderr.lines().next().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    Error: --data: usage.tokens_in is -1; write a whole number from 0 to 281474976710656
    Error: --data: usage.cost.currency is "usd"; write three capital letters, such as USD
    Error: --data: usage.tokens is not known; usage has tokens_in, tokens_out, cost, model, duration
    Error: 'usage' is what work used, so it stands where work ends, not in a change to 'running'
    "#);
    assert_eq!(usage(&sandbox)["work"], 0);
}

#[test]
fn what_nobody_reported_is_unknown_and_not_0() {
    let sandbox = sandbox();
    record(&sandbox, &["--id", "a"]);
    let of = usage(&sandbox);
    let known = ["tokens_in", "tokens_out", "duration_ms"].map(|key| of[key].clone());
    assert_eq!((known, &of["costs"], &of["work"]), ([Value::Null, Value::Null, Value::Null], &json!([]), &json!(1)));
    assert!(!sandbox.flow(["show", "r1"]).ok().stdout.contains("usage"));
    let listed = sandbox.flow(["list", "--usage"]).ok();
    insta::assert_snapshot!(lines_from(&listed.stdout, "usage"), @"
    usage
      r1  –
    usage together
      debug, 1 run  –
      all 1 run     –
    ");
    record(&sandbox, &["--id", "b", "--tokens-in", "0"]);
    assert_eq!(usage(&sandbox)["tokens_in"], json!({ "sum": 0, "reported": 1 }));
    // Nothing is expected of what was not done, and of a person's word.
    record(&sandbox, &["--id", "c", "--status", "skipped", "--summary", "not needed"]);
    record(&sandbox, &["--id", "d", "--status", "running"]);
    assert_eq!(usage(&sandbox)["work"], 2);
}

#[test]
fn a_report_on_a_run_says_what_its_work_used() {
    let sandbox = sandbox();
    record(&sandbox, &["--id", "a"]);
    assert!(!sandbox.flow(["report", "r1"]).ok().stdout.contains("Used"));
    record(&sandbox, &["--id", "b", "--tokens-in", "1200", "--cost", "0.42 USD"]);
    let report = sandbox.flow(["report", "r1"]).ok().stdout;
    insta::assert_snapshot!(report, @r"
    ## `r1` active

    Workflow `debug`, in `preflight`.
    Branch: `main`
    Used: 1,200 tokens in, 0.42 USD (1 of 2 reported)

    ### Claimed

    - 001 `a` passed in `preflight`
    - 002 `b` passed in `preflight`
    ");
    assert_eq!(sandbox.flow(["report", "r1", "--format", "json"]).ok().json()["usage"], usage(&sandbox));
}

#[test]
fn each_attempt_counts_and_each_event_once() {
    let sandbox = sandbox();
    let first = ["--id", "a", "--status", "failed", "--cost", "0.10 USD"];
    record(&sandbox, &first);
    record(&sandbox, &first);
    let cost = |sandbox: &Sandbox| usage(sandbox)["costs"].clone();
    assert_eq!(cost(&sandbox), json!([{ "amount": "0.10", "currency": "USD", "reported": 1 }]));
    record(&sandbox, &["--id", "a", "--status", "passed", "--cost", "0.05 USD"]);
    assert_eq!(cost(&sandbox), json!([{ "amount": "0.15", "currency": "USD", "reported": 2 }]));
    let log = sandbox.read("r1", "events.jsonl");
    let again = log.lines().nth(1).unwrap();
    fs::write(sandbox.run_dir("r1").join("events.jsonl"), format!("{log}{again}\n")).unwrap();
    assert_eq!(cost(&sandbox), json!([{ "amount": "0.15", "currency": "USD", "reported": 2 }]));
}

#[test]
fn reports_on_steps_and_on_sub_agents_count_in_their_phase() {
    let sandbox = Sandbox::new();
    let emit = |step: &str, data: &str| {
        let line = ["emit", "--workflow", "debug", "--type", "status_change", "--run-id", "r1", "--step", step];
        sandbox.flow(line.iter().chain(&["--data", data])).ok();
    };
    emit("preflight", r#"{"status":"running"}"#);
    emit("reader:look", r#"{"status":"completed","usage":{"tokens_in":70}}"#);
    emit("preflight", r#"{"status":"completed","usage":{"tokens_in":7,"cost":{"amount":"0.3","currency":"USD"}}}"#);
    // A step that ended may have used more by then.
    emit("preflight", r#"{"status":"completed","usage":{"tokens_in":3}}"#);
    let of = usage(&sandbox);
    assert_eq!((&of["tokens_in"], &of["work"]), (&json!({ "sum": 80, "reported": 3 }), &json!(3)));
    assert_eq!(of["phases"][0]["phase"], "preflight");
    assert_eq!(of["phases"].as_array().unwrap().len(), 1);
    assert!(sandbox.read("r1", "activities/001-preflight.yaml").contains("tokens_in: 7"));
    sandbox.flow(["verify", "r1"]).ok();
}

#[test]
fn a_list_adds_up_by_run_and_by_workflow() {
    let sandbox = sandbox();
    record(&sandbox, &["--id", "a", "--tokens-in", "10", "--cost", "0.1 USD", "--model", "m1"]);
    record(&sandbox, &["--id", "b"]);
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "a", "--cost", "0.2 USD"]).ok();
    sandbox.flow(["start", "start-issue", "--id", "r3"]).ok();
    sandbox.flow(["record-activity", "--run-id", "r3", "--id", "a", "--cost", "1 EUR"]).ok();
    sandbox.flow(["cancel", "r3"]).ok();
    let listed = sandbox.flow(["list", "--usage"]).ok();
    insta::assert_snapshot!(lines_from(&listed.stdout, "usage"), @"
    usage
      r3  1 EUR
      r2  0.2 USD
      r1  10 tokens in, 0.1 USD (1 of 2 reported)
    usage together
      debug, 2 runs       10 tokens in (1 of 3 reported), 0.3 USD (2 of 3 reported)
      start-issue, 1 run  1 EUR
      with m1             10 tokens in, 0.1 USD
      all 3 runs          10 tokens in (1 of 4 reported), 1 EUR (1 of 4 reported), 0.3 USD (2 of 4 reported)
    ");
    let report = sandbox.flow(["list", "--usage", "--json", "--workflow", "debug"]).ok().json();
    insta::assert_snapshot!(report["usage"], @r#"{"total":{"work":3,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.3","currency":"USD","reported":2}],"duration_ms":null,"models":[{"model":"m1","work":1,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.1","currency":"USD","reported":1}],"duration_ms":null}]},"workflows":[{"workflow":"debug","listed":2,"work":3,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.3","currency":"USD","reported":2}],"duration_ms":null,"models":[{"model":"m1","work":1,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.1","currency":"USD","reported":1}],"duration_ms":null}]}],"runs":[{"run_id":"r2","work":1,"tokens_in":null,"tokens_out":null,"costs":[{"amount":"0.2","currency":"USD","reported":1}],"duration_ms":null,"models":[]},{"run_id":"r1","work":2,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.1","currency":"USD","reported":1}],"duration_ms":null,"models":[{"model":"m1","work":1,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"0.1","currency":"USD","reported":1}],"duration_ms":null}]}]}"#);
    assert!(sandbox.flow(["list", "--json"]).ok().json().get("usage").is_none());
}

#[test]
fn exec_takes_the_time_itself_if_no_one_says_it() {
    let sandbox = sandbox();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "a", "--", "sleep", "0.2"]).ok();
    let took = usage(&sandbox)["duration_ms"].clone();
    assert_eq!(took["reported"], 1);
    assert!((200..60_000).contains(&took["sum"].as_u64().unwrap()), "{took}");
    sandbox.flow(["exec", "--run-id", "r1", "--id", "b", "--", "/nowhere/to/be/found"]).exits(127);
    assert_eq!(usage(&sandbox)["duration_ms"]["reported"], 1);
    // The same line with another usage is another request.
    sandbox.flow(["exec", "--run-id", "r1", "--id", "a", "--", "sleep", "0.2"]).ok();
    sandbox.flow(["exec", "--run-id", "r1", "--id", "a", "--tokens-in", "5", "--", "sleep", "0.2"]).exits(1);
}

#[test]
fn exports_carry_usage_once_and_by_the_names_of_opentelemetry() {
    let sandbox = sandbox();
    record(&sandbox, &["--id", "a", "--status", "running"]);
    record(&sandbox, &["--id", "a", "--tokens-in", "10", "--tokens-out", "2", "--cost", "0.10 USD", "--model", "m1"]);
    record(&sandbox, &["--id", "b", "--tokens-in", "30"]);
    let trace = sandbox.flow(["export", "r1", "--format", "otlp-json"]).ok().json();
    let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let mut told = Vec::new();
    for span in spans {
        for attribute in span["attributes"].as_array().unwrap() {
            let key = attribute["key"].as_str().unwrap();
            if key.contains("usage") || key.starts_with("gen_ai") {
                let value = attribute["value"].as_object().unwrap().values().next().unwrap();
                told.push(format!("{}: {key} {value}", span["name"].as_str().unwrap()));
            }
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    debug r1: flow.run.usage.work "2"
    debug r1: flow.run.usage.tokens_in "40"
    debug r1: flow.run.usage.tokens_in.reported "2"
    debug r1: flow.run.usage.tokens_out "2"
    debug r1: flow.run.usage.tokens_out.reported "1"
    debug r1: flow.run.usage.cost.USD "0.10"
    debug r1: flow.run.usage.cost.USD.reported "1"
    a: gen_ai.usage.input_tokens "10"
    a: gen_ai.usage.output_tokens "2"
    a: gen_ai.request.model "m1"
    a: flow.usage.cost.USD "0.10"
    b: gen_ai.usage.input_tokens "30"
    "#);
    let trace = sandbox.flow(["export", "r1", "--format", "chrome-trace"]).ok().json();
    let used = trace["traceEvents"].as_array().unwrap().iter().filter(|event| !event["args"]["usage"].is_null());
    let tokens: Vec<_> = used.map(|event| event["args"]["usage"]["tokens_in"]["sum"].clone()).collect();
    assert_eq!(tokens, [json!(10), json!(30)]);
    let page = sandbox.flow(["export", "r1", "--format", "html"]).ok().stdout;
    assert!(page.contains("40 tokens in (2 of 2 reported)") || page.contains("40 tokens in"), "{page}");
}

#[test]
fn a_document_of_an_older_run_with_another_usage_is_still_read() {
    let sandbox = sandbox();
    record(&sandbox, &["--id", "a"]);
    let log = sandbox.read("r1", "events.jsonl");
    assert!(log.contains("\"a\""));
    let adopted = "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata: {id: old, workflow: debug, created_at: \"2026-05-20T14:00:00Z\"}\n\
                   context: {}\nstate: {status: active, current_phase: preflight, completed_activities: [x]}\n";
    fs::create_dir_all(sandbox.run_dir("old").join("activities")).unwrap();
    fs::write(sandbox.run_dir("old").join("run.yaml"), adopted).unwrap();
    let activity = "apiVersion: flow.synapti.ai/v1\nkind: FlowActivity\nmetadata: {id: x, run_id: old}\n\
                    activity: {type: task, status: passed}\noutputs: {usage: {tokens_in: many, tokens_out: 5}}\n";
    fs::write(sandbox.run_dir("old").join("activities/001-x.yaml"), activity).unwrap();
    let shown = sandbox.flow(["show", "old", "--json"]).ok().json();
    assert_eq!(shown["usage"]["tokens_in"], Value::Null);
    assert_eq!(shown["usage"]["tokens_out"], json!({ "sum": 5, "reported": 1 }));
}

#[test]
fn a_fork_counts_its_own_work_and_not_that_of_its_parent() {
    let sandbox = Sandbox::new();
    let emit = |run: &str, step: &str, data: &str| {
        let line = ["emit", "--workflow", "debug", "--type", "status_change", "--run-id", run, "--step", step];
        sandbox.flow(line.iter().chain(&["--data", data])).ok();
    };
    emit("r1", "preflight", r#"{"status":"running"}"#);
    emit("r1", "reader:look", r#"{"status":"completed","usage":{"tokens_in":70}}"#);
    record(&sandbox, &["--id", "a", "--tokens-in", "10"]);
    record(&sandbox, &["--id", "b", "--status", "failed"]);
    sandbox.flow(["fork", "r1", "--id", "r2"]).ok();
    let of = |run: &str| sandbox.flow(["show", run, "--json"]).ok().json()["usage"].clone();
    assert_eq!((&of("r2")["work"], &of("r2")["tokens_in"]), (&json!(0), &Value::Null));
    sandbox.flow(["record-activity", "--run-id", "r2", "--id", "c", "--tokens-in", "5"]).ok();
    assert_eq!(of("r2")["tokens_in"], json!({ "sum": 5, "reported": 1 }));
    let all = sandbox.flow(["list", "--usage", "--json"]).ok().json();
    assert_eq!(all["usage"]["total"]["tokens_in"], json!({ "sum": 85, "reported": 3 }));
}
