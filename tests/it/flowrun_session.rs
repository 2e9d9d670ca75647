//! The session of FlowRun, word for word: create, record, die, SessionEnd, resume in a new shell.

use crate::support::Sandbox;

#[test]
fn a_killed_session_resumes_at_the_right_next_action() {
    let sandbox = Sandbox::new();
    let run = sandbox.flow(["start", "start-issue", "--issue", "42", "--session", "s1"]).ok().line().to_owned();
    assert_eq!(run, "2026-05-20T143003Z-issue-42");
    for phase in ["preflight", "explore", "plan"] {
        let report = sandbox.record(&run, phase, &format!("{phase}-done"));
        assert_eq!(report["phase"], phase);
    }
    let ended = sandbox.flow_with(["session-end"], r#"{"session_id":"s1","hook_event_name":"SessionEnd"}"#).ok();
    assert_eq!(ended.line(), format!("Active FlowRun {run} persisted; use /flow:resume to continue"));

    let answer = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!(answer["verdict"], "continue");
    assert_eq!(answer["blocked_reason"], "session ended");
    assert_eq!(answer["next"]["action"], "start_phase");
    assert_eq!(answer["next"]["phase"], "code");
    let completed: Vec<_> = answer["completed"].as_array().unwrap().iter().map(|done| done["id"].clone()).collect();
    assert_eq!(completed, ["preflight-done", "explore-done", "plan-done"]);

    // The command that resume proposes works as it stands.
    let command = answer["next"]["command"].as_str().unwrap().to_owned();
    let words: Vec<_> = command.split(' ').skip(1).collect();
    sandbox.flow(words).ok();
    // It begins the work, and does not say that it is done: only whoever did it knows that.
    let begun = sandbox.flow(["resume", "--json"]).ok().json();
    assert_eq!((&begun["verdict"], &begun["in_doubt"][0]["id"]), (&"reconcile".into(), &"code".into()));
    assert_eq!(begun["next"]["command"], serde_json::Value::Null);
    sandbox.record(&run, "code", "code");
    assert_eq!(sandbox.flow(["resume", "--json"]).ok().json()["next"]["phase"], "verify");
}
