//! `flow hooks doctor`: what keeps a hook from running, or makes it run twice.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, quick, run};

/// A sandbox whose login shell finds `flow`, and whose hosts are in its home.
struct Clinic {
    sandbox: Sandbox,
}

impl Clinic {
    fn new() -> Self {
        let clinic = Self { sandbox: Sandbox::within(&quick()) };
        let program = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
        for dir in ["../.claude", "../.codex"] {
            fs::create_dir_all(clinic.sandbox.path(dir)).unwrap();
        }
        clinic.write("../.profile", &format!("echo welcome\nPATH='{}':\"$PATH\"\n", program.display()));
        clinic
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.sandbox.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, file: &str, text: &str) {
        self.write(file, text);
        fs::set_permissions(self.sandbox.path(file), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A command of the real program, without a Codex unless the sandbox has one.
    fn hooks(&self, args: &[&str]) -> Answer {
        let mut command = self.sandbox.flow_command();
        let path = format!("{}:/usr/bin:/bin", self.sandbox.path("bin").display());
        command.arg("hooks").args(args).env("PATH", path);
        run(command, "")
    }

    /// What the doctor finds: code, place and sentence of each.
    fn findings(&self) -> Vec<String> {
        let answer = self.hooks(&["doctor", "--json"]);
        let report = answer.json();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(answer.code, Some(i32::from(!findings.is_empty())), "{report}");
        assert_eq!(report["ok"], json!(findings.is_empty()));
        let home = self.sandbox.root().parent().unwrap().to_str().unwrap().to_owned();
        let shown = |finding: &Value| {
            assert!(!finding["help"].as_str().unwrap().is_empty());
            let place = finding["path"].as_str().map(|path| path.replace(&home, "~"));
            let line = finding["line"].as_u64().map(|line| format!(":{line}"));
            let about = format!("{}{}", place.unwrap_or_default(), line.unwrap_or_default());
            let message = finding["message"].as_str().unwrap().replace(&home, "~");
            format!("{} {about} {message}", finding["code"].as_str().unwrap())
        };
        findings.iter().map(shown).collect()
    }
}

const CLAUDE: &str = "../.claude/settings.json";

#[test]
fn hooks_as_they_are_installed_are_well() {
    let clinic = Clinic::new();
    assert_eq!(clinic.findings(), ["not_installed  no host has hooks of flow"]);
    clinic.hooks(&["install"]).ok();
    let told = clinic.hooks(&["doctor"]).ok().stdout;
    assert_eq!(told, "ok  nothing is wrong; Codex was not asked which hooks it trusts\n");
}

#[test]
fn a_login_shell_without_flow_or_with_an_older_one_is_found() {
    let clinic = Clinic::new();
    clinic.hooks(&["install"]).ok();
    clinic.write("../.profile", "PATH=/usr/bin:/bin\n");
    assert_eq!(clinic.findings(), ["flow_missing  a login shell does not find flow"]);
    let report = clinic.hooks(&["doctor", "--json"]).json();
    assert_eq!(report["findings"][0]["host"], "codex");
    clinic.hooks(&["doctor", "--host", "claude-code"]).ok();
    clinic.script("old/flow", "#!/bin/sh\necho flow 0.0.9\n");
    let old = clinic.sandbox.path("old");
    clinic.write("../.profile", &format!("PATH='{}':/usr/bin:/bin\n", old.display()));
    let told = format!("flow_older  a login shell finds flow 0.0.9, and this is {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(clinic.findings(), [told]);
    clinic.script("old/flow", "#!/bin/sh\necho flow 99.0.0\n");
    assert!(clinic.findings().is_empty());
}

#[test]
fn handlers_that_are_old_or_wrong_are_found() {
    let clinic = Clinic::new();
    let handler = |command: &str, timeout: u32| json!([{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }]);
    let settings = json!({ "disableAllHooks": true, "hooks": {
        "SessionStart": handler("command -v flow >/dev/null || exit 0; exec flow hook claude-code session-start", 60),
        "UserPromptSubmit": handler("flow hook auto user-prompt-submit", 3),
        "SessionEnd": handler("flow session-end", 3),
        "PreCompact": handler("flow hook claude-code pre-compact; true", 3),
    }});
    clinic.write(CLAUDE, &settings.to_string());
    assert_eq!(
        clinic.findings(),
        [
            "hooks_disabled ~/.claude/settings.json \"disableAllHooks\" turns all hooks off",
            "other_timeout ~/.claude/settings.json:1 the handler of SessionStart has another time limit than 3 seconds",
            "other_command ~/.claude/settings.json:1 the handler of UserPromptSubmit has another command line than this version of flow writes",
            "old_handler ~/.claude/settings.json:1 the handler of SessionEnd calls `flow session-end`, as earlier versions did",
            "handler_missing ~/.claude/settings.json no handler of flow for PreCompact",
        ]
    );
    clinic.write(CLAUDE, "{\n  \"hooks\": {},\n}");
    clinic.write("../.codex/config.toml", "[features]\nhooks = false\n");
    clinic.hooks(&["install", "--host", "codex"]).ok();
    clinic.write(".codex/hooks.json", "{\n  \"$schema\": \"x\",\n  \"hooks\": {}\n}");
    assert_eq!(
        clinic.findings(),
        [
            "invalid_settings ~/.claude/settings.json:3 ~/.claude/settings.json:3:1: trailing comma",
            "invalid_settings ~/demo/.codex/hooks.json:2 ~/demo/.codex/hooks.json:2:14: Codex does not read a file with the key \"$schema\"",
            "hooks_disabled  `hooks = false` in config.toml turns all hooks off",
        ]
    );
}

#[test]
fn a_handler_whose_program_is_gone_or_whose_event_flow_does_not_answer_is_found() {
    let clinic = Clinic::new();
    clinic.hooks(&["install", "--host", "claude-code"]).ok();
    let path = clinic.sandbox.path(CLAUDE);
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let command = |event: &str| format!("/hooks/{event}/0/hooks/0/command");
    *settings.pointer_mut(&command("SessionStart")).unwrap() = json!("/nowhere/flow hook claude-code session-start");
    *settings.pointer_mut(&command("PreCompact")).unwrap() = json!("exec ~/bin/flow hook claude-code pre-compact");
    *settings.pointer_mut(&command("SessionEnd")).unwrap() = json!("$BIN/flow hook claude-code session-end");
    let stop = json!({ "type": "command", "command": "flow hook claude-code stop", "timeout": 3 });
    settings["hooks"]["PostToolUse"] = json!([{ "hooks": [stop] }]);
    clinic.write(CLAUDE, &settings.to_string());
    let all = [
        "program_missing ~/.claude/settings.json:1 the handler of SessionStart calls /nowhere/flow, which is not there",
        "program_missing ~/.claude/settings.json:1 the handler of PreCompact calls ~/bin/flow, which is not there",
        "other_event ~/.claude/settings.json:1 the handler of PostToolUse calls flow, which does nothing at this event",
    ];
    assert_eq!(clinic.findings(), all);
    clinic.script("../bin/flow", "#!/bin/sh\n");
    assert_eq!(clinic.findings(), [all[0], all[2]]);
}

#[test]
fn a_machine_with_one_host_is_well() {
    let clinic = Clinic::new();
    fs::remove_dir(clinic.sandbox.path("../.codex")).unwrap();
    clinic.write("../.profile", "PATH=/usr/bin:/bin\n");
    clinic.hooks(&["install"]).ok();
    assert!(clinic.findings().is_empty(), "no login shell runs hooks of Claude Code");
}

#[test]
fn a_script_of_another_version_and_one_that_someone_edited_are_found() {
    let clinic = Clinic::new();
    let file = "../.config/opencode/plugins/flow.js";
    clinic.hooks(&["install", "--host", "opencode"]).ok();
    assert!(clinic.findings().is_empty());
    let rest = "export const Flow = 1;\n";
    let sum = flowrun::codec::digest(rest.as_bytes());
    clinic.write(file, &format!("// Written by `flow hooks install`; {sum}\n{rest}"));
    let path = "~/.config/opencode/plugins/flow.js";
    let told = format!("other_command {path} the script was written by another version of flow");
    assert_eq!(clinic.findings(), [told]);
    clinic.write(file, rest);
    let found = clinic.findings();
    assert!(found[0].starts_with(&format!("invalid_settings {path}:1 ")), "{found:?}");
}

#[test]
fn a_file_that_its_host_puts_out_of_effect_is_found() {
    let clinic = Clinic::new();
    clinic.hooks(&["install", "--host", "claude-code"]).ok();
    clinic.write("../.claude/settings.json", r#"{"permissions": {"allow": "Bash"}}"#);
    let report = clinic.hooks(&["doctor", "--json"]).json();
    let finding = &report["findings"][0];
    assert_eq!((&finding["code"], &finding["line"]), (&json!("invalid_settings"), &json!(1)));
    assert_eq!(
        finding["help"]["text"].as_str().or(finding["help"].as_str()),
        Some("correct it; the host ignores the whole file")
    );
}

#[test]
fn an_event_that_is_answered_twice_is_found() {
    let clinic = Clinic::new();
    clinic.hooks(&["install", "--scope", "project", "--host", "claude-code"]).ok();
    let project = fs::read(clinic.sandbox.path(".claude/settings.json")).unwrap();
    clinic.hooks(&["uninstall", "--scope", "project"]).ok();
    clinic.hooks(&["install"]).ok();
    // As git may bring it.
    fs::create_dir_all(clinic.sandbox.path(".claude")).unwrap();
    fs::write(clinic.sandbox.path(".claude/settings.json"), project).unwrap();
    let found = clinic.findings();
    assert_eq!(found.len(), 4, "{found:?}");
    let told =
        "twice ~/demo/.claude/settings.json:6 the handler of SessionStart calls flow, and so does another handler";
    assert_eq!(found[0], told);
    clinic.hooks(&["uninstall", "--scope", "project"]).ok();
    assert!(clinic.findings().is_empty());
    // One handler for each way in which a session begins is not twice.
    let text = fs::read_to_string(clinic.sandbox.path(CLAUDE)).unwrap();
    let handler = json!({ "type": "command", "command": "command -v flow >/dev/null || exit 0; exec flow hook claude-code session-start", "timeout": 3 });
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    let group = |matcher: &str| json!({ "matcher": matcher, "hooks": [handler] });
    settings["hooks"]["SessionStart"] = json!([group("startup"), group("resume")]);
    clinic.write(CLAUDE, &settings.to_string());
    let missing = "handler_missing ~/.claude/settings.json no handler of flow for SessionStart (only with the matcher \"startup\")";
    assert_eq!(clinic.findings(), [missing]);
    let help = |clinic: &Clinic| clinic.hooks(&["doctor", "--json"]).json()["findings"][0]["help"].clone();
    settings["hooks"]["SessionStart"] = json!([group("compact"), group("")]);
    clinic.write(CLAUDE, &settings.to_string());
    assert!(clinic.findings()[0].starts_with("twice "), "{:?}", clinic.findings());
    assert_eq!(help(&clinic), "remove the handler with the matcher by hand");
    let mine = json!({ "type": "command", "command": "flow hook claude-code session-start; true" });
    settings["hooks"]["SessionStart"] = json!([{ "hooks": [mine, handler] }]);
    clinic.write(CLAUDE, &settings.to_string());
    assert!(clinic.findings()[0].starts_with("twice "), "{:?}", clinic.findings());
    assert_eq!(help(&clinic), "remove the other handler by hand");
    settings["hooks"]["SessionStart"] = json!([{ "hooks": [handler] }]);
    settings["enabledPlugins"] = json!({ "flow@acme-tools": true });
    clinic.write(CLAUDE, &settings.to_string());
    assert!(clinic.findings().is_empty());
    settings["enabledPlugins"] = json!({ "flow@flow": true });
    clinic.write(CLAUDE, &settings.to_string());
    assert!(clinic.findings().iter().all(|finding| finding.starts_with("twice ") && finding.ends_with("the plugin")));
}

#[test]
fn files_that_cannot_be_read_are_found_with_the_rest() {
    let clinic = Clinic::new();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), clinic.sandbox.path(".claude")).unwrap();
    fs::create_dir_all(clinic.sandbox.path("../.codex")).unwrap();
    fs::create_dir_all(clinic.sandbox.path("../.claude")).unwrap();
    fs::write(clinic.sandbox.path(CLAUDE), b"\"\xff\"").unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(clinic.sandbox.path("../.codex/hooks.json")).status().unwrap();
    assert!(fifo.success());
    clinic.write(".codex/hooks.json", "{\"hooks\":{\"SessionStart\":{}}}");
    assert_eq!(
        clinic.findings(),
        [
            "unreadable_settings ~/.claude/settings.json ~/.claude/settings.json is not UTF-8 from byte 1 on",
            "unreadable_settings ~/demo/.claude/settings.json ~/demo/.claude/settings.json leads out of the project",
            "unreadable_settings ~/demo/.claude/settings.local.json ~/demo/.claude/settings.local.json leads out of the project",
            "unreadable_settings ~/.codex/hooks.json ~/.codex/hooks.json is not a regular file",
            "invalid_settings ~/demo/.codex/hooks.json:1 ~/demo/.codex/hooks.json:1:26: in \"SessionStart\", the value is not an array",
            "not_installed  no host has hooks of flow",
        ]
    );
}

/// A Codex that answers with these hooks and then waits, as the real one does.
fn codex(clinic: &Clinic, hooks: &Value) {
    let answer =
        json!({ "id": 2, "result": { "data": [{ "cwd": "/", "hooks": hooks, "errors": [], "warnings": [] }] } });
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = app-server ] || exit 1\nwhile read -r line; do\n  case $line in\n    *initialize\\\"*) echo '{{\"id\":1,\"result\":{{}}}}' ;;\n    \
         *hooks/list*) cat <<'END'\n{answer}\nEND\n      ;;\n  esac\ndone\n"
    );
    clinic.script("bin/codex", &script);
}

#[test]
fn hooks_that_codex_does_not_trust_are_found() {
    let clinic = Clinic::new();
    let others = json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } });
    clinic.write("../.codex/hooks.json", &others.to_string());
    clinic.hooks(&["install", "--host", "codex"]).ok();
    let hook = |event: &str, trust: &str, on: bool| {
        let command = format!("command -v flow >/dev/null || exit 0; exec flow hook codex {event}");
        json!({ "key": format!("/h/hooks.json:{event}:0:0"), "command": command, "trustStatus": trust, "enabled": on })
    };
    let mine = json!({ "key": "k", "command": "mine", "trustStatus": "untrusted", "enabled": true });
    codex(&clinic, &json!([mine, hook("session-start", "trusted", true)]));
    assert!(clinic.findings().is_empty());
    assert_eq!(clinic.hooks(&["doctor"]).ok().stdout, "ok  nothing is wrong\n");
    let hooks = [
        hook("session-start", "untrusted", true),
        hook("user-prompt-submit", "modified", true),
        hook("session-end", "trusted", false),
    ];
    codex(&clinic, &json!(hooks));
    assert_eq!(
        clinic.findings(),
        [
            "not_trusted  the hook /h/hooks.json:session-start:0:0 is not trusted, so Codex skips it",
            "not_trusted  the hook /h/hooks.json:user-prompt-submit:0:0 was changed since it was trusted, so Codex skips it",
            "not_trusted  the hook /h/hooks.json:session-end:0:0 is turned off",
        ]
    );
    clinic.script("bin/codex", "#!/bin/sh\nexit 3\n");
    assert!(clinic.findings().is_empty(), "a Codex that does not answer");
}

#[test]
fn hooks_of_codex_before_others_or_beside_its_configuration_are_found() {
    let clinic = Clinic::new();
    clinic.hooks(&["install", "--host", "codex"]).ok();
    let file = "../.codex/hooks.json";
    let text = fs::read_to_string(clinic.sandbox.path(file)).unwrap();
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    let mine = json!({ "hooks": [{ "type": "command", "command": "mine" }] });
    settings["hooks"]["SessionStart"].as_array_mut().unwrap().push(mine);
    clinic.write(file, &settings.to_string());
    clinic.write("../.codex/config.toml", "\n[hooks]\nStop = []\n");
    assert_eq!(
        clinic.findings(),
        [
            "before_others ~/.codex/hooks.json:1 the handler of SessionStart stands before others: Codex loses its trust in those when it goes",
            "hooks_in_config ~/.codex/config.toml:3 hooks are configured here as well as in hooks.json",
        ]
    );
}

#[test]
fn the_last_call_for_an_event_is_shown() {
    let clinic = Clinic::new();
    clinic.sandbox.flow(["init"]).ok();
    clinic.hooks(&["install"]).ok();
    clinic.write(".flow/.cache/hosts/last-codex-session-start.txt", "2026-05-20T14:30:00Z\n");
    clinic.write(".flow/.cache/hosts/last-codex-stop.txt", "junk");
    let report = clinic.hooks(&["doctor", "--json"]).ok().json();
    let call = json!({ "host": "codex", "event": "session-start", "at": report["last_calls"][0]["at"] });
    assert_eq!(report["last_calls"], json!([call]));
    assert!(call["at"].as_str().unwrap().starts_with("2026-05-20T14:30:00"));
}

#[test]
fn a_project_that_flow_refuses_is_why_hooks_are_silent() {
    let clinic = Clinic::new();
    clinic.hooks(&["install"]).ok();
    std::os::unix::fs::symlink(clinic.sandbox.path("../elsewhere"), clinic.sandbox.path(".flow")).unwrap();
    assert_eq!(clinic.findings(), ["project_refused  ~/demo/.flow is a symbolic link"]);
}
