//! `flow setup`: what hosts need to work with flow, put in after a look at the change, and taken out to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use crate::host_settings::text;

use crate::support::shaky::{Ill, Shaky};
use crate::support::{Answer, Person, Sandbox, alone, has_terminals, quick, scaled};

/// A project, and a home beside it.
struct Place {
    sandbox: Sandbox,
}

const CLAUDE: &str = ".claude/settings.json";

impl Place {
    fn new() -> Self {
        Self { sandbox: Sandbox::within(&quick()) }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.sandbox.path(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn setup(&self, args: &str) -> Answer {
        self.sandbox.inside_on(alone(), &self.env(), ["setup"].into_iter().chain(args.split_whitespace()))
    }

    fn env(&self) -> [(&'static str, String); 1] {
        [("HOME", self.path("../home").to_str().unwrap().to_owned())]
    }

    /// Every file and directory of the project but git's, and the text of the files.
    fn files(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.sandbox.root().clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().is_some_and(|name| name == ".git") {
                    continue;
                }
                let text = path.is_file().then(|| fs::read_to_string(&path).unwrap());
                if text.is_none() {
                    directories.push(path.clone());
                }
                found.insert(path, text);
            }
        }
        found
    }

    fn shown(&self, text: &str) -> String {
        text.replace(self.sandbox.root().to_str().unwrap(), "")
    }
}

#[test]
fn a_setup_shows_its_change_and_makes_it_once_it_may() {
    let place = Place::new();
    let before = place.files();
    let shown = place.setup("claude-code").exits(2);
    let (diff, list) = shown.stdout.split_once("would be created  ").unwrap();
    assert!(diff.contains("+    \"SessionStart\": [") && diff.contains("+name: flow-resume"), "{diff}");
    insta::assert_snapshot!(place.shown(list), @r"
    /.flow
    would be created  /.claude/settings.json  (hooks, permissions)
    would be created  /.mcp.json  (tools)
    would be created  /.claude/skills/flow-resume/SKILL.md  (skill)
    would be created  /.claude/skills/flow-run-state/SKILL.md  (skill)
    ");
    assert_eq!(shown.stderr, "nothing is changed; --yes makes this change\n");
    assert_eq!(place.files(), before);

    insta::assert_snapshot!(place.shown(&place.setup("claude-code --yes").ok().stdout), @r"
    created  /.flow
    created  /.claude/settings.json  (hooks, permissions)
    created  /.mcp.json  (tools)
    created  /.claude/skills/flow-resume/SKILL.md  (skill)
    created  /.claude/skills/flow-run-state/SKILL.md  (skill)
      trust       Claude Code runs them from its next start on, in a folder that you trust; `/hooks` shows them
    now say to your agent: start issue 42 with flow
    ");
    let after = place.files();
    let again = place.setup("claude-code").ok().stdout;
    assert!(again.starts_with("everything is set up\n"), "{again}");
    assert_eq!(place.files(), after);

    insta::assert_snapshot!(place.shown(&place.setup("--undo --yes").ok().stdout), @r"
    removed  /.flow
    removed  /.claude/settings.json  (permissions, hooks)
    removed  /.mcp.json  (tools)
    removed  /.claude/skills/flow-resume/SKILL.md  (skill)
    removed  /.claude/skills/flow-run-state/SKILL.md  (skill)
    ");
    assert_eq!(place.files(), before);
    assert_eq!(place.setup("--undo").ok().stdout, "nothing of flow is here\n");
}

#[test]
fn every_host_gets_its_own_files_and_loses_them_again() {
    let place = Place::new();
    place.write(".codex/config.toml", "model = \"m\"");
    place.write(".gemini/settings.json", "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n");
    let before = place.files();
    let report = place.setup("claude-code codex qwen gemini-cli copilot opencode --yes --json").ok().json();
    assert_eq!(report["written"], true);
    for (file, part) in [
        (".codex/hooks.json", "flow hook codex session-start"),
        (".codex/config.toml", "[mcp_servers.flow]\ncommand = \"flow\"\nargs = [\"mcp\"]"),
        (".codex/rules/flow.rules", "prefix_rule(pattern = [\"flow\", [\"start\","),
        (".gemini/settings.json", "flow hook gemini-cli session-start"),
        (".gemini/settings.json", "\"other\": { \"command\": \"x\" },\n    \"flow\": {"),
        (".qwen/settings.json", "\"mcpServers\""),
        (".qwen/skills/flow-resume/SKILL.md", "name: flow-resume"),
        (".agents/skills/flow-run-state/SKILL.md", "name: flow-run-state"),
        (".mcp.json", "\"mcp\""),
        ("opencode.json", "\"type\": \"local\""),
    ] {
        assert!(place.read(file).contains(part), "{file}: {}", place.read(file));
    }
    place.setup("--undo --yes").ok();
    assert_eq!(place.files(), before);
}

#[test]
fn no_rule_allows_more_than_the_documented_commands() {
    let place = Place::new();
    place.setup("claude-code codex --yes").ok();
    let settings: Value = serde_json::from_str(&place.read(CLAUDE)).unwrap();
    let mut rules: Vec<String> =
        settings["permissions"]["allow"].as_array().unwrap().iter().map(|rule| rule.to_string()).collect();
    rules.push(place.read(".codex/rules/flow.rules"));
    for rule in rules {
        for verb in ["approve", "reject", "drive", "exec", "interview", "hooks", "setup", "unblock", "mode", "flow:*"] {
            assert!(!rule.contains(verb), "{rule}");
        }
    }
}

#[test]
fn what_a_person_had_before_stays_and_what_a_person_changed_stays() {
    let place = Place::new();
    place.write(CLAUDE, "{\"permissions\": {\"allow\": [\"Bash(flow list:*)\"]}}");
    place.write(".mcp.json", "{\"mcpServers\": {\"flow\": {\"command\": \"flow\", \"args\": [\"mcp\"]}}}");
    place.write(".flow/runs/.keep", "");
    place.sandbox.inside(["init"]).ok();
    let before = place.files();
    place.setup("claude-code --yes").ok();
    place.setup("claude-code --yes").ok();
    place.setup("--undo --yes").ok();
    assert_eq!(place.files(), before);

    let skill = ".claude/skills/flow-resume/SKILL.md";
    place.write(skill, "mine\n");
    let told = place.setup("claude-code --yes").ok().stdout;
    assert!(
        place
            .shown(&told)
            .contains("kept  /.claude/skills/flow-resume/SKILL.md: someone changed what flow would write"),
        "{told}"
    );
    let settings = place.read(CLAUDE).replace("Bash(flow show:*)", "Bash(flow show)");
    place.write(CLAUDE, &settings);
    place.setup("--undo --yes").ok();
    assert_eq!(place.read(skill), "mine\n");
    assert_eq!(place.read(CLAUDE), "{\"permissions\": {\"allow\": [\"Bash(flow list:*)\", \"Bash(flow show)\"]}}");
}

#[test]
fn in_a_clone_all_that_looks_like_flow_s_is_taken_out() {
    let place = Place::new();
    place.setup("claude-code codex --yes").ok();
    place.sandbox.inside(["start", "debug", "--id", "r1"]).ok();
    let elsewhere = [("HOME", place.path("../another").to_str().unwrap().to_owned())];
    let told = place.sandbox.inside_on(alone(), &elsewhere, ["setup", "--undo", "--yes"]).ok().stdout;
    assert!(!told.contains("/.flow\n"), "{told}");
    let left: Vec<_> = place.files().into_keys().filter(|path| path.is_file()).collect();
    assert!(left.iter().all(|path| path.starts_with(place.path(".flow"))), "{left:?}");
    for dir in [".claude", ".codex", ".agents"] {
        assert!(!place.path(dir).exists(), "{dir}");
    }
}

#[test]
fn a_project_with_runs_keeps_its_flow() {
    let place = Place::new();
    place.setup("claude-code --yes").ok();
    place.sandbox.inside(["start", "debug", "--id", "r1"]).ok();
    let told = place.setup("--undo --yes").ok().stdout;
    assert!(!place.shown(&told).contains("removed  /.flow\n"), "{told}");
    place.sandbox.inside(["show", "r1"]).ok();
    assert!(!place.path(".claude").exists());
}

#[test]
fn hooks_of_an_earlier_version_are_renewed_and_go_with_the_rest() {
    let place = Place::new();
    let old = r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "flow session-end"}]}]}}"#;
    place.write(CLAUDE, old);
    place.setup("claude-code --yes").ok();
    assert!(place.read(CLAUDE).contains("exec flow hook claude-code session-end"));
    place.setup("--undo --yes").ok();
    assert!(!place.path(CLAUDE).exists() || place.read(CLAUDE) == "{}", "{}", place.read(CLAUDE));
}

#[test]
fn settings_that_cannot_be_edited_stop_the_whole_setup() {
    let place = Place::new();
    for (file, text) in [
        (CLAUDE, "{\"permissions\": []}"),
        (CLAUDE, "{ // mine\n}"),
        (".mcp.json", "{\"mcpServers\": 3}"),
        (".codex/config.toml", "model = "),
    ] {
        place.write(file, text);
        let before = place.files();
        let error = place.setup("claude-code codex --yes --json").exits(1).error();
        assert_eq!(error["code"], "invalid_settings", "{file}");
        assert!(error["message"].as_str().unwrap().contains(file), "{error}");
        assert_eq!(place.files(), before, "{file}");
        fs::remove_file(place.path(file)).unwrap();
    }
}

#[test]
fn nothing_is_put_where_the_plugin_is() {
    let place = Place::new();
    place.write(CLAUDE, "{\"enabledPlugins\": {\"flow@flow\": true}}");
    let before = place.read(CLAUDE);
    let told = place.setup("claude-code --yes").ok().stdout;
    insta::assert_snapshot!(place.sandbox.masked(&told), @r"
    created  ROOT/.flow
    left out  Claude Code: it has the plugin `flow@flow`, which brings all of it
    now say to your agent: start issue 42 with flow
    ");
    assert_eq!(place.read(CLAUDE), before);
    assert!(!place.path(".mcp.json").exists());
}

#[test]
fn the_user_s_own_settings_are_set_up_for_all_projects() {
    let place = Place::new();
    place.write("../home/.claude.json", "{\"numStartups\": 7}");
    let before = place.files();
    place.setup("claude-code codex --user --yes").ok();
    assert_eq!(place.files(), before, "the project is as it was");
    assert!(place.read("../home/.claude.json").contains("\"mcpServers\""));
    assert!(place.path("../home/.claude/skills/flow-resume/SKILL.md").exists());
    assert!(place.path("../home/.codex/rules/flow.rules").exists());
    place.setup("--user --undo --yes").ok();
    assert_eq!(place.read("../home/.claude.json"), "{\"numStartups\": 7}");
    assert!(!place.path("../home/.claude").exists() && !place.path("../home/.codex").exists());
}

#[test]
fn the_word_project_names_the_scope_and_with_a_directory_the_project() {
    let place = Place::new();
    place.setup("claude-code --project").exits(2);
    fs::create_dir_all(place.path("inner/.flow/runs")).unwrap();
    let shown = place.setup("claude-code --project inner").exits(2).stdout;
    assert!(place.shown(&shown).contains("would be created  /inner/.mcp.json"), "{shown}");
    place.setup("claude-code --undo").exits(2);
}

#[test]
fn a_person_is_asked_and_may_say_no() {
    if !has_terminals("a_person_is_asked_and_may_say_no") {
        return;
    }
    let place = Place::new();
    let mut command = place.sandbox.flow_command();
    command.args(["setup", "claude-code"]);
    let mut person = Person::before(&command);
    person.shows("Make this change? (y/N) ").types("no\n");
    assert_eq!(person.ended().code(), Some(1));
    assert!(!place.path(".flow").exists());
    let mut person = Person::before(&command);
    person.shows("Make this change? (y/N) ").types("yes\n").shows("now say to your agent");
    assert_eq!(person.ended().code(), Some(0));
    assert!(place.path(".mcp.json").exists());
}

#[test]
fn after_a_death_at_any_call_a_setup_goes_on_and_can_be_taken_out() {
    let place = Place::new();
    place.write(CLAUDE, "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}\n");
    let before = place.files();
    let args = ["setup", "claude-code", "--yes"];
    let disk = Shaky::new(alone(), &[]);
    place.sandbox.inside_on(Arc::new(disk.clone()), &place.env(), args).ok();
    let whole = place.files();
    place.setup("--undo --yes").ok();
    let calls = disk.calls();
    let changing: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].changes).collect();
    for at in changing {
        place.sandbox.inside_on(Arc::new(Shaky::new(alone(), &[Ill::Death(at + 1)])), &place.env(), args);
        place.setup("claude-code --yes").ok();
        assert!(kept(place.files()) == kept(whole.clone()), "call {at}");
        place.setup("--undo --yes").ok();
        assert!(place.files() == before, "call {at}");
    }
}

/// Its writer may have been killed before it was flushed.
#[test]
fn what_is_set_up_already_is_flushed_by_whoever_says_so() {
    let place = Place::new();
    place.setup("claude-code --yes").ok();
    let disk = Shaky::new(alone(), &[]);
    let said = place.sandbox.inside_on(Arc::new(disk.clone()), &place.env(), ["setup", "claude-code", "--yes"]).ok();
    assert!(said.stdout.starts_with("everything is set up\n"), "{said:?}");
    let calls = disk.calls();
    let flushed = calls.iter().filter(|call| call.name == "fsync").count();
    let read = calls.iter().filter(|call| call.files == ["SKILL.md"]).count();
    assert!(read > 0 && flushed > read, "{flushed} flushes, {read} skills among the files");
}

/// Files without caches and locks, which come and go.
fn kept(files: BTreeMap<PathBuf, Option<String>>) -> BTreeMap<PathBuf, Option<String>> {
    let is_kept = |path: &Path| !path.to_string_lossy().contains("/.cache") && !path.ends_with(".lock");
    files.into_iter().filter(|(path, _)| is_kept(path)).collect()
}

#[test]
fn settings_have_the_same_bytes_after_a_setup_and_its_undo() {
    let place = Place::new();
    let file = place.path(CLAUDE);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(scaled(60, 2000)));
    let there_and_back = |text: Option<String>| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&file);
        if let Some(text) = &text {
            fs::write(&file, text).unwrap();
        }
        place.setup("claude-code --yes").ok();
        let whole = fs::read(&file).unwrap();
        place.setup("claude-code --yes").ok();
        prop_assert_eq!(fs::read(&file).unwrap(), whole, "a second time it changes nothing");
        place.setup("--undo --yes").ok();
        prop_assert_eq!(fs::read_to_string(&file).ok(), text);
        Ok(())
    };
    runner.run(&text(true), there_and_back).unwrap();
}
