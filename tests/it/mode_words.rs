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
    assert_eq!(told["warnings"], json!(["`$bluprint` is not a skill; nothing was done: did you mean `$blueprint`?"]));
    let alone = modes.0.flow(["mode", "prompt", "fix it with $atuopilot"]).ok();
    assert_eq!(alone.stdout, "the prompt asks for no skill\n");
    assert!(alone.stderr.ends_with("did you mean `$autopilot`?\n"), "{alone:?}");
    for prose in ["set $HOME and $PATH", "it costs $5", "`$bluprint` in code", "echo $term $form $x $TEAMS", "US$taem"]
    {
        assert_eq!(modes.ok(&["prompt", prose])["warnings"], json!([]), "{prose}");
    }
}

#[test]
fn a_skill_that_is_only_named_is_told_in_one_sentence_by_every_face() {
    let modes = Modes::new();
    modes.ok(&["request", "autopilot", "--session", "s1"]);
    let cases = [
        ("stop $crew", "$crew was neither begun nor ended: `$cancel` at the beginning of a line ends modes"),
        ("$crew off", "$crew was neither begun nor ended: `$cancel` at the beginning of a line ends modes"),
        ("Bitte nutze $team", "$team begins nothing here: write it at the beginning of a line to begin it"),
        ("type $cancel", "$cancel ends nothing here: write it at the beginning of a line to end the session's modes"),
    ];
    for (prompt, sentence) in cases {
        let told = modes.ok(&["prompt", prompt, "--session", "s1"]);
        assert_eq!((&told["messages"], &told["active"]), (&json!([sentence]), &json!(["autopilot"])), "{prompt}");
        let payload = json!({ "session_id": "s1", "prompt": prompt }).to_string();
        let answer = modes.0.flow_with(["hook", "claude-code", "user-prompt-submit"], &payload).ok().stdout;
        assert!(answer.contains(sentence), "{prompt}: {answer}");
    }
    assert_eq!(modes.active(&["--session", "s1"]), json!(["autopilot"]));
    let warned = modes.ok(&["prompt", "$crew is broken", "--session", "s1"])["warnings"].clone();
    assert_eq!(warned, json!(["$team is not taken up: \"is broken\" stands behind it"]));
    let silent = modes.ok(&["prompt", "what does $autopilot do?", "--session", "s1"]);
    assert_eq!((&silent["messages"], &silent["warnings"]), (&json!([]), &json!([])));
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

#[test]
fn a_list_shows_what_a_request_is_decided_on_and_which_file_says_so() {
    let modes = Modes::new();
    modes.ok(&["request", "blueprint"]);
    modes.ok(&["request", "ultrawork"]);
    modes.ok(&["write", "ultrawork", "--active", "false", "--session", "s1"]);
    let list = modes.ok(&["list", "--session", "s1"]);
    assert_eq!((&list["scope"], &list["active"]), (&json!("session s1"), &json!(["blueprint"])));
    let denied = modes.mode(&["request", "ultraqa", "--session", "s1"]).exits(1).json();
    assert_eq!(denied["active"], list["active"], "one view for both");
    let text = modes.0.flow(["mode", "list", "--session", "s1"]).ok().stdout;
    insta::assert_snapshot!(text, @r"
    blueprint  active    planning  root        session s1 has no file of its own for it, so the root's counts
    ultrawork  finished  -         session s1  hides .flow/state/ultrawork-state.json
    ");
    let show = |args: &[&str]| modes.0.flow(["mode", "show"].iter().chain(args)).stdout;
    insta::assert_snapshot!(show(&["blueprint", "--session", "s1"]), @r"
    blueprint has no file here (session s1)
      decided by  .flow/state/blueprint-state.json (active): session s1 has no file of its own for it, so the root's counts
    ");
    let shown = show(&["ultrawork", "--session", "s1"]);
    let (_, decided) = shown.split_once("finished\n  decided by").unwrap();
    insta::assert_snapshot!(decided, @r"
      .flow/state/sessions/s1/ultrawork-state.json (not active): the session's own file goes before the root's
      hides       .flow/state/ultrawork-state.json
    ");
    let shown = modes.mode(&["show", "blueprint", "--session", "s1"]).exits(3).json();
    assert_eq!((&shown["exists"], &shown["decided_by"]["scope"]), (&json!(false), &json!("root")));
    assert_eq!(modes.ok(&["show", "blueprint"])["decided_by"]["why"], "it is the root's own file");
}

#[test]
fn the_modes_of_a_session_that_is_over_are_put_aside_when_they_are_in_the_way() {
    let modes = Modes::new();
    let end = |session: &str| modes.0.flow(["session-end", "--session", session]).ok();
    for session in ["s1", "s2"] {
        modes.ok(&["request", "forge", "--session", session]);
        modes.ok(&["request", "ultrawork", "--session", session]);
    }
    let before = modes.state("sessions/s1/forge-state.json");
    end("s1");
    let mut marked = modes.state("sessions/s1/forge-state.json");
    assert!(marked.as_object_mut().unwrap().shift_remove("session_ended_at").is_some());
    assert_eq!(marked, before, "nothing else changes");
    let denied = modes.mode(&["request", "blueprint", "--root"]).exits(1).json();
    assert!(denied["message"].as_str().unwrap().contains("active in session s2"), "{denied}");
    assert_eq!(modes.active(&["--session", "s1"]), json!(["forge", "ultrawork"]), "a denial changes nothing");
    end("s2");
    let listed = modes.0.flow(["mode", "list", "--session", "s2"]).ok().stdout;
    insta::assert_snapshot!(listed, @r"
    forge      active  starting  session s2  its session ended at 2026-05-20T14:30:12.000Z, so it does not keep other sessions from a mode
    ultrawork  active  planning  session s2  its session ended at 2026-05-20T14:30:12.000Z, so it does not keep other sessions from a mode
    ");
    let asked = modes.ok(&["request", "blueprint", "--root"]);
    assert_eq!((&asked["decision"], &asked["active"]), (&json!("start"), &json!(["blueprint"])));
    let warnings: Vec<&str> = asked["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("forge was put aside for blueprint, since session s1 ended at 2026-"),
        "{warnings:?}"
    );
    let aside = modes.state("sessions/s2/forge-state.json");
    assert_eq!((&aside["active"], &aside["lifecycle_outcome"]), (&json!(false), &json!("userinterlude")));
    assert!(aside["completion_note"].as_str().unwrap().starts_with("forge was put aside for blueprint"), "{aside}");
    assert_eq!(modes.state("sessions/s1/ultrawork-state.json")["active"], true, "what is not in the way stays");
}

#[test]
fn a_session_that_comes_back_has_a_say_again() {
    let modes = Modes::new();
    for back in [["request", "forge"], ["prompt", "hello"]] {
        modes.ok(&["request", "forge", "--session", "s1"]);
        modes.0.flow(["session-end", "--session", "s1"]).ok();
        modes.ok(&[&back[..], &["--session", "s1"]].concat());
        assert_eq!(modes.state("sessions/s1/forge-state.json")["session_ended_at"], Value::Null);
        modes.mode(&["request", "blueprint", "--root"]).exits(1);
    }
}

#[test]
fn a_session_whose_named_process_is_dead_is_over() {
    let modes = Modes::new();
    let mut process = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mut command = modes.0.flow_command();
    command.args(["mode", "request", "forge", "--session", "s1"]).env("FLOW_HOLDER_PID", process.id().to_string());
    crate::support::run(command, "").ok();
    modes.mode(&["request", "blueprint", "--root"]).exits(1);
    process.kill().unwrap();
    process.wait().unwrap();
    let asked = modes.ok(&["request", "blueprint", "--root"]);
    assert!(asked["warnings"][0].as_str().unwrap().contains("since session s1 lost its process"), "{asked}");
    // Of a process that nobody named nothing is concluded.
    modes.ok(&["clear", "--all"]);
    modes.ok(&["request", "forge", "--session", "s2"]);
    assert_eq!(modes.state("sessions/s2/forge-state.json")["session_holder"], Value::Null);
}
