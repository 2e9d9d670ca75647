//! The plugin and the skills that hosts can be given: they are those of the repository, and their commands work.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Sandbox, run};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json_of(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

/// The files below a directory, with their bytes.
fn files(root: &Path, below: &str) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(root.join(below)).into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.map(|path| (path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn the_plugin_that_is_written_is_the_one_of_the_repository() {
    let sandbox = Sandbox::new();
    let told = sandbox.flow(["hooks", "plugin", "out dir"]).ok().stdout;
    let dir = sandbox.path("out dir");
    for below in [".claude-plugin", "plugins"] {
        assert_eq!(files(&dir, below), files(repository(), below));
    }
    assert_eq!(files(&dir, "").len(), told.lines().filter(|line| line.starts_with("created  ")).count());
    let place = dir.display();
    for line in [
        format!("claude plugin marketplace add '{place}'"),
        "claude plugin install flow@flow".to_owned(),
        format!("codex plugin marketplace add '{place}'"),
        "codex plugin add flow@flow".to_owned(),
        format!("copilot plugin marketplace add '{place}'"),
        "copilot plugin install flow@flow".to_owned(),
        format!("qwen extensions install '{place}:flow'"),
    ] {
        assert!(told.contains(&line), "{line}\n{told}");
    }
    let again = sandbox.flow(["hooks", "plugin", "out dir", "--json"]).ok().json();
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["outcome"] == "unchanged"), "{again}");
}

#[test]
fn a_file_with_another_text_is_replaced_only_when_asked_for() {
    let sandbox = Sandbox::new();
    let market = sandbox.path(".claude-plugin/marketplace.json");
    fs::create_dir(sandbox.path(".claude-plugin")).unwrap();
    fs::write(&market, "{}").unwrap();
    let error = sandbox.flow(["hooks", "plugin", ".", "--json"]).exits(1).error();
    assert_eq!(error["code"], "file_exists");
    assert!(!sandbox.path("plugins").exists(), "nothing was written");
    assert_eq!(fs::read_to_string(&market).unwrap(), "{}");
    let report = sandbox.flow(["hooks", "plugin", ".", "--replace", "--json"]).ok().json();
    assert_eq!(report["files"][0], json!({ "path": ".claude-plugin/marketplace.json", "outcome": "changed" }));
}

#[test]
fn the_manifests_say_what_hosts_read() {
    let market = json_of(".claude-plugin/marketplace.json");
    let plugin = json_of("plugins/flow/.claude-plugin/plugin.json");
    assert_eq!((&market["name"], &plugin["name"]), (&json!("flow"), &json!("flow")));
    assert_eq!(market["plugins"][0]["source"], "./plugins/flow");
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    // Qwen Code reads the server here only, and the others here as well.
    assert_eq!(plugin["mcpServers"], json!({ "flow": { "command": "flow", "args": ["mcp"] } }));
    assert!(!repository().join("plugins/flow/.mcp.json").exists(), "one place for the server");
    let hooks = json_of("plugins/flow/hooks/hooks.json");
    // Codex refuses a file with other keys.
    assert_eq!(hooks.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
    for (event, word) in [
        ("SessionStart", "session-start"),
        ("UserPromptSubmit", "user-prompt-submit"),
        ("PreCompact", "pre-compact"),
        ("SessionEnd", "session-end"),
    ] {
        let command = format!("command -v flow >/dev/null || exit 0; exec flow hook auto {word}");
        let handler = json!({ "type": "command", "command": command, "timeout": 3 });
        assert_eq!(hooks["hooks"][event], json!([{ "hooks": [handler] }]));
    }
    assert_eq!(hooks["hooks"].as_object().unwrap().len(), 4);
}

/// A hook of the plugin, run as hosts run it.
#[test]
fn a_hook_of_the_plugin_tells_where_the_run_stands() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    let hooks = json_of("plugins/flow/hooks/hooks.json");
    let command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let answer = in_shell(&sandbox, command, r#"{"session_id": "s1"}"#);
    assert!(answer.stdout.contains("flow keeps the state of run r1"), "{answer:?}");
}

fn in_shell(sandbox: &Sandbox, line: &str, stdin: &str) -> crate::support::Answer {
    let mut shell = sandbox.command("sh");
    let program = Path::new(env!("CARGO_BIN_EXE_flow")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    shell.args(["-c", line]).env("PATH", path);
    run(shell, stdin)
}

/// The front matter of a skill, and the rest.
fn skill(path: &str) -> (Vec<(String, String)>, String) {
    let text = read(path);
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let pairs = head.lines().map(|line| line.split_once(": ").unwrap());
    (pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(), body.to_owned())
}

fn commands(body: &str) -> Vec<String> {
    let blocks = body.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

#[test]
fn skills_are_short_and_have_what_hosts_read() {
    for name in ["resume", "run-state"] {
        let path = format!("plugins/flow/skills/{name}/SKILL.md");
        let (head, body) = skill(&path);
        let keys: Vec<_> = head.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["name", "description"]);
        assert_eq!(head[0].1, name);
        assert!(head[1].1.len() < 300, "{}", head[1].1);
        let words = read(&path).split_whitespace().count();
        assert!(words <= 600, "{path}: {words} words");
        // What a run says would come in with the user's authority.
        assert!(!body.contains("!`"), "{path} runs a command by itself");
    }
}

#[test]
fn the_commands_of_the_skill_about_runs_work_in_their_order() {
    let sandbox = Sandbox::new();
    let (_, body) = skill("plugins/flow/skills/run-state/SKILL.md");
    let commands = commands(&body);
    assert_eq!(commands.len(), 8, "{commands:?}");
    for (at, line) in commands.iter().enumerate() {
        // At first there is nothing to resume.
        let wanted = if at == 0 { 3 } else { 0 };
        if line == "flow complete" {
            let run = sandbox.flow(["list", "--json"]).ok().json()["runs"][0]["run_id"].as_str().unwrap().to_owned();
            for phase in ["explore", "plan", "code", "verify"] {
                sandbox.record(&run, phase, &format!("{phase}-done"));
            }
        }
        in_shell(&sandbox, line, "").exits(wanted);
    }
    let list = sandbox.flow(["list", "--json"]).ok().json();
    let run = &list["runs"][0];
    assert_eq!((&run["status"], list["runs"].as_array().unwrap().len()), (&json!("completed"), 1), "{list}");
}

#[test]
fn the_skill_that_resumes_knows_every_verdict() {
    let (_, body) = skill("plugins/flow/skills/resume/SKILL.md");
    let tutorial = read("docs/tutorial.md");
    let table =
        tutorial.split("## What resume answers").nth(1).unwrap().lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let verdicts: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect();
    assert!(verdicts.len() > 8, "{verdicts:?}");
    for verdict in verdicts {
        assert!(body.contains(&format!("`{verdict}`")), "{verdict}");
    }
    let sandbox = Sandbox::new();
    sandbox.start("debug");
    for line in commands(&body) {
        let mut claim = sandbox.flow_command();
        let args = line.strip_prefix("flow ").unwrap().split(' ');
        claim.args(args).env("FLOW_SESSION", "s1");
        run(claim, "").ok();
    }
}

#[test]
fn skills_for_other_hosts_say_whose_they_are() {
    let sandbox = Sandbox::new();
    let report = sandbox.flow(["hooks", "skill", "--json"]).ok().json();
    assert_eq!(report["files"].as_array().unwrap().len(), 4);
    for directory in [".claude/skills", ".agents/skills"] {
        for name in ["flow-resume", "flow-run-state"] {
            let text = fs::read_to_string(sandbox.path(directory).join(name).join("SKILL.md")).unwrap();
            assert!(text.starts_with(&format!("---\nname: {name}\n")), "{text}");
            assert!(!text.contains("/flow:") && !text.contains("skill `run-state`"), "{text}");
        }
    }
    sandbox.flow(["hooks", "skill", "elsewhere"]).ok();
    assert_eq!(files(&sandbox.path("elsewhere"), ".claude"), files(&sandbox.root(), ".claude"));
}

#[test]
fn no_link_leads_skills_or_the_plugin_out_of_the_project() {
    let outside = tempfile::tempdir().unwrap();
    for link in [".claude", ".claude/skills", ".agents", ".agents/skills/flow-resume", "plugins", "named"] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), sandbox.path(link)).unwrap();
        let skill_here = vec!["hooks", "skill", "--json"];
        let here = vec!["hooks", "skill", ".", "--replace", "--json"];
        let calls = match link {
            "plugins" => vec![vec!["hooks", "plugin", ".", "--json"]],
            "named" => vec![vec!["hooks", "plugin", "named/new", "--json"], vec!["hooks", "skill", "named", "--json"]],
            _ => vec![skill_here, here],
        };
        for call in calls {
            let refused = sandbox.flow(&call).exits(77).error();
            assert!(refused["message"].as_str().unwrap().ends_with("leads out of the project"), "{call:?}: {refused}");
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "{call:?}");
        }
    }
    // A link within the project is followed, and a directory outside is the caller's own choice.
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("kept")).unwrap();
    std::os::unix::fs::symlink("kept", sandbox.path(".claude")).unwrap();
    sandbox.flow(["hooks", "skill"]).ok();
    assert!(sandbox.path("kept/skills/flow-resume/SKILL.md").is_file());
    std::fs::create_dir(outside.path().join("home")).unwrap();
    std::os::unix::fs::symlink(outside.path(), outside.path().join("home/.claude")).unwrap();
    sandbox.flow(["hooks", "skill", outside.path().join("home").to_str().unwrap()]).ok();
    assert!(outside.path().join("skills/flow-resume/SKILL.md").is_file());
}
