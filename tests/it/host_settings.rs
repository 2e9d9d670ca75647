//! `flow hooks`: settings of hosts get flow's hooks and lose them again, and every other byte stays.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowrun::disk::Errno;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::shaky::{Ill, Shaky};
use crate::support::{Answer, Sandbox, alone, quick, scaled};

/// A home with settings for both hosts.
struct Home {
    sandbox: Sandbox,
}

const CLAUDE: &str = "home/.claude/settings.json";
const CODEX: &str = "home/.codex/hooks.json";

impl Home {
    fn new() -> Self {
        let sandbox = Sandbox::within(&quick());
        for dir in ["home/.claude", "home/.codex"] {
            fs::create_dir_all(sandbox.path(dir)).unwrap();
        }
        Self { sandbox }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.sandbox.path(file)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn env(&self) -> [(&'static str, String); 1] {
        [("HOME", self.path("home").to_str().unwrap().to_owned())]
    }

    fn hooks(&self, args: &str) -> Answer {
        self.sandbox.inside_on(alone(), &self.env(), ["hooks"].into_iter().chain(args.split_whitespace()))
    }

    /// An answer with paths that are the same everywhere.
    fn shown(&self, text: &str) -> String {
        text.replace(self.sandbox.root().to_str().unwrap(), "")
    }

    /// The names in a directory; none if it is gone.
    fn names(&self, dir: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(dir)) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn without_settings_files_are_made_and_removed_again() {
    let home = Home::new();
    let told = home.hooks("install").ok().stdout;
    insta::assert_snapshot!(home.shown(&told), @r#"
    created  /home/.claude/settings.json
      claude-code SessionStart, UserPromptSubmit, SessionEnd, PreCompact
      trust       Claude Code runs them from its next start on; `/hooks` shows them
      may allow   to let the agent call flow without asking, add to permissions.allow:
        "Bash(flow start:*)",
        "Bash(flow record-activity:*)",
        "Bash(flow emit:*)",
        "Bash(flow next:*)",
        "Bash(flow advance:*)",
        "Bash(flow block:*)",
        "Bash(flow complete:*)",
        "Bash(flow fail:*)",
        "Bash(flow list:*)",
        "Bash(flow show:*)",
        "Bash(flow log:*)",
        "Bash(flow validate:*)",
        "Bash(flow verify:*)",
        "Bash(flow resume)",
        "Bash(flow resume --claim)"
    created  /home/.codex/hooks.json
      codex       SessionStart, UserPromptSubmit, SessionEnd
      trust       Codex skips them until you trust them: in the dialog at its next start, or with `/hooks`; it asks again after each change of them
      may allow   to let the agent call flow without asking, add to a file in ~/.codex/rules:
        prefix_rule(pattern = ["flow", ["start", "record-activity", "emit", "next", "advance", "block", "complete", "fail", "list", "show", "log", "validate", "verify", "resume"]], decision = "allow")
    "#);
    let settings: Value = serde_json::from_str(&home.read(CLAUDE)).unwrap();
    let handler = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 3 }] }]);
    let hooks = json!({ "hooks": {
        "SessionStart": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code session-start"),
        "UserPromptSubmit": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code user-prompt-submit"),
        "SessionEnd": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code session-end"),
        "PreCompact": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code pre-compact"),
    }});
    assert_eq!(settings, hooks);
    insta::assert_snapshot!(home.shown(&home.hooks("status").ok().stdout), @"
    installed  claude-code user  /home/.claude/settings.json
      SessionStart        command -v flow >/dev/null || exit 0; exec flow hook claude-code session-start
      UserPromptSubmit    command -v flow >/dev/null || exit 0; exec flow hook claude-code user-prompt-submit
      SessionEnd          command -v flow >/dev/null || exit 0; exec flow hook claude-code session-end
      PreCompact          command -v flow >/dev/null || exit 0; exec flow hook claude-code pre-compact
    not installed  claude-code project  /.claude/settings.json
    not installed  claude-code local  /.claude/settings.local.json
    installed  codex user  /home/.codex/hooks.json
      SessionStart      no trust noted; `flow hooks doctor` asks Codex  command -v flow >/dev/null || exit 0; exec flow hook codex session-start
      UserPromptSubmit  no trust noted; `flow hooks doctor` asks Codex  command -v flow >/dev/null || exit 0; exec flow hook codex user-prompt-submit
      SessionEnd        no trust noted; `flow hooks doctor` asks Codex  command -v flow >/dev/null || exit 0; exec flow hook codex session-end
    not installed  codex project  /.codex/hooks.json
    ");
    let again = home.hooks("install --json").ok().json();
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["outcome"] == "unchanged"), "{again}");
    let told = home.hooks("uninstall").ok().stdout;
    insta::assert_snapshot!(home.shown(&told), @"
    removed  /home/.claude/settings.json
      claude-code SessionStart, UserPromptSubmit, SessionEnd, PreCompact
    removed  /home/.codex/hooks.json
      codex       SessionStart, UserPromptSubmit, SessionEnd
    ");
    assert!(home.names("home/.claude").is_empty() && home.names("home/.codex").is_empty());
    assert!(home.hooks("uninstall --json").ok().json()["files"][0]["outcome"] == "unchanged");
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let home = Home::new();
    let text = "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    home.write(CLAUDE, text);
    let report = home.hooks("install --host claude-code --continue --dry-run --json").ok().json();
    let diff = report["files"][0]["diff"].as_str().unwrap();
    let stop: String = diff.lines().take(16).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(home.shown(&stop), @r#"
    --- /home/.claude/settings.json
    +++ /home/.claude/settings.json
    @@ -1,6 +1,59 @@
     {
       "model": "x",
       "hooks": {
    -    "Stop": []
    +    "Stop": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "command -v flow >/dev/null || exit 0; exec flow hook claude-code stop --continue",
    +            "timeout": 3
    +          }
    +        ]
    "#);
    assert_eq!(home.read(CLAUDE), text);
    home.hooks("install --dry-run").ok();
    assert!(home.names("home/.codex").is_empty());
}

#[test]
fn a_project_has_commands_that_do_nothing_without_flow() {
    let home = Home::new();
    home.hooks("install --scope project").ok();
    for file in [".claude/settings.json", ".codex/hooks.json"] {
        let settings: Value = serde_json::from_str(&home.read(file)).unwrap();
        let command = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
        assert!(command.starts_with("command -v flow >/dev/null || exit 0; exec flow hook "), "{command}");
        let mut shell = home.sandbox.command("/bin/sh");
        shell.args(["-c", &command]).env("PATH", "/nowhere");
        let output = shell.output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
    home.hooks("uninstall --scope project --host claude-code").ok();
    home.hooks("install --scope local").ok();
    assert_eq!(home.names(".claude"), ["settings.local.json"]);
    assert_eq!(home.names(".codex"), ["hooks.json"]);
    let refused = home.hooks("install --scope local --host codex --json").exits(2).error();
    assert_eq!(refused["message"], "only Claude Code has local settings; use the scope user or project");
    home.hooks("uninstall --scope project").ok();
    home.hooks("uninstall --scope local").ok();
    assert!(home.names(".claude").is_empty());
}

#[test]
fn qwen_code_and_the_gemini_cli_get_their_events_in_their_unit_of_time_where_they_are_there() {
    for (host, event, timeout) in [("qwen", "UserPromptSubmit", 3), ("gemini-cli", "BeforeAgent", 3000)] {
        let home = Home::new();
        let dir = format!("home/.{}", host.trim_end_matches("-cli"));
        let file = format!("{dir}/settings.json");
        home.hooks("install").ok();
        assert!(!home.path(&dir).exists());
        fs::create_dir_all(home.path(&dir)).unwrap();
        let text = "{ \"theme\": \"x\" }\n";
        fs::write(home.path(&file), text).unwrap();
        home.hooks("install --continue").ok();
        let settings: Value = serde_json::from_str(&home.read(&file)).unwrap();
        let command = format!("command -v flow >/dev/null || exit 0; exec flow hook {host} user-prompt-submit");
        let handler = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }]);
        assert_eq!(settings["hooks"][event], handler);
        assert_eq!(settings["hooks"].as_object().unwrap().len(), 4, "{settings}");
        let again = home.hooks("install --json").ok().json();
        assert!(again["files"].as_array().unwrap().iter().all(|file| file["outcome"] == "unchanged"), "{again}");
        let status = home.hooks(&format!("status --host {host} --json")).ok().json();
        assert_eq!(status["files"][0]["installed"], "yes", "{status}");
        home.hooks("uninstall").ok();
        assert_eq!(home.read(&file), text);
    }
}

#[test]
fn only_hosts_that_are_there_get_hooks_and_a_host_that_is_named_always_does() {
    let sandbox = Sandbox::within(&quick());
    let home = Home { sandbox };
    let told = home.hooks("install --json").exits(2).error();
    let all = "claude-code, codex, qwen, gemini-cli, copilot, opencode, cursor, kiro";
    let wanted = format!("no host of agents is here, by its directory or its program; name one: {all}");
    assert_eq!(told["message"], wanted);
    assert!(home.hooks("status --json").ok().json()["files"].as_array().unwrap().is_empty());
    home.hooks("uninstall").ok();
    // By its program.
    home.write("bin/codex", "");
    let env = [home.env()[0].clone(), ("PATH", home.path("bin").to_str().unwrap().to_owned())];
    let report = home.sandbox.inside_on(alone(), &env, ["hooks", "install", "--json"]).ok().json();
    assert_eq!(report["files"].as_array().unwrap().len(), 1);
    assert_eq!(report["files"][0]["host"], "codex");
    for host in all.split(", ") {
        let report = home.hooks(&format!("install --host {host} --json")).ok().json();
        assert_ne!(report["files"][0]["outcome"], "removed", "{report}");
        let status = home.hooks(&format!("status --host {host} --scope user --json")).ok().json();
        assert_eq!(status["files"][0]["installed"], "yes", "{status}");
    }
    // Their files are what shows them now.
    let report = home.hooks("uninstall --json").ok().json();
    assert!(report["files"].as_array().unwrap().iter().all(|file| file["outcome"] == "removed"), "{report}");
    assert_eq!(report["files"].as_array().unwrap().len(), 8);
}

#[test]
fn hosts_without_groups_get_a_list_of_handlers_and_lose_it_again() {
    let guarded = |rest: &str| format!("command -v flow >/dev/null || exit 0; exec flow hook {rest}");
    let home = Home::new();
    home.hooks("install --host copilot --scope project").ok();
    let copilot: Value = serde_json::from_str(&home.read(".github/hooks/flow.json")).unwrap();
    let handler =
        |word: &str| json!([{ "type": "command", "bash": guarded(&format!("copilot {word}")), "timeoutSec": 3 }]);
    let wanted = json!({ "hooks": {
        "SessionStart": handler("session-start"),
        "UserPromptSubmit": handler("user-prompt-submit"),
        "SessionEnd": handler("session-end"),
    }, "version": 1 });
    assert_eq!(copilot, wanted);
    home.hooks("uninstall --host copilot --scope project").ok();
    assert!(home.names(".github/hooks").is_empty());

    home.hooks("install --host cursor --continue").ok();
    let cursor: Value = serde_json::from_str(&home.read("home/.cursor/hooks.json")).unwrap();
    let handler = |word: &str| json!([{ "command": guarded(&format!("cursor {word}")), "timeout": 3 }]);
    let wanted = json!({ "hooks": {
        "sessionStart": handler("session-start"),
        "beforeSubmitPrompt": handler("user-prompt-submit"),
        "sessionEnd": handler("session-end"),
        "stop": handler("stop --continue"),
    }, "version": 1 });
    assert_eq!(cursor, wanted);
    home.hooks("install --host kiro").ok();
    let kiro: Value = serde_json::from_str(&home.read("home/.kiro/agents/flow.json")).unwrap();
    let handler = json!([{ "command": guarded("kiro session-start"), "timeout_ms": 3000 }]);
    assert_eq!((&kiro["hooks"], &kiro["tools"]), (&json!({ "agentSpawn": handler }), &json!(["*"])));
    for host in ["cursor", "kiro"] {
        let told = home.hooks(&format!("install --host {host} --json")).ok().json();
        assert_eq!(told["files"][0]["outcome"], "unchanged");
        let trust = told["files"][0]["trust"].as_str().unwrap();
        assert!(trust.ends_with("flow has this from its documentation, and it was not tried"), "{trust}");
        assert_eq!(
            home.hooks(&format!("uninstall --host {host} --json")).ok().json()["files"][0]["outcome"],
            "removed"
        );
    }
    // What a person wrote beside the hooks has the same bytes afterwards.
    for text in [
        "{\"version\": 1}",
        "{\n  \"version\": 1\n}\n",
        "{}",
        "{ }\n",
        "",
        "{\n  \"hooks\": {},\n  \"version\": 1\n}\n",
        "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"mine\", \"loop_limit\": 2}], \"sessionEnd\": []}}\n",
        "{\"hooks\": {\"sessionEnd\": [{\"command\": \"mine\"}]}, \"version\": 1}",
    ] {
        for more in ["", "--continue"] {
            home.write("home/.cursor/hooks.json", text);
            home.hooks(&format!("install --host cursor {more}")).ok();
            let installed = home.read("home/.cursor/hooks.json");
            let value: Value = serde_json::from_str(&installed).unwrap();
            assert_eq!(value["version"], 1, "{installed}");
            home.hooks(&format!("install --host cursor {more}")).ok();
            assert_eq!(home.read("home/.cursor/hooks.json"), installed);
            home.hooks("uninstall --host cursor").ok();
            assert_eq!(home.read("home/.cursor/hooks.json"), text);
        }
    }
}

#[test]
fn opencode_gets_a_script_that_stays_where_someone_has_edited_it() {
    let home = Home::new();
    let file = "home/.config/opencode/plugins/flow.js";
    let installed = |home: &Home| {
        let status = home.hooks("status --host opencode --scope user --json").ok().json();
        status["files"][0]["installed"].as_str().unwrap().to_owned()
    };
    assert_eq!(installed(&home), "no");
    home.hooks("install --host opencode").ok();
    let text = home.read(file);
    assert_eq!(installed(&home), "yes");
    for wanted in ["flow\", [\"hook\", \"opencode\", event]".replace('\\', ""), "FLOW_SESSION".to_owned()] {
        assert!(text.contains(&wanted), "{wanted}");
    }
    assert_eq!(home.hooks("install --host opencode --json").ok().json()["files"][0]["outcome"], "unchanged");
    // Another version wrote it: the digest in the first line is that of the rest.
    let other = "export const Flow = 1;\n";
    let sum = flowrun::codec::digest(other.as_bytes());
    home.write(file, &format!("// Written by `flow hooks install`; {sum}\n{other}"));
    assert_eq!(installed(&home), "partly");
    assert_eq!(home.hooks("install --host opencode --json").ok().json()["files"][0]["outcome"], "changed");
    assert_eq!(home.read(file), text);
    home.write(file, &format!("// Written by `flow hooks install`; {sum}\n{other}"));
    assert_eq!(home.hooks("uninstall --host opencode --json").ok().json()["files"][0]["outcome"], "removed");
    for edited in [text.replace("3000", "9000"), "mine\n".to_owned()] {
        home.write(file, &edited);
        assert_eq!(installed(&home), "unknown");
        let refused = home.hooks("install --host opencode --json").exits(1).error();
        assert_eq!(refused["code"], "invalid_settings");
        home.hooks("uninstall --host opencode").ok();
        assert_eq!(home.read(file), edited);
    }
}

#[test]
fn what_flow_0_1_wrote_is_renewed_and_removed_for_every_host_that_it_knew() {
    for (host, file) in [("claude-code", CLAUDE), ("codex", CODEX)] {
        let old = |word: &str| json!([{ "hooks": [{ "type": "command", "command": format!("flow hook {host} {word}"), "timeout": 3 }] }]);
        let text = json!({ "hooks": {
            "SessionStart": old("session-start"),
            "UserPromptSubmit": old("user-prompt-submit"),
            "SessionEnd": [{ "hooks": [{ "type": "command", "command": "flow session-end" }] }],
        } });
        let home = Home::new();
        home.write(file, &text.to_string());
        let doctor = home.hooks(&format!("doctor --host {host} --json")).json();
        let codes: Vec<_> =
            doctor["findings"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
        for code in ["other_command", "old_handler"] {
            assert!(codes.contains(&code), "{host}: {codes:?}");
        }
        home.hooks(&format!("install --host {host}")).ok();
        let status = home.hooks(&format!("status --host {host} --scope user --json")).ok().json();
        assert_eq!(status["files"][0]["installed"], "yes", "{status}");
        home.write(file, &text.to_string());
        home.hooks(&format!("uninstall --host {host}")).ok();
        assert!(!home.read(file).contains("flow"), "{}", home.read(file));
    }
}

#[test]
fn what_another_version_wrote_is_brought_up_to_date_in_its_place() {
    let home = Home::new();
    let text = r#"{ "hooks": {
  "SessionEnd": [
    { "matcher": "clear", "hooks": [ { "type": "command", "command": "mine" },
      { "type": "command", "command": "flow session-end", "statusMessage": "bye" }, { "type": "command", "command": "yours" } ] }
  ],
  "Stop": [ { "hooks": [ { "type": "command", "command": "flow hook claude-code stop --continue", "timeout": 60 } ] } ],
  "Other": "of a newer host"
}, "statusLine": { "type": "command", "command": "/usr/bin/flow hud", "padding": 0 } }"#;
    home.write(CLAUDE, text);
    let status = home.hooks("status --host claude-code --scope user --json").ok().json();
    assert_eq!((&status["files"][0]["installed"], &status["files"][0]["continue"]), (&json!("partly"), &json!(true)));
    assert_eq!(status["files"][0]["handlers"][0]["version"], "other");
    home.hooks("install --host claude-code").ok();
    let new = home.read(CLAUDE);
    for kept in [
        r#"{ "matcher": "clear", "hooks": [ { "type": "command", "command": "mine" },"#,
        r#"{ "type": "command", "command": "command -v flow >/dev/null || exit 0; exec flow hook claude-code session-end", "statusMessage": "bye", "timeout": 3 }, { "type": "command", "command": "yours" } ] }"#,
        r#""command": "command -v flow >/dev/null || exit 0; exec flow hook claude-code stop --continue", "timeout": 3 }"#,
        r#""Other": "of a newer host""#,
        r#"{ "type": "command", "command": "/usr/bin/flow hud", "padding": 0 }"#,
    ] {
        assert!(new.contains(kept), "{kept}\n{new}");
    }
    let status = home.hooks("status --host claude-code --scope user --json").ok().json();
    assert_eq!(status["files"][0]["installed"], "yes", "{status:#}");
    home.hooks("uninstall --host claude-code").ok();
    let left: Value = serde_json::from_str(&home.read(CLAUDE)).unwrap();
    let others = json!([{ "type": "command", "command": "mine" }, { "type": "command", "command": "yours" }]);
    let ends = json!([{ "matcher": "clear", "hooks": others }]);
    assert_eq!(left, json!({ "hooks": { "SessionEnd": ends, "Stop": [], "Other": "of a newer host" } }));
}

#[test]
fn a_path_to_the_program_stays() {
    let home = Home::new();
    let text = r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "/opt/bin/flow hook claude-code session-end", "timeout": 3}]}],
        "PreCompact": [{"hooks": [{"type": "command", "command": "'/my tools/flow' session-end"}]}]}}"#;
    home.write(CLAUDE, text);
    let versions = |home: &Home| {
        let status = home.hooks("status --host claude-code --scope user --json").ok().json();
        let handlers = status["files"][0]["handlers"].as_array().unwrap().clone();
        handlers.iter().map(|handler| handler["version"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(versions(&home), ["current", "other"]);
    home.hooks("install --host claude-code").ok();
    assert!(home.read(CLAUDE).contains("\"/opt/bin/flow hook claude-code session-end\""), "{}", home.read(CLAUDE));
    assert!(home.read(CLAUDE).contains("\"'/my tools/flow' hook claude-code pre-compact\""), "{}", home.read(CLAUDE));
    assert!(versions(&home).iter().all(|version| version == "current"));
}

#[test]
fn a_handler_with_a_matcher_gets_one_without_behind_it() {
    let home = Home::new();
    let handler = |command: &str| json!([{ "type": "command", "command": command, "timeout": 3 }]);
    let start = handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code session-start");
    let prompt = handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code user-prompt-submit");
    let text = json!({ "hooks": {
        "SessionStart": [{ "matcher": "compact", "hooks": start }],
        "SessionEnd": [{ "matcher": "*", "hooks": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code session-end") }],
        // Hosts heed no matcher here.
        "UserPromptSubmit": [{ "matcher": "x", "hooks": prompt }],
    } });
    home.write(CLAUDE, &text.to_string());
    let missing = |home: &Home| {
        home.hooks("status --host claude-code --scope user --json").ok().json()["files"][0]["missing"].clone()
    };
    assert_eq!(missing(&home), json!(["SessionStart", "PreCompact"]));
    let report = home.hooks("install --host claude-code --json").ok().json();
    assert_eq!(report["files"][0]["events"], json!(["SessionStart", "PreCompact"]));
    let now: Value = serde_json::from_str(&home.read(CLAUDE)).unwrap();
    assert_eq!(now["hooks"]["SessionStart"], json!([{ "matcher": "compact", "hooks": start }, { "hooks": start }]));
    assert_eq!(now["hooks"]["UserPromptSubmit"].as_array().unwrap().len(), 1);
    assert_eq!(missing(&home), json!([]));
    let again = home.hooks("install --host claude-code --json").ok().json();
    assert_eq!(again["files"][0]["outcome"], "unchanged");
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_the_others() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), home.path(".claude")).unwrap();
    fs::write(home.path(CLAUDE), b"{\"a\": \"\xff\"}").unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(home.path(CODEX)).status().unwrap();
    assert!(fifo.success());
    insta::assert_snapshot!(home.shown(&home.hooks("status").ok().stdout), @"
    unreadable  claude-code user  /home/.claude/settings.json
      /home/.claude/settings.json is not UTF-8 from byte 7 on
    unreadable  claude-code project  /.claude/settings.json
      /.claude/settings.json leads out of the project
    unreadable  claude-code local  /.claude/settings.local.json
      /.claude/settings.local.json leads out of the project
    unreadable  codex user  /home/.codex/hooks.json
      /home/.codex/hooks.json is not a regular file
    not installed  codex project  /.codex/hooks.json
    ");
    for (text, problem) in [
        ("{\"hooks\":{\"SessionStart\":{}}}", "1:26: in \"SessionStart\", the value is not an array"),
        ("{\"hooks\":5}", "1:10: \"hooks\" is not an object"),
    ] {
        home.write(CLAUDE, text);
        let status = home.hooks("status --host claude-code --scope user --json").ok().json();
        assert_eq!(
            (&status["files"][0]["installed"], &status["files"][0]["problem"]),
            (&json!("unknown"), &json!(problem))
        );
        let help = home.hooks("install --host claude-code --json").exits(1).error()["help"].clone();
        assert_eq!(help, "correct it; an event is a list of objects with `hooks`. Nothing was written");
    }
}

#[test]
fn the_status_line_of_another_program_stays() {
    let home = Home::new();
    let text = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}";
    home.write(CLAUDE, text);
    let report = home.hooks("install --statusline --json").ok().json();
    assert_eq!(report["files"][0]["status_line"], "kept");
    assert_eq!(report["files"][1]["status_line"], Value::Null, "Codex has none");
    home.hooks("uninstall").ok();
    assert_eq!(home.read(CLAUDE), text);
    home.write(CLAUDE, "{}");
    let report = home.hooks("install --statusline --json").ok().json();
    assert_eq!(report["files"][0]["status_line"], "installed");
    assert!(home.read(CLAUDE).contains("\"command\": \"command -v flow >/dev/null || exit 0; exec flow hud\""));
    let report = home.hooks("uninstall --json").ok().json();
    assert_eq!(report["files"][0]["status_line"], "removed");
    assert_eq!(home.read(CLAUDE), "{}");
}

/// Files that are not edited: the host, their text, and what is said about it.
const REFUSED: [(&str, &str, &str); 29] = [
    ("claude-code", "{", "1:1: EOF while parsing an object"),
    ("claude-code", "{\"a\": 1}}", "1:9: trailing characters"),
    ("claude-code", "{\n  // mine\n  \"a\": 1\n}", "2:3: comments are not JSON"),
    ("claude-code", "{\"a\": 1 /* mine */}", "1:9: comments are not JSON"),
    ("claude-code", "{\"a\": 1,\n}", "2:1: trailing comma"),
    ("claude-code", "{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", "1:26: the key \"c\" is there twice"),
    ("claude-code", "[]", "1:1: the settings are not an object"),
    ("claude-code", "{\"hooks\": []}", "1:11: \"hooks\" is not an object"),
    ("claude-code", "{\"hooks\": {\"SessionEnd\": {}}}", "1:26: in \"SessionEnd\", the value is not an array"),
    ("claude-code", "{\"hooks\": {\"SessionEnd\": [1]}}", "1:27: in \"SessionEnd\", an item has no \"hooks\""),
    ("claude-code", "{\"hooks\": {\"SessionEnd\": [{}]}}", "1:27: in \"SessionEnd\", an item has no \"hooks\""),
    (
        "claude-code",
        "{\"hooks\": {\"SessionEnd\": [{\"hooks\": {}}]}}",
        "1:37: in \"SessionEnd\", \"hooks\" is not an array",
    ),
    (
        "claude-code",
        "{\"hooks\": {\"SessionEnd\": [{\"hooks\": [\"x\"]}]}}",
        "1:38: in \"SessionEnd\", a handler is not an object",
    ),
    // For these Claude Code puts all of the file out of effect.
    (
        "claude-code",
        "{\"hooks\": {\"PreToolUse\": [{\"type\": \"command\"}]}}",
        "1:27: in \"PreToolUse\", an item has no \"hooks\"",
    ),
    (
        "claude-code",
        "{\"hooks\": {\"PermissionRequest\": [{\"matcher\": 1, \"hooks\": []}]}}",
        "1:46: in \"PermissionRequest\", the matcher is not a text",
    ),
    ("claude-code", "{\"hooks\": {\"PreToolUse\": \"x\"}}", "1:26: in \"PreToolUse\", the value is not an array"),
    (
        "claude-code",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\"}]}]}}",
        "1:38: in \"PreToolUse\", a handler of the type \"command\" has no text \"command\"",
    ),
    ("claude-code", "{\"permissions\": {\"allow\": \"Bash\"}}", "1:27: \"permissions.allow\" is not an array"),
    ("claude-code", "{\"env\": []}", "1:9: \"env\" is not an object"),
    ("claude-code", "{\"disableAllHooks\": \"false\"}", "1:21: \"disableAllHooks\" is not true or false"),
    (
        "claude-code",
        "{\"statusLine\": {\"command\": \"x\"}}",
        "1:16: \"statusLine\" has not the type \"command\" and a command",
    ),
    (
        "claude-code",
        "{\"enabledPlugins\": {\"a@b\": \"yes\"}}",
        "1:28: the plugin \"a@b\" is not true, false or an array of texts",
    ),
    ("codex", "{\"$schema\": \"x\", \"hooks\": {}}", "1:13: Codex does not read a file with the key \"$schema\""),
    ("codex", "{\"hooks\": {\"Stop\": null}}", "1:20: in \"Stop\", the value is not an array"),
    (
        "codex",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"x\"}]}]}}",
        "1:38: in \"PreToolUse\", a handler has none of the types command, prompt, agent, mcp_tool",
    ),
    (
        "codex",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"timeout\": 1.5}]}]}}",
        "1:79: in \"Stop\", \"timeout\" of a handler is not a whole number from 0 on",
    ),
    ("codex", "\u{feff}{}", "1:1: Codex does not read a file that begins with a byte order mark"),
    ("codex", "{'a': 1}", "1:2: key must be a string"),
    ("codex", "{\"description\": \"x\", \"hooks\": null}", "1:31: \"hooks\" is not an object"),
];

#[test]
fn a_file_that_its_host_does_not_read_is_refused_with_place_and_reason() {
    for (host, text, wanted) in REFUSED {
        let home = Home::new();
        let file = if host == "codex" { CODEX } else { CLAUDE };
        home.write(file, text);
        // The other host's file is not written either.
        let error = home.hooks("install --json").exits(1).error();
        assert_eq!(error["code"], "invalid_settings");
        assert_eq!(home.shown(error["message"].as_str().unwrap()), format!("/{file}:{wanted}"), "{text}");
        assert_eq!(home.read(file), text);
        let both = [home.names("home/.claude"), home.names("home/.codex")].concat();
        assert_eq!(both.len(), 1, "{both:?}");
    }
    let home = Home::new();
    fs::write(home.path(CLAUDE), b"{\"a\": \"\xff\"}").unwrap();
    assert_eq!(home.hooks("install --json").exits(65).error()["code"], "not_utf8");
    let home = Home::new();
    home.write(CLAUDE, &format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20)));
    assert_eq!(home.hooks("install --json").exits(1).error()["code"], "document_too_large");
}

#[test]
fn hooks_that_would_run_twice_are_refused() {
    let home = Home::new();
    home.write("home/.codex/config.toml", "model = \"m\"\n[[hooks.Stop]]\nmatcher = \"\"\n");
    let error = home.hooks("install --json").exits(1).error();
    assert_eq!(error["code"], "hooks_in_config");
    let told = "/home/.codex/config.toml:2:9: Codex has hooks here as well as in hooks.json, and reads both";
    assert_eq!(home.shown(error["message"].as_str().unwrap()), told);
    home.hooks("install --host claude-code").ok();
    // What Codex notes about trust is not a hook.
    home.write("home/.codex/config.toml", "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"x\"\n");
    home.hooks("install --host codex").ok();
    home.hooks("uninstall").ok();

    home.write(CLAUDE, "{\"enabledPlugins\": {\"flow@flow\": true}}");
    home.write("home/.codex/config.toml", "[plugins.\"flow@flow\"]\nenabled = true\n");
    for (host, title) in [("claude-code", "Claude Code"), ("codex", "Codex")] {
        let error = home.hooks(&format!("install --host {host} --json")).exits(1).error();
        let told = format!(
            "the plugin `flow@flow` is installed in {title}, and brings these hooks: each event would be answered twice"
        );
        assert_eq!((&error["code"], &error["message"]), (&json!("plugin_present"), &json!(told)));
    }
    // Of several hosts, those are left out that have the plugin.
    let report = home.hooks("install --json").ok().json();
    assert_eq!((report["files"].as_array().unwrap().len(), report["skipped"].as_array().unwrap().len()), (0, 2));
    assert_eq!(report["skipped"][0], json!({ "host": "claude-code", "plugin": "flow@flow" }));
    let told = home.hooks("install").ok().stdout;
    assert!(told.starts_with("skipped  Claude Code: the plugin `flow@flow` brings its hooks\n"), "{told}");
    let plugins = home.hooks("status --json").ok().json()["plugins"].clone();
    assert_eq!(plugins.as_array().unwrap().len(), 2);
    home.write(CLAUDE, "{\"enabledPlugins\": {\"flow@flow\": false}}");
    home.write("home/.codex/config.toml", "[plugins.\"flow@flow\"]\nenabled = false\n");
    home.hooks("install").ok();
    home.hooks("uninstall").ok();
    // A plugin of this name in another marketplace is another plugin.
    home.write(CLAUDE, "{\"enabledPlugins\": {\"flow@acme-tools\": true}}");
    home.write("home/.codex/config.toml", "[plugins.\"flow@acme-tools\"]\nenabled = true\n");
    home.hooks("install").ok();
    home.hooks("uninstall").ok();
    // The narrowest scope decides.
    home.write(CLAUDE, "{\"enabledPlugins\": {\"flow@flow\": true}}");
    home.write(".claude/settings.local.json", "{\"enabledPlugins\": {\"flow@flow\": false}}");
    home.hooks("install --host claude-code").ok();
}

#[test]
fn hooks_that_setup_brought_are_not_installed_a_second_time() {
    let home = Home::new();
    home.sandbox.inside_on(alone(), &home.env(), ["setup", "claude-code", "codex", "--yes"]).ok();
    let error = home.hooks("install --json").exits(1).error();
    assert_eq!(error["code"], "hooks_present");
    let told = home.shown(error["message"].as_str().unwrap());
    assert_eq!(told, "/.claude/settings.json: Claude Code has flow's hooks here already, and would run both");
    let help = "they are enough here; for those of another scope take these out first: \
                `flow hooks uninstall --host claude-code --scope project`. Nothing was written";
    assert_eq!(error["help"], help);
    assert!(!home.path(CLAUDE).exists() && !home.path(CODEX).exists());
    // The same scope is brought up to date.
    home.hooks("install --scope project").ok();
    home.hooks("uninstall --scope project").ok();
    home.hooks("install").ok();
}

#[test]
fn links_and_permissions_stay() {
    let home = Home::new();
    home.write("dotfiles/claude.json", "{}\n");
    fs::set_permissions(home.path("dotfiles/claude.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("../../dotfiles/claude.json", home.path(CLAUDE)).unwrap();
    home.hooks("install --host claude-code").ok();
    assert!(fs::symlink_metadata(home.path(CLAUDE)).unwrap().is_symlink());
    assert!(home.read("dotfiles/claude.json").contains("flow hook claude-code session-start"));
    assert_eq!(fs::metadata(home.path("dotfiles/claude.json")).unwrap().permissions().mode() & 0o777, 0o600);
    home.hooks("uninstall --host claude-code").ok();
    assert_eq!(home.read("dotfiles/claude.json"), "{}\n");
    assert_eq!(home.names("dotfiles"), ["claude.json"]);

    symlink("nowhere", home.path(CODEX)).unwrap();
    let error = home.hooks("install --host codex --json").exits(77).error();
    assert!(error["message"].as_str().unwrap().ends_with("hooks.json is a symlink to a file that does not exist"));
    fs::remove_file(home.path(CODEX)).unwrap();
    home.write(CODEX, "{}");
    fs::hard_link(home.path(CODEX), home.path("other.json")).unwrap();
    home.hooks("install --host codex").exits(77);
    assert_eq!(home.read("other.json"), "{}");
}

#[test]
fn a_directory_in_which_only_flow_s_file_was_goes_with_it() {
    let home = Home::new();
    for dir in ["home/.claude", "home/.codex"] {
        fs::remove_dir(home.path(dir)).unwrap();
    }
    for scope in ["user", "project"] {
        home.hooks(&format!("install --host claude-code --scope {scope}")).ok();
        home.hooks(&format!("uninstall --host claude-code --scope {scope}")).ok();
        assert!(!home.path("home/.claude").exists() && !home.path(".claude").exists(), "{scope}");
    }
    // One in which something else is stays.
    home.write("home/.claude/notes.md", "mine");
    home.hooks("install --host claude-code").ok();
    home.hooks("uninstall --host claude-code").ok();
    assert_eq!(home.names("home/.claude"), ["notes.md"]);
}

#[test]
fn a_link_in_a_project_is_not_followed_out_of_it() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("settings.json"), "{}").unwrap();
    fs::create_dir(home.path(".claude")).unwrap();
    symlink(outside.path().join("settings.json"), home.path(".claude/settings.json")).unwrap();
    symlink(outside.path(), home.path(".codex")).unwrap();
    for host in ["claude-code", "codex"] {
        let error = home.hooks(&format!("install --scope project --host {host} --json")).exits(77).error();
        assert!(error["message"].as_str().unwrap().ends_with("leads out of the project"), "{error}");
        assert_eq!(error["help"], "replace the link or file, or set flow up for the user and not for the project");
    }
    assert_eq!(fs::read_to_string(outside.path().join("settings.json")).unwrap(), "{}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn the_directories_that_hosts_name_themselves_count() {
    let home = Home::new();
    let dir = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let env = [("CLAUDE_CONFIG_DIR", dir("c")), ("CODEX_HOME", dir("x"))];
    fs::create_dir(home.path("c")).unwrap();
    fs::create_dir(home.path("x")).unwrap();
    home.sandbox.inside_on(alone(), &env, ["hooks", "install"]).ok();
    assert_eq!((home.names("c"), home.names("x")), (vec!["settings.json".into()], vec!["hooks.json".into()]));
    let error = home.sandbox.inside_on(alone(), &[], ["hooks", "status", "--host", "codex", "--json"]).exits(2).error();
    assert_eq!(error["message"], "HOME is not set, so the user's settings cannot be found");
}

/// A process that dies at any call leaves the old file or the new one, and the next command cleans up.
#[test]
fn a_kill_leaves_the_old_settings_or_the_new_ones() {
    let home = Home::new();
    let old = "{\n  \"model\": \"x\"\n}\n";
    for (before, command) in [(Some(old), "install"), (None, "install"), (Some(""), "uninstall"), (None, "uninstall")] {
        let prepare = || {
            let _ = fs::remove_file(home.path(CLAUDE));
            if let Some(text) = before {
                home.write(CLAUDE, if text.is_empty() { old } else { text });
            }
            if command == "uninstall" {
                home.hooks("install --host claude-code").ok();
            }
        };
        let state = || fs::read_to_string(home.path(CLAUDE)).ok();
        let args = ["hooks", command, "--host", "claude-code"];
        prepare();
        let first = state();
        let disk = Shaky::new(alone(), &[]);
        home.sandbox.inside_on(Arc::new(disk.clone()), &home.env(), args).ok();
        let last = state();
        assert_ne!(first, last);
        for call in 1..=disk.calls().len() {
            for ill in [Ill::Death(call), Ill::Failure(call, Errno::IO), Ill::ShortWrite(call)] {
                prepare();
                let shaky = Shaky::new(alone(), &[ill]);
                let answer = home.sandbox.inside_on(Arc::new(shaky), &home.env(), args);
                let now = state();
                assert!(now == first || now == last, "{command}, {ill:?}: {now:?}");
                assert!(answer.code != Some(0) || now == last, "{command}, {ill:?}: {answer:?}");
                home.sandbox.inside_on(alone(), &home.env(), args).ok();
                assert_eq!(state(), last, "{command}, {ill:?}");
                // No copy of the old text lies beside it.
                let names: &[&str] = if last.is_some() { &["settings.json"] } else { &[] };
                assert_eq!(home.names("home/.claude"), names, "{command}, {ill:?}");
                home.hooks("install --host claude-code --continue").ok();
            }
        }
        let _ = fs::remove_file(home.path(CLAUDE));
    }
}

/// How a person or a program writes JSON.
#[derive(Debug, Clone)]
struct Style {
    /// The indentation of a level; none for a text on one line.
    unit: Option<&'static str>,
    newline: &'static str,
    /// Behind colons and commas.
    blank: &'static str,
    /// In an empty object or array.
    inside: &'static str,
    end: &'static str,
    mark: bool,
}

fn styles() -> impl Strategy<Value = Style> {
    (
        prop::sample::select(vec![None, Some("  "), Some("    "), Some("\t"), Some(" "), Some("")]),
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::sample::select(vec!["", " "]),
        prop::sample::select(vec!["", " ", "  ", "\n", "\n    ", "\n\n"]),
        prop::sample::select(vec!["", "\n", "\n\n", " \n"]),
        any::<bool>(),
    )
        .prop_map(|(unit, newline, blank, inside, end, mark)| Style { unit, newline, blank, inside, end, mark })
}

impl Style {
    fn text(&self, value: &Value, may_mark: bool) -> String {
        let mut text = String::from(if self.mark && may_mark { "\u{feff}" } else { "" });
        self.write(value, 0, &mut text);
        (text + self.end).replace("\r\n", "\n").replace('\n', self.newline)
    }

    fn write(&self, value: &Value, depth: usize, text: &mut String) {
        let (open, close, parts): (_, _, Vec<(String, &Value)>) = match value {
            Value::Object(object) => {
                let key = |key: &String| format!("{}:{}", json!(key), self.blank);
                ('{', '}', object.iter().map(|(name, value)| (key(name), value)).collect())
            }
            Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
            scalar => return *text += &scalar.to_string(),
        };
        let line = |depth: usize| self.unit.map_or(String::new(), |unit| format!("\n{}", unit.repeat(depth)));
        text.push(open);
        if parts.is_empty() {
            *text += if self.unit.is_some() { self.inside } else { self.inside.trim_matches('\n') };
        }
        for (at, (key, value)) in parts.iter().enumerate() {
            *text += if at == 0 { "" } else { "," };
            *text += if at > 0 && self.unit.is_none() { self.blank } else { "" };
            *text += &line(depth + 1);
            *text += key;
            self.write(value, depth + 1, text);
        }
        if !parts.is_empty() {
            *text += &line(depth);
        }
        text.push(close);
    }
}

/// Handlers of other tools.
fn handler() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({ "type": "command", "command": "jq -r '.prompt' | tee \"a\\b\"", "timeout": 60 }),
        json!({ "type": "command", "command": "true", "async": true, "statusMessage": "…" }),
        json!({ "type": "prompt", "prompt": "{}[]" }),
        json!({ "type": "command", "command": "overflow hook codex stop" }),
    ])
}

fn group() -> impl Strategy<Value = Value> {
    let matcher = prop::option::of(prop::sample::select(vec!["", "startup|resume", "*"]));
    (matcher, prop::collection::vec(handler(), 0..3)).prop_map(|(matcher, hooks)| match matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": hooks }),
        None => json!({ "hooks": hooks }),
    })
}

fn hooks() -> impl Strategy<Value = Value> {
    let names = ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd", "Stop", "PreToolUse", "Über"];
    let events = prop::sample::subsequence(names.to_vec(), 0..names.len());
    let groups = prop::collection::vec(prop::collection::vec(group(), 0..3), names.len());
    (events, groups).prop_map(|(events, groups)| {
        Value::Object(events.into_iter().map(str::to_owned).zip(groups.into_iter().map(Value::from)).collect())
    })
}

/// Settings, or none; those of Claude Code have other keys as well.
fn settings(of_claude: bool) -> impl Strategy<Value = Value> {
    let more = if of_claude {
        vec![
            ("model", json!("opus")),
            ("permissions", json!({ "allow": ["Bash(ls:*)", "Read(~/é \"x\")"], "deny": [] })),
            ("env", json!({})),
            ("statusLine", json!({ "type": "command", "command": "mine" })),
            ("enabledPlugins", json!({ "other@flow": true })),
        ]
    } else {
        vec![("description", json!("Hooks, {of} mine"))]
    };
    let more = prop::sample::subsequence(more.clone(), 0..=more.len());
    (more, prop::option::of(hooks()), any::<bool>()).prop_map(|(more, hooks, first)| {
        let hooks = hooks.map(|hooks| ("hooks", hooks));
        let (before, after) = if first { (hooks, None) } else { (None, hooks) };
        let members = before.into_iter().chain(more).chain(after);
        Value::Object(members.map(|(key, value)| (key.to_owned(), value)).collect())
    })
}

fn blank() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "\n", " \r\n\t"]).prop_map(str::to_owned)
}

pub(crate) fn text(of_claude: bool) -> impl Strategy<Value = Option<String>> {
    let written = (settings(of_claude), styles()).prop_map(move |(value, style)| style.text(&value, of_claude));
    prop_oneof![1 => Just(None), 1 => blank().prop_map(Some), 12 => written.prop_map(Some)]
}

/// Installs twice and uninstalls.
fn there_and_back(home: &Home, host: &str, file: &Path, text: Option<&str>, more: &str) -> Result<(), TestCaseError> {
    let _ = fs::remove_file(file);
    if let Some(text) = text {
        fs::write(file, text).unwrap();
    }
    let read = || fs::read(file).ok();
    let before = read();
    home.hooks(&format!("install --host {host} {more}")).ok();
    let installed = read().unwrap();
    let value: Value = serde_json::from_slice(installed.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&installed)).unwrap();
    for event in ["SessionStart", "UserPromptSubmit", "SessionEnd"] {
        let groups = value["hooks"][event].as_array().unwrap();
        let command = groups.last().unwrap()["hooks"][0]["command"].as_str().unwrap();
        prop_assert!(
            command.starts_with(&format!("command -v flow >/dev/null || exit 0; exec flow hook {host} ")),
            "{command}"
        );
    }
    home.hooks(&format!("install --host {host} {more}")).ok();
    prop_assert_eq!(read().unwrap(), installed, "a second time it changes nothing");
    home.hooks(&format!("uninstall --host {host}")).ok();
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8(bytes).unwrap());
    prop_assert_eq!(text(read()), text(before), "uninstalled");
    Ok(())
}

#[test]
fn settings_have_the_same_bytes_after_install_and_uninstall() {
    let home = Home::new();
    let options = || prop::sample::select(vec!["", "--continue", "--statusline", "--continue --statusline"]);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(scaled(200, 5000)));
    runner
        .run(&(text(true), options()), |(text, more)| {
            there_and_back(&home, "claude-code", &home.path(CLAUDE), text.as_deref(), more)
        })
        .unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(scaled(200, 5000)));
    runner
        .run(&(text(false), options()), |(text, more)| {
            there_and_back(&home, "codex", &home.path(CODEX), text.as_deref(), more)
        })
        .unwrap();
}

/// A text with a character more, less, or in the place of another one.
fn mistyped() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        0..3usize,
        prop::sample::select("{}[],:\" \n\r\t/#1é\\".chars().collect::<Vec<_>>()),
    );
    (text(true), change).prop_map(|(text, (at, kind, typed))| {
        let mut chars: Vec<char> = text.unwrap_or_default().chars().collect();
        let at = at.index(chars.len() + 1);
        if kind < 2 && at < chars.len() {
            chars.remove(at);
        }
        if kind > 0 {
            chars.insert(at, typed);
        }
        chars.into_iter().collect()
    })
}

#[test]
fn mistyped_settings_are_refused_or_have_the_same_bytes_afterwards() {
    let home = Home::new();
    let file = home.path(CLAUDE);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(scaled(200, 5000)));
    let there_and_back = |text: String| {
        fs::write(&file, &text).unwrap();
        let installed = home.hooks("install --host claude-code --continue --statusline --json");
        match installed.code {
            Some(0) => drop(home.hooks("uninstall --host claude-code").ok()),
            _ => prop_assert_eq!(&installed.exits(1).error()["code"], "invalid_settings"),
        }
        prop_assert_eq!(fs::read_to_string(&file).ok(), Some(text));
        Ok(())
    };
    runner.run(&mistyped(), there_and_back).unwrap();
}
