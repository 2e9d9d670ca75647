//! What the answers of `flow mode` say: of a prompt that contradicts itself, of words that are misspelt, of whose file counts.

use serde_json::{Value, json};

use crate::mode_commands::Modes;

#[test]
fn a_prompt_that_contradicts_itself_blames_no_mode_that_is_not_active() {
    let modes = Modes::new();
    let denied = modes.mode(&["prompt", "$autoforge $forge x", "--session", "t"]).exits(1).json();
    let why = "The prompt asks for $autoforge and $forge, which cannot be active together, and nothing began. \
               Choose one: `$autoforge` or `$forge`";
    assert_eq!(denied["error"], json!({ "kind": "overlap", "mode": "forge", "message": why }));
    assert_eq!(modes.active(&["--session", "t"]), json!([]));
    // What is active is named apart from what the prompt asks for.
    modes.ok(&["request", "ultraqa", "--session", "t"]);
    let denied = modes.mode(&["prompt", "$ultrawork $forge x", "--session", "t"]).exits(1).json();
    let message = denied["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("Cannot activate forge: ultraqa is already active in session t."), "{message}");
}

#[test]
fn a_misspelt_skill_is_told_and_begins_nothing() {
    let modes = Modes::new();
    let told = modes.ok(&["prompt", "$bluprint $forge fix"]);
    assert_eq!(told["active"], json!(["forge"]));
    assert_eq!(
        told["warnings"],
        json!(["`$bluprint` is no skill, and nothing was done about it: did you mean `$blueprint`?"])
    );
    let alone = modes.0.flow(["mode", "prompt", "fix it with $atuopilot"]).ok();
    assert_eq!(alone.stdout, "the prompt asks for no skill\n");
    assert!(alone.stderr.ends_with("did you mean `$autopilot`?\n"), "{alone:?}");
    for prose in ["set $HOME and $PATH", "it costs $5", "`$bluprint` in code", "echo $term $form $x $TEAMS", "US$taem"]
    {
        assert_eq!(modes.ok(&["prompt", prose])["warnings"], json!([]), "{prose}");
    }
}

#[test]
fn an_answer_names_what_was_typed() {
    let modes = Modes::new();
    let told = modes.ok(&["prompt", "$Brief $rcs:team x"]);
    assert_eq!(told["messages"][0], "detected workflow keywords: \"$Brief\" (deep-interview), \"$rcs:team\"");
    assert_eq!((&told["skills"], &told["typed"]), (&json!(["deep-interview", "team"]), &json!(["Brief", "rcs:team"])));
    let denied = modes.mode(&["prompt", "$crew"]).exits(1).json();
    let denied: Vec<&str> = denied["messages"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        denied[1].starts_with("denied workflow keyword \"$crew\": Cannot activate crew (team): deep-"),
        "{denied:?}"
    );
    let again = modes.0.flow(["mode", "request", "brief"]).ok().stdout;
    assert!(again.starts_with("no_change  brief (deep-interview) is active already\n"), "{again}");
}
